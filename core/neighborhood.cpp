#include "neighborhood.hpp"

#include <algorithm>
#include <cmath>

namespace everlearn {
namespace {

/// A neighborhood stops growing when no coefficient has changed by more than this fraction of its bound for so many
/// rounds.
constexpr double kStillFraction = 1e-3;
constexpr int kStillRounds = 3;
/// A coefficient at a bound is left out at first if |1 - y f(x)| is above this. Measured on 8,000 rows of ijcnn1, where
/// a ball holds 2,000: 0.8 s with 0.1 and with 0.2, 1.05 s with 0.5, 1.3 s without.
constexpr double kStuckSlack = 0.2;

std::ptrdiff_t offset(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }

}  // namespace

Neighborhood::Neighborhood(Expansion& expansion, std::size_t c, std::size_t center)
    : expansion_(expansion), column_(c), center_(center) {
  const Column& column = expansion.column(c);
  const HeldRow kernel = expansion.hold(center);
  for (std::size_t s = 0; s < expansion.size(); ++s)
    if (column.member[s] && s != center) near_.push_back({kernel[s], static_cast<std::int64_t>(s)});
}

double Neighborhood::room(std::int64_t slot, std::uint8_t way) const {
  const auto s = static_cast<std::size_t>(slot);
  const double alpha = expansion_.column(column_).alpha[s];
  return way == kMayRise ? expansion_.upper(column_, s) - alpha : alpha - expansion_.lower(column_, s);
}

std::size_t Neighborhood::count_to(const Near& limit) const {
  return static_cast<std::size_t>(
      std::count_if(near_.begin(), near_.end(), [&](const Near& other) { return !(limit < other); }));
}

/// The farthest row of the neighborhood. It holds the rows with d <= radius sigma, that is K >= exp(-radius^2 / 2), at
/// least min_rows, and rows that can move in the direction `partner`: at least one, and with at least `needed` room
/// together.
Neighborhood::Near Neighborhood::farthest(const Extent& extent, std::uint8_t partner, double needed) const {
  const double least = extent.grows ? 2 : std::exp(-0.5 * extent.radius * extent.radius);  // no K is 2
  Near limit{static_cast<float>(least), std::numeric_limits<std::int64_t>::max()};
  if (count_to(limit) < std::min(extent.min_rows, near_.size())) {
    std::vector<Near> order = near_;
    const auto last = order.begin() + offset(std::min(extent.min_rows, near_.size()) - 1);
    std::nth_element(order.begin(), last, order.end());
    limit = *last;
  }
  const auto& gate = expansion_.column(column_).gate;
  double found = 0;
  bool any = false;
  std::vector<Near> beyond;
  for (const Near& other : near_) {
    if (!(gate[static_cast<std::size_t>(other.slot)] & partner)) continue;
    if (limit < other) beyond.push_back(other);
    else found += room(other.slot, partner), any = true;
  }
  const auto farther = [](const Near& a, const Near& b) { return b < a; };
  if (!any || found < needed) std::make_heap(beyond.begin(), beyond.end(), farther);
  for (; (!any || found < needed) && !beyond.empty(); beyond.pop_back()) {
    std::pop_heap(beyond.begin(), beyond.end(), farther);
    limit = beyond.back();
    found += room(limit.slot, partner), any = true;
  }
  return limit;
}

/// Whether a coefficient is at an end of its box and far from leaving it.
bool Neighborhood::is_stuck(std::int64_t slot) const {
  const Column& column = expansion_.column(column_);
  const auto s = static_cast<std::size_t>(slot);
  const double pull = column.g[s] - column.bias;
  if (column.gate[s] == kMayRise) return pull < -kStuckSlack;
  if (column.gate[s] == kMayFall) return pull > kStuckSlack;
  return false;
}

/// The violation among some slots.
double Neighborhood::violation(std::span<const std::int64_t> slots) const {
  const Column& column = expansion_.column(column_);
  double high = -std::numeric_limits<double>::infinity(), low = -high;
  for (const auto slot : slots) {
    const auto s = static_cast<std::size_t>(slot);
    if (column.gate[s] & kMayRise) high = std::max(high, column.g[s]);
    if (column.gate[s] & kMayFall) low = std::min(low, column.g[s]);
  }
  return high - low;
}

/// Gives places to the `count` nearest rows, the nearest first; rows that have places keep them.
void Neighborhood::place_nearest(std::size_t count) {
  if (slots_.empty()) slots_.push_back(static_cast<std::int64_t>(center_));
  const auto begin = near_.begin() + offset(slots_.size() - 1), end = near_.begin() + offset(count);
  std::nth_element(begin, end, near_.end());
  std::sort(begin, end);
  for (auto other = begin; other != end; ++other) slots_.push_back(other->slot);
  start_problem();
}

/// Sets up the problem of the slots that have places, with every gate shut.
void Neighborhood::start_problem() {
  problem_ = SmallProblem(slots_.size());
  for (std::size_t place = 0; place < slots_.size(); ++place) {
    problem_.take(expansion_, column_, static_cast<std::size_t>(slots_[place]), place);
    problem_.gate[place] = 0;
  }
  rows_.assign(slots_.size(), {});
  admitted_ = 0;
}

/// Opens the gates of the first places.
void Neighborhood::admit(std::size_t count) {
  for (; admitted_ < count; ++admitted_)
    if (admitted_ > 0 || !unlearns_) problem_.set_alpha(admitted_, problem_.alpha[admitted_]);
}

/// Adds places to the problem; what has been solved so far stays.
void Neighborhood::add_places(std::size_t count) {
  const SmallProblem solved = problem_;
  const std::size_t admitted = admitted_;
  place_nearest(count);
  for (std::size_t place = 0; place < admitted; ++place) {
    const double length = solved.alpha[place] - problem_.alpha[place];
    problem_.alpha[place] = solved.alpha[place];
    if (length == 0) continue;
    const float* kernel = row(place);
    loops().rank_update(problem_.g.data(), &kernel, &length, 1, 0, problem_.size);
  }
  admit(admitted);
}

/// The kernel row of a place, one value for each place.
const float* Neighborhood::row(std::size_t place) {
  AlignedVector<float>& values = rows_[place];
  if (values.empty()) {
    const HeldRow kernel = expansion_.hold(slots_[place]);
    values.resize(problem_.stride, 0.0f);
    for (std::size_t other = 0; other < slots_.size(); ++other)
      values[other] = kernel[static_cast<std::size_t>(slots_[other])];
  }
  return values.data();
}

bool Neighborhood::solve(double tau) {
  const std::size_t most = 1000 + 100 * admitted_;
  return problem_.solve_pairs([&](std::size_t place) { return row(place); }, tau, most) < most;
}

/// Moves alpha_0 to others. The best partner j is that with the largest
///   gain(t) = +-t (g_j - g_0) - t^2 / 2 (K_00 + K_jj - 2 K_0j),
/// + if alpha_0 falls and - if it rises, for the t that partner j has room for.
void Neighborhood::hand_over() {
  const std::uint8_t way = problem_.alpha[0] > 0 ? kMayRise : kMayFall;
  const double sign = way == kMayRise ? 1 : -1;
  while (problem_.alpha[0] != 0) {
    const double left = std::abs(problem_.alpha[0]);
    const float* own = row(0);
    double best = -std::numeric_limits<double>::infinity(), length = 0;
    std::size_t partner = 0;
    for (std::size_t j = 1; j < admitted_; ++j) {
      if (!(problem_.gate[j] & way)) continue;
      const double space =
          way == kMayRise ? problem_.upper(j) - problem_.alpha[j] : problem_.alpha[j] - problem_.lower(j);
      const double t = std::min(left, space);
      const double curvature = double(problem_.diagonal[0]) + problem_.diagonal[j] - 2.0 * own[j];
      const double gain = t * (sign * (problem_.g[j] - problem_.g[0]) - 0.5 * t * curvature);
      if (gain > best) best = gain, length = t, partner = j;
    }
    if (partner == 0) break;  // only rounding is left: the others can take all of it
    const bool whole = length == left;
    const double bound = way == kMayRise ? problem_.upper(partner) : problem_.lower(partner);
    const double to = problem_.alpha[partner] + sign * length;
    problem_.set_alpha(partner, std::abs(bound - problem_.alpha[partner]) == length ? bound : to);
    problem_.alpha[0] = whole ? 0.0 : problem_.alpha[0] - sign * length;
    const float* other = row(partner);
    loops().step(problem_.g.data(), problem_.gate.data(), sign > 0 ? other : own, sign > 0 ? own : other, length,
                 problem_.size);
  }
  problem_.alpha[0] = 0;
}

/// Solves the admitted places, then admits one more row a round.
bool Neighborhood::grow(double tau) {
  bool solved = true;
  AlignedVector<double> before = problem_.alpha;
  for (int still = 0;;) {
    solved &= solve(tau);
    double change = 0;
    for (std::size_t place = 0; place < admitted_; ++place)
      if (problem_.alpha[place] != before[place])
        change = std::max(change, std::abs((problem_.alpha[place] - before[place]) / problem_.edge[place]));
    still = change <= kStillFraction ? still + 1 : 0;
    if (still == kStillRounds || admitted_ > near_.size()) return solved;
    if (admitted_ == slots_.size()) add_places(std::min(near_.size(), 2 * slots_.size()));
    before = problem_.alpha;
    admit(admitted_ + 1);
  }
}

bool Neighborhood::optimize(const Extent& extent, std::uint8_t partner, double needed, double tau) {
  constexpr std::size_t kAhead = 64;  // places set up before they are admitted
  const Near last = farthest(extent, partner, needed);
  if (extent.grows) {
    const std::size_t count = count_to(last);
    place_nearest(std::min(near_.size(), count + kAhead));
    admit(count + 1);
    if (unlearns_) hand_over();
    const bool solved = grow(tau);
    members_.assign(slots_.begin(), slots_.begin() + offset(admitted_));
    write_back();
    return solved;
  }
  members_.assign(1, static_cast<std::int64_t>(center_));
  for (const Near& other : near_)
    if (!(last < other)) members_.push_back(other.slot);
  bool solved = true;
  if (!unlearns_) {  // most rows cannot move: solve without them first
    for (const auto slot : members_)
      if (slots_.empty() || !is_stuck(slot)) slots_.push_back(slot);
    start_problem();
    admit(slots_.size());
    solved = solve(tau);
    write_back();
    if (violation(members_) <= tau || slots_.size() == members_.size()) return solved;
  }
  slots_ = members_;
  start_problem();
  admit(slots_.size());
  if (unlearns_) hand_over();
  solved &= solve(tau);
  write_back();
  return solved;
}

bool Neighborhood::learn(const Extent& extent, bool rises, double tau) {
  return optimize(extent, rises ? kMayFall : kMayRise, 0, tau);
}

bool Neighborhood::unlearn(const Extent& extent, double tau) {
  unlearns_ = true;
  const double alpha = expansion_.column(column_).alpha[center_];
  return optimize(extent, alpha > 0 ? kMayRise : kMayFall, std::abs(alpha), tau);
}

/// Writes the coefficients to the column and brings all of its gradients up to date.
void Neighborhood::write_back() {
  std::vector<std::int64_t> moved;
  std::vector<double> targets;
  for (std::size_t place = 0; place < admitted_; ++place) {
    if (problem_.alpha[place] == expansion_.column(column_).alpha[static_cast<std::size_t>(slots_[place])]) continue;
    moved.push_back(slots_[place]);
    targets.push_back(problem_.alpha[place]);
  }
  moved_.insert(moved_.end(), moved.begin(), moved.end());
  move_to(expansion_, column_, moved, targets);
}

}  // namespace everlearn
