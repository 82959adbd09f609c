// Linear learners that maximize the area under the ROC curve: f(x) = w . x ranks rows of one class above those of the
// other.
//
// OAM, sequential (Zhao, Hoi, Jin, Yang 2011): a random sample of each class is kept (reservoir sampling). With n rows
// of the other class seen and N of them kept, C_t = C max(1, n / N); for each kept row b of the other class, in their
// order:
//   g = y (x - b),  l = 1 - w . g;   if l > 0:  w += min(C_t, l / |g|^2) g
//
// OPAUC (Gao, Jin, Zhu, Zhou 2013): no row is kept. The square loss against all rows of the other class seen so far has
// a gradient that depends only on their number, mean c and covariance S:
//   u = x - c;   w -= eta (lambda w - y u + u (u . w) + S w)
// With a rank r, S w is taken for A (A^T w) / n with A = Z - c h^T, where each row adds x q^T to Z and q to h,
// q ~ N(0, I / r): unbiased, and O(d r) instead of O(d^2).
//
// With several classes each has its own problem, one against the rest. Cost of a row: O(N d), O(d^2) or O(d r).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "generator.hpp"
#include "rows.hpp"

namespace everlearn {

/// Labeled rows of the caller with their weights.
struct WeightedRows {
  Block block;
  std::span<const std::int32_t> labels;
  std::span<const double> weights;
};

class LinearAuc {
 public:
  LinearAuc(std::size_t width, std::size_t classes);
  virtual ~LinearAuc() = default;

  /// Learns the rows `which` in this order.
  void learn(const WeightedRows& rows, std::span<const std::int64_t> which);
  void seed(const Generator& generator);

  std::size_t width() const { return width_; }
  std::size_t problems() const { return w.size(); }
  /// Halfway between the mean scores of the two classes of a problem; 0 until both have been seen.
  double middle(std::size_t c) const;

  std::vector<std::vector<double>> w;             // one for each problem
  std::vector<std::array<std::int64_t, 2>> seen;  // rows of the rest, and of the class
  std::vector<Generator> generators;
  std::int64_t iterations = 0;

 protected:
  virtual void learn_row(std::size_t c, const std::vector<double>& x, std::size_t side, double weight) = 0;
  /// The mean of the known rows of a class of a problem.
  virtual std::vector<double> mean(std::size_t c, std::size_t side) const = 0;

 private:
  std::size_t width_;
};

class Oam final : public LinearAuc {
 public:
  Oam(std::size_t width, std::size_t classes);

  double C = 1;
  std::size_t budget = 100;
  std::vector<std::array<std::vector<double>, 2>> kept;  // rows one after the other

 private:
  void learn_row(std::size_t c, const std::vector<double>& x, std::size_t side, double weight) override;
  std::vector<double> mean(std::size_t c, std::size_t side) const override;
  void offer(std::size_t c, const std::vector<double>& x, std::size_t side);
};

class Opauc final : public LinearAuc {
 public:
  /// rank 0: the whole covariance.
  Opauc(std::size_t width, std::size_t classes, std::size_t rank);

  double eta = 0.01, lambda = 0;

  /// Mean of a class, and its covariance or a sketch of it.
  struct Summary {
    std::vector<double> mean, spread;  // spread: S, or Z, row by row
    std::vector<double> h;
  };
  std::vector<std::array<Summary, 2>> known;
  std::size_t rank() const { return rank_; }

 private:
  void learn_row(std::size_t c, const std::vector<double>& x, std::size_t side, double weight) override;
  std::vector<double> mean(std::size_t c, std::size_t side) const override { return known[c][side].mean; }
  void update_summary(std::size_t c, const std::vector<double>& x, std::size_t side);
  void add_spread(std::size_t c, std::size_t side);

  std::size_t rank_;
  std::vector<double> change_, before_, draws_;
};

}  // namespace everlearn
