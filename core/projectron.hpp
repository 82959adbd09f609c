// Projectron and Projectron++ (Orabona, Keshet, Caputo 2009): a mistake is projected onto the kept rows instead of
// being kept, if little is lost by that.
//
//   d = K^-1 k_x   (k_x: kernel values with the buffer, K: those within the buffer)
//   delta^2 = K(x, x) - k_x . d,  the squared distance of x from the span of the buffer
//   on a mistake:  delta <= eta, or the buffer is full:  alpha += y d
//                  otherwise: x joins with coefficient y
//   ++, where 0 < y f < 1, with the loss l = 1 - y f and P = k_x . d, if l > delta / eta and P > 0:
//                  alpha += y min(1, l / P, 2 (l - delta / eta) / P) d
//
// Rows leave the buffer only when they are forgotten. K is kept as its Cholesky factor, K = L L^T, which gets the row
// (v, delta) with L v = k_x when x joins; and d = L^-T v. The published recursion for K^-1 loses all its digits where
// rows are close to the span of others; the factor does not. Kernel values are float32, so a row whose delta^2 is below
// 1e-4 of K(x, x) is always projected. Cost of a mistake, and of forgetting a row: O(n^2) for n kept rows.
#pragma once

#include "one_pass.hpp"

namespace everlearn {

class Projectron final : public OnePass {
 public:
  explicit Projectron(Expansion& expansion)
      : OnePass(expansion),
        factor(expansion.columns()),
        projections(expansion.columns(), 0),
        margin_steps(expansion.columns(), 0),
        scratch_(expansion.columns()) {}

  double eta = 0.1;
  std::size_t budget = 200;
  bool steps_on_margin = false;  // ++

  std::vector<std::vector<double>> factor;  // L of each column, row by row, row i with i + 1 numbers
  std::vector<std::int64_t> projections, margin_steps;

 private:
  void learn_row(std::size_t c, std::size_t slot, std::int64_t time) override;
  void erase_entry(std::size_t c, std::size_t place) override;
  std::function<void()> make_undo() override;
  void project(std::size_t c, double length);

  struct Scratch {
    std::vector<double> v, d;
  };
  std::vector<Scratch> scratch_;
};

}  // namespace everlearn
