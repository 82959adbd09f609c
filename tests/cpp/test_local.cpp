// Local updates, driven block by block with rows forgotten in between: what must hold after each, whatever the threads
// and the cache.
#include <cmath>
#include <numeric>

#include "local.hpp"
#include "twin.hpp"

using namespace twin;

namespace {

struct Driven {
  const Problem& problem;
  Expansion expansion;
  LocalUpdates solver;

  Driven(const Problem& p, std::size_t cache = 1 << 24, int threads = 1)
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
  void forget(std::size_t begin, std::size_t end, std::size_t stride) {
    const std::vector<std::uint8_t> kept = expansion.kept_flags();
    Slots ids;
    for (std::size_t r = begin; r < end; r += stride) {
      const std::int64_t slot = expansion.find(problem.ids[r]);
      if (slot >= 0 && kept[static_cast<std::size_t>(slot)]) ids.push_back(problem.ids[r]);
    }
    solver.forget(ids);
  }
  std::vector<std::vector<double>> coefficients() const {
    std::vector<std::vector<double>> out(expansion.columns(), std::vector<double>(problem.size()));
    for (std::size_t c = 0; c < out.size(); ++c)
      for (std::size_t s = 0; s < expansion.size(); ++s) out[c][row_of(s)] = expansion.column(c).alpha[s];
    return out;
  }

  /// sum alpha = 0, g = y - K alpha, coefficients in their boxes, gates and counts that follow from them, b by its
  /// rule.
  void check_column(std::size_t c) const {
    const Column& column = expansion.column(c);
    std::size_t above = 0, below_zero = 0, free = 0;
    bool gradients = true, boxes = true, gates = true, strangers = true;
    double sum = 0, of_free = 0;
    for (std::size_t s = 0; s < expansion.size(); ++s) {
      double g = expansion.sign(c, s);
      for (std::size_t t = 0; t < expansion.size(); ++t) g -= column.alpha[t] * problem.k(row_of(s), row_of(t));
      gradients &= std::abs(g - column.g[s]) < 1e-9 * (1 + std::abs(g));
      const double alpha = column.alpha[s], lower = expansion.lower(c, s), upper = expansion.upper(c, s);
      sum += alpha;
      boxes &= alpha >= lower && alpha <= upper;
      const int gate = (alpha < upper ? kMayRise : 0) | (alpha > lower ? kMayFall : 0);
      gates &= !column.member[s] || column.gate[s] == gate;
      strangers &= column.member[s] || (alpha == 0 && column.edge[s] == 0 && column.gate[s] == 0);
      above += alpha > 0;
      below_zero += alpha < 0;
      if (alpha > lower + 1e-9 && alpha < upper - 1e-9) of_free += g, ++free;
    }
    CHECK_NEAR(sum, 0.0, 1e-10);
    CHECK(gradients);
    CHECK(boxes);
    CHECK(gates);
    CHECK(strangers);
    CHECK(above == column.above && below_zero == column.below);
    if (column.live && free > 0) CHECK_NEAR(column.bias, of_free / static_cast<double>(free), 1e-8);
  }
  void check_all() const {
    for (std::size_t c = 0; c < expansion.columns(); ++c) check_column(c);
  }
};

std::int64_t sum(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

void set_up(LocalUpdates& solver, int kind) {
  solver.extent = {kind == 1, 0.7, kind == 2 ? 0u : 12u};
  solver.full_pass_every = kind == 2 ? 0 : 60;  // in the middle of blocks
  solver.full_pass_sample = kind == 2 ? 0 : 5;
  if (kind > 0) solver.max_idle = 40;
}

void check_streams() {
  for (const std::size_t classes : {2u, 3u})
    for (int kind = 0; kind < 3; ++kind) {
      const Problem problem(17 + classes, 600, classes, 0.2);
      std::vector<std::vector<std::vector<double>>> ends;
      for (const auto& [cache, threads] : {std::pair<std::size_t, int>{1 << 24, 1}, {1 << 15, 1}, {1 << 24, 2}}) {
        Driven driven(problem, cache, threads);
        set_up(driven.solver, kind);
        for (std::size_t begin = 0; begin < problem.size(); begin += 150) {
          driven.learn(begin, begin + 150);
          driven.check_all();
          driven.forget(begin, begin + 150, 4);
          driven.check_all();
        }
        CHECK((sum(driven.solver.state.full_passes) > 0) == (kind < 2));
        CHECK(sum(driven.solver.state.capped) == 0);
        ends.push_back(driven.coefficients());
        CHECK(driven.solver.finish(kRounds));
        driven.check_all();
        for (std::size_t c = 0; c < driven.expansion.columns(); ++c)
          CHECK(violation(driven.expansion.scan(c), Bias::free) <= driven.solver.tau);
      }
      CHECK(ends[0] == ends[1]);  // the cache decides how long it takes, not what comes out
      CHECK(ends[0] == ends[2]);
    }
}

/// Wide neighborhoods: after every block the SVM of its rows, however many were forgotten.
void check_wide() {
  const Problem problem(5, 200, 2, 0.2);
  Driven driven(problem);
  driven.solver.extent = {false, 1e9, 0};
  driven.solver.tau = 1e-6;
  driven.solver.full_pass_sample = driven.solver.full_pass_every = 0;
  driven.learn(0, 150);
  CHECK(violation(driven.expansion.scan(0), Bias::free) <= 1e-6);
  driven.forget(0, 100, 3);
  CHECK(violation(driven.expansion.scan(0), Bias::free) <= 1e-6);
  driven.learn(150, 200);
  CHECK(violation(driven.expansion.scan(0), Bias::free) <= 1e-6);
  CHECK(driven.solver.state.full_passes[0] == 0);
  const Slots unknown{problem.ids[0]};
  CHECK_THROWS(std::invalid_argument, driven.solver.forget(unknown));
}

}  // namespace

int main() {
  check::guard(check_streams);
  check::guard(check_wide);
  return check::summary();
}
