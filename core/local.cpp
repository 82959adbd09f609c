#include "local.hpp"

#include <algorithm>
#include <cmath>

namespace everlearn {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
/// Rounds of a full pass; a warm start takes a few.
constexpr std::size_t kFullPassRounds = 1000;
/// A coefficient so near to a bound, as a fraction of it, is there but for rounding.
constexpr double kAtBound = 1e-10;
/// An idle row with y f(x) above this is not needed soon.
constexpr double kFarMargin = 1.5;

}  // namespace

LocalUpdates::LocalUpdates(Expansion& expansion) : expansion_(expansion) {
  const std::size_t columns = expansion.columns();
  state.generators.resize(columns);
  for (auto* counts : {&state.updates, &state.neighbors, &state.since, &state.full_passes, &state.capped})
    counts->assign(columns, 0);
}

void LocalUpdates::seed(const Generator& generator) {
  Generator words = generator;
  for (Generator& own : state.generators)
    for (std::uint64_t& word : own.state) word = words.next();
}

bool LocalUpdates::any_live() const {
  for (std::size_t c = 0; c < expansion_.columns(); ++c)
    if (expansion_.column(c).live) return true;
  return false;
}

// ------------------------------------------------------------------------------------------------------ live columns

/// The classes of a column among the first `taken` slots, without those that are `gone`. If the column is live, only
/// members count.
LocalUpdates::Classes LocalUpdates::classes_among(std::size_t c, std::size_t taken,
                                                  const std::vector<std::uint8_t>& gone) const {
  const Column& column = expansion_.column(c);
  Classes classes_among;
  for (std::size_t s = 0; s < taken && !classes_among.both(); ++s)
    if (column.live ? column.member[s] != 0 : gone.empty() || !gone[s])
      (expansion_.sign(c, s) > 0 ? classes_among.positive : classes_among.negative) = true;
  return classes_among;
}

/// Until both of its classes have been seen, a column predicts the only one it knows.
void LocalUpdates::predict_only_class(std::size_t c, const Classes& classes_among) {
  expansion_.column(c).bias = classes_among.positive ? 1.0 : classes_among.negative ? -1.0 : 0.0;
  expansion_.column(c).delta = kInf;
}

void LocalUpdates::activate(std::size_t c, std::size_t taken) {
  Column& column = expansion_.column(c);
  column.live = true;
  for (std::size_t s = 0; s < taken; ++s) expansion_.join(c, s);
  column.ends = expansion_.scan(c);
}

/// A column that has lost one of its classes is as before it became live: its rows wait for the other class.
void LocalUpdates::deactivate(std::size_t c, const std::vector<std::uint8_t>& gone) {
  Column& column = expansion_.column(c);
  for (std::size_t s = 0; s < expansion_.size(); ++s) {
    expansion_.set_alpha(c, s, 0);
    expansion_.leave(c, s);
    column.g[s] = expansion_.sign(c, s);
  }
  column.live = false;
  column.ends = expansion_.scan(c);
  predict_only_class(c, classes_among(c, expansion_.size(), gone));
}

// ---------------------------------------------------------------------------------------------------------- learning

void LocalUpdates::learn(const LabeledRows& rows, std::span<const std::int64_t> which) {
  // A row that was dropped may arrive again: it must not be taken for the old one, which lingers.
  bool lingers = false;
  if (any_live())
    for (const auto row : which) {
      const std::int64_t slot = expansion_.find(rows.ids[static_cast<std::size_t>(row)]);
      bool used = slot < 0;
      for (std::size_t c = 0; c < expansion_.columns() && !used; ++c)
        used = expansion_.column(c).member[static_cast<std::size_t>(slot)] != 0;
      lingers |= !used;
    }
  if (lingers) expansion_.compact();
  try {
    in_turns(expansion_, rows, which, [&](const Turn& turn) { return learn_turn(turn); });
  } catch (...) {
    recover();
    throw;
  }
}

/// Restores what follows from the coefficients after an update could not be made.
void LocalUpdates::recover() {
  for (std::size_t c = 0; c < expansion_.columns(); ++c)
    if (expansion_.column(c).live) update_bias(c);
}

/// Each column learns the rows of a turn on its own, which is the same as row by row because columns share only rows.
/// Full passes use all threads, so they are made one after the other. Returns true while no column is live: then all
/// rows must stay.
bool LocalUpdates::learn_turn(const Turn& turn) {
  const std::size_t columns = expansion_.columns();
  std::vector<std::size_t> next(columns, 0);
  std::vector<std::uint8_t> due(columns, 1);
  while (std::any_of(due.begin(), due.end(), [](std::uint8_t flag) { return flag != 0; })) {
    expansion_.each_column([&](std::size_t c) {
      if (due[c]) due[c] = advance(c, turn, next[c]);
    });
    for (std::size_t c = 0; c < columns; ++c)
      if (due[c]) full_pass(c, state.iterations + static_cast<std::int64_t>(next[c]));
  }
  state.iterations += static_cast<std::int64_t>(turn.slots.size());
  return !any_live();
}

/// Learns rows from `next` on; returns true if a full pass is due before it can go on.
bool LocalUpdates::advance(std::size_t c, const Turn& turn, std::size_t& next) {
  Column& column = expansion_.column(c);
  std::size_t taken = turn.fresh;
  Classes seen;
  if (!column.live) seen = classes_among(c, taken, {});
  while (next < turn.slots.size()) {
    const auto slot = static_cast<std::size_t>(turn.slots[next++]);
    if (!column.live) {
      (expansion_.sign(c, slot) > 0 ? seen.positive : seen.negative) = true;
      if (seen.both()) activate(c, taken);
      else predict_only_class(c, seen);
      taken = std::max(taken, slot + 1);
    }
    if (column.live && learn_slot(c, slot, state.iterations + static_cast<std::int64_t>(next))) return true;
  }
  return false;
}

/// Learns one row; returns true if a full pass is due.
bool LocalUpdates::learn_slot(std::size_t c, std::size_t slot, std::int64_t time) {
  Column& column = expansion_.column(c);
  if (!column.member[slot]) column.changed[slot] = time;
  expansion_.join(c, slot);
  const double pull = column.g[slot] - column.bias;  // y (1 - y f)
  bool due = false;
  if (pull > 0 ? column.gate[slot] & kMayRise : pull < 0 && (column.gate[slot] & kMayFall)) {
    Neighborhood near(expansion_, c, slot);
    if (!near.learn(extent, pull > 0, tau)) ++state.capped[c];
    due = after_update(c, near, time);
  }
  trim_idle(c, time);
  return due;
}

/// Bias, counts and the check of the other rows after a change in a neighborhood; returns true if a full pass is due.
bool LocalUpdates::after_update(std::size_t c, const Neighborhood& near, std::int64_t time) {
  update_bias(c);
  if (near.moved().empty()) return false;
  Column& column = expansion_.column(c);
  for (const auto slot : near.moved()) column.changed[static_cast<std::size_t>(slot)] = time;
  ++state.updates[c];
  ++state.since[c];
  state.neighbors[c] += static_cast<std::int64_t>(near.slots().size());
  const bool violated = violated_outside(c, near.slots());
  return violated || (full_pass_every > 0 && state.since[c] >= static_cast<std::int64_t>(full_pass_every));
}

/// Whether one of the rows drawn outside the neighborhood violates its conditions by more than full_pass_tol: g <= b
/// where alpha may rise, g >= b where it may fall.
bool LocalUpdates::violated_outside(std::size_t c, std::span<const std::int64_t> inside) {
  if (full_pass_sample == 0) return false;
  const Column& column = expansion_.column(c);
  std::vector<std::uint8_t> outside = column.member;
  for (const auto slot : inside) outside[static_cast<std::size_t>(slot)] = 0;
  std::vector<std::size_t> slots;
  for (std::size_t s = 0; s < expansion_.size(); ++s)
    if (outside[s]) slots.push_back(s);
  bool found = false;
  for (std::size_t k = 0; k < full_pass_sample && !slots.empty(); ++k) {
    const std::size_t s = slots[state.generators[c].below(slots.size())];
    const double pull = column.g[s] - column.bias;
    found |= (column.gate[s] & kMayRise) && pull > full_pass_tol;
    found |= (column.gate[s] & kMayFall) && pull < -full_pass_tol;
  }
  return found;
}

/// Lets idle rows leave until max_idle are left: first those far on the right side, the longest unchanged first, then
/// those farthest on the right side. The two extremes are the last, because without a free coefficient only they
/// determine b.
void LocalUpdates::trim_idle(std::size_t c, std::int64_t time) {
  Column& column = expansion_.column(c);
  if (!column.live || max_idle >= expansion_.size()) return;
  const std::size_t left = expansion_.leave_idle(c, max_idle, [&](std::size_t s) {
    const auto slot = static_cast<std::int64_t>(s);
    if (slot == column.ends.up || slot == column.ends.down) return -kInf;
    const double margin = 1 - expansion_.sign(c, s) * (column.g[s] - column.bias);
    if (margin <= kFarMargin) return margin;
    return kFarMargin + 1 + static_cast<double>(time - column.changed[s]);
  });
  if (left > 0) column.ends = expansion_.scan(c);
}

/// Sets b and delta. If no coefficient is free, b is the middle of what the conditions allow.
void LocalUpdates::update_bias(std::size_t c) {
  Column& column = expansion_.column(c);
  const Extremes ends = column.ends = expansion_.scan(c);
  column.delta = ends.up < 0 || ends.down < 0 ? kInf : ends.high - ends.low;
  double sum = 0, least = -kInf, most = kInf;
  std::size_t free = 0;
  for (std::size_t s = 0; s < expansion_.size(); ++s) {
    if (!column.member[s]) continue;
    const double g = column.g[s], share = column.alpha[s] / column.edge[s];
    const bool to_edge = share<1 - kAtBound, to_zero = share> kAtBound;  // where it can go
    if (to_edge && to_zero) sum += g, ++free;
    if (column.edge[s] > 0 ? to_edge : to_zero) least = std::max(least, g);  // it can rise: g <= b
    if (column.edge[s] > 0 ? to_zero : to_edge) most = std::min(most, g);
  }
  if (free > 0) column.bias = sum / static_cast<double>(free);
  else if (least > -kInf && most < kInf) column.bias = (least + most) / 2;
  else column.bias = least > -kInf ? least : most < kInf ? most : 0.0;
}

// ---------------------------------------------------------------------------------------------------------- all rows

bool LocalUpdates::optimize_all(std::size_t c, std::size_t rounds, std::int64_t time) {
  Column& column = expansion_.column(c);
  const AlignedVector<double> before = column.alpha;
  column.ends = expansion_.scan(c);
  const bool done = optimize(expansion_, c, Bias::free, tau, rounds, steps);
  for (std::size_t s = 0; s < expansion_.size(); ++s)
    if (column.alpha[s] != before[s]) column.changed[s] = time;
  update_bias(c);
  state.since[c] = 0;
  return done;
}

void LocalUpdates::full_pass(std::size_t c, std::int64_t time) {
  if (!optimize_all(c, kFullPassRounds, time)) ++state.capped[c];
  ++state.full_passes[c];
  trim_idle(c, time);
}

bool LocalUpdates::finish(std::size_t rounds) {
  bool done = true;
  for (std::size_t c = 0; c < expansion_.columns(); ++c)
    if (expansion_.column(c).live) {
      done &= optimize_all(c, rounds, state.iterations);
      if (done) trim_idle(c, state.iterations);
    }
  return done;
}

// -------------------------------------------------------------------------------------------------------- forgetting

void LocalUpdates::forget(std::span<const std::int64_t> named) {
  expansion_.flags_of(named);  // refuses unknown ids before anything changes
  if (named.empty()) return;
  if (any_live()) expansion_.compact();  // so that rows dropped before do not return with those that wait
  std::vector<std::int64_t> ids(named.begin(), named.end());
  std::erase_if(ids, [&](std::int64_t id) { return expansion_.find(id) < 0; });
  const std::vector<std::uint8_t> gone = expansion_.flags_of(ids);
  try {
    for (std::size_t c = 0; c < expansion_.columns(); ++c) {
      Column& column = expansion_.column(c);
      if (!column.live) {
        predict_only_class(c, classes_among(c, expansion_.size(), gone));
        continue;
      }
      for (const auto id : ids) {
        const auto slot = static_cast<std::size_t>(expansion_.find(id));
        if (!column.member[slot]) continue;
        if (column.alpha[slot] == 0) {
          expansion_.leave(c, slot);
          update_bias(c);
          continue;
        }
        Neighborhood near(expansion_, c, slot);
        if (!near.unlearn(extent, tau)) ++state.capped[c];
        expansion_.leave(c, slot);
        if (after_update(c, near, state.iterations)) full_pass(c, state.iterations);
      }
      if (!classes_among(c, expansion_.size(), gone).both()) deactivate(c, gone);
      else trim_idle(c, state.iterations);
    }
  } catch (...) {
    recover();
    throw;
  }
  expansion_.drop(gone);
}

}  // namespace everlearn
