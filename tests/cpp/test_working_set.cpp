// The optimizer and its steps against brute force: grids, and the solution of a plain solver on the whole kernel
// matrix.
#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "twin.hpp"
#include "working_set.hpp"

using namespace twin;

namespace {

/// What a step on two coefficients adds to the dual.
double gain(const Single& i, const Single& j, double kij, double to_i, double to_j) {
  const double a = to_i - i.alpha, b = to_j - j.alpha;
  return a * i.g + b * j.g - 0.5 * (a * a * i.curvature + b * b * j.curvature) - a * b * kij;
}

Single random_single(Random& random) {
  const double edge = uniform(random, -3, 3);
  const double alpha = std::vector<double>{0, edge, edge * uniform(random, 0, 1)}[below(random, 3)];
  return {uniform(random, -2, 2), uniform(random, 0.2, 2), alpha, std::min(0.0, edge), std::max(0.0, edge)};
}

void test_steps() {
  check::context = "steps";
  Random random(12);
  constexpr int kGrid = 60;
  const auto at = [](const Single& i, int k) { return i.lower + (i.upper - i.lower) * k / kGrid; };
  for (int round = 0; round < 300; ++round) {
    const Single i = random_single(random), j = random_single(random);
    const double kij = uniform(random, -0.99, 0.99) * std::sqrt(i.curvature * j.curvature);
    // Alone.
    const double alone = single_step(i);
    CHECK(alone >= i.lower && alone <= i.upper);
    for (int k = 0; k <= kGrid; ++k)
      CHECK(gain(i, j, kij, at(i, k), j.alpha) <= gain(i, j, kij, alone, j.alpha) + 1e-9);
    // Both: never worse than one after the other, and the best of all if no gradient is left.
    const auto [to_i, to_j] = joint_step(i, j, kij);
    CHECK(to_i >= i.lower && to_i <= i.upper && to_j >= j.lower && to_j <= j.upper);
    CHECK(gain(i, j, kij, to_i, to_j) >= gain(i, j, kij, alone, j.alpha) - 1e-9);
    const double a = to_i - i.alpha, b = to_j - j.alpha;
    if (std::abs(i.g - a * i.curvature - b * kij) < 1e-9 && std::abs(j.g - b * j.curvature - a * kij) < 1e-9)
      for (int k = 0; k <= kGrid; ++k)
        for (int l = 0; l <= kGrid; ++l)
          CHECK(gain(i, j, kij, at(i, k), at(j, l)) <= gain(i, j, kij, to_i, to_j) + 1e-9);
    // A pair keeps the sum, and the best step of all lengths that the boxes allow is taken, to the bound exactly.
    if (i.g <= j.g) continue;
    const double curvature = i.curvature + j.curvature - 2 * kij;
    const PairStep pair = pair_step(i.g - j.g, curvature, {i.alpha, i.upper}, {j.alpha, j.lower});
    const double room = std::min(i.upper - i.alpha, j.alpha - j.lower);
    CHECK(pair.length >= 0 && pair.length <= room);
    CHECK(pair.up <= i.upper && pair.down >= j.lower);
    CHECK_NEAR(pair.up + pair.down, i.alpha + j.alpha, 1e-12);
    if (pair.length == room) CHECK(pair.up == i.upper || pair.down == j.lower);
    for (int k = 0; k <= kGrid; ++k) {
      const double length = room * k / kGrid;
      CHECK(gain(i, j, kij, i.alpha + length, j.alpha - length) <= gain(i, j, kij, pair.up, pair.down) + 1e-9);
    }
  }
}

struct Open {
  const Problem& problem;
  Expansion expansion;

  Open(const Problem& p, std::size_t cache)
      : problem(p), expansion(make_rows(Layout::dense, Precision::f32, p.table.width, p.kernel, {}), 1, cache) {
    expansion.column(0).live = true;
    expansion.column(0).ends = {0, 0, -1, -1};
    const Slots all = first(p.size());
    expansion.append(*expansion.rows().take(p.table.dense(), all), {p.ids, p.labels, p.costs});
    for (std::size_t s = 0; s < p.size(); ++s) expansion.join(0, s);
    expansion.column(0).ends = expansion.scan(0);
  }
  double dual() const {
    double sum = 0;
    const Column& column = expansion.column(0);
    for (std::size_t s = 0; s < expansion.size(); ++s)
      sum += column.alpha[s] * (expansion.sign(0, s) + column.g[s]) / 2;  // y - K alpha / 2 = (y + g) / 2
    return sum;
  }
  double drift() const {
    double worst = 0;
    const Column& column = expansion.column(0);
    for (std::size_t s = 0; s < expansion.size(); ++s) {
      double g = expansion.sign(0, s);
      for (std::size_t t = 0; t < expansion.size(); ++t) g -= column.alpha[t] * problem.k(s, t);
      worst = std::max(worst, std::abs(g - column.g[s]));
    }
    return worst;
  }
};

/// Coordinate ascent, one coefficient after the other, until nothing moves: the solution without a bias.
double brute_force_dual(const Problem& problem) {
  std::vector<double> alpha(problem.size(), 0), g;
  for (std::size_t s = 0; s < problem.size(); ++s) g.push_back(problem.labels[s] == 1 ? 1 : -1);
  const std::vector<double> y = g;
  for (double most = 1; most > 1e-9;) {
    most = 0;
    for (std::size_t s = 0; s < alpha.size(); ++s) {
      const double edge = y[s] * problem.costs[s];
      const double to = std::clamp(alpha[s] + g[s] / problem.k(s, s), std::min(0.0, edge), std::max(0.0, edge));
      const double move = to - alpha[s];
      most = std::max(most, std::abs(move));
      alpha[s] = to;
      if (move != 0)
        for (std::size_t t = 0; t < alpha.size(); ++t) g[t] -= move * problem.k(s, t);
    }
  }
  double dual = 0;
  for (std::size_t s = 0; s < alpha.size(); ++s) dual += alpha[s] * (y[s] + g[s]) / 2;
  return dual;
}

/// With more rows than a working set. Gradients follow kernel values that are computed again or, for wide rows, kernel
/// rows, for which the small cache has no room.
void test_optimize(std::size_t width) {
  const Problem problem = Problem(5, 700, 2, 0.15).widened(width);
  Twin twin(problem, 0, 1e-6);
  twin.solve();
  const double without_bias = brute_force_dual(problem);
  for (const Bias bias : {Bias::free, Bias::zero}) {
    std::vector<double> results[3];
    for (const int cache : {0, 1, 2}) {
      const char* const names[] = {"small", "large", "filled"};
      check::context = std::string("optimize ") + (bias == Bias::free ? "with" : "without") + " bias, cache " +
                       names[cache] + ", width " + std::to_string(width);
      Open open(problem, cache == 0 ? 0 : 1 << 26);
      if (cache == 2) open.expansion.hold(first(problem.size()));  // gradients follow cached rows, not computed ones
      std::int64_t steps = 0;
      double last = 0;
      bool done = false;
      for (int rounds = 0; rounds < 1000 && !done; ++rounds) {
        done = optimize(open.expansion, 0, bias, 1e-6, 1, steps);
        CHECK(open.dual() >= last - 1e-9);
        last = open.dual();
      }
      CHECK(done && steps > 0);
      CHECK(violation(open.expansion.scan(0), bias) <= 1e-6);
      CHECK(open.drift() < 1e-8);
      CHECK_NEAR(open.dual(), bias == Bias::free ? twin.dual() : without_bias, 1e-4 * std::abs(last));
      const auto& alpha = open.expansion.column(0).alpha;
      double sum = 0;
      for (const double value : alpha) sum += value;
      if (bias == Bias::free) CHECK_NEAR(sum, 0.0, 1e-9);
      results[cache].assign(alpha.begin(), alpha.end());
    }
    CHECK(same_bits(results[0], results[1]) && same_bits(results[0], results[2]));  // the cache affects only the time
  }
}

/// Steps on one coefficient, and with a partner, never lower the dual and keep g = y - K alpha.
void test_steps_on_a_column() {
  check::context = "steps on a column";
  const Problem problem(6, 200, 2, 0.2);
  Open open(problem, 1 << 24);
  Expansion& expansion = open.expansion;
  const auto follow = [&](std::span<const Move> moves) { expansion.survey(0, moves); };
  Random random(4);
  double last = 0;
  std::size_t moved = 0;
  for (int round = 0; round < 400; ++round) {
    const std::size_t slot = below(random, problem.size());
    moved += (round % 2 ? step_alone : step_with_partner)(expansion, 0, slot, follow);
    CHECK(open.dual() >= last - 1e-9);
    last = open.dual();
  }
  CHECK(moved > 100 && last > 1);
  CHECK(open.drift() < 1e-8);
  const Slots slots{3, 8, 120};
  std::vector<double> targets;
  for (const auto slot : slots) targets.push_back(expansion.column(0).edge[static_cast<std::size_t>(slot)] / 3);
  move_to(expansion, 0, slots, targets);
  for (std::size_t k = 0; k < slots.size(); ++k)
    CHECK(expansion.column(0).alpha[static_cast<std::size_t>(slots[k])] == targets[k]);
  CHECK(open.drift() < 1e-8);
}

/// Nearly every coefficient is free: a working set holds all of them, in a matrix that is filled by several threads.
void test_large_working_set() {
  const Problem problem(5, 1200, 2, 0.15, {KernelKind::rbf, 2000, 0, 1});
  std::vector<double> results[2];
  for (const int threads : {1, 3}) {
    check::context = "large working set, threads " + std::to_string(threads);
    Open open(problem, 1 << 20);
    open.expansion.set_threads(threads);
    std::int64_t steps = 0;
    while (!optimize(open.expansion, 0, Bias::free, 1e-6, 1, steps)) CHECK(steps < 1'000'000);
    const Column& column = open.expansion.column(0);
    const auto free = std::count(column.gate.begin(), column.gate.end(), kMayRise | kMayFall);
    CHECK(free > 1000);
    CHECK(violation(open.expansion.scan(0), Bias::free) <= 1e-6);
    CHECK(open.drift() < 1e-8);
    results[threads > 1].assign(column.alpha.begin(), column.alpha.end());
  }
  CHECK(same_bits(results[0], results[1]));
}

/// Gradients follow computed kernel rows as they follow cached ones, bit for bit, with any number of threads.
void test_sweep() {
  check::context = "sweep";
  const Problem problem(8, 1500, 3, 0.2);
  const Slots slots = first(700);
  Random random(9);
  std::vector<double> moves;
  for (std::size_t k = 0; k < slots.size(); ++k) moves.push_back(uniform(random, -1, 1));
  Open cached(problem, 1 << 26);
  Expansion& held = cached.expansion;
  CHECK(!held.kernel().knows_most(slots));
  held.descend(0, held.hold(slots).views(), moves);
  CHECK(held.kernel().knows_most(slots) && !held.kernel().knows_most(first(1400)));
  for (const int threads : {1, 3}) {
    Open computed(problem, 0);
    computed.expansion.set_threads(threads);
    const std::uint64_t before = computed.expansion.kernel().evaluations();
    computed.expansion.descend(0, slots, moves);
    CHECK(computed.expansion.kernel().evaluations() - before == slots.size() * problem.size());
    CHECK(same_bits(computed.expansion.column(0).g.data(), held.column(0).g.data(), problem.size()));
  }
}

}  // namespace

int main() {
  test_steps();
  check::guard(test_sweep);
  check::guard(test_large_working_set);
  for (const std::size_t width : {2, 100, 300}) check::guard([width] { test_optimize(width); });
  check::guard(test_steps_on_a_column);
  return check::summary();
}
