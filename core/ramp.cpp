#include "ramp.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "working_set.hpp"

namespace everlearn {

/// For one row. A row at the very end of the ramp may go in and out forever, and large features or costs can make steps
/// that hardly gain anything.
constexpr int kMaxRounds = 200, kMaxSteps = 100000;
/// Single steps for one row, as in the paper, before steps with a partner. Measured without partners and with them:
/// adult (C = 100, gamma = 0.005, 100 idle rows) 151 and 20 s, 4,000 rows of banana (C = 10, gamma = 1, all kept) 0.77
/// and 0.46 s.
constexpr int kSingleSteps = 256;

RampLoss::RampLoss(Expansion& expansion, std::size_t) : expansion_(expansion) {
  state.trusted.assign(expansion.columns(), 0);
  state.capped.assign(expansion.columns(), 0);
  start();
}

void RampLoss::start() {
  for (std::size_t c = 0; c < expansion_.columns(); ++c) {
    expansion_.column(c).live = true;
    expansion_.column(c).ends = {0, 0, -1, -1};  // not kept up to date: V decides which rows count
  }
}

bool RampLoss::inside(std::size_t c, std::size_t slot) const {
  const double y = expansion_.sign(c, slot);
  return y * expansion_.column(c).g[slot] <= 1 - s || !(state.trusted[c] & (y > 0 ? 1 : 2));
}

/// Returns true if a class has just reached min_support.
bool RampLoss::update_trusted(std::size_t c) {
  const Column& column = expansion_.column(c);
  const auto before = state.trusted[c];
  if (column.above >= min_support) state.trusted[c] |= 1;
  if (column.below >= min_support) state.trusted[c] |= 2;
  return state.trusted[c] != before;
}

void RampLoss::learn(const LabeledRows& rows, std::span<const std::int64_t> which) {
  in_turns(expansion_, rows, which, [&](const Turn& turn) {
    update_scale();
    expansion_.each_column([&](std::size_t c) {
      for (const auto slot : turn.slots) learn_slot(c, static_cast<std::size_t>(slot));
    });
    state.iterations += static_cast<std::int64_t>(turn.slots.size());
    return false;
  });
}

void RampLoss::update_scale() {
  scale_ = 1;
  for (std::size_t slot = 0; slot < expansion_.size(); ++slot) scale_ = std::max(scale_, expansion_.diagonal(slot));
}

void RampLoss::forget(std::span<const std::int64_t> ids) {
  const std::vector<std::uint8_t> gone = expansion_.flags_of(ids);
  if (ids.empty()) return;
  expansion_.each_column([&](std::size_t c) {
    for (std::size_t slot = 0; slot < gone.size(); ++slot)
      if (gone[slot] && expansion_.column(c).alpha[slot] != 0) expansion_.unlearn(c, slot);
  });
  for (std::size_t c = 0; c < expansion_.columns(); ++c) remove_rows(c, gone);
  expansion_.compact();
  update_scale();
  expansion_.each_column([&](std::size_t c) {
    settle(c, expansion_.best_gain(c, tau));
    trim_idle(c);
  });
  expansion_.compact();
}

/// Rows leave. A class that loses some and has fewer than min_support left is again as at the beginning of a stream.
void RampLoss::remove_rows(std::size_t c, const std::vector<std::uint8_t>& gone) {
  const Column& column = expansion_.column(c);
  std::size_t left[2] = {0, 0}, lost[2] = {0, 0};  // of y = +1, of y = -1
  for (std::size_t slot = 0; slot < gone.size(); ++slot) {
    if (!column.member[slot]) continue;
    // The subscript gets a name of its own: GCC 12 copies that of (a ? b : c)[...] into both branches, and under
    // -fsanitize=null the second copy reads a temporary that only the first one sets.
    const int side = expansion_.sign(c, slot) > 0 ? 0 : 1;
    ++(gone[slot] ? lost : left)[side];
    if (gone[slot]) expansion_.leave(c, slot);
  }
  for (const int side : {0, 1})
    if (lost[side] > 0 && left[side] < min_support) state.trusted[c] &= static_cast<std::uint8_t>(side == 0 ? ~1 : ~2);
}

void RampLoss::learn_slot(std::size_t c, std::size_t slot) {
  const Column& column = expansion_.column(c);
  if (column.member[slot]) return;
  if (update_trusted(c)) settle(c, expansion_.best_gain(c, tau));  // the ramp becomes active
  expansion_.join(c, slot);
  if (!inside(c, slot)) expansion_.set_edge(c, slot, 0);
  else if (expansion_.sign(c, slot) * column.g[slot] >= 0) settle(c, move(c, slot, true));
  trim_idle(c);
}

/// Steps and rounds until V stays as it is; `best` is the best step.
void RampLoss::settle(std::size_t c, Gain best) {
  int step = 0;
  for (int round = 0; round < kMaxRounds && step < kMaxSteps; ++round) {
    for (; step < kMaxSteps && best.slot >= 0 && best.gain * scale_ >= min_gain; ++step)
      best = move(c, static_cast<std::size_t>(best.slot), step < kSingleSteps);
    if (!redraw(c, true) && step < kMaxSteps) return;
    best = expansion_.best_gain(c, tau);
  }
  state.capped[c] += step == kMaxSteps;
}

/// One step, alone or with a partner; returns the best next step.
Gain RampLoss::move(std::size_t c, std::size_t slot, bool alone) {
  Gain best{0, -1};
  const auto step = alone ? step_alone : step_with_partner;
  step(expansion_, c, slot, [&](std::span<const Move> moves) { best = expansion_.best_gain(c, tau, moves); });
  return best;
}

/// V = {y g <= 1 - s}. Rows that left it are unlearned. Returns whether V has changed or, without `commit`, would.
bool RampLoss::redraw(std::size_t c, bool commit) {
  const Column& column = expansion_.column(c);
  bool changed = false;
  std::vector<std::int64_t> gone;
  std::vector<double> edges;
  for (std::size_t slot = 0; slot < expansion_.size(); ++slot) {
    if (!column.member[slot]) continue;
    const double own = expansion_.sign(c, slot) * expansion_.cost(slot);
    const double edge = inside(c, slot) ? own : (outside == Outside::shut ? 0.0 : -own);
    if (edge == column.edge[slot]) continue;
    changed = true;
    if (!commit) break;
    if (column.alpha[slot] == 0) {
      expansion_.set_edge(c, slot, edge);
    } else {
      gone.push_back(static_cast<std::int64_t>(slot));
      edges.push_back(edge);
    }
  }
  for (std::size_t k = 0; k < gone.size(); ++k) {
    expansion_.unlearn(c, static_cast<std::size_t>(gone[k]));
    expansion_.set_edge(c, static_cast<std::size_t>(gone[k]), edges[k]);
  }
  return changed;
}

/// Drops rows with alpha = 0 that lie furthest from the boundary, on either side, until max_idle are left.
void RampLoss::trim_idle(std::size_t c) {
  if (max_idle >= expansion_.size()) return;
  expansion_.leave_idle(
      c, max_idle, [&](std::size_t slot) { return std::abs(expansion_.sign(c, slot) - expansion_.column(c).g[slot]); });
}

void RampLoss::drop_idle() {
  for (std::size_t c = 0; c < expansion_.columns(); ++c) expansion_.leave_idle(c, 0, [](std::size_t) { return 0.0; });
  expansion_.compact();
}

void RampLoss::gather(const LabeledRows& rows, std::span<const std::int64_t> which) {
  const std::size_t begin = expansion_.size();
  if (expansion_.rows().external()) {
    in_one_turn(expansion_, rows, which, nullptr, [] { return true; });
  } else {
    expansion_.append(*expansion_.rows().take(rows.block, which), Arrived(rows, which));
  }
  for (std::size_t c = 0; c < expansion_.columns(); ++c)
    for (std::size_t slot = begin; slot < expansion_.size(); ++slot) expansion_.join(c, slot);
  state.iterations += static_cast<std::int64_t>(which.size());
}

bool RampLoss::solve(std::size_t rounds) {
  bool done = true;
  for (std::size_t c = 0; c < expansion_.columns(); ++c) {
    expansion_.column(c).ends = expansion_.scan(c);
    done &= optimize(expansion_, c, Bias::zero, tau, rounds, steps);
    expansion_.column(c).ends = {0, 0, -1, -1};
  }
  return done;
}

std::size_t RampLoss::redraw(bool commit) {
  std::size_t changed = 0;
  for (std::size_t c = 0; c < expansion_.columns(); ++c) {
    state.trusted[c] = 3;
    changed += redraw(c, commit);
  }
  return changed;
}

double RampLoss::objective(std::size_t c) const {
  const Column& column = expansion_.column(c);
  double norm = 0, loss = 0;
  for (std::size_t slot = 0; slot < expansion_.size(); ++slot) {
    if (!column.member[slot]) continue;
    const double y = expansion_.sign(c, slot), g = column.g[slot];
    norm += column.alpha[slot] * (y - g);
    loss += expansion_.cost(slot) * std::min(1 - s, std::max(0.0, y * g));
  }
  return norm / 2 + loss;
}

}  // namespace everlearn
