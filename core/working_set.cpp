#include "working_set.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "small_problem.hpp"
#include "threads.hpp"

namespace everlearn {
namespace {

/// Coefficients in a working set. Where kernel values are worth computing again, rounds cost more than the steps in them:
/// the set then has room for the free coefficients and half as many others, up to a kernel matrix of 144 MB. Measured on
/// covtype: with 6,144 at the most 3.99e9 kernel values, with 4,096 4.57e9, with 2,048 6.36e9.
constexpr std::size_t kWorkingSet = 512, kLargestSet = 6144;
/// The kernel rows of so few coefficients are cached all the same: they will soon be needed again.
constexpr std::size_t kFew = 64;
/// Steps within a round go on until the violation has fallen to this fraction of the violation at its start.
constexpr double kInnerFraction = 0.1;

/// Chooses working sets. Slots are listed without branches: which of them violate is hard to predict.
class Chooser {
 public:
  /// Slots of the next working set: the steepest on both sides first, then the free ones of the last round, then the
  /// next steepest.
  std::vector<std::int64_t> choose(const Expansion& expansion, std::size_t c, Bias bias, double tau, std::size_t most,
                                   const std::vector<std::int64_t>& last) {
    const Column& column = expansion.column(c);
    const double low = bias == Bias::free ? column.ends.low : 0, high = bias == Bias::free ? column.ends.high : 0;
    rising_.resize(std::max(rising_.size(), expansion.size()));
    falling_.resize(rising_.size());
    std::size_t rises = 0, falls = 0;
    for (std::size_t s = 0; s < expansion.size(); ++s) {
      const double g = column.g[s];
      const auto slot = static_cast<std::int64_t>(s);
      rising_[rises] = {g, slot};
      rises += static_cast<std::size_t>((column.gate[s] & kMayRise) != 0) & static_cast<std::size_t>(g > low + tau);
      falling_[falls] = {-g, slot};
      falls += static_cast<std::size_t>((column.gate[s] & kMayFall) != 0) & static_cast<std::size_t>(g < high - tau);
    }
    std::vector<std::int64_t> chosen;
    taken_.assign(expansion.size(), 0);
    const auto add = [&](std::int64_t slot) {
      if (taken_[static_cast<std::size_t>(slot)] || chosen.size() >= most) return;
      taken_[static_cast<std::size_t>(slot)] = 1;
      chosen.push_back(slot);
    };
    const std::size_t reach = std::min(most, std::max(rises, falls));
    const auto up = steepest(rising_, rises, reach), down = steepest(falling_, falls, reach);
    const auto add_steepest = [&](std::size_t from, std::size_t to) {
      for (std::size_t k = from; k < to; ++k) {
        if (k < up.size()) add(up[k].slot);
        if (k < down.size()) add(down[k].slot);
      }
    };
    add_steepest(0, std::max<std::size_t>(1, most / 4));
    for (const auto slot : last)
      if (column.gate[static_cast<std::size_t>(slot)] == (kMayRise | kMayFall)) add(slot);
    add_steepest(std::max<std::size_t>(1, most / 4), reach);
    std::sort(chosen.begin(), chosen.end());  // kernel rows are read in order
    return chosen;
  }

 private:
  struct Candidate {
    double violation;
    std::int64_t slot;
    bool operator<(const Candidate& other) const {
      return violation > other.violation || (violation == other.violation && slot < other.slot);
    }
  };

  /// The first `most` of `count` candidates, in order.
  static std::span<const Candidate> steepest(std::vector<Candidate>& candidates, std::size_t count, std::size_t most) {
    const auto begin = candidates.begin(), end = begin + static_cast<std::ptrdiff_t>(count);
    const auto last = begin + static_cast<std::ptrdiff_t>(std::min(most, count));
    if (last != end) std::nth_element(begin, last, end);
    std::sort(begin, last);
    return {begin, last};
  }

  std::vector<Candidate> rising_, falling_;
  std::vector<std::uint8_t> taken_;
};

Pivot pivot(std::size_t slot, const Single& i) {
  const double move = single_step(i) - i.alpha;
  return {static_cast<std::int64_t>(slot),        i.g, i.alpha, i.lower, i.upper, i.curvature, move,
          move * (i.g - 0.5 * i.curvature * move)};
}

/// The working set's own problem, with its kernel matrix.
struct Local : SmallProblem {
  BigMatrix kernel;
  AlignedVector<float> inverse;

  explicit Local(std::size_t n) : SmallProblem(n), kernel(n, stride), inverse(stride) {
    for (std::size_t s = 0; s < n; ++s) std::fill(kernel.row(s) + n, kernel.row(s) + stride, 0.0f);  // passes read it
  }

  const float* row(std::size_t s) const { return kernel.row(s); }

  /// Copies the values below the diagonal to those above it, most of them in blocks: rows of the matrix are so far apart
  /// that a column does not fit into the first-level cache.
  void mirror(int threads) {
    constexpr std::size_t kBlock = 32;
    const std::size_t blocks = (size + kBlock - 1) / kBlock;
    parallel_each(size * size < kWorthThreads ? 1 : threads, blocks, [&](std::size_t block) {
      const std::size_t first = (blocks - 1 - block) * kBlock;  // long rows first
      const std::size_t last = std::min(first + kBlock, size);
      loops().transpose(kernel.row(first), stride, last - first, first, kernel.row(0) + first, stride);
      for (std::size_t a = first; a < last; ++a)
        for (std::size_t b = first; b < a; ++b) kernel.row(b)[a] = kernel.row(a)[b];
    });
  }

  /// Steps on the coefficient with the largest gain, together with a partner; there is no bias.
  std::size_t solve_without_bias(double tolerance, std::size_t max_steps) {
    const CoefficientView view{g.data(), gate.data(), alpha.data(), edge.data(), diagonal.data(), inverse.data()};
    const auto single = [&](std::size_t s) { return Single{g[s], diagonal[s], alpha[s], lower(s), upper(s)}; };
    Gain best = loops().best_gain(view, {}, {}, tolerance, size);
    std::size_t steps = 0;
    for (; steps < max_steps && best.slot >= 0; ++steps) {
      const auto i = static_cast<std::size_t>(best.slot);
      const std::int64_t found = loops().partner(view, row(i), pivot(i, single(i)), size).slot;
      const std::size_t j = found < 0 ? i : static_cast<std::size_t>(found);
      const auto [to_i, to_j] =
          j == i ? std::pair(single_step(single(i)), alpha[i]) : joint_step(single(i), single(j), row(i)[j]);
      const Descent first{row(i), to_i - alpha[i]}, second{row(j), j == i ? 0 : to_j - alpha[j]};
      if (first.length == 0 && second.length == 0) break;
      alpha[i] = to_i;
      if (j != i) alpha[j] = to_j;
      best = loops().best_gain(view, first, second.length == 0 ? Descent{} : second, tolerance, size);
    }
    return steps;
  }
};

/// Runs work(first, rows) over the kernel rows of some slots, as many at a time as fit into the cache beside those of
/// the columns that other threads optimize: the size of the cache affects the time, not the result.
template <class F>
void in_groups(Expansion& expansion, std::span<const std::int64_t> slots, F&& work) {
  const std::size_t at_once = std::min(static_cast<std::size_t>(std::max(1, expansion.threads())), expansion.columns());
  const std::size_t room = std::max<std::size_t>(2, expansion.kernel().cache().room_for(expansion.size()) / at_once);
  for (std::size_t first = 0; first < slots.size(); first += room)
    work(first, expansion.hold(slots.subspan(first, std::min(room, slots.size() - first))));
}

/// The most slots in the next working set of a column.
std::size_t working_set_size(const Expansion& expansion, std::size_t c) {
  if (!expansion.rows().worth_computing_again()) return kWorkingSet;
  const std::uint8_t* gate = expansion.column(c).gate.data();
  const auto free = static_cast<std::size_t>(std::count(gate, gate + expansion.size(), kMayRise | kMayFall));
  return std::clamp(free + free / 2, kWorkingSet, kLargestSet);
}

/// The kernel matrix of the working set, on and below the diagonal.
void read_kernel(Expansion& expansion, std::span<const std::int64_t> set, Local& local) {
  if (!expansion.rows().costly()) {
    std::vector<float*> lines(set.size());
    for (std::size_t a = 0; a < set.size(); ++a) lines[a] = local.kernel.row(a);
    expansion.kernel().evaluate_among(set, lines.data());
    return;
  }
  in_groups(expansion, set, [&](std::size_t first, const HeldRows& rows) {
    for (std::size_t a = first; a < first + rows.size(); ++a)
      for (std::size_t b = 0; b <= a; ++b) local.kernel.row(a)[b] = rows[a - first][static_cast<std::size_t>(set[b])];
  });
}

}  // namespace

PairStep pair_step(double slope, double curvature, Travel up, Travel down) {
  const double room_up = up.bound - up.alpha, room_down = down.alpha - down.bound;
  double length = std::min(room_up, room_down);
  if (curvature > 1e-12) length = std::min(length, slope / curvature);
  return {length, length == room_up ? up.bound : up.alpha + length,
          length == room_down ? down.bound : down.alpha - length};
}

double single_step(const Single& i) {
  const double bound = i.g < 0 ? i.lower : i.upper;
  if (i.g == 0 || i.alpha == bound) return i.alpha;
  const double room = bound - i.alpha;
  return i.curvature > 1e-12 && std::abs(i.g / i.curvature) < std::abs(room) ? i.alpha + i.g / i.curvature : bound;
}

std::pair<double, double> joint_step(const Single& i, const Single& j, double kij) {
  const double det = i.curvature * j.curvature - kij * kij;
  if (i.curvature > 0 && det > 1e-9 * i.curvature) {  // a maximum, not a saddle
    const double to_i = i.alpha + (i.g * j.curvature - j.g * kij) / det;
    const double to_j = j.alpha + (j.g * i.curvature - i.g * kij) / det;
    if (to_i >= i.lower && to_i <= i.upper && to_j >= j.lower && to_j <= j.upper) return {to_i, to_j};
  }
  const double to_i = single_step(i);
  Single later = j;
  later.g -= (to_i - i.alpha) * kij;
  return {to_i, single_step(later)};
}

namespace {

Single single(const Expansion& expansion, std::size_t c, std::size_t s) {
  const Column& column = expansion.column(c);
  return {column.g[s], expansion.diagonal(s), column.alpha[s], expansion.lower(c, s), expansion.upper(c, s)};
}

}  // namespace

bool step_alone(Expansion& expansion, std::size_t c, std::size_t slot, Follow follow) {
  const double from = expansion.column(c).alpha[slot], to = single_step(single(expansion, c, slot));
  if (to == from) return false;
  const HeldRow row = expansion.hold(slot);
  const Move move{row.view(), to - from};
  expansion.set_alpha(c, slot, to);
  follow({&move, 1});
  return true;
}

bool step_with_partner(Expansion& expansion, std::size_t c, std::size_t slot, Follow follow) {
  const Single i = single(expansion, c, slot);
  const HeldRow ki = expansion.hold(slot);
  const std::int64_t found = expansion.partner(c, ki, pivot(slot, i)).slot;
  const auto other = static_cast<std::size_t>(found);
  double to_i = single_step(i), from_j = 0, to_j = 0;
  if (found >= 0) {
    const Single j = single(expansion, c, other);
    std::tie(to_i, to_j) = joint_step(i, j, ki[other]);
    from_j = j.alpha;
  }
  const bool both = to_j != from_j;
  const HeldRow kj = both ? expansion.hold(other) : HeldRow();
  const Move moves[2] = {{ki.view(), to_i - i.alpha}, {kj.view(), to_j - from_j}};
  expansion.set_alpha(c, slot, to_i);
  if (both) expansion.set_alpha(c, other, to_j);
  follow(std::span(moves, both ? 2 : 1));
  return both || to_i != i.alpha;
}

double violation(const Extremes& ends, Bias bias) {
  constexpr double kNone = 0;
  if (bias == Bias::free) return ends.up < 0 || ends.down < 0 ? kNone : ends.high - ends.low;
  return std::max({kNone, ends.up < 0 ? kNone : ends.high, ends.down < 0 ? kNone : -ends.low});
}

void move_to(Expansion& expansion, std::size_t c, std::span<const std::int64_t> slots, std::span<const double> alpha) {
  Column& column = expansion.column(c);
  std::vector<double> moves(slots.size());
  for (std::size_t a = 0; a < slots.size(); ++a) moves[a] = alpha[a] - column.alpha[static_cast<std::size_t>(slots[a])];
  const AlignedVector<double> before = column.g;
  try {
    if (slots.size() > kFew && expansion.rows().worth_computing_again() && !expansion.kernel().knows_most(slots)) {
      expansion.descend(c, slots, moves);
    } else {
      in_groups(expansion, slots, [&](std::size_t first, const HeldRows& rows) {
        expansion.descend(c, rows.views(), std::span(moves).subspan(first, rows.size()));
      });
    }
  } catch (...) {
    std::copy(before.begin(), before.end(), column.g.begin());
    throw;
  }
  for (std::size_t a = 0; a < slots.size(); ++a) expansion.set_alpha(c, static_cast<std::size_t>(slots[a]), alpha[a]);
}

bool optimize(Expansion& expansion, std::size_t c, Bias bias, double tau, std::size_t rounds, std::int64_t& steps) {
  Column& column = expansion.column(c);
  std::vector<std::int64_t> set, movers;
  std::vector<double> targets;
  Chooser chooser;
  for (std::size_t round = 0;; round += 1 + set.size() / (4 * kWorkingSet)) {
    const double worst = violation(column.ends, bias);
    if (worst <= tau) return true;
    if (round >= rounds) return false;
    set = chooser.choose(expansion, c, bias, tau, working_set_size(expansion, c), set);

    Local local(set.size());
    read_kernel(expansion, set, local);
    local.mirror(expansion.threads());
    for (std::size_t a = 0; a < set.size(); ++a) {
      const auto s = static_cast<std::size_t>(set[a]);
      local.take(expansion, c, s, a);
      local.inverse[a] = expansion.inverse_diagonal(s);
    }
    const double tolerance = std::max(tau * 0.5, kInnerFraction * worst);
    const std::size_t most = 100 * set.size();
    steps += static_cast<std::int64_t>(
        bias == Bias::free ? local.solve_pairs([&](std::size_t a) { return local.row(a); }, tolerance, most)
                           : local.solve_without_bias(tolerance, most));

    movers.clear(), targets.clear();
    for (std::size_t a = 0; a < set.size(); ++a) {
      if (local.alpha[a] == column.alpha[static_cast<std::size_t>(set[a])]) continue;
      movers.push_back(set[a]);
      targets.push_back(local.alpha[a]);
    }
    if (movers.empty()) return true;  // the tolerance is below rounding
    move_to(expansion, c, movers, targets);
    column.ends = expansion.scan(c);
  }
}

bool optimize_live(Expansion& expansion, Bias bias, double tau, std::size_t rounds, std::int64_t& steps) {
  std::vector<std::int64_t> taken(expansion.columns(), 0);
  std::vector<std::uint8_t> done(expansion.columns(), 1);
  expansion.each_column([&](std::size_t c) {
    if (expansion.column(c).live) done[c] = optimize(expansion, c, bias, tau, rounds, taken[c]);
  });
  steps = std::accumulate(taken.begin(), taken.end(), steps);
  return std::find(done.begin(), done.end(), 0) == done.end();
}

}  // namespace everlearn
