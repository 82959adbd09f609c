#include "perceptrons.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "score.hpp"

namespace everlearn {

void Perceptron::learn_row(std::size_t c, std::size_t slot, std::int64_t time) {
  const double y = expansion_.sign(c, slot), f = score(c, slot);
  state.mistakes[c] += y * f <= 0;
  if (y * f > margin) return;
  if (overflow == Overflow::forget && expansion_.diagonal(slot) > 1 + 1e-6)
    throw std::invalid_argument(
        "the kernel of a row with itself is above 1, which the bound of the Forgetron does not allow");
  const bool full = buffer(c).size() >= budget && !is_member(c, slot);
  if (overflow == Overflow::random && full) remove(c, state.generators[c].below(buffer(c).size()));
  insert_row(c, slot);
  const double step = y * expansion_.cost(slot);
  add(c, slot, step);
  apply(c);
  if (averaging != Averaging::none) entries[c].push_back({expansion_.id(slot), time, step});
  if (buffer(c).size() <= budget) return;
  if (overflow == Overflow::worst) drop_worst(c);
  if (overflow == Overflow::forget) forget_oldest(c);
}

/// The Forgetron drops rows without shrinking here: its bound covers one row for each mistake, not a smaller budget.
void Perceptron::shrink_to_budget(std::size_t c) {
  while (overflow != Overflow::nothing && buffer(c).size() > budget) {
    if (overflow == Overflow::worst) drop_worst(c);
    else remove(c, overflow == Overflow::random ? state.generators[c].below(buffer(c).size()) : 0);
    apply(c);
  }
}

void Perceptron::erase_entry(std::size_t c, std::size_t place) {
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
  remove(c, worst);
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
  const double phi =
      b > 0 ? largest_factor(a, b, spent[c] - 15.0 / 32.0 * static_cast<double>(state.mistakes[c])) : 1.0;
  if (phi < 1) shrink(c, phi);
  spent[c] += phi * phi * a + phi * b;
  remove(c, 0);
  apply(c);
}

std::function<void()> Perceptron::make_undo() {
  std::vector<std::size_t> lengths;
  for (const auto& list : entries) lengths.push_back(list.size());
  return [this, lengths, before = spent]() mutable {
    spent.swap(before);
    for (std::size_t c = 0; c < entries.size(); ++c)
      entries[c].erase(entries[c].begin() + static_cast<std::ptrdiff_t>(lengths[c]), entries[c].end());
  };
}

void Perceptron::decide(const Block& block, int threads, double* out) const {
  struct Addition {
    std::size_t slot;
    double coefficient, lasts;  // for how many rows this model was the current one
  };
  const std::size_t columns = expansion_.columns();
  const double total = static_cast<double>(std::max<std::int64_t>(state.iterations, 1));
  std::vector<std::vector<Addition>> additions(columns);
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t e = 0; e < entries[c].size(); ++e) {
      const std::int64_t end = e + 1 < entries[c].size() ? entries[c][e + 1].born : state.iterations + 1;
      additions[c].push_back({static_cast<std::size_t>(expansion_.find(entries[c][e].id)), entries[c][e].coefficient,
                              static_cast<double>(end - entries[c][e].born)});
    }
  // A model is the sum of the additions before it, so that a row needs all of its kernel values at once.
  const TileShape shape{32, std::max<std::size_t>(1, expansion_.size())};
  for_each_tile<float>(expansion_.rows(), block, threads, shape, [&] {
    return [&](const Tile<float>& tile) {
      for (std::size_t r = 0; r < tile.rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) {
          double f = 0, sum = 0;
          for (const Addition& added : additions[c]) {
            f += added.coefficient * static_cast<double>(tile.lines[r][added.slot]);
            sum += added.lasts * (averaging == Averaging::vote ? (f > 0) - (f < 0) : f);
          }
          out[(tile.r0 + r) * columns + c] = sum / total;
        }
    };
  });
}

}  // namespace everlearn
