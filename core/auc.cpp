#include "auc.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace everlearn {
namespace {

double dot(const double* a, const double* b, std::size_t n) {
  // Four sums, so that the compiler can use vectors without reordering any of them.
  double sums[4] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (std::size_t j = 0; j < 4; ++j) sums[j] += a[i + j] * b[i + j];
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// One standard normal number from two uniform ones (Box and Muller).
double normal(Generator& generator) {
  const auto uniform = [&] { return (static_cast<double>(generator.next() >> 11) + 0.5) * 0x1p-53; };
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

template <class T>
void read(const Block& block, std::size_t r, std::vector<double>& x) {
  const T* values = static_cast<const T*>(block.values);
  if (!block.is_sparse) {
    std::copy_n(values + r * block.width, block.width, x.begin());
    return;
  }
  std::fill(x.begin(), x.end(), 0.0);
  for (auto e = block.starts[r]; e < block.starts[r + 1]; ++e)
    x[static_cast<std::size_t>(block.columns[e])] = static_cast<double>(values[e]);
}

}  // namespace

LinearAuc::LinearAuc(std::size_t width, std::size_t classes)
    : w(classes == 2 ? 1 : classes, std::vector<double>(width, 0.0)),
      seen(w.size(), {0, 0}),
      generators(w.size()),
      width_(width) {}

void LinearAuc::seed(const Generator& generator) {
  Generator words = generator;
  for (Generator& own : generators)
    for (std::uint64_t& word : own.state) word = words.next();
}

void LinearAuc::learn(const WeightedRows& rows, std::span<const std::int64_t> which) {
  std::vector<double> x(width_);
  for (const auto row : which) {
    const auto r = static_cast<std::size_t>(row);
    if (rows.block.precision == Precision::f32) read<float>(rows.block, r, x);
    else read<double>(rows.block, r, x);
    for (std::size_t c = 0; c < problems(); ++c) {
      const std::int32_t positive = problems() == 1 ? 1 : static_cast<std::int32_t>(c);
      const std::size_t side = rows.labels[r] == positive ? 1 : 0;
      ++seen[c][side];
      learn_row(c, x, side, rows.weights[r]);
    }
    ++iterations;
  }
}

double LinearAuc::middle(std::size_t c) const {
  if (seen[c][0] == 0 || seen[c][1] == 0) return 0;
  double sum = 0;
  for (std::size_t side = 0; side < 2; ++side) sum += dot(w[c].data(), mean(c, side).data(), width_);
  return sum / 2;
}

// ---------------------------------------------------------------------------------------------------------------- OAM

Oam::Oam(std::size_t width, std::size_t classes) : LinearAuc(width, classes), kept(problems()) {}

void Oam::offer(std::size_t c, const std::vector<double>& x, std::size_t side) {
  std::vector<double>& rows = kept[c][side];
  if (rows.size() < budget * width()) {
    rows.insert(rows.end(), x.begin(), x.end());
    return;
  }
  const std::uint64_t place = generators[c].below(static_cast<std::uint64_t>(seen[c][side]));
  if (place < budget) std::copy(x.begin(), x.end(), rows.begin() + static_cast<std::ptrdiff_t>(place * width()));
}

void Oam::learn_row(std::size_t c, const std::vector<double>& x, std::size_t side, double weight) {
  const std::size_t d = width();
  const double y = side == 1 ? 1 : -1;
  const double cost = C * weight * std::max(1.0, static_cast<double>(seen[c][1 - side]) / static_cast<double>(budget));
  for (std::vector<double>& rows : kept[c])
    if (rows.size() > budget * d) rows.resize(budget * d);  // the budget has become smaller; any of a sample is one
  offer(c, x, side);
  const std::vector<double>& others = kept[c][1 - side];
  double* const weights = w[c].data();
  const double own = dot(x.data(), x.data(), d);
  for (const double* b = others.data(); b != others.data() + others.size(); b += d) {
    const double loss = 1 - y * (dot(weights, x.data(), d) - dot(weights, b, d));
    if (loss <= 0) continue;
    // |x - b|^2 by its parts would lose its digits where the rows are nearly the same.
    double length = 0;
    for (std::size_t i = 0; i < d; ++i) length += (x[i] - b[i]) * (x[i] - b[i]);
    if (length <= 1e-30 * own || length == 0) continue;
    const double step = y * std::min(cost, loss / length);
    for (std::size_t i = 0; i < d; ++i) weights[i] += step * (x[i] - b[i]);
  }
}

std::vector<double> Oam::mean(std::size_t c, std::size_t side) const {
  const std::vector<double>& rows = kept[c][side];
  const std::size_t d = width();
  std::vector<double> center(d, 0.0);
  if (d == 0) return center;
  const double count = static_cast<double>(rows.size() / d);
  for (std::size_t i = 0; i < rows.size(); ++i) center[i % d] += rows[i] / count;
  return center;
}

// -------------------------------------------------------------------------------------------------------------- OPAUC

Opauc::Opauc(std::size_t width, std::size_t classes, std::size_t rank)
    : LinearAuc(width, classes), known(problems()), rank_(rank), change_(width), before_(width), draws_(rank) {
  for (auto& pair : known)
    for (Summary& summary : pair) {
      summary.mean.assign(width, 0.0);
      summary.spread.assign(width * (rank == 0 ? width : rank), 0.0);
      summary.h.assign(rank, 0.0);
    }
}

/// Mean and covariance after one more row (Welford), or the sketch.
void Opauc::update_summary(std::size_t c, const std::vector<double>& x, std::size_t side) {
  Summary& summary = known[c][side];
  const double n = static_cast<double>(seen[c][side]);
  const std::size_t d = width();
  for (std::size_t i = 0; i < d; ++i) {
    before_[i] = x[i] - summary.mean[i];
    summary.mean[i] += before_[i] / n;
  }
  if (rank_ == 0) {
    for (std::size_t i = 0; i < d; ++i) change_[i] = x[i] - summary.mean[i];
    for (std::size_t i = 0; i < d; ++i) {
      double* const line = summary.spread.data() + i * d;
      for (std::size_t j = 0; j < d; ++j) line[j] += (before_[i] * change_[j] - line[j]) / n;
    }
    return;
  }
  for (double& draw : draws_) draw = normal(generators[c]) / std::sqrt(static_cast<double>(rank_));
  for (std::size_t i = 0; i < d; ++i) {
    if (x[i] == 0) continue;
    double* const line = summary.spread.data() + i * rank_;
    for (std::size_t k = 0; k < rank_; ++k) line[k] += x[i] * draws_[k];
  }
  for (std::size_t k = 0; k < rank_; ++k) summary.h[k] += draws_[k];
}

/// change_ += S w of a class, or what the sketch makes of it.
void Opauc::add_spread(std::size_t c, std::size_t side) {
  const Summary& summary = known[c][side];
  const std::vector<double>& weights = w[c];
  const std::size_t d = width();
  if (rank_ == 0) {
    for (std::size_t i = 0; i < d; ++i) change_[i] += dot(summary.spread.data() + i * d, weights.data(), d);
    return;
  }
  const double along = dot(summary.mean.data(), weights.data(), d);
  std::vector<double>& seen_by = draws_;  // A^T w = Z^T w - h (c . w)
  for (std::size_t k = 0; k < rank_; ++k) seen_by[k] = -summary.h[k] * along;
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t k = 0; k < rank_; ++k) seen_by[k] += summary.spread[i * rank_ + k] * weights[i];
  const double shared = dot(summary.h.data(), seen_by.data(), rank_), n = static_cast<double>(seen[c][side]);
  for (std::size_t i = 0; i < d; ++i)
    change_[i] += (dot(summary.spread.data() + i * rank_, seen_by.data(), rank_) - summary.mean[i] * shared) / n;
}

void Opauc::learn_row(std::size_t c, const std::vector<double>& x, std::size_t side, double weight) {
  update_summary(c, x, side);
  std::vector<double>& weights = w[c];
  const std::size_t d = width(), other = 1 - side;
  for (std::size_t i = 0; i < d; ++i) change_[i] = lambda * weights[i];
  if (seen[c][other] > 0) {
    const double y = side == 1 ? 1 : -1;
    const std::vector<double>& center = known[c][other].mean;
    double along = 0;
    for (std::size_t i = 0; i < d; ++i) along += (x[i] - center[i]) * weights[i];
    for (std::size_t i = 0; i < d; ++i) change_[i] += (along - y) * (x[i] - center[i]);
    add_spread(c, other);
  }
  for (std::size_t i = 0; i < d; ++i) weights[i] -= eta * weight * change_[i];
}

}  // namespace everlearn
