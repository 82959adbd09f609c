// The learners on a budget, driven block by block: what must hold after each, whatever the threads and the cache.
#include <cmath>

#include "koil.hpp"
#include "margin_learners.hpp"
#include "perceptrons.hpp"
#include "projectron.hpp"
#include "twin.hpp"

using namespace twin;

namespace {

constexpr std::size_t kBudget = 12;

template <class Solver>
struct Driven {
  const Problem& problem;
  Expansion expansion;
  Solver solver;

  Driven(const Problem& p, std::size_t cache, int threads)
      : problem(p),
        expansion(make_rows(Layout::dense, Precision::f32, p.table.width, p.kernel, {}), p.classes == 2 ? 1 : p.classes,
                  cache),
        solver(expansion) {
    expansion.set_threads(threads);
  }
  std::size_t row_of(std::size_t slot) const { return static_cast<std::size_t>((expansion.id(slot) - 1000) / 3); }
  void learn(std::size_t begin, std::size_t end) {
    Slots which;
    for (std::size_t r = begin; r < std::min(end, problem.size()); ++r) which.push_back(static_cast<std::int64_t>(r));
    solver.learn(problem.rows(), which);
  }

  /// Scores are what the coefficients say; the buffer lists the members, each once; others have no coefficient.
  void check_column(std::size_t c, std::size_t most) const {
    const Column& column = expansion.column(c);
    bool scores = true, strangers = true, listed = true;
    std::size_t members = 0;
    for (std::size_t s = 0; s < expansion.size(); ++s) {
      double f = 0;
      for (std::size_t t = 0; t < expansion.size(); ++t) f += column.alpha[t] * problem.k(row_of(s), row_of(t));
      scores &= std::abs(expansion.sign(c, s) - column.g[s] - f) < 1e-9 * (1 + std::abs(f));
      strangers &= column.member[s] || column.alpha[s] == 0;
      members += column.member[s];
    }
    Slots buffer = solver.state.buffers[c];
    for (const auto id : buffer)
      listed &= expansion.find(id) >= 0 && column.member[static_cast<std::size_t>(expansion.find(id))];
    std::sort(buffer.begin(), buffer.end());
    listed &= std::adjacent_find(buffer.begin(), buffer.end()) == buffer.end();
    CHECK(scores);
    CHECK(strangers);
    CHECK(listed);
    CHECK(buffer.size() == members);
    CHECK(members <= most);
  }
};

template <class Solver>
void check_streams(
    const std::function<void(Solver&)>& set_up, std::size_t most,
    const std::function<void(const Driven<Solver>&)>& check_end = [](const auto&) {}) {
  for (const std::size_t classes : {2u, 3u}) {
    const Problem problem(31 + classes, 900, classes, 0.25);
    std::vector<std::vector<std::vector<std::int64_t>>> ends;
    for (const auto& [cache, threads] : {std::pair<std::size_t, int>{1 << 24, 1}, {1 << 12, 1}, {1 << 24, 2}}) {
      Driven<Solver> driven(problem, cache, threads);
      driven.solver.seed({{5, 6, 7, 8}});
      set_up(driven.solver);
      for (std::size_t begin = 0; begin < problem.size(); begin += 170) {
        driven.learn(begin, begin + 170);
        for (std::size_t c = 0; c < driven.expansion.columns(); ++c) driven.check_column(c, most);
      }
      driven.learn(0, 300);  // rows that come again, some of them still kept
      for (std::size_t c = 0; c < driven.expansion.columns(); ++c) driven.check_column(c, most);
      CHECK(driven.expansion.size() <= 128 + driven.expansion.columns() * most + 64 + (64 + most) / 4 + 64);
      check_end(driven);
      ends.push_back(driven.solver.state.buffers);
    }
    CHECK(ends[0] == ends[1]);  // the cache decides how long it takes, not what comes out
    CHECK(ends[0] == ends[2]);
  }
}

void check_perceptrons() {
  for (const Overflow overflow : {Overflow::worst, Overflow::random, Overflow::forget})
    check_streams<Perceptron>(
        [overflow](Perceptron& solver) {
          solver.budget = kBudget;
          solver.overflow = overflow;
        },
        kBudget,
        [overflow](const Driven<Perceptron>& driven) {
          for (std::size_t c = 0; c < driven.expansion.columns() && overflow == Overflow::forget; ++c)
            CHECK(driven.solver.spent[c] <= 15.0 / 32.0 * static_cast<double>(driven.solver.state.mistakes[c]) + 1e-9);
        });
}

void check_margin_learners() {
  check_streams<Norma>([](Norma& solver) { solver.budget = kBudget; }, kBudget);
  check_streams<Projectron>([](Projectron& solver) { solver.budget = kBudget, solver.steps_on_margin = true; },
                            kBudget);
}

/// Every step of the passive-aggressive learners, by the formulas of the paper on coefficients kept here.
void check_passive_aggressive() {
  Problem problem(17, 300, 2, 0.2);
  for (double& cost : problem.costs) cost *= 0.1;  // so that the cap of PA-I is reached
  for (const Aggressiveness variant : {Aggressiveness::pa, Aggressiveness::pa_1, Aggressiveness::pa_2}) {
    check_streams<PassiveAggressive>([variant](PassiveAggressive& solver) { solver.variant = variant; }, 900);
    Driven<PassiveAggressive> driven(problem, 1 << 24, 1);
    driven.solver.variant = variant;
    std::vector<double> alpha(problem.size(), 0.0);
    bool steps = true;
    std::size_t capped = 0;
    for (std::size_t r = 0; r < problem.size(); ++r) {
      double f = 0;
      for (std::size_t t = 0; t < r; ++t) f += alpha[t] * problem.k(r, t);
      const double y = problem.labels[r] == 1 ? 1 : -1, loss = std::max(0.0, 1 - y * f), C = problem.costs[r];
      const double own = problem.k(r, r);
      capped += loss / own > C;
      alpha[r] = y * (variant == Aggressiveness::pa     ? loss / own
                      : variant == Aggressiveness::pa_1 ? std::min(C, loss / own)
                                                        : loss / (own + 1 / (2 * C)));
      driven.learn(r, r + 1);
      double found = 0;
      for (std::size_t s = 0; s < driven.expansion.size(); ++s)
        if (driven.row_of(s) == r) found = driven.expansion.column(0).alpha[s];
      steps &= std::abs(found - alpha[r]) < 1e-6 * (1 + std::abs(alpha[r]));
    }
    CHECK(steps);
    CHECK(capped > 10);
  }
}

void check_koil() {
  for (const Victim victim : {Victim::oldest, Victim::random})
    check_streams<Koil>(
        [victim](Koil& solver) {
          solver.budget = kBudget;
          solver.neighbors = 4;
          solver.victim = victim;
        },
        2 * kBudget,
        [](const Driven<Koil>& driven) {
          for (std::size_t c = 0; c < driven.expansion.columns(); ++c) {
            const Column& column = driven.expansion.column(c);
            std::size_t positive = 0, negative = 0;
            bool signs = true;
            for (std::size_t s = 0; s < driven.expansion.size(); ++s) {
              if (!column.member[s]) continue;
              (driven.expansion.sign(c, s) > 0 ? positive : negative) += 1;
              signs &= driven.expansion.sign(c, s) * column.alpha[s] >= 0;
            }
            CHECK(positive <= kBudget && negative <= kBudget);
            CHECK(signs);
          }
        });
}

/// The mean of all rules, and their vote, by keeping every rule.
void check_averages() {
  const Problem problem(9, 260, 2, 0.2);
  for (const Averaging averaging : {Averaging::mean, Averaging::vote}) {
    Driven<Perceptron> driven(problem, 1 << 24, 1);
    driven.solver.averaging = averaging;
    driven.solver.budget = ~std::size_t{0};
    std::vector<double> sums(problem.size(), 0.0), alpha(problem.size(), 0.0);
    for (std::size_t r = 0; r < problem.size(); ++r) {
      driven.learn(r, r + 1);
      for (std::size_t s = 0; s < driven.expansion.size(); ++s)
        alpha[driven.row_of(s)] = driven.expansion.column(0).alpha[s];
      for (std::size_t q = 0; q < problem.size(); ++q) {
        double f = 0;
        for (std::size_t t = 0; t <= r; ++t) f += alpha[t] * problem.k(q, t);
        sums[q] += averaging == Averaging::mean ? f : (f > 1e-9) - (f < -1e-9);
      }
    }
    std::vector<double> out(problem.size());
    driven.solver.decide(problem.table.dense(), 1, out.data());
    std::size_t off = 0;
    for (std::size_t q = 0; q < problem.size(); ++q)
      off += std::abs(out[q] - sums[q] / static_cast<double>(problem.size())) > 1e-6;
    CHECK(off <= problem.size() / 100);  // a vote by a rule that is 0 to rounding may fall either way
  }
}

/// A kernel that the Forgetron's bound does not allow is refused, and the expansion goes on.
void check_refusal() {
  Problem problem(4, 60, 2, 0.1, {KernelKind::linear, 1, 0, 1});
  for (float& value : problem.table.values) value *= 3;
  problem.refresh();
  Driven<Perceptron> driven(problem, 1 << 24, 1);
  driven.solver.budget = 3;
  driven.solver.overflow = Overflow::forget;
  CHECK_THROWS(std::invalid_argument, driven.learn(0, 60));
}

}  // namespace

int main() {
  check::guard(check_perceptrons);
  check::guard(check_margin_learners);
  check::guard(check_passive_aggressive);
  check::guard(check_koil);
  check::guard(check_averages);
  check::guard(check_refusal);
  return check::summary();
}
