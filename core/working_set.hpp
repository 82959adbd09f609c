// Optimising a column on the rows it has, to tolerance tau.
#pragma once

#include <cstddef>
#include <cstdint>

#include "expansion.hpp"

namespace everlearn {

/// A coefficient and the bound it moves towards.
struct Travel {
  double alpha, bound;
};

/// What a step on a pair leads to: the new coefficients, exactly at a bound if they reach it.
struct PairStep {
  double length, up, down;
};

/// The best step for a pair with gradient difference `slope` and curvature K_ii + K_jj - 2 K_ij.
PairStep pair_step(double slope, double curvature, Travel up, Travel down);

/// Rounds of decomposition on column c: choose a working set, solve it by second-order pair steps on its own
/// small kernel matrix, then bring all other gradients up to date with one rank-k product. Steps
/// touch the working set only: that takes the place of shrinking. Returns true when high - low <= tau, or when
/// no step changes a coefficient any more; counts the pair steps.
bool optimise(Expansion& expansion, std::size_t c, double tau, std::size_t rounds, std::int64_t& steps);

}  // namespace everlearn
