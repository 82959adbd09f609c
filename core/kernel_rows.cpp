#include "kernel_rows.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <numeric>

#include "threads.hpp"

namespace everlearn {
namespace {

/// Cached rows that are completed at the end of a block. Measured: nearly all uses are of these.
constexpr std::size_t kRecent = 8192;
/// Where a value is cheap to compute, rows that have not been used for so long are not worth their memory. Measured on
/// a9a with a limit of 1 GB: less than half the memory in about the same time (1.99 s against 2.24 s, medians of six
/// runs that scatter by more than that).
constexpr std::size_t kUsefulRows = 6144;
/// Kernel values of a batch below which one thread computes them all.
constexpr std::size_t kSmallBatch = 20000;
/// Turns of waiting awake for the lock of the cache.
constexpr int kSpins = 200;
/// The fewest slots in a piece of work that computes rows ahead.
constexpr std::size_t kChunk = 512;

/// From one row of a block to the next: an odd number of cache lines, because columns are read, too.
std::size_t stride_for(std::size_t slots) { return round_up(slots, kPad) + 16; }

/// Makes room for values of a block; the last row, too, is read in whole pages.
void make_room(AlignedVector<float>& values, std::size_t count) {
  const std::size_t room = count + kPage;
  if (room <= values.size()) return;
  values.clear();  // there is nothing in it to copy
  values.resize(room + room / 4);
}

}  // namespace

// ------------------------------------------------------------------------------------------------------- holding rows

/// Reads values of a row from the cached rows of later slots, K(i, s) = K(s, i), where that is cheaper than computing
/// them. Calls missing(begin, end) for the slots before the open block whose values are not known.
template <class F>
void KernelRows::look_up(RowCache::Entry& entry, F&& missing) {
  const std::size_t old = open_ ? block_begin_ : size(), slot = static_cast<std::size_t>(entry.slot);
  const auto known = [&](std::size_t s) {
    const RowCache::Entry* younger = cache_.find(s);
    return younger != nullptr && younger->valid > slot ? younger : nullptr;
  };
  if (!rows_.costly() || entry.valid <= slot) {
    if (entry.valid < old) missing(entry.valid, old);
    return;
  }
  for (std::size_t s = entry.valid; s < old;) {
    for (; s < old; ++s) {
      const RowCache::Entry* younger = known(s);
      if (younger == nullptr) break;
      entry[s] = (*younger)[slot];
    }
    const std::size_t begin = s;
    while (s < old && known(s) == nullptr) ++s;
    if (begin < s) missing(begin, s);
  }
}

/// Computes what is missing of rows that are pinned and marked as `filling`, without the lock meanwhile; rows that miss
/// the same slots together. Rows that cannot be completed for want of memory know nothing any more.
void KernelRows::fill(std::span<RowCache::Entry* const> entries, std::unique_lock<std::mutex>& lock) {
  struct Range {
    std::size_t begin, end;
    auto operator<=>(const Range&) const = default;
  };
  struct Missing {
    std::vector<Range> ranges;
    RowCache::Entry* entry;
  };
  const std::size_t old = open_ ? block_begin_ : size();
  std::uint64_t computed = 0;
  const auto release = [&](std::size_t valid) {
    if (!lock.owns_lock()) lock.lock();
    for (auto* entry : entries) entry->valid = valid, entry->filling = false;
    evaluations_ += computed;
    filled_.notify_all();
  };
  try {
    std::vector<Missing> rows;
    for (auto* entry : entries) {
      Missing row{{}, entry};
      if (entry->valid == 0 && old > 0) row.ranges.push_back({0, old});
      else look_up(*entry, [&](std::size_t begin, std::size_t end) { row.ranges.push_back({begin, end}); });
      if (!row.ranges.empty()) rows.push_back(std::move(row));
    }
    lock.unlock();
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.ranges < b.ranges; });
    struct Piece {  // of a page, for some of the rows
      std::span<const Missing> rows;
      const Batch* batch;
      Range range;
    };
    std::vector<std::unique_ptr<Batch>> batches;
    std::vector<Piece> pieces;
    std::size_t work = 0;
    for (auto first = rows.begin(); first != rows.end();) {
      const auto last = std::find_if(first, rows.end(), [&](const auto& row) { return row.ranges != first->ranges; });
      std::vector<std::int64_t> slots;
      for (auto row = first; row != last; ++row) slots.push_back(row->entry->slot);
      batches.push_back(rows_.take_kept(slots));
      for (const auto& [begin, end] : first->ranges) {
        for (std::size_t at = begin; at < end; at = (at / kPage + 1) * kPage)
          pieces.push_back({{first, last}, batches.back().get(), {at, std::min(end, (at / kPage + 1) * kPage)}});
        work += slots.size() * (end - begin);
      }
      first = last;
    }
    parallel_each(work < kWorthThreads ? 1 : threads_, pieces.size(), [&](std::size_t p) {
      const auto& [some, batch, range] = pieces[p];
      const std::size_t page = range.begin / kPage;
      std::vector<float*> out(some.size());
      for (std::size_t r = 0; r < some.size(); ++r) out[r] = some[r].entry->pages[page] - page * kPage;
      rows_.evaluate(*batch, 0, some.size(), range.begin, range.end, out.data());
    });
    computed = work;
    for (auto* entry : entries) {
      const std::size_t begin = std::max(entry->valid, old);
      if (begin < size())
        entry->write(begin, size(), block_column(static_cast<std::size_t>(entry->slot)) + (begin - old));
    }
  } catch (...) {
    release(0);
    throw;
  }
  release(size());
}

/// Completes pinned rows, in any order. Those that another thread is filling are waited for, after the others have been
/// filled: no thread waits while another one waits for it. Allocates nothing for rows from the caller.
void KernelRows::complete(std::span<RowCache::Entry*> entries, std::unique_lock<std::mutex>& lock) {
  const auto others = std::partition(entries.begin(), entries.end(), [&](const RowCache::Entry* entry) {
    return entry->valid < size() && !entry->filling;
  });
  const std::span own(entries.begin(), others);
  for (auto* entry : own) entry->filling = true;
  if (!own.empty()) fill(own, lock);
  for (auto*& entry : std::span(others, entries.end())) {
    filled_.wait(lock, [&] { return !entry->filling; });
    if (entry->valid < size()) complete({&entry, 1}, lock);  // the other thread had no memory for it
  }
}

/// The lock of the cache, which is held for a moment only: worth some turns of waiting awake.
std::unique_lock<std::mutex> KernelRows::lock_cache() {
  for (int spin = 0; spin < kSpins; ++spin)
    if (std::unique_lock lock(mutex_, std::try_to_lock); lock) return lock;
  return std::unique_lock(mutex_);
}

HeldRow KernelRows::block_row(std::size_t slot) const {
  const std::size_t pages = round_up(size(), kPage) / kPage;
  return HeldRow(RowView{block_pages_.data() + (slot - block_begin_) * pages});
}

HeldRow KernelRows::hold(std::size_t slot) {
  if (in_open_block(slot)) return block_row(slot);
  HeldRow held;  // destroyed after the lock is released if something throws
  auto lock = lock_cache();
  RowCache::Entry* entry = &cache_.touch(static_cast<std::int64_t>(slot), size());
  held = HeldRow(*this, *entry);
  if (entry->valid < size()) complete({&entry, 1}, lock);
  return held;
}

HeldRows KernelRows::hold(std::span<const std::int64_t> slots) {
  HeldRows held;  // destroyed after the lock is released if something throws
  held.reserve(slots.size());
  std::vector<RowCache::Entry*> incomplete;
  incomplete.reserve(slots.size());
  auto lock = lock_cache();
  try {
    cache_.make_room(slots, size(), threads_);
    for (const auto slot : slots) {
      if (in_open_block(static_cast<std::size_t>(slot))) {
        held.add(block_row(static_cast<std::size_t>(slot)));
        continue;
      }
      RowCache::Entry* entry = &cache_.touch(slot, size());
      held.add(HeldRow(*this, *entry));
      if (entry->valid < size()) incomplete.push_back(entry);
    }
  } catch (...) {  // touched, they are in front of rows that know more
    for (auto* entry : incomplete)
      if (!entry->filling) entry->valid = 0;
    throw;
  }
  complete(incomplete, lock);
  return held;
}

// ---------------------------------------------------------------------------------------------------- the open block

void KernelRows::evaluate(const Batch& batch, std::size_t count, float* const* out) {
  // Threads share the kept rows: each needs the whole batch, but only its part of the store.
  parallel_ranges(count * size() < kSmallBatch ? 1 : threads_, size(), kPad,
                  [&](std::size_t begin, std::size_t end) { rows_.evaluate(batch, 0, count, begin, end, out); });
  evaluations_ += count * size();
}

bool KernelRows::knows_most(std::span<const std::int64_t> slots) {
  const auto lock = lock_cache();
  const auto whole = [&](std::int64_t slot) {
    const RowCache::Entry* entry = cache_.find(static_cast<std::size_t>(slot));
    return in_open_block(static_cast<std::size_t>(slot)) || (entry != nullptr && entry->valid == size());
  };
  return 4 * static_cast<std::size_t>(std::count_if(slots.begin(), slots.end(), whole)) > 3 * slots.size();
}

void KernelRows::evaluate_among(std::span<const std::int64_t> slots, float* const* out) {
  constexpr std::size_t kTogether = 48;  // what is above the diagonal costs little, and rows are computed by the dozen
  const auto batch = rows_.take_kept(slots);
  const auto store = rows_.sibling();
  store->append(*batch);
  const std::size_t n = slots.size(), pieces = (n + kTogether - 1) / kTogether;
  std::atomic<std::uint64_t> computed = 0;
  parallel_each(n * n < kWorthThreads ? 1 : threads_, pieces, [&](std::size_t piece) {
    const std::size_t first = (pieces - 1 - piece) * kTogether;  // long rows first
    const std::size_t last = std::min(first + kTogether, n);
    store->evaluate(*batch, first, last, 0, last, out + first);
    computed += (last - first) * last;
  });
  const auto lock = lock_cache();
  evaluations_ += computed;
}

void KernelRows::sweep(std::span<const std::int64_t> slots,
                       FunctionRef<void(std::size_t, std::size_t, std::size_t, std::span<float* const>)> work) {
  constexpr std::size_t kSlots = 512, kTogether = 192;  // a tile stays in the second-level cache
  if (slots.empty()) return;
  const std::size_t n = size(), height = std::min(kTogether, slots.size()), width = round_up(std::min(kSlots, n), kPad);
  std::vector<std::unique_ptr<Batch>> batches;
  for (std::size_t first = 0; first < slots.size(); first += kTogether)
    batches.push_back(rows_.take_kept(slots.subspan(first, std::min(kTogether, slots.size() - first))));
  parallel_ranges(slots.size() * n < kWorthThreads ? 1 : threads_, n, kSlots, [&](std::size_t begin, std::size_t end) {
    AlignedVector<float> values(height * width);
    std::vector<float*> lines(height), out(height);
    for (std::size_t r = 0; r < height; ++r) lines[r] = values.data() + r * width;
    for (std::size_t at = begin; at < end; at += kSlots) {
      const std::size_t stop = std::min(at + kSlots, end);
      for (std::size_t r = 0; r < height; ++r) out[r] = lines[r] - at;
      for (std::size_t b = 0, first = 0; b < batches.size(); ++b, first += kTogether) {
        const std::size_t count = std::min(kTogether, slots.size() - first);
        rows_.evaluate(*batches[b], 0, count, at, stop, out.data());
        work(first, at, stop, std::span<float* const>(lines).first(count));
      }
    }
  });
  const auto lock = lock_cache();
  evaluations_ += slots.size() * n;
}

void KernelRows::open_block(const Batch& batch, std::size_t count, const float* const* known) {
  const std::size_t n = size(), begin = n - count;
  const bool ahead = ahead_.batch == &batch && ahead_.done && ahead_.slots == begin;
  std::vector<float*> out(count);
  block_pages_.clear();
  block_pages_.reserve(count * (round_up(n, kPage) / kPage));
  block_begin_ = begin;
  block_stride_ = ahead ? ahead_.stride : stride_for(n);
  if (ahead) {
    block_.swap(ahead_.values);
    ahead_.batch = nullptr;
  } else {
    drop_ahead();
    make_room(block_, count * block_stride_);
  }
  for (std::size_t r = 0; r < count; ++r) {
    out[r] = block_.data() + r * block_stride_;
    for (std::size_t at = 0; at < n; at += kPage) block_pages_.push_back(out[r] + at);
  }
  make_room(transposed_, begin * count);
  cache_.set_max_rows(rows_.costly() ? ~std::size_t{0} : kUsefulRows);
  open_ = true;
  block_used_ = count * block_stride_;
  transposed_used_ = begin * count;
  block_rows_ = count;
  try {
    if (known != nullptr || ahead) {
      for (std::size_t r = 0; r < count && !ahead; ++r) std::copy_n(known[r], begin, out[r]);
      rows_.evaluate(batch, 0, count, begin, n, out.data());
      evaluations_ += count * (ahead ? n : count);
    } else {
      evaluate(batch, count, out.data());
    }
    for (std::size_t r = 0; r < count; ++r) std::fill(out[r] + n, out[r] + block_stride_, 0.0f);
    parallel_ranges(count * begin < kWorthThreads ? 1 : threads_, begin, kPad,
                    [&](std::size_t first, std::size_t last) {
                      loops().transpose(block_.data() + first, block_stride_, count, last - first,
                                        transposed_.data() + first * count, count);
                    });
    if (rows_.external()) cache_external_block(count);
  } catch (...) {
    drop_block();
    throw;
  }
}

void KernelRows::look_ahead(const Batch& batch, std::size_t count) {
  drop_ahead();
  if (rows_.external() || count * size() < kSmallBatch) return;
  const std::size_t stride = stride_for(size() + count);
  make_room(ahead_.values, count * stride);
  const std::size_t chunks = std::min<std::size_t>(4 * static_cast<std::size_t>(threads_), size() / kChunk + 1);
  ahead_.batch = &batch;
  ahead_.count = count, ahead_.stride = stride, ahead_.slots = size(), ahead_.chunks = chunks, ahead_.done = false;
}

void KernelRows::evaluate_ahead(std::size_t chunk) {
  const auto edge = [&](std::size_t c) {
    return c == ahead_.chunks ? ahead_.slots : ahead_.slots * c / ahead_.chunks / kPad * kPad;
  };
  std::vector<float*> out(ahead_.count);
  for (std::size_t r = 0; r < ahead_.count; ++r) out[r] = ahead_.values.data() + r * ahead_.stride;
  rows_.evaluate(*ahead_.batch, 0, ahead_.count, edge(chunk), edge(chunk + 1), out.data());
}

void KernelRows::drop_ahead() noexcept {
  if (ahead_.batch != nullptr) std::fill_n(ahead_.values.data(), ahead_.count * ahead_.stride, 0.0f);
  ahead_.batch = nullptr;
}

void KernelRows::keep(std::size_t from, std::span<const std::int64_t> kept) {
  cache_.keep(from, kept, threads_);
  if (ahead_.batch == nullptr) return;
  for (std::size_t r = 0; r < ahead_.count; ++r) {
    float* const row = ahead_.values.data() + r * ahead_.stride;
    for (std::size_t t = 0; t < kept.size(); ++t) row[from + t] = row[kept[t]];
  }
  ahead_.slots = from + kept.size();
}

/// Values that come from the caller cannot be computed again, so they are in the cache before anything is learned.
void KernelRows::cache_external_block(std::size_t count) {
  for (std::size_t slot = block_begin_; slot < block_begin_ + count; ++slot) {
    RowCache::Entry& entry = cache_.touch(static_cast<std::int64_t>(slot), size());
    entry.write(0, size(), block_values(slot));
    entry.valid = size();
  }
}

double KernelRows::block_product(std::size_t slot, const double* coefficients) const {
  return loops().dot(block_values(slot), coefficients, block_begin_);
}

void KernelRows::cache_block(std::span<const std::int64_t> kept) noexcept {
  const std::size_t old = block_begin_, n = old + kept.size();
  try {
    std::vector<std::int64_t> slots(kept.size());
    std::iota(slots.begin(), slots.end(), static_cast<std::int64_t>(old));
    cache_.make_room(slots, n, threads_);
    for (std::size_t t = 0; t < kept.size() && !rows_.external(); ++t) {
      const float* source = block_values(static_cast<std::size_t>(kept[t]));
      RowCache::Entry& entry = cache_.touch(static_cast<std::int64_t>(old + t), n);
      entry.write(0, old, source);
      for (std::size_t u = 0; u < kept.size(); ++u) entry[old + u] = source[kept[u]];
      entry.valid = n;
    }
    // A row used lately will be used again soon: it gets its values for the new slots now, while they are at hand.
    const std::vector<RowCache::Entry*> recent = cache_.recent(kRecent, n, threads_);
    std::vector<std::uint8_t> stays(block_rows_, 0);
    for (const auto slot : kept) stays[static_cast<std::size_t>(slot) - old] = 1;
    parallel_ranges(recent.size() * kept.size() < kSmallBatch ? 1 : threads_, recent.size(), 1,
                    [&](std::size_t begin, std::size_t end) {
                      std::vector<float> values(block_rows_);
                      for (std::size_t r = begin; r < end; ++r) {
                        RowCache::Entry& entry = *recent[r];
                        if (entry.valid != old) continue;
                        const float* column = block_column(static_cast<std::size_t>(entry.slot));
                        loops().compress(column, stays.data(), block_rows_, values.data());
                        entry.write(old, n, values.data());
                        entry.valid = n;
                      }
                    });
  } catch (const std::bad_alloc&) {
  }
}

void KernelRows::end_block() noexcept {
  open_ = false;
  std::fill_n(block_.data(), block_used_, 0.0f);
  std::fill_n(transposed_.data(), transposed_used_, 0.0f);
  block_used_ = transposed_used_ = 0;
}

void KernelRows::restore(std::size_t slot, std::span<const float> values) {
  RowCache::Entry& entry = cache_.touch(static_cast<std::int64_t>(slot), values.size());
  entry.write(0, values.size(), values.data());
  entry.valid = values.size();
}

}  // namespace everlearn
