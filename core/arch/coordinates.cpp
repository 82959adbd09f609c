// The passes of solvers without a bias, which move one coefficient at a time.
#include "arch/lanes.hpp"

namespace everlearn::EVERLEARN_ARCH {
namespace {

/// The gradients of slots s .. s + kW, after the step if there is one.
template <bool moves>
inline VecD gradient(const CoefficientView& view, const float* k, double length, std::size_t s) {
  VecD g = load<VecD>(view.g + s);
  if constexpr (moves) {
    g -= length * widen(k + s);
    store(view.g + s, g);
  }
  return g;
}

template <bool moves>
Survey survey_pass(const CoefficientView& view, const float* k, double length, std::size_t n) {
  VecD gap[kChains] = {}, loss[kChains] = {}, squared[kChains] = {};
  const Extremes ends = extremes(view.gate, n, [&](std::size_t s, int chain) {
    const VecD g = gradient<moves>(view, k, length, s), edge = load<VecD>(view.edge + s);
    const VecD h = larger(edge * g, VecD{});
    const VecD target = h > 0.0 ? edge : VecD{};  // where the gradient pulls: no term is ever negative
    gap[chain] += (target - load<VecD>(view.alpha + s)) * g;
    loss[chain] += h;
    squared[chain] += h * h;
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

template <bool moves>
Gain gain_pass(const CoefficientView& view, const float* k, double length, double tolerance, std::size_t n) {
  VecD most[kChains] = {};
  VecL slots[kChains];
  for (VecL& chain : slots) chain = VecL{} - 1;
  VecL slot = slots_from(0);
  for (std::size_t at = 0; at < n; at += kChains * kW) {
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c, slot += kW) {
      const std::size_t s = at + c * kW;
      const VecD g = gradient<moves>(view, k, length, s), edge = load<VecD>(view.edge + s);
      const VecD alpha = load<VecD>(view.alpha + s);
      const VecD best = larger(smaller(alpha + g * widen(view.inverse + s), larger(edge, VecD{})), smaller(edge, VecD{}));
      const VecD move = best - alpha;
      VecD gain = move * (g - 0.5 * widen(view.diagonal + s) * move);
      gain = larger(g, -g) > tolerance ? gain : VecD{};
      const VecL better = gain > most[c];
      most[c] = better ? gain : most[c];
      slots[c] = better ? slot : slots[c];
    }
  }
  Gain winner{0, -1};
  for (int c = 0; c < kChains; ++c)
    for (int l = 0; l < kW; ++l)
      if (slots[c][l] >= 0 && (most[c][l] > winner.gain || (most[c][l] == winner.gain && slots[c][l] < winner.slot)))
        winner = {most[c][l], slots[c][l]};
  return winner;
}

}  // namespace

Survey survey(const CoefficientView& view, const float* k, double length, std::size_t n) {
  return k == nullptr ? survey_pass<false>(view, k, length, n) : survey_pass<true>(view, k, length, n);
}

Gain best_gain(const CoefficientView& view, const float* k, double length, double tolerance, std::size_t n) {
  return k == nullptr ? gain_pass<false>(view, k, length, tolerance, n)
                      : gain_pass<true>(view, k, length, tolerance, n);
}

}  // namespace everlearn::EVERLEARN_ARCH
