// Kernel perceptrons: a row on the wrong side joins the expansion with its label as coefficient.
//
//   if y f(x) <= margin:  alpha_x += y
//
// They differ in what happens when the buffer is over budget:
//   nothing  there is no budget (Rosenblatt's rule with a kernel)
//   worst    drop argmax_i y_i (f(x_i) - alpha_i K_ii), the row that is classified best without itself; the new row
//            is a candidate, too, and the first wins ties (Crammer, Kandola, Singer 2003; Weston, Bordes, Bottou 2005)
//   random   drop a uniformly random row before the new one enters (Cavallanti, Cesa-Bianchi, Gentile 2007)
//   forget   shrink all, then drop the oldest (Dekel, Shalev-Shwartz, Singer 2008). With s = |alpha_r| and
//            mu = sign(alpha_r) f(x_r) of the oldest, M mistakes and psi(l, m) = l^2 + 2 l - 2 l m, the factor is the
//            largest phi in (0, 1] with  Q + psi(phi s, phi mu) <= 15/32 M;  Q sums up psi. Needs K(x, x) <= 1.
//
// The average of all models so far, or their vote, is kept as a list of what was added when. A row that is forgotten
// leaves that list: the models are then those without what it added.
#pragma once

#include "one_pass.hpp"

namespace everlearn {

enum class Overflow { nothing, worst, random, forget };
enum class Averaging { none, mean, vote };

class Perceptron final : public OnePass {
 public:
  explicit Perceptron(Expansion& expansion)
      : OnePass(expansion), spent(expansion.columns(), 0), entries(expansion.columns()) {}

  double margin = 0;
  std::size_t budget = 0;  // not used with Overflow::nothing
  Overflow overflow = Overflow::nothing;
  Averaging averaging = Averaging::none;

  /// An addition to the score: at time `born` the coefficient of the row grew by this much.
  struct Entry {
    std::int64_t id, born;
    double coefficient;
  };
  std::vector<double> spent;  // Q of each column
  std::vector<std::vector<Entry>> entries;

  /// out[r * columns + c]: the mean, at row r, of the models after each row so far, or of their signs.
  void decide(const Block& block, int threads, double* out) const;

 private:
  void learn_row(std::size_t c, std::size_t slot, std::int64_t time) override;
  void shrink_to_budget(std::size_t c) override;
  void erase_entry(std::size_t c, std::size_t place) override;
  std::function<void()> make_undo() override;
  void forget_oldest(std::size_t c);
  void drop_worst(std::size_t c);
};

}  // namespace everlearn
