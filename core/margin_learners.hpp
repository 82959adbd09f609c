// Learners that also update on a correctly classified row if it is too near to the boundary.
//
// Passive-aggressive (Crammer et al. 2006, figure 1): l = max(0, 1 - y f), alpha_x += y tau, where tau is
//   PA:     l / K(x, x)                 the least change of f after which the row has no loss
//   PA-I:   min(C, l / K(x, x))         1/2 |f' - f|^2 + C l' is least
//   PA-II:  l / (K(x, x) + 1 / (2 C))   1/2 |f' - f|^2 + C l'^2 is least
//
// NORMA, stochastic gradient descent in the space of the kernel (Kivinen, Smola, Williamson 2004), soft margin:
//   every row:              alpha *= 1 - eta_t lambda
//   if y (f + b) < rho:     alpha_x += eta_t y,  b += eta_t y if there is a bias;  over budget: drop the oldest
//   with nu the margin adapts, so that a fraction nu of the rows are errors: the test is <=,
//                           rho -= eta_t (1 - nu) on an error, rho += eta_t nu otherwise
#pragma once

#include "one_pass.hpp"

namespace everlearn {

enum class Aggressiveness { pa, pa_1, pa_2 };

class PassiveAggressive final : public OnePass {
 public:
  explicit PassiveAggressive(Expansion& expansion) : OnePass(expansion) {}

  Aggressiveness variant = Aggressiveness::pa_1;

 private:
  void learn_row(std::size_t c, std::size_t slot, std::int64_t time) override;
};

class Norma final : public OnePass {
 public:
  explicit Norma(Expansion& expansion) : OnePass(expansion), margin(expansion.columns(), 1.0) {}

  double eta = 0.1, lambda = 0.1;
  bool decays = false;  // eta_t = eta / sqrt(t)
  double nu = -1;       // negative: the margin stays
  bool has_bias = false;
  std::size_t budget = 200;
  std::vector<double> margin;  // rho of each column

 private:
  std::function<void()> make_undo() override {
    return [this, before = margin]() mutable { margin.swap(before); };
  }
  void learn_row(std::size_t c, std::size_t slot, std::int64_t time) override;
  void shrink_to_budget(std::size_t c) override;
};

}  // namespace everlearn
