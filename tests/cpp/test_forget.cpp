// LASVM forgets: what must hold at any time, the exact solution on the rows left, and the way back to one class.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.hpp"
#include "lasvm.hpp"
#include "twin.hpp"

using namespace twin;

namespace {

/// A random share of the rows that a machine keep_idle, by id.
Slots some_kept(const Machine& machine, Random& random, double share) {
  Slots ids;
  for (std::size_t s = 0; s < machine.expansion.size(); ++s)
    if (uniform(random, 0, 1) < share) ids.push_back(machine.expansion.id(s));
  std::shuffle(ids.begin(), ids.end(), random);
  return ids;
}

void check_all(const Machine& machine) {
  for (std::size_t c = 0; c < machine.expansion.columns(); ++c) check_invariants(machine, c);
  std::vector<std::uint8_t> seen(machine.problem.classes, 0);
  for (std::size_t s = 0; s < machine.expansion.size(); ++s)
    seen[static_cast<std::size_t>(machine.expansion.label(s))] = 1;
  CHECK(seen == machine.solver.seen());
}

/// Learning, forgetting and finishing in turns; cache and threads decide about time only.
void test_in_turns(const Problem& problem, bool keep_idle) {
  check::context = "in turns, classes " + std::to_string(problem.classes) + (keep_idle ? ", all kept" : "");
  std::unique_ptr<State> wanted;
  for (const std::size_t cache : {1 << 24, 0})
    for (const int threads : {1, 3}) {
      Machine machine(problem, cache > 0 ? Layout::dense : Layout::sparse, cache, threads);
      machine.solver.keep_idle = keep_idle;
      Random random(5);
      for (std::size_t at = 0; at < problem.size(); at += 40) {
        Slots which;
        for (std::size_t r = at; r < std::min(at + 40, problem.size()); ++r)
          which.push_back(static_cast<std::int64_t>(r));
        machine.learn(which);
        if (at % 120 == 80) CHECK(machine.solver.finish(kRounds));
        const Slots ids = some_kept(machine, random, at % 80 == 0 ? 0.05 : 0.4);
        machine.solver.forget(ids);
        for (const auto id : ids) CHECK(machine.expansion.find(id) < 0);
        check_all(machine);
        if (at % 200 == 160) CHECK(machine.solver.finish(kRounds));
        check_all(machine);
      }
      if (!wanted) wanted = std::make_unique<State>(machine);
      CHECK(State(machine) == *wanted);
    }
}

/// Where all rows are kept, the rows left have their exact solution.
void test_exact(const Problem& problem) {
  check::context = "exact, classes " + std::to_string(problem.classes);
  Machine machine(problem);
  machine.solver.keep_idle = true;
  machine.solver.tau = 1e-6;
  machine.learn(first(problem.size()));
  CHECK(machine.solver.finish(kRounds));
  Random random(6);
  Problem rest(problem);
  for (int turn = 0; turn < 3; ++turn) {
    const Slots ids = some_kept(machine, random, 0.3);
    machine.solver.forget(ids);
    CHECK(machine.solver.finish(kRounds));
    for (const auto id : ids) rest.costs[static_cast<std::size_t>((id - 1000) / 3)] = 0;  // shut in at zero
    const auto f = machine.decide();
    for (std::size_t c = 0; c < machine.expansion.columns(); ++c) {
      Twin exact(rest, c, 1e-9), found(rest, c, 1e-9);
      exact.solve();
      found.alpha = machine.alpha(c);
      CHECK_NEAR(found.dual(), exact.dual(), 1e-6 * std::abs(exact.dual()));
      for (std::size_t r = 0; r < rest.size(); ++r)
        CHECK_NEAR(f[r * machine.expansion.columns() + c], exact.output(r) + exact.bias, 1e-3);
    }
  }
}

/// Forgetting the rows of all classes but one, and of that one, too: the machine that never met them.
void test_one_class(std::size_t classes, std::int32_t left) {
  check::context = "classes " + std::to_string(classes) + ", left with " + std::to_string(left);
  const Problem problem(21, 120, classes, 0.2);
  Machine machine(problem), never(problem);
  machine.solver.keep_idle = never.solver.keep_idle = true;
  Slots others, own, own_rows;
  for (std::size_t r = 0; r < problem.size(); ++r) {
    (problem.labels[r] == left ? own : others).push_back(problem.ids[r]);
    if (problem.labels[r] == left) own_rows.push_back(static_cast<std::int64_t>(r));
  }
  machine.learn(first(problem.size()));
  CHECK(machine.solver.finish(kRounds));
  never.learn(own_rows);
  never.solver.set_iterations(machine.solver.iterations());
  machine.solver.forget(others);
  CHECK(State(machine) == State(never));
  CHECK(machine.solver.finish(kRounds) && State(machine) == State(never));

  // Rows that wait are forgotten, too; then the second class comes back.
  const Slots few(own.begin(), own.begin() + 5);
  machine.solver.forget(few);
  CHECK(machine.expansion.size() == own.size() - 5 && machine.expansion.kept() == 0);
  check_all(machine);
  Slots all = first(problem.size());
  machine.learn(all);
  CHECK(machine.expansion.kept() == problem.size() && machine.solver.finish(kRounds));
  check_all(machine);
  for (std::size_t c = 0; c < machine.expansion.columns(); ++c) CHECK(machine.expansion.column(c).live);

  machine.solver.forget(problem.ids);
  Machine fresh(problem);
  fresh.solver.set_iterations(machine.solver.iterations());
  CHECK(State(machine) == State(fresh));
  machine.learn(all);
  fresh.solver.keep_idle = true;
  fresh.learn(all);
  fresh.solver.set_iterations(machine.solver.iterations());
  CHECK(State(machine) == State(fresh));
}

/// A column may have dropped rows that another one keep_idle: when it needs them, they join it again.
void test_rows_of_others(const Problem& problem) {
  check::context = "rows of others";
  Machine machine(problem);
  for (int epoch = 0; epoch < 3; ++epoch) machine.learn(first(problem.size()));
  CHECK(machine.solver.finish(kRounds));
  int returned = 0;
  for (std::size_t c = 0; c < problem.classes; ++c) {
    Slots ids;
    std::size_t elsewhere = 0;
    for (std::size_t s = 0; s < machine.expansion.size(); ++s) {
      if (machine.expansion.sign(c, s) < 0) continue;
      if (machine.expansion.column(c).member[s]) ids.push_back(machine.expansion.id(s));
      else ++elsewhere;
    }
    machine.solver.forget(ids);
    CHECK(machine.expansion.column(c).live == (elsewhere > 0));
    returned += elsewhere > 0;
    check_all(machine);
    CHECK(machine.solver.finish(kRounds));
    check_all(machine);
  }
  CHECK(returned > 0);
}

/// Where one row can take over all of a coefficient, no other row would cost the dual less.
void test_heir(Problem problem) {
  check::context = "heir";
  for (auto& cost : problem.costs) cost *= 20;  // room in the boxes
  int compared = 0;
  for (std::size_t r = 0; r < problem.size(); ++r) {
    Machine machine(problem);
    machine.solver.keep_idle = true;
    machine.learn(first(problem.size()));
    CHECK(machine.solver.finish(kRounds));
    Twin before(problem, 0, 1e-3), after(problem, 0, 1e-3);
    before.alpha = machine.alpha();
    const double left = before.alpha[r];
    machine.solver.forget(Slots{problem.ids[r]});
    after.alpha = machine.alpha();
    std::size_t moved = 0;
    for (std::size_t s = 0; s < problem.size(); ++s) moved += after.alpha[s] != before.alpha[s];
    if (moved != 2) continue;
    ++compared;
    for (std::size_t s = 0; s < problem.size(); ++s) {
      Twin other(problem, 0, 1e-3);
      other.alpha = before.alpha;
      other.alpha[s] += left, other.alpha[r] = 0;
      if (s == r || other.alpha[s] > other.upper[s] || other.alpha[s] < other.lower[s]) continue;
      CHECK(other.dual() <= after.dual() + 1e-9);
    }
  }
  CHECK(compared > 10);
}

void test_refusal(const Problem& problem) {
  check::context = "refusal";
  Machine machine(problem);
  machine.learn(first(problem.size()));
  const State before(machine);
  CHECK_THROWS(std::invalid_argument, machine.solver.forget(Slots{machine.expansion.id(0), 5}));
  CHECK(State(machine) == before);
  machine.solver.forget({});
  CHECK(State(machine) == before);
}

}  // namespace

int main() {
  for (const bool keep_idle : {false, true})
    for (const std::size_t classes : {2, 3})
      check::guard([&] { test_in_turns(Problem(31, 400, classes, 0.2), keep_idle); });
  check::guard([] { test_in_turns(Problem(32, 300, 2, 0.2, {KernelKind::sigmoid, 2, -1, 1}), false); });
  for (const std::size_t classes : {2, 4}) check::guard([&] { test_exact(Problem(33, 120, classes, 0.15)); });
  for (const std::int32_t left : {0, 1}) check::guard([&] { test_one_class(2, left); });
  for (const std::int32_t left : {0, 2}) check::guard([&] { test_one_class(3, left); });
  check::guard([] { test_rows_of_others(Problem(34, 250, 4, 0.0)); });
  check::guard([] { test_heir(Problem(36, 80, 2, 0.1)); });
  check::guard([] { test_refusal(Problem(35, 80, 3, 0.2)); });
  return check::summary();
}
