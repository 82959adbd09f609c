// Blocks of kernel values, as vector loops.
//
// Invariant that the rest of the core relies on: a kernel value is a pure function of its pair of rows. Every loop adds
// the terms of a pair (PairSum) in the order of the columns, in one accumulator for each pair, and maps the sum with
// the same instructions; columns where a row is zero change nothing. So K(a, b) = K(b, a) bit for bit, from dense or
// sparse rows, at any block size, with any number of threads, cached or computed again; a model that is saved and
// loaded continues as if it had never stopped.
#pragma once

#include <cstddef>
#include <cstdint>

#include "half.hpp"
#include "kernel.hpp"

namespace everlearn {

/// Dense kept rows lie in panels: kPanel rows side by side, column after column. Values behind the last row take part
/// in the computation, but are never written out.
inline constexpr std::size_t kPanel = 16;

inline constexpr std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

/// Rows `a` (row-major, m x width) against kept rows [begin, end): out[r][s] = K(a_r, kept_s). Values are floats, which
/// is enough for steps that need not be exact, or doubles. Kept rows may be stored in fewer bits than they are computed
/// with.
template <class T, class Out = float, class Stored = T>
struct DenseJob {
  Kernel kernel;
  const T* a;
  const T* a_norms;
  std::size_t m, width;
  const Stored* panels;
  const T* norms;
  std::size_t begin, end;
  Out* const* out;
};

/// A read-only view of sparse rows, columns ascending within a row.
template <class T>
struct CsrView {
  const T* values;
  const std::int32_t* columns;
  const std::int64_t* starts;
  const T* norms;
};

/// Sparse rows a[a_begin .. a_begin + m) against kept rows [begin, end); out as in DenseJob.
template <class T, class Out = float>
struct SparseJob {
  Kernel kernel;
  CsrView<T> a;
  std::size_t a_begin, m, width;
  CsrView<T> kept;
  std::size_t begin, end;
  Out* const* out;
};

struct KernelLoops {
  void (*dense_f32)(const DenseJob<float>&);
  void (*dense_f64)(const DenseJob<double>&);
  void (*dense_f16)(const DenseJob<float, float, Half>&);
  /// Values rounded to halves.
  void (*to_halves)(const double* values, std::size_t n, float* out);
  void (*sparse_f32)(const SparseJob<float>&);
  void (*sparse_f64)(const SparseJob<double>&);
  void (*dense_exact)(const DenseJob<double, double>&);
  void (*sparse_exact)(const SparseJob<double, double>&);
  /// The pair sum of each row with itself, with the same order of additions as a kernel value.
  void (*norms_f32)(PairSum pair, const float* rows, std::size_t m, std::size_t width, float* out);
  void (*norms_f64)(PairSum pair, const double* rows, std::size_t m, std::size_t width, double* out);
};

}  // namespace everlearn
