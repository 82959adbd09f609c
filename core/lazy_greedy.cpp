#include "lazy_greedy.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "score.hpp"

namespace everlearn {
namespace {

/// A bound and the gain that it bounds are rounded differently: rows whose bound is so near to the best gain, relative
/// to the sums they are made of, are looked at, too.
constexpr double kSlack = 1e-12;

/// <x_m, sum of the rows taken>, one product however many were taken.
class Linear final : public Similarities {
 public:
  Linear(const Block& rows, std::size_t groups) : rows_(rows), sums_(groups, std::vector<double>(rows.width)) {}

  std::size_t size() const override { return rows_.rows; }
  double towards(std::size_t m, std::size_t group) override {
    const double* sum = sums_[group].data();
    double total = 0;
    if (!rows_.is_sparse && rows_.precision == Precision::f64)
      return loops().dot_exact(static_cast<const double*>(rows_.values) + m * rows_.width, sum, rows_.width);
    visit_row(rows_, m, [&](std::int32_t k, double value) { total += value * sum[k]; });
    return total;
  }
  void take(std::size_t m, std::size_t group) override {
    double* sum = sums_[group].data();
    visit_row(rows_, m, [&](std::int32_t k, double value) { sum[k] += value; });
  }

 private:
  Block rows_;
  std::vector<std::vector<double>> sums_;
};

/// Adds to the sum of a row what was taken since it was last asked for, one after the other.
class Deferred final : public Similarities {
 public:
  Deferred(std::unique_ptr<Rows> rows, std::size_t groups) : rows_(std::move(rows)) {
    for (std::size_t g = 0; g < groups; ++g)
      taken_.push_back({rows_->sibling(), std::vector<double>(rows_->size()), std::vector<std::size_t>(rows_->size())});
  }

  std::size_t size() const override { return rows_->size(); }
  double towards(std::size_t m, std::size_t group) override {
    Taken& taken = taken_[group];
    const std::size_t from = taken.at[m], to = taken.rows->size();
    if (from == to) return taken.sums[m];
    values_.resize(to);
    double* const out = values_.data();
    const auto slot = static_cast<std::int64_t>(m);
    taken.rows->evaluate_exactly(*rows_->take_kept({&slot, 1}), 0, 1, from, to, &out);
    for (std::size_t s = from; s < to; ++s) taken.sums[m] += values_[s];
    taken.at[m] = to;
    return taken.sums[m];
  }
  void take(std::size_t m, std::size_t group) override {
    const auto slot = static_cast<std::int64_t>(m);
    taken_[group].rows->append(*rows_->take_kept({&slot, 1}));
  }

 private:
  struct Taken {
    std::unique_ptr<Rows> rows;
    std::vector<double> sums;
    std::vector<std::size_t> at;
  };
  std::unique_ptr<Rows> rows_;
  std::vector<Taken> taken_;
  std::vector<double> values_;
};

}  // namespace

std::unique_ptr<Similarities> linear_similarities(const Block& rows, std::size_t groups) {
  return std::make_unique<Linear>(rows, groups);
}

std::unique_ptr<Similarities> kernel_similarities(std::unique_ptr<Rows> rows, std::size_t groups) {
  return std::make_unique<Deferred>(std::move(rows), groups);
}

LazyGreedy::LazyGreedy(std::unique_ptr<Similarities> similarities, std::vector<double> base, double twice_q, double h,
                       std::vector<std::int64_t> sizes)
    : similarities_(std::move(similarities)),
      base_(std::move(base)),
      twice_q_(twice_q),
      h_(h),
      sizes_(std::move(sizes)),
      taken_(sizes_.size(), 0),
      seen_(base_.size(), 0),
      gone_(similarities_->size(), 0) {
  if (base_.size() != similarities_->size() * sizes_.size())
    throw std::invalid_argument("greedy needs a base for each row and group");
  heap_.reserve(base_.size());
  for (std::size_t p = 0; p < base_.size(); ++p) {
    heap_.push_back(
        {base_[p], static_cast<std::int64_t>(p / sizes_.size()), static_cast<std::int32_t>(p % sizes_.size())});
    largest_ = std::max(largest_, std::abs(base_[p]));
  }
  std::make_heap(heap_.begin(), heap_.end());
}

bool LazyGreedy::advance(std::size_t count) {
  if (order_.empty() && count > 0) evaluations_ = base_.size();
  for (; count > 0; --count)
    if (!take_one()) return true;
  return std::equal(taken_.begin(), taken_.end(), sizes_.begin());
}

bool LazyGreedy::open(const Bound& bound) const {
  const auto group = static_cast<std::size_t>(bound.group);
  return !gone_[static_cast<std::size_t>(bound.row)] && taken_[group] < sizes_[group];
}

/// Evaluates the rows on top of the heap until no bound is above the best gain.
bool LazyGreedy::take_one() {
  std::vector<Bound> looked;
  std::size_t best = 0;
  const auto slack = [&](const Bound& bound) {
    return kSlack * (largest_ + static_cast<double>(taken_[static_cast<std::size_t>(bound.group)]) * std::abs(h_));
  };
  while (!heap_.empty()) {
    Bound top = heap_.front();
    if (open(top) && !looked.empty() && top.gain < looked[best].gain - slack(top)) break;
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
    if (!open(top)) continue;
    const auto m = static_cast<std::size_t>(top.row), group = static_cast<std::size_t>(top.group);
    const std::size_t pair = m * sizes_.size() + group;
    evaluations_ += seen_[pair] < taken_[group];
    seen_[pair] = taken_[group];
    top.gain = base_[pair] + twice_q_ * similarities_->towards(m, group) - h_ * static_cast<double>(taken_[group]);
    looked.push_back(top);
    if (looked[best] < top) best = looked.size() - 1;
  }
  if (looked.empty()) return false;
  const Bound taken = looked[best];
  for (std::size_t p = 0; p < looked.size(); ++p)
    if (p != best) {
      heap_.push_back(looked[p]);
      std::push_heap(heap_.begin(), heap_.end());
    }
  const auto m = static_cast<std::size_t>(taken.row), group = static_cast<std::size_t>(taken.group);
  order_.push_back(taken.row);
  groups_.push_back(taken.group);
  gains_.push_back(taken.gain + h_ * static_cast<double>(taken_[group]));
  gone_[m] = 1;
  ++taken_[group];
  similarities_->take(m, group);
  return true;
}

void kernel_products(const Rows& kept, const Block& rows, std::span<const double> weights, std::size_t columns,
                     int threads, double* out) {
  const std::size_t n = kept.size();
  // Column by column, so that a sum is a product of two contiguous vectors.
  std::vector<double> turned(weights.size());
  for (std::size_t s = 0; s < n; ++s)
    for (std::size_t c = 0; c < columns; ++c) turned[c * n + s] = weights[s * columns + c];
  for_each_tile<double>(kept, rows, threads, {32, 1024}, [&] {
    return [&](const Tile<double>& tile) {
      for (std::size_t r = 0; r < tile.rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) {
          double& sum = out[(tile.r0 + r) * columns + c];
          if (tile.first) sum = 0;
          sum += loops().dot_exact(tile.lines[r], turned.data() + c * n + tile.s0, tile.slots);
        }
    };
  });
}

}  // namespace everlearn
