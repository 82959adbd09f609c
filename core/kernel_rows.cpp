// The kernel rows of an expansion: held one at a time while a solver steps, or fetched many at once.
#include <algorithm>

#include "expansion.hpp"
#include "threads.hpp"

namespace everlearn {

/// Kernel values of the batch against the slots [begin, end), written to cached rows page by page.
void Expansion::evaluate_pages(const Batch& batch, std::span<RowCache::Entry* const> entries, std::size_t begin,
                               std::size_t end) const {
  std::vector<float*> out(entries.size());
  for (std::size_t at = begin; at < end;) {
    const std::size_t page = at / kPage, stop = std::min(end, (page + 1) * kPage);
    for (std::size_t r = 0; r < entries.size(); ++r) out[r] = entries[r]->pages[page] - page * kPage;
    rows_->evaluate(batch, 0, entries.size(), at, stop, out.data());
    at = stop;
  }
}

/// Completes a cached row: values for the open block come from there, older ones from the cached rows that came
/// after it, K(i, s) = K(s, i), where that is the cheaper way, and are computed otherwise.
void Expansion::fill(RowCache::Entry& entry) {
  const std::size_t old = open_ ? block_begin_ : size(), slot = static_cast<std::size_t>(entry.slot);
  const bool look_up = rows_->costly() && entry.valid > slot;
  std::unique_ptr<Batch> own;
  for (std::size_t s = entry.valid; s < old;) {
    std::size_t end = old;
    if (look_up) {
      for (end = s; end < old; ++end) {
        const RowCache::Entry* younger = cache_.peek(end);
        if (younger == nullptr || younger->valid <= slot) break;
        entry[end] = (*younger)[slot];
      }
      s = end;
      while (end < old && (cache_.peek(end) == nullptr || cache_.peek(end)->valid <= slot)) ++end;
    }
    if (s < end) {
      RowCache::Entry* const one = &entry;
      if (!own) own = rows_->take_kept({&entry.slot, 1});
      evaluate_pages(*own, {&one, 1}, s, end);
      evaluations_ += end - s;
      s = end;
    }
  }
  const float* column = block_.data() + entry.slot;
  for (std::size_t s = std::max(entry.valid, old); s < size(); ++s) entry[s] = column[(s - old) * block_stride_];
  entry.valid = size();
}

bool Expansion::in_open_block(std::int64_t slot) const {
  return open_ && static_cast<std::size_t>(slot) >= block_begin_;
}

RowView Expansion::block_row(std::int64_t slot) const {
  return {block_pages_.data() + (static_cast<std::size_t>(slot) - block_begin_) * (round_up(size(), kPage) / kPage)};
}

RowView Expansion::hold(std::int64_t slot) {
  if (in_open_block(slot)) return block_row(slot);
  const std::lock_guard lock(cache_mutex_);
  RowCache::Entry& entry = cache_.touch(slot, size(), 0);
  if (entry.valid < size()) fill(entry);
  ++entry.pins;
  return entry.view();
}

void Expansion::release(std::int64_t slot) {
  if (in_open_block(slot)) return;
  const std::lock_guard lock(cache_mutex_);
  cache_.unpin(slot);
}

std::vector<RowView> Expansion::rows_of(std::span<const std::int64_t> slots) {
  std::vector<RowView> found(slots.size());
  std::vector<std::int64_t> missing;
  std::vector<RowCache::Entry*> entries;
  for (std::size_t r = 0; r < slots.size(); ++r) {
    if (in_open_block(slots[r])) {
      found[r] = block_row(slots[r]);
      continue;
    }
    RowCache::Entry& entry = cache_.touch(slots[r], size(), r);
    found[r] = entry.view();
    if (entry.valid == 0) {
      missing.push_back(slots[r]);
      entries.push_back(&entry);
    } else if (entry.valid < size()) {
      fill(entry);
    }
  }
  if (!missing.empty()) {
    const auto batch = rows_->take_kept(missing);
    parallel_ranges(missing.size() * size() < kWorthThreads ? 1 : threads_, size(), kPage,
                    [&](std::size_t begin, std::size_t end) { evaluate_pages(*batch, entries, begin, end); });
    evaluations_ += missing.size() * size();
    for (auto* entry : entries) entry->valid = size();
  }
  return found;
}

}  // namespace everlearn
