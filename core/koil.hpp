// KOIL: kernelized online imbalanced learning with fixed budgets (Hu, Yang, Lyu, King, So; AAAI 2015, TNNLS 2018).
//
// Problem: rank the rows of one class above those of the other. Pairwise hinge loss, against the rows of the other class
// that are kept:  max(0, 1 - y (f(x) - f(x'))).
//
//   bad = kept rows x_i of the other class with y (f(x) - f(x_i)) < 1;  V = the k of them nearest to x
//   all alpha *= 1 - eta;  alpha_i -= eta C y for i in V;  alpha_x = eta C y |V|
//   a row that meets no row of the other class, or no bad one while its own class has none, gets eta C y;
//   a row whose coefficient is 0 is not kept.
//
// Each class has a buffer of its own. A full one drops its oldest row (fifo), or keeps a random sample of all rows of the
// class: the newcomer takes a random place with probability budget / rows seen, and else is dropped itself (reservoir). With
// compensation the coefficient of what is dropped goes to the row nearest to it in the buffer, and the sum stays.
//
// AUC does not see a bias; decisions need one: halfway between the mean scores of the kept rows of both classes.
#pragma once

#include <array>

#include "one_pass.hpp"

namespace everlearn {

enum class Leaver { oldest, random };

class Koil final : public OnePass {
 public:
  explicit Koil(Expansion& expansion) : OnePass(expansion), seen(expansion.columns(), {0, 0}), scratch_(expansion.columns()) {}

  double eta = 0.01;
  std::size_t budget = 100, neighbours = 10;
  Leaver leaver = Leaver::random;
  bool compensates = true;
  bool nearest_first = false;  // V: of the k nearest rows of the other class the bad ones
  bool literal = false;        // no coefficient for rows that meet nobody; rows with coefficient 0 are offered, too
  bool weighted = false;       // C grows with the rows of the other class for which there is no room

  std::vector<std::array<std::int64_t, 2>> seen;  // rows of each class that came, kept or not

 private:
  void take_in(std::size_t c, std::size_t slot, std::int64_t time) override;
  void trim(std::size_t c) override;
  void end_turn(std::size_t c) override;
  void choose_opponents(std::size_t c, std::size_t slot);
  void insert(std::size_t c, std::size_t slot, double alpha);
  std::int64_t place_of_leaver(std::size_t c, std::size_t side);
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
  void count(std::size_t c);
  std::vector<Scratch> scratch_;
};

}  // namespace everlearn
