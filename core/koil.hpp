// KOIL: kernelized online imbalanced learning with fixed budgets (Hu, Yang, Lyu, King, So; AAAI 2015, TNNLS 2018).
//
// Problem: rank the rows of one class above those of the other. Pairwise hinge loss, against the rows of the other
// class that are kept:  max(0, 1 - y (f(x) - f(x'))).
//
//   bad = kept rows x_i of the other class with y (f(x) - f(x_i)) < 1;  V = the k of them nearest to x
//   all alpha *= 1 - eta;  alpha_i -= eta C y for i in V;  alpha_x = eta C y |V|
//   a row gets eta C y if no row of the other class is kept, or if none is bad and no row of its own class is kept;
//   a row whose coefficient is 0 is not kept.
//
// Each class has its own buffer. A full one drops its oldest row (fifo) or keeps a random sample of all rows of the
// class: the new row takes a random place with probability budget / rows seen, and otherwise is dropped itself
// (reservoir). With compensation the coefficient of the dropped row goes to the nearest row in the buffer, so that the
// sum stays.
//
// AUC does not depend on a bias, but decisions do: it is halfway between the mean scores of the kept rows of both
// classes.
#pragma once

#include <array>

#include "one_pass.hpp"

namespace everlearn {

enum class Victim { oldest, random };

class Koil final : public OnePass {
 public:
  explicit Koil(Expansion& expansion)
      : OnePass(expansion), seen(expansion.columns(), {0, 0}), scratch_(expansion.columns()) {}

  double eta = 0.01;
  std::size_t budget = 100, neighbors = 10;
  Victim victim = Victim::random;
  bool compensates = true;
  bool nearest_first = false;  // V: the bad ones among the k nearest rows of the other class
  bool literal = false;   // as printed: no coefficient for rows without opponents; rows with coefficient 0 are kept
  bool weighted = false;  // C grows with the rows of the other class that have no room in the buffer

  std::vector<std::array<std::int64_t, 2>> seen;  // rows of each class that arrived, kept or not

 private:
  std::function<void()> make_undo() override {
    return [this, before = seen]() mutable { seen.swap(before); };
  }
  void learn_row(std::size_t c, std::size_t slot, std::int64_t time) override;
  void shrink_to_budget(std::size_t c) override;
  void end_turn(std::size_t c) override;
  void choose_opponents(std::size_t c, std::size_t slot);
  void insert(std::size_t c, std::size_t slot, double alpha);
  std::int64_t place_of_victim(std::size_t c, std::size_t side);
  std::int64_t place_of(std::size_t c, std::size_t side, std::uint64_t which);
  std::int64_t nearest(std::size_t c, std::size_t slot, std::size_t side);
  std::size_t side(std::size_t c, std::size_t slot) const { return expansion_.sign(c, slot) > 0 ? 1 : 0; }
  std::size_t kept(std::size_t c, std::size_t side) const { return scratch_[c].kept[side]; }

  struct Opponent {
    float kernel;
    std::size_t place, slot;
    bool bad;
  };
  struct Scratch {
    std::vector<Opponent> opponents;
    std::array<std::size_t, 2> kept{};
  };
  void count_buffer(std::size_t c);
  std::vector<Scratch> scratch_;
};

}  // namespace everlearn
