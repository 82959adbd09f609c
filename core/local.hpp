// Local updates: an SVM with the RBF kernel that learns a row by changes in its neighborhood only (Emara, "A submodular
// optimization framework for never-ending learning", 2012, chapter VI).
//
// Problem, for each column:   max_alpha  sum_s y_s alpha_s - 1/2 sum_{s,t} alpha_s alpha_t K_{s,t}
//                             subject to sum_s alpha_s = 0,  A_s <= alpha_s <= B_s     as in lasvm.hpp
//
// A row with y f(x) >= 1 is kept with coefficient 0 and changes nothing. Any other is optimized to tau together with
// its neighbors while all other coefficients are fixed (neighborhood.hpp). Because the coefficients sum to zero, the
// influence of a change does not fall to zero with distance. So a full pass optimizes all rows, from the present
// coefficients, every `full_pass_every` updates or when rows drawn at random outside the neighborhood violate by more
// than `full_pass_tol`. The bias is the mean of g over all free support vectors, not only those of the neighborhood. If
// there are none, it is the middle of the interval that the conditions allow.
//
// Invariants, after every row: sum alpha = 0; A <= alpha <= B exactly; g = y - K alpha on all slots; no pair within the
// last neighborhood violates by more than tau, or its steps were cut off, which is counted. After a full pass no pair
// at all does. Cost of a row: the kernel row and, if it is an update, a pass over the slots for each coefficient that
// changed and a pass over the neighborhood for each step. If memory runs out, learning stops between two updates: the
// first three invariants hold, and the rows learned so far stay.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "generator.hpp"
#include "neighborhood.hpp"
#include "turns.hpp"

namespace everlearn {

class LocalUpdates {
 public:
  explicit LocalUpdates(Expansion& expansion);

  double tau = 1e-3;
  Extent extent;
  std::size_t full_pass_every = 500;  // updates; 0: full passes only after violations
  double full_pass_tol = 0.1;
  std::size_t full_pass_sample = 50;                               // rows drawn after an update
  std::size_t max_idle = std::numeric_limits<std::size_t>::max();  // rows with alpha = 0 that are kept

  void seed(const Generator& generator);
  /// Learns rows in this order, none of them twice.
  void learn(const LabeledRows& rows, std::span<const std::int64_t> which);
  /// Unlearns rows that are kept or linger: hands their coefficients over to neighbors and drops the rows.
  void forget(std::span<const std::int64_t> named);
  /// Some rounds on all rows kept; true when no pair violates by more than tau, or when no step changes a coefficient.
  bool finish(std::size_t rounds);

  /// What is saved in addition to the expansion; vectors have one entry for each column.
  struct State {
    std::vector<Generator> generators;
    std::vector<std::int64_t> updates;    // neighborhoods whose coefficients changed
    std::vector<std::int64_t> neighbors;  // their rows, summed
    std::vector<std::int64_t> since;      // updates since the last full pass
    std::vector<std::int64_t> full_passes;
    std::vector<std::int64_t> capped;  // times that steps were cut off
    std::int64_t iterations = 0;
  } state;
  std::int64_t steps = 0;  // made on all rows

 private:
  struct Classes {
    bool positive = false, negative = false;
    bool both() const { return positive && negative; }
  };

  bool learn_turn(const Turn& turn);
  bool advance(std::size_t c, const Turn& turn, std::size_t& next);
  bool learn_slot(std::size_t c, std::size_t slot, std::int64_t time);
  bool after_update(std::size_t c, const Neighborhood& near, std::int64_t time);
  bool violated_outside(std::size_t c, std::span<const std::int64_t> inside);
  void full_pass(std::size_t c, std::int64_t time);
  bool optimize_all(std::size_t c, std::size_t rounds, std::int64_t time);
  void update_bias(std::size_t c);
  void trim_idle(std::size_t c, std::int64_t time);
  void activate(std::size_t c, std::size_t taken);
  void predict_only_class(std::size_t c, const Classes& classes_among);
  void deactivate(std::size_t c, const std::vector<std::uint8_t>& gone);
  Classes classes_among(std::size_t c, std::size_t taken, const std::vector<std::uint8_t>& gone) const;
  bool any_live() const;
  void recover();

  Expansion& expansion_;
};

}  // namespace everlearn
