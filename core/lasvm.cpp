#include "lasvm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "working_set.hpp"

namespace everlearn {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace

/// Which classes of a column, positive and negative, have been seen.
std::pair<bool, bool> Lasvm::classes_seen(std::size_t c) const {
  const bool positive = seen_[expansion_.columns() == 1 ? 1 : c] != 0;
  return {positive, std::count(seen_.begin(), seen_.end(), 1) > (positive ? 1 : 0)};
}

/// Until both classes have been seen, a column predicts the only one it knows.
void Lasvm::predict_only_class(std::size_t c, bool positive) {
  expansion_.column(c).bias = positive ? 1.0 : -1.0;
  expansion_.column(c).delta = kInf;
}

void Lasvm::activate(std::size_t c, std::size_t taken) {
  Column& column = expansion_.column(c);
  column.live = true;
  for (std::size_t s = 0; s < taken; ++s) expansion_.join(c, s);
  column.ends = expansion_.scan(c);
  drop_stuck(c);
}

void Lasvm::join_seeds(const LabeledRows& rows, std::span<const std::int64_t> which) {
  for (const auto row : which) seen_[static_cast<std::size_t>(rows.labels[static_cast<std::size_t>(row)])] = 1;
  for (std::size_t c = 0; c < expansion_.columns(); ++c) {
    const auto [positive, negative] = classes_seen(c);
    if (positive && negative) activate(c, expansion_.size());
    else predict_only_class(c, positive);
  }
  iterations_ += static_cast<std::int64_t>(which.size());
}

void Lasvm::seed(const LabeledRows& rows, std::span<const std::int64_t> which) {
  constexpr std::size_t kTogether = 256;  // so many kernel rows are computed at once, beside the cache
  for (std::size_t first = 0; first < which.size(); first += kTogether) {
    const auto some = which.subspan(first, std::min(kTogether, which.size() - first));
    in_one_turn(expansion_, rows, some, nullptr, [&] {
      join_seeds(rows, some);
      return true;
    });
  }
}

void Lasvm::seed(const LabeledRows& rows, std::span<const std::int64_t> which, std::span<const double> scores) {
  if (expansion_.rows().costly()) {  // most kernel values will be needed, and computing them together is faster
    seed(rows, which);
    return;
  }
  const std::size_t columns = expansion_.columns();
  std::vector<double> sums;
  for (const auto row : which) {
    const auto line = scores.subspan(static_cast<std::size_t>(row) * columns, columns);
    sums.insert(sums.end(), line.begin(), line.end());
  }
  expansion_.append(*expansion_.rows().take(rows.block, which, rows.as_stored), Arrived(rows, which), sums);
  join_seeds(rows, which);
}

void Lasvm::learn(const LabeledRows& rows, std::span<const std::int64_t> which) {
  try {
    in_turns(expansion_, rows, which, [&](const Turn& turn) { return learn_turn(turn); });
  } catch (...) {
    recover();
    throw;
  }
}

/// Restores what follows from the coefficients after a step could not be made.
void Lasvm::recover() {
  for (std::size_t c = 0; c < expansion_.columns(); ++c) {
    Column& column = expansion_.column(c);
    if (!column.live) continue;
    column.ends = expansion_.scan(c);
    update_bias(c);
    for (std::size_t s = 0; s < expansion_.size(); ++s)
      if (column.member[s]) seen_[static_cast<std::size_t>(expansion_.label(s))] = 1;
  }
}

bool Lasvm::learn_turn(const Turn& turn) {
  expansion_.each_column([&](std::size_t c) { learn_turn(c, turn); });
  for (const auto slot : turn.slots)
    seen_[static_cast<std::size_t>(expansion_.label(static_cast<std::size_t>(slot)))] = 1;
  iterations_ += static_cast<std::int64_t>(turn.slots.size());
  return !expansion_.any_live();
}

/// A column becomes live when both of its classes have been seen; the rows that have arrived until then join it.
void Lasvm::learn_turn(std::size_t c, const Turn& turn) {
  Column& column = expansion_.column(c);
  auto [positive, negative] = classes_seen(c);
  std::size_t taken = turn.fresh;
  for (const auto at : turn.slots) {
    const auto slot = static_cast<std::size_t>(at);
    (expansion_.sign(c, slot) > 0 ? positive : negative) = true;
    if (positive && negative && !column.live) activate(c, taken);
    taken = std::max(taken, slot + 1);
    if (column.live) {
      process(c, slot);
      while (reprocess(c) && delta_max >= 0 && column.delta > delta_max) {
      }
    } else {
      predict_only_class(c, positive);
    }
  }
}

void Lasvm::process(std::size_t c, std::size_t slot) {
  Column& column = expansion_.column(c);
  if (column.member[slot]) return;
  expansion_.join(c, slot);
  Extremes& ends = column.ends;
  const auto k = static_cast<std::int64_t>(slot);
  const double g = column.g[slot];
  const bool rises = expansion_.sign(c, slot) > 0;
  const std::int64_t up = rises ? k : ends.up, down = rises ? ends.down : k;
  if (up >= 0 && down >= 0 && column.g[static_cast<std::size_t>(up)] - column.g[static_cast<std::size_t>(down)] > tau) {
    step(c, up, down);
  } else if (rises && (g > ends.high || (g == ends.high && k < ends.up))) {
    ends.high = g, ends.up = k;
  } else if (!rises && (g < ends.low || (g == ends.low && k < ends.down))) {
    ends.low = g, ends.down = k;
  }
}

bool Lasvm::reprocess(std::size_t c) {
  const Extremes& ends = expansion_.column(c).ends;
  const bool violated = ends.up >= 0 && ends.down >= 0 && ends.high - ends.low > tau;
  const bool moved = violated && step(c, ends.up, ends.down);
  drop_stuck(c);
  return moved;
}

/// lambda = min(B_i - alpha_i, alpha_j - A_j, (g_i - g_j) / (K_ii + K_jj - 2 K_ij)). False when it is too small
/// to change a coefficient.
bool Lasvm::step(std::size_t c, std::int64_t up, std::int64_t down) {
  Column& column = expansion_.column(c);
  const auto i = static_cast<std::size_t>(up), j = static_cast<std::size_t>(down);
  const HeldRow ki = expansion_.hold(up), kj = expansion_.hold(down);
  const PairStep pair =
      pair_step(column.g[i] - column.g[j], expansion_.diagonal(i) + expansion_.diagonal(j) - 2.0 * ki[j],
                {column.alpha[i], expansion_.upper(c, i)}, {column.alpha[j], expansion_.lower(c, j)});
  const bool moved = pair.up != column.alpha[i] || pair.down != column.alpha[j];
  expansion_.set_alpha(c, i, pair.up);
  expansion_.set_alpha(c, j, pair.down);
  column.ends = expansion_.descend_pair(c, ki, kj, pair.length);
  return moved;
}

void Lasvm::forget(std::span<const std::int64_t> ids) {
  const std::vector<std::uint8_t> gone = expansion_.flags_of(ids);
  if (ids.empty()) return;
  try {
    expansion_.each_column([&](std::size_t c) {
      for (std::size_t s = 0; s < gone.size(); ++s)
        if (gone[s] && expansion_.column(c).alpha[s] != 0) hand_over(c, s, gone);
    });
  } catch (...) {  // no row has left: coefficients have moved, and finishing moves them back
    recover();
    throw;
  }
  expansion_.erase(gone, ids);
  restart_columns();
}

/// Brings a coefficient to zero in pair steps. Each ends with the coefficient at zero or its receiver at a bound, so
/// that there are finitely many.
void Lasvm::hand_over(std::size_t c, std::size_t slot, const std::vector<std::uint8_t>& gone) {
  const Column& column = expansion_.column(c);
  const auto own = static_cast<std::int64_t>(slot);
  const HeldRow k = expansion_.hold(own);
  while (column.alpha[slot] != 0) {
    const bool falls = column.alpha[slot] > 0;
    const std::int64_t to = cheapest_receiver(c, slot, k, gone);
    if (to < 0) {  // only rounding is left: coefficients of the other sign, which sum to as much, have room
      expansion_.unlearn(c, slot);
      expansion_.column(c).ends = expansion_.scan(c);
      break;
    }
    const std::int64_t up = falls ? to : own, down = falls ? own : to;
    const auto i = static_cast<std::size_t>(up), j = static_cast<std::size_t>(down);
    const HeldRow other = expansion_.hold(to);
    // As far as the boxes allow, uphill or not.
    const PairStep pair =
        pair_step(0, 0, {column.alpha[i], expansion_.upper(c, i)}, {column.alpha[j], expansion_.lower(c, j)});
    expansion_.set_alpha(c, i, pair.up);
    expansion_.set_alpha(c, j, pair.down);
    expansion_.column(c).ends = expansion_.descend_pair(c, falls ? other : k, falls ? k : other, pair.length);
  }
}

/// The row that takes over a coefficient at the least cost. Moving a = |alpha_s| from s to j changes the dual by
/// a (+-(g_j - g_s) - a / 2 (K_ss + K_jj - 2 K_sj)), + where alpha_s is positive; rows are compared as if all of it had
/// room in the box of j. A row that is to leave, too, may only come nearer to zero. -1 if there is no room at all.
std::int64_t Lasvm::cheapest_receiver(std::size_t c, std::size_t slot, const HeldRow& k,
                                      const std::vector<std::uint8_t>& gone) const {
  const Column& column = expansion_.column(c);
  const double left = column.alpha[slot], sign = left > 0 ? 1.0 : -1.0, half = std::abs(left) / 2;
  const std::uint8_t may = left > 0 ? kMayRise : kMayFall;
  double best = -kInf;
  std::int64_t chosen = -1;
  for (std::size_t j = 0; j < expansion_.size(); ++j) {
    if (gone[j] ? column.alpha[j] * sign >= 0 : !(column.gate[j] & may)) continue;
    const double change = sign * column.g[j] - half * (expansion_.diagonal(j) - 2.0 * k[j]);
    if (chosen < 0 || change > best) best = change, chosen = static_cast<std::int64_t>(j);
  }
  return chosen;
}

/// After rows have left, the classes seen are those of the rows that stay. A column whose members are of one class
/// starts again: with rows that other columns keep or, if there are none of the other class, when one arrives.
void Lasvm::restart_columns() {
  std::fill(seen_.begin(), seen_.end(), std::uint8_t{0});
  for (std::size_t s = 0; s < expansion_.size(); ++s) seen_[static_cast<std::size_t>(expansion_.label(s))] = 1;
  for (std::size_t c = 0; c < expansion_.columns(); ++c) {
    Column& column = expansion_.column(c);
    bool above = false, below = false;
    for (std::size_t s = 0; s < expansion_.size(); ++s)
      if (column.member[s]) (expansion_.sign(c, s) > 0 ? above : below) = true;
    if (column.live && above && below) {
      update_bias(c);
      continue;
    }
    if (column.live) reset(c);
    const auto [positive, negative] = classes_seen(c);
    if (positive && negative) activate(c, expansion_.size());
    else if (positive || negative) predict_only_class(c, positive);
    else column.bias = column.delta = 0;
  }
}

/// Takes a column back to before it became live. Its coefficients have one sign, so they are zero but for rounding.
void Lasvm::reset(std::size_t c) {
  Column& column = expansion_.column(c);
  for (std::size_t s = 0; s < expansion_.size(); ++s) {
    column.g[s] = expansion_.sign(c, s);
    if (!column.member[s]) continue;
    expansion_.set_alpha(c, s, 0);
    expansion_.leave(c, s);
  }
  column.ends = expansion_.scan(c);
  column.live = false;
}

/// Sets b and delta from the extremes; returns false if there is no pair.
bool Lasvm::update_bias(std::size_t c) {
  Column& column = expansion_.column(c);
  const Extremes& ends = column.ends;
  if (ends.up < 0 || ends.down < 0) {
    column.delta = kInf;
    column.bias = ends.up >= 0 ? ends.high : (ends.down >= 0 ? ends.low : 0.0);
    return false;
  }
  column.bias = (ends.high + ends.low) / 2;
  column.delta = ends.high - ends.low;
  return true;
}

/// Sets b and delta, and drops the idle rows that no pair can move, unless all are kept. The two extremes stay even if
/// delta <= 0: without a free coefficient only they determine b.
void Lasvm::drop_stuck(std::size_t c) {
  if (!update_bias(c) || keep_idle) return;
  Column& column = expansion_.column(c);
  const Extremes ends = column.ends;
  for (const auto slot : expansion_.idle(c)) {
    const auto s = static_cast<std::size_t>(slot);
    const bool stuck = expansion_.sign(c, s) > 0 ? column.g[s] <= ends.low : column.g[s] >= ends.high;
    if (stuck && slot != ends.up && slot != ends.down) expansion_.leave(c, s);
  }
}

void Lasvm::learn_selected(const LabeledRows& rows, std::span<std::int64_t>& remaining, Selection selection,
                           std::size_t pool, std::size_t count) {
  // The thesis draws one candidate at a time until five lie in the margin; here they are drawn in groups.
  constexpr std::size_t kAutoGroup = 20, kAutoMost = 100, kAutoEnough = 5;
  std::vector<float> values;
  std::vector<float*> kernel;
  for (; count > 0 && !remaining.empty(); --count) {
    const std::size_t most = std::min(selection == Selection::autoactive ? kAutoMost : pool, remaining.size());
    const std::size_t stride = round_up(expansion_.size(), kPad);
    values.resize(std::max(values.size(), most * stride));
    kernel.resize(most);
    for (std::size_t r = 0; r < most; ++r) kernel[r] = values.data() + r * stride;
    // Candidates are drawn without replacement: they gather at the end of `remaining`.
    std::size_t drawn = 0, inside = 0;
    std::vector<double> f;            // the scores of the candidates, column by column
    std::vector<std::int64_t> among;  // those that count; autoactive may stop in the middle of a group
    const auto candidate = [&](std::size_t r) { return remaining[remaining.size() - 1 - r]; };
    while (drawn < most && (selection != Selection::autoactive || inside < kAutoEnough)) {
      const std::size_t group = selection == Selection::autoactive ? std::min(kAutoGroup, most - drawn) : most;
      std::vector<std::int64_t> which;
      for (std::size_t r = drawn; r < drawn + group; ++r) {
        std::swap(remaining[generator.below(remaining.size() - r)], remaining[remaining.size() - 1 - r]);
        which.push_back(candidate(r));
      }
      expansion_.kernel().evaluate(*expansion_.rows().take(rows.block, which), group, kernel.data() + drawn);
      for (std::size_t r = drawn; r < drawn + group; ++r) {
        if (selection == Selection::autoactive && inside == kAutoEnough) break;
        among.push_back(candidate(r));
        bool in_margin = false;
        for (std::size_t c = 0; c < expansion_.columns(); ++c) {
          const Column& column = expansion_.column(c);
          f.push_back(loops().dot(kernel[r], column.alpha.data(), expansion_.size()) + column.bias);
          in_margin |= column.live && std::abs(f.back()) < 1 + column.delta / 2;
        }
        inside += in_margin;
      }
      drawn += group;
    }
    const std::size_t best = best_candidate(rows, among, f, selection);
    const std::int64_t row = among[best];
    std::swap(remaining[remaining.size() - 1 - best], remaining.back());
    remaining = remaining.first(remaining.size() - 1);

    const std::int64_t known = expansion_.find(rows.ids[static_cast<std::size_t>(row)]);
    const std::size_t fresh = expansion_.size();
    const std::int64_t slot = known >= 0 ? known : static_cast<std::int64_t>(fresh);
    const std::span<const std::int64_t> unknown(&row, known >= 0 ? 0 : 1);
    const float* own = kernel[best];
    try {
      in_one_turn(expansion_, rows, unknown, &own, [&] { return learn_turn({{&slot, 1}, fresh}); });
    } catch (...) {
      recover();
      throw;
    }
  }
}

/// The candidate with the smallest margin; the first one drawn wins ties. Only `gradient` reads labels.
///   active, autoactive: |f|, or the gap between the two largest f_c;  gradient: y f, or f_y - max of the others.
std::size_t Lasvm::best_candidate(const LabeledRows& rows, std::span<const std::int64_t> drawn,
                                  std::span<const double> scores, Selection selection) const {
  const std::size_t columns = expansion_.columns();
  std::size_t best = 0;
  double least = kInf;
  for (std::size_t r = 0; r < drawn.size(); ++r) {
    const auto f = scores.subspan(r * columns, columns);
    const auto label = static_cast<std::size_t>(rows.labels[static_cast<std::size_t>(drawn[r])]);
    const bool gradient = selection == Selection::gradient;
    double margin;
    if (columns == 1) {
      margin = gradient ? (label == 1 ? f[0] : -f[0]) : std::abs(f[0]);
    } else {
      const std::size_t own =
          gradient ? label : static_cast<std::size_t>(std::max_element(f.begin(), f.end()) - f.begin());
      double other = -kInf;
      for (std::size_t c = 0; c < columns; ++c)
        if (c != own) other = std::max(other, f[c]);
      margin = f[own] - other;
    }
    if (margin < least) least = margin, best = r;
  }
  return best;
}

bool Lasvm::finish(std::size_t rounds) {
  const bool done = optimize_live(expansion_, Bias::free, tau, rounds, finishing_steps_);
  // Rows are dropped at the end only: one that is stuck now may be needed before the optimum is reached.
  for (std::size_t c = 0; c < expansion_.columns(); ++c)
    if (expansion_.column(c).live) done ? drop_stuck(c) : static_cast<void>(update_bias(c));
  if (done && expansion_.any_live()) expansion_.compact();  // rows that wait for a second class are members of nothing
  return done;
}

}  // namespace everlearn
