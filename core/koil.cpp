#include "koil.hpp"

#include <algorithm>

namespace everlearn {

/// How many rows of each class are in the buffer.
void Koil::count_buffer(std::size_t c) {
  scratch_[c].kept = {0, 0};
  for (const auto s : buffer(c)) ++scratch_[c].kept[side(c, static_cast<std::size_t>(s))];
}

void Koil::learn_row(std::size_t c, std::size_t slot, std::int64_t) {
  const double y = expansion_.sign(c, slot);
  const std::size_t own = side(c, slot), other = 1 - own;
  state.mistakes[c] += y * score(c, slot) <= 0;
  ++seen[c][own];
  count_buffer(c);
  choose_opponents(c, slot);
  shrink(c, 1 - eta);
  double cost = expansion_.cost(slot);
  if (weighted) cost *= std::max(1.0, static_cast<double>(seen[c][other]) / static_cast<double>(budget));
  const double step = eta * cost * y;
  std::size_t moved = 0;
  for (const Opponent& opponent : scratch_[c].opponents)
    if (opponent.bad) add(c, opponent.slot, -step), ++moved;
  const bool alone = kept(c, other) == 0 || (kept(c, own) == 0 && moved == 0);
  const double alpha = alone && !literal ? step : step * static_cast<double>(moved);
  if (alpha != 0 || literal) insert(c, slot, alpha);
  apply(c);
}

/// V: at most k opponents, of which the bad ones count.
void Koil::choose_opponents(std::size_t c, std::size_t slot) {
  const double y = expansion_.sign(c, slot), f = score(c, slot);
  const HeldRow row = expansion_.hold(slot);
  std::vector<Opponent>& opponents = scratch_[c].opponents;
  opponents.clear();
  for (std::size_t place = 0; place < buffer(c).size(); ++place) {
    const auto s = static_cast<std::size_t>(buffer(c)[place]);
    if (expansion_.sign(c, s) == y) continue;
    const bool bad = y * (f - score(c, s)) < 1;
    if (bad || nearest_first) opponents.push_back({row[s], place, s, bad});
  }
  if (opponents.size() <= neighbors) return;
  const auto nearer = [](const Opponent& a, const Opponent& b) {
    return a.kernel > b.kernel || (a.kernel == b.kernel && a.place < b.place);
  };
  std::nth_element(opponents.begin(), opponents.begin() + static_cast<std::ptrdiff_t>(neighbors), opponents.end(),
                   nearer);
  opponents.resize(neighbors);
}

void Koil::insert(std::size_t c, std::size_t slot, double alpha) {
  const std::size_t own = side(c, slot);
  if (is_member(c, slot) || kept(c, own) < budget) {
    insert_row(c, slot);
    add(c, slot, alpha);
    return;
  }
  const std::int64_t place = place_of_victim(c, own);
  std::size_t gone = slot;
  double lost = alpha;
  if (place >= 0) {
    gone = static_cast<std::size_t>(buffer(c)[static_cast<std::size_t>(place)]);
    lost = remove(c, static_cast<std::size_t>(place));
    insert_row(c, slot);
    add(c, slot, alpha);
  }
  if (!compensates || lost == 0) return;
  const std::int64_t receiver = nearest(c, gone, own);
  if (receiver >= 0) add(c, static_cast<std::size_t>(receiver), lost);
}

void Koil::shrink_to_budget(std::size_t c) {
  for (const std::size_t own : {0u, 1u})
    for (count_buffer(c); kept(c, own) > budget; count_buffer(c)) {
      const std::uint64_t which = victim == Victim::random ? state.generators[c].below(kept(c, own)) : 0;
      const auto place = static_cast<std::size_t>(place_of(c, own, which));
      const auto gone = static_cast<std::size_t>(buffer(c)[place]);
      const double lost = remove(c, place);
      if (compensates && lost != 0) add(c, static_cast<std::size_t>(nearest(c, gone, own)), lost);
      apply(c);
    }
}

/// The entry of the buffer that makes room for a new row of a class; -1 if the new row itself is dropped.
std::int64_t Koil::place_of_victim(std::size_t c, std::size_t own) {
  std::uint64_t which = 0;
  if (victim == Victim::random) which = state.generators[c].below(static_cast<std::uint64_t>(seen[c][own]));
  return which >= budget ? -1 : place_of(c, own, which);
}

/// The place of the `which`-th entry of a class in the buffer.
std::int64_t Koil::place_of(std::size_t c, std::size_t own, std::uint64_t which) {
  for (std::size_t place = 0; place < buffer(c).size(); ++place)
    if (side(c, static_cast<std::size_t>(buffer(c)[place])) == own && which-- == 0)
      return static_cast<std::int64_t>(place);
  return -1;
}

/// The entry of a class nearest to a row, the earliest of equals; -1 if there is none.
std::int64_t Koil::nearest(std::size_t c, std::size_t slot, std::size_t own) {
  const HeldRow row = expansion_.hold(slot);
  std::int64_t best = -1;
  float most = 0;
  for (const auto entry : buffer(c)) {
    const auto s = static_cast<std::size_t>(entry);
    if (side(c, s) == own && (best < 0 || row[s] > most)) best = entry, most = row[s];
  }
  return best;
}

void Koil::end_turn(std::size_t c) {
  std::array<double, 2> sum{}, rows{};
  for (const auto entry : buffer(c)) {
    const auto s = static_cast<std::size_t>(entry);
    sum[side(c, s)] += score(c, s);
    rows[side(c, s)] += 1;
  }
  const bool both = rows[0] > 0 && rows[1] > 0;
  expansion_.column(c).bias = both ? -(sum[0] / rows[0] + sum[1] / rows[1]) / 2 : 0.0;
}

}  // namespace everlearn
