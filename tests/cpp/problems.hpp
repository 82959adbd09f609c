// Rows, kernels and labels for the tests, computed the plain way.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "rows.hpp"

namespace problems {

using everlearn::Block;
using everlearn::Kernel;
using everlearn::KernelKind;
using everlearn::Precision;
using everlearn::Rows;

using Random = std::mt19937_64;
using Slots = std::vector<std::int64_t>;

inline double uniform(Random& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
}
inline std::size_t below(Random& random, std::size_t n) { return static_cast<std::size_t>(random() % n); }
inline Slots first(std::size_t n) {
  Slots slots(n);
  std::iota(slots.begin(), slots.end(), 0);
  return slots;
}

/// The same bits, so that -0 is not 0 and a NaN equals itself.
template <class T>
bool same_bits(const T* a, const T* b, std::size_t n) {
  return n == 0 || std::memcmp(a, b, n * sizeof(T)) == 0;
}
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && same_bits(a.data(), b.data(), a.size());
}

/// Rows both dense and as CSR.
template <class T>
struct Table {
  std::size_t rows, width;
  std::vector<T> values, entries;
  std::vector<std::int32_t> columns;
  std::vector<std::int64_t> starts;

  Table(std::size_t m, std::size_t w, std::vector<T> dense) : rows(m), width(w), values(std::move(dense)), starts{0} {
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t k = 0; k < width; ++k)
        if (values[r * width + k] != T(0)) {
          entries.push_back(values[r * width + k]);
          columns.push_back(static_cast<std::int32_t>(k));
        }
      starts.push_back(static_cast<std::int64_t>(entries.size()));
    }
  }
  const T* row(std::size_t r) const { return values.data() + r * width; }
  Block dense() const { return {precision(), false, rows, width, values.data(), nullptr, nullptr}; }
  Block sparse() const { return {precision(), true, rows, width, entries.data(), columns.data(), starts.data()}; }
  static Precision precision() { return sizeof(T) == 4 ? Precision::f32 : Precision::f64; }
};

/// Random rows; row 3 is empty and every seventh repeats an earlier one (see repeats).
inline std::size_t repeats(std::size_t r) { return r % 7 == 6 ? r / 2 : r; }
template <class T>
Table<T> random_table(Random& random, std::size_t m, std::size_t width, double filled) {
  std::vector<T> values(m * width);
  for (std::size_t r = 0; r < m; ++r)
    for (std::size_t k = 0; k < width; ++k) {
      T& value = values[r * width + k];
      value = r != 3 && uniform(random, 0, 1) < filled ? static_cast<T>(uniform(random, -1, 1)) : T(0);
      if (repeats(r) != r) value = values[repeats(r) * width + k];
    }
  return {m, width, std::move(values)};
}

/// K(a, b) in double precision, column after column.
template <class T>
double plain_kernel(const Kernel& kernel, const T* a, const T* b, std::size_t width) {
  double dot = 0, distance = 0, absolute = 0, a_norm = 0, b_norm = 0;
  for (std::size_t k = 0; k < width; ++k) {
    dot += double(a[k]) * double(b[k]);
    absolute += std::abs(double(a[k]) - double(b[k]));
    a_norm += double(a[k]) * double(a[k]);
    b_norm += double(b[k]) * double(b[k]);
    distance += (double(a[k]) - double(b[k])) * (double(a[k]) - double(b[k]));
  }
  switch (kernel.kind) {
    case KernelKind::linear: return dot;
    case KernelKind::polynomial: return std::pow(kernel.gamma * dot + kernel.coef0, kernel.degree);
    case KernelKind::rbf: return std::exp(-kernel.gamma * distance);
    case KernelKind::sigmoid: return std::tanh(kernel.gamma * dot + kernel.coef0);
    case KernelKind::laplacian: return std::exp(-kernel.gamma * absolute);
    case KernelKind::cosine: return a_norm * b_norm > 0 ? dot / std::sqrt(a_norm * b_norm) : 0;
  }
  return 0;
}

/// A matrix of floats with a pointer to each row, as the core wants it.
struct Matrix {
  static constexpr float kUntouched = -7777.0f;
  std::size_t m, n;
  std::vector<float> values;
  std::vector<float*> rows;

  Matrix(std::size_t m_, std::size_t n_) : m(m_), n(n_), values(m * n, kUntouched), rows(m) {
    for (std::size_t r = 0; r < m; ++r) rows[r] = values.data() + r * n;
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  const float* operator[](std::size_t r) const { return rows[r]; }
};

/// Kernel values of all rows of a block with one another, by the core.
inline std::unique_ptr<Matrix> gram(Rows& empty, const Block& block) {
  const Slots all = first(block.rows);
  const auto batch = empty.take(block, all);
  empty.append(*batch);
  auto out = std::make_unique<Matrix>(block.rows, block.rows);
  empty.evaluate(*batch, 0, block.rows, 0, block.rows, out->rows.data());
  return out;
}

}  // namespace problems
