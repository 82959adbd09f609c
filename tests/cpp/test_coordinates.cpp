// The passes of solvers without a bias, on every instruction set of this machine, against plain loops.
#include <cmath>
#include <limits>
#include <vector>

#include "aligned.hpp"
#include "arch/loops.hpp"
#include "check.hpp"
#include "problems.hpp"
#include "working_set.hpp"

using namespace everlearn;
using problems::Random;
using problems::uniform;

namespace {

/// A column with some rows shut, some at a bound, some free, and gradients of all sizes.
struct Column {
  std::size_t n, padded;
  AlignedVector<double> g, alpha, edge;
  AlignedVector<float> diagonal, inverse, first, second;
  AlignedVector<std::uint8_t> gate;

  Column(std::size_t rows, Random& random)
      : n(rows),
        padded(round_up(rows, kPad)),
        g(padded, 0),
        alpha(padded, 0),
        edge(padded, 0),
        diagonal(padded, 0),
        inverse(padded, 0),
        first(padded, 0),
        second(padded, 0),
        gate(padded, 0) {
    for (std::size_t s = 0; s < n; ++s) {
      g[s] = uniform(random, -1, 1) * (random() % 3 == 0 ? 1e-4 : 3.0);
      edge[s] = random() % 5 == 0 ? 0.0 : uniform(random, -2, 2);
      const auto place = random() % 3;
      alpha[s] = place == 0 ? 0.0 : place == 1 ? edge[s] : edge[s] * uniform(random, 0, 1);
      diagonal[s] = random() % 7 == 0 ? 0.0f : static_cast<float>(uniform(random, 0.2, 2));
      inverse[s] = diagonal[s] > 0 ? 1 / diagonal[s] : 1e30f;
      first[s] = static_cast<float>(uniform(random, -1, 1));
      second[s] = static_cast<float>(uniform(random, -1, 1));
      gate[s] = static_cast<std::uint8_t>((alpha[s] < std::max(0.0, edge[s]) ? kMayRise : 0) |
                                          (alpha[s] > std::min(0.0, edge[s]) ? kMayFall : 0));
    }
  }
  CoefficientView view() { return {g.data(), gate.data(), alpha.data(), edge.data(), diagonal.data(), inverse.data()}; }
  Single single(std::size_t s) const {
    return {g[s], diagonal[s], alpha[s], std::min(0.0, edge[s]), std::max(0.0, edge[s])};
  }
  /// The descents, the plain way.
  void descend(Descent one, Descent two) {
    for (std::size_t s = 0; s < n; ++s)
      for (const Descent& descent : {one, two})
        if (descent.k != nullptr) g[s] -= descent.length * descent.k[s];
  }
};

double worth(const Single& i, double move) { return move * (i.g - 0.5 * i.curvature * move); }
double gain_alone(const Single& i) { return worth(i, single_step(i) - i.alpha); }

/// What two coefficients gain by their joint step.
double gain_together(const Single& i, const Single& j, double kij) {
  const auto [to_i, to_j] = joint_step(i, j, kij);
  const double a = to_i - i.alpha, b = to_j - j.alpha;
  return worth(i, a) + worth(j, b) - a * b * kij;
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-6 * (1 + std::abs(b)); }

void check_passes(const Loops& loops, Random& random, std::size_t n, int descents) {
  Column column(n, random), plain = column;
  const Descent one = descents > 0 ? Descent{column.first.data(), uniform(random, -1, 1)} : Descent{};
  const Descent two = descents > 1 ? Descent{column.second.data(), uniform(random, -1, 1)} : Descent{};
  plain.descend(one, two);
  Column again = column;
  const Survey survey = loops.survey(column.view(), one, two, n);
  const double tolerance = 1e-3;
  const Gain best = loops.best_gain(again.view(), one, two, tolerance, n);

  double gap = 0, loss = 0, squared = 0, most = 0;
  double high = -std::numeric_limits<double>::infinity(), low = -high;
  bool same = true, positive = true;
  for (std::size_t s = 0; s < n; ++s) {
    same &= std::abs(column.g[s] - plain.g[s]) < 1e-12 && again.g[s] == column.g[s];
    const Single i = plain.single(s);
    const double term = (i.upper - i.alpha) * std::max(0.0, i.g) + (i.alpha - i.lower) * std::max(0.0, -i.g);
    positive &= term >= 0;
    gap += term;
    const double h = std::max(i.lower * i.g, i.upper * i.g);
    loss += h;
    squared += h * h;
    if (plain.gate[s] & kMayRise) high = std::max(high, i.g);
    if (plain.gate[s] & kMayFall) low = std::min(low, i.g);
    if (std::abs(i.g) > tolerance) most = std::max(most, gain_alone(i));
  }
  CHECK(same);
  CHECK(positive);
  CHECK(near(survey.gap, gap) && near(survey.loss, loss) && near(survey.squared_loss, squared));
  CHECK((survey.ends.up < 0) == std::isinf(high) && (survey.ends.up < 0 || near(survey.ends.high, high)));
  CHECK((survey.ends.down < 0) == std::isinf(low) && (survey.ends.down < 0 || near(survey.ends.low, low)));
  CHECK((best.slot < 0) == (most == 0));
  if (best.slot >= 0) {
    CHECK(near(best.gain, most));
    CHECK(near(gain_alone(plain.single(static_cast<std::size_t>(best.slot))), most));
  }
}

void check_partner(const Loops& loops, Random& random, std::size_t n) {
  Column column(n, random);
  const std::size_t pick = problems::below(random, n);
  const Single i = column.single(pick);
  const double move = single_step(i) - i.alpha;
  // A kernel of two rows is at most the geometric mean of their diagonals.
  for (std::size_t s = 0; s < n; ++s) column.first[s] *= std::sqrt(column.diagonal[s] * column.diagonal[pick]);
  column.first[pick] = column.diagonal[pick];
  const Gain found = loops.partner(
      column.view(), column.first.data(),
      {static_cast<std::int64_t>(pick), i.g, i.alpha, i.lower, i.upper, i.curvature, move, worth(i, move)}, n);
  double most = 0;
  for (std::size_t s = 0; s < n; ++s)
    if (s != pick) most = std::max(most, gain_together(i, column.single(s), column.first[s]));
  if (n > 1 && most > gain_alone(i) * (1 + 1e-6)) {
    CHECK(found.slot >= 0 && static_cast<std::size_t>(found.slot) != pick);
    CHECK(near(found.gain, most));
    const auto other = static_cast<std::size_t>(found.slot);
    CHECK(near(gain_together(i, column.single(other), column.first[other]), most));
  }
  // Together they gain no less than one alone, and stay in their boxes.
  for (std::size_t s = 0; s < n; ++s) {
    const Single j = column.single(s);
    if (s == pick) continue;
    const auto [to_i, to_j] = joint_step(i, j, column.first[s]);
    CHECK(to_i >= i.lower && to_i <= i.upper && to_j >= j.lower && to_j <= j.upper);
    CHECK(gain_together(i, j, column.first[s]) >= gain_alone(i) - 1e-9 * (1 + gain_alone(i)));
  }
}

}  // namespace

int main() {
  for (const char* name : {"baseline", "avx2", "avx512"}) {
    const Loops* loops = loops_named(name);
    if (loops == nullptr) continue;
    Random random(1);
    for (int round = 0; round < 60; ++round)
      for (const std::size_t n : {1u, 2u, 7u, 63u, 64u, 65u, 300u}) {
        check_passes(*loops, random, n, round % 3);
        check_partner(*loops, random, n);
      }
  }
  return check::summary();
}
