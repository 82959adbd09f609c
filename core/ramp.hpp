// Support vector machines with the ramp loss, online and offline (Wang, Vucetic, "Fast Online Training of Ramp Loss
// Support Vector Machines", ICDM 2009; Collobert, Sinz, Weston, Bottou, ICML 2006).
//
// Problem, for each column, with z = y f(x) and no bias:   min_w  1/2 |w|^2 + sum_s C_s R(z_s),
//     R(z) = min(1 - s, max(0, 1 - z)):  a row that lies further than s on the wrong side costs no more than one at s.
// It is not convex: what is found is a local optimum. With V = {z >= s}, the rows inside, the hinge problem on V plus the
// constant C (1 - s) for each row outside lies above the objective and touches it: solving it, drawing V again and so
// on never raises the objective and ends, because there are finitely many V.
//
// Online: a row inside the ramp moves its coefficient, then the coefficient with the largest gain moves, as long as one
// violates by more than tau and gains min_gain; then V is drawn again and rows that fell out are unlearnt. Forgetting
// unlearns rows in the same way and settles what is left: steps first, so that rows which leant on those that are gone can
// take their place before it is decided who is outside.
//
// Invariants, after every row and after forgetting: g = y - K alpha on all rows kept; V = {y g <= 1 - s} once the ramp works; alpha = 0 outside of V; no
// coefficient in V violates by more than tau with a gain of min_gain or more (where K(x, x) = 1; less where kernel values
// are larger), or the row had its 200 rounds, or its 100,000 steps, which is counted. A row outside of V has edge 0.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "turns.hpp"

namespace everlearn {

/// What becomes of a row outside of V: its coefficient stays 0, or its box is turned over (the exact linearisation of
/// the concave part). Both have the same solution while no row outside has z > 1.
enum class Outside { shut, fold };

class RampLoss {
 public:
  RampLoss(Expansion& expansion, std::size_t classes);

  double tau = 1e-3, min_gain = 1e-5, s = -1;
  std::size_t max_idle = std::numeric_limits<std::size_t>::max();  // rows with alpha = 0 that are kept
  /// Support vectors on one side before a row of that side can be outside of V, so that a stream which begins with one
  /// class does not shut the other one out.
  std::size_t min_support = 0;
  Outside outside = Outside::shut;

  /// Learns rows online, in this order.
  void learn(const Labelled& rows, std::span<const std::int64_t> which);

  /// Unlearns rows that are kept.
  void forget(std::span<const std::int64_t> ids);

  /// Keeps rows for `solve`, all of them inside V.
  void gather(const Labelled& rows, std::span<const std::int64_t> which);
  /// Some rounds of the hinge problem on V; true when it is solved in every column.
  bool solve(std::size_t rounds);
  /// Draws V again; returns how many columns changed, or, if not for good, would.
  std::size_t redraw(bool for_good);
  /// Drops the rows with alpha = 0: decisions do not need them.
  void drop_idle();

  /// The objective of a column on the rows kept.
  double objective(std::size_t c) const;
  /// What decides how the solver goes on, beside the expansion; one entry for each column where it is a vector.
  struct State {
    std::vector<std::uint8_t> trusted;  // there have been support vectors enough above 0 (1), below 0 (2)
    std::vector<std::int64_t> capped;   // rows whose steps were cut off
    std::int64_t iterations = 0;
  } state;
  std::int64_t steps = 0;  // made by solve
  /// Makes the expansion ready, also after it was put back.
  void start();

 private:
  void take_in(std::size_t c, std::size_t slot);
  void settle(std::size_t c, Gain best);
  Gain move(std::size_t c, std::size_t slot, bool alone);
  bool redraw(std::size_t c, bool for_good);
  void doubt(std::size_t c, const std::vector<std::uint8_t>& gone);
  void measure();
  void remove(std::size_t c);
  bool inside(std::size_t c, std::size_t slot) const;
  bool trust(std::size_t c);

  Expansion& expansion_;
  double scale_ = 1;  // of kernel values: gains are inversely proportional to it
};

}  // namespace everlearn
