#include "expansion.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <stdexcept>
#include <string>

#include "threads.hpp"

namespace everlearn {
namespace {

std::vector<std::int64_t> flagged(const std::vector<std::uint8_t>& flags, std::size_t from) {
  std::vector<std::int64_t> slots;
  for (std::size_t s = from; s < flags.size(); ++s)
    if (flags[s]) slots.push_back(static_cast<std::int64_t>(s));
  return slots;
}

}  // namespace

Expansion::Expansion(std::unique_ptr<Rows> rows, std::size_t columns, std::size_t cache_bytes)
    : rows_(std::move(rows)), kernel_(*rows_, cache_bytes), columns_(columns), reserve_(*rows_) {}

// -------------------------------------------------------------------------------------------------------------- slots

/// Gives all vectors the length for n slots. If memory runs out, truncate() puts the old lengths back.
void Expansion::resize(std::size_t n) {
  ids_.resize(n);
  labels_.resize(n);
  costs_.resize(n);
  const std::size_t padded = round_up(n, kPad);
  diagonal_.resize(padded, 0.0f);
  inverse_.resize(padded, 0.0f);
  for (Column& column : columns_) {
    column.alpha.resize(padded, 0.0);
    column.g.resize(padded, 0.0);
    column.edge.resize(padded, 0.0);
    column.gate.resize(padded, 0);
    column.member.resize(padded, 0);
    column.is_idle.resize(padded, 0);
    column.changed.resize(padded, 0);
    // Each slot is listed once at most, so that listing one never allocates.
    if (column.idle.capacity() < padded) column.idle.reserve(std::max(padded, 2 * column.idle.capacity()));
  }
}

/// Takes back the slots from n on, which belong to no column and are not cached; also if adding them was interrupted.
void Expansion::truncate(std::size_t n) noexcept {
  for (std::size_t s = n; s < ids_.size(); ++s)
    if (const auto at = slot_of_.find(ids_[s]); at != slot_of_.end() && at->second == static_cast<std::int64_t>(s))
      slot_of_.erase(at);
  rows_->keep(n, {});
  const auto overwrite = [n](auto& values) {
    if (values.size() > n) std::fill(values.begin() + static_cast<std::ptrdiff_t>(n), values.end(), 0);
  };
  overwrite(ids_), overwrite(labels_), overwrite(costs_), overwrite(diagonal_), overwrite(inverse_);
  for (Column& column : columns_) overwrite(column.g);
  resize(n);
}

void Expansion::set_diagonal(std::size_t s, float value) {
  diagonal_[s] = value;
  inverse_[s] = value > 1e-12f ? 1.0f / value : 1e30f;
}

void Expansion::keep_slots(std::size_t from, const std::vector<std::int64_t>& kept) {
  if (from + kept.size() == size()) return;
  const auto renamed = [&](std::int64_t slot) -> std::int64_t {
    if (slot < static_cast<std::int64_t>(from)) return slot;
    const auto at = std::lower_bound(kept.begin(), kept.end(), slot);
    if (at == kept.end() || *at != slot) throw std::logic_error("a slot in use was dropped");
    return static_cast<std::int64_t>(from) + (at - kept.begin());
  };
  std::vector<Extremes> ends;
  for (const Column& column : columns_) {
    ends.push_back(column.ends);
    if (column.live) ends.back().up = renamed(column.ends.up), ends.back().down = renamed(column.ends.down);
  }
  kernel_.keep(from, kept);
  // Nothing below throws.
  rows_->keep(from, kept);
  for (std::size_t s = from, t = 0; s < size(); ++s) {
    const auto named = slot_of_.find(ids_[s]);
    const bool stays = t < kept.size() && kept[t] == static_cast<std::int64_t>(s);
    if (named != slot_of_.end() && stays) named->second = static_cast<std::int64_t>(from + t);
    if (named != slot_of_.end() && !stays) slot_of_.erase(named);
    t += stays;
  }
  const auto squeeze = [&](auto& values) {
    for (std::size_t t = 0; t < kept.size(); ++t) values[from + t] = values[static_cast<std::size_t>(kept[t])];
    std::fill(values.begin() + static_cast<std::ptrdiff_t>(from + kept.size()), values.end(), 0);
  };
  squeeze(ids_);
  squeeze(labels_);
  squeeze(costs_);
  squeeze(diagonal_);
  squeeze(inverse_);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    Column& column = columns_[c];
    squeeze(column.alpha);
    squeeze(column.g);
    squeeze(column.edge);
    squeeze(column.gate);
    squeeze(column.member);
    squeeze(column.changed);
    std::erase_if(column.idle, [&](std::int64_t s) { return static_cast<std::size_t>(s) >= from; });
    squeeze(column.is_idle);
    for (std::size_t s = from; s < from + kept.size(); ++s)
      if (column.is_idle[s]) column.idle.push_back(static_cast<std::int64_t>(s));
    column.ends = ends[c];
  }
  resize(from + kept.size());
}

// --------------------------------------------------------------------------------------------------------------- rows

std::int64_t Expansion::find(std::int64_t id) const {
  const auto at = slot_of_.find(id);
  return at == slot_of_.end() ? -1 : at->second;
}

std::vector<std::uint8_t> Expansion::flags_of(std::span<const std::int64_t> ids) const {
  std::vector<std::uint8_t> flags(size(), 0);
  for (const auto id : ids) {
    const std::int64_t slot = find(id);
    if (slot >= 0) flags[static_cast<std::size_t>(slot)] = 1;
    else if (!reserve_.has(id)) throw std::invalid_argument("row " + std::to_string(id) + " is not kept");
  }
  return flags;
}

/// Which slots are members of some column.
std::vector<std::uint8_t> Expansion::used() const {
  std::vector<std::uint8_t> any(size(), 0);
  for (const Column& column : columns_)
    for (std::size_t s = 0; s < any.size(); ++s) any[s] |= column.member[s];
  return any;
}

std::size_t Expansion::kept() const {
  const std::vector<std::uint8_t> any = used();
  return static_cast<std::size_t>(std::count(any.begin(), any.end(), 1));
}

std::vector<std::uint8_t> Expansion::kept_flags() const {
  std::vector<std::uint8_t> kept = used();
  if (!any_live())
    for (std::size_t s = 0; s < kept.size(); ++s) kept[s] = ids_[s] != kNoId;
  return kept;
}

void Expansion::drop_lingering(std::span<const std::int64_t> ids) {
  std::vector<std::uint8_t> kept, gone;
  for (const auto id : ids) {
    const std::int64_t slot = find(id);
    if (slot < 0) continue;
    if (gone.empty()) kept = kept_flags(), gone.resize(size(), 0);
    gone[static_cast<std::size_t>(slot)] = !kept[static_cast<std::size_t>(slot)];
  }
  if (!gone.empty()) drop(gone);
}

std::vector<std::int64_t> Expansion::compact() {
  std::vector<std::uint8_t> gone = used();
  for (auto& flag : gone) flag = !flag;
  return drop(gone, false);
}

std::vector<std::int64_t> Expansion::drop(const std::vector<std::uint8_t>& gone) { return drop(gone, true); }

std::vector<std::int64_t> Expansion::drop(const std::vector<std::uint8_t>& gone, bool for_good) {
  std::vector<std::uint8_t> stays(gone.size());
  std::transform(gone.begin(), gone.end(), stays.begin(), [](std::uint8_t flag) { return !flag; });
  const auto first = static_cast<std::size_t>(std::find(stays.begin(), stays.end(), 0) - stays.begin());
  std::vector<std::int64_t> all = flagged(stays, 0);
  const std::vector<std::int64_t> kept = flagged(stays, first);
  if (!for_good) reserve_dropped(first, kept);
  keep_slots(first, kept);
  return all;
}

void Expansion::wipe(std::size_t s) {
  for (std::size_t c = 0; c < columns(); ++c) leave(c, s);
  rows_->wipe(s);
  slot_of_.erase(ids_[s]);
  ids_[s] = kNoId;
}

void Expansion::erase(const std::vector<std::uint8_t>& gone, std::span<const std::int64_t> ids) {
  for (std::size_t c = 0; c < columns(); ++c) {
    for (std::size_t s = 0; s < gone.size(); ++s)
      if (gone[s]) leave(c, s);
    columns_[c].ends = scan(c);
  }
  reserve_.erase(ids);
  drop(gone);
  if (any_live()) compact();  // rows that wait for a second class are members of nothing
}

void Expansion::relabel(std::size_t s, std::int32_t label, double cost) {
  labels_[s] = label;
  costs_[s] = cost;
}

// ------------------------------------------------------------------------------------------------------------- blocks

/// Appends rows with their ids, labels and costs; compute() then fills in what is computed. Takes the rows back if one
/// of these steps fails, or if the kernel of a row with itself is not finite.
void Expansion::add_slots(const Batch& batch, const Arrivals& arrivals, FunctionRef<void()> compute) {
  const std::size_t begin = size(), count = arrivals.ids.size();
  try {
    rows_->append(batch);
    resize(begin + count);
    for (std::size_t r = 0; r < count; ++r) {
      const std::size_t s = begin + r;
      ids_[s] = arrivals.ids[r];
      labels_[s] = arrivals.labels[r];
      costs_[s] = arrivals.costs[r];
      slot_of_[ids_[s]] = static_cast<std::int64_t>(s);
    }
    compute();
    for (std::size_t s = begin; s < size(); ++s)
      if (!std::isfinite(diagonal_[s]))
        throw std::invalid_argument("the kernel of row " + std::to_string(ids_[s]) +
                                    " with itself is not a finite number: scale the features, or choose a smaller "
                                    "gamma, coef0 or degree");
    reserve_.erase(arrivals.ids);
  } catch (...) {
    if (kernel_.block_is_open()) kernel_.drop_block();
    truncate(begin);
    throw;
  }
}

void Expansion::open_block(const Batch& batch, const Arrivals& arrivals) {
  if (kernel_.block_is_open()) throw std::logic_error("a block is open already");
  const std::size_t begin = size(), count = arrivals.ids.size();
  add_slots(batch, arrivals, [&] {
    kernel_.open_block(batch, count, arrivals.kernel);
    for (std::size_t s = begin; s < size(); ++s) set_diagonal(s, kernel_.hold(s)[s]);
    const std::size_t work = count * size() * columns_.size();
    constexpr std::size_t kRows = 8;  // stay in the second-level cache while all columns pass over them
    parallel_ranges(work < kWorthThreads ? 1 : threads(), count, kRows, [&](std::size_t first, std::size_t last) {
      for (std::size_t at = begin + first; at < begin + last; at += kRows)
        for (std::size_t c = 0; c < columns_.size(); ++c) {
          Column& column = columns_[c];
          for (std::size_t s = at; s < std::min(at + kRows, begin + last); ++s) {
            column.g[s] = sign(c, s);
            if (column.live) column.g[s] -= kernel_.block_product(s, column.alpha.data());
          }
        }
    });
  });
}

void Expansion::append(const Batch& batch, const Arrivals& arrivals, std::span<const double> sums) {
  const std::size_t begin = size(), count = arrivals.ids.size();
  add_slots(batch, arrivals, [&] {
    for (std::size_t r = 0; r < count; ++r) {
      const std::size_t s = begin + r;
      float own = 0;
      float* const out = &own - s;
      rows_->evaluate(batch, r, r + 1, s, s + 1, &out);
      set_diagonal(s, own);
      for (std::size_t c = 0; c < columns_.size(); ++c)
        columns_[c].g[s] = sign(c, s) - (sums.empty() ? 0.0 : sums[r * columns_.size() + c]);
    }
    kernel_.count_evaluations(count);
  });
}

void Expansion::close_block(bool keep_all) {
  const std::size_t old = kernel_.block_begin();
  std::size_t unused = 0;
  try {
    std::vector<std::uint8_t> stays = used();
    if (keep_all) std::fill(stays.begin(), stays.end(), 1);
    const std::vector<std::int64_t> kept = flagged(stays, old);
    reserve_dropped(old, kept);
    keep_slots(old, kept);
    kernel_.cache_block(kept);
    unused = static_cast<std::size_t>(std::count(stays.begin(), stays.begin() + static_cast<std::ptrdiff_t>(old), 0));
  } catch (const std::bad_alloc&) {
  }
  kernel_.end_block();
  if (unused <= 64 + size() / 8) return;
  try {
    compact();
  } catch (const std::bad_alloc&) {
  }
}

void Expansion::abandon_block() noexcept {
  if (!kernel_.block_is_open()) return;
  const std::size_t old = kernel_.block_begin();
  kernel_.end_block();
  try {
    keep_slots(old, flagged(used(), old));
  } catch (const std::exception&) {
  }
}

// -------------------------------------------------------------------------------------------------------- saved state

void Expansion::restore(const Batch& batch, const Arrivals& arrivals, std::span<const float> diagonal) {
  add_slots(batch, arrivals, [&] {
    for (std::size_t s = 0; s < size(); ++s) set_diagonal(s, diagonal[s]);
  });
}

void Expansion::restore_column(std::size_t c, std::span<const double> alpha, std::span<const double> g,
                               std::span<const double> edge, std::span<const std::uint8_t> member, double bias,
                               double delta, bool live) {
  Column& column = columns_[c];
  std::copy(g.begin(), g.end(), column.g.begin());
  for (std::size_t s = 0; s < size(); ++s)
    if (member[s]) {
      column.member[s] = 1;
      column.edge[s] = edge[s];
      set_alpha(c, s, alpha[s]);
    }
  column.bias = bias;
  column.delta = delta;
  column.live = live;
  column.ends = scan(c);
}

}  // namespace everlearn
