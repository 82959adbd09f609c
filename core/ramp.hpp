// Support vector machines with the ramp loss, online and offline (Wang, Vucetic, "Fast Online Training of Ramp Loss
// Support Vector Machines", ICDM 2009; Collobert, Sinz, Weston, Bottou, ICML 2006).
//
// Problem, for each column, with z = y f(x) and no bias:   min_w  1/2 |w|^2 + sum_s C_s R(z_s),
//     R(z) = min(1 - s, max(0, 1 - z)):  a row that lies further than s on the wrong side costs no more than one at s.
// The problem is not convex: the solution is a local optimum. Let V = {z >= s} be the rows inside the ramp. The hinge
// problem on V plus the constant C (1 - s) for each row outside is an upper bound of the objective and touches it.
// Solving it and determining V again never raises the objective, and ends because there are finitely many V.
//
// Online: a row inside the ramp moves its coefficient, then the coefficient with the largest gain moves, as long as one
// violates by more than tau and gains min_gain; then V is determined again and rows that fell out are unlearned.
// Forgetting unlearns rows in the same way and settles the rest. Steps come first, so that other rows can take the
// place of those that left before V is determined again.
//
// Invariants, after every row and after forgetting: g = y - K alpha on all rows; V = {y g <= 1 - s} once the ramp is
// active; alpha = 0 outside of V; no coefficient in V violates by more than tau with a gain of min_gain or more (where
// K(x, x) = 1; less where kernel values are larger), or the row had its 200 rounds or its 100,000 steps, which is
// counted. A row outside of V has edge 0. If memory runs out, learning stops between two steps: g = y - K alpha holds.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "turns.hpp"

namespace everlearn {

/// What happens to a row outside of V: its coefficient stays 0, or its box is turned over (the exact linearization of
/// the concave part). Both have the same solution while no row outside has z > 1.
enum class Outside { shut, fold };

class RampLoss {
 public:
  RampLoss(Expansion& expansion, std::size_t classes);

  double tau = 1e-3, min_gain = 1e-5, s = -1;
  std::size_t max_idle = std::numeric_limits<std::size_t>::max();  // rows with alpha = 0 that are kept
  /// Support vectors that a class needs before one of its rows can be outside of V, so that a stream which begins with
  /// one class does not shut out the other.
  std::size_t min_support = 0;
  Outside outside = Outside::shut;

  /// Learns rows online, in this order.
  void learn(const LabeledRows& rows, std::span<const std::int64_t> which);

  /// Unlearns rows that are kept.
  void forget(std::span<const std::int64_t> ids);

  /// Keeps rows for `solve`, all of them inside V.
  void gather(const LabeledRows& rows, std::span<const std::int64_t> which);
  /// Some rounds of the hinge problem on V; true when it is solved in every column.
  bool solve(std::size_t rounds);
  /// Determines V again; returns the number of columns where it changed. Without `commit` nothing changes.
  std::size_t redraw(bool commit);
  /// Drops the rows with alpha = 0: decisions do not need them.
  void drop_idle();

  /// The objective of a column on the rows kept.
  double objective(std::size_t c) const;
  /// What is saved in addition to the expansion; vectors have one entry for each column.
  struct State {
    std::vector<std::uint8_t> trusted;  // bit set: there have been enough support vectors above 0 (1), below 0 (2)
    std::vector<std::int64_t> capped;   // rows whose steps were cut off
    std::int64_t iterations = 0;
  } state;
  std::int64_t steps = 0;  // made by solve
  /// Prepares the columns; also after a state was restored.
  void start();

 private:
  void learn_slot(std::size_t c, std::size_t slot);
  void settle(std::size_t c, Gain best);
  Gain move(std::size_t c, std::size_t slot, bool alone);
  bool redraw(std::size_t c, bool commit);
  void remove_rows(std::size_t c, const std::vector<std::uint8_t>& gone);
  void update_scale();
  void trim_idle(std::size_t c);
  bool inside(std::size_t c, std::size_t slot) const;
  bool update_trusted(std::size_t c);

  Expansion& expansion_;
  double scale_ = 1;  // of kernel values; gains are inversely proportional to it
};

}  // namespace everlearn
