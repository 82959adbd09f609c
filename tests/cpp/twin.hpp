// Problems for LASVM, a machine on them, and its slow twin that follows the definition word for word.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "check.hpp"
#include "lasvm.hpp"
#include "problems.hpp"

namespace twin {

using namespace everlearn;
using namespace problems;

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr std::size_t kRounds = 1000000;

/// Rows in a square, labeled by sectors with some noise, and all of their kernel values.
struct Problem {
  Kernel kernel;
  std::size_t classes;
  Table<float> table;
  std::vector<std::int32_t> labels;
  std::vector<double> costs;
  Slots ids;
  std::shared_ptr<Matrix> truth;

  Problem(std::uint64_t seed, std::size_t n, std::size_t k, double noise, Kernel chosen = {KernelKind::rbf, 1.5, 0, 1})
      : kernel(chosen), classes(k), table(points(seed, n)), ids(first(n)) {
    Random random(seed + 1);
    for (std::size_t r = 0; r < n; ++r) {
      const double turn = std::atan2(double(table.row(r)[0]), double(table.row(r)[1])) / 6.2831853 + 0.5;
      const auto sector = std::min(2 * k - 1, static_cast<std::size_t>(turn * 2 * static_cast<double>(k))) % k;
      labels.push_back(static_cast<std::int32_t>(uniform(random, 0, 1) < noise ? below(random, k) : sector));
      costs.push_back(labels.back() == 0 ? 2.0 : 5.0);
      ids[r] = 1000 + static_cast<std::int64_t>(r) * 3;
    }
    refresh();
  }
  static Table<float> points(std::uint64_t seed, std::size_t n) {
    Random random(seed);
    std::vector<float> values;
    for (std::size_t k = 0; k < 2 * n; ++k) values.push_back(static_cast<float>(uniform(random, -1, 1)));
    return {n, 2, values};
  }
  void refresh() {
    table = Table<float>(table.rows, table.width, table.values);
    auto rows = make_rows(Layout::dense, Precision::f32, table.width, kernel, {});
    truth = gram(*rows, table.dense());
  }
  /// The same rows with columns of zeros, which make kernel values expensive.
  Problem widened(std::size_t width) const {
    std::vector<float> values(table.rows * width);
    for (std::size_t r = 0; r < table.rows; ++r) std::copy_n(table.row(r), table.width, values.data() + r * width);
    Problem out(*this);
    out.table = Table<float>(table.rows, width, values);
    out.refresh();
    return out;
  }
  std::size_t size() const { return table.rows; }
  double k(std::size_t r, std::size_t s) const { return (*truth)[r][s]; }
  LabeledRows rows(bool sparse = false) const { return {sparse ? table.sparse() : table.dense(), labels, costs, ids}; }
  /// The binary problem of column c.
  Problem one_against_rest(std::size_t c) const {
    Problem out(*this);
    out.classes = 2;
    for (auto& label : out.labels) label = label == static_cast<std::int32_t>(c);
    return out;
  }
};

struct Machine {
  const Problem& problem;
  Expansion expansion;
  Lasvm solver;

  explicit Machine(const Problem& p, Layout layout = Layout::dense, std::size_t cache = 1 << 24, int threads = 1)
      : problem(p),
        expansion(make_rows(layout, Precision::f32, p.table.width, p.kernel, {}), p.classes == 2 ? 1 : p.classes,
                  cache),
        solver(expansion, p.classes) {
    expansion.set_threads(threads);
  }
  void learn(const Slots& which) { solver.learn(problem.rows(), which); }
  std::size_t row_of(std::size_t slot) const { return static_cast<std::size_t>((expansion.id(slot) - 1000) / 3); }
  /// Per row of the problem; zero for what is not kept.
  std::vector<double> alpha(std::size_t c = 0) const {
    std::vector<double> out(problem.size());
    for (std::size_t s = 0; s < expansion.size(); ++s) out[row_of(s)] = expansion.column(c).alpha[s];
    return out;
  }
  Slots members(std::size_t c = 0) const {
    Slots out;
    for (std::size_t s = 0; s < expansion.size(); ++s)
      if (expansion.column(c).member[s]) out.push_back(static_cast<std::int64_t>(row_of(s)));
    std::sort(out.begin(), out.end());
    return out;
  }
  std::vector<double> decide() const {
    std::vector<double> out(problem.size() * expansion.columns());
    expansion.decide(problem.table.dense(), expansion.threads(), out.data());
    return out;
  }
};

/// The definition, word for word, on all kernel values; column c of the problem.
struct Twin {
  const Problem& problem;
  std::vector<double> y, lower, upper, alpha, g;
  std::vector<std::size_t> kept;
  double tau, bias = 0, delta = kInf;
  bool tie = false;  // two rows were so close to being the extreme that rounding decides which of them is

  Twin(const Problem& p, std::size_t c, double tolerance)
      : problem(p), lower(p.size()), upper(p.size()), alpha(p.size()), g(p.size()), tau(tolerance) {
    for (std::size_t r = 0; r < p.size(); ++r) {
      y.push_back(p.labels[r] == static_cast<std::int32_t>(p.classes == 2 ? 1 : c) ? 1.0 : -1.0);
      (y[r] > 0 ? upper : lower)[r] = y[r] * p.costs[r];
    }
  }
  double output(std::size_t r) const {
    double sum = 0;
    for (std::size_t s = 0; s < alpha.size(); ++s) sum += alpha[s] * problem.k(r, s);
    return sum;
  }
  double dual() const {
    double sum = 0;
    for (std::size_t r = 0; r < alpha.size(); ++r) sum += alpha[r] * (y[r] - 0.5 * output(r));
    return sum;
  }
  std::pair<std::int64_t, std::int64_t> extremes() {
    std::int64_t up = -1, down = -1;
    double high = -kInf, low = kInf, second_high = -kInf, second_low = kInf;
    for (const auto s : kept) {
      if (alpha[s] < upper[s]) {
        second_high = std::max(second_high, std::min(high, g[s]));
        if (g[s] > high) high = g[s], up = static_cast<std::int64_t>(s);
      }
      if (alpha[s] > lower[s]) {
        second_low = std::min(second_low, std::max(low, g[s]));
        if (g[s] < low) low = g[s], down = static_cast<std::int64_t>(s);
      }
    }
    tie |= high - second_high < 1e-10 || second_low - low < 1e-10;
    return {up, down};
  }
  bool step(std::int64_t up, std::int64_t down) {
    const auto i = static_cast<std::size_t>(up), j = static_cast<std::size_t>(down);
    if (up < 0 || down < 0 || g[i] - g[j] <= tau) return false;
    const double curvature = problem.k(i, i) + problem.k(j, j) - 2 * problem.k(i, j);
    const double room_up = upper[i] - alpha[i], room_down = alpha[j] - lower[j];
    double length = std::min(room_up, room_down);
    if (curvature > 1e-12) length = std::min(length, (g[i] - g[j]) / curvature);
    alpha[i] = length == room_up ? upper[i] : alpha[i] + length;
    alpha[j] = length == room_down ? lower[j] : alpha[j] - length;
    for (const auto s : kept) g[s] -= length * (problem.k(i, s) - problem.k(j, s));
    return true;
  }
  void insert(std::size_t k) {
    g[k] = y[k] - output(k);
    kept.push_back(k);
  }
  bool process(std::size_t k) {
    if (std::find(kept.begin(), kept.end(), k) != kept.end()) return false;
    insert(k);
    const auto [up, down] = extremes();
    return y[k] > 0 ? step(static_cast<std::int64_t>(k), down) : step(up, static_cast<std::int64_t>(k));
  }
  bool reprocess() {
    const auto [i, j] = extremes();
    const bool stepped = step(i, j);
    const auto [up, down] = extremes();
    const double high = up < 0 ? 0 : g[static_cast<std::size_t>(up)],
                 low = down < 0 ? 0 : g[static_cast<std::size_t>(down)];
    delta = up < 0 || down < 0 ? kInf : high - low;
    bias = up < 0 || down < 0 ? high + low : (high + low) / 2;
    if (up >= 0 && down >= 0)
      std::erase_if(kept, [&, u = static_cast<std::size_t>(up), d = static_cast<std::size_t>(down)](std::size_t s) {
        return alpha[s] == 0 && s != u && s != d && (y[s] > 0 ? g[s] <= low : g[s] >= high);
      });
    return stepped;
  }
  /// The exact solution on all rows, nothing dropped.
  void solve() {
    kept.clear();
    for (std::size_t r = 0; r < alpha.size(); ++r) insert(r);
    for (auto [up, down] = extremes(); step(up, down);) std::tie(up, down) = extremes();
    reprocess();
  }
};

/// Everything that must hold of column c at any time, computed from scratch; returns the dual.
inline double check_invariants(const Machine& machine, std::size_t c) {
  const Expansion& expansion = machine.expansion;
  const Column& column = expansion.column(c);
  Twin fresh(machine.problem, c, machine.solver.tau);
  fresh.alpha = machine.alpha(c);
  double sum = 0, drift = 0, largest = 1;
  bool box = true;
  for (std::size_t s = 0; s < expansion.size(); ++s) {
    const std::size_t r = machine.row_of(s);
    const double a = column.alpha[s];
    sum += a, largest = std::max(largest, std::abs(a));
    box &= a >= fresh.lower[r] && a <= fresh.upper[r] && (a == 0 || column.member[s]);
    drift = std::max(drift, std::abs(column.g[s] - (fresh.y[r] - fresh.output(r))));
  }
  CHECK_NEAR(sum, 0.0, 1e-9 * largest);
  CHECK(box);
  CHECK(drift < 1e-8);
  if (!column.live) return 0;
  const Extremes ends = expansion.scan(c);
  CHECK(ends.up == column.ends.up && ends.high == column.ends.high);
  CHECK(ends.down == column.ends.down && ends.low == column.ends.low);
  const bool pair = ends.up >= 0 && ends.down >= 0;
  CHECK(column.delta == (pair ? ends.high - ends.low : kInf));
  if (pair) CHECK(column.bias == (ends.high + ends.low) / 2);
  return fresh.dual();
}

/// Everything that decides how a machine goes on.
struct State {
  Slots ids;
  std::vector<std::vector<double>> numbers;
  std::vector<std::uint8_t> flags;
  std::array<std::uint64_t, 4> generator{};
  std::int64_t iterations = 0;

  explicit State(const Machine& machine)
      : generator(machine.solver.generator.state), iterations(machine.solver.iterations()) {
    const Expansion& expansion = machine.expansion;
    const auto n = static_cast<std::ptrdiff_t>(expansion.size());
    for (std::size_t s = 0; s < expansion.size(); ++s) ids.push_back(expansion.id(s));
    for (std::size_t c = 0; c < expansion.columns(); ++c) {
      const Column& column = expansion.column(c);
      numbers.emplace_back(column.alpha.begin(), column.alpha.begin() + n);
      numbers.emplace_back(column.g.begin(), column.g.begin() + n);
      numbers.push_back({column.bias, column.delta});
      flags.insert(flags.end(), column.member.begin(), column.member.begin() + n);
      flags.push_back(column.live);
    }
    flags.insert(flags.end(), machine.solver.seen().begin(), machine.solver.seen().end());
  }
  bool operator==(const State& other) const {
    bool same = ids == other.ids && flags == other.flags && generator == other.generator &&
                iterations == other.iterations && numbers.size() == other.numbers.size();
    for (std::size_t k = 0; same && k < numbers.size(); ++k) same = same_bits(numbers[k], other.numbers[k]);
    return same;
  }
};

/// Reads a machine out and puts it into a new one.
inline void put_back(Machine& from, Machine& to) {
  Expansion& old = from.expansion;
  const std::size_t n = old.size();
  const bool external = old.rows().width() == 0;
  const RowsImage image = old.rows().image(first(n), true);
  std::vector<float> kernel;
  for (std::size_t s = 0; external && s < n; ++s) {
    const HeldRow row = old.hold(s);
    for (std::size_t u = 0; u < n; ++u) kernel.push_back(row[u]);
  }
  Block block{Precision::f64,       !image.starts.empty(), n, old.rows().width(), image.values.data(),
              image.columns.data(), image.starts.data()};
  if (external) block = {Precision::f32, false, n, n, kernel.data(), nullptr, nullptr};
  Slots ids;
  std::vector<std::int32_t> labels;
  std::vector<double> costs;
  std::vector<float> diagonal;
  for (std::size_t s = 0; s < n; ++s) {
    diagonal.push_back(static_cast<float>(old.diagonal(s)));
    ids.push_back(old.id(s));
    labels.push_back(old.label(s));
    costs.push_back(old.cost(s));
  }
  to.expansion.restore(*to.expansion.rows().take(block, first(n), true), {ids, labels, costs}, diagonal);
  for (std::size_t c = 0; c < old.columns(); ++c) {
    const Column& column = old.column(c);
    to.expansion.restore_column(c, {column.alpha.data(), n}, {column.g.data(), n}, {column.edge.data(), n},
                                {column.member.data(), n}, column.bias, column.delta, column.live);
  }
  for (std::size_t s = 0; external && s < n; ++s) to.expansion.kernel().restore(s, {kernel.data() + s * n, n});
  to.solver.set_seen(from.solver.seen());
  to.solver.set_iterations(from.solver.iterations());
  to.solver.generator = from.solver.generator;
  CHECK(State(from) == State(to));
}

}  // namespace twin
