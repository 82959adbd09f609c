// Memory runs out at every point of learning and forgetting: the call throws std::bad_alloc, and the learner stays
// usable.
//
// An allocation is made to fail, or all from there on; then the gradients must be those of the coefficients, every slot
// must have its row, no block may be open, and learning must go on.
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "check.hpp"
#include "gap.hpp"
#include "incremental.hpp"
#include "koil.hpp"
#include "lasvm.hpp"
#include "local.hpp"
#include "margin_learners.hpp"
#include "perceptrons.hpp"
#include "projectron.hpp"
#include "ramp.hpp"
#include "twin.hpp"

namespace {

std::atomic<long> left{-1};        // allocations until one fails; negative: none fails
std::atomic<bool> lasting{false};  // all later ones fail, too
std::atomic<long> counted{0};

// Not inlined, or GCC sees that what new returns goes to free and warns of a mismatch.
[[gnu::noinline]] void* allocate(std::size_t bytes, std::size_t alignment) {
  ++counted;
  if (left >= 0 && left-- == 0) {
    if (lasting) left = 0;
    throw std::bad_alloc();
  }
  void* p = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
[[gnu::noinline]] void release(void* p) noexcept { std::free(p); }

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete(void* p, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { release(p); }

using namespace twin;

namespace {

/// Runs work() with failing memory; returns whether it threw std::bad_alloc.
bool starve(long allocations, bool from_there_on, const std::function<void()>& work) {
  lasting = from_there_on;
  left = allocations;
  bool threw = false;
  try {
    work();
  } catch (const std::bad_alloc&) {
    threw = true;
  }
  left = -1;
  return threw;
}

/// What is called while memory runs out; seed is that of LASVM, with scores.
enum class Call { learn, forget, seed };

template <class Solver>
struct Learner {
  const Problem& problem;
  Expansion expansion;
  Solver solver;

  Learner(const Problem& p, Layout layout, std::size_t cache)
      : problem(p),
        expansion(make_rows(layout, Precision::f64, p.table.width, p.kernel, {}), p.classes == 2 ? 1 : p.classes,
                  cache),
        solver(make(expansion, p.classes)) {}
  static Solver make(Expansion& expansion, std::size_t classes) {
    if constexpr (std::is_constructible_v<Solver, Expansion&, std::size_t>) return Solver(expansion, classes);
    else return Solver(expansion);
  }
  std::size_t row_of(std::size_t slot) const { return static_cast<std::size_t>((expansion.id(slot) - 1000) / 3); }

  void learn(std::size_t begin, std::size_t end) {
    Slots which;
    for (std::size_t r = begin; r < end; ++r) which.push_back(static_cast<std::int64_t>(r));
    if (expansion.rows().external() || std::is_same_v<Solver, Incremental>)  // these want new rows only
      std::erase_if(which,
                    [&](std::int64_t r) { return expansion.find(problem.ids[static_cast<std::size_t>(r)]) >= 0; });
    if (!expansion.rows().external()) return solver.learn(problem.rows(), which);
    std::vector<double> values;
    std::vector<std::int32_t> labels;
    std::vector<double> costs;
    Slots ids;
    for (const auto row : which) {
      const auto r = static_cast<std::size_t>(row);
      for (std::size_t s = 0; s < expansion.size(); ++s) values.push_back(problem.k(r, row_of(s)));
      for (const auto other : which) values.push_back(problem.k(r, static_cast<std::size_t>(other)));
      labels.push_back(problem.labels[r]), costs.push_back(problem.costs[r]), ids.push_back(problem.ids[r]);
    }
    const Table<double> table(which.size(), expansion.size() + which.size(), values);
    solver.learn({table.dense(), labels, costs, ids}, first(which.size()));
  }

  Slots kept_ids(std::size_t most) const {
    Slots ids;
    for (std::size_t s = 0; s < expansion.size() && ids.size() < most; s += 2)
      if (expansion.kept_flags()[s] && expansion.id(s) != kNoId) ids.push_back(expansion.id(s));
    return ids;
  }

  void check() {
    const std::size_t n = expansion.size();
    CHECK(!expansion.kernel().block_is_open());
    CHECK(expansion.rows().size() == n);
    bool found = true, gradients = true, members = true, rows = true;
    for (std::size_t s = 0; s < n; ++s)
      if (expansion.id(s) != kNoId) found &= expansion.find(expansion.id(s)) == static_cast<std::int64_t>(s);
    for (const auto id : problem.ids) found &= expansion.find(id) < static_cast<std::int64_t>(n);
    for (std::size_t c = 0; c < expansion.columns(); ++c) {
      const Column& column = expansion.column(c);
      std::size_t support = 0;
      for (std::size_t s = 0; s < n; ++s) {
        members &= column.alpha[s] == 0 || column.member[s] != 0;
        support += column.alpha[s] != 0;
        if (!column.member[s]) continue;
        double g = expansion.sign(c, s), size = 1;
        for (std::size_t t = 0; t < n; ++t)
          if (column.alpha[t] != 0)
            g -= column.alpha[t] * problem.k(row_of(s), row_of(t)), size += std::abs(column.alpha[t]);
        gradients &= std::abs(g - column.g[s]) < 1e-6 * size;
      }
      members &= support == column.support();
    }
    for (std::size_t s = 0; s < n; ++s) {
      if (expansion.id(s) == kNoId) continue;
      const HeldRow row = expansion.hold(s);
      for (std::size_t t = 0; t < n; ++t)
        rows &= expansion.id(t) == kNoId || std::abs(row[t] - problem.k(row_of(s), row_of(t))) < 1e-6;
    }
    const Reserve& reserve = expansion.reserve();
    CHECK(reserve.rows().size() == reserve.size() && (reserve.size() <= reserve.capacity()));
    for (std::size_t place = 0; place < reserve.size(); ++place)
      CHECK(reserve.find(reserve.entry(place).id) == static_cast<std::int64_t>(place));
    CHECK(found);
    CHECK(gradients);
    CHECK(members);
    CHECK(rows);
    check_solver();
  }

  void check_solver() {
    if constexpr (std::is_base_of_v<OnePass, Solver>)
      for (std::size_t c = 0; c < expansion.columns(); ++c) {
        std::size_t listed = 0, all = 0;
        for (const auto id : solver.state.buffers[c]) {
          const std::int64_t slot = expansion.find(id);
          listed += slot >= 0 && expansion.column(c).member[static_cast<std::size_t>(slot)];
        }
        for (std::size_t s = 0; s < expansion.size(); ++s) all += expansion.column(c).member[s] != 0;
        CHECK(listed == all && solver.state.buffers[c].size() == all);
      }
    if constexpr (std::is_same_v<Solver, Projectron>)
      for (std::size_t c = 0; c < expansion.columns(); ++c) {
        const std::size_t n = solver.state.buffers[c].size();
        CHECK(solver.factor[c].size() == n * (n + 1) / 2);
      }
  }
};

template <class Solver>
void test_solver(const std::string& name, const std::function<void(Solver&)>& set_up, Layout layout = Layout::dense,
                 std::size_t reserve = 0) {
  for (const std::size_t classes : {2u, 3u})
    for (const std::size_t cache : {std::size_t{1} << 24, std::size_t{0}}) {
      if (layout == Layout::external && cache == 0) continue;
      const Problem problem = Problem(71 + classes, 90, classes, 0.2).widened(classes == 2 ? 100 : 2);
      const std::size_t limit = layout == Layout::external ? ~std::size_t{0} : cache;
      const auto make = [&] {
        auto learner = std::make_unique<Learner<Solver>>(problem, layout, limit);
        if constexpr (requires { learner->solver.seed(Generator{}); }) learner->solver.seed({{5, 6, 7, 8}});
        set_up(learner->solver);
        learner->expansion.reserve().set_capacity(reserve);
        learner->learn(0, 40);
        return learner;
      };
      const auto run = [&](Call call, long allocations, bool from_there_on) {
        const auto learner = make();
        const Slots ids = learner->kept_ids(6);
        Slots others;
        for (std::int64_t r = 40; r < 70; ++r) others.push_back(r);
        std::vector<double> scores(problem.size() * learner->expansion.columns());
        if (call == Call::seed) {
          learner->expansion.decide(problem.table.dense(), 1, scores.data());
          for (std::size_t at = 0; at < scores.size(); ++at)
            scores[at] -= learner->expansion.column(at % learner->expansion.columns()).bias;
        }
        const long before = counted;
        const bool threw = starve(allocations, from_there_on, [&] {
          if (call == Call::forget) learner->solver.forget(ids);
          else if (call == Call::learn) learner->learn(40, 70);
          else if constexpr (std::is_same_v<Solver, Lasvm>) learner->solver.seed(problem.rows(), others, scores);
        });
        const long used = counted - before;
        check::context = name + ", call " + std::to_string(static_cast<int>(call)) + ", " + std::to_string(classes) +
                         " classes, cache " + std::to_string(cache) + ", allocation " + std::to_string(allocations) +
                         (from_there_on ? " and all later ones" : "");
        learner->check();
        learner->learn(60, 90);
        if constexpr (requires { learner->solver.finish(std::size_t{10}); }) learner->solver.finish(10);
        learner->check();
        return std::pair(threw, used);
      };
      for (const Call call : {Call::learn, Call::forget, Call::seed}) {
        if (call == Call::seed && (!std::is_same_v<Solver, Lasvm> || layout == Layout::external)) continue;
        const auto [none, all] = run(call, -1, false);
        CHECK(!none);
        const long stride = std::max(1L, all / 40);
        std::size_t failures = 0;
        for (long k = 0; k < all; k += k < 12 ? 1 : stride)
          for (const bool from_there_on : {false, true}) failures += run(call, k, from_there_on).first;
        check::context = name;
        CHECK(failures > 8);
      }
    }
}

}  // namespace

int main() {
  check::guard([] { test_solver<Lasvm>("LASVM", [](Lasvm&) {}); });
  check::guard([] { test_solver<Lasvm>("LASVM, reserve", [](Lasvm&) {}, Layout::dense, 20); });
  check::guard([] { test_solver<Lasvm>("LASVM, sparse", [](Lasvm&) {}, Layout::sparse); });
  check::guard([] { test_solver<Lasvm>("LASVM, external", [](Lasvm&) {}, Layout::external); });
  check::guard([] { test_solver<Gap>("LASVM-G", [](Gap& solver) { solver.clean_every = 20, solver.max_idle = 5; }); });
  check::guard([] { test_solver<RampLoss>("ramp loss", [](RampLoss& solver) { solver.max_idle = 10; }); });
  check::guard([] { test_solver<LocalUpdates>("local", [](LocalUpdates& solver) { solver.full_pass_every = 7; }); });
  check::guard([] { test_solver<Incremental>("exact", [](Incremental& solver) { solver.set_limit(0); }); });
  check::guard([] {
    test_solver<Perceptron>("perceptron", [](Perceptron& solver) {
      solver.budget = 8, solver.overflow = Overflow::random, solver.averaging = Averaging::mean;
    });
  });
  check::guard([] { test_solver<Norma>("NORMA", [](Norma& solver) { solver.budget = 8; }); });
  check::guard([] { test_solver<PassiveAggressive>("PA", [](PassiveAggressive&) {}); });
  check::guard([] { test_solver<Projectron>("Projectron", [](Projectron& solver) { solver.budget = 12; }); });
  check::guard([] { test_solver<Koil>("KOIL", [](Koil& solver) { solver.budget = 6; }); });
  return check::summary();
}
