// The kernel functions.
//
// A kernel has one line in the table below; arch/map.hpp has its arithmetic. Everything else asks the table.
//
//   linear      <a, b>                          polynomial  (gamma <a, b> + coef0)^degree
//   rbf         exp(-gamma |a - b|^2)           sigmoid     tanh(gamma <a, b> + coef0)
//   cosine      <a, b> / (|a| |b|), 0 where a row is zero         laplacian   exp(-gamma |a - b|_1)
#pragma once

#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

namespace everlearn {

enum class KernelKind { linear, polynomial, rbf, sigmoid, cosine, laplacian };

/// What a pair of rows is reduced to: a sum with one term for each column.
enum class PairSum {
  product,              // a b
  squared_difference,   // (a - b)^2
  overlap,              // the smaller of |a| and |b| where both have the same sign, else 0
  absolute_difference,  // |a - b| = |a| + |b| - 2 overlap
};

struct KernelTraits {
  KernelKind kind;
  std::string_view name;
  /// The sum that the kernel is computed from. Its terms are 0 where either entry is 0, so that sparse rows can skip
  /// them. The sum of a row with itself is its norm.
  PairSum pair;
  /// Whether the kernel is a function of the distance norm_a + norm_b - 2 pair_ab.
  bool of_distance;
};

inline constexpr KernelTraits kKernels[] = {
    {KernelKind::linear, "linear", PairSum::product, false},
    {KernelKind::polynomial, "poly", PairSum::product, false},
    {KernelKind::rbf, "rbf", PairSum::product, true},
    {KernelKind::sigmoid, "sigmoid", PairSum::product, false},
    {KernelKind::cosine, "cosine", PairSum::product, false},
    {KernelKind::laplacian, "laplacian", PairSum::overlap, true},
};

constexpr const KernelTraits& traits_of(KernelKind kind) { return kKernels[static_cast<std::size_t>(kind)]; }

constexpr bool table_is_in_order() {
  for (std::size_t k = 0; k < std::size(kKernels); ++k)
    if (static_cast<std::size_t>(kKernels[k].kind) != k) return false;
  return true;
}
static_assert(table_is_in_order());

/// The sum of the terms of the distance itself: it keeps its digits far from the origin, but has terms where one entry
/// is 0.
constexpr PairSum difference_of(PairSum pair) {
  return pair == PairSum::overlap ? PairSum::absolute_difference : PairSum::squared_difference;
}

struct Kernel {
  KernelKind kind = KernelKind::rbf;
  double gamma = 1.0;
  double coef0 = 0.0;
  int degree = 3;

  static Kernel named(std::string_view name, double gamma, double coef0, int degree) {
    for (const KernelTraits& kernel : kKernels)
      if (kernel.name == name) return {kernel.kind, gamma, coef0, degree};
    throw std::invalid_argument("unknown kernel '" + std::string(name) + "'");
  }
};

}  // namespace everlearn
