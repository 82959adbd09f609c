// Dense kernel blocks of rows in the precision that they are computed with, and norms.
#include "arch/dense.hpp"

namespace everlearn::EVERLEARN_ARCH {
namespace {

template <PairSum pair, class T>
void norms(const T* rows, std::size_t m, std::size_t width, T* out) {
  for (std::size_t r = 0; r < m; ++r) {
    T sum = 0;
    for (std::size_t k = 0; k < width; ++k) sum = add_term<pair>(rows[r * width + k], rows[r * width + k], sum);
    out[r] = sum;
  }
}

template <class T>
void norms(PairSum pair, const T* rows, std::size_t m, std::size_t width, T* out) {
  if (pair == PairSum::overlap) norms<PairSum::overlap>(rows, m, width, out);
  else norms<PairSum::product>(rows, m, width, out);
}

}  // namespace

void dense_f32(const DenseJob<float>& job) { dense(job); }
void dense_f64(const DenseJob<double>& job) { dense(job); }
void dense_exact(const DenseJob<double, double>& job) { dense(job); }
void norms_f32(PairSum pair, const float* rows, std::size_t m, std::size_t width, float* out) {
  norms(pair, rows, m, width, out);
}
void norms_f64(PairSum pair, const double* rows, std::size_t m, std::size_t width, double* out) {
  norms(pair, rows, m, width, out);
}

}  // namespace everlearn::EVERLEARN_ARCH
