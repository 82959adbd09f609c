// A row of a column and the rows nearest to it: the part of the problem that a local update solves.
//
// With the RBF kernel K = exp(-d^2 / (2 sigma^2)) the distance is read off the kernel row of the centre,
// d / sigma = sqrt(-2 ln K), so that finding the nearest rows computes nothing and takes one pass and a partial sort.
// A step costs a pass over the neighbourhood; kernel rows are fetched only for coefficients that steps touch.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "small_problem.hpp"

namespace everlearn {

/// How far a neighbourhood goes.
struct Extent {
  bool grows = false;      // by one nearest row a round, until its coefficients hold still
  double radius = 2;       // in units of sigma, if it does not grow
  std::size_t least = 50;  // of the nearest rows
};

class Neighbourhood {
 public:
  /// Around a member of column c.
  Neighbourhood(Expansion& expansion, std::size_t c, std::size_t centre);

  /// Optimises to tau on the neighbourhood, the centre included. It reaches at least so far that the centre can move: up
  /// if `rises`, which takes another row that can go down, and the other way round. False if steps were cut off.
  bool learn(const Extent& extent, bool rises, double tau);
  /// Hands the coefficient of the centre over to neighbours, the one with the best second-order gain first, then
  /// optimises to tau on them without the centre. It reaches so far that they can take all of it. False if steps were cut
  /// off.
  bool unlearn(const Extent& extent, double tau);

  /// The neighbourhood, the centre first.
  std::span<const std::int64_t> slots() const { return members_; }
  /// Slots whose coefficients moved; some may be there twice.
  std::span<const std::int64_t> moved() const { return moved_; }

 private:
  struct Near {
    float kernel;
    std::int64_t slot;
    /// Nearer, of equals the older row.
    bool operator<(const Near& other) const {
      return kernel > other.kernel || (kernel == other.kernel && slot < other.slot);
    }
  };

  Near limit(const Extent& extent, std::uint8_t partner, double needed) const;
  std::size_t count_to(const Near& limit) const;
  double room(std::int64_t slot, std::uint8_t way) const;
  bool optimise(const Extent& extent, std::uint8_t partner, double needed, double tau);
  bool grow(double tau);
  bool rests(std::int64_t slot) const;
  double violation(std::span<const std::int64_t> slots) const;
  void place_nearest(std::size_t count);
  void open();
  void widen(std::size_t count);
  void admit(std::size_t count);
  void shift();
  bool solve(double tau);
  void write_back();
  const float* row(std::size_t place);

  Expansion& expansion_;
  std::size_t column_, centre_;
  std::vector<Near> near_;           // the other members, in the order of slots until it is asked for the nearest first
  std::vector<std::int64_t> members_, moved_;
  std::vector<std::int64_t> slots_;  // of the problem, by place, the centre first
  std::size_t admitted_ = 0;         // places from here on are waiting: their gates are shut
  bool unlearns_ = false;
  SmallProblem problem_{0};
  std::vector<AlignedVector<float>> rows_;
};

}  // namespace everlearn
