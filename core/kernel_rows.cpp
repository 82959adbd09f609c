#include "kernel_rows.hpp"

#include <algorithm>
#include <new>

#include "threads.hpp"

namespace everlearn {
namespace {

/// Cached rows that are completed at the end of a block. Measured: nearly all uses are of these.
constexpr std::size_t kRecent = 2048;
/// Where a value is cheap to compute, rows that have not been used for so long are not worth their memory. Measured on
/// a9a with a limit of 1 GB: less than half the memory in about the same time (1.99 s against 2.24 s, medians of six
/// runs that scatter by more than that).
constexpr std::size_t kUsefulRows = 6144;
/// Kernel values of a batch below which one thread computes them all.
constexpr std::size_t kSmallBatch = 20000;

}  // namespace

// ------------------------------------------------------------------------------------------------------- holding rows

/// Kernel values of the batch with the slots [begin, end), written to cached rows page by page.
void KernelRows::evaluate_pages(const Batch& batch, std::span<RowCache::Entry* const> entries, std::size_t begin,
                                std::size_t end) const {
  std::vector<float*> out(entries.size());
  for (std::size_t at = begin; at < end;) {
    const std::size_t page = at / kPage, stop = std::min(end, (page + 1) * kPage);
    for (std::size_t r = 0; r < entries.size(); ++r) out[r] = entries[r]->pages[page] - page * kPage;
    rows_.evaluate(batch, 0, entries.size(), at, stop, out.data());
    at = stop;
  }
}

/// Completes a cached row. Values for the open block come from the block. Older ones are read from the cached rows of
/// later slots, K(i, s) = K(s, i), where that is cheaper, and computed otherwise. A row that cannot be completed for
/// want of memory knows nothing any more.
void KernelRows::complete(RowCache::Entry& entry) {
  const std::size_t old = open_ ? block_begin_ : size(), slot = static_cast<std::size_t>(entry.slot);
  const bool look_up = rows_.costly() && entry.valid > slot;
  try {
    std::unique_ptr<Batch> own;
    for (std::size_t s = entry.valid; s < old;) {
      std::size_t end = old;
      if (look_up) {
        for (end = s; end < old; ++end) {
          const RowCache::Entry* younger = cache_.find(end);
          if (younger == nullptr || younger->valid <= slot) break;
          entry[end] = (*younger)[slot];
        }
        s = end;
        while (end < old && (cache_.find(end) == nullptr || cache_.find(end)->valid <= slot)) ++end;
      }
      if (s < end) {
        RowCache::Entry* const one = &entry;
        if (!own) own = rows_.take_kept({&entry.slot, 1});
        evaluate_pages(*own, {&one, 1}, s, end);
        evaluations_ += end - s;
        s = end;
      }
    }
  } catch (...) {
    entry.valid = 0;
    throw;
  }
  for (std::size_t s = std::max(entry.valid, old); s < size(); ++s) entry[s] = block_[(s - old) * block_stride_ + slot];
  entry.valid = size();
}

HeldRow KernelRows::block_row(std::size_t slot) const {
  const std::size_t pages = round_up(size(), kPage) / kPage;
  return HeldRow(RowView{block_pages_.data() + (slot - block_begin_) * pages});
}

HeldRow KernelRows::hold(std::size_t slot) {
  if (in_open_block(slot)) return block_row(slot);
  const std::lock_guard lock(mutex_);
  RowCache::Entry& entry = cache_.touch(static_cast<std::int64_t>(slot), size());
  if (entry.valid < size()) complete(entry);
  return HeldRow(*this, entry);
}

HeldRows KernelRows::hold(std::span<const std::int64_t> slots) {
  HeldRows held;  // destroyed after the lock is released if something throws
  held.reserve(slots.size());
  const std::lock_guard lock(mutex_);
  std::vector<std::int64_t> missing;
  std::vector<RowCache::Entry*> entries;
  for (const auto slot : slots) {
    if (in_open_block(static_cast<std::size_t>(slot))) {
      held.add(block_row(static_cast<std::size_t>(slot)));
      continue;
    }
    RowCache::Entry& entry = cache_.touch(slot, size());
    if (entry.valid == 0) {
      missing.push_back(slot);
      entries.push_back(&entry);
    } else if (entry.valid < size()) {
      complete(entry);
    }
    held.add(HeldRow(*this, entry));
  }
  if (missing.empty()) return held;
  const auto batch = rows_.take_kept(missing);
  const std::size_t old = open_ ? block_begin_ : size();
  parallel_ranges(missing.size() * old < kWorthThreads ? 1 : threads_, old, kPage,
                  [&](std::size_t begin, std::size_t end) { evaluate_pages(*batch, entries, begin, end); });
  evaluations_ += missing.size() * old;
  for (auto* entry : entries) {
    entry->valid = old;
    complete(*entry);
  }
  return held;
}

// ---------------------------------------------------------------------------------------------------- the open block

void KernelRows::evaluate(const Batch& batch, std::size_t count, float* const* out) {
  // Threads share the kept rows: each needs the whole batch, but only its part of the store.
  parallel_ranges(count * size() < kSmallBatch ? 1 : threads_, size(), kPad,
                  [&](std::size_t begin, std::size_t end) { rows_.evaluate(batch, 0, count, begin, end, out); });
  evaluations_ += count * size();
}

void KernelRows::open_block(const Batch& batch, std::size_t count, const float* const* known) {
  const std::size_t n = size(), begin = n - count;
  block_begin_ = begin;
  block_stride_ = round_up(n, kPad) + 16;  // an odd number of cache lines, because columns are read, too
  const std::size_t room = count * block_stride_ + kPage;  // the last row, too, is read in whole pages
  if (room > block_.size()) {
    block_.clear();  // there is nothing in it to copy
    block_.resize(room + room / 4);
  }
  std::vector<float*> out(count);
  for (std::size_t r = 0; r < count; ++r) out[r] = block_.data() + r * block_stride_;
  block_pages_.clear();
  for (std::size_t r = 0; r < count; ++r)
    for (std::size_t at = 0; at < n; at += kPage) block_pages_.push_back(out[r] + at);
  cache_.set_max_rows(rows_.costly() ? ~std::size_t{0} : kUsefulRows);
  open_ = true;
  block_used_ = count * block_stride_;
  try {
    if (known != nullptr) {
      for (std::size_t r = 0; r < count; ++r) std::copy_n(known[r], begin, out[r]);
      rows_.evaluate(batch, 0, count, begin, n, out.data());
      evaluations_ += count * count;
    } else {
      evaluate(batch, count, out.data());
    }
    for (std::size_t r = 0; r < count; ++r) std::fill(out[r] + n, out[r] + block_stride_, 0.0f);
    if (rows_.external()) cache_external_block(count);
  } catch (...) {
    drop_block();
    throw;
  }
}

/// Values that come from the caller cannot be computed again, so they are in the cache before anything is learned.
void KernelRows::cache_external_block(std::size_t count) {
  for (std::size_t slot = block_begin_; slot < block_begin_ + count; ++slot) {
    RowCache::Entry& entry = cache_.touch(static_cast<std::int64_t>(slot), size());
    const float* source = block_values(slot);
    for (std::size_t at = 0; at < size(); at += kPage)
      std::copy_n(source + at, std::min(kPage, size() - at), entry.pages[at / kPage]);
    entry.valid = size();
  }
}

double KernelRows::block_product(std::size_t slot, const double* coefficients) const {
  return loops().dot(block_values(slot), coefficients, block_begin_);
}

void KernelRows::cache_block(std::span<const std::int64_t> kept) noexcept {
  const std::size_t old = block_begin_, n = old + kept.size();
  try {
    for (std::size_t t = 0; t < kept.size() && !rows_.external(); ++t) {
      const float* source = block_values(static_cast<std::size_t>(kept[t]));
      RowCache::Entry& entry = cache_.touch(static_cast<std::int64_t>(old + t), n);
      for (std::size_t at = 0; at < old; at += kPage)
        std::copy_n(source + at, std::min(kPage, old - at), entry.pages[at / kPage]);
      for (std::size_t u = 0; u < kept.size(); ++u) entry[old + u] = source[kept[u]];
      entry.valid = n;
    }
    // A row used lately will be used again soon: it gets its values for the new slots now, while they are at hand.
    cache_.each_recent(kRecent, n, [&](RowCache::Entry& entry) {
      if (entry.valid != old) return;
      const float* column = block_.data() + entry.slot;
      for (std::size_t u = 0; u < kept.size(); ++u)
        entry[old + u] = column[(static_cast<std::size_t>(kept[u]) - old) * block_stride_];
      entry.valid = n;
    });
  } catch (const std::bad_alloc&) {
  }
}

void KernelRows::end_block() noexcept {
  open_ = false;
  std::fill_n(block_.data(), block_used_, 0.0f);
  block_used_ = 0;
}

void KernelRows::restore(std::size_t slot, std::span<const float> values) {
  RowCache::Entry& entry = cache_.touch(static_cast<std::int64_t>(slot), values.size());
  for (std::size_t s = 0; s < values.size(); ++s) entry[s] = values[s];
  entry.valid = values.size();
}

}  // namespace everlearn
