// Kernel rows of kept rows, the least recently used dropped first, under a limit in bytes.
//
// A cached row is as long as the expansion was when it was last used; whoever uses it again fills in the
// rest. So an insertion costs nothing here, however many rows are cached.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "arch/loops.hpp"

namespace everlearn {

class RowCache {
 public:
  struct Entry {
    std::int64_t slot;
    std::size_t valid = 0;     // values known
    std::size_t capacity = 0;  // values that fit
    std::unique_ptr<float[], void (*)(void*)> values{nullptr, std::free};
  };

  explicit RowCache(std::size_t limit_bytes) : limit_(limit_bytes) {}

  std::size_t bytes() const { return bytes_; }
  std::size_t rows() const { return order_.size(); }
  void set_limit(std::size_t bytes) { limit_ = bytes, evict(0, 0); }
  /// How many rows of n values fit, at least two.
  std::size_t room_for(std::size_t n) const {
    return std::max<std::size_t>(2, limit_ / (capacity_for(n) * sizeof(float)));
  }
  bool holds(std::int64_t slot) const { return known(slot) && where_[static_cast<std::size_t>(slot)] != none(); }

  /// The row of `slot` with room for n values, now the most recently used. The `pinned` rows used before
  /// it stay whatever the limit says.
  Entry& touch(std::int64_t slot, std::size_t n, std::size_t pinned) {
    if (!known(slot)) where_.resize(static_cast<std::size_t>(slot) + 1, none());
    auto& at = where_[static_cast<std::size_t>(slot)];
    if (at == none()) {
      order_.push_front(Entry{slot});
      at = order_.begin();
    } else {
      order_.splice(order_.begin(), order_, at);
    }
    if (n > at->capacity) grow(*at, capacity_for(n), pinned);
    return *at;
  }

  /// Completes every cached row up to n values from the cached rows that came after it, K(i, s) = K(s, i), in
  /// one sweep that touches each row once. Rows for which a younger one is missing stay as they are.
  void extend(std::size_t n) {
    constexpr std::size_t kTile = 64;
    std::vector<Entry*> by_slot;
    for (std::size_t s = 0; s < where_.size() && s < n; ++s)
      if (where_[s] != none()) by_slot.push_back(&*where_[s]);
    std::size_t complete = n;  // all of the slots from here on are cached in full
    for (auto at = by_slot.rbegin(); at != by_slot.rend(); ++at) {
      if (static_cast<std::size_t>((*at)->slot) + 1 != complete || (*at)->valid < complete) break;
      --complete;
    }
    for (std::size_t begin = 0; begin < by_slot.size(); begin += kTile) {
      const std::size_t end = std::min(begin + kTile, by_slot.size());
      for (std::size_t i = begin; i < end; ++i) {
        Entry& entry = *by_slot[i];
        if (entry.valid < complete || entry.valid >= n || entry.capacity < n) continue;
        for (std::size_t s = entry.valid; s < n; ++s)
          entry.values[s] = where_[s]->values[static_cast<std::size_t>(entry.slot)];
        entry.valid = n;
      }
    }
  }

  /// Follows the expansion when it drops rows: see Rows::keep.
  void keep(std::size_t from, std::span<const std::int64_t> kept) {
    std::vector<std::int64_t> renamed(where_.size() > from ? where_.size() - from : 0, -1);
    for (std::size_t t = 0; t < kept.size(); ++t)
      if (known(kept[t])) renamed[static_cast<std::size_t>(kept[t]) - from] = static_cast<std::int64_t>(from + t);
    where_.resize(std::min(where_.size(), from));
    where_.resize(from + kept.size(), none());
    // Values known never grow towards the back of the list, and a row knows at least itself: the first row
    // that ends before `from` is followed by rows that need no change.
    for (auto at = order_.begin(); at != order_.end() && at->valid > from;) {
      const auto slot = static_cast<std::size_t>(at->slot);
      if (slot >= from) {
        const std::int64_t name = renamed[slot - from];
        if (name < 0) {
          bytes_ -= at->capacity * sizeof(float);
          at = order_.erase(at);
          continue;
        }
        at->slot = name;
        where_[static_cast<std::size_t>(name)] = at;
      }
      std::size_t to = from;
      for (const auto s : kept) {
        if (static_cast<std::size_t>(s) >= at->valid) break;
        at->values[to++] = at->values[static_cast<std::size_t>(s)];
      }
      at->valid = to;
      ++at;
    }
  }

 private:
  using Place = std::list<Entry>::iterator;

  Place none() const { return const_cast<std::list<Entry>&>(order_).end(); }
  bool known(std::int64_t slot) const { return static_cast<std::size_t>(slot) < where_.size(); }
  static std::size_t capacity_for(std::size_t n) { return round_up(n + n / 8 + kPad, kPad); }

  void grow(Entry& entry, std::size_t capacity, std::size_t pinned) {
    evict((capacity - entry.capacity) * sizeof(float), pinned + 1);
    auto* fresh = static_cast<float*>(std::aligned_alloc(64, capacity * sizeof(float)));
    if (fresh == nullptr) throw std::bad_alloc();
    if (entry.valid > 0) std::memcpy(fresh, entry.values.get(), entry.valid * sizeof(float));
    std::fill(fresh + entry.valid, fresh + capacity, 0.0f);
    bytes_ += (capacity - entry.capacity) * sizeof(float);
    entry.values.reset(fresh);
    entry.capacity = capacity;
  }

  void evict(std::size_t extra, std::size_t pinned) {
    while (bytes_ + extra > limit_ && order_.size() > pinned) {
      bytes_ -= order_.back().capacity * sizeof(float);
      where_[static_cast<std::size_t>(order_.back().slot)] = none();
      order_.pop_back();
    }
  }

  std::size_t limit_, bytes_ = 0;
  std::list<Entry> order_;  // most recently used first
  std::vector<Place> where_;
};

}  // namespace everlearn
