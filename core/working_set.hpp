// Optimising a column on the rows it has, to tolerance tau.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

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

/// A coefficient with its gradient, its curvature K_ii and its box.
struct Single {
  double g, curvature, alpha, lower, upper;
};

/// Where the best step on one coefficient leads, exactly to a bound if it gets there.
double single_step(const Single& i);

/// Where the best step on two coefficients leads, K_ij being their kernel value; see Loops::partner.
std::pair<double, double> joint_step(const Single& i, const Single& j, double kij);

/// The best step on the coefficient of a slot, without a bias: sets it, and leaves it to follow(moves) to bring the
/// gradients up to date. False if nothing moves. It may run on several columns at once.
using Follow = std::function<void(std::span<const Move>)>;
bool step_alone(Expansion& expansion, std::size_t c, std::size_t slot, const Follow& follow);
/// The same, together with the partner with which it gains most. Without a bias all gradients tend to be off by the same
/// amount, which single steps mend little by little: on the first 1,500 rows of adult (C = 100, gamma = 0.005) a plain
/// implementation takes 108,657 steps on single coefficients and 4,222 on two until no step gains 1e-5.
bool step_with_partner(Expansion& expansion, std::size_t c, std::size_t slot, const Follow& follow);

/// Whether the coefficients of a column sum to zero, which is what a bias asks for.
enum class Bias { free, zero };

/// The most by which a column violates its optimality conditions: with a bias no pair may have high - low > tau,
/// without one no coefficient may have a gradient beyond tau in a direction in which it can move.
double violation(const Extremes& ends, Bias bias);

/// Rounds of decomposition on column c: choose a working set, solve it on its own small kernel matrix (by second-order
/// pair steps, or, without a bias, by steps with a partner), then bring all other gradients up to date with one rank-k
/// product. Steps touch the working set only: that takes the place of shrinking. Returns true when the violation is
/// at most tau, or when no step changes a coefficient any more; counts the steps.
bool optimise(Expansion& expansion, std::size_t c, Bias bias, double tau, std::size_t rounds, std::int64_t& steps);

/// Sets coefficients of column c and brings all gradients up to date.
void move_to(Expansion& expansion, std::size_t c, std::span<const std::int64_t> slots, std::span<const double> alpha);

}  // namespace everlearn
