#include "perceptrons.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "threads.hpp"

namespace everlearn {

void Perceptron::take_in(std::size_t c, std::size_t slot, std::int64_t time) {
  const double y = expansion_.sign(c, slot), f = score(c, slot);
  state.mistakes[c] += y * f <= 0;
  if (y * f > margin) return;
  if (overflow == Overflow::forget && expansion_.diagonal(slot) > 1 + 1e-6)
    throw std::invalid_argument("the kernel of a row with itself is above 1, which the Forgetron's bound does not allow");
  const bool full = buffer(c).size() >= budget && !is_member(c, slot);
  if (overflow == Overflow::random && full) expel(c, state.generators[c].below(buffer(c).size()));
  enter(c, slot);
  const double step = y * expansion_.cost(slot);
  shift(c, slot, step);
  apply(c);
  if (averaging != Averaging::none) entries[c].push_back({expansion_.id(slot), time, step});
  if (buffer(c).size() <= budget) return;
  if (overflow == Overflow::worst) drop_worst(c);
  if (overflow == Overflow::forget) forget_oldest(c);
}

/// The Forgetron forgets at once here: its bound pays for one row a mistake, and these rows are the user's wish.
void Perceptron::trim(std::size_t c) {
  while (overflow != Overflow::nothing && buffer(c).size() > budget) {
    if (overflow == Overflow::worst) drop_worst(c);
    else expel(c, overflow == Overflow::random ? state.generators[c].below(buffer(c).size()) : 0);
    apply(c);
  }
}

void Perceptron::strike(std::size_t c, std::size_t place) {
  const std::int64_t id = expansion_.id(static_cast<std::size_t>(buffer(c)[place]));
  std::erase_if(entries[c], [&](const Entry& added) { return added.id == id; });
}

void Perceptron::drop_worst(std::size_t c) {
  const Column& column = expansion_.column(c);
  std::size_t worst = 0;
  double most = 0;
  for (std::size_t place = 0; place < buffer(c).size(); ++place) {
    const auto s = static_cast<std::size_t>(buffer(c)[place]);
    const double without = expansion_.sign(c, s) * (score(c, s) - column.alpha[s] * expansion_.diagonal(s));
    if (place == 0 || without > most) worst = place, most = without;
  }
  expel(c, worst);
  apply(c);
}

namespace {

/// The largest phi in (0, 1] with phi^2 a + phi b + q <= 0, where b > 0 > q.
double largest_factor(double a, double b, double q) {
  if (a + b + q <= 0) return 1;
  if (a == 0) return -q / b;
  // The smaller positive root, in the form without cancellation; beyond it the left side is above 0 up to 1.
  return std::min(1.0, -2 * q / (b + std::sqrt(b * b - 4 * a * q)));
}

}  // namespace

void Perceptron::forget_oldest(std::size_t c) {
  const auto oldest = static_cast<std::size_t>(buffer(c).front());
  const double alpha = expansion_.column(c).alpha[oldest];
  const double s = std::abs(alpha), mu = (alpha < 0 ? -1 : 1) * score(c, oldest);
  const double a = s * s - 2 * s * mu, b = 2 * s;
  const double phi = b > 0 ? largest_factor(a, b, spent[c] - 15.0 / 32.0 * static_cast<double>(state.mistakes[c])) : 1.0;
  if (phi < 1) shrink(c, phi);
  spent[c] += phi * phi * a + phi * b;
  expel(c, 0);
  apply(c);
}

void Perceptron::decide(const Block& block, int threads, double* out) const {
  constexpr std::size_t kRows = 32;
  struct Addition {
    std::size_t slot;
    double coefficient, lasts;  // for how many rows no other came after it
  };
  const std::size_t n = expansion_.size(), columns = expansion_.columns();
  const double total = static_cast<double>(std::max<std::int64_t>(state.iterations, 1));
  std::vector<std::vector<Addition>> additions(columns);
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t e = 0; e < entries[c].size(); ++e) {
      const std::int64_t end = e + 1 < entries[c].size() ? entries[c][e + 1].born : state.iterations + 1;
      additions[c].push_back({static_cast<std::size_t>(expansion_.find(entries[c][e].id)), entries[c][e].coefficient,
                              static_cast<double>(end - entries[c][e].born)});
    }
  parallel_ranges(block.rows * n < 50000 ? 1 : threads, block.rows, kRows, [&](std::size_t begin, std::size_t end) {
    std::vector<float> values(kRows * n);
    std::vector<float*> rows(kRows);
    for (std::size_t r = 0; r < kRows; ++r) rows[r] = values.data() + r * n;
    std::vector<std::int64_t> which;
    for (std::size_t r0 = begin; r0 < end; r0 += kRows) {
      which.clear();
      for (std::size_t r = r0; r < std::min(r0 + kRows, end); ++r) which.push_back(static_cast<std::int64_t>(r));
      expansion_.rows().evaluate(*expansion_.rows().take(block, which), 0, which.size(), 0, n, rows.data());
      for (std::size_t r = 0; r < which.size(); ++r)
        for (std::size_t c = 0; c < columns; ++c) {
          double f = 0, sum = 0;
          for (const Addition& added : additions[c]) {
            f += added.coefficient * static_cast<double>(rows[r][added.slot]);
            sum += added.lasts * (averaging == Averaging::vote ? (f > 0) - (f < 0) : f);
          }
          out[(r0 + r) * columns + c] = sum / total;
        }
    }
  });
}

}  // namespace everlearn
