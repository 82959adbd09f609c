#include "gap.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "working_set.hpp"

namespace everlearn {

/// Steps for one row. Large features or costs can make steps that hardly close the gap.
constexpr int kMaxSteps = 10000;
/// Single steps for one row, as in the thesis, before steps with a partner. Measured on adult (C = 100, gamma = 0.005),
/// without partners and with them: LASVM-G 17.5 and 6.5 s, LASVM-NC 4.0 and 1.8 s.
constexpr int kSingleSteps = 64;

Gap::Gap(Expansion& expansion, std::size_t classes)
    : expansion_(expansion),
      surveys_(expansion.columns()),
      steps_(expansion.columns(), 0),
      current_(expansion.columns(), 0) {
  state.outliers.assign(expansion.columns(), 0);
  state.skipped.assign(expansion.columns(), 0);
  state.capped.assign(expansion.columns(), 0);
  state.costs.assign(classes, 0);
  state.rows.assign(classes, 0);
  for (std::size_t c = 0; c < expansion.columns(); ++c) {
    expansion.column(c).live = true;
    expansion.column(c).ends = expansion.scan(c);
  }
}

void Gap::learn(const LabeledRows& rows, std::span<const std::int64_t> which) {
  State counted = state;  // as of the last turn that was learned as a whole
  try {
    in_turns(expansion_, rows, which, [&](const Turn& turn) {
      std::vector<double> costs;  // the highest cost after each row of the turn
      for (const auto slot : turn.slots) costs.push_back(count_row(static_cast<std::size_t>(slot)));
      expansion_.each_column([&](std::size_t c) { learn_slots(c, turn.slots, costs); });
      state.iterations += static_cast<std::int64_t>(turn.slots.size());
      counted.costs = state.costs;
      counted.rows = state.rows;
      return false;
    });
  } catch (...) {
    state.costs.swap(counted.costs);
    state.rows.swap(counted.rows);
    recover();
    throw;
  }
}

/// Restores what follows from the coefficients after a step could not be made.
void Gap::recover() {
  for (std::size_t c = 0; c < expansion_.columns(); ++c) {
    expansion_.column(c).ends = expansion_.scan(c);
    current_[c] = 0;
  }
}

void Gap::forget(std::span<const std::int64_t> ids) {
  const std::vector<std::uint8_t> gone = expansion_.flags_of(ids);
  if (ids.empty()) return;
  try {
    expansion_.each_column([&](std::size_t c) {
      for (std::size_t slot = 0; slot < gone.size(); ++slot)
        if (gone[slot] && expansion_.column(c).alpha[slot] != 0) expansion_.unlearn(c, slot);
    });
    expansion_.erase(gone, ids);
    recover();
    const double highest = highest_cost();
    expansion_.each_column([&](std::size_t c) { close_gap(c, std::max(highest, target(c))); });
  } catch (...) {
    recover();
    throw;
  }
}

double Gap::count_row(std::size_t slot) {
  const auto label = static_cast<std::size_t>(expansion_.label(slot));
  state.costs[label] += expansion_.cost(slot);
  ++state.rows[label];
  return highest_cost();
}

/// The mean cost of a row in the class where it is highest.
double Gap::highest_cost() const {
  double highest = 0;
  for (std::size_t k = 0; k < state.rows.size(); ++k)
    if (state.rows[k] > 0) highest = std::max(highest, state.costs[k] / static_cast<double>(state.rows[k]));
  return highest;
}

void Gap::learn_slots(std::size_t c, std::span<const std::int64_t> slots, std::span<const double> highest_costs) {
  current_[c] = 0;  // slots may have been renumbered since the last turn
  auto rows = static_cast<std::size_t>(state.iterations);
  for (std::size_t r = 0; r < slots.size(); ++r) {
    const double target_gap = std::max(highest_costs[r], target(c));
    if (process(c, static_cast<std::size_t>(slots[r]))) close_gap(c, target_gap);
    if (clean_every > 0 && ++rows % clean_every == 0) clean(c, max_idle);
  }
}

void Gap::close_gap(std::size_t c, double target_gap) {
  int step = 0;
  while (survey(c).gap > target_gap && step < kMaxSteps && reprocess(c, step >= kSingleSteps)) ++step;
  state.capped[c] += step == kMaxSteps;
}

/// Whether there are enough support vectors to call a row with label y an outlier: on both sides, so that a stream
/// which begins with one class does not shut out the other.
bool Gap::can_judge(std::size_t c, double y) const {
  const Column& column = expansion_.column(c);
  const std::size_t own = y > 0 ? column.above : column.below, all = column.support();
  return (ramp == Ramp::fold ? all > min_support : all >= min_support) && own >= min_support / 10;
}

/// Returns false if the row was skipped.
bool Gap::process(std::size_t c, std::size_t slot) {
  Column& column = expansion_.column(c);
  if (column.member[slot]) return true;
  const double y = expansion_.sign(c, slot), z = 1 - y * column.g[slot];
  const bool may_be_outlier = ramp != Ramp::none && can_judge(c, y);
  if (may_be_outlier && ramp == Ramp::skip && (z > 1 || z < s)) {
    ++state.skipped[c];
    return false;
  }
  expansion_.join(c, slot);
  if (may_be_outlier && z < s) {
    expansion_.set_edge(c, slot, -y * expansion_.cost(slot));
    ++state.outliers[c];
  }
  if (move(c, slot)) return true;
  // A row that does not move has no loss and adds nothing to the gap, but it may be an extreme.
  Survey& seen = surveys_[c];
  const double g = column.g[slot];
  const auto k = static_cast<std::int64_t>(slot);
  if ((column.gate[slot] & kMayRise) && (seen.ends.up < 0 || g > seen.ends.high)) seen.ends.high = g, seen.ends.up = k;
  if ((column.gate[slot] & kMayFall) && (seen.ends.down < 0 || g < seen.ends.low))
    seen.ends.low = g, seen.ends.down = k;
  column.ends = seen.ends;
  return true;
}

/// Moves the coefficient that violates most, alone or with a partner; returns false if none violates by more than tau.
bool Gap::reprocess(std::size_t c, bool with_partner) {
  const Extremes ends = survey(c).ends;
  if (violation(ends, Bias::zero) <= tau) return false;
  ++steps_[c];
  const bool falls = ends.up < 0 || (ends.down >= 0 && ends.low + ends.high < 0);
  const auto slot = static_cast<std::size_t>(falls ? ends.down : ends.up);
  if (!with_partner) return move(c, slot);
  return step_with_partner(expansion_, c, slot, [&](std::span<const Move> moves) { follow(c, moves); });
}

bool Gap::move(std::size_t c, std::size_t slot) {
  return step_alone(expansion_, c, slot, [&](std::span<const Move> moves) { follow(c, moves); });
}

void Gap::follow(std::size_t c, std::span<const Move> moves) {
  surveys_[c] = expansion_.survey(c, moves);
  expansion_.column(c).ends = surveys_[c].ends;
  current_[c] = 1;
}

const Survey& Gap::survey(std::size_t c) {
  if (!current_[c]) {
    surveys_[c] = expansion_.survey(c);
    expansion_.column(c).ends = surveys_[c].ends;
    current_[c] = 1;
  }
  return surveys_[c];
}

double Gap::gap(std::size_t c) const { return current_[c] ? surveys_[c].gap : expansion_.survey(c).gap; }

double Gap::target(std::size_t c) {
  const auto support = static_cast<double>(expansion_.column(c).support());
  if (support == 0) return 0;
  const Survey& now = survey(c);
  return std::sqrt(std::max(0.0, now.squared_loss - now.loss * now.loss / support));
}

std::int64_t Gap::steps() const { return std::accumulate(steps_.begin(), steps_.end(), std::int64_t{0}); }

void Gap::clean(std::size_t max_left) {
  for (std::size_t c = 0; c < expansion_.columns(); ++c) clean(c, max_left);
  expansion_.compact();
}

void Gap::clean(std::size_t c, std::size_t max_left) {
  const Column& column = expansion_.column(c);
  // How far a gradient is from moving its coefficient off its bound.
  const auto slack = [&](std::size_t slot) { return column.edge[slot] > 0 ? -column.g[slot] : column.g[slot]; };
  if (expansion_.leave_idle(c, max_left, slack) == 0) return;
  expansion_.column(c).ends = expansion_.scan(c);
  current_[c] = 0;
}

bool Gap::finish(std::size_t rounds) {
  std::vector<std::uint8_t> done(expansion_.columns(), 1);
  expansion_.each_column([&](std::size_t c) {
    expansion_.column(c).ends = expansion_.scan(c);
    done[c] = optimize(expansion_, c, Bias::zero, tau, rounds, steps_[c]);
    current_[c] = 0;
  });
  return std::find(done.begin(), done.end(), 0) == done.end();
}

}  // namespace everlearn
