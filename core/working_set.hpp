// Optimizes a column on its rows until the optimality conditions hold to tolerance tau.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "expansion.hpp"

namespace everlearn {

/// A coefficient and the bound it moves towards.
struct Travel {
  double alpha, bound;
};

/// A step on a pair: its length and the new coefficients, exactly a bound if they reach it.
struct PairStep {
  double length, up, down;
};

/// The best step for a pair with gradient difference `slope` and curvature K_ii + K_jj - 2 K_ij.
PairStep pair_step(double slope, double curvature, Travel up, Travel down);

/// A coefficient with its gradient, its curvature K_ii and its box.
struct Single {
  double g, curvature, alpha, lower, upper;
};

/// The coefficient after the best step on it; exactly a bound if the step reaches it.
double single_step(const Single& i);

/// Both coefficients after the best step on the two; K_ij is their kernel value. See Loops::partner.
std::pair<double, double> joint_step(const Single& i, const Single& j, double kij);

/// The best step on the coefficient of a slot, without a bias. Sets the coefficient; follow(moves) has to bring the
/// gradients up to date. Returns false if nothing moves. May run on several columns at once.
using Follow = FunctionRef<void(std::span<const Move>)>;
bool step_alone(Expansion& expansion, std::size_t c, std::size_t slot, Follow follow);
/// The same together with the partner with which it gains most. Without a bias all gradients tend to be off by the same
/// amount, which single steps correct slowly: on the first 1,500 rows of adult (C = 100, gamma = 0.005) a plain
/// implementation takes 108,657 steps on single coefficients and 4,222 on two until no step gains 1e-5.
bool step_with_partner(Expansion& expansion, std::size_t c, std::size_t slot, Follow follow);

/// With a free bias the coefficients of a column sum to zero.
enum class Bias { free, zero };

/// The largest violation of the optimality conditions of a column. They hold to tau if, with a bias, no pair has
/// high - low > tau or, without one, no coefficient has a gradient beyond tau in a direction in which it can move.
double violation(const Extremes& ends, Bias bias);

/// Rounds of decomposition on column c: choose a working set, solve it on its own small kernel matrix (by second-order
/// pair steps or, without a bias, by steps with a partner), then bring all other gradients up to date with one rank-k
/// product. Steps touch the working set only, so that no shrinking is needed. Returns true when the violation is at
/// most tau or no step changes a coefficient any more. A round with a large working set counts as several. Adds the
/// steps to `steps`.
bool optimize(Expansion& expansion, std::size_t c, Bias bias, double tau, std::size_t rounds, std::int64_t& steps);

/// The same for every column that is live, in parallel if there are threads; true when all of them are done.
bool optimize_live(Expansion& expansion, Bias bias, double tau, std::size_t rounds, std::int64_t& steps);

/// Sets coefficients of column c and brings all gradients up to date. Changes nothing if it throws.
void move_to(Expansion& expansion, std::size_t c, std::span<const std::int64_t> slots, std::span<const double> alpha);

}  // namespace everlearn
