// A random script that drives an expansion and checks it against the whole kernel matrix.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "check.hpp"
#include "expansion.hpp"
#include "problems.hpp"

/// The script does not look at the cache or the threads: runs that differ in them only must leave the same trace.
template <class T>
struct Script {
  using Slots = problems::Slots;

  problems::Random random;
  everlearn::Layout layout;
  const problems::Table<T>& table;
  std::unique_ptr<problems::Matrix> truth;
  std::vector<std::int32_t> labels;
  std::vector<double> costs, trace;
  std::size_t one_leaves_in = 2;  // of the members without a coefficient, after each block
  everlearn::Expansion expansion;

  Script(std::uint64_t seed, const problems::Table<T>& rows, everlearn::Layout kept_as, std::size_t columns,
         std::size_t cache)
      : random(seed), layout(kept_as), table(rows), expansion(make(kept_as), columns, cache) {
    auto direct = make(layout == everlearn::Layout::external ? everlearn::Layout::dense : layout);
    truth = problems::gram(*direct, table.dense());
    for (std::size_t r = 0; r < table.rows; ++r) {
      labels.push_back(static_cast<std::int32_t>(draw(std::max<std::size_t>(2, columns))));
      costs.push_back(problems::uniform(random, 0.5, 3));
    }
    for (std::size_t c = 0; c < columns; ++c) {
      expansion.column(c).live = true;
      expansion.column(c).ends = expansion.scan(c);
      expansion.column(c).bias = 0.25;
    }
  }
  std::size_t draw(std::size_t n) { return problems::below(random, n); }
  std::unique_ptr<everlearn::Rows> make(everlearn::Layout as) const {
    const everlearn::Kernel kernel{everlearn::KernelKind::rbf, 3.0 / static_cast<double>(table.width), 0, 1};
    return make_rows(as, problems::Table<T>::precision(), table.width, kernel, {});
  }
  float kernel(std::int64_t a, std::int64_t b) const { return (*truth)[static_cast<std::size_t>(a)][b]; }

  Slots ids() const {
    Slots found;
    for (std::size_t s = 0; s < expansion.size(); ++s) found.push_back(expansion.id(s));
    return found;
  }
  Slots members(std::size_t c) const {
    Slots found;
    for (std::size_t s = 0; s < expansion.size(); ++s)
      if (expansion.column(c).member[s]) found.push_back(static_cast<std::int64_t>(s));
    return found;
  }
  bool used(std::size_t s) const {
    for (std::size_t c = 0; c < expansion.columns(); ++c)
      if (expansion.column(c).member[s]) return true;
    return false;
  }

  /// Rows of the table as the expansion wants them: features, or values against the kept rows and each other.
  problems::Table<double> block(const Slots& which, bool with_each_other) const {
    Slots others = ids();
    if (with_each_other) others.insert(others.end(), which.begin(), which.end());
    const bool external = layout == everlearn::Layout::external;
    const std::size_t width = external ? others.size() : table.width;
    std::vector<double> values;
    for (const auto r : which)
      for (std::size_t k = 0; k < width; ++k)
        values.push_back(external ? kernel(r, others[k]) : double(table.row(static_cast<std::size_t>(r))[k]));
    return {which.size(), width, values};
  }

  /// A step on a random pair, some way or all the way to the box.
  void step(std::size_t c) {
    const Slots from = members(c);
    if (from.size() < 2) return;
    everlearn::Column& column = expansion.column(c);
    const std::int64_t up = from[draw(from.size())], down = from[draw(from.size())];
    const auto i = static_cast<std::size_t>(up), j = static_cast<std::size_t>(down);
    const double room_up = expansion.upper(c, i) - column.alpha[i], room_down = column.alpha[j] - expansion.lower(c, j);
    const double room = std::min(room_up, room_down);
    if (room <= 0 || i == j) return;
    const double length = draw(3) == 0 ? room : room * problems::uniform(random, 0, 0.5);
    expansion.set_alpha(c, i, length == room_up ? expansion.upper(c, i) : column.alpha[i] + length);
    expansion.set_alpha(c, j, length == room_down ? expansion.lower(c, j) : column.alpha[j] - length);
    column.ends = expansion.descend_pair(c, expansion.hold(up), expansion.hold(down), length);
  }

  /// Several steps at once, on rows that are not all cached.
  void descend(std::size_t c) {
    Slots slots = members(c);
    std::shuffle(slots.begin(), slots.end(), random);
    slots.resize(std::min<std::size_t>(slots.size(), 1 + draw(40)));
    const everlearn::HeldRows rows = expansion.hold(slots);
    bool right = true;
    std::vector<double> moves;
    for (std::size_t r = 0; r < slots.size(); ++r) {
      const auto s = static_cast<std::size_t>(slots[r]);
      for (std::size_t u = 0; u < expansion.size(); ++u)
        right &= rows[r][u] == kernel(expansion.id(s), expansion.id(u));
      const double target = problems::uniform(random, expansion.lower(c, s), expansion.upper(c, s));
      moves.push_back(target - expansion.column(c).alpha[s]);
      expansion.set_alpha(c, s, target);
    }
    CHECK(right);
    expansion.descend(c, rows.views(), moves);
    expansion.column(c).ends = expansion.scan(c);
  }

  void leave_some(std::size_t c, std::size_t one_in) {
    for (const auto slot : members(c)) {
      const auto s = static_cast<std::size_t>(slot);
      if (expansion.column(c).alpha[s] == 0.0 && draw(one_in) == 0) expansion.leave(c, s);
    }
    expansion.column(c).ends = expansion.scan(c);
  }

  void open(std::size_t count) {
    Slots which;
    while (which.size() < count) {
      const auto id = static_cast<std::int64_t>(draw(table.rows));
      if (expansion.find(id) < 0 && std::find(which.begin(), which.end(), id) == which.end()) which.push_back(id);
    }
    std::vector<std::int32_t> y;
    std::vector<double> cost;
    for (const auto id : which) {
      y.push_back(labels[static_cast<std::size_t>(id)]);
      cost.push_back(costs[static_cast<std::size_t>(id)]);
    }
    const problems::Table<double> rows = block(which, true);
    const bool dense = layout == everlearn::Layout::external || draw(2) == 0;
    const auto batch = expansion.rows().take(dense ? rows.dense() : rows.sparse(), problems::first(count));
    if (draw(3) == 0) {
      problems::Matrix known(count, everlearn::round_up(expansion.size(), everlearn::kPad));
      expansion.kernel().evaluate(*batch, count, known.rows.data());
      expansion.open_block(*batch, {which, y, cost, known.rows.data()});
    } else {
      expansion.open_block(*batch, {which, y, cost});
    }
    CHECK_THROWS(std::logic_error, expansion.open_block(*batch, {which, y, cost}));
  }

  void close(std::size_t old, bool keep_all) {
    Slots wanted, in_use;
    for (std::size_t s = 0; s < expansion.size(); ++s) {
      if (s < old || keep_all || used(s)) wanted.push_back(expansion.id(s));
      if (used(s)) in_use.push_back(expansion.id(s));
    }
    expansion.close_block(keep_all);
    CHECK(ids() == wanted || (!keep_all && ids() == in_use));
    if (draw(8) == 0) {
      expansion.compact();
      CHECK(ids() == in_use);
    }
  }

  void play(std::size_t blocks, std::size_t largest, bool verifying) {
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t old = expansion.size();
      open(b % 17 == 5 ? 0 : 1 + draw(largest));
      if (verifying && b % 3 == 0) verify();
      for (std::size_t s = old; s < expansion.size(); ++s)
        for (std::size_t c = 0; c < expansion.columns(); ++c) {
          if (draw(3) > 0) expansion.join(c, s);
          for (int t = 0; t < 3; ++t) step(c);
        }
      for (std::size_t c = 0; c < expansion.columns(); ++c) leave_some(c, one_leaves_in + b % 3);
      close(old, draw(5) == 0);
      for (std::size_t c = 0; c < expansion.columns(); ++c) {
        step(c), step(c);
        if (draw(3) == 0) descend(c);
      }
      if (verifying) verify();
      record();
    }
  }

  std::vector<double> decide(const Slots& which) const {
    const problems::Table<double> rows = block(which, false);
    std::vector<double> out(which.size() * expansion.columns());
    expansion.decide(layout == everlearn::Layout::sparse ? rows.sparse() : rows.dense(), expansion.threads(),
                     out.data());
    return out;
  }

  void record() {
    for (std::size_t c = 0; c < expansion.columns(); ++c)
      for (std::size_t s = 0; s < expansion.size(); ++s) {
        trace.push_back(expansion.column(c).alpha[s]);
        trace.push_back(expansion.column(c).g[s]);
      }
    Slots which;
    for (std::size_t r = 0; r < table.rows; r += 7) which.push_back(static_cast<std::int64_t>(r));
    const auto f = decide(which);
    trace.insert(trace.end(), f.begin(), f.end());
  }

  void verify() {
    const std::size_t n = expansion.size();
    bool right = true;
    for (const std::size_t flip : {0, 1})  // both ways: what was used last is met first, or last
      for (std::size_t t = 0; t < n; ++t) {
        const std::size_t s = flip ? n - 1 - t : t;
        const everlearn::HeldRow row = expansion.hold(s);
        for (std::size_t u = 0; u < n; ++u) right &= row[u] == kernel(expansion.id(s), expansion.id(u));
        right &= expansion.diagonal(s) == double(row[s]);
      }
    CHECK(right);
    const Slots all = ids();
    for (std::size_t r = 0; r < table.rows; ++r) {
      const auto id = static_cast<std::int64_t>(r), slot = expansion.find(id);
      const auto at = std::find(all.begin(), all.end(), id);
      CHECK(slot == (at == all.end() ? -1 : at - all.begin()));
      const auto s = static_cast<std::size_t>(slot);
      if (slot >= 0) CHECK(expansion.label(s) == labels[r] && expansion.cost(s) == costs[r]);
    }
    const Slots which{0, static_cast<std::int64_t>(table.rows / 2), static_cast<std::int64_t>(table.rows - 1)};
    const auto f = decide(which);
    for (std::size_t c = 0; c < expansion.columns(); ++c) {
      verify_column(c);
      for (std::size_t r = 0; r < which.size(); ++r)
        CHECK_NEAR(f[r * expansion.columns() + c], output(c, which[r]) + expansion.column(c).bias, 1e-9);
    }
  }

  double output(std::size_t c, std::int64_t id) const {
    double sum = 0;
    for (std::size_t s = 0; s < expansion.size(); ++s)
      sum += expansion.column(c).alpha[s] * kernel(expansion.id(s), id);
    return sum;
  }

  void verify_column(std::size_t c) const {
    const everlearn::Column& column = expansion.column(c);
    const std::size_t n = expansion.size();
    const auto own = static_cast<std::int32_t>(expansion.columns() == 1 ? 1 : c);
    double worst = 0;
    bool gates = true, idle = true;
    for (std::size_t s = 0; s < n; ++s) {
      const auto id = static_cast<std::size_t>(expansion.id(s));
      const bool positive = labels[id] == own;
      const double a = column.alpha[s], low = positive ? 0.0 : -costs[id], high = positive ? costs[id] : 0.0;
      worst = std::max(worst, std::abs(column.g[s] - ((positive ? 1 : -1) - output(c, expansion.id(s)))));
      const int gate = (a < high ? everlearn::kMayRise : 0) + (a > low ? everlearn::kMayFall : 0);
      gates &= column.gate[s] == (column.member[s] ? gate : 0) && (column.member[s] || a == 0.0);
      const auto listed = std::find(column.idle.begin(), column.idle.end(), static_cast<std::int64_t>(s));
      if (column.member[s] && a == 0.0) idle &= column.is_idle[s] && listed != column.idle.end();
    }
    for (std::size_t s = n; s < everlearn::round_up(n, everlearn::kPad); ++s)
      gates &= column.gate[s] == 0 && column.alpha[s] == 0.0;
    CHECK(worst < 1e-9);
    CHECK(gates);
    CHECK(idle);
  }
};
