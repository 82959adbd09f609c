// One column of the exact machine as a whole: from any coefficients to the solution, and staying there.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "incremental.hpp"
#include "incremental_errors.hpp"

namespace everlearn {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
/// Beyond this the coefficients of S are brought back to what S determines, and if that does not help, everything is
/// computed anew; which happens in any case after so many changes of S.
constexpr double kDrift = 1e-9;
constexpr std::int64_t kChanges = 4096;
/// How often what happened to rows that were not watched is made good before all rows are watched.
constexpr int kRounds = 4;
/// A kernel of the caller's under which conditions end up violated by more, relative to the bias, is none.
constexpr double kHonest = 1e-6;

}  // namespace

/// Changes a column: work() moves rows, and then whoever violates its condition is moved, until nobody does. Where
/// rounding errors lead it in circles, the column is solved from scratch by another method (incremental_cold.cpp).
void Incremental::change(std::size_t c, const std::function<void()>& work) {
  double dearest = 0;
  for (const double edge : expansion_.column(c).edge) dearest = std::max(dearest, std::abs(edge));
  fronts_[c].dust = 1e-13 * dearest;
  try {
    fronts_[c].watching = fronts_[c].watches_all = false;
    work();
    settle_rest(c);
    conclude(c);
  } catch (const Stuck&) {
    try {
      solve_cold(c);
      conclude(c);
    } catch (const Stuck&) {
      throw std::logic_error("an exact solution was not found, neither step by step nor from scratch");
    }
  }
}

/// Sees that a kernel which may be none has led to a solution.
void Incremental::vouch(std::size_t c) const {
  if (!cautious || expansion_.column(c).delta <= kHonest * (1 + std::abs(expansion_.column(c).bias))) return;
  std::size_t worst = 0;
  for (std::size_t s = 0; s < expansion_.size(); ++s)
    if (violation(c, s) > violation(c, worst)) worst = s;
  throw IndefiniteKernel(worst);
}

void Incremental::settle_rest(std::size_t c) {
  for (int round = 0; look_around(c) > 0; ++round) {
    if (round == 10 * kRounds) throw Stuck();
    fronts_[c].watches_all = round >= kRounds;
    drive_all(c);
  }
}

/// With S empty b is not unique: the middle of what the conditions allow. With rows of one class only that is their
/// label; without rows it is 0.
void Incremental::put_bias(std::size_t c) {
  Column& column = expansion_.column(c);
  double high = -kInf, low = kInf;
  for (std::size_t s = 0; s < expansion_.size(); ++s) {
    if (column.gate[s] & kMayRise) high = std::max(high, column.g[s]);
    if (column.gate[s] & kMayFall) low = std::min(low, column.g[s]);
  }
  column.bias = high == -kInf ? (low == kInf ? 0.0 : low) : (low == kInf ? high : (high + low) / 2);
}

/// What every change of a column ends with.
void Incremental::conclude(std::size_t c) {
  Front& front = fronts_[c];
  Column& column = expansion_.column(c);
  const auto worst = [&] {
    double most = 0;
    for (const auto slot : front.members) most = std::max(most, std::abs(offset(c, static_cast<std::size_t>(slot))));
    return most;
  };
  snap(c);
  const double drift = kDrift * (1 + std::abs(column.bias));
  if (worst() > drift) adjust(c);
  if (front.changes > kChanges || worst() > drift) refresh(c);
  if (std::none_of(front.members.begin(), front.members.end(),
                   [&](std::int64_t slot) { return inside(c, static_cast<std::size_t>(slot)); })) {
    empty(c);
    put_bias(c);
  }
  double most = 0, sum = 0;
  for (std::size_t s = 0; s < expansion_.size(); ++s) {
    most = std::max(most, violation(c, s));
    sum += column.alpha[s];
  }
  column.delta = std::max(most, std::abs(sum));
}

/// Coefficients of S that only rounding keeps from an end of their box go there. One that is not at its end by an ulp
/// would say that S determines b where it does not.
void Incremental::snap(std::size_t c) {
  const Front& front = fronts_[c];
  std::vector<std::int64_t> slots;
  std::vector<double> lengths;
  for (const auto slot : front.members) {
    const auto s = static_cast<std::size_t>(slot);
    const double before = expansion_.column(c).alpha[s];
    if (room(c, s, 1) <= front.dust) expansion_.set_alpha(c, s, expansion_.upper(c, s));
    else if (room(c, s, -1) <= front.dust) expansion_.set_alpha(c, s, expansion_.lower(c, s));
    if (expansion_.column(c).alpha[s] == before) continue;
    slots.push_back(slot);
    lengths.push_back(expansion_.column(c).alpha[s] - before);
  }
  descend(c, slots, lengths);
}

/// Brings theta_S and b to what S determines, sum theta = 0 and u_S = 0, as far as the boxes allow: who meets an end
/// leaves.
void Incremental::adjust(std::size_t c) {
  Front& front = fronts_[c];
  Column& column = expansion_.column(c);
  while (!front.members.empty()) {
    double sum = 0;
    for (std::size_t s = 0; s < expansion_.size(); ++s) sum += column.alpha[s];
    std::vector<double> r;
    for (const auto slot : front.members) r.push_back(-offset(c, static_cast<std::size_t>(slot)));
    Border::Response by = front.border.solve(-sum, std::move(r));
    double length = 1;
    std::int64_t first = -1;
    for (std::size_t k = 0; k < front.members.size(); ++k) {
      const auto s = static_cast<std::size_t>(front.members[k]);
      const double left = room(c, s, by.theta[k]), rate = std::abs(by.theta[k]);
      if (rate > left + front.dust && left / rate < length) length = left / rate, first = front.members[k];
    }
    const double towards = first < 0 ? 0 : by.theta[static_cast<std::size_t>(front.place[static_cast<std::size_t>(first)])];
    column.bias += length * by.b;
    std::vector<double> lengths;
    for (std::size_t k = 0; k < front.members.size(); ++k) {
      const auto s = static_cast<std::size_t>(front.members[k]);
      const double before = column.alpha[s];
      const double to = std::clamp(before + length * by.theta[k], expansion_.lower(c, s), expansion_.upper(c, s));
      expansion_.set_alpha(c, s, front.members[k] != first ? to : towards > 0 ? expansion_.upper(c, s) : expansion_.lower(c, s));
      lengths.push_back(column.alpha[s] - before);
    }
    descend(c, std::vector(front.members), lengths);
    if (first < 0) return;
    leave(c, static_cast<std::size_t>(first));
  }
}

/// Everything anew from the coefficients.
void Incremental::refresh(std::size_t c) {
  ++fronts_[c].counts.refreshes;
  begin(c);
  drive_all(c);
  settle_rest(c);
}

/// From any coefficients: S are the rows inside of their boxes; who violates its condition is not settled.
void Incremental::begin(std::size_t c) {
  Front& front = fronts_[c];
  Column& column = expansion_.column(c);
  const std::size_t n = expansion_.size();
  front.watching = false;
  empty(c);
  std::vector<std::int64_t> support;
  std::vector<double> lengths;
  for (std::size_t s = 0; s < n; ++s) {
    column.g[s] = expansion_.sign(c, s);
    if (column.alpha[s] != 0) support.push_back(static_cast<std::int64_t>(s)), lengths.push_back(column.alpha[s]);
  }
  descend(c, support, lengths);
  for (std::size_t s = 0; s < n; ++s)
    if (inside(c, s)) enter(c, s);
  if (front.members.empty()) put_bias(c);
  else adjust(c);
  double sum = 0;
  for (std::size_t s = 0; s < n; ++s) {
    front.settled[s] = column.member[s] && front.place[s] < 0 && violation(c, s) <= kTouch;
    sum += column.alpha[s];
  }
  if (std::abs(sum) > static_cast<double>(n) * front.dust) throw Stuck();  // nobody can make up for it
  front.changes = 0;
}

}  // namespace everlearn
