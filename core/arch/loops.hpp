// The hot loops, compiled once per instruction set and chosen once per process.
//
// Invariant that the rest of the core leans on: a kernel value is a pure function of its pair of rows.
// Every loop adds the products of a pair in the order of the columns, one accumulator a pair, and maps
// the sum with the same instructions; columns where a row is zero change nothing. So K(a, b) = K(b, a)
// bit for bit, whichever of dense or sparse rows, block size, number of threads or cached copy it came
// from, and a model that is saved and loaded continues as if it had never stopped.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel.hpp"

namespace everlearn {

/// Dense kept rows lie in panels: kPanel rows side by side, column after column; what is behind the last is never
/// read out.
inline constexpr std::size_t kPanel = 16;

/// Gradients, gates and kernel rows can be read up to the next multiple of kPad.
inline constexpr std::size_t kPad = 64;

inline constexpr std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

/// Rows `a` (row-major, m x width) against kept rows [begin, end): out[r][s] = K(a_r, kept_s). Values are floats, which
/// is enough for steps that need not be exact, or doubles.
template <class T, class Out = float>
struct DenseJob {
  Kernel kernel;
  const T* a;
  const T* a_norms;
  std::size_t m, width;
  const T* panels;
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

/// The two ends of a gradient: the highest that may still go up, the lowest that may still go down.
struct Extremes {
  double high, low;
  std::int64_t up, down;  // their slots, -1 where there is none; the lowest slot wins ties
};

/// What a coefficient may do: a gate is a set of these bits. A shut gate (0) is that of a row which is no
/// member of the expansion, or whose turn has not come; gates behind the last row are shut.
inline constexpr std::uint8_t kMayRise = 1, kMayFall = 2;

/// The coefficients of one column, for steps on one at a time. Everything can be read up to the next multiple of
/// kPad; behind the last row, and where a row is no member, alpha and edge are 0.
struct CoefficientView {
  double* g;
  const std::uint8_t* gate;
  const double* alpha;
  const double* edge;     // the end of the box that is not 0
  const float* diagonal;  // K(s, s)
  const float* inverse;   // 1 / K(s, s), huge where that is 0
};

/// With h = max(0, edge g), the loss of a row that keeps to its own side:
///   gap = sum h - alpha g, which is the primal minus the dual; loss = sum h; squared_loss = sum h^2.
struct Survey {
  Extremes ends;
  double gap, loss, squared_loss;
};

/// How much the best step on a single coefficient adds to the dual, and whose it is; -1 if none adds anything.
struct Gain {
  double gain;
  std::int64_t slot;  // the lowest slot wins ties
};

/// g -= length k: how gradients follow a coefficient; no row, no change.
struct Descent {
  const float* k = nullptr;
  double length = 0;
};

/// A coefficient that looks for a partner to move with: its gradient, value and box, and what its best step alone does.
struct Pivot {
  std::int64_t slot;
  double g, alpha, lower, upper, diagonal;
  double move, gain;
};

struct Loops {
  const char* name;
  void (*dense_f32)(const DenseJob<float>&);
  void (*dense_f64)(const DenseJob<double>&);
  void (*sparse_f32)(const SparseJob<float>&);
  void (*sparse_f64)(const SparseJob<double>&);
  void (*dense_exact)(const DenseJob<double, double>&);
  void (*sparse_exact)(const SparseJob<double, double>&);
  /// Squared norms with the same order of additions as a kernel value.
  void (*norms_f32)(const float* rows, std::size_t m, std::size_t width, float* out);
  void (*norms_f64)(const double* rows, std::size_t m, std::size_t width, double* out);
  /// g -= step (ki - kj), and the extremes of the result, in one pass.
  Extremes (*step)(double* g, const std::uint8_t* gate, const float* ki, const float* kj, double step, std::size_t n);
  Extremes (*scan)(const double* g, const std::uint8_t* gate, std::size_t n);
  /// sum_s coefficients[s] k[s]
  double (*dot)(const float* k, const double* coefficients, std::size_t n);
  /// g[s] -= sum_r steps[r] rows[r][s] for begin <= s < end
  void (*rank_update)(double* g, const float* const* rows, const double* steps, std::size_t count,
                      std::size_t begin, std::size_t end);
  /// The same with exact kernel values; what becomes of a value does not depend on its place.
  void (*rank_update_exact)(double* g, const double* const* rows, const double* steps, std::size_t count,
                            std::size_t begin, std::size_t end);
  /// sum_k a[k] b[k]
  double (*dot_exact)(const double* a, const double* b, std::size_t n);
  /// (a, b) <- (cosine a + sine b, cosine b - sine a)
  void (*rotate)(double* a, double* b, double cosine, double sine, std::size_t n);
  /// The slot s that may go down and maximises (high - g_s)^2 / (kii + diagonal_s - 2 ki[s]); -1 if none is
  /// below `high`.
  std::int64_t (*second_order)(const double* g, const std::uint8_t* gate, const float* ki, const float* diagonal,
                               double kii, double high, std::size_t n);
  /// What the column looks like after up to two descents, in one pass.
  Survey (*survey)(const CoefficientView& view, Descent first, Descent second, std::size_t n);
  /// The best of the steps with |g| > tolerance after them, in one pass.
  Gain (*best_gain)(const CoefficientView& view, Descent first, Descent second, double tolerance, std::size_t n);
  /// The other slot with which the pivot, whose kernel row is k, gains most when both move, and that gain.
  Gain (*partner)(const CoefficientView& view, const float* k, const Pivot& pivot, std::size_t n);
};

/// The loops for this machine's best instruction set.
const Loops& loops();

/// The loops of a named instruction set ("baseline", "avx2", "avx512"); null if this machine lacks it.
const Loops* loops_named(const char* name);

}  // namespace everlearn
