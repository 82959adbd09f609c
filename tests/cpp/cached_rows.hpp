// The row cache next to a plain list of what it must hold.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "check.hpp"
#include "problems.hpp"
#include "row_cache.hpp"

/// A symmetric made-up kernel of row ids.
inline float made_up(std::int64_t a, std::int64_t b) {
  return static_cast<float>((std::min(a, b) * 131 + std::max(a, b) * 7919) % 100003);
}

/// Uses the cache as an expansion does: whoever touches a row fills in what is missing.
struct CachedRows {
  struct Held {
    std::int64_t id;
    std::size_t valid, pages;
    everlearn::RowCache::Entry* pinned;  // null if nobody holds it
  };
  everlearn::RowCache cache;
  std::size_t limit;
  std::vector<std::int64_t> ids;  // of the slots
  std::vector<Held> recent;       // the last used first
  std::int64_t next = 0;

  explicit CachedRows(std::size_t limit_bytes) : cache(limit_bytes), limit(limit_bytes) {}

  static std::size_t pages_for(std::size_t n) { return (n + everlearn::kPage - 1) / everlearn::kPage; }
  static std::size_t bytes_of(std::size_t pages) { return pages * everlearn::kPage * sizeof(float); }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const Held& held : recent) sum += bytes_of(held.pages);
    return sum;
  }
  std::size_t pins() const {
    std::size_t count = 0;
    for (const Held& held : recent) count += held.pinned != nullptr;
    return count;
  }
  std::vector<Held>::iterator at(std::int64_t id) {
    return std::find_if(recent.begin(), recent.end(), [&](const Held& held) { return held.id == id; });
  }
  void add(std::size_t count) {
    for (; count > 0; --count) ids.push_back(next++);
  }

  void check_size() const { CHECK(cache.rows() == recent.size() && cache.bytes() == bytes()); }

  void check_values() const {
    std::unordered_map<std::int64_t, std::size_t> slots;
    for (std::size_t s = 0; s < ids.size(); ++s) slots[ids[s]] = s;
    std::size_t found = 0;
    for (std::size_t s = 0; s < ids.size() + 10; ++s) found += cache.find(s) != nullptr;
    CHECK(found == recent.size());
    for (const Held& held : recent) {
      const auto* entry = cache.find(slots.at(held.id));
      CHECK(entry != nullptr && entry->valid == held.valid && entry->pages.size() == held.pages);
      if (entry == nullptr) continue;
      bool right = entry->slot == static_cast<std::int64_t>(slots.at(held.id));
      for (std::size_t s = 0; s < held.valid; ++s) right &= entry->view()[s] == made_up(held.id, ids[s]);
      CHECK(right);
    }
  }

  /// Drops what nobody holds, the least recently used first; the first `spared` rows stay.
  void evict(std::size_t spared) {
    for (std::size_t left = recent.size(); bytes() > limit && left > spared; --left)
      if (!recent[left - 1].pinned) recent.erase(recent.begin() + static_cast<std::ptrdiff_t>(left - 1));
  }

  /// Touches a row and completes it; returns how many values it knew.
  std::size_t use(std::size_t slot) {
    const std::size_t n = ids.size();
    auto& entry = cache.touch(static_cast<std::int64_t>(slot), n);
    Held held{ids[slot], 0, 0, nullptr};
    if (const auto found = at(held.id); found != recent.end()) {
      held = *found;
      recent.erase(found);
    }
    recent.insert(recent.begin(), held);
    const std::size_t known = held.valid;
    CHECK(entry.valid == known);
    if (pages_for(n) > held.pages) {
      recent.front().pages = pages_for(n);
      evict(1);
      CHECK(cache.bytes() <= limit || cache.rows() <= 1 + pins());
    }
    for (std::size_t s = entry.valid; s < n; ++s) entry[s] = made_up(held.id, ids[s]);
    entry.valid = recent.front().valid = n;
    check_size();
    return known;
  }

  /// Pins a row, or lets go of it.
  void pin(std::size_t slot) {
    use(slot);
    auto& entry = cache.touch(static_cast<std::int64_t>(slot), ids.size());
    auto& pinned = recent.front().pinned;
    if (pinned) CHECK(pinned == &entry);  // it has not moved
    pinned ? cache.unpin(entry) : cache.pin(entry);
    pinned = pinned ? nullptr : &entry;
  }
  void unpin_all() {
    for (Held& held : recent)
      if (held.pinned) {
        cache.unpin(*held.pinned);
        held.pinned = nullptr;
      }
  }

  void complete_recent(std::size_t count) {
    const std::size_t n = ids.size();
    for (everlearn::RowCache::Entry* entry : cache.recent(count, n)) {
      const std::int64_t id = ids[static_cast<std::size_t>(entry->slot)];
      for (std::size_t s = entry->valid; s < n; ++s) (*entry)[s] = made_up(id, ids[s]);
      entry->valid = n;
    }
    for (std::size_t k = 0; k < std::min(count, recent.size()); ++k) {
      const std::size_t pages = std::max(recent[k].pages, pages_for(n));
      if (bytes() + bytes_of(pages - recent[k].pages) > limit) break;
      recent[k].pages = pages, recent[k].valid = n;
    }
    check_size();
  }

  void keep(std::size_t from, const problems::Slots& kept) {
    cache.keep(from, kept);
    std::vector<std::int64_t> left(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(from));
    for (const auto s : kept) left.push_back(ids[static_cast<std::size_t>(s)]);
    ids = left;  // ascending, since rows keep their order
    std::erase_if(recent, [&](const Held& held) { return !std::binary_search(ids.begin(), ids.end(), held.id); });
    for (Held& held : recent)
      if (held.valid > from) {
        const auto end = std::lower_bound(kept.begin(), kept.end(), static_cast<std::int64_t>(held.valid));
        held.valid = from + static_cast<std::size_t>(end - kept.begin());
        held.pages = pages_for(held.valid);
      }
    check_size();
  }
};
