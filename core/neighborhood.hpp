// A row of a column and its nearest rows: the part of the problem that a local update solves.
//
// With the RBF kernel K = exp(-d^2 / (2 sigma^2)) the kernel row of the center gives the distances, d / sigma = sqrt(-2
// ln K), so that finding the nearest rows takes one pass and a partial sort. A step costs a pass over the neighborhood;
// kernel rows are fetched only for coefficients that move.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "small_problem.hpp"

namespace everlearn {

/// The size of a neighborhood.
struct Extent {
  bool grows = false;         // by one row a round, the nearest, until its coefficients stop changing
  double radius = 2;          // in units of sigma, if it does not grow
  std::size_t min_rows = 50;  // at least so many of the nearest rows
};

class Neighborhood {
 public:
  /// Around a member of column c.
  Neighborhood(Expansion& expansion, std::size_t c, std::size_t center);

  /// Optimizes to tau on the neighborhood, the center included. It reaches at min_rows so far that the center can move:
  /// up if `rises`, which takes another row that can go down, and the other way round. False if steps were cut off.
  bool learn(const Extent& extent, bool rises, double tau);
  /// Hands the coefficient of the center over to neighbors, the one with the best second-order gain first, then
  /// optimizes them to tau without the center. It is so large that they can take all of it. Returns false if steps were
  /// cut off.
  bool unlearn(const Extent& extent, double tau);

  /// The neighborhood, the center first.
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

  Near farthest(const Extent& extent, std::uint8_t partner, double needed) const;
  std::size_t count_to(const Near& limit) const;
  double room(std::int64_t slot, std::uint8_t way) const;
  bool optimize(const Extent& extent, std::uint8_t partner, double needed, double tau);
  bool grow(double tau);
  bool is_stuck(std::int64_t slot) const;
  double violation(std::span<const std::int64_t> slots) const;
  void place_nearest(std::size_t count);
  void start_problem();
  void add_places(std::size_t count);
  void admit(std::size_t count);
  void hand_over();
  bool solve(double tau);
  void write_back();
  const float* row(std::size_t place);

  Expansion& expansion_;
  std::size_t column_, center_;
  std::vector<Near> near_;  // the other members; sorted as far as needed
  std::vector<std::int64_t> members_, moved_;
  std::vector<std::int64_t> slots_;  // of the problem, by place, the center first
  std::size_t admitted_ = 0;         // the gates of places from here on are shut
  bool unlearns_ = false;
  SmallProblem problem_{0};
  std::vector<AlignedVector<float>> rows_;
};

}  // namespace everlearn
