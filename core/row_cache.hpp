// Kernel rows of kept rows under a limit in bytes; the least recently used row is evicted first.
//
// A cached row may be shorter than the expansion: the rows used last are completed at the end of each block, the others
// when they are used again, instead of writing a column into every row at each insertion.
//
// Invariant: from front to back of the list, the number of known values never grows, except for rows without any. Every
// method either succeeds or throws std::bad_alloc and leaves the cache as it was.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <list>
#include <span>
#include <stdexcept>
#include <vector>

#include "arch/loops.hpp"
#include "pages.hpp"

namespace everlearn {

static_assert(kPage % kPad == 0);

class RowCache {
 public:
  struct Entry {
    std::int64_t slot;
    std::size_t valid = 0;  // values known
    int pins = 0;           // how many users hold it; a pinned row is never evicted
    bool filling = false;   // somebody computes the values from `valid` on
    std::vector<float*> pages{};

    float& operator[](std::size_t s) { return pages[s / kPage][s % kPage]; }
    float operator[](std::size_t s) const { return pages[s / kPage][s % kPage]; }
    RowView view() const { return {pages.data()}; }
    /// Writes the values of the slots [begin, end).
    void write(std::size_t begin, std::size_t end, const float* values) {
      while (begin < end) {
        const std::size_t run = std::min(end - begin, kPage - begin % kPage);
        std::copy_n(values, run, &(*this)[begin]);
        begin += run, values += run;
      }
    }
  };

  explicit RowCache(std::size_t limit_bytes) : limit_(limit_bytes) {}

  std::size_t bytes() const { return bytes_; }
  std::size_t rows() const { return order_.size(); }
  void set_limit(std::size_t bytes) {
    limit_ = bytes;
    evict();
  }
  /// The largest number of rows to keep, whatever the limit in bytes is.
  void set_max_rows(std::size_t rows) { max_rows_ = rows; }
  /// How many rows of n values fit; at least two.
  std::size_t room_for(std::size_t n) const {
    return std::max<std::size_t>(2, limit_ / (std::max<std::size_t>(pages_for(n), 1) * kPageBytes));
  }

  /// The row of `slot`, now the most recently used one, with room for n values. The caller writes the values from
  /// `valid` on and then sets `valid`; if that fails, the caller sets `valid` to 0. The row itself is not evicted to
  /// make room.
  Entry& touch(std::int64_t slot, std::size_t n) {
    if (static_cast<std::size_t>(slot) >= where_.size()) where_.resize(static_cast<std::size_t>(slot) + 1, none());
    Place& at = where_[static_cast<std::size_t>(slot)];
    const std::size_t before = bytes_;
    if (at == none()) {
      std::list<Entry> added(1, Entry{slot});
      add_pages(added.front(), n);
      order_.splice(order_.begin(), added);
      at = order_.begin();
    } else {
      add_pages(*at, n);
      order_.splice(order_.begin(), order_, at);
    }
    Entry& entry = *at;
    ++entry.pins;
    if (bytes_ > before) evict();
    if (order_.size() > max_rows_ && order_.back().pins == 0) erase(std::prev(order_.end()));
    --entry.pins;
    return entry;
  }

  /// Gets pages ready for rows of n values, as far as they fit: several threads write zeros faster than one. Optional.
  void make_room(std::span<const std::int64_t> slots, std::size_t n, int threads) noexcept {
    if (threads <= 1) return;
    std::size_t pages = 0, more_rows = max_rows_ - std::min(max_rows_, order_.size());
    for (const auto slot : slots) {
      const Entry* entry = find(static_cast<std::size_t>(slot));
      if (entry != nullptr) pages += pages_for(n) - std::min(pages_for(n), entry->pages.size());
      else if (more_rows > 0) pages += pages_for(n), --more_rows;
    }
    get_ready(pages, threads);
  }

  /// Pins a row: until it is unpinned it stays in place. Use HeldRow (kernel_rows.hpp), which pairs the two.
  void pin(Entry& entry) {
    ++entry.pins;
    ++pins_;
  }
  void unpin(Entry& entry) {
    --entry.pins;
    --pins_;
  }

  /// Drops every row. None may be pinned.
  void clear() {
    refuse_pinned();
    drop_from(0);
  }
  /// Drops the rows of the slots from `first` on. None of them may be pinned.
  void drop_from(std::size_t first) noexcept {
    for (std::size_t slot = first; slot < where_.size(); ++slot)
      if (where_[slot] != none()) erase(where_[slot]);
  }

  /// The row of `slot` if it is cached, whatever its length, and null otherwise.
  const Entry* find(std::size_t slot) const {
    return slot < where_.size() && where_[slot] != none() ? &*where_[slot] : nullptr;
  }

  /// The `count` rows used last, with room for n values, as far as they fit.
  std::vector<Entry*> recent(std::size_t count, std::size_t n, int threads = 1) {
    std::vector<Entry*> rows;
    rows.reserve(std::min(count, order_.size()));
    if (threads > 1) {
      std::size_t pages = 0, left = count;
      for (auto at = order_.begin(); at != order_.end() && left > 0; ++at, --left)
        pages += pages_for(n) - std::min(pages_for(n), at->pages.size());
      get_ready(pages, threads);
    }
    for (auto at = order_.begin(); at != order_.end() && count > 0; ++at, --count) {
      const std::size_t more = pages_for(n) - std::min(pages_for(n), at->pages.size());
      if (bytes_ + more * kPageBytes > limit_) break;
      add_pages(*at, n);
      rows.push_back(&*at);
    }
    return rows;
  }

  /// Follows the expansion when it drops the slots from `from` on except `kept` (ascending), which move up: see
  /// Rows::keep. No row may be pinned.
  void keep(std::size_t from, std::span<const std::int64_t> kept, int threads = 1) {
    refuse_pinned();
    std::vector<Entry*> changed;
    changed.reserve(order_.size());
    std::vector<std::int64_t> renamed(where_.size() > from ? where_.size() - from : 0, -1);
    std::vector<std::uint8_t> stays(kept.empty() ? 0 : static_cast<std::size_t>(kept.back()) + 1 - from, 0);
    where_.reserve(from + kept.size());
    for (std::size_t t = 0; t < kept.size(); ++t) {
      const std::size_t at = static_cast<std::size_t>(kept[t]) - from;
      stays[at] = 1;
      if (at < renamed.size()) renamed[at] = static_cast<std::int64_t>(from + t);
    }
    where_.resize(std::min(where_.size(), from));
    where_.resize(from + kept.size(), none());
    for (auto at = order_.begin(); at != order_.end();) {
      // By the invariant the rows behind this one know no values from `from` on, and a row knows at least itself.
      if (at->valid > 0 && at->valid <= from) break;
      const auto slot = static_cast<std::size_t>(at->slot);
      if (slot >= from) {
        const std::int64_t name = renamed[slot - from];
        if (name < 0) {
          give_pages(*at, 0);
          at = order_.erase(at);
          continue;
        }
        at->slot = name;
        where_[static_cast<std::size_t>(name)] = at;
      }
      changed.push_back(&*at++);
    }
    parallel_ranges(changed.size() < kManyRows ? 1 : threads, changed.size(), 1,
                    [&](std::size_t begin, std::size_t end) {
                      for (std::size_t r = begin; r < end; ++r) changed[r]->valid = squeeze(*changed[r], from, stays);
                    });
    for (Entry* entry : changed) give_pages(*entry, pages_for(entry->valid));
  }

 private:
  using Place = std::list<Entry>::iterator;
  static constexpr std::size_t kPageBytes = kPage * sizeof(float);
  static constexpr std::size_t kManyRows = 256;  // worth starting threads

  void get_ready(std::size_t pages, int threads) noexcept {
    pool_.make_room(std::min(pages, (limit_ - std::min(limit_, bytes_)) / kPageBytes), threads);
  }
  Place none() const { return const_cast<std::list<Entry>&>(order_).end(); }
  static std::size_t pages_for(std::size_t n) { return (n + kPage - 1) / kPage; }
  void refuse_pinned() const {
    if (pins_ > 0) throw std::logic_error("a kernel row is dropped or moved while somebody holds it");
  }

  void add_pages(Entry& entry, std::size_t n) {
    if (entry.pages.size() * kPage >= n) return;
    entry.pages.reserve(pages_for(n));
    const std::size_t before = entry.pages.size();
    try {
      for (; entry.pages.size() < pages_for(n); bytes_ += kPageBytes) entry.pages.push_back(pool_.take());
    } catch (...) {
      give_pages(entry, before);
      throw;
    }
  }

  void give_pages(Entry& entry, std::size_t left) noexcept {
    for (; entry.pages.size() > left; bytes_ -= kPageBytes) {
      pool_.give(entry.pages.back());
      entry.pages.pop_back();
    }
  }

  /// Moves up the values from `from` on whose slots stay and overwrites what is left behind them; returns how many
  /// values there are then.
  static std::size_t squeeze(Entry& entry, std::size_t from, const std::vector<std::uint8_t>& stays) {
    if (entry.valid <= from) return entry.valid;
    const std::size_t end = std::min(entry.valid, from + stays.size());
    std::size_t to = from, at = from;
    while (at < end) {
      // As long as neither side can leave its page.
      const std::size_t run = std::min({end - at, kPage - at % kPage, kPage - to % kPage});
      to += loops().compress(&entry[at], stays.data() + (at - from), run, &entry[to]);
      at += run;
    }
    for (std::size_t behind = to; behind < entry.valid; behind += kPage - behind % kPage)
      std::fill_n(entry.pages[behind / kPage] + behind % kPage, std::min(kPage - behind % kPage, entry.valid - behind),
                  0.0f);
    return to;
  }

  void erase(Place at) noexcept {
    where_[static_cast<std::size_t>(at->slot)] = none();
    give_pages(*at, 0);
    order_.erase(at);
  }

  /// Drops rows that nobody holds, the least recently used first, until the limit is kept.
  void evict() noexcept {
    for (auto at = order_.end(); bytes_ > limit_ && at != order_.begin();) {
      --at;
      if (at->pins == 0) erase(at++);
    }
  }

  PagePool pool_;
  std::size_t limit_, bytes_ = 0, max_rows_ = ~std::size_t{0}, pins_ = 0;
  std::list<Entry> order_;  // the row used last in front
  std::vector<Place> where_;
};

}  // namespace everlearn
