// The passes of solvers without a bias, which move one coefficient at a time, or two.
#include "arch/lanes.hpp"

namespace everlearn::EVERLEARN_ARCH {
namespace {

/// The gradients of slots s .. s + kW, after as many descents as there are.
template <int descents>
inline VecD gradient(const CoefficientView& view, Descent first, Descent second, std::size_t s) {
  VecD g = load<VecD>(view.g + s);
  if constexpr (descents > 0) g = subtract_product(g, splat(first.length), widen(first.k + s));
  if constexpr (descents > 1) g = subtract_product(g, splat(second.length), widen(second.k + s));
  if constexpr (descents > 0) store(view.g + s, g);
  return g;
}

/// Where coefficients lead that follow their gradients alone.
inline VecD best_alone(const CoefficientView& view, VecD g, VecD alpha, VecD edge, std::size_t s) {
  const VecD free = multiply_add(g, widen(view.inverse + s), alpha);
  return larger(smaller(free, larger(edge, VecD{})), smaller(edge, VecD{}));
}

/// The largest gain seen so far in each lane.
struct LaneGains {
  VecD most[kChains] = {};
  VecL slots[kChains];

  LaneGains() {
    for (VecL& chain : slots) chain = VecL{} - 1;
  }
  inline void see(int chain, VecD gain, VecL slot) {
    const VecL better = gain > most[chain];
    most[chain] = better ? gain : most[chain];
    slots[chain] = better ? slot : slots[chain];
  }
  Gain reduce() const {
    Gain winner{0, -1};
    for (int c = 0; c < kChains; ++c)
      for (int l = 0; l < kW; ++l)
        if (slots[c][l] >= 0 && (most[c][l] > winner.gain || (most[c][l] == winner.gain && slots[c][l] < winner.slot)))
          winner = {most[c][l], slots[c][l]};
    return winner;
  }
};

/// Runs gain(s, slots), the gains of slots s .. s + kW, over all slots and returns the largest.
template <class F>
inline Gain largest(std::size_t n, F&& gain) {
  LaneGains best;
  VecL slot = slots_from(0);
  for (std::size_t at = 0; at < n; at += kChains * kW) {
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c, slot += kW) best.see(c, gain(at + c * kW, slot), slot);
  }
  return best.reduce();
}

template <int descents>
Survey survey_pass(const CoefficientView& view, Descent first, Descent second, std::size_t n) {
  VecD gap[kChains] = {}, loss[kChains] = {}, squared[kChains] = {};
  const Extremes ends = extremes(view.gate, n, [&](std::size_t s, int chain) {
    const VecD g = gradient<descents>(view, first, second, s), edge = load<VecD>(view.edge + s);
    const VecD h = larger(edge * g, VecD{});
    const VecD target = h > 0.0 ? edge : VecD{};  // where the gradient pulls: no term is ever negative
    gap[chain] = multiply_add(target - load<VecD>(view.alpha + s), g, gap[chain]);
    loss[chain] += h;
    squared[chain] = multiply_add(h, h, squared[chain]);
    return g;
  });
  Survey found{ends, 0, 0, 0};
  for (int c = 0; c < kChains; ++c)
    for (int l = 0; l < kW; ++l) {
      found.gap += gap[c][l];
      found.loss += loss[c][l];
      found.squared_loss += squared[c][l];
    }
  return found;
}

template <int descents>
Gain gain_pass(const CoefficientView& view, Descent first, Descent second, double tolerance, std::size_t n) {
  return largest(n, [&](std::size_t s, VecL) {
    const VecD g = gradient<descents>(view, first, second, s);
    const VecD alpha = load<VecD>(view.alpha + s);
    const VecD move = best_alone(view, g, alpha, load<VecD>(view.edge + s), s) - alpha;
    const VecD gain = move * subtract_product(g, 0.5 * widen(view.diagonal + s), move);
    return larger(g, -g) > tolerance ? gain : VecD{};
  });
}

}  // namespace

Survey survey(const CoefficientView& view, Descent first, Descent second, std::size_t n) {
  if (first.k == nullptr) return survey_pass<0>(view, first, second, n);
  if (second.k == nullptr) return survey_pass<1>(view, first, second, n);
  return survey_pass<2>(view, first, second, n);
}

Gain best_gain(const CoefficientView& view, Descent first, Descent second, double tolerance, std::size_t n) {
  if (first.k == nullptr) return gain_pass<0>(view, first, second, tolerance, n);
  if (second.k == nullptr) return gain_pass<1>(view, first, second, tolerance, n);
  return gain_pass<2>(view, first, second, tolerance, n);
}

/// Two coefficients i and j gain most together at
///     d_i = (g_i K_jj - g_j K_ij) / det,   d_j = (g_j K_ii - g_i K_ij) / det,   det = K_ii K_jj - K_ij^2;
/// where that leaves a box, i makes its best step alone, and then j does.
Gain partner(const CoefficientView& view, const float* k, const Pivot& pivot, std::size_t n) {
  const VecD least = splat(pivot.diagonal > 0 ? 1e-9 * pivot.diagonal : kInf);  // a maximum, not a saddle
  return largest(n, [&](std::size_t s, VecL slots) {
    const VecD g = load<VecD>(view.g + s), alpha = load<VecD>(view.alpha + s), edge = load<VecD>(view.edge + s);
    const VecD kij = widen(k + s), kjj = widen(view.diagonal + s);
    const VecD det = subtract_product(pivot.diagonal * kjj, kij, kij);
    const VecD share = 1.0 / larger(det, least);
    const VecD di = subtract_product(pivot.g * kjj, g, kij) * share;
    const VecD dj = subtract_product(g * pivot.diagonal, splat(pivot.g), kij) * share;
    const VecD ai = pivot.alpha + di, aj = alpha + dj;
    const VecL fits = (det > least) & (ai >= pivot.lower) & (ai <= pivot.upper) & (aj >= smaller(edge, VecD{})) &
                      (aj <= larger(edge, VecD{}));
    const VecD later = subtract_product(g, splat(pivot.move), kij);
    const VecD move = best_alone(view, later, alpha, edge, s) - alpha;
    const VecD together = 0.5 * multiply_add(g, dj, pivot.g * di);
    const VecD in_turn = multiply_add(move, subtract_product(later, 0.5 * kjj, move), splat(pivot.gain));
    const VecD gain = fits ? together : in_turn;
    return slots == pivot.slot ? VecD{} : gain;
  });
}

}  // namespace everlearn::EVERLEARN_ARCH
