// The row cache against a plain list of what it must hold.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "cached_rows.hpp"
#include "check.hpp"
#include "problems.hpp"

using namespace everlearn;
using namespace problems;

namespace {

void test_cache_at_random(std::size_t rows_that_fit, std::size_t largest) {
  check::context = "cache for " + std::to_string(rows_that_fit) + " of " + std::to_string(largest) + " rows";
  Random random(rows_that_fit + largest);
  const std::size_t limit = rows_that_fit * CachedRows::bytes_of(1);
  CachedRows rows(limit);
  for (int round = 0; round < 1500; ++round) {
    const std::size_t n = rows.ids.size(), what = below(random, 12);
    if (n == 0 || (what < 3 && n < largest)) {
      const bool all = below(random, 4) > 0;
      rows.add(1 + below(random, largest / 20));
      for (std::size_t s = n; s < rows.ids.size(); ++s)
        if (all || below(random, 2)) rows.use(s);
    } else if (what < 7) {
      for (std::size_t t = below(random, 6) + 1; t > 0; --t) rows.use(below(random, n));
    } else if (what < 8) {
      rows.pin(below(random, n));
    } else if (what < 10) {
      rows.complete_recent(below(random, 20));
    } else {
      // Mostly the last few go, as when a block is closed; now and then a sweep over everything.
      rows.unpin_all();
      const bool sweep = below(random, n > largest ? 2 : 12) == 0;
      const std::size_t from = sweep ? below(random, n) : n - std::min<std::size_t>(n, 1 + below(random, 15));
      Slots kept;
      for (std::size_t s = from; s < n; ++s)
        if (below(random, sweep ? 3 : 2) > 0) kept.push_back(static_cast<std::int64_t>(s));
      rows.keep(from, kept);
    }
    if (round % 10 == 0) rows.check_values();
  }
  rows.check_values();
  rows.unpin_all();
  rows.limit = limit / 2;
  rows.cache.set_limit(limit / 2);
  rows.evict(0);
  rows.check_size();
  CHECK(rows.cache.bytes() <= limit / 2);
}

void test_cache_by_hand() {
  check::context = "cache by hand";
  CachedRows rows(1 << 20);
  rows.add(10);
  for (std::size_t s = 0; s < 10; ++s) CHECK(rows.use(s) == 0);
  rows.add(5);
  for (std::size_t s = 10; s < 15; ++s) rows.use(s);
  CHECK(rows.use(2) == 10);
  rows.complete_recent(7);  // 2, 14 to 10, 9
  CHECK(rows.use(9) == 15 && rows.use(8) == 10 && rows.use(3) == 10);
  rows.keep(2, {3, 4, 14});
  CHECK(rows.use(2) == 5);  // was 3, and was complete
  CHECK(rows.use(3) == 4);  // was 4, and knew up to slot 9
  CHECK(rows.use(4) == 5 && rows.use(0) == 4);
  // However small the limit, the row used last stays, and so does every row that is held.
  CachedRows small(0);
  small.add(300);
  small.use(7);
  CHECK(small.cache.rows() == 1 && small.cache.room_for(300) == 2 && small.cache.room_for(0) == 2);
  CHECK(small.use(9) == 0 && small.use(9) == 300 && small.use(7) == 0);
  small.pin(20), small.pin(21);
  small.use(22), small.use(23);
  CHECK(small.use(20) == 300 && small.use(21) == 300 && small.use(22) == 0);
  CHECK_THROWS(std::logic_error, small.cache.keep(0, Slots{}));
  CHECK_THROWS(std::logic_error, small.cache.clear());
  small.unpin_all();
  small.cache.clear();
  CHECK(small.cache.rows() == 0 && small.cache.bytes() == 0);
}

/// A limit on the number of rows: the row used longest ago goes, unless somebody holds it.
void test_max_rows() {
  check::context = "cache with a limit on rows";
  RowCache cache(1 << 30);
  cache.set_max_rows(3);
  const auto use = [&](std::int64_t slot) -> RowCache::Entry& {
    RowCache::Entry& entry = cache.touch(slot, 10);
    entry.valid = 10;
    return entry;
  };
  for (const std::int64_t slot : {0, 1, 2, 3}) use(slot);
  CHECK(cache.rows() == 3 && cache.find(0) == nullptr && cache.find(1) != nullptr);
  RowCache::Entry& held = use(1);
  cache.pin(held);
  for (const std::int64_t slot : {4, 5, 6}) use(slot);
  CHECK(cache.find(1) == &held);
  cache.unpin(held);
  for (const std::int64_t slot : {7, 8, 9}) use(slot);
  CHECK(cache.find(1) == nullptr && cache.find(9) != nullptr);
  cache.drop_from(8);
  CHECK(cache.find(9) == nullptr && cache.find(8) == nullptr && cache.find(7) != nullptr);
}

/// A row that could not be completed knows nothing, wherever it stands in the list: it must not hide the rows behind it
/// from keep().
void test_incomplete_row() {
  check::context = "incomplete row";
  CachedRows rows(1 << 20);
  rows.add(20);
  for (std::size_t s = 0; s < 20; ++s) rows.use(s);
  rows.cache.touch(3, 20).valid = 0;
  const auto found = rows.at(3);
  found->valid = found->pages = 0;
  std::rotate(rows.recent.begin(), found, found + 1);
  rows.keep(5, {6, 7, 19});
  rows.check_values();
}

}  // namespace

int main() {
  test_cache_by_hand();
  test_max_rows();
  test_incomplete_row();
  for (const std::size_t fit : {0, 1, 3, 20, 200, 100000}) {
    test_cache_at_random(fit, 60);
    test_cache_at_random(fit, 400);
  }
  test_cache_at_random(30, 5000);
  test_cache_at_random(500, 5000);
  return check::summary();
}
