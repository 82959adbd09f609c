// The kernel functions on the device, of the product of two scaled rows and their squared norms; the Laplacian kernel of
// the distance |a - b|_1 of rows as they came.
#pragma once

#include <cmath>

#include "../kernel.hpp"

namespace everlearn::cuda {

struct KernelFunction {
  KernelKind kind;
  float factor;  // of the product or the distance
  float coef0;
  int degree;
  double gamma;  // for values in double precision, of rows that are not scaled

  /// Rows were multiplied by `scale`.
  static KernelFunction of(const Kernel& kernel, double scale) {
    constexpr double kLog2e = 1.4426950408889634;
    double factor = 1 / (scale * scale);
    if (kernel.kind == KernelKind::rbf) factor *= -kernel.gamma * kLog2e;
    if (kernel.kind == KernelKind::laplacian) factor = -kernel.gamma * kLog2e;
    if (kernel.kind == KernelKind::polynomial || kernel.kind == KernelKind::sigmoid) factor *= kernel.gamma;
    return {kernel.kind, static_cast<float>(factor), static_cast<float>(kernel.coef0), kernel.degree, kernel.gamma};
  }

  __host__ __device__ bool of_distances() const { return kind == KernelKind::laplacian; }

  /// Rows of the cosine kernel have length 1 before they are scaled.
  __device__ float operator()(float product, float norm_a, float norm_b) const {
    switch (kind) {
      case KernelKind::rbf: return exp2f(factor * fmaxf(norm_a + norm_b - 2 * product, 0.0f));
      case KernelKind::polynomial: {
        const float base = factor * product + coef0;
        float power = 1;
        for (int k = 0; k < degree; ++k) power *= base;
        return power;
      }
      case KernelKind::sigmoid: return tanhf(factor * product + coef0);
      case KernelKind::laplacian: return exp2f(factor * product);
      default: return factor * product;
    }
  }

  /// In double precision, of the product of two rows as they came and their squared norms.
  __device__ double exact(double product, double norm_a, double norm_b) const {
    switch (kind) {
      case KernelKind::rbf: return exp(-gamma * fmax(norm_a + norm_b - 2 * product, 0.0));
      case KernelKind::polynomial: {
        const double base = gamma * product + coef0;
        double power = 1;
        for (int k = 0; k < degree; ++k) power *= base;
        return power;
      }
      case KernelKind::sigmoid: return tanh(gamma * product + coef0);
      case KernelKind::laplacian: return exp(-gamma * product);
      case KernelKind::cosine: return norm_a > 0 && norm_b > 0 ? product / sqrt(norm_a * norm_b) : 0;
      default: return product;
    }
  }
};

}  // namespace everlearn::cuda
