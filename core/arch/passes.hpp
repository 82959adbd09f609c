// Passes over the coefficients and gradients of a column, as vector loops.
#pragma once

#include <cstddef>
#include <cstdint>

namespace everlearn {

/// Gradients, gates and kernel rows can be read up to the next multiple of kPad.
inline constexpr std::size_t kPad = 64;

/// The two ends of a gradient: the highest that may still go up, the lowest that may still go down.
struct Extremes {
  double high, low;
  std::int64_t up, down;  // their slots, -1 where there is none; the lowest slot wins ties
};

/// What a coefficient may do: a gate is a set of these bits. A shut gate (0) is that of a row that is not a
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

struct PassLoops {
  /// g -= step (ki - kj), and the extremes of the result, in one pass.
  Extremes (*step)(double* g, const std::uint8_t* gate, const float* ki, const float* kj, double step, std::size_t n);
  Extremes (*scan)(const double* g, const std::uint8_t* gate, std::size_t n);
  /// sum_s coefficients[s] k[s]
  double (*dot)(const float* k, const double* coefficients, std::size_t n);
  /// to[c * to_stride + r] = from[r * from_stride + c] for r < rows and c < columns
  void (*transpose)(const float* from, std::size_t from_stride, std::size_t rows, std::size_t columns, float* to,
                    std::size_t to_stride);
  /// Copies the values whose flag is 1 to `to`, one after the other; a flag is 0 or 1. Returns how many there are. Up to
  /// n values may be overwritten at `to`, which may be `from` or lie before it.
  std::size_t (*compress)(const float* from, const std::uint8_t* stays, std::size_t n, float* to);
  /// g[s] -= sum_r steps[r] rows[r][s] for begin <= s < end
  void (*rank_update)(double* g, const float* const* rows, const double* steps, std::size_t count, std::size_t begin,
                      std::size_t end);
  /// The same with exact kernel values; what becomes of a value does not depend on its place.
  void (*rank_update_exact)(double* g, const double* const* rows, const double* steps, std::size_t count,
                            std::size_t begin, std::size_t end);
  /// g[r] -= sum_s rows[r][s] steps[s] for r < count and s < n, bit for bit as rank_update_exact of the transpose.
  void (*dot_update_exact)(double* g, const double* const* rows, const double* steps, std::size_t count, std::size_t n);
  /// sum_k a[k] b[k]
  double (*dot_exact)(const double* a, const double* b, std::size_t n);
  /// (a, b) <- (cosine a + sine b, cosine b - sine a)
  void (*rotate)(double* a, double* b, double cosine, double sine, std::size_t n);
  /// The slot s that may go down and maximizes (high - g_s)^2 / (kii + diagonal_s - 2 ki[s]); -1 if none is
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

}  // namespace everlearn
