// A problem on some rows of a column: their coefficients move, all others are fixed. The fixed ones enter through the
// gradients, and the sum of those that move stays constant.
#pragma once

#include <algorithm>
#include <cstdint>

#include "working_set.hpp"

namespace everlearn {

struct SmallProblem {
  std::size_t size, stride;
  AlignedVector<float> diagonal;
  AlignedVector<double> alpha, g, edge;
  AlignedVector<std::uint8_t> gate;

  explicit SmallProblem(std::size_t n)
      : size(n), stride(round_up(n, kPad)), diagonal(stride), alpha(stride), g(stride), edge(stride), gate(stride, 0) {}

  double lower(std::size_t s) const { return std::min(0.0, edge[s]); }
  double upper(std::size_t s) const { return std::max(0.0, edge[s]); }

  void set_alpha(std::size_t s, double value) {
    alpha[s] = value;
    gate[s] = static_cast<std::uint8_t>((value < upper(s) ? kMayRise : 0) | (value > lower(s) ? kMayFall : 0));
  }

  /// Copies a slot of a column to place s.
  void take(const Expansion& expansion, std::size_t c, std::size_t slot, std::size_t s) {
    const Column& column = expansion.column(c);
    diagonal[s] = static_cast<float>(expansion.diagonal(slot));
    g[s] = column.g[slot];
    edge[s] = column.edge[slot];
    set_alpha(s, column.alpha[slot]);
  }

  /// Pair steps, with the second index chosen to second order, until the violation is at most `tolerance`. Returns the
  /// number of steps. row(s) is the kernel row of place s, one value for each place.
  template <class RowOf>
  std::size_t solve_pairs(RowOf&& row, double tolerance, std::size_t max_steps) {
    Extremes ends = loops().scan(g.data(), gate.data(), size);
    std::size_t steps = 0;
    for (; steps < max_steps && ends.up >= 0 && ends.down >= 0; ++steps) {
      if (ends.high - ends.low <= tolerance) break;
      const auto i = static_cast<std::size_t>(ends.up);
      const float* ki = row(i);
      const std::int64_t pick =
          loops().second_order(g.data(), gate.data(), ki, diagonal.data(), diagonal[i], ends.high, size);
      if (pick < 0) break;
      const auto j = static_cast<std::size_t>(pick);
      const PairStep pair = pair_step(g[i] - g[j], double(diagonal[i]) + diagonal[j] - 2.0 * ki[j],
                                      {alpha[i], upper(i)}, {alpha[j], lower(j)});
      set_alpha(i, pair.up);
      set_alpha(j, pair.down);
      ends = loops().step(g.data(), gate.data(), ki, row(j), pair.length, size);
    }
    return steps;
  }
};

}  // namespace everlearn
