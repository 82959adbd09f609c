// LASVM against a slow twin that follows the definition, an exact solver, and itself.
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "check.hpp"
#include "lasvm.hpp"
#include "problems.hpp"

using namespace everlearn;
using namespace problems;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::size_t kRounds = 1000000;

/// Rows in a square, labelled by sectors with some noise, and all of their kernel values.
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
  std::size_t size() const { return table.rows; }
  double k(std::size_t r, std::size_t s) const { return (*truth)[r][s]; }
  Labelled rows(bool sparse = false) const { return {sparse ? table.sparse() : table.dense(), labels, costs, ids}; }
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
      : problem(p), expansion(make_rows(layout, Precision::f32, p.table.width, p.kernel, {}), p.classes == 2 ? 1 : p.classes, cache),
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
    expansion.decide(problem.table.dense(), out.data());
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
    const double high = up < 0 ? 0 : g[static_cast<std::size_t>(up)], low = down < 0 ? 0 : g[static_cast<std::size_t>(down)];
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
double check_invariants(const Machine& machine, std::size_t c) {
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
  CHECK(ends.up == column.ends.up && ends.down == column.ends.down && ends.high == column.ends.high && ends.low == column.ends.low);
  if (ends.up >= 0 && ends.down >= 0) CHECK(column.delta == ends.high - ends.low && column.bias == (ends.high + ends.low) / 2);
  else CHECK(column.delta == kInf);
  return fresh.dual();
}

/// Row by row, machine and twin must do the same to the same model.
void test_twin(const Problem& problem, std::size_t seeds, double delta_max, int epochs) {
  Machine machine(problem);
  machine.solver.delta_max = delta_max;
  const Column& column = machine.expansion.column(0);
  Slots sown;
  for (const std::int32_t label : {0, 1}) {
    std::size_t left = seeds;
    for (std::size_t r = 0; r < problem.size(); ++r)
      if (problem.labels[r] == label && left > 0) sown.push_back(static_cast<std::int64_t>(r)), --left;
  }
  std::sort(sown.begin(), sown.end());
  if (seeds > 0) {
    machine.solver.seed(problem.rows(), sown);
    CHECK(machine.members() == sown && column.bias == 0.0 && column.delta == 2.0);
  }
  double dual = 0;
  int compared = 0;
  for (int epoch = 0; epoch < epochs; ++epoch)
    for (std::size_t k = 0; k < problem.size(); ++k) {
      if (epoch == 0 && std::find(sown.begin(), sown.end(), static_cast<std::int64_t>(k)) != sown.end()) continue;
      Twin twin(problem, 0, machine.solver.tau);
      const bool live = column.live;
      twin.alpha = machine.alpha();
      for (std::size_t s = 0; s < machine.expansion.size(); ++s)
        if (column.member[s] || !live) twin.kept.push_back(machine.row_of(s)), twin.g[machine.row_of(s)] = column.g[s];
      const auto before = twin.kept;
      const bool known = std::find(before.begin(), before.end(), k) != before.end();
      const double margin = twin.y[k] * machine.decide()[k], border = 1 + column.delta / 2 - machine.solver.tau;

      machine.learn({static_cast<std::int64_t>(k)});
      const double now = check_invariants(machine, 0);
      CHECK(now >= dual - 1e-9 * std::max(1.0, dual));
      dual = now;

      const bool stepped = twin.process(k);
      if (!known && live && std::abs(margin - border) > 1e-9) CHECK(stepped == (margin < border));
      while (twin.reprocess() && delta_max >= 0 && twin.delta > delta_max) {
      }
      if (twin.tie) continue;
      ++compared;
      CHECK_NEAR(column.bias, twin.bias, 1e-9);
      CHECK_NEAR(column.delta, twin.delta, 1e-9);
      const auto alpha = machine.alpha();
      for (std::size_t s = 0; s < alpha.size(); ++s) CHECK_NEAR(alpha[s], twin.alpha[s], 1e-9);
      if (!column.live) continue;
      const Slots kept = machine.members();
      CHECK(kept == [&] {
        Slots wanted(twin.kept.begin(), twin.kept.end());
        std::sort(wanted.begin(), wanted.end());
        return wanted;
      }());
      // What went had no coefficient and cannot move with anything that stayed.
      for (const auto s : delta_max < 0 ? before : std::vector<std::size_t>())
        if (!std::binary_search(kept.begin(), kept.end(), static_cast<std::int64_t>(s))) {
          const double g = twin.y[s] - twin.output(s);
          CHECK(alpha[s] == 0.0 && (twin.y[s] > 0 ? g <= column.ends.low + 1e-9 : g >= column.ends.high - 1e-9));
        }
    }
  CHECK(compared > static_cast<int>(problem.size()) * epochs / 2);
  CHECK(machine.solver.iterations() == static_cast<std::int64_t>(problem.size()) * epochs);
}

/// Epochs until nothing changes any more, and the finish.
void converge(Machine& machine, double tau, int epochs) {
  machine.solver.tau = tau;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    machine.learn(first(machine.problem.size()));
    CHECK(machine.solver.finish(kRounds));
  }
  for (std::size_t c = 0; c < machine.expansion.columns(); ++c) {
    CHECK(machine.expansion.column(c).delta <= tau);
    check_invariants(machine, c);
  }
}

void test_exact(const Problem& problem, std::size_t cache) {
  Machine machine(problem, Layout::sparse, cache);
  converge(machine, 1e-6, 6);
  for (std::size_t c = 0; c < machine.expansion.columns(); ++c) {
    Twin exact(problem, c, 1e-9);
    exact.solve();
    Twin found(problem, c, 1e-9);
    found.alpha = machine.alpha(c);
    CHECK_NEAR(found.dual(), exact.dual(), 1e-6 * std::abs(exact.dual()));
    const auto f = machine.decide();
    for (std::size_t r = 0; r < problem.size(); ++r)
      CHECK_NEAR(f[r * machine.expansion.columns() + c], exact.output(r) + exact.bias, 1e-3);
  }
}

/// Everything that decides how a machine goes on.
struct State {
  Slots ids;
  std::vector<std::vector<double>> numbers;
  std::vector<std::uint8_t> flags;
  std::array<std::uint64_t, 4> generator{};
  std::int64_t iterations = 0;

  explicit State(const Machine& machine) : generator(machine.solver.generator.state), iterations(machine.solver.iterations()) {
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
    bool same = ids == other.ids && flags == other.flags && generator == other.generator && iterations == other.iterations &&
                numbers.size() == other.numbers.size();
    for (std::size_t k = 0; same && k < numbers.size(); ++k) same = same_bits(numbers[k], other.numbers[k]);
    return same;
  }
};

/// A machine that is read out and put back goes on bit for bit.
void test_restore(const Problem& problem, Layout layout, std::size_t before) {
  check::context = "restore after " + std::to_string(before);
  Machine one(problem, layout);
  Slots which = first(problem.size());
  const std::size_t half = before / 2;
  one.learn({which.begin(), which.begin() + static_cast<std::ptrdiff_t>(half)});
  Slots rest(which.begin() + static_cast<std::ptrdiff_t>(half), which.end());
  one.solver.learn_selected(problem.rows(), rest, Rule::active, 20, before - half);

  Machine other(problem, layout, 0, 2);
  const Expansion& from = one.expansion;
  const std::size_t n = from.size();
  const RowsImage image = from.rows().image(first(n), true);
  const Block block{Precision::f64, layout == Layout::sparse, n, problem.table.width, image.values.data(),
                    image.columns.data(), image.starts.data()};
  Slots ids;
  std::vector<std::int32_t> labels;
  std::vector<double> costs;
  for (std::size_t s = 0; s < n; ++s) ids.push_back(from.id(s)), labels.push_back(from.label(s)), costs.push_back(from.cost(s));
  other.expansion.restore(*other.expansion.rows().take(block, first(n), true), {ids, labels, costs}, {from.diagonals(), n});
  for (std::size_t c = 0; c < from.columns(); ++c) {
    const Column& column = from.column(c);
    other.expansion.restore_column(c, {column.alpha.data(), n}, {column.g.data(), n}, {column.member.data(), n}, column.bias,
                                   column.delta, column.live);
  }
  other.solver.set_seen(one.solver.seen());
  other.solver.set_iterations(one.solver.iterations());
  other.solver.generator = one.solver.generator;
  CHECK(State(one) == State(other));
  Slots left[2] = {rest, rest};
  Machine* machines[2] = {&one, &other};
  for (int stage = 0; stage < 4; ++stage) {
    for (int m = 0; m < 2; ++m) {
      Lasvm& solver = machines[m]->solver;
      if (stage == 0) solver.learn_selected(problem.rows(), left[m], Rule::autoactive, 0, 30);
      if (stage == 1) solver.learn(problem.rows(), left[m]);
      if (stage == 2) CHECK(solver.finish(kRounds));
      if (stage == 3) solver.learn(problem.rows(), which);
    }
    CHECK(left[0] == left[1] && State(one) == State(other));
    CHECK(same_bits(one.decide(), other.decide()));
  }
}

/// Cache and threads decide about time only.
void test_same_path(const Problem& problem) {
  check::context = "cache and threads, classes " + std::to_string(problem.classes);
  std::unique_ptr<State> wanted;
  for (const std::size_t cache : {1 << 26, 0, 100000})
    for (const int threads : {1, 2, 3}) {
      Machine machine(problem, cache == 0 ? Layout::sparse : Layout::dense, cache, threads);
      for (int epoch = 0; epoch < 2; ++epoch) machine.learn(first(problem.size()));
      if (cache > 0) CHECK(machine.solver.finish(3) == false);  // a working set is as large as the cache allows
      if (cache == 0) continue;
      if (!wanted) wanted = std::make_unique<State>(machine);
      CHECK(State(machine) == *wanted);
    }
}

/// Labels exchanged: the mirror image. A model that is optimal does not change when it meets its rows again.
void test_mirror_and_rest(const Problem& problem) {
  check::context = "mirror";
  Problem flipped(problem);
  for (auto& label : flipped.labels) label = 1 - label;
  Machine one(problem), other(flipped);
  for (Machine* machine : {&one, &other}) machine->learn(first(problem.size()));
  CHECK(one.members() == other.members());
  auto a = one.alpha(), b = other.alpha();
  for (auto& value : b) value = -value + 0.0;
  CHECK(same_bits(a, b) && one.expansion.column(0).bias == -other.expansion.column(0).bias);
  CHECK(one.expansion.column(0).delta == other.expansion.column(0).delta);

  check::context = "optimal";
  converge(one, 1e-5, 6);
  one.solver.tau = 1e-3;
  const double bias = one.expansion.column(0).bias;
  a = one.alpha();
  one.learn(first(problem.size()));
  CHECK(same_bits(a, one.alpha()));
  CHECK_NEAR(one.expansion.column(0).bias, bias, 1e-3);
}

void test_edges() {
  check::context = "one class";
  for (const std::int32_t label : {0, 1}) {
    Problem problem(11, 40, 2, 0);
    const auto other = problem.labels;
    std::fill(problem.labels.begin(), problem.labels.end(), label);
    Machine machine(problem);
    Slots some = first(20), rest = first(40);
    rest.erase(rest.begin(), rest.begin() + 20);
    machine.solver.seed(problem.rows(), Slots{0, 1});
    CHECK(machine.decide() == std::vector<double>(40, label ? 1.0 : -1.0));
    machine.learn(some);
    CHECK(machine.alpha() == std::vector<double>(40) && machine.solver.finish(kRounds));
    CHECK(machine.decide() == std::vector<double>(40, label ? 1.0 : -1.0));
    Slots pool = rest;
    machine.solver.learn_selected(problem.rows(), pool, Rule::active, 5, 3);
    CHECK(pool.size() == 17 && machine.decide() == std::vector<double>(40, label ? 1.0 : -1.0));
    problem.labels = other;  // of the rows that are still to come
    for (std::size_t r = 0; r < 23; ++r) problem.labels[r] = label;
    for (const auto r : rest)
      if (machine.expansion.find(problem.ids[static_cast<std::size_t>(r)]) >= 0) problem.labels[static_cast<std::size_t>(r)] = label;
    converge(machine, 1e-6, 5);
    Twin exact(problem, 0, 1e-9), found(problem, 0, 1e-9);
    exact.solve();
    found.alpha = machine.alpha();
    CHECK_NEAR(found.dual(), exact.dual(), 1e-6 * exact.dual());
  }

  check::context = "duplicates";
  Problem twice(12, 6, 2, 0);
  for (std::size_t r = 0; r < 6; ++r) twice.table.values[2 * r] = 0.3f, twice.table.values[2 * r + 1] = -0.7f;
  twice.labels = {1, 1, 0, 1, 0, 0}, twice.costs = {2, 3, 4, 1, 1, 0.5};
  twice.refresh();
  Machine same(twice);
  same.learn({0, 1});
  CHECK(same.expansion.column(0).live == false);
  same.learn({2});  // two steps to the box, without a division
  CHECK(same.alpha() == std::vector<double>({2, 2, -4, 0, 0, 0}));
  same.learn({3, 4, 5});
  check_invariants(same, 0);
  converge(same, 1e-6, 2);
  CHECK_NEAR(Twin(twice, 0, 1e-9).dual(), 0.0, 0.0);
  double up = 0;
  for (const double a : same.alpha()) up += std::max(a, 0.0);
  CHECK_NEAR(up, 5.5, 1e-9);  // the whole of the smaller side

  check::context = "rows without weight";
  Problem light(13, 200, 2, 0.2);
  for (std::size_t r = 0; r < light.size(); r += 3) light.costs[r] = 0;
  Machine machine(light);
  for (std::size_t r = 0; r < light.size(); ++r) {
    machine.learn({static_cast<std::int64_t>(r)});
    check_invariants(machine, 0);
    CHECK(machine.alpha()[r - r % 3] == 0.0);
  }
  test_exact(light, 1 << 20);
}

/// Only labels of rows that were selected are read, and the selected row is the one that the rule says.
void test_selection(const Problem& problem, Rule rule) {
  check::context = "selection by rule " + std::to_string(static_cast<int>(rule)) + ", classes " + std::to_string(problem.classes);
  const Slots start = first(12);
  const auto play = [&](const Problem& p, Slots& remaining) {
    Machine machine(p);
    machine.solver.generator.state = {9, 8, 7, 6};
    machine.solver.seed(p.rows(), start);
    remaining = first(p.size());
    remaining.erase(remaining.begin(), remaining.begin() + 12);
    machine.solver.learn_selected(p.rows(), remaining, rule, 15, 60);
    machine.solver.finish(kRounds);
    return State(machine);
  };
  Slots left, poisoned_left;
  const State wanted = play(problem, left);
  CHECK(left.size() == problem.size() - 72);
  Problem poisoned(problem);
  if (rule != Rule::gradient) {
    for (const auto r : left) poisoned.labels[static_cast<std::size_t>(r)] = -1000000000, poisoned.costs[static_cast<std::size_t>(r)] = -kInf;
    CHECK(play(poisoned, poisoned_left) == wanted && poisoned_left == left);
  }
  if (rule == Rule::autoactive) return;
  Machine machine(problem);
  machine.solver.seed(problem.rows(), start);
  Slots remaining = first(problem.size());
  for (int t = 0; t < 60; ++t) {
    const auto f = machine.decide();
    const std::size_t k = machine.expansion.columns();
    const auto utility = [&](std::int64_t row) {
      const auto r = static_cast<std::size_t>(row), own = static_cast<std::size_t>(problem.labels[r]);
      if (k == 1) return rule == Rule::active ? std::abs(f[r]) : (own == 1 ? f[r] : -f[r]);
      std::vector<double> scores(f.begin() + static_cast<std::ptrdiff_t>(r * k), f.begin() + static_cast<std::ptrdiff_t>(r * k + k));
      const double mine = scores[own];
      if (rule == Rule::gradient) scores.erase(scores.begin() + static_cast<std::ptrdiff_t>(own));
      std::sort(scores.rbegin(), scores.rend());
      return rule == Rule::gradient ? mine - scores[0] : scores[0] - scores[1];
    };
    Slots after = remaining;
    machine.solver.learn_selected(problem.rows(), after, rule, problem.size(), 1);
    std::int64_t chosen = -1;
    double least = kInf;
    for (const auto r : remaining) {
      least = std::min(least, utility(r));
      if (std::find(after.begin(), after.end(), r) == after.end()) chosen = r;
    }
    CHECK(chosen >= 0 && after.size() + 1 == remaining.size());
    CHECK_NEAR(utility(chosen), least, 1e-9);
    remaining = after;
    for (std::size_t c = 0; c < k; ++c) check_invariants(machine, c);
  }
}

/// Columns share rows, but each solves its own problem.
void test_classes(const Problem& problem) {
  check::context = "classes";
  Machine machine(problem);
  std::vector<double> dual(problem.classes);
  for (std::size_t r = 0; r < problem.size(); ++r) {
    machine.learn({static_cast<std::int64_t>(r)});
    for (std::size_t c = 0; c < problem.classes; ++c) {
      const double now = check_invariants(machine, c);
      CHECK(now >= dual[c] - 1e-9 * std::max(1.0, dual[c]));
      dual[c] = now;
    }
  }
  converge(machine, 1e-6, 5);
  const auto f = machine.decide();
  for (std::size_t c = 0; c < problem.classes; ++c) {
    const Problem binary = problem.one_against_rest(c);
    Machine alone(binary);
    converge(alone, 1e-6, 6);
    const auto g = alone.decide();
    for (std::size_t r = 0; r < problem.size(); ++r) CHECK_NEAR(f[r * problem.classes + c], g[r], 1e-3);
    Twin a(problem, c, 1), b(binary, 0, 1);
    a.alpha = machine.alpha(c), b.alpha = alone.alpha();
    CHECK_NEAR(a.dual(), b.dual(), 1e-6 * b.dual());
  }
}

/// Kernel values from the caller: the same path as with the rows.
void test_external(const Problem& problem, std::size_t step) {
  check::context = "external in blocks of " + std::to_string(step);
  Machine rows(problem), values(problem, Layout::external, std::numeric_limits<std::size_t>::max());
  for (int epoch = 0; epoch < 2; ++epoch)
    for (std::size_t at = 0; at < problem.size(); at += step) {
      Slots which;
      for (std::size_t r = at; r < std::min(at + step, problem.size()); ++r) which.push_back(static_cast<std::int64_t>(r));
      rows.learn(which);
      std::vector<std::size_t> against;
      for (std::size_t s = 0; s < values.expansion.size(); ++s) against.push_back(values.row_of(s));
      for (const auto r : which)
        if (values.expansion.find(problem.ids[static_cast<std::size_t>(r)]) < 0) against.push_back(static_cast<std::size_t>(r));
      std::vector<double> kernel(problem.size() * against.size());
      for (const auto r : which)
        for (std::size_t k = 0; k < against.size(); ++k) kernel[static_cast<std::size_t>(r) * against.size() + k] = problem.k(static_cast<std::size_t>(r), against[k]);
      const Block block{Precision::f64, false, problem.size(), against.size(), kernel.data(), nullptr, nullptr};
      values.solver.learn({block, problem.labels, problem.costs, problem.ids}, which);
      CHECK(State(rows) == State(values));
    }
  CHECK(rows.solver.finish(kRounds) && values.solver.finish(kRounds));
  CHECK(State(rows) == State(values));
}

}  // namespace

int main() {
  check::context = "twin";
  test_twin(Problem(1, 160, 2, 0.2), 0, -1, 2);
  test_twin(Problem(2, 160, 2, 0.1), 5, -1, 2);
  test_twin(Problem(3, 120, 2, 0.3), 5, 0.5, 1);
  check::context = "exact";
  test_exact(Problem(4, 150, 2, 0.2), 1 << 24);
  test_exact(Problem(5, 150, 4, 0.1), 0);
  test_exact(Problem(6, 100, 2, 0.3, {KernelKind::polynomial, 1, 1, 3}), 1 << 24);
  for (const std::size_t classes : {2, 4}) {
    const Problem problem(7, 300, classes, 0.2);
    for (const Layout layout : {Layout::dense, Layout::sparse})
      for (const std::size_t before : {1, 40, 200}) test_restore(problem, layout, before);
    for (const Rule rule : {Rule::gradient, Rule::active, Rule::autoactive}) test_selection(problem, rule);
    for (const std::size_t step : {1, 7, 128}) check::guard([&] { test_external(problem, step); });
    test_same_path(Problem(8, 1500, classes, 0.5));
  }
  test_mirror_and_rest(Problem(9, 200, 2, 0.15));
  test_classes(Problem(10, 160, 4, 0.1));
  test_edges();
  return check::summary();
}
