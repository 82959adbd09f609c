// LASVM against a slow twin that follows the definition, an exact solver, and itself.
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "check.hpp"
#include "lasvm.hpp"
#include "problems.hpp"
#include "twin.hpp"

using namespace everlearn;
using namespace problems;
using namespace twin;

namespace {

/// Takes rows out of `remaining` by a rule, and learns them.
void learn_selected(Lasvm& solver, const LabeledRows& rows, Slots& remaining, Selection rule, std::size_t pool,
                    std::size_t count) {
  std::span<std::int64_t> left(remaining);
  solver.learn_selected(rows, left, rule, pool, count);
  remaining.resize(left.size());
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
  CHECK(compared > static_cast<int>(problem.size()) * epochs / 4);
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
  machine.learn(first(problem.size()));
  for (machine.solver.tau = 1; machine.solver.tau > 1e-5; machine.solver.tau *= 0.6) {
    CHECK(machine.solver.finish(kRounds));
    for (std::size_t c = 0; c < machine.expansion.columns(); ++c)
      CHECK(machine.expansion.column(c).delta <= machine.solver.tau);
  }
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

/// A machine that is read out and put back goes on bit for bit.
void test_restore(const Problem& problem, Layout layout, std::size_t before) {
  check::context = "restore after " + std::to_string(before);
  Machine one(problem, layout), other(problem, layout, 1 << 24, 2);
  const Slots which = first(problem.size());
  const auto half = static_cast<std::ptrdiff_t>(before / 2);
  one.learn({which.begin(), which.begin() + half});
  Slots left[2] = {{which.begin() + half, which.end()}, {}};
  learn_selected(one.solver, problem.rows(), left[0], Selection::active, 20, before - before / 2);
  left[1] = left[0];
  put_back(one, other);
  Machine* machines[2] = {&one, &other};
  for (int stage = 0; stage < 4; ++stage) {
    for (int m = 0; m < 2; ++m) {
      Lasvm& solver = machines[m]->solver;
      if (stage == 0) learn_selected(solver, problem.rows(), left[m], Selection::autoactive, 0, 30);
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
  std::unique_ptr<State> learnt, finished;
  for (const std::size_t cache : {1 << 26, 0, 1 << 20})
    for (const int threads : {1, 2, 3}) {
      Machine machine(problem, cache > 0 ? Layout::dense : Layout::sparse, cache, threads);
      for (int epoch = 0; epoch < 2; ++epoch) machine.learn(first(problem.size()));
      if (!learnt) learnt = std::make_unique<State>(machine);
      CHECK(State(machine) == *learnt);
      CHECK(machine.expansion.kernel().cache().bytes() <=
            std::max(cache, 2 * machine.expansion.columns() * kPage * sizeof(float)));
      CHECK(machine.solver.finish(kRounds));
      if (!finished) finished = std::make_unique<State>(machine);
      CHECK(State(machine) == *finished);
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
  for (std::size_t r = 0; r < problem.size(); ++r) {
    one.learn({static_cast<std::int64_t>(r)});
    check_invariants(one, 0);
  }
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
    learn_selected(machine.solver, problem.rows(), pool, Selection::active, 5, 3);
    CHECK(pool.size() == 17 && machine.decide() == std::vector<double>(40, label ? 1.0 : -1.0));
    for (const auto r : pool) problem.labels[static_cast<std::size_t>(r)] = other[static_cast<std::size_t>(r)];
    converge(machine, 1e-6, 5);
    Twin exact(problem, 0, 1e-9), found(problem, 0, 1e-9);
    exact.solve();
    found.alpha = machine.alpha();
    CHECK_NEAR(found.dual(), exact.dual(), 1e-6 * exact.dual());
  }

  check::context = "second class within a block";
  Problem late(14, 40, 2, 0);
  for (std::size_t r = 0; r < late.size(); ++r) late.labels[r] = r == 30;
  Machine at_once(late), singly(late);
  at_once.learn(first(31));
  for (std::int64_t r = 0; r < 31; ++r) singly.learn({r});
  CHECK(State(at_once) == State(singly) && singly.alpha()[30] > 0);

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
  double up = 0;
  for (const double a : same.alpha()) up += std::max(a, 0.0);
  CHECK_NEAR(up, 5.5, 1e-9);  // the whole of the smaller side
}

/// Only labels of rows that were selected are read, and the selected row is the one that the rule says.
void test_selection(const Problem& problem, Selection rule) {
  check::context = "rule " + std::to_string(static_cast<int>(rule)) + ", classes " + std::to_string(problem.classes);
  const Slots start = first(12);
  const auto play = [&](const Problem& p, Slots& remaining) {
    Machine machine(p);
    machine.solver.generator.state = {9, 8, 7, 6};
    machine.solver.seed(p.rows(), start);
    remaining = first(p.size());
    remaining.erase(remaining.begin(), remaining.begin() + 12);
    learn_selected(machine.solver, p.rows(), remaining, rule, 15, 60);
    machine.solver.finish(kRounds);
    return State(machine);
  };
  Slots left, poisoned_left;
  const State wanted = play(problem, left);
  CHECK(left.size() == problem.size() - 72);
  Problem poisoned(problem);
  if (rule != Selection::gradient) {
    for (const auto r : left) {
      poisoned.labels[static_cast<std::size_t>(r)] = -1000000000;
      poisoned.costs[static_cast<std::size_t>(r)] = -kInf;
    }
    CHECK(play(poisoned, poisoned_left) == wanted && poisoned_left == left);
  }
  if (rule == Selection::autoactive) return;
  Machine machine(problem);
  machine.solver.seed(problem.rows(), start);
  Slots remaining = first(problem.size());
  for (int t = 0; t < 60; ++t) {
    const auto f = machine.decide();
    const std::size_t k = machine.expansion.columns();
    const auto utility = [&](std::int64_t row) {
      const auto r = static_cast<std::size_t>(row), own = static_cast<std::size_t>(problem.labels[r]);
      if (k == 1) return rule == Selection::active ? std::abs(f[r]) : (own == 1 ? f[r] : -f[r]);
      std::vector<double> scores(f.data() + r * k, f.data() + r * k + k);
      const double mine = scores[own];
      if (rule == Selection::gradient) scores.erase(scores.begin() + static_cast<std::ptrdiff_t>(own));
      std::sort(scores.rbegin(), scores.rend());
      return rule == Selection::gradient ? mine - scores[0] : scores[0] - scores[1];
    };
    Slots after = remaining;
    learn_selected(machine.solver, problem.rows(), after, rule, problem.size(), 1);
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

/// Rows that are seeded with known scores are those that are seeded without, and cost no kernel values of others.
void test_scored_seeds(const Problem& problem, Layout layout, bool costly, int threads) {
  check::context = "scored seeds, classes " + std::to_string(problem.classes) + (costly ? ", costly" : "");
  Slots learned = first(problem.size() / 3), seeds = first(problem.size());
  seeds.erase(seeds.begin(), seeds.begin() + static_cast<std::ptrdiff_t>(learned.size()));
  const auto play = [&](bool scored) {
    auto machine = std::make_unique<Machine>(problem, layout, std::size_t{1} << 24, threads);
    machine->learn(learned);
    std::vector<double> scores = machine->decide();
    const std::size_t k = machine->expansion.columns();
    for (std::size_t r = 0; r < problem.size(); ++r)
      for (std::size_t c = 0; c < k; ++c) scores[r * k + c] -= machine->expansion.column(c).bias;
    const auto before = machine->expansion.kernel().evaluations();
    if (scored) machine->solver.seed(problem.rows(), seeds, scores);
    else machine->solver.seed(problem.rows(), seeds);
    const auto values = machine->expansion.kernel().evaluations() - before;
    CHECK(scored && !costly ? values == seeds.size() : values > 10 * seeds.size());
    CHECK(machine->solver.iterations() == static_cast<std::int64_t>(problem.size()));
    return machine;
  };
  const auto plain = play(false), scored = play(true);
  for (std::size_t c = 0; c < plain->expansion.columns(); ++c) {
    check_invariants(*scored, c);
    CHECK(plain->members(c) == scored->members(c));
    CHECK_NEAR(plain->expansion.column(c).bias, scored->expansion.column(c).bias, 1e-9);
  }
  CHECK(plain->solver.finish(kRounds) && scored->solver.finish(kRounds));
  for (std::size_t c = 0; c < plain->expansion.columns(); ++c) {
    check_invariants(*scored, c);
    Twin a(problem, c, 1), b(problem, c, 1);
    a.alpha = plain->alpha(c), b.alpha = scored->alpha(c);
    CHECK_NEAR(a.dual(), b.dual(), 1e-4 * a.dual());
  }
}

/// Kernel values from the caller: the same path as with the rows, and on after a restore.
void test_external(const Problem& problem, std::size_t step) {
  check::context = "external in blocks of " + std::to_string(step);
  const auto machine = [&](Layout layout) { return std::make_unique<Machine>(problem, layout, std::size_t{1} << 40); };
  const auto rows = machine(Layout::dense);
  auto values = machine(Layout::external);
  for (std::size_t at = 0; at < 2 * problem.size(); at += step) {
    Slots which;
    for (std::size_t r = at; r < std::min(at + step, 2 * problem.size()); ++r)
      which.push_back(static_cast<std::int64_t>(r % problem.size()));
    rows->learn(which);
    std::vector<std::size_t> against;
    for (std::size_t s = 0; s < values->expansion.size(); ++s) against.push_back(values->row_of(s));
    for (const auto row : which) {
      const auto r = static_cast<std::size_t>(row);
      if (values->expansion.find(problem.ids[r]) < 0) against.push_back(r);
    }
    std::vector<double> kernel;
    for (std::size_t r = 0; r < problem.size(); ++r)
      for (const auto k : against) kernel.push_back(problem.k(r, k));
    const Block block{Precision::f64, false, problem.size(), against.size(), kernel.data(), nullptr, nullptr};
    values->solver.learn({block, problem.labels, problem.costs, problem.ids}, which);
    CHECK(State(*rows) == State(*values));
    if (at % (10 * step) != 0) continue;
    auto again = machine(Layout::external);
    put_back(*values, *again);
    values = std::move(again);
  }
  CHECK(rows->solver.finish(kRounds) && values->solver.finish(kRounds));
  CHECK(State(*rows) == State(*values));
}

}  // namespace

int main() {
  check::context = "twin";
  test_twin(Problem(1, 160, 2, 0.2), 0, -1, 2);
  test_twin(Problem(2, 160, 2, 0.1), 5, -1, 2);
  test_twin(Problem(3, 120, 2, 0.3), 5, 0.5, 1);
  // Not positive definite: some pairs have a negative curvature.
  test_twin(Problem(4, 120, 2, 0.2, {KernelKind::sigmoid, 2, -1, 1}), 0, -1, 1);
  check::context = "exact";
  test_exact(Problem(4, 150, 2, 0.2), 1 << 24);
  test_exact(Problem(5, 150, 4, 0.1), 0);
  test_exact(Problem(6, 100, 2, 0.3, {KernelKind::polynomial, 1, 1, 3}), 1 << 24);
  for (const std::size_t classes : {2, 4}) {
    const Problem problem(7, 300, classes, 0.2);
    for (const Layout layout : {Layout::dense, Layout::sparse})
      for (const std::size_t before : {1, 40, 200}) test_restore(problem, layout, before);
    for (const Selection rule : {Selection::gradient, Selection::active, Selection::autoactive})
      test_selection(problem, rule);
    for (const std::size_t step : {1, 7, 128}) check::guard([&] { test_external(problem, step); });
    test_same_path(Problem(8, 1500, classes, 0.5));
  }
  for (const std::size_t classes : {2, 4})
    for (const int threads : {1, 3}) test_scored_seeds(Problem(11, 700, classes, 0.2), Layout::dense, false, threads);
  test_scored_seeds(Problem(12, 700, 3, 0.2).widened(300), Layout::dense, true, 1);
  test_scored_seeds(Problem(13, 700, 3, 0.2), Layout::sparse, false, 2);
  test_mirror_and_rest(Problem(9, 200, 2, 0.15));
  test_classes(Problem(10, 160, 4, 0.1));
  test_edges();
  return check::summary();
}
