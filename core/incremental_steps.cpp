// One column of the exact machine: a row on its way, and what happens on it.
#include <algorithm>
#include <cmath>

#include "incremental.hpp"
#include "incremental_errors.hpp"

namespace everlearn {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
/// Relative to the terms of a sum.
constexpr double kRounding = 1e-14;
/// Rows that are watched during a change, beside those that have to move: so many, and one in so many of all.
constexpr std::size_t kNear = 32, kNearOf = 32;

}  // namespace

/// By how much the condition of a slot is violated.
double Incremental::violation(std::size_t c, std::size_t s) const {
  const std::uint8_t gate = expansion_.column(c).gate[s];
  const double u = offset(c, s);
  return std::max({0.0, (gate & kMayRise) ? -u : 0.0, (gate & kMayFall) ? u : 0.0});
}

/// Whether a coefficient is at no end of its box.
bool Incremental::inside(std::size_t c, std::size_t s) const {
  return expansion_.column(c).gate[s] == (kMayRise | kMayFall);
}

// ------------------------------------------------------------------------------------------ the margin set

Border::Candidate Incremental::see(std::size_t c, std::size_t s) const {
  const Front& front = fronts_[c];
  std::vector<double> values;
  values.reserve(front.members.size());
  for (const Row* row : front.rows) values.push_back((*row)[s]);
  Border::Candidate seen = front.border.see(std::move(values), diagonal_[s] + ridge_[s]);
  if (seen.squared <= 0) {  // the ridge alone is more, if the kernel is one
    if (cautious) throw IndefiniteKernel(s);
    throw Stuck();
  }
  return seen;
}

void Incremental::enter(std::size_t c, std::size_t s) {
  Front& front = fronts_[c];
  if (front.members.empty()) {
    front.border.clear(scale());
  }
  front.border.grow(see(c, s));
  front.place[s] = static_cast<std::int32_t>(front.members.size());
  front.settled[s] = 0;
  front.members.push_back(static_cast<std::int64_t>(s));
  front.rows.push_back(&kernel_.hold(static_cast<std::int64_t>(s)));
  if (front.watching) front.near_rows.push_back(near_row(c, *front.rows.back()));
  ++front.changes;
}

/// Takes a slot out of S; it is settled until somebody says otherwise.
void Incremental::leave(std::size_t c, std::size_t s) {
  Front& front = fronts_[c];
  const auto p = static_cast<std::ptrdiff_t>(front.place[s]);
  front.border.shrink(static_cast<std::size_t>(p));
  front.members.erase(front.members.begin() + p);
  front.rows.erase(front.rows.begin() + p);
  for (std::size_t k = static_cast<std::size_t>(p); k < front.members.size(); ++k)
    front.place[static_cast<std::size_t>(front.members[k])] = static_cast<std::int32_t>(k);
  front.place[s] = -1;
  front.settled[s] = 1;
  kernel_.release(static_cast<std::int64_t>(s));
  ++front.changes;
  if (!front.watching) return;
  front.near_rows.erase(front.near_rows.begin() + p);
  add_near(c, s);
  front.near_g[static_cast<std::size_t>(front.spot[s])] = expansion_.column(c).bias;  // u = 0
}

void Incremental::empty(std::size_t c) {
  Front& front = fronts_[c];
  for (const auto slot : front.members) {
    front.place[static_cast<std::size_t>(slot)] = -1;
    front.settled[static_cast<std::size_t>(slot)] = 1;
    kernel_.release(slot);
  }
  front.members.clear(), front.rows.clear();
  front.border.clear(1);
}

// ------------------------------------------------------------------------------------------------ watching

/// The values of a kernel row at the rows watched.
AlignedVector<double> Incremental::near_row(std::size_t c, const Row& row) const {
  const Front& front = fronts_[c];
  AlignedVector<double> values(front.near.size());
  for (std::size_t a = 0; a < front.near.size(); ++a) values[a] = row[front.near[a]];
  return values;
}

void Incremental::add_near(std::size_t c, std::size_t s) {
  Front& front = fronts_[c];
  if (front.spot[s] >= 0) return;
  front.spot[s] = static_cast<std::int32_t>(front.near.size());
  front.near.push_back(s);
  front.near_g.push_back(expansion_.column(c).g[s]);
  for (std::size_t k = 0; k < front.near_rows.size(); ++k) front.near_rows[k].push_back((*front.rows[k])[s]);
}

/// Before the first row moves in a change: chooses the rows to watch, which are those that have to move, and of the
/// others the nearest to changing sides. Until look_around() the g of all others are those before the change.
void Incremental::watch(std::size_t c) {
  Front& front = fronts_[c];
  if (front.watching) return;
  const Column& column = expansion_.column(c);
  const std::size_t n = expansion_.size();
  front.before.assign(column.alpha.begin(), column.alpha.begin() + static_cast<std::ptrdiff_t>(n));
  front.spot.assign(n, -1);
  front.near.clear(), front.near_g.clear(), front.near_rows.clear();
  double most = kInf;
  std::vector<double> distances;
  for (std::size_t s = 0; s < n; ++s)
    if (column.member[s]) distances.push_back(front.settled[s] ? std::abs(offset(c, s)) : kInf);
  if (const std::size_t count = kNear + distances.size() / kNearOf; !front.watches_all && count < distances.size()) {
    std::nth_element(distances.begin(), distances.begin() + static_cast<std::ptrdiff_t>(count), distances.end());
    most = distances[count];
  }
  for (std::size_t s = 0; s < n; ++s)
    if (column.member[s] && front.place[s] < 0 && (!front.settled[s] || std::abs(offset(c, s)) <= most)) add_near(c, s);
  for (const Row* row : front.rows) front.near_rows.push_back(near_row(c, *row));
  front.watching = true;
}

/// Ends a change: brings g of all rows up to date. Those that were not watched may violate their conditions now: they are
/// not settled any more. Returns how many.
std::size_t Incremental::look_around(std::size_t c) {
  Front& front = fronts_[c];
  Column& column = expansion_.column(c);
  if (!front.watching) return 0;  // nobody has moved
  front.watching = false;
  std::vector<std::int64_t> moved;
  std::vector<double> lengths;
  for (std::size_t s = 0; s < expansion_.size(); ++s)
    if (column.alpha[s] != front.before[s]) {
      moved.push_back(static_cast<std::int64_t>(s));
      lengths.push_back(column.alpha[s] - front.before[s]);
    }
  descend(c, moved, lengths);
  std::size_t violated = 0;
  for (std::size_t s = 0; s < expansion_.size(); ++s)
    if (front.settled[s] && violation(c, s) > kTouch) {
      front.settled[s] = 0;
      ++violated;
    }
  return violated;
}

/// g follows coefficients that have moved.
void Incremental::descend(std::size_t c, std::span<const std::int64_t> slots, std::span<const double> lengths) {
  constexpr std::size_t kGroup = 64;  // rows held at once, beside those of S
  Column& column = expansion_.column(c);
  for (std::size_t at = 0; at < slots.size(); at += kGroup) {
    const auto group = slots.subspan(at, std::min(kGroup, slots.size() - at));
    std::vector<const double*> rows;
    for (const auto slot : group) rows.push_back(kernel_.hold(slot).data());
    loops().rank_update_exact(column.g.data(), rows.data(), lengths.data() + at, rows.size(), 0, expansion_.size());
    for (const auto slot : group) kernel_.release(slot);
  }
  for (std::size_t r = 0; r < slots.size(); ++r) column.g[static_cast<std::size_t>(slots[r])] -= ridge_[static_cast<std::size_t>(slots[r])] * lengths[r];
}

// ----------------------------------------------------------------------------------------------- one step

/// What ends a step: after how far, and whose turn it is.
///
/// Several events at the same length are the rule while only one class is known: all coefficients are 0, b equals the
/// label, and u is 0 for every row, so that every step to the first solution with two classes has length 0. Any order of
/// such events is correct in exact arithmetic, but not in floating point. Rows along a curve, taken in the order in which
/// they came, fill S with neighbors that nearly depend on each other before the row that matters has its turn, and the
/// system of S loses all its digits. So, of events at the same length:
///   1. coefficients that reach an end of their box go first: S shrinks before it grows;
///   2. then the largest rate: the row that is most violated by going on, and farthest from the affine hull of S;
///   3. then the row nearest to the mover, which decides while S is empty and b alone moves: all rates are 1, and the
///      nearest row is the one whose coefficient has to make up for the mover's;
///   4. then the lowest slot.
struct Incremental::Event {
  enum Kind { end, margin };
  double length = kInf;
  std::int64_t slot = -1;
  Kind kind = end;
  double rate = 0, distance = 0;  // the distance from the mover is squared, K_ss + K_cc - 2 K_sc

  void see(const Event& other) {
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

/// change_a = sum_S K_aj theta_j + direction K_ac for the rows watched, the ridge being part of K.
void Incremental::respond(std::size_t c, const Border::Response& by, const Mover& mover) {
  Front& front = fronts_[c];
  front.change.assign(front.near.size(), 0.0);
  std::vector<const double*> rows;
  std::vector<double> weights;
  for (std::size_t k = 0; k < by.theta.size(); ++k) {
    rows.push_back(front.near_rows[k].data());
    weights.push_back(-by.theta[k]);
  }
  rows.push_back(mover.near.data()), weights.push_back(-mover.direction);
  loops().rank_update_exact(front.change.data(), rows.data(), weights.data(), rows.size(), 0, front.near.size());
  front.change[static_cast<std::size_t>(front.spot[mover.slot])] += ridge_[mover.slot] * mover.direction;
}

/// Makes b, theta_S and g of the rows watched follow.
void Incremental::shift(std::size_t c, const Border::Response& by, double length) {
  Front& front = fronts_[c];
  Column& column = expansion_.column(c);
  column.bias += length * by.b;
  for (std::size_t a = 0; a < front.change.size(); ++a) front.near_g[a] -= length * front.change[a];
  for (std::size_t k = 0; k < front.members.size(); ++k) {
    const auto s = static_cast<std::size_t>(front.members[k]);
    expansion_.set_alpha(c, s, std::clamp(column.alpha[s] + length * by.theta[k], expansion_.lower(c, s),
                                          expansion_.upper(c, s)));
  }
}

/// How far a coefficient is from the end of its box in a direction.
double Incremental::room(std::size_t c, std::size_t s, double direction) const {
  const double theta = expansion_.column(c).alpha[s];
  return std::max(0.0, direction > 0 ? expansion_.upper(c, s) - theta : theta - expansion_.lower(c, s));
}

/// Who has to change sides first.
Incremental::Event Incremental::next_event(std::size_t c, const Mover& mover, const Border::Response& by) const {
  const Front& front = fronts_[c];
  const Column& column = expansion_.column(c);
  const std::size_t own = mover.slot;
  const bool only_bias = front.members.empty();
  Event next;
  const double left = room(c, own, mover.direction);
  const auto mine = static_cast<std::int64_t>(own);
  if (!only_bias || left <= front.dust) next.see({left, mine, Event::end, 1, 0});
  const double away = std::max(0.0, -mover.direction * offset(c, own));
  const double pull = mover.direction * (by.b + front.change[static_cast<std::size_t>(front.spot[own])]);
  if (mover.to_margin && pull > 0 && away / pull < next.length) next.see({away / pull, mine, Event::margin, pull, 0});

  double fastest = 0, weight = std::sqrt(diagonal_[own]);
  for (std::size_t k = 0; k < front.members.size(); ++k) {
    fastest = std::max(fastest, std::abs(by.theta[k]));
    weight += std::abs(by.theta[k]) * std::sqrt(diagonal_[static_cast<std::size_t>(front.members[k])]);
  }
  for (std::size_t k = 0; k < front.members.size(); ++k) {
    const auto s = static_cast<std::size_t>(front.members[k]);
    const double rate = std::abs(by.theta[k]);
    if (rate > kRounding * (1 + fastest))
      next.see({room(c, s, by.theta[k]) / rate, front.members[k], Event::end, rate, 0});
  }
  for (std::size_t a = 0; a < front.near.size(); ++a) {
    const std::size_t s = front.near[a];
    if (!front.settled[s]) continue;
    const bool rises = column.gate[s] & kMayRise;
    const double u = column.bias - front.near_g[a], du = by.b + front.change[a];
    const double rate = rises ? -du : du, slack = std::max(0.0, rises ? u : -u);
    if (rate <= 0 || slack > next.length * rate) continue;
    // A rate below the rounding of its terms is none.
    if (only_bias || rate > kRounding * (weight * std::sqrt(diagonal_[s]) + std::abs(by.b)))
      next.see({slack / rate, static_cast<std::int64_t>(s), Event::margin, rate,
                diagonal_[s] + diagonal_[own] - 2 * mover.near[a]});
  }
  return next;
}

/// Moves a row until the first row has to change sides; tells whether that was the row itself.
bool Incremental::step(std::size_t c, Mover& mover) {
  Front& front = fronts_[c];
  const std::size_t own = mover.slot;
  if (--front.steps_left < 0) throw Stuck();
  ++front.counts.steps;
  while (mover.near.size() < front.near.size()) mover.near.push_back(mover.row[front.near[mover.near.size()]]);
  const bool only_bias = front.members.empty();
  Border::Response by{mover.direction, {}};
  if (only_bias) {
    front.change.assign(front.near.size(), 0.0);
  } else {
    by = front.border.respond(see(c, own), mover.direction);
    respond(c, by, mover);
  }
  const Event next = next_event(c, mover, by);
  if (next.slot < 0) throw Stuck();
  const auto s = static_cast<std::size_t>(next.slot);
  const double towards = s == own ? mover.direction
                         : front.place[s] >= 0 ? by.theta[static_cast<std::size_t>(front.place[s])] : 0;
  shift(c, by, next.length);
  if (!only_bias)
    expansion_.set_alpha(c, own, std::clamp(expansion_.column(c).alpha[own] + mover.direction * next.length,
                                            expansion_.lower(c, own), expansion_.upper(c, own)));
  // A row that enters S and leaves it again while nothing moves has a rate that is rounding: it is watched again when
  // something has moved.
  const bool in_vain = next.length == 0 && next.slot == mover.entered;
  mover.entered = next.length == 0 && next.kind == Event::margin ? next.slot : -1;
  if (next.length > 0) rest_over(c, mover);
  if (next.kind == Event::end) {
    expansion_.set_alpha(c, s, towards > 0 ? expansion_.upper(c, s) : expansion_.lower(c, s));
    if (s == own) front.settled[s] = 1;
    else leave(c, s);
    if (in_vain) front.settled[s] = 0, mover.resting.push_back(s);
  } else if (s != own || inside(c, s)) {
    enter(c, s);
  } else {
    front.settled[s] = 1;
  }
  return s == own;
}

/// Moves a row to an end of its box or, if that is wanted, until its condition holds.
void Incremental::move(std::size_t c, std::size_t s, double direction, bool to_margin) {
  struct Held {
    ExactRows& kernel;
    const Row& row;
    ~Held() { kernel.release(row.slot); }
  } held{kernel_, kernel_.hold(static_cast<std::int64_t>(s))};
  watch(c);
  add_near(c, s);
  fronts_[c].settled[s] = 0;
  fronts_[c].steps_left = most_steps > 0 ? most_steps : 1000 + 20 * static_cast<std::int64_t>(expansion_.size());
  Mover mover{held.row, s, direction, to_margin, near_row(c, held.row), -1, {}};
  while (!step(c, mover)) {
  }
  rest_over(c, mover);
}

void Incremental::rest_over(std::size_t c, Mover& mover) {
  for (const auto s : mover.resting)
    if (fronts_[c].place[s] < 0) fronts_[c].settled[s] = 1;
  mover.resting.clear();
}

/// Brings a row that is not settled to where its condition holds.
void Incremental::drive(std::size_t c, std::size_t s) {
  if (violation(c, s) > kTouch) move(c, s, offset(c, s) < 0 ? 1 : -1, true);
  else if (inside(c, s)) enter(c, s);
  else fronts_[c].settled[s] = 1;
}

/// Moves rows that are not settled, up to `most` of them; returns how many are left.
std::size_t Incremental::drive_all(std::size_t c, std::size_t most) {
  std::size_t seen = 0;
  for (std::size_t s = 0; s < expansion_.size(); ++s)
    if (expansion_.column(c).member[s] && !fronts_[c].settled[s] && fronts_[c].place[s] < 0 && seen++ < most) drive(c, s);
  return seen - std::min(seen, most);
}

/// Brings a coefficient to 0; the row is then exempt from its condition.
void Incremental::unlearn(std::size_t c, std::size_t s) {
  const double theta = expansion_.column(c).alpha[s];
  if (fronts_[c].place[s] >= 0) leave(c, s);
  if (theta != 0) move(c, s, theta > 0 ? -1 : 1, false);
  fronts_[c].settled[s] = 0;
}

}  // namespace everlearn
