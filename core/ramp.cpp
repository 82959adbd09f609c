#include "ramp.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "working_set.hpp"

namespace everlearn {

/// For a row: against rounding that would draw the same sets for ever, and against features or costs so large that
/// steps hardly get anywhere.
constexpr int kMostRounds = 200, kMostSteps = 100000;
/// For a row, as the paper has them, before steps with a partner. Measured on adult at C = 100, 100 idle rows:
/// 151 -> 20 s; on 4,000 rows of banana at C = 10, all kept: 0.77 -> 0.46 s.
constexpr int kSingleSteps = 256;

RampLoss::RampLoss(Expansion& expansion, std::size_t) : trusted(expansion.columns(), 0), expansion_(expansion) {
  for (std::size_t c = 0; c < expansion.columns(); ++c) {
    expansion.column(c).live = true;
    expansion.column(c).ends = {0, 0, -1, -1};
  }
}

bool RampLoss::inside(std::size_t c, std::size_t slot) const {
  const double y = expansion_.sign(c, slot);
  return y * expansion_.column(c).g[slot] <= 1 - s || !(trusted[c] & (y > 0 ? 1 : 2));
}

void RampLoss::trust(std::size_t c) {
  const Column& column = expansion_.column(c);
  if (column.above >= min_support) trusted[c] |= 1;
  if (column.below >= min_support) trusted[c] |= 2;
}

void RampLoss::learn(const Labelled& rows, std::span<const std::int64_t> which) {
  in_turns(expansion_, rows, which, [&](const Turn& turn) {
    expansion_.each_column([&](std::size_t c) {
      for (const auto slot : turn.slots) take_in(c, static_cast<std::size_t>(slot));
    });
    iterations += static_cast<std::int64_t>(turn.slots.size());
    return false;
  });
}

void RampLoss::take_in(std::size_t c, std::size_t slot) {
  const Column& column = expansion_.column(c);
  if (column.member[slot]) return;
  trust(c);
  expansion_.join(c, slot);
  if (!inside(c, slot)) expansion_.set_edge(c, slot, 0);
  else if (expansion_.sign(c, slot) * column.g[slot] >= 0) settle(c, move(c, slot, true));
  remove(c);
}

/// Steps and rounds until V stays as it is; `best` is the best step.
void RampLoss::settle(std::size_t c, Gain best) {
  for (int round = 0, step = 0; round < kMostRounds; ++round) {
    for (; step < kMostSteps && best.slot >= 0 && best.gain >= min_gain; ++step)
      best = move(c, static_cast<std::size_t>(best.slot), step < kSingleSteps);
    if (!redraw(c)) return;
    best = expansion_.best_gain(c, tau);
  }
}

/// One step, alone or with a partner; returns the best one after it.
Gain RampLoss::move(std::size_t c, std::size_t slot, bool alone) {
  Gain best{0, -1};
  const auto step = alone ? step_alone : step_with_partner;
  step(expansion_, c, slot, [&](std::span<const Move> moves) { best = expansion_.best_gain(c, tau, moves); });
  return best;
}

/// V = {y g <= 1 - s}. Rows that left it are unlearnt; true when V has changed.
bool RampLoss::redraw(std::size_t c) {
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
    if (column.alpha[slot] == 0) {
      expansion_.set_edge(c, slot, edge);
    } else {
      gone.push_back(static_cast<std::int64_t>(slot));
      edges.push_back(edge);
    }
  }
  for (std::size_t k = 0; k < gone.size(); ++k) {
    const RowView row = expansion_.hold(gone[k]);
    const auto slot = static_cast<std::size_t>(gone[k]);
    const double move = -column.alpha[slot];
    expansion_.set_alpha(c, slot, 0);
    expansion_.set_edge(c, slot, edges[k]);
    expansion_.descend(c, {&row, 1}, {&move, 1});
    expansion_.release(gone[k]);
  }
  return changed;
}

/// Drops rows with alpha = 0 that lie furthest from the boundary, on either side, until max_idle are left.
void RampLoss::remove(std::size_t c) {
  if (max_idle >= expansion_.size()) return;
  std::vector<std::int64_t> idle = expansion_.idle(c);
  if (idle.size() <= max_idle) return;
  const auto distance = [&](std::int64_t slot) {
    const auto at = static_cast<std::size_t>(slot);
    return std::abs(expansion_.sign(c, at) - expansion_.column(c).g[at]);
  };
  std::nth_element(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(max_idle), idle.end(),
                   [&](std::int64_t a, std::int64_t b) {
                     const double x = distance(a), y = distance(b);
                     return x < y || (x == y && a < b);
                   });
  for (std::size_t k = max_idle; k < idle.size(); ++k) expansion_.leave(c, static_cast<std::size_t>(idle[k]));
}

void RampLoss::gather(const Labelled& rows, std::span<const std::int64_t> which) {
  const std::size_t begin = expansion_.size();
  if (expansion_.rows().external()) {
    in_one_turn(expansion_, rows, which, nullptr, [] { return true; });
  } else {
    expansion_.append(*expansion_.rows().take(rows.block, which), Arrived(rows, which));
  }
  for (std::size_t c = 0; c < expansion_.columns(); ++c)
    for (std::size_t slot = begin; slot < expansion_.size(); ++slot) expansion_.join(c, slot);
  iterations += static_cast<std::int64_t>(which.size());
}

bool RampLoss::solve(std::size_t rounds) {
  bool done = true;
  for (std::size_t c = 0; c < expansion_.columns(); ++c) {
    expansion_.column(c).ends = expansion_.scan(c);
    done &= optimise(expansion_, c, Bias::zero, tau, rounds, steps);
    expansion_.column(c).ends = {0, 0, -1, -1};
  }
  return done;
}

std::size_t RampLoss::redraw() {
  std::size_t changed = 0;
  for (std::size_t c = 0; c < expansion_.columns(); ++c) {
    trust(c);
    changed += redraw(c);
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
