#include "working_set.hpp"

#include <algorithm>
#include <cmath>

namespace everlearn {
namespace {

constexpr std::size_t kWorkingSet = 512;
/// Within a round, pair steps go on until the violation has fallen to this share of the round's first.
constexpr double kInnerShare = 0.1;

/// Slots of the next working set: the steepest on both sides first, then what the last round worked on and
/// left free, then the next steepest.
std::vector<std::int64_t> choose(const Expansion& expansion, std::size_t c, double tau, std::size_t most,
                                 const std::vector<std::int64_t>& last) {
  const Column& column = expansion.column(c);
  struct Candidate {
    double violation;
    std::int64_t slot;
  };
  std::vector<Candidate> rising, falling;
  for (std::size_t s = 0; s < expansion.size(); ++s) {
    const double g = column.g[s];
    if ((column.gate[s] & kMayRise) && g > column.ends.low + tau) rising.push_back({g, static_cast<std::int64_t>(s)});
    if ((column.gate[s] & kMayFall) && g < column.ends.high - tau) falling.push_back({-g, static_cast<std::int64_t>(s)});
  }
  const auto steeper = [](const Candidate& a, const Candidate& b) {
    return a.violation > b.violation || (a.violation == b.violation && a.slot < b.slot);
  };
  std::vector<std::int64_t> chosen;
  std::vector<std::uint8_t> taken(expansion.size(), 0);
  const auto add = [&](std::int64_t slot) {
    if (taken[static_cast<std::size_t>(slot)] || chosen.size() >= most) return;
    taken[static_cast<std::size_t>(slot)] = 1;
    chosen.push_back(slot);
  };
  const std::size_t reach = std::min(most, std::max(rising.size(), falling.size()));
  for (auto* side : {&rising, &falling}) {
    const auto end = side->begin() + static_cast<std::ptrdiff_t>(std::min(reach, side->size()));
    std::partial_sort(side->begin(), end, side->end(), steeper);
  }
  const auto add_steepest = [&](std::size_t from, std::size_t to) {
    for (std::size_t k = from; k < to; ++k) {
      if (k < rising.size()) add(rising[k].slot);
      if (k < falling.size()) add(falling[k].slot);
    }
  };
  add_steepest(0, std::max<std::size_t>(1, most / 4));
  for (const auto slot : last)
    if (column.gate[static_cast<std::size_t>(slot)] == (kMayRise | kMayFall)) add(slot);
  add_steepest(std::max<std::size_t>(1, most / 4), reach);
  return chosen;
}

/// The working set's own problem, small enough to stay in cache.
struct Local {
  std::size_t size, stride;
  AlignedVector<float> kernel, diagonal;
  AlignedVector<double> alpha, g, lower, upper;
  AlignedVector<std::uint8_t> gate;

  explicit Local(std::size_t n)
      : size(n), stride(round_up(n, kPad)), kernel(n * stride), diagonal(stride), alpha(stride), g(stride),
        lower(n), upper(n), gate(stride, 0) {}

  void set_alpha(std::size_t s, double value) {
    alpha[s] = value;
    gate[s] = static_cast<std::uint8_t>((value < upper[s] ? kMayRise : 0) | (value > lower[s] ? kMayFall : 0));
  }

  /// Pair steps, the second index chosen to second order, until the violation is at most `tolerance`. Returns
  /// how many were made.
  std::size_t solve(double tolerance, std::size_t most_steps) {
    Extremes ends = loops().scan(g.data(), gate.data(), size);
    std::size_t steps = 0;
    for (; steps < most_steps && ends.up >= 0 && ends.down >= 0; ++steps) {
      if (ends.high - ends.low <= tolerance) break;
      const auto i = static_cast<std::size_t>(ends.up);
      const float* ki = kernel.data() + i * stride;
      const std::int64_t pick =
          loops().second_order(g.data(), gate.data(), ki, diagonal.data(), diagonal[i], ends.high, size);
      if (pick < 0) break;
      const auto j = static_cast<std::size_t>(pick);
      const PairStep pair = pair_step(g[i] - g[j], double(diagonal[i]) + diagonal[j] - 2.0 * ki[j],
                                      {alpha[i], upper[i]}, {alpha[j], lower[j]});
      set_alpha(i, pair.up);
      set_alpha(j, pair.down);
      ends = loops().step(g.data(), gate.data(), ki, kernel.data() + j * stride, pair.length, size);
    }
    return steps;
  }
};

}  // namespace

PairStep pair_step(double slope, double curvature, Travel up, Travel down) {
  const double room_up = up.bound - up.alpha, room_down = down.alpha - down.bound;
  double length = std::min(room_up, room_down);
  if (curvature > 1e-12) length = std::min(length, slope / curvature);
  return {length, length == room_up ? up.bound : up.alpha + length,
          length == room_down ? down.bound : down.alpha - length};
}

namespace {

/// Runs work(first, rows) over the kernel rows of some slots, as many at a time as the cache can hold, so that
/// the size of the cache decides how long it takes and not what comes out.
template <class F>
void in_groups(Expansion& expansion, std::span<const std::int64_t> slots, F&& work) {
  const std::size_t room = expansion.cache().room_for(expansion.size());
  for (std::size_t first = 0; first < slots.size(); first += room) {
    const auto group = slots.subspan(first, std::min(room, slots.size() - first));
    work(first, expansion.rows_of(group));
  }
}

}  // namespace

bool optimise(Expansion& expansion, std::size_t c, double tau, std::size_t rounds, std::int64_t& steps) {
  Column& column = expansion.column(c);
  std::vector<std::int64_t> set, movers;
  std::vector<double> moves;
  for (std::size_t round = 0;; ++round) {
    const Extremes ends = column.ends;
    if (ends.up < 0 || ends.down < 0 || ends.high - ends.low <= tau) return true;
    if (round == rounds) return false;
    set = choose(expansion, c, tau, kWorkingSet, set);

    Local local(set.size());
    in_groups(expansion, set, [&](std::size_t first, std::span<const RowView> rows) {
      for (std::size_t a = first; a < first + rows.size(); ++a)
        for (std::size_t b = 0; b <= a; ++b) {
          const float value = rows[a - first][static_cast<std::size_t>(set[b])];
          local.kernel[a * local.stride + b] = value;
          local.kernel[b * local.stride + a] = value;
        }
    });
    for (std::size_t a = 0; a < set.size(); ++a) {
      const auto s = static_cast<std::size_t>(set[a]);
      local.diagonal[a] = static_cast<float>(expansion.diagonal(s));
      local.g[a] = column.g[s];
      local.lower[a] = expansion.lower(c, s);
      local.upper[a] = expansion.upper(c, s);
      local.set_alpha(a, column.alpha[s]);
    }
    const double share = kInnerShare * (ends.high - ends.low);
    steps += static_cast<std::int64_t>(local.solve(std::max(tau * 0.5, share), 100 * set.size()));

    movers.clear(), moves.clear();
    for (std::size_t a = 0; a < set.size(); ++a) {
      const auto s = static_cast<std::size_t>(set[a]);
      if (local.alpha[a] == column.alpha[s]) continue;
      movers.push_back(set[a]);
      moves.push_back(local.alpha[a] - column.alpha[s]);
      expansion.set_alpha(c, s, local.alpha[a]);
    }
    if (movers.empty()) return true;  // the tolerance is below rounding
    in_groups(expansion, movers, [&](std::size_t first, std::span<const RowView> rows) {
      expansion.descend(c, rows, std::span(moves).subspan(first, rows.size()));
    });
    column.ends = expansion.scan(c);
  }
}

}  // namespace everlearn
