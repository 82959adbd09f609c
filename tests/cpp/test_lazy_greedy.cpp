// Lazy greedy against greedy by brute force, which computes every gain from the kernel matrix at every step.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "check.hpp"
#include "lazy_greedy.hpp"
#include "problems.hpp"

using namespace everlearn;
using namespace problems;

namespace {

struct Task {
  std::vector<std::vector<double>> kernel;
  std::vector<double> base;  // row by row
  double twice_q, h;
  Slots sizes;
};

struct Taken {
  Slots order;
  std::vector<std::int32_t> groups;
  std::vector<double> gains;
};

Taken brute_force(const Task& task) {
  const std::size_t n = task.kernel.size(), groups = task.sizes.size();
  std::vector<std::vector<std::size_t>> sets(groups);
  std::vector<bool> gone(n, false);
  Taken taken;
  for (;;) {
    double best = -std::numeric_limits<double>::infinity(), gain = 0;
    std::size_t row = n, group = 0;
    for (std::size_t m = 0; m < n; ++m)
      for (std::size_t c = 0; c < groups && !gone[m]; ++c) {
        if (sets[c].size() == static_cast<std::size_t>(task.sizes[c])) continue;
        double sum = 0;
        for (const auto j : sets[c]) sum += task.kernel[m][j];
        const double added = task.base[m * groups + c] + task.twice_q * sum;
        const double value = added - task.h * static_cast<double>(sets[c].size());
        if (value > best) best = value, gain = added, row = m, group = c;
      }
    if (row == n) return taken;
    gone[row] = true;
    sets[group].push_back(row);
    taken.order.push_back(static_cast<std::int64_t>(row));
    taken.groups.push_back(static_cast<std::int32_t>(group));
    taken.gains.push_back(gain);
  }
}

template <class T>
void test_against_brute_force(const Kernel& kernel, bool sparse, const Slots& sizes, double q, std::uint64_t seed) {
  check::context = "greedy, kernel " + std::to_string(static_cast<int>(kernel.kind)) + (sparse ? " sparse" : " dense") +
                   ", groups " + std::to_string(sizes.size()) + ", q " + std::to_string(q);
  constexpr std::size_t n = 80, width = 5;
  Random random(seed);
  const Table<T> table = random_table<T>(random, n, width, 0.7);  // has rows that repeat others: ties
  Task task{{}, {}, 2 * q, 0, sizes};
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t r = 0; r < n; ++r) {
    task.kernel.emplace_back();
    for (std::size_t s = 0; s < n; ++s) {
      task.kernel[r].push_back(plain_kernel(kernel, table.row(r), table.row(s), width));
      if (r != s) largest = std::max(largest, 2 * q * task.kernel[r][s]);
    }
  }
  task.h = largest + 1e-9 * std::abs(largest);
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t c = 0; c < sizes.size(); ++c) {
      const double weight = std::round(uniform(random, 0, 1) * 4) / 4;  // few values: ties
      task.base.push_back(
          (repeats(r) == r ? weight : task.base[repeats(r) * sizes.size() + c] - q * task.kernel[r][r]) +
          q * task.kernel[r][r]);
    }
  const Block block = sparse ? table.sparse() : table.dense();
  std::unique_ptr<Similarities> similarities;
  if (kernel.kind == KernelKind::linear) {
    similarities = linear_similarities(block, sizes.size());
  } else {
    auto rows = make_rows(sparse ? Layout::sparse : Layout::dense, Precision::f64, width, kernel, {});
    rows->append(*rows->take(block, first(n)));
    similarities = kernel_similarities(std::move(rows), sizes.size());
  }
  LazyGreedy greedy(std::move(similarities), task.base, task.twice_q, task.h, sizes);
  std::size_t calls = 0;
  while (!greedy.advance(1 + calls % 5) && calls < 1000) ++calls;  // in pieces, as the caller does
  const Taken want = brute_force(task);
  CHECK(greedy.order().size() == want.order.size());
  // Ties may be broken by rounding: what was taken must be as good as what brute force takes, step by step.
  bool same = true;
  for (std::size_t k = 0; k < std::min(want.order.size(), greedy.order().size()) && same; ++k) {
    CHECK_NEAR(greedy.gains()[k], want.gains[k], 1e-9);
    same = greedy.order()[k] == want.order[k] && greedy.groups()[k] == want.groups[k];
  }
  CHECK(same || q != 0);
  Slots sorted = greedy.order();
  std::sort(sorted.begin(), sorted.end());
  CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
  for (std::size_t c = 0; c < sizes.size(); ++c)
    CHECK(std::count(greedy.groups().begin(), greedy.groups().end(), static_cast<std::int32_t>(c)) <= sizes[c]);
  CHECK(greedy.evaluations() <= want.order.size() * n * sizes.size());
}

/// Weighted sums of kernel values, whatever the number of threads.
void test_products() {
  check::context = "kernel products";
  constexpr std::size_t n = 1500, m = 150, width = 4, columns = 3;
  Random random(3);
  const Table<double> kept = random_table<double>(random, n, width, 0.8),
                      asked = random_table<double>(random, m, width, 0.8);
  const Kernel kernel{KernelKind::rbf, 0.7, 0, 1};
  const auto rows = make_rows(Layout::dense, Precision::f64, width, kernel, {});
  std::vector<double> weights(n * columns), out(m * columns), again(m * columns);
  for (double& weight : weights) weight = uniform(random, -1, 1);
  kernel_products(*rows, asked.dense(), {}, columns, 1, out.data());
  CHECK(std::all_of(out.begin(), out.end(), [](double sum) { return sum == 0; }));  // no row is kept
  rows->append(*rows->take(kept.dense(), first(n)));
  kernel_products(*rows, asked.dense(), weights, columns, 1, out.data());
  kernel_products(*rows, asked.sparse(), weights, columns, 3, again.data());
  CHECK(same_bits(out, again));
  for (std::size_t r = 0; r < m; ++r)
    for (std::size_t c = 0; c < columns; ++c) {
      double sum = 0;
      for (std::size_t s = 0; s < n; ++s)
        sum += weights[s * columns + c] * plain_kernel(kernel, asked.row(r), kept.row(s), width);
      CHECK_NEAR(out[r * columns + c], sum, 1e-10);
    }
}

}  // namespace

int main() {
  for (const double q : {-0.5, 0.0, 0.3})
    for (const bool sparse : {false, true})
      for (const Slots& sizes : {Slots{12}, Slots{80}, Slots{5, 9, 3}}) {
        test_against_brute_force<double>({KernelKind::linear, 1, 0, 1}, sparse, sizes, q, 1);
        test_against_brute_force<float>({KernelKind::linear, 1, 0, 1}, sparse, sizes, q, 2);
        test_against_brute_force<double>({KernelKind::rbf, 0.8, 0, 1}, sparse, sizes, q, 3);
        test_against_brute_force<double>({KernelKind::polynomial, 0.5, 1, 2}, sparse, sizes, q, 4);
      }
  CHECK_THROWS(std::invalid_argument,
               LazyGreedy(linear_similarities(Table<double>(2, 1, {1, 2}).dense(), 1), {1, 2, 3}, 1, 1, {1}));
  test_products();
  return check::summary();
}
