// One column of the exact machine: the steps of a row that moves.
#include <algorithm>
#include <cmath>

#include "incremental.hpp"
#include "incremental_errors.hpp"

namespace everlearn {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
/// Rounding error of a sum, relative to its terms.
constexpr double kRounding = 1e-14;
/// Rows that are watched during a change, in addition to those that have to move: so many, and one in so many of all.
constexpr std::size_t kWatched = 32, kWatchedFraction = 32;

}  // namespace

/// By how much the condition of a slot is violated.
double Incremental::violation(std::size_t c, std::size_t s) const {
  const std::uint8_t gate = expansion_.column(c).gate[s];
  const double u = offset(c, s);
  return std::max({0.0, (gate & kMayRise) ? -u : 0.0, (gate & kMayFall) ? u : 0.0});
}

/// Whether a coefficient is at no end of its box.
bool Incremental::is_free(std::size_t c, std::size_t s) const {
  return expansion_.column(c).gate[s] == (kMayRise | kMayFall);
}

// ------------------------------------------------------------------------------------------ the margin set

Border::Candidate Incremental::project(std::size_t c, std::size_t s) const {
  const ColumnState& state = states_[c];
  std::vector<double> values;
  values.reserve(state.members.size());
  for (const auto& row : state.rows) values.push_back((*row)[s]);
  Border::Candidate seen = state.border.project(std::move(values), diagonal_[s] + ridge_[s]);
  if (seen.squared <= 0) {  // the ridge alone is more, if the kernel is one
    if (check_definite) throw IndefiniteKernel(s);
    throw Stuck();
  }
  return seen;
}

void Incremental::enter_margin(std::size_t c, std::size_t s) {
  ColumnState& state = states_[c];
  if (state.members.empty()) {
    state.border.clear(scale());
  }
  state.border.grow(project(c, s));
  state.place[s] = static_cast<std::int32_t>(state.members.size());
  state.settled[s] = 0;
  state.members.push_back(static_cast<std::int64_t>(s));
  state.rows.push_back(kernel_.hold(static_cast<std::int64_t>(s)));
  if (state.watching) state.watched_rows.push_back(watched_values(c, *state.rows.back()));
  ++state.changes;
}

/// Removes a slot from S; it counts as settled.
void Incremental::leave_margin(std::size_t c, std::size_t s) {
  ColumnState& state = states_[c];
  const auto p = static_cast<std::ptrdiff_t>(state.place[s]);
  state.border.shrink(static_cast<std::size_t>(p));
  state.members.erase(state.members.begin() + p);
  state.rows.erase(state.rows.begin() + p);
  for (std::size_t k = static_cast<std::size_t>(p); k < state.members.size(); ++k)
    state.place[static_cast<std::size_t>(state.members[k])] = static_cast<std::int32_t>(k);
  state.place[s] = -1;
  state.settled[s] = 1;
  ++state.changes;
  if (!state.watching) return;
  state.watched_rows.erase(state.watched_rows.begin() + p);
  watch_row(c, s);
  state.watched_g[static_cast<std::size_t>(state.watch_index[s])] = expansion_.column(c).bias;  // u = 0
}

void Incremental::clear_margin(std::size_t c) {
  ColumnState& state = states_[c];
  for (const auto slot : state.members) {
    state.place[static_cast<std::size_t>(slot)] = -1;
    state.settled[static_cast<std::size_t>(slot)] = 1;
  }
  state.members.clear(), state.rows.clear();
  state.border.clear(1);
}

// ------------------------------------------------------------------------------------------------ watching

/// The values of a kernel row at the watched rows.
AlignedVector<double> Incremental::watched_values(std::size_t c, const Row& row) const {
  const ColumnState& state = states_[c];
  AlignedVector<double> values(state.watched.size());
  for (std::size_t a = 0; a < state.watched.size(); ++a) values[a] = row[state.watched[a]];
  return values;
}

void Incremental::watch_row(std::size_t c, std::size_t s) {
  ColumnState& state = states_[c];
  if (state.watch_index[s] >= 0) return;
  state.watch_index[s] = static_cast<std::int32_t>(state.watched.size());
  state.watched.push_back(s);
  state.watched_g.push_back(expansion_.column(c).g[s]);
  for (std::size_t k = 0; k < state.watched_rows.size(); ++k) state.watched_rows[k].push_back((*state.rows[k])[s]);
}

/// Before the first row moves in a change: chooses the rows to watch, which are those that have to move and, of the
/// others, the nearest to changing sides. Until end_watching() the g of the rest stay as before the change.
void Incremental::start_watching(std::size_t c) {
  ColumnState& state = states_[c];
  if (state.watching) return;
  const Column& column = expansion_.column(c);
  const std::size_t n = expansion_.size();
  state.before.assign(column.alpha.begin(), column.alpha.begin() + static_cast<std::ptrdiff_t>(n));
  state.watch_index.assign(n, -1);
  state.watched.clear(), state.watched_g.clear(), state.watched_rows.clear();
  double most = kInf;
  std::vector<double> distances;
  for (std::size_t s = 0; s < n; ++s)
    if (column.member[s]) distances.push_back(state.settled[s] ? std::abs(offset(c, s)) : kInf);
  if (const std::size_t count = kWatched + distances.size() / kWatchedFraction;
      !state.watches_all && count < distances.size()) {
    std::nth_element(distances.begin(), distances.begin() + static_cast<std::ptrdiff_t>(count), distances.end());
    most = distances[count];
  }
  for (std::size_t s = 0; s < n; ++s)
    if (column.member[s] && state.place[s] < 0 && (!state.settled[s] || std::abs(offset(c, s)) <= most))
      watch_row(c, s);
  for (const auto& row : state.rows) state.watched_rows.push_back(watched_values(c, *row));
  state.watching = true;
}

/// Ends a change: brings g of all rows up to date. Rows that were not watched and violate their conditions now are no
/// longer settled. Returns how many.
std::size_t Incremental::end_watching(std::size_t c) {
  ColumnState& state = states_[c];
  Column& column = expansion_.column(c);
  if (!state.watching) return 0;  // nothing has moved
  state.watching = false;
  std::vector<std::int64_t> moved;
  std::vector<double> lengths;
  for (std::size_t s = 0; s < expansion_.size(); ++s)
    if (column.alpha[s] != state.before[s]) {
      moved.push_back(static_cast<std::int64_t>(s));
      lengths.push_back(column.alpha[s] - state.before[s]);
    }
  descend(c, moved, lengths);
  std::size_t violated = 0;
  for (std::size_t s = 0; s < expansion_.size(); ++s)
    if (state.settled[s] && violation(c, s) > kTolerance) {
      state.settled[s] = 0;
      ++violated;
    }
  return violated;
}

/// Brings g up to date after coefficients have moved.
void Incremental::descend(std::size_t c, std::span<const std::int64_t> slots, std::span<const double> lengths) {
  constexpr std::size_t kGroup = 64;  // rows held at once, beside those of S
  Column& column = expansion_.column(c);
  for (std::size_t at = 0; at < slots.size(); at += kGroup) {
    const auto group = slots.subspan(at, std::min(kGroup, slots.size() - at));
    std::vector<ExactRows::Held> held;
    std::vector<const double*> rows;
    for (const auto slot : group) {
      held.push_back(kernel_.hold(slot));
      rows.push_back(held.back()->data());
    }
    loops().rank_update_exact(column.g.data(), rows.data(), lengths.data() + at, rows.size(), 0, expansion_.size());
  }
  for (std::size_t r = 0; r < slots.size(); ++r) {
    const auto s = static_cast<std::size_t>(slots[r]);
    column.g[s] -= ridge_[s] * lengths[r];
  }
}

// ----------------------------------------------------------------------------------------------- one step

/// What ends a step: its length, and the row that changes sides.
///
/// Several events at the same length are common while only one class is known: all coefficients are 0, b equals the
/// label, and u is 0 for every row, so that every step to the first solution with two classes has length 0. Any order
/// of such events is correct in exact arithmetic, but not in floating point. Rows along a curve, taken in their order
/// of arrival, fill S with neighbors that nearly depend on each other before the row that matters, and the system of S
/// loses all its digits. So, of events at the same length:
///   1. coefficients that reach an end of their box go first: S shrinks before it grows;
///   2. then the largest rate: the row that is most violated by going on, and farthest from the affine hull of S;
///   3. then the row nearest to the mover, which decides while S is empty and b alone moves: all rates are 1, and the
///      nearest row is the one whose coefficient has to balance that of the mover;
///   4. then the lowest slot.
struct Incremental::Event {
  enum Kind { at_bound, at_margin };
  double length = kInf;
  std::int64_t slot = -1;
  Kind kind = at_bound;
  double rate = 0, distance = 0;  // the distance from the mover is squared, K_ss + K_cc - 2 K_sc

  void consider(const Event& other) {
    if (other.before(*this)) *this = other;
  }
  bool before(const Event& other) const {
    if (length != other.length) return length < other.length;
    if (kind != other.kind) return kind < other.kind;
    if (rate != other.rate) return rate > other.rate;
    if (distance != other.distance) return distance < other.distance;
    return slot < other.slot;
  }
};

/// change_a = sum_S K_aj theta_j + direction K_ac for the watched rows a; K includes the ridge.
void Incremental::compute_change(std::size_t c, const Border::Response& by, const Mover& mover) {
  ColumnState& state = states_[c];
  state.change.assign(state.watched.size(), 0.0);
  std::vector<const double*> rows;
  std::vector<double> weights;
  for (std::size_t k = 0; k < by.theta.size(); ++k) {
    rows.push_back(state.watched_rows[k].data());
    weights.push_back(-by.theta[k]);
  }
  rows.push_back(mover.watched.data()), weights.push_back(-mover.direction);
  loops().rank_update_exact(state.change.data(), rows.data(), weights.data(), rows.size(), 0, state.watched.size());
  state.change[static_cast<std::size_t>(state.watch_index[mover.slot])] += ridge_[mover.slot] * mover.direction;
}

/// Updates b, theta_S and g of the watched rows.
void Incremental::follow(std::size_t c, const Border::Response& by, double length) {
  ColumnState& state = states_[c];
  Column& column = expansion_.column(c);
  column.bias += length * by.b;
  for (std::size_t a = 0; a < state.change.size(); ++a) state.watched_g[a] -= length * state.change[a];
  for (std::size_t k = 0; k < state.members.size(); ++k) {
    const auto s = static_cast<std::size_t>(state.members[k]);
    expansion_.set_alpha(
        c, s, std::clamp(column.alpha[s] + length * by.theta[k], expansion_.lower(c, s), expansion_.upper(c, s)));
  }
}

/// How far a coefficient is from the end of its box in a direction.
double Incremental::room(std::size_t c, std::size_t s, double direction) const {
  const double theta = expansion_.column(c).alpha[s];
  return std::max(0.0, direction > 0 ? expansion_.upper(c, s) - theta : theta - expansion_.lower(c, s));
}

/// The row that has to change sides first.
Incremental::Event Incremental::next_event(std::size_t c, const Mover& mover, const Border::Response& by) const {
  const ColumnState& state = states_[c];
  const Column& column = expansion_.column(c);
  const std::size_t own = mover.slot;
  const bool only_bias = state.members.empty();
  Event next;
  const double left = room(c, own, mover.direction);
  const auto mine = static_cast<std::int64_t>(own);
  if (!only_bias || left <= state.negligible) next.consider({left, mine, Event::at_bound, 1, 0});
  const double away = std::max(0.0, -mover.direction * offset(c, own));
  const double pull = mover.direction * (by.b + state.change[static_cast<std::size_t>(state.watch_index[own])]);
  if (mover.to_margin && pull > 0 && away / pull < next.length)
    next.consider({away / pull, mine, Event::at_margin, pull, 0});

  double fastest = 0, weight = std::sqrt(diagonal_[own]);
  for (std::size_t k = 0; k < state.members.size(); ++k) {
    fastest = std::max(fastest, std::abs(by.theta[k]));
    weight += std::abs(by.theta[k]) * std::sqrt(diagonal_[static_cast<std::size_t>(state.members[k])]);
  }
  for (std::size_t k = 0; k < state.members.size(); ++k) {
    const auto s = static_cast<std::size_t>(state.members[k]);
    const double rate = std::abs(by.theta[k]);
    if (rate > kRounding * (1 + fastest))
      next.consider({room(c, s, by.theta[k]) / rate, state.members[k], Event::at_bound, rate, 0});
  }
  for (std::size_t a = 0; a < state.watched.size(); ++a) {
    const std::size_t s = state.watched[a];
    if (!state.settled[s]) continue;
    const bool rises = column.gate[s] & kMayRise;
    const double u = column.bias - state.watched_g[a], du = by.b + state.change[a];
    const double rate = rises ? -du : du, slack = std::max(0.0, rises ? u : -u);
    if (rate <= 0 || slack > next.length * rate) continue;
    // A rate below the rounding of its terms is none.
    if (only_bias || rate > kRounding * (weight * std::sqrt(diagonal_[s]) + std::abs(by.b)))
      next.consider({slack / rate, static_cast<std::int64_t>(s), Event::at_margin, rate,
                     diagonal_[s] + diagonal_[own] - 2 * mover.watched[a]});
  }
  return next;
}

/// Moves a row until the first row has to change sides; returns whether that is the row itself.
bool Incremental::step(std::size_t c, Mover& mover) {
  ColumnState& state = states_[c];
  const std::size_t own = mover.slot;
  if (--state.steps_left < 0) throw Stuck();
  ++state.counts.steps;
  while (mover.watched.size() < state.watched.size())
    mover.watched.push_back(mover.row[state.watched[mover.watched.size()]]);
  const bool only_bias = state.members.empty();
  Border::Response by{mover.direction, {}};
  if (only_bias) {
    state.change.assign(state.watched.size(), 0.0);
  } else {
    by = state.border.respond(project(c, own), mover.direction);
    compute_change(c, by, mover);
  }
  const Event next = next_event(c, mover, by);
  if (next.slot < 0) throw Stuck();
  const auto s = static_cast<std::size_t>(next.slot);
  const double towards = s == own              ? mover.direction
                         : state.place[s] >= 0 ? by.theta[static_cast<std::size_t>(state.place[s])]
                                               : 0;
  follow(c, by, next.length);
  if (!only_bias)
    expansion_.set_alpha(c, own,
                         std::clamp(expansion_.column(c).alpha[own] + mover.direction * next.length,
                                    expansion_.lower(c, own), expansion_.upper(c, own)));
  // A row that enters S and leaves it again while nothing moves has a rate that is only rounding: it is watched again
  // when something has moved.
  const bool futile = next.length == 0 && next.slot == mover.entered;
  mover.entered = next.length == 0 && next.kind == Event::at_margin ? next.slot : -1;
  if (next.length > 0) resume_watching(c, mover);
  if (next.kind == Event::at_bound) {
    expansion_.set_alpha(c, s, towards > 0 ? expansion_.upper(c, s) : expansion_.lower(c, s));
    if (s == own) state.settled[s] = 1;
    else leave_margin(c, s);
    if (futile) state.settled[s] = 0, mover.resting.push_back(s);
  } else if (s != own || is_free(c, s)) {
    enter_margin(c, s);
  } else {
    state.settled[s] = 1;
  }
  return s == own;
}

/// Moves a row to an end of its box or, with `to_margin`, until its condition holds.
void Incremental::move(std::size_t c, std::size_t s, double direction, bool to_margin) {
  const ExactRows::Held row = kernel_.hold(static_cast<std::int64_t>(s));
  start_watching(c);
  watch_row(c, s);
  states_[c].settled[s] = 0;
  states_[c].steps_left = max_steps > 0 ? max_steps : 1000 + 20 * static_cast<std::int64_t>(expansion_.size());
  Mover mover{*row, s, direction, to_margin, watched_values(c, *row), -1, {}};
  while (!step(c, mover)) {
  }
  resume_watching(c, mover);
}

void Incremental::resume_watching(std::size_t c, Mover& mover) {
  for (const auto s : mover.resting)
    if (states_[c].place[s] < 0) states_[c].settled[s] = 1;
  mover.resting.clear();
}

/// Moves a row that is not settled until its condition holds.
void Incremental::settle_row(std::size_t c, std::size_t s) {
  if (violation(c, s) > kTolerance) move(c, s, offset(c, s) < 0 ? 1 : -1, true);
  else if (is_free(c, s)) enter_margin(c, s);
  else states_[c].settled[s] = 1;
}

/// Moves rows that are not settled, up to `most` of them; returns how many are left.
std::size_t Incremental::settle_rows(std::size_t c, std::size_t most) {
  std::size_t seen = 0;
  for (std::size_t s = 0; s < expansion_.size(); ++s)
    if (expansion_.column(c).member[s] && !states_[c].settled[s] && states_[c].place[s] < 0 && seen++ < most)
      settle_row(c, s);
  return seen - std::min(seen, most);
}

/// Brings a coefficient to 0; the condition of the row no longer counts.
void Incremental::unlearn(std::size_t c, std::size_t s) {
  const double theta = expansion_.column(c).alpha[s];
  if (states_[c].place[s] >= 0) leave_margin(c, s);
  if (theta != 0) move(c, s, theta > 0 ? -1 : 1, false);
  states_[c].settled[s] = 0;
}

}  // namespace everlearn
