#include "expansion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "threads.hpp"

namespace everlearn {

/// Cached rows are completed once this many rows have been added, not at each of them.
constexpr std::size_t kSweepAfter = 16;

Expansion::Expansion(std::unique_ptr<Rows> rows, std::size_t columns, std::size_t cache_bytes)
    : rows_(std::move(rows)), cache_(cache_bytes), columns_(columns) {}

std::int64_t Expansion::find(std::int64_t id) const {
  const auto at = slot_of_.find(id);
  return at == slot_of_.end() ? -1 : at->second;
}

void Expansion::resize(std::size_t n) {
  ids_.resize(n);
  labels_.resize(n);
  costs_.resize(n);
  uses_.resize(n, 0);
  const std::size_t padded = round_up(n, kPad);
  diagonal_.resize(padded, 0.0f);
  for (Column& column : columns_) {
    column.alpha.resize(padded, 0.0);
    column.g.resize(padded, 0.0);
    column.gate.resize(padded, 0);
    column.member.resize(padded, 0);
    column.is_idle.resize(padded, 0);
  }
}

void Expansion::name_slot(std::size_t s, const Arrivals& arrivals, std::size_t r) {
  ids_[s] = arrivals.ids[r];
  labels_[s] = arrivals.labels[r];
  costs_[s] = arrivals.costs[r];
  uses_[s] = 0;
  slot_of_[ids_[s]] = static_cast<std::int64_t>(s);
}

void Expansion::evaluate(const Batch& batch, std::size_t count, float* const* out) {
  // Threads share out the kept rows: each needs the whole batch, but only its part of the store.
  parallel_ranges(count * rows_->size() < 20000 ? 1 : threads_, rows_->size(), kPad,
                  [&](std::size_t begin, std::size_t end) {
                    rows_->evaluate(batch, 0, count, begin, end, out);
                  });
  evaluations_ += count * rows_->size();
}

void Expansion::open_block(const Batch& batch, const Arrivals& arrivals) {
  if (open_) throw std::logic_error("a block is open already");
  const std::size_t count = arrivals.ids.size();
  block_begin_ = size();
  const std::size_t n = block_begin_ + count;
  rows_->append(batch);
  resize(n);
  block_stride_ = round_up(n, kPad);
  block_.resize(std::max(block_.size(), count * block_stride_));
  std::vector<float*> out(count);
  for (std::size_t r = 0; r < count; ++r) out[r] = block_.data() + r * block_stride_;
  if (arrivals.kernel != nullptr) {
    for (std::size_t r = 0; r < count; ++r) std::copy_n(arrivals.kernel[r], block_begin_, out[r]);
    rows_->evaluate(batch, 0, count, block_begin_, n, out.data());
    evaluations_ += count * count;
  } else {
    evaluate(batch, count, out.data());
  }
  open_ = true;
  for (std::size_t r = 0; r < count; ++r) {
    const std::size_t s = block_begin_ + r;
    std::fill(out[r] + n, out[r] + block_stride_, 0.0f);
    name_slot(s, arrivals, r);
    diagonal_[s] = out[r][s];
  }
  for (std::size_t r = 0; r < count; ++r)
    if (!std::isfinite(diagonal_[block_begin_ + r])) {
      const std::int64_t id = ids_[block_begin_ + r];
      keep_slots(block_begin_, {});
      open_ = false;
      throw std::overflow_error("the kernel of row " + std::to_string(id) +
                                " with itself is not a finite number: scale the features, or choose a smaller "
                                "gamma, coef0 or degree");
    }
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    Column& column = columns_[c];
    parallel_ranges(count * n < 200000 ? 1 : threads_, count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) {
        const std::size_t s = block_begin_ + r;
        column.g[s] = sign(c, s);
        if (column.live) column.g[s] -= loops().dot(out[r], column.alpha.data(), block_begin_);
      }
    });
  }
}

std::vector<std::int64_t> Expansion::used_from(std::size_t from) const {
  std::vector<std::int64_t> used;
  for (std::size_t s = from; s < size(); ++s)
    if (uses_[s] > 0) used.push_back(static_cast<std::int64_t>(s));
  return used;
}

void Expansion::close_block(bool keep_all) {
  const std::size_t old = block_begin_;
  std::vector<std::int64_t> kept;
  if (keep_all) {
    for (std::size_t s = old; s < size(); ++s) kept.push_back(static_cast<std::int64_t>(s));
  } else {
    kept = used_from(old);
  }
  const std::size_t n = old + kept.size();
  keep_slots(old, kept);
  for (std::size_t t = 0; t < kept.size(); ++t) {
    const float* source = block_.data() + (static_cast<std::size_t>(kept[t]) - old) * block_stride_;
    RowCache::Entry& entry = cache_.touch(static_cast<std::int64_t>(old + t), n, 0);
    std::copy_n(source, old, entry.values.get());
    for (std::size_t u = 0; u < kept.size(); ++u) entry.values[old + u] = source[kept[u]];
    entry.valid = n;
  }
  open_ = false;
  if (n >= extended_ + kSweepAfter) {
    cache_.extend(n);
    extended_ = n;
  }
  const auto unused = static_cast<std::size_t>(std::count(uses_.begin(), uses_.end(), 0));
  if (!keep_all && unused > 64 + size() / 8) compact();
}

void Expansion::compact() {
  std::size_t first = 0;
  while (first < size() && uses_[first] > 0) ++first;
  keep_slots(first, used_from(first));
  extended_ = std::min(extended_, size());
}

void Expansion::keep_slots(std::size_t from, const std::vector<std::int64_t>& kept) {
  if (from + kept.size() == size()) return;
  for (std::size_t s = from; s < size(); ++s) slot_of_.erase(ids_[s]);
  rows_->keep(from, kept);
  cache_.keep(from, kept);
  const auto squeeze = [&](auto& values) {
    for (std::size_t t = 0; t < kept.size(); ++t) values[from + t] = values[static_cast<std::size_t>(kept[t])];
    std::fill(values.begin() + static_cast<std::ptrdiff_t>(from + kept.size()), values.end(), 0);
  };
  squeeze(ids_);
  squeeze(labels_);
  squeeze(costs_);
  squeeze(uses_);
  squeeze(diagonal_);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    Column& column = columns_[c];
    squeeze(column.alpha);
    squeeze(column.g);
    squeeze(column.gate);
    squeeze(column.member);
    std::erase_if(column.idle, [&](std::int64_t s) { return static_cast<std::size_t>(s) >= from; });
    squeeze(column.is_idle);
    for (std::size_t s = from; s < from + kept.size(); ++s)
      if (column.is_idle[s]) column.idle.push_back(static_cast<std::int64_t>(s));
    const auto renamed = [&](std::int64_t slot) -> std::int64_t {
      if (slot < static_cast<std::int64_t>(from)) return slot;
      const auto at = std::lower_bound(kept.begin(), kept.end(), slot);
      if (at == kept.end() || *at != slot) throw std::logic_error("a slot in use was dropped");
      return static_cast<std::int64_t>(from) + (at - kept.begin());
    };
    if (column.live) {
      column.ends.up = renamed(column.ends.up);
      column.ends.down = renamed(column.ends.down);
    }
  }
  resize(from + kept.size());
  for (std::size_t s = from; s < size(); ++s) slot_of_[ids_[s]] = static_cast<std::int64_t>(s);
}

void Expansion::fill(RowCache::Entry& entry) {
  const std::size_t old = open_ ? block_begin_ : size();
  if (entry.valid < old) {
    const std::int64_t slot = entry.slot;
    float* out = entry.values.get();
    rows_->evaluate(*rows_->take_kept({&slot, 1}), 0, 1, entry.valid, old, &out);
    evaluations_ += old - entry.valid;
    entry.valid = old;
  }
  for (; entry.valid < size(); ++entry.valid)
    entry.values[entry.valid] = block_[(entry.valid - old) * block_stride_ + static_cast<std::size_t>(entry.slot)];
}

const float* Expansion::row(std::int64_t slot) {
  const auto s = static_cast<std::size_t>(slot);
  if (open_ && s >= block_begin_) return block_.data() + (s - block_begin_) * block_stride_;
  RowCache::Entry& entry = cache_.touch(slot, size(), 1);
  if (entry.valid < size()) fill(entry);
  return entry.values.get();
}

std::vector<const float*> Expansion::rows_of(std::span<const std::int64_t> slots) {
  std::vector<const float*> found(slots.size());
  std::vector<std::int64_t> missing;
  std::vector<float*> out;
  for (std::size_t r = 0; r < slots.size(); ++r) {
    RowCache::Entry& entry = cache_.touch(slots[r], size(), r);
    found[r] = entry.values.get();
    if (entry.valid == 0) {
      missing.push_back(slots[r]);
      out.push_back(entry.values.get());
      entry.valid = size();
    } else if (entry.valid < size()) {
      fill(entry);
    }
  }
  if (!missing.empty()) evaluate(*rows_->take_kept(missing), missing.size(), out.data());
  return found;
}

void Expansion::join(std::size_t c, std::size_t s) {
  Column& column = columns_[c];
  if (column.member[s]) return;
  column.member[s] = 1;
  ++uses_[s];
  set_alpha(c, s, 0.0);
}

void Expansion::leave(std::size_t c, std::size_t s) {
  Column& column = columns_[c];
  column.member[s] = 0;
  column.gate[s] = 0;
  column.is_idle[s] = 0;
  --uses_[s];
}

void Expansion::set_alpha(std::size_t c, std::size_t s, double alpha) {
  Column& column = columns_[c];
  column.alpha[s] = alpha;
  column.gate[s] = static_cast<std::uint8_t>((alpha < upper(c, s) ? kMayRise : 0) | (alpha > lower(c, s) ? kMayFall : 0));
  if (alpha == 0.0 && !column.is_idle[s]) {
    column.is_idle[s] = 1;
    column.idle.push_back(static_cast<std::int64_t>(s));
  }
}

Extremes Expansion::scan(std::size_t c) const {
  return loops().scan(columns_[c].g.data(), columns_[c].gate.data(), size());
}

void Expansion::restore(const Batch& batch, const Arrivals& arrivals, std::span<const float> diagonal) {
  rows_->append(batch);
  resize(arrivals.ids.size());
  for (std::size_t s = 0; s < size(); ++s) {
    name_slot(s, arrivals, s);
    diagonal_[s] = diagonal[s];
  }
}

void Expansion::restore_column(std::size_t c, std::span<const double> alpha, std::span<const double> g,
                               std::span<const std::uint8_t> member, double bias, double delta, bool live) {
  Column& column = columns_[c];
  std::copy(g.begin(), g.end(), column.g.begin());
  for (std::size_t s = 0; s < size(); ++s)
    if (member[s]) {
      join(c, s);
      column.is_idle[s] = 0;
      set_alpha(c, s, alpha[s]);
    }
  column.bias = bias;
  column.delta = delta;
  column.live = live;
  column.ends = scan(c);
}

void Expansion::restore_row(std::size_t slot, std::span<const float> values) {
  RowCache::Entry& entry = cache_.touch(static_cast<std::int64_t>(slot), values.size(), 0);
  std::copy(values.begin(), values.end(), entry.values.get());
  entry.valid = values.size();
}

void Expansion::decide(const Block& block, double* out) const {
  constexpr std::size_t kRows = 64, kSlots = 1024;
  const std::size_t n = size(), k = columns_.size();
  parallel_ranges(block.rows * n < 50000 ? 1 : threads_, block.rows, kRows, [&](std::size_t begin, std::size_t end) {
    std::vector<float> values(kRows * kSlots);
    std::vector<float*> rows(kRows);
    std::vector<std::int64_t> which;
    for (std::size_t r0 = begin; r0 < end; r0 += kRows) {
      const std::size_t count = std::min(kRows, end - r0);
      which.clear();
      for (std::size_t r = r0; r < r0 + count; ++r) which.push_back(static_cast<std::int64_t>(r));
      const auto batch = rows_->take(block, which);
      for (std::size_t r = r0; r < r0 + count; ++r)
        for (std::size_t c = 0; c < k; ++c) out[r * k + c] = columns_[c].bias;
      for (std::size_t s0 = 0; s0 < n; s0 += kSlots) {
        const std::size_t s1 = std::min(s0 + kSlots, n);
        for (std::size_t r = 0; r < count; ++r) rows[r] = values.data() + r * kSlots - s0;
        rows_->evaluate(*batch, 0, count, s0, s1, rows.data());
        for (std::size_t r = 0; r < count; ++r)
          for (std::size_t c = 0; c < k; ++c)
            out[(r0 + r) * k + c] += loops().dot(values.data() + r * kSlots, columns_[c].alpha.data() + s0, s1 - s0);
      }
    }
  });
}

}  // namespace everlearn
