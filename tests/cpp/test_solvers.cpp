// The solvers without a bias, driven block by block: what must hold after each, whatever the threads and the cache.
#include <cmath>

#include "gap.hpp"
#include "ramp.hpp"
#include "twin.hpp"
#include "working_set.hpp"

using namespace twin;

namespace {

/// A solver of either kind on an expansion of its own.
template <class Solver>
struct Driven {
  const Problem& problem;
  Expansion expansion;
  Solver solver;

  Driven(const Problem& p, std::size_t cache, int threads)
      : problem(p),
        expansion(make_rows(Layout::dense, Precision::f32, p.table.width, p.kernel, {}), p.classes == 2 ? 1 : p.classes,
                  cache),
        solver(expansion, p.classes) {
    expansion.set_threads(threads);
  }
  std::size_t row_of(std::size_t slot) const { return static_cast<std::size_t>((expansion.id(slot) - 1000) / 3); }
  void learn(std::size_t begin, std::size_t end) {
    Slots which;
    for (std::size_t r = begin; r < std::min(end, problem.size()); ++r) which.push_back(static_cast<std::int64_t>(r));
    solver.learn(problem.rows(), which);
  }
  std::vector<std::vector<double>> coefficients() const {
    std::vector<std::vector<double>> out(expansion.columns(), std::vector<double>(problem.size()));
    for (std::size_t c = 0; c < out.size(); ++c)
      for (std::size_t s = 0; s < expansion.size(); ++s) out[c][row_of(s)] = expansion.column(c).alpha[s];
    return out;
  }

  /// g = y - K alpha, coefficients in their boxes, gates and counts that follow from them.
  void check_column(std::size_t c) const {
    const Column& column = expansion.column(c);
    std::size_t above = 0, below_zero = 0;
    bool gradients = true, boxes = true, gates = true, strangers = true;
    for (std::size_t s = 0; s < expansion.size(); ++s) {
      double g = expansion.sign(c, s);
      for (std::size_t t = 0; t < expansion.size(); ++t) g -= column.alpha[t] * problem.k(row_of(s), row_of(t));
      gradients &= std::abs(g - column.g[s]) < 1e-9 * (1 + std::abs(g));
      const double alpha = column.alpha[s], lower = expansion.lower(c, s), upper = expansion.upper(c, s);
      boxes &= alpha >= lower && alpha <= upper;
      const int gate = (alpha < upper ? kMayRise : 0) | (alpha > lower ? kMayFall : 0);
      gates &= !column.member[s] || column.gate[s] == gate;
      strangers &= column.member[s] || (alpha == 0 && column.edge[s] == 0 && column.gate[s] == 0);
      above += alpha > 0;
      below_zero += alpha < 0;
    }
    CHECK(gradients);
    CHECK(boxes);
    CHECK(gates);
    CHECK(strangers);
    CHECK(above == column.above && below_zero == column.below);
  }
};

void set_up(Gap& solver, int kind) {
  solver.ramp = kind == 0 ? Ramp::none : kind == 1 ? Ramp::fold : Ramp::skip;
  solver.s = -0.9;
  solver.min_support = 20;
  solver.clean_every = 37;  // in the middle of blocks
  solver.max_idle = 5;
}

void set_up(RampLoss& solver, int kind) {
  solver.s = -0.9;
  solver.min_support = 5;
  solver.max_idle = kind == 0 ? std::numeric_limits<std::size_t>::max() : kind == 1 ? 10 : 0;
}

void check_end(Driven<Gap>& driven, int kind) {
  for (std::size_t c = 0; c < driven.expansion.columns(); ++c) {
    CHECK(kind == 1 || driven.solver.state.outliers[c] == 0);
    CHECK(kind == 2 || driven.solver.state.skipped[c] == 0);
    CHECK(driven.solver.gap(c) >= 0);
  }
  CHECK(driven.solver.finish(kRounds));
  for (std::size_t c = 0; c < driven.expansion.columns(); ++c) {
    driven.check_column(c);
    CHECK(violation(driven.expansion.scan(c), Bias::zero) <= driven.solver.tau);
  }
  const auto before = driven.coefficients();
  driven.solver.clean(0);
  CHECK(driven.coefficients() == before);
  bool all_support = true;
  for (std::size_t s = 0; s < driven.expansion.size(); ++s) {
    bool some = false;
    for (std::size_t c = 0; c < driven.expansion.columns(); ++c) some |= driven.expansion.column(c).alpha[s] != 0;
    all_support &= some;
  }
  CHECK(all_support);
}

void check_end(Driven<RampLoss>& driven, int kind) {
  for (std::size_t c = 0; c < driven.expansion.columns(); ++c) {
    const Column& column = driven.expansion.column(c);
    const Gain best = driven.expansion.best_gain(c, driven.solver.tau);
    CHECK(best.slot < 0 || best.gain < driven.solver.min_gain);
    std::size_t idle = 0;
    bool ramp = true;
    for (std::size_t s = 0; s < driven.expansion.size(); ++s) {
      if (!column.member[s]) continue;
      idle += column.alpha[s] == 0;
      const double y = driven.expansion.sign(c, s);
      const bool trusted = driven.solver.state.trusted[c] & (y > 0 ? 1 : 2);
      ramp &= (column.edge[s] != 0) == (!trusted || y * column.g[s] <= 1 - driven.solver.s);
    }
    CHECK(ramp);
    CHECK(kind == 0 || idle <= driven.solver.max_idle);
  }
}

template <class Solver>
void check_streams() {
  for (const std::size_t classes : {2u, 3u})
    for (int kind = 0; kind < 3; ++kind) {
      const Problem problem(17 + classes, 700, classes, 0.25);
      std::vector<std::vector<std::vector<double>>> ends;
      for (const auto& [cache, threads] : {std::pair<std::size_t, int>{1 << 24, 1}, {1 << 15, 1}, {1 << 24, 2}}) {
        Driven<Solver> driven(problem, cache, threads);
        set_up(driven.solver, kind);
        for (std::size_t begin = 0; begin < problem.size(); begin += 150) {
          driven.learn(begin, begin + 150);
          for (std::size_t c = 0; c < driven.expansion.columns(); ++c) driven.check_column(c);
        }
        ends.push_back(driven.coefficients());
        check_end(driven, kind);
      }
      CHECK(ends[0] == ends[1]);  // the cache decides how long it takes, not what comes out
      CHECK(ends[0] == ends[2]);
    }
}

/// The ramp settles again when rows are forgotten, whatever the threads and the cache.
void check_forgetting() {
  for (const std::size_t classes : {2u, 3u})
    for (int kind = 0; kind < 3; ++kind) {
      const Problem problem(23 + classes, 500, classes, 0.25);
      std::vector<std::vector<std::vector<double>>> ends;
      for (const auto& [cache, threads] : {std::pair<std::size_t, int>{1 << 24, 1}, {1 << 15, 1}, {1 << 24, 2}}) {
        Driven<RampLoss> driven(problem, cache, threads);
        set_up(driven.solver, kind);
        Random random(9);
        for (std::size_t begin = 0; begin < problem.size(); begin += 100) {
          driven.learn(begin, begin + 100);
          Slots ids;
          for (std::size_t s = 0; s < driven.expansion.size(); ++s)
            if (uniform(random, 0, 1) < 0.3) ids.push_back(driven.expansion.id(s));
          driven.solver.forget(ids);
          for (const auto id : ids) CHECK(driven.expansion.find(id) < 0);
          for (std::size_t c = 0; c < driven.expansion.columns(); ++c) driven.check_column(c);
          check_end(driven, kind);
        }
        ends.push_back(driven.coefficients());
        CHECK_THROWS(std::invalid_argument, driven.solver.forget(Slots{driven.expansion.id(0), 5}));
        CHECK(driven.coefficients() == ends.back());
        Slots all;
        for (std::size_t s = 0; s < driven.expansion.size(); ++s) all.push_back(driven.expansion.id(s));
        driven.solver.forget(all);
        CHECK(driven.expansion.size() == 0 &&
              driven.solver.state.trusted == std::vector<std::uint8_t>(driven.expansion.columns(), 0));
        driven.learn(0, 100);
        Driven<RampLoss> fresh(problem, cache, threads);
        set_up(fresh.solver, kind);
        fresh.learn(0, 100);
        CHECK(driven.coefficients() == fresh.coefficients());
      }
      CHECK(ends[0] == ends[1]);
      CHECK(ends[0] == ends[2]);
    }
}

/// Offline: the objective never rises, and V is a fixed point at the end.
void check_offline() {
  for (const Outside outside : {Outside::shut, Outside::fold}) {
    const Problem problem(5, 400, 2, 0.3);
    Driven<RampLoss> driven(problem, 1 << 24, 1);
    driven.solver.s = -0.5;
    driven.solver.outside = outside;
    driven.solver.gather(problem.rows(), first(problem.size()));
    double before = kInf;
    int rounds = 0;
    for (; rounds < 100; ++rounds) {
      CHECK(driven.solver.solve(kRounds));
      driven.check_column(0);
      CHECK(driven.solver.objective(0) <= before + 1.0);
      before = driven.solver.objective(0);
      const std::size_t would = driven.solver.redraw(false);
      const auto coefficients = driven.coefficients();
      CHECK(driven.solver.redraw(true) == would);
      if (would == 0) {
        CHECK(driven.coefficients() == coefficients);
        break;
      }
    }
    CHECK(rounds > 0 && rounds < 100);
    const auto all = driven.coefficients();
    driven.solver.drop_idle();
    CHECK(driven.coefficients() == all);
    CHECK(driven.expansion.size() == driven.expansion.column(0).support());
  }
}

/// A turn that fails leaves an expansion that goes on.
void check_failing_turn() {
  const Problem problem(3, 300, 2, 0.2);
  Driven<RampLoss> driven(problem, 1 << 24, 1);
  driven.learn(0, 150);
  Slots which{200, 201, 202};
  CHECK_THROWS(std::bad_alloc,
               in_turns(driven.expansion, problem.rows(), which, [](const Turn&) -> bool { throw std::bad_alloc(); }));
  driven.check_column(0);
  driven.learn(150, 300);
  driven.check_column(0);
}

}  // namespace

int main() {
  check::guard(check_streams<Gap>);
  check::guard(check_streams<RampLoss>);
  check::guard(check_forgetting);
  check::guard(check_offline);
  check::guard(check_failing_turn);
  return check::summary();
}
