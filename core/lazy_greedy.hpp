// Lazy greedy selection of rows by a linear term and pairwise similarities (Emara, thesis, 2012, chapters III-V;
// Minoux, 1978, for laziness).
//
// Problem:   maximize  F(A) = sum_{j in A} w_j + q sum_{j, j' in A} K_jj'   over sets of k rows
//
// where the second sum has ordered pairs and the diagonal. Greedy takes, k times, the row with the largest
//
//     gain(m | A) = base_m + 2 q sum_{j in A} K_mj,      base_m = w_m + q K_mm;   of equals the lowest row.
//
// Let h be at least 2 q K_ij for i != j. Then gain(m | A) - h |A| never rises as A grows. So its last value is an upper
// bound, and only the rows at the top of a heap of bounds are evaluated. The sets are nested: the first k rows taken
// are the solution for k.
//
// With several classes (the welfare form) rows are distributed over sets A_c of given sizes. Greedy takes the pair of a
// row and a class with the largest
//
//     gain(m, c) = base_mc + 2 q sum_{j in A_c} K_mj - h |A_c|;
//
// without the last term, which differs between classes, the first class to grow would attract all rows.
//
// There is no kernel matrix. With a linear kernel the sum is one product with the sum of the rows taken, O(nnz) memory.
// Otherwise, when a row is evaluated, its kernel values with the rows taken since its last evaluation are computed, so
// that each pair is computed at most once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rows.hpp"

namespace everlearn {

/// The similarities of rows to the rows taken so far, for each group.
class Similarities {
 public:
  virtual ~Similarities() = default;
  virtual std::size_t size() const = 0;
  /// sum_{j taken into the group} K_mj
  virtual double towards(std::size_t m, std::size_t group) = 0;
  virtual void take(std::size_t m, std::size_t group) = 0;
};

/// The linear kernel over the caller's rows, which must outlive it.
std::unique_ptr<Similarities> linear_similarities(const Block& rows, std::size_t groups);
/// Any kernel over rows that are kept, in double precision.
std::unique_ptr<Similarities> kernel_similarities(std::unique_ptr<Rows> rows, std::size_t groups);

class LazyGreedy {
 public:
  /// `base` has one value for each row and group, row by row; `sizes` one for each group.
  LazyGreedy(std::unique_ptr<Similarities> similarities, std::vector<double> base, double twice_q, double h,
             std::vector<std::int64_t> sizes);

  /// Takes up to `count` more rows; returns true if all sets have their sizes or no row is left.
  bool advance(std::size_t count);

  /// Rows in the order taken, their groups, and what each added to F.
  const std::vector<std::int64_t>& order() const { return order_; }
  const std::vector<std::int32_t>& groups() const { return groups_; }
  const std::vector<double>& gains() const { return gains_; }
  /// Gains computed so far, including the first one of every row.
  std::uint64_t evaluations() const { return evaluations_; }

 private:
  struct Bound {
    double gain;  // minus h |A_c|
    std::int64_t row;
    std::int32_t group;
    /// A heap has the largest in front: of equals the lowest row, then the lowest group.
    bool operator<(const Bound& other) const {
      if (gain != other.gain) return gain < other.gain;
      return row != other.row ? row > other.row : group > other.group;
    }
  };
  bool take_one();
  bool open(const Bound& bound) const;

  std::unique_ptr<Similarities> similarities_;
  std::vector<double> base_;
  double twice_q_, h_, largest_ = 0;
  std::vector<std::int64_t> sizes_, taken_;  // for each group
  std::vector<std::int64_t> seen_;           // size of the group when the pair was last looked at
  std::vector<std::uint8_t> gone_;
  std::vector<Bound> heap_;
  std::vector<std::int64_t> order_;
  std::vector<std::int32_t> groups_;
  std::vector<double> gains_;
  std::uint64_t evaluations_ = 0;
};

/// out[r * columns + c] = sum_s K(row r, kept row s) weights[s * columns + c], in double precision.
void kernel_products(const Rows& kept, const Block& rows, std::span<const double> weights, std::size_t columns,
                     int threads, double* out);

}  // namespace everlearn
