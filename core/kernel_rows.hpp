// The kernel rows of an expansion, K(slot, .) over all slots: those of the open block, and a cache of older ones.
//
// Whoever reads a row holds it (HeldRow, HeldRows). A held row stays in place until its guard is destroyed, and slots
// cannot be dropped or renamed meanwhile.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "aligned.hpp"
#include "function_ref.hpp"
#include "row_cache.hpp"
#include "rows.hpp"

namespace everlearn {

class KernelRows;

/// Keeps a kernel row in place as long as it lives.
class HeldRow {
 public:
  HeldRow() = default;
  HeldRow(HeldRow&& other) noexcept { swap(other); }
  HeldRow& operator=(HeldRow&& other) noexcept {
    swap(other);
    return *this;
  }
  ~HeldRow();

  float operator[](std::size_t s) const { return view_[s]; }
  RowView view() const& { return view_; }
  RowView view() && = delete;  // the row would be released at once

 private:
  friend class KernelRows;
  explicit HeldRow(RowView block_row) : view_(block_row) {}
  HeldRow(KernelRows& owner, RowCache::Entry& entry);
  void swap(HeldRow& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(entry_, other.entry_);
    std::swap(view_, other.view_);
  }

  KernelRows* owner_ = nullptr;
  RowCache::Entry* entry_ = nullptr;  // null for a row of the open block, which stays until the block is closed
  RowView view_{nullptr};
};

/// Keeps several kernel rows in place as long as it lives.
class HeldRows {
 public:
  void reserve(std::size_t count) {
    held_.reserve(count);
    views_.reserve(count);
  }
  void add(HeldRow&& row) {
    reserve(held_.size() + 1);
    held_.push_back(std::move(row));
    views_.push_back(held_.back().view());
  }
  void clear() {
    held_.clear();
    views_.clear();
  }

  std::size_t size() const { return views_.size(); }
  const HeldRow& operator[](std::size_t r) const { return held_[r]; }
  std::span<const RowView> views() const& { return views_; }

 private:
  std::vector<HeldRow> held_;
  std::vector<RowView> views_;
};

class KernelRows {
 public:
  KernelRows(const Rows& rows, std::size_t cache_bytes) : rows_(rows), cache_(cache_bytes) {}
  KernelRows(const KernelRows&) = delete;
  KernelRows& operator=(const KernelRows&) = delete;

  RowCache& cache() { return cache_; }
  const RowCache& cache() const { return cache_; }
  /// Kernel values computed so far.
  std::uint64_t evaluations() const { return evaluations_; }
  void set_evaluations(std::uint64_t count) { evaluations_ = count; }
  void count_evaluations(std::uint64_t count) { evaluations_ += count; }
  void set_threads(int threads) { threads_ = threads; }
  int threads() const { return threads_; }

  /// The row of a slot. May be called from the threads of Expansion::each_column.
  HeldRow hold(std::size_t slot);
  /// The rows of several slots; those that are missing are computed together.
  HeldRows hold(std::span<const std::int64_t> slots);

  /// Whether most of the rows of some slots are at hand: of the open block, or cached whole.
  bool knows_most(std::span<const std::int64_t> slots);

  /// out[a][b] = K(slots[a], slots[b]) for b <= a, from the rows themselves: where a value is cheap to compute, that is
  /// faster than reading it from a long kernel row. May be called from the threads of Expansion::each_column.
  void evaluate_among(std::span<const std::int64_t> slots, float* const* out);

  /// Computes the kernel rows of some slots tile by tile, without keeping them: work(first, begin, end, lines) gets
  /// lines[r][s - begin] = K(slots[first + r], s) for the slots s of [begin, end). Tiles of the same slots s come from one
  /// thread, in the order of `slots`. May be called from the threads of Expansion::each_column.
  void sweep(std::span<const std::int64_t> slots,
             FunctionRef<void(std::size_t, std::size_t, std::size_t, std::span<float* const>)> work);

  /// Opens a block: the last `count` slots of the store are new and come from `batch`. Computes their rows; `known`, if
  /// given, holds their values with the slots before. If it throws, no block is open.
  void open_block(const Batch& batch, std::size_t count, const float* const* known);
  bool block_is_open() const { return open_; }
  /// The first slot of the open block.
  std::size_t block_begin() const { return block_begin_; }
  /// sum_t coefficients[t] K(slot, t) over the slots t before the open block; `slot` belongs to the block.
  double block_product(std::size_t slot, const double* coefficients) const;
  /// Moves rows of the block to the cache after keep(block_begin(), kept). Optional: rows that find no memory are
  /// computed again when they are needed.
  void cache_block(std::span<const std::int64_t> kept) noexcept;
  /// Ends the block without caching its rows, unless they come from the caller: these are in the cache already.
  void end_block() noexcept;
  /// Ends the block and forgets its rows.
  void drop_block() noexcept {
    cache_.drop_from(block_begin_);
    end_block();
  }

  /// Gets ready to compute the rows of the next block while this one is learned: chunks_ahead() calls of
  /// evaluate_ahead(), from any threads, before slots change. open_block() with the same batch then uses them.
  void look_ahead(const Batch& batch, std::size_t count);
  std::size_t chunks_ahead() const { return ahead_.batch == nullptr || ahead_.done ? 0 : ahead_.chunks; }
  void evaluate_ahead(std::size_t chunk);
  void end_ahead() { ahead_.done = ahead_.batch != nullptr; }
  /// Forgets what was computed ahead.
  void drop_ahead() noexcept;

  /// Follows the store when it drops the slots from `from` on except `kept`. Changes nothing if it throws.
  void keep(std::size_t from, std::span<const std::int64_t> kept);
  /// Restores values that cannot be computed again (Layout::external).
  void restore(std::size_t slot, std::span<const float> values);
  /// K(row r of the batch, s) into out[r][s] for all slots s.
  void evaluate(const Batch& batch, std::size_t count, float* const* out);

 private:
  friend class HeldRow;
  std::size_t size() const { return rows_.size(); }
  bool in_open_block(std::size_t slot) const { return open_ && slot >= block_begin_; }
  HeldRow block_row(std::size_t slot) const;
  const float* block_values(std::size_t slot) const { return block_.data() + (slot - block_begin_) * block_stride_; }
  /// K(slot, .) over the open block; `slot` is older.
  const float* block_column(std::size_t slot) const { return transposed_.data() + slot * block_rows_; }
  std::unique_lock<std::mutex> lock_cache();
  template <class F>
  void look_up(RowCache::Entry& entry, F&& missing);
  void fill(std::span<RowCache::Entry* const> entries, std::unique_lock<std::mutex>& lock);
  void complete(std::span<RowCache::Entry*> entries, std::unique_lock<std::mutex>& lock);
  void cache_external_block(std::size_t count);

  /// Rows of the next block, over the slots as they are now.
  struct Ahead {
    const Batch* batch = nullptr;
    AlignedVector<float> values;  // zeros while there is no batch
    std::size_t count = 0, stride = 0, slots = 0, chunks = 0;
    bool done = false;
  };

  const Rows& rows_;
  RowCache cache_;
  AlignedVector<float> block_;       // rows of the open block; zeros while none is open
  AlignedVector<float> transposed_;  // its values with older slots, slot by slot; zeros while none is open
  Ahead ahead_;
  std::vector<const float*> block_pages_;  // their pages, row after row
  std::size_t block_begin_ = 0, block_rows_ = 0, block_stride_ = 0, block_used_ = 0, transposed_used_ = 0;
  bool open_ = false;
  std::uint64_t evaluations_ = 0;
  int threads_ = 1;
  std::mutex mutex_;                // of the cache
  std::condition_variable filled_;  // a row is no longer being filled
};

inline HeldRow::HeldRow(KernelRows& owner, RowCache::Entry& entry)
    : owner_(&owner), entry_(&entry), view_(entry.view()) {
  owner.cache_.pin(entry);
}

inline HeldRow::~HeldRow() {
  if (entry_ == nullptr) return;
  const auto lock = owner_->lock_cache();
  owner_->cache_.unpin(*entry_);
}

}  // namespace everlearn
