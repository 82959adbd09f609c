// Optimising a column on the rows it has, to tolerance tau.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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

/// The best step for one coefficient with gradient g and curvature K_ii: where it leads, exactly to a bound of its
/// box [lower, upper] if it gets there.
double single_step(double g, double curvature, double alpha, double lower, double upper);

/// Whether the coefficients of a column sum to zero, which is what a bias asks for.
enum class Bias { free, zero };

/// The most by which a column violates its optimality conditions: with a bias no pair may have high - low > tau,
/// without one no coefficient may have a gradient beyond tau in a direction in which it can move.
double violation(const Extremes& ends, Bias bias);

/// Rounds of decomposition on column c: choose a working set, solve it on its own small kernel matrix (by second-order
/// pair steps, or by the best single steps), then bring all other gradients up to date with one rank-k
/// product. Steps touch the working set only: that takes the place of shrinking. Returns true when the violation is
/// at most tau, or when no step changes a coefficient any more; counts the steps.
bool optimise(Expansion& expansion, std::size_t c, Bias bias, double tau, std::size_t rounds, std::int64_t& steps);

/// Sets coefficients of column c and brings all gradients up to date.
void move_to(Expansion& expansion, std::size_t c, std::span<const std::int64_t> slots, std::span<const double> alpha);

}  // namespace everlearn
