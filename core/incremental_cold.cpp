// One column of the exact machine solved from scratch, without following a path: the fallback of change().
//
// change() keeps the conditions of all settled rows true, one event at a time. Where rounding errors decide which event
// comes first its steps may cycle, and would cycle again from scratch with the same rows in the same order. So the
// fallback is an active-set method on the dual, D = sum y_i theta_i - 1/2 sum theta_i theta_j K_ij:
//
//   pair step   i may rise, j may fall and g_i > g_j: theta_i += t, theta_j -= t, with the t that gains most (SMO);
//   face step   S := rows strictly inside of their boxes; Newton's step to the maximum on that face, adjust(),
//               which drops rows from S that meet an end.
//
// It begins with pair steps from theta = 0, while they are cheap and gain much; then one of each in turn. A pair step
// has positive length because both rows have room, so that D increases strictly from face optimum to face optimum: no
// face occurs twice, and the method ends where no pair is left, whatever the order of ties. A pair step costs O(n), a
// face step O(n |S| + |S|^2).
#include <algorithm>
#include <cmath>
#include <utility>

#include "incremental.hpp"
#include "incremental_errors.hpp"

namespace everlearn {
namespace {

/// Face steps begin when no pair differs by more, or after so many pair steps for each row.
constexpr double kRough = 1e-3;
constexpr std::size_t kPairSteps = 50;
/// Rounds of a pair step and a face step, for each row and at least.
constexpr std::size_t kFaceSteps = 20, kLeastFaceSteps = 1000;
/// How often everything is computed again from the coefficients and improved if necessary.
constexpr int kAttempts = 4;
/// The violation that is allowed in the end, relative to 1 + |b|; between changes S may drift as far.
constexpr double kHolds = 1e-9;

}  // namespace

/// A pair step: the row that may rise with the largest g, and the row that may fall with which it gains most. Returns
/// the slots, or {-1, -1} if no pair differs by more than the tolerance or a step changes nothing in floating point.
std::pair<std::int64_t, std::int64_t> Incremental::pair_step_exact(std::size_t c, double tolerance) {
  constexpr std::pair<std::int64_t, std::int64_t> none{-1, -1};
  const Column& column = expansion_.column(c);
  std::int64_t up = -1, down = -1;
  for (std::size_t s = 0; s < expansion_.size(); ++s)
    if ((column.gate[s] & kMayRise) && (up < 0 || column.g[s] > column.g[static_cast<std::size_t>(up)]))
      up = static_cast<std::int64_t>(s);
  if (up < 0) return none;
  const auto i = static_cast<std::size_t>(up);
  const ExactRows::Held held = kernel_.hold(up);
  const Row& row = *held;
  double most = 0, length = 0;
  for (std::size_t s = 0; s < expansion_.size(); ++s) {
    const double slope = column.g[i] - column.g[s];
    if (!(column.gate[s] & kMayFall) || slope <= tolerance) continue;
    const double ridges = ridge_[i] + ridge_[s];  // what the curvature is at least
    const double best = slope / std::max(diagonal_[i] + diagonal_[s] - 2 * row[s] + ridges, ridges);
    if (slope * best > most) most = slope * best, length = best, down = static_cast<std::int64_t>(s);
  }
  if (down < 0) return none;
  const auto j = static_cast<std::size_t>(down);
  const double room_i = room(c, i, 1), room_j = room(c, j, -1), at_i = column.alpha[i], at_j = column.alpha[j];
  length = std::min({length, room_i, room_j});
  expansion_.set_alpha(c, i, length == room_i ? expansion_.upper(c, i) : at_i + length);
  expansion_.set_alpha(c, j, length == room_j ? expansion_.lower(c, j) : at_j - length);
  if (column.alpha[i] == at_i && column.alpha[j] == at_j) return none;
  descend(c, std::vector{up, down}, std::vector{column.alpha[i] - at_i, column.alpha[j] - at_j});
  ++states_[c].counts.steps;
  return {up, down};
}

/// A pair step and a face step in turn, until no pair is left.
void Incremental::solve_active_set(std::size_t c) {
  const std::size_t rounds = std::max(kLeastFaceSteps, kFaceSteps * expansion_.size());
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto [up, down] = pair_step_exact(c, kTolerance);
    if (up < 0) return;
    for (const auto slot : {up, down}) {
      const auto s = static_cast<std::size_t>(slot);
      if (is_free(c, s) && states_[c].place[s] < 0) enter_margin(c, s);
      else if (!is_free(c, s) && states_[c].place[s] >= 0) leave_margin(c, s);
    }
    solve_margin(c);
  }
}

void Incremental::solve_from_scratch(std::size_t c) {
  ColumnState& state = states_[c];
  ++state.counts.fallbacks;
  state.watching = state.watches_all = false;
  for (std::size_t s = 0; s < expansion_.size(); ++s)
    if (expansion_.column(c).member[s]) expansion_.set_alpha(c, s, 0);
  start_from_coefficients(c);
  for (std::size_t step = 0; step < kPairSteps * expansion_.size(); ++step)
    if (pair_step_exact(c, kRough).first < 0) break;
  double worst = kTolerance;
  for (int attempt = 0; attempt < kAttempts && worst >= kTolerance; ++attempt) {
    start_from_coefficients(c);
    solve_active_set(c);
    start_from_coefficients(c);
    worst = 0;
    for (std::size_t s = 0; s < expansion_.size(); ++s) worst = std::max(worst, violation(c, s));
  }
  if (worst > kHolds * (1 + std::abs(expansion_.column(c).bias))) {
    if (!check_definite) throw Stuck();
    std::size_t shows = 0;
    for (std::size_t s = 0; s < expansion_.size(); ++s)
      if (violation(c, s) > violation(c, shows)) shows = s;
    throw IndefiniteKernel(shows);
  }
  for (std::size_t s = 0; s < expansion_.size(); ++s)
    state.settled[s] = expansion_.column(c).member[s] && state.place[s] < 0;
}

}  // namespace everlearn
