// Kernel rows of kept rows, the least recently used dropped first, under a limit in bytes.
//
// A cached row may be shorter than the expansion: the rows used last are completed block by block, the others
// when they are used again, instead of writing a column into every row at each insertion.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <list>
#include <span>
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
    int pins = 0;           // users that hold it right now
    std::vector<float*> pages{};

    float& operator[](std::size_t s) { return pages[s / kPage][s % kPage]; }
    float operator[](std::size_t s) const { return pages[s / kPage][s % kPage]; }
    RowView view() const { return {pages.data()}; }
  };

  explicit RowCache(std::size_t limit_bytes) : limit_(limit_bytes) {}

  std::size_t bytes() const { return bytes_; }
  std::size_t rows() const { return order_.size(); }
  void set_limit(std::size_t bytes) {
    limit_ = bytes;
    evict(0, 0);
  }
  /// Rows to keep at most, whatever the limit in bytes says.
  void set_most_rows(std::size_t rows) { most_rows_ = rows; }
  /// How many rows of n values fit, at least two.
  std::size_t room_for(std::size_t n) const {
    return std::max<std::size_t>(2, limit_ / (std::max<std::size_t>(pages_for(n), 1) * kPageBytes));
  }

  /// The row of `slot`, now the most recently used, with room for n values: the caller writes those behind
  /// `valid` and sets it. The `recent` rows used before it stay whatever the limit says.
  Entry& touch(std::int64_t slot, std::size_t n, std::size_t recent) {
    if (static_cast<std::size_t>(slot) >= where_.size()) where_.resize(static_cast<std::size_t>(slot) + 1, none());
    auto& at = where_[static_cast<std::size_t>(slot)];
    if (at == none()) {
      order_.push_front(Entry{slot});
      at = order_.begin();
    } else if (at != order_.begin()) {
      order_.splice(order_.begin(), order_, at);
    }
    if (n > at->pages.size() * kPage) {
      evict((pages_for(n) - at->pages.size()) * kPageBytes, recent + 1);
      make_room(*at, n);
    }
    if (order_.size() > most_rows_ && order_.size() > recent + 1 && order_.back().pins == 0) drop_last();
    return *at;
  }

  /// Forgets every row, also those that somebody holds.
  void clear() {
    for (auto& at : where_) at = none();
    for (auto at = order_.begin(); at != order_.end();) at = drop(at);
  }

  /// The row of `slot` if it is cached, whatever its length, and null otherwise.
  const Entry* peek(std::size_t slot) const { return holds(slot) ? &*where_[slot] : nullptr; }

  /// Lets go of a row that was pinned.
  void unpin(std::int64_t slot) { --where_[static_cast<std::size_t>(slot)]->pins; }

  /// Calls complete(entry) for the `count` rows used last, with room for n values, as long as they fit.
  template <class F>
  void each_recent(std::size_t count, std::size_t n, F&& complete) {
    for (auto at = order_.begin(); at != order_.end() && count > 0; ++at, --count) {
      const std::size_t more = pages_for(n) - std::min(pages_for(n), at->pages.size());
      if (bytes_ + more * kPageBytes > limit_) return;
      make_room(*at, n);
      complete(*at);
    }
  }

  /// Follows the expansion when it drops rows: see Rows::keep.
  void keep(std::size_t from, std::span<const std::int64_t> kept) {
    std::vector<std::int64_t> renamed(where_.size() > from ? where_.size() - from : 0, -1);
    for (std::size_t t = 0; t < kept.size(); ++t)
      if (static_cast<std::size_t>(kept[t]) < where_.size())
        renamed[static_cast<std::size_t>(kept[t]) - from] = static_cast<std::int64_t>(from + t);
    std::vector<std::uint8_t> stays(kept.empty() ? 0 : static_cast<std::size_t>(kept.back()) + 1 - from, 0);
    for (const auto s : kept) stays[static_cast<std::size_t>(s) - from] = 1;
    where_.resize(std::min(where_.size(), from));
    where_.resize(from + kept.size(), none());
    // Values known never grow towards the back of the list, and a row knows at least itself: the first row
    // that ends before `from` is followed by rows that need no change.
    for (auto at = order_.begin(); at != order_.end() && at->valid > from;) {
      const auto slot = static_cast<std::size_t>(at->slot);
      if (slot >= from) {
        const std::int64_t name = renamed[slot - from];
        if (name < 0) {
          at = drop(at);
          continue;
        }
        at->slot = name;
        where_[static_cast<std::size_t>(name)] = at;
      }
      at->valid = squeeze(*at, from, stays);
      release(*at, pages_for(at->valid));
      ++at;
    }
  }

 private:
  using Place = std::list<Entry>::iterator;
  static constexpr std::size_t kPageBytes = kPage * sizeof(float);

  Place none() const { return const_cast<std::list<Entry>&>(order_).end(); }
  bool holds(std::size_t slot) const { return slot < where_.size() && where_[slot] != none(); }
  static std::size_t pages_for(std::size_t n) { return (n + kPage - 1) / kPage; }

  void make_room(Entry& entry, std::size_t n) {
    while (entry.pages.size() * kPage < n) {
      entry.pages.push_back(pool_.take());
      bytes_ += kPageBytes;
    }
  }

  /// Moves up the values from `from` on whose slots stay, and overwrites what was behind them; returns how many values
  /// there are then. Without a branch on what stays: every value is written, and the place to write moves on if it stays.
  static std::size_t squeeze(Entry& entry, std::size_t from, const std::vector<std::uint8_t>& stays) {
    const std::size_t end = std::min(entry.valid, from + stays.size());
    std::size_t to = from, at = from;
    while (at < end) {
      const float* source = entry.pages[at / kPage];
      float* target = entry.pages[to / kPage];
      // As long as neither side can leave its page.
      const std::size_t run = std::min({end - at, kPage - at % kPage, kPage - to % kPage});
      const std::uint8_t* flag = stays.data() + (at - from);
      std::size_t s = at % kPage, t = to % kPage;
      const std::size_t first = t;
      for (std::size_t k = 0; k < run; ++k) {
        target[t] = source[s + k];
        t += flag[k];
      }
      to += t - first;
      at += run;
    }
    for (std::size_t behind = to; behind < entry.valid; behind += kPage - behind % kPage)
      std::fill_n(entry.pages[behind / kPage] + behind % kPage,
                  std::min(kPage - behind % kPage, entry.valid - behind), 0.0f);
    return to;
  }

  void release(Entry& entry, std::size_t pages) {
    for (; entry.pages.size() > pages; entry.pages.pop_back()) {
      pool_.give(entry.pages.back());
      bytes_ -= kPageBytes;
    }
  }

  Place drop(Place at) {
    release(*at, 0);
    return order_.erase(at);
  }

  void drop_last() {
    where_[static_cast<std::size_t>(order_.back().slot)] = none();
    drop(std::prev(order_.end()));
  }

  /// Makes way for `extra` bytes, sparing the `recent` rows used last and those that somebody holds.
  void evict(std::size_t extra, std::size_t recent) {
    auto at = order_.end();
    for (std::size_t left = order_.size(); bytes_ + extra > limit_ && left > recent; --left) {
      --at;
      if (at->pins > 0) continue;
      where_[static_cast<std::size_t>(at->slot)] = none();
      at = drop(at);
    }
  }

  PagePool pool_;
  std::size_t limit_, bytes_ = 0, most_rows_ = ~std::size_t{0};
  std::list<Entry> order_;  // most recently used first
  std::vector<Place> where_;
};

}  // namespace everlearn
