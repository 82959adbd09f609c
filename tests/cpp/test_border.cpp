// What the exact machine stands on: the factor of a margin set, kernel rows in double precision, and their loops.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "arch/loops.hpp"
#include "border.hpp"
#include "check.hpp"
#include "exact_rows.hpp"
#include "problems.hpp"

using namespace everlearn;
using namespace problems;

namespace {

// ------------------------------------------------------------------------------------------------- the factor

/// The solution of a dense system, by elimination with pivots.
std::vector<double> eliminate(std::vector<std::vector<double>> a, std::vector<double> right) {
  const std::size_t n = right.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t best = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(a[i][k]) > std::abs(a[best][k])) best = i;
    std::swap(a[k], a[best]), std::swap(right[k], right[best]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double share = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= share * a[k][j];
      right[i] -= share * right[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) right[k] -= a[k][j] * right[j];
    right[k] /= a[k][k];
  }
  return right;
}

/// A margin set beside its factor: points under a kernel, a little more than which stands on its diagonal.
struct MarginSet {
  std::vector<std::vector<double>> points;
  std::vector<std::size_t> members;
  KernelKind kind;
  double ridge;
  Border border;

  double kernel(std::size_t a, std::size_t b) const {
    return plain_kernel({kind, 0.7, 0, 1}, points[a].data(), points[b].data(), points[a].size()) + (a == b ? ridge : 0);
  }
  std::vector<double> values(std::size_t c) const {
    std::vector<double> out;
    for (const auto s : members) out.push_back(kernel(c, s));
    return out;
  }
  /// sum theta = r_0 and K theta + b = r, by how much they are missed.
  double missed(const Border::Response& by, double r_0, const std::vector<double>& r) const {
    double sum = -r_0, worst = 0, size = 1;
    for (const double theta : by.theta) sum += theta, size += std::abs(theta);
    for (std::size_t i = 0; i < members.size(); ++i) {
      double left = by.b - r[i];
      for (std::size_t j = 0; j < members.size(); ++j) left += kernel(members[i], members[j]) * by.theta[j];
      worst = std::max(worst, std::abs(left));
    }
    return std::max(std::abs(sum), worst) / size;
  }
  std::vector<double> solved(double r_0, const std::vector<double>& r) const {
    const std::size_t n = members.size();
    std::vector<std::vector<double>> a(n + 1, std::vector<double>(n + 1, 1.0));
    std::vector<double> right{r_0};
    a[0][0] = 0;
    for (std::size_t i = 0; i < n; ++i) {
      right.push_back(r[i]);
      for (std::size_t j = 0; j < n; ++j) a[i + 1][j + 1] = kernel(members[i], members[j]);
    }
    return eliminate(std::move(a), std::move(right));
  }
};

/// Members come and go at random. Jitter makes every third point nearly one of the others.
void test_border(KernelKind kind, std::size_t width, double jitter, double ridge, std::uint64_t seed) {
  check::context = "border, kernel " + std::to_string(static_cast<int>(kind)) + ", width " + std::to_string(width) +
                   ", jitter " + std::to_string(jitter);
  Random random(seed);
  MarginSet set{{}, {}, kind, ridge, {}};
  for (std::size_t p = 0; p < 40; ++p) {
    set.points.emplace_back(width);
    for (double& x : set.points.back()) x = uniform(random, -1.5, 1.5);
    if (jitter > 0 && p % 3 == 2)
      for (std::size_t k = 0; k < width; ++k) set.points[p][k] = set.points[p - 1][k] + jitter * uniform(random, -1, 1);
  }
  set.border.clear(1.0);
  CHECK(set.border.size() == 0 && set.border.tau() == 1.0);
  const bool compares = jitter == 0 && ridge == 0;  // or else solutions are too sensitive
  for (int turn = 0; turn < 400; ++turn) {
    const std::size_t p = below(random, set.points.size());
    const auto at = std::find(set.members.begin(), set.members.end(), p);
    const std::size_t most = compares && kind == KernelKind::linear ? width : 25;
    if (at != set.members.end() || set.members.size() >= most) {
      const std::size_t place = at != set.members.end() ? static_cast<std::size_t>(at - set.members.begin())
                                                        : below(random, set.members.size());
      set.border.shrink(place);
      set.members.erase(set.members.begin() + static_cast<std::ptrdiff_t>(place));
    } else {
      const Border::Candidate seen = set.border.project(set.values(p), set.kernel(p, p));
      if (seen.squared <= 0) continue;
      set.border.grow(seen);
      set.members.push_back(p);
    }
    CHECK(set.border.size() == set.members.size());
    if (set.members.empty()) continue;
    const std::size_t c = below(random, set.points.size());
    const double direction = turn % 2 ? 1 : -1, r_0 = uniform(random, -2, 2);
    std::vector<double> r, pull;
    for (std::size_t k = 0; k < set.members.size(); ++k) r.push_back(uniform(random, -2, 2));
    for (const double value : set.values(c)) pull.push_back(-direction * value);
    const bool within = std::find(set.members.begin(), set.members.end(), c) != set.members.end();
    const Border::Response moved = set.border.respond(set.border.project(set.values(c), set.kernel(c, c)), direction);
    CHECK(set.missed(moved, -direction, pull) < 1e-12);
    const Border::Response given = set.border.solve(r_0, r);
    CHECK(set.missed(given, r_0, r) < 1e-12);
    if (compares) {
      const std::vector<double> plain = set.solved(r_0, r), answer = set.solved(-direction, pull);
      double size = 1;
      for (const double value : plain) size = std::max(size, std::abs(value));
      CHECK_NEAR(given.b, plain[0], 1e-9 * size);
      for (std::size_t k = 0; k < r.size(); ++k) CHECK_NEAR(given.theta[k], plain[k + 1], 1e-9 * size);
      // The rate of c's own condition: its squared distance from the affine hull of S.
      if (!within && set.members.size() > 1) {
        double rate = direction * set.kernel(c, c) + answer[0];
        for (std::size_t k = 0; k < r.size(); ++k) rate += answer[k + 1] * set.kernel(c, set.members[k]);
        double own = direction * set.kernel(c, c) + moved.b;
        for (std::size_t k = 0; k < r.size(); ++k) own += moved.theta[k] * set.kernel(c, set.members[k]);
        CHECK_NEAR(own, rate, 1e-9 * size);
        CHECK(direction * own > -1e-9);
      }
    }
    if (turn % 10 == 0) {
      Border other;
      other.restore(set.border.image(), set.members.size());
      CHECK(other.image() == set.border.image() && other.tau() == set.border.tau());
      const Border::Response again = other.solve(r_0, r);
      CHECK(again.b == given.b && again.theta == given.theta);
      CHECK_THROWS(std::invalid_argument, other.restore(set.border.image(), set.members.size() + 1));
    }
  }
}

/// The distance seen is that of the candidate from the span of the members, under K + tau.
void test_distance() {
  check::context = "distance";
  Border border;
  border.clear(4.0);
  CHECK(border.tau() == 4.0);
  border.grow(border.project({}, 2.0));
  const Border::Candidate seen = border.project({1.0}, 3.0);  // K + tau = [[6, 5], [5, 7]]
  CHECK_NEAR(seen.squared, 7.0 - 25.0 / 6.0, 1e-14);
  CHECK_NEAR(border.project({2.0}, 2.0).squared, 0.0, 1e-14);  // the member itself
  border.clear(0.0);
  CHECK(border.tau() == 1.0 && border.size() == 0);
  border.clear(-3.0);
  CHECK(border.tau() == 1.0);
}

// -------------------------------------------------------------------------------------------------- kernel rows

/// Rows come and go while some of them are held, with all memory, hardly any, and none.
void test_exact_rows(std::size_t limit, bool sparse_rows) {
  check::context = "exact rows, limit " + std::to_string(limit);
  constexpr std::size_t width = 3;
  const Kernel kernel{KernelKind::rbf, 0.8, 0, 1};
  Random random(limit + 1);
  const Table<double> table = random_table<double>(random, 600, width, 0.8);
  const auto rows = make_rows(sparse_rows ? Layout::sparse : Layout::dense, Precision::f64, width, kernel, {});
  ExactRows exact(*rows);
  exact.set_limit(limit);
  std::vector<std::size_t> names;               // of the slots: their lines in the table
  std::map<std::size_t, ExactRows::Held> held;  // by name
  const auto value = [&](std::size_t a, std::size_t b) {
    return plain_kernel(kernel, table.row(a), table.row(b), width);
  };
  const auto slot_of = [&](std::size_t name) { return std::find(names.begin(), names.end(), name) - names.begin(); };
  const auto right = [&](const ExactRows::Row& row, std::size_t name) {
    bool good = row.values.size() == names.size() && row.slot == slot_of(name);
    for (std::size_t s = 0; good && s < names.size(); ++s) good = std::abs(row[s] - value(name, names[s])) < 1e-15;
    return good;
  };
  std::size_t next = 0;
  for (int turn = 0; turn < 120; ++turn) {
    const std::size_t what = below(random, 4);
    if (what == 0 && next < 560) {
      const std::size_t count = 1 + below(random, 20);
      Slots which;
      for (std::size_t r = 0; r < count; ++r) which.push_back(static_cast<std::int64_t>(next)), names.push_back(next++);
      const auto batch = rows->take(sparse_rows ? table.sparse() : table.dense(), which);
      rows->append(*batch);
      const auto before = exact.evaluations();
      const std::vector<ExactRows::Held> added = exact.extend(*batch, count, 1 + turn % 3);
      CHECK(exact.evaluations() == before + count * names.size());
      for (std::size_t s = names.size() - count; s < names.size(); ++s) {
        const auto slot = static_cast<std::int64_t>(s);
        CHECK(right(*exact.hold(slot), names[s]));
        CHECK(added[s + count - names.size()] == exact.hold(slot));
      }
      CHECK(exact.evaluations() == before + count * names.size());  // held rows are not computed again
    } else if (what == 1 && !names.empty()) {
      const std::size_t name = names[below(random, names.size())];
      const ExactRows::Held row = exact.hold(slot_of(name));
      CHECK(right(*row, name));
      if (held.contains(name)) CHECK(held[name] == row);
      held[name] = row;
      if (limit == 0) CHECK(exact.bytes() >= held.size() * names.size() * sizeof(double));
    } else if (what == 2 && !held.empty()) {
      held.erase(held.begin());
    } else if (what == 3 && !names.empty()) {
      Slots kept;
      std::vector<std::size_t> left;
      for (std::size_t s = 0; s < names.size(); ++s)
        if (held.contains(names[s]) || uniform(random, 0, 1) < 0.8) {
          kept.push_back(static_cast<std::int64_t>(s));
          left.push_back(names[s]);
        }
      rows->keep(0, kept);
      exact.keep(kept);
      names = left;
    }
    for (const auto& [name, row] : held) CHECK(right(*row, name));
    // Whatever is not held goes when there is no room.
    if (!names.empty()) {
      exact.hold(0);
      exact.set_limit(limit);
      std::size_t least = 0;
      for (const auto& [name, row] : held) least += row->values.capacity() * sizeof(double);
      CHECK(exact.bytes() >= least && exact.bytes() <= std::max(limit, least));
    }
  }
  CHECK(next > 200);
}

/// Dropping rows before anybody has held one, as after a state was put back.
void test_keep_first() {
  check::context = "keep first";
  Random random(8);
  const Table<double> table = random_table<double>(random, 10, 2, 1.0);
  const auto rows = make_rows(Layout::dense, Precision::f64, 2, {KernelKind::linear, 1, 0, 1}, {});
  rows->append(*rows->take(table.dense(), first(10)));
  ExactRows exact(*rows);
  const Slots kept{1, 4, 9};
  rows->keep(0, kept);
  exact.keep(kept);
  const ExactRows::Held row = exact.hold(2);
  CHECK(row->values.size() == 3);
  CHECK_NEAR((*row)[0], plain_kernel({KernelKind::linear, 1, 0, 1}, table.row(9), table.row(1), 2), 1e-15);
}

// --------------------------------------------------------------------------------------------------------- loops

void test_loops(const Loops& loops, std::size_t n, Random& random) {
  check::context = std::string(loops.name) + " exact loops, n " + std::to_string(n);
  const auto fine = [&](std::size_t count) {
    std::vector<double> out(count);
    for (double& value : out) value = uniform(random, -1, 1);
    return out;
  };
  const std::size_t room = n + 9;
  const std::vector<double> a = fine(room), b = fine(room);
  double plain = 0;
  for (std::size_t k = 0; k < n; ++k) plain += a[k] * b[k];
  CHECK_NEAR(loops.dot_exact(a.data(), b.data(), n), plain, 1e-13);

  const double cosine = 0.6, sine = -0.8;
  std::vector<double> left = a, right = b;
  loops.rotate(left.data(), right.data(), cosine, sine, n);
  for (std::size_t k = 0; k < room; ++k) {
    CHECK_NEAR(left[k], k < n ? cosine * a[k] + sine * b[k] : a[k], k < n ? 1e-15 : 0);
    CHECK_NEAR(right[k], k < n ? cosine * b[k] - sine * a[k] : b[k], k < n ? 1e-15 : 0);
  }

  for (const std::size_t count : {0, 1, 3, 4, 5, 9}) {
    std::vector<std::vector<double>> k;
    std::vector<const double*> rows;
    for (std::size_t r = 0; r < count; ++r) k.push_back(fine(room));
    for (const auto& row : k) rows.push_back(row.data());
    const std::vector<double> steps = fine(count);
    const std::size_t begin = below(random, n + 1), end = begin + below(random, n - begin + 1);
    std::vector<double> updated = a;
    loops.rank_update_exact(updated.data(), rows.data(), steps.data(), count, begin, end);
    for (std::size_t s = 0; s < room; ++s) {
      double want = a[s];
      for (std::size_t r = 0; r < count && s >= begin && s < end; ++r) want -= steps[r] * k[r][s];
      CHECK_NEAR(updated[s], want, s >= begin && s < end ? 1e-14 : 0);
    }
    // What becomes of a value does not depend on its place: the same line, one place further on.
    std::vector<std::vector<double>> later(k);
    std::vector<double> moved = a;
    std::vector<const double*> shifted;
    for (auto& row : later) row.insert(row.begin(), 0.5), shifted.push_back(row.data());
    moved.insert(moved.begin(), 0.25);
    updated = a;
    loops.rank_update_exact(updated.data(), rows.data(), steps.data(), count, 0, n);
    loops.rank_update_exact(moved.data(), shifted.data(), steps.data(), count, 1, n + 1);
    CHECK(same_bits(updated.data(), moved.data() + 1, n));
    // Nor on the layout: the same products from the transpose.
    std::vector<std::vector<double>> turned(n, std::vector<double>(count));
    std::vector<const double*> lines;
    for (std::size_t s = 0; s < n; ++s) {
      for (std::size_t r = 0; r < count; ++r) turned[s][r] = k[r][s];
      lines.push_back(turned[s].data());
    }
    std::vector<double> by_line = a;
    loops.dot_update_exact(by_line.data(), lines.data(), steps.data(), n, count);
    CHECK(same_bits(by_line.data(), updated.data(), room));
  }
}

}  // namespace

int main() {
  check::guard([] { test_distance(); });
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    check::guard([&] { test_border(KernelKind::rbf, 5, 0, 0, seed); });
    check::guard([&] { test_border(KernelKind::linear, 6, 0, 0, seed); });
    for (const double jitter : {1e-3, 1e-6, 1e-9}) {
      check::guard([&] { test_border(KernelKind::rbf, 3, jitter, 1e-11, seed); });
      check::guard([&] { test_border(KernelKind::linear, 2, jitter, 1e-11, seed); });
    }
  }
  for (const std::size_t limit : {std::size_t{0}, std::size_t{20000}, std::size_t{1} << 30})
    for (const bool sparse_rows : {false, true}) check::guard([&] { test_exact_rows(limit, sparse_rows); });
  check::guard([] { test_keep_first(); });
  for (const char* name : {"baseline", "avx2", "avx512"})
    if (const Loops* loops = loops_named(name)) {
      Random random(4);
      for (std::size_t n = 0; n <= 150; n = n < 40 ? n + 1 : n + 11) test_loops(*loops, n, random);
    }
  return check::summary();
}
