// Threads: many that decide on one expansion at once, and learners that share their columns among several. `make tsan`
// runs this under the thread sanitizer; results must be those of a single thread, bit for bit.
#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gap.hpp"
#include "incremental.hpp"
#include "koil.hpp"
#include "lasvm.hpp"
#include "local.hpp"
#include "ramp.hpp"
#include "threads.hpp"
#include "twin.hpp"

using namespace twin;

namespace {

void test_ranges() {
  check::context = "ranges";
  for (const std::size_t n : {0u, 1u, 7u, 64u, 1000u})
    for (const int threads : {0, 1, 2, 5})
      for (const std::size_t grain : {1u, 16u}) {
        std::vector<int> visits(n, 0);
        std::atomic<std::size_t> badly_cut{0};
        parallel_ranges(threads, n, grain, [&](std::size_t begin, std::size_t end) {
          badly_cut += begin % grain != 0 || (end % grain != 0 && end != n);
          for (std::size_t s = begin; s < end; ++s) ++visits[s];
        });
        CHECK(visits == std::vector<int>(n, 1));
        CHECK(badly_cut == 0);
      }
  std::atomic<int> finished{0};
  CHECK_THROWS(std::runtime_error, parallel_ranges(4, 4, 1, [&](std::size_t begin, std::size_t) {
                 if (begin == 2) throw std::runtime_error("third piece");
                 ++finished;
               }));
  CHECK(finished == 3);
}

void test_each() {
  check::context = "each";
  for (const std::size_t n : {0u, 1u, 7u, 100u})
    for (const int threads : {0, 1, 2, 5}) {
      std::vector<int> visits(n, 0);
      parallel_each(threads, n, [&](std::size_t i) { ++visits[i]; });
      CHECK(visits == std::vector<int>(n, 1));
    }
  std::atomic<int> finished{0};
  std::string first;
  try {
    parallel_each(4, 8, [&](std::size_t i) {
      if (i == 3 || i == 6) throw std::runtime_error(std::to_string(i));
      ++finished;
    });
  } catch (const std::runtime_error& error) {
    first = error.what();
  }
  CHECK(first == "3" && finished == 6);
  // A loop inside another one has only its share of the threads.
  std::atomic<int> inside{0}, most{0};
  parallel_each(4, 2, [&](std::size_t) {
    parallel_each(100, 50, [&](std::size_t) {
      const int now = ++inside;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      --inside;
    });
  });
  CHECK(most >= 1 && most <= 4);
}

/// Rows of several blocks in one call: the rows of the next block are computed while one is learned. In the second pass
/// some rows are known when the next block is looked at, and dropped before it comes.
template <class Solver>
void test_blocks(const std::string& name) {
  const Problem problem(23, 900, 3, 0.3);
  for (const std::size_t cache : {std::size_t{1} << 16, std::size_t{1} << 24})
    for (const std::size_t classes : {2u, 3u}) {
      check::context = name + " in blocks, " + std::to_string(classes) + " classes, cache " + std::to_string(cache);
      std::vector<double> answers[3];
      for (const int threads : {1, 2, 3}) {
        Expansion expansion(make_rows(Layout::dense, Precision::f64, problem.table.width, problem.kernel, {}),
                            classes == 2 ? 1 : classes, cache);
        Solver solver(expansion, classes);
        expansion.set_threads(threads);
        LabeledRows rows = problem.rows();
        std::vector<std::int32_t> labels(rows.labels.begin(), rows.labels.end());
        if (classes == 2)
          for (auto& label : labels) label = label == 1;
        rows.labels = labels;
        Slots all;
        for (std::size_t r = 0; r < problem.size(); ++r) all.push_back(static_cast<std::int64_t>(r));
        solver.learn(rows, all);
        solver.learn(rows, all);
        solver.finish(50);
        auto& out = answers[threads - 1];
        out.assign(problem.size() * expansion.columns(), 0);
        expansion.decide(problem.table.dense(), threads, out.data());
      }
      CHECK(same_bits(answers[1], answers[0]));
      CHECK(same_bits(answers[2], answers[0]));
    }
}

template <class Solver>
struct Learned {
  Expansion expansion;
  Solver solver;

  Learned(const Problem& problem, int threads, const std::function<void(Solver&)>& set_up)
      : expansion(make_rows(Layout::dense, Precision::f64, problem.table.width, problem.kernel, {}), problem.classes,
                  1 << 16),
        solver(make(expansion, problem.classes)) {
    if constexpr (requires { solver.seed(Generator{}); }) solver.seed({{5, 6, 7, 8}});
    set_up(solver);
    expansion.set_threads(threads);
    for (std::size_t begin = 0; begin < problem.size(); begin += 100) {
      Slots which;
      for (std::size_t r = begin; r < begin + 100; ++r) which.push_back(static_cast<std::int64_t>(r));
      solver.learn(problem.rows(), which);
      std::size_t oldest = 0;
      while (expansion.id(oldest) == kNoId) ++oldest;
      solver.forget(Slots{expansion.id(oldest)});
    }
  }
  static Solver make(Expansion& expansion, std::size_t classes) {
    if constexpr (std::is_constructible_v<Solver, Expansion&, std::size_t>) return Solver(expansion, classes);
    else return Solver(expansion);
  }
  void decide(const Problem& problem, int threads, std::vector<double>& out) const {
    out.assign(problem.size() * expansion.columns(), 0);
    if constexpr (requires { solver.decide(problem.table.dense(), threads, out.data()); })
      solver.decide(problem.table.dense(), threads, out.data());
    else expansion.decide(problem.table.dense(), threads, out.data());
  }
};

template <class Solver>
void test_learner(const std::string& name, const std::function<void(Solver&)>& set_up = [](Solver&) {}) {
  const Problem problem(17, 400, 4, 0.15);
  std::vector<double> alone, shared;
  Learned<Solver>(problem, 1, set_up).decide(problem, 1, alone);
  const Learned<Solver> learned(problem, 4, set_up);
  learned.decide(problem, 4, shared);
  check::context = name;
  CHECK(same_bits(alone, shared));
  std::vector<std::vector<double>> answers(4);
  {
    std::vector<std::jthread> threads;
    for (auto& answer : answers)
      threads.emplace_back([&] {
        for (int round = 0; round < 3; ++round) learned.decide(problem, 2, answer);
      });
  }
  for (const auto& answer : answers) CHECK(same_bits(answer, alone));
}

}  // namespace

int main() {
  test_ranges();
  test_each();
  check::guard([] { test_blocks<Lasvm>("LASVM"); });
  check::guard([] { test_blocks<Gap>("LASVM-G"); });
  check::guard([] { test_learner<Lasvm>("LASVM"); });
  check::guard([] { test_learner<Gap>("LASVM-G"); });
  check::guard([] { test_learner<RampLoss>("ramp loss", [](RampLoss& solver) { solver.max_idle = 20; }); });
  check::guard([] { test_learner<LocalUpdates>("local", [](LocalUpdates& solver) { solver.full_pass_every = 20; }); });
  check::guard([] { test_learner<Incremental>("exact", [](Incremental& solver) { solver.set_limit(1 << 18); }); });
  check::guard([] { test_learner<Koil>("KOIL", [](Koil& solver) { solver.budget = 20; }); });
  return check::summary();
}
