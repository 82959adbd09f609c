// The row cache and the expansion against models that remember everything and compute it again.
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "expansion.hpp"
#include "problems.hpp"

using namespace everlearn;
using namespace problems;

namespace {

// ------------------------------------------------------------------------------------------- row cache

/// A symmetric made-up kernel of row ids.
float made_up(std::int64_t a, std::int64_t b) {
  return static_cast<float>((std::min(a, b) * 131 + std::max(a, b) * 7919) % 100003);
}

/// The cache as an expansion uses it, and a plain list of what it must hold.
struct CachedRows {
  struct Held {
    std::int64_t id;
    std::size_t valid;
  };
  RowCache cache;
  std::size_t limit;
  std::vector<std::int64_t> ids;  // of the slots
  std::vector<Held> recent;       // the last used first
  std::int64_t next = 0;

  explicit CachedRows(std::size_t limit_bytes) : cache(limit_bytes), limit(limit_bytes) {}

  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const Held& held : recent) sum += held.valid * sizeof(float);
    return sum;
  }
  std::size_t slot_of(std::int64_t id) const { return static_cast<std::size_t>(std::find(ids.begin(), ids.end(), id) - ids.begin()); }
  void check_size() const { CHECK(cache.rows() == recent.size() && cache.bytes() == bytes()); }
  void evict(std::size_t extra, std::size_t pinned) {
    while (bytes() + extra > limit && recent.size() > pinned) recent.pop_back();
  }
  void add(std::size_t count) {
    for (; count > 0; --count) ids.push_back(next++);
  }

  /// Touches a row, checks what it knows and completes it; returns how many values were known.
  std::size_t use(std::size_t slot, std::size_t pinned) {
    const std::size_t n = ids.size();
    const std::int64_t id = ids[slot];
    RowCache::Entry& entry = cache.touch(static_cast<std::int64_t>(slot), n, pinned);
    const auto at = std::find_if(recent.begin(), recent.end(), [&](const Held& held) { return held.id == id; });
    const std::size_t known = at == recent.end() ? 0 : at->valid;
    CHECK(entry.slot == static_cast<std::int64_t>(slot) && entry.valid == known);
    bool right = true;
    for (std::size_t s = 0; s < std::min(entry.valid, n); ++s) right &= entry.values()[s] == made_up(id, ids[s]);
    CHECK(right);
    if (at != recent.end()) recent.erase(at);
    recent.insert(recent.begin(), {id, known});
    if (known < n) {
      evict((n - known) * sizeof(float), pinned + 1);
      for (std::size_t s = known; s < n; ++s) entry.values()[s] = made_up(id, ids[s]);
      cache.filled(entry, n);
      recent.front().valid = n;
    }
    check_size();
    if (known < n) CHECK(cache.bytes() <= limit || cache.rows() <= pinned + 1);
    return known;
  }

  /// Which of the least recent rows make way is the cache's choice; what is left must be complete.
  void extend() {
    const std::size_t n = ids.size();
    std::vector<std::size_t> valid(n, 0);
    for (const Held& held : recent) valid[slot_of(held.id)] = held.valid;
    std::size_t complete = n;
    while (complete > 0 && valid[complete - 1] >= n) --complete;
    const std::size_t before = bytes();
    cache.extend(n);
    const bool none_left = cache.rows() == recent.size();
    recent.resize(std::min(recent.size(), cache.rows()));
    for (Held& held : recent)
      if (held.valid >= complete) held.valid = n;
    check_size();
    CHECK(cache.bytes() <= std::max(limit, before));
    CHECK(none_left || cache.bytes() <= limit || cache.rows() <= n - complete + 1);
  }

  void keep(std::size_t from, const Slots& kept) {
    cache.keep(from, kept);
    std::vector<std::int64_t> left(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(from));
    for (const auto s : kept) left.push_back(ids[static_cast<std::size_t>(s)]);
    std::erase_if(recent, [&](const Held& held) { return std::find(left.begin(), left.end(), held.id) == left.end(); });
    for (Held& held : recent)
      if (held.valid > from)
        held.valid = from + static_cast<std::size_t>(std::lower_bound(kept.begin(), kept.end(), static_cast<std::int64_t>(held.valid)) - kept.begin());
    ids = left;
    check_size();
  }
};

void test_cache_at_random(std::size_t limit, std::size_t largest) {
  check::context = "cache of " + std::to_string(limit) + " bytes, up to " + std::to_string(largest) + " rows";
  Random random(limit + largest);
  CachedRows rows(limit);
  for (int round = 0; round < 2500; ++round) {
    const std::size_t n = rows.ids.size(), what = below(random, 10);
    if (n == 0 || (what < 3 && n < largest)) {
      const bool all = below(random, 4) > 0;
      rows.add(1 + below(random, 12));
      for (std::size_t s = n; s < rows.ids.size(); ++s)
        if (all || below(random, 2)) rows.use(s, 0);
    } else if (what < 7) {
      for (std::size_t t = below(random, 6) + 1; t > 0; --t) rows.use(below(random, n), below(random, 4));
    } else if (what < 9) {
      rows.extend();
    } else {
      // Mostly the last few go, as when a block is closed; now and then a sweep over everything.
      const bool sweep = below(random, n > largest ? 2 : 12) == 0;
      const std::size_t from = sweep ? below(random, n) : n - std::min<std::size_t>(n, 1 + below(random, 15));
      Slots kept;
      for (std::size_t s = from; s < n; ++s)
        if (below(random, sweep ? 3 : 2) > 0) kept.push_back(static_cast<std::int64_t>(s));
      rows.keep(from, kept);
    }
  }
  for (std::size_t s = 0; s < rows.ids.size(); ++s) rows.use(s, 0);
  rows.limit = limit / 2;
  rows.cache.set_limit(limit / 2);
  rows.evict(0, 0);
  rows.check_size();
}

void test_cache_by_hand() {
  check::context = "cache by hand";
  CachedRows rows(1 << 20);
  rows.add(10);
  for (std::size_t s = 0; s < 10; ++s) CHECK(rows.use(s, 0) == 0);
  rows.add(5);
  for (std::size_t s = 10; s < 15; ++s) rows.use(s, 0);
  CHECK(rows.use(2, 0) == 10);  // nobody has completed it yet
  rows.extend();
  CHECK(rows.use(3, 0) == 15);
  CHECK(rows.use(0, 0) == 15);
  rows.add(2);
  rows.use(16, 0);  // 15 is missing
  rows.extend();
  CHECK(rows.use(3, 0) == 15);
  rows.keep(2, {3, 4, 16});
  CHECK(rows.use(2, 0) == 5);  // was 3, and was complete
  CHECK(rows.use(3, 0) == 4);  // was 4, and knew up to slot 14
  CHECK(rows.use(4, 0) == 5);
  // At least two rows fit, however small the limit, and the pinned one stays.
  CachedRows small(0);
  small.add(300);
  small.use(7, 1), small.use(9, 1);
  CHECK(small.cache.rows() == 2 && small.cache.room_for(300) == 2);
  small.use(8, 1);
  CHECK(small.use(9, 1) == 300 && small.use(7, 1) == 0);
}

// ------------------------------------------------------------------------------------------- expansion

/// Drives an expansion by a random script and checks it against the whole kernel matrix. The script does not
/// look at the cache or the threads, so that runs which differ in them only must leave the same trace.
template <class T>
struct Script {
  Random random;
  Layout layout;
  const Table<T>& table;
  std::unique_ptr<Matrix> truth;
  std::vector<std::int32_t> labels;
  std::vector<double> costs, trace;
  Expansion expansion;

  Script(std::uint64_t seed, const Table<T>& rows, Layout kept_as, std::size_t columns, std::size_t cache)
      : random(seed), layout(kept_as), table(rows), expansion(make(kept_as), columns, cache) {
    auto direct = make(layout == Layout::external ? Layout::dense : layout);
    truth = gram(*direct, table.dense());
    for (std::size_t r = 0; r < table.rows; ++r) {
      labels.push_back(static_cast<std::int32_t>(below(random, std::max<std::size_t>(2, columns))));
      costs.push_back(uniform(random, 0.5, 3));
    }
    for (std::size_t c = 0; c < columns; ++c) expansion.column(c).live = true, expansion.column(c).ends = expansion.scan(c);
  }
  std::unique_ptr<Rows> make(Layout as) const {
    return make_rows(as, Table<T>::precision(), table.width, {KernelKind::rbf, 0.7, 0, 1}, {});
  }
  float kernel(std::int64_t a, std::int64_t b) const { return (*truth)[static_cast<std::size_t>(a)][b]; }

  /// Rows of the table as the expansion wants them: features, or values against the kept rows and each other.
  Table<double> block(const Slots& which, bool with_each_other) const {
    Slots others;
    for (std::size_t s = 0; s < expansion.size(); ++s) others.push_back(expansion.id(s));
    if (with_each_other) others.insert(others.end(), which.begin(), which.end());
    const std::size_t width = layout == Layout::external ? others.size() : table.width;
    std::vector<double> values;
    for (const auto r : which)
      for (std::size_t k = 0; k < width; ++k)
        values.push_back(layout == Layout::external ? kernel(r, others[k]) : double(table.row(static_cast<std::size_t>(r))[k]));
    return {which.size(), width, values};
  }

  Slots members(std::size_t c) const {
    Slots found;
    for (std::size_t s = 0; s < expansion.size(); ++s)
      if (expansion.column(c).member[s]) found.push_back(static_cast<std::int64_t>(s));
    return found;
  }

  /// A step of random length on a random pair.
  void step(std::size_t c) {
    const Slots from = members(c);
    if (from.size() < 2) return;
    Column& column = expansion.column(c);
    const std::int64_t up = from[below(random, from.size())], down = from[below(random, from.size())];
    const auto i = static_cast<std::size_t>(up), j = static_cast<std::size_t>(down);
    const double room = std::min(expansion.upper(c, i) - column.alpha[i], column.alpha[j] - expansion.lower(c, j));
    if (room <= 0 || i == j) return;
    const bool all_the_way = below(random, 3) == 0;
    const double length = all_the_way ? room : room * uniform(random, 0, 0.5);
    const bool up_arrives = all_the_way && expansion.upper(c, i) - column.alpha[i] == room;
    const bool down_arrives = all_the_way && column.alpha[j] - expansion.lower(c, j) == room;
    expansion.set_alpha(c, i, up_arrives ? expansion.upper(c, i) : column.alpha[i] + length);
    expansion.set_alpha(c, j, down_arrives ? expansion.lower(c, j) : column.alpha[j] - length);
    const float* ki = expansion.row(up);
    const float* kj = expansion.row(down);
    column.ends = loops().step(column.g.data(), column.gate.data(), ki, kj, length, expansion.size());
  }

  void leave_some(std::size_t c, std::size_t one_in) {
    for (const auto slot : members(c)) {
      const auto s = static_cast<std::size_t>(slot);
      if (expansion.column(c).alpha[s] == 0.0 && below(random, one_in) == 0) expansion.leave(c, s);
    }
    expansion.column(c).ends = expansion.scan(c);
  }

  bool used(std::size_t s) const {
    for (std::size_t c = 0; c < expansion.columns(); ++c)
      if (expansion.column(c).member[s]) return true;
    return false;
  }

  void play(std::size_t blocks, std::size_t largest, bool verifying) {
    for (std::size_t b = 0; b < blocks; ++b) {
      Slots which;
      const std::size_t count = b % 17 == 5 ? 0 : 1 + below(random, largest);
      while (which.size() < count) {
        const auto id = static_cast<std::int64_t>(below(random, table.rows));
        if (expansion.find(id) < 0 && std::find(which.begin(), which.end(), id) == which.end()) which.push_back(id);
      }
      std::vector<std::int32_t> y;
      std::vector<double> cost;
      for (const auto id : which) y.push_back(labels[static_cast<std::size_t>(id)]), cost.push_back(costs[static_cast<std::size_t>(id)]);
      const Table<double> rows = block(which, true);
      const auto batch = expansion.rows().take(below(random, 2) || layout == Layout::external ? rows.dense() : rows.sparse(), first(which.size()));
      const std::size_t old = expansion.size();
      if (below(random, 3) == 0) {
        Matrix known(which.size(), round_up(old, kPad));
        expansion.evaluate(*batch, which.size(), known.rows.data());
        expansion.open_block(*batch, {which, y, cost, known.rows.data()});
      } else {
        expansion.open_block(*batch, {which, y, cost});
      }
      CHECK_THROWS(std::logic_error, expansion.open_block(*batch, {which, y, cost}));
      if (verifying && b % 3 == 0) verify();
      for (std::size_t s = old; s < expansion.size(); ++s)
        for (std::size_t c = 0; c < expansion.columns(); ++c) {
          if (below(random, 3) > 0) expansion.join(c, s);
          for (int t = 0; t < 3; ++t) step(c);
        }
      for (std::size_t c = 0; c < expansion.columns(); ++c) leave_some(c, 2 + b % 3);
      const bool keep_all = below(random, 5) == 0;
      Slots before, wanted;
      for (std::size_t s = 0; s < expansion.size(); ++s) {
        before.push_back(expansion.id(s));
        if (s < old || keep_all || used(s)) wanted.push_back(expansion.id(s));
      }
      Slots in_use;
      for (std::size_t s = 0; s < expansion.size(); ++s)
        if (used(s)) in_use.push_back(expansion.id(s));
      expansion.close_block(keep_all);
      const Slots now = ids();
      CHECK(now == wanted || (!keep_all && now == in_use));
      if (below(random, 8) == 0) {
        expansion.compact();
        CHECK(ids() == in_use);
      }
      for (const auto id : before) CHECK(expansion.find(id) >= 0 || std::find(in_use.begin(), in_use.end(), id) == in_use.end());
      for (std::size_t c = 0; c < expansion.columns(); ++c) step(c), step(c);
      if (below(random, 3) == 0) several_rows();
      if (verifying) verify();
      record();
    }
  }

  Slots ids() const {
    Slots found;
    for (std::size_t s = 0; s < expansion.size(); ++s) found.push_back(expansion.id(s));
    return found;
  }

  void several_rows() {
    Slots slots;
    for (std::size_t s = 0; s < expansion.size() && slots.size() < 30; ++s)
      if (below(random, 4) == 0) slots.push_back(static_cast<std::int64_t>(s));
    std::shuffle(slots.begin(), slots.end(), random);
    const auto rows = expansion.rows_of(slots);
    bool right = true;
    for (std::size_t r = 0; r < slots.size(); ++r)
      for (std::size_t s = 0; s < expansion.size(); ++s)
        right &= rows[r][s] == kernel(expansion.id(static_cast<std::size_t>(slots[r])), expansion.id(s));
    CHECK(right);
  }

  std::vector<double> decide(const Slots& which) const {
    const Table<double> rows = block(which, false);
    std::vector<double> out(which.size() * expansion.columns());
    expansion.decide(layout == Layout::sparse ? rows.sparse() : rows.dense(), out.data());
    return out;
  }

  void record() {
    for (std::size_t c = 0; c < expansion.columns(); ++c) {
      expansion.column(c).bias = 0.25;
      for (std::size_t s = 0; s < expansion.size(); ++s) trace.push_back(expansion.column(c).alpha[s]), trace.push_back(expansion.column(c).g[s]);
    }
    Slots which;
    for (std::size_t r = 0; r < table.rows; r += 7) which.push_back(static_cast<std::int64_t>(r));
    const auto f = decide(which);
    trace.insert(trace.end(), f.begin(), f.end());
  }

  void verify() {
    const std::size_t n = expansion.size();
    bool right = true;
    for (const std::size_t flip : {0, 1})  // in both directions: what was touched last is met first, or last
      for (std::size_t t = 0; t < n; ++t) {
        const std::size_t s = flip ? n - 1 - t : t;
        const float* row = expansion.row(static_cast<std::int64_t>(s));
        for (std::size_t u = 0; u < n; ++u) right &= row[u] == kernel(expansion.id(s), expansion.id(u));
        right &= expansion.diagonal(s) == double(row[s]) && double(expansion.diagonals()[s]) == expansion.diagonal(s);
      }
    CHECK(right);
    for (std::size_t r = 0; r < table.rows; ++r) {
      const auto id = static_cast<std::int64_t>(r), slot = expansion.find(id);
      const Slots all = ids();
      const auto at = std::find(all.begin(), all.end(), id);
      CHECK(slot == (at == all.end() ? -1 : at - all.begin()));
      if (slot >= 0) CHECK(expansion.label(static_cast<std::size_t>(slot)) == labels[r] && expansion.cost(static_cast<std::size_t>(slot)) == costs[r]);
    }
    const Slots which{0, static_cast<std::int64_t>(table.rows / 2), static_cast<std::int64_t>(table.rows - 1)};
    const auto f = decide(which);
    for (std::size_t c = 0; c < expansion.columns(); ++c) {
      const Column& column = expansion.column(c);
      const auto output = [&](std::int64_t id) {
        double sum = 0;
        for (std::size_t s = 0; s < n; ++s) sum += column.alpha[s] * kernel(expansion.id(s), id);
        return sum;
      };
      double worst = 0;
      bool gates = true, idle = true;
      for (std::size_t s = 0; s < n; ++s) {
        const bool positive = labels[static_cast<std::size_t>(expansion.id(s))] == (expansion.columns() == 1 ? 1 : static_cast<std::int32_t>(c));
        const double cost = costs[static_cast<std::size_t>(expansion.id(s))], y = positive ? 1 : -1;
        worst = std::max(worst, std::abs(column.g[s] - (y - output(expansion.id(s)))));
        const bool rises = column.alpha[s] < (positive ? cost : 0.0), falls = column.alpha[s] > (positive ? 0.0 : -cost);
        gates &= column.gate[s] == (column.member[s] ? (rises ? kMayRise : 0) + (falls ? kMayFall : 0) : 0);
        if (!column.member[s]) gates &= column.alpha[s] == 0.0;
        else if (column.alpha[s] == 0.0) idle &= column.is_idle[s] && std::find(column.idle.begin(), column.idle.end(), static_cast<std::int64_t>(s)) != column.idle.end();
      }
      for (std::size_t s = n; s < round_up(n, kPad); ++s) gates &= column.gate[s] == 0 && column.alpha[s] == 0.0;
      CHECK(worst < 1e-9);
      CHECK(gates);
      CHECK(idle);
      for (std::size_t r = 0; r < which.size(); ++r) CHECK_NEAR(f[r * expansion.columns() + c], output(which[r]) + column.bias, 1e-9);
    }
  }
};

template <class T>
void test_scripts(Layout layout, std::size_t columns) {
  Random random(99);
  const Table<T> table = random_table<T>(random, 260, 5, 0.6);
  std::vector<double> traces[3];
  const std::size_t caches[] = {std::size_t{1} << 40, 0, 20000};
  for (int run = 0; run < (layout == Layout::external ? 1 : 3); ++run) {
    check::context = "expansion layout " + std::to_string(static_cast<int>(layout)) + (sizeof(T) == 4 ? " f32" : " f64") +
                     " columns " + std::to_string(columns) + " cache " + std::to_string(caches[run]);
    Script<T> script(columns, table, layout, columns, caches[run]);
    script.play(60, 14, run == 0);
    if (run == 2) script.verify();
    traces[run] = script.trace;
    CHECK(script.trace.size() > 1000 && (run == 0 || same_bits(traces[run], traces[0])));
  }
}

/// Large enough that every loop that can be shared out is.
void test_threads() {
  Random random(7);
  const Table<float> table = random_table<float>(random, 3000, 3, 1.0);
  std::vector<double> traces[3];
  for (int run = 0; run < 3; ++run) {
    check::context = "expansion with " + std::to_string(run + 1) + " threads";
    Script<float> script(4, table, Layout::dense, 1, 1 << 20);
    script.expansion.set_threads(run + 1);
    script.play(16, 256, false);
    traces[run] = script.trace;
    CHECK(script.expansion.size() > 900 && same_bits(traces[run], traces[0]));
  }
}

/// A row whose kernel with itself is not finite is refused, and leaves nothing behind.
void test_overflow() {
  check::context = "overflow";
  Expansion expansion(make_rows(Layout::dense, Precision::f64, 1, {KernelKind::polynomial, 1, 0, 9}, {}), 1, 1 << 20);
  const Table<double> rows(3, 1, {1, 2, 1e5});
  const std::vector<std::int32_t> labels{0, 1, 1};
  const std::vector<double> costs(3, 1.0);
  const Slots ids{10, 11, 12};
  const auto open = [&](const Slots& which) {
    Slots named;
    for (const auto r : which) named.push_back(ids[static_cast<std::size_t>(r)]);
    expansion.open_block(*expansion.rows().take(rows.dense(), which), {named, labels, costs});
  };
  open({0});
  expansion.join(0, 0);
  expansion.close_block(false);
  CHECK_THROWS(std::overflow_error, open({1, 2}));
  CHECK(expansion.size() == 1 && expansion.rows().size() == 1 && expansion.find(11) == -1 && expansion.find(12) == -1);
  open({1});
  CHECK(expansion.size() == 2 && expansion.find(11) == 1 && expansion.row(0)[1] == 512.0f && expansion.row(1)[0] == 512.0f);
}

}  // namespace

int main() {
  test_cache_by_hand();
  for (const std::size_t largest : {40, 150, 400})
    for (const std::size_t limit : {0, 2000, 30000, 200000, 100000000}) test_cache_at_random(limit, largest);
  for (const std::size_t columns : {1, 3}) {
    test_scripts<float>(Layout::dense, columns), test_scripts<double>(Layout::dense, columns);
    test_scripts<float>(Layout::sparse, columns), test_scripts<double>(Layout::sparse, columns);
    check::guard([&] { test_scripts<float>(Layout::external, columns); });
  }
  test_threads();
  test_overflow();
  return check::summary();
}
