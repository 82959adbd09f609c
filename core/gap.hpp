// LASVM-G and its relatives: no bias, single steps, and no more optimization than the duality gap requires
// (Ertekin, "Learning in Extreme Conditions", 2009, chapter 6; Ertekin, Bottou, Giles, TPAMI 33, 2011).
//
// Problem, for each column:   max_alpha  sum_s y_s alpha_s - 1/2 sum_{s,t} alpha_s alpha_t K_{s,t},   A_s <= alpha_s <=
// B_s
//
// PROCESS(k) adds a row and moves its coefficient; REPROCESS moves the coefficient that violates most and, after many
// steps for one row, a partner with it (working_set.hpp). A row is followed by REPROCESS until the duality gap
//     G = sum_s (B_s - alpha_s) max(0, g_s) + (alpha_s - A_s) max(0, -g_s)   =   primal - dual
// is at most max(C, H). C is the cost of a row, that of the most expensive class if they differ. H estimates the
// standard deviation of the sum of losses: optimizing further would fit noise. With the loss of a row h_s = max(A_s
// g_s, B_s g_s) and l support vectors,
//     H = sqrt(max(0, sum h^2 - (sum h)^2 / l)).
// CLEAN(m) keeps, of the rows with alpha = 0, the m that are nearest to moving. FORGET brings the coefficients of rows
// to zero, drops the rows and closes the gap again with REPROCESS on the rows that stay.
//
// With the ramp loss, rows that arrive on the wrong side by more than s are outliers, once there are enough support
// vectors. Ramp::fold (LASVM-NC) turns their box over, [-C, 0] for y = +1. Ramp::skip (LASVM-I) does not keep them, nor
// rows that have no loss.
//
// Invariants, after every row: A <= alpha <= B exactly; g = y - K alpha; the dual never decreases; G is at most its
// target, or no coefficient violates by more than tau, or the row had its 10,000 steps, which is counted. A step costs
// one pass over the slots. If memory runs out, learning stops between two steps: the first two invariants hold, and the
// rows learned so far stay.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "turns.hpp"

namespace everlearn {

enum class Ramp { none, fold, skip };

class Gap {
 public:
  Gap(Expansion& expansion, std::size_t classes);

  double tau = 1e-3;
  Ramp ramp = Ramp::none;
  double s = -std::numeric_limits<double>::infinity();
  std::size_t min_support = 100;  // support vectors before the ramp works, a tenth of them on the row's own side
  std::size_t clean_every = 300;  // rows; 0: never
  std::size_t max_idle = 100;     // rows with alpha = 0 that CLEAN leaves

  void learn(const LabeledRows& rows, std::span<const std::int64_t> which);
  /// Unlearns rows that are kept.
  void forget(std::span<const std::int64_t> ids);
  /// Drops rows with alpha = 0 until `max_left` are left in each column.
  void clean(std::size_t max_left);
  /// Some rounds of optimization on the kept rows; true when no coefficient violates by more than tau or no step
  /// changes one any more.
  bool finish(std::size_t rounds);

  /// The duality gap of a column on its rows.
  double gap(std::size_t c) const;
  /// What is saved in addition to the expansion; vectors have one entry for each column if nothing else is said.
  struct State {
    std::vector<std::int64_t> outliers, skipped;
    std::vector<std::int64_t> capped;  // rows whose steps were cut off
    std::vector<double> costs;         // of each class, summed
    std::vector<std::int64_t> rows;    // of each class
    std::int64_t iterations = 0;
  } state;
  /// REPROCESS steps so far.
  std::int64_t steps() const;

 private:
  double count_row(std::size_t slot);
  double highest_cost() const;
  void close_gap(std::size_t c, double target_gap);
  void learn_slots(std::size_t c, std::span<const std::int64_t> slots, std::span<const double> highest_costs);
  bool process(std::size_t c, std::size_t slot);
  bool reprocess(std::size_t c, bool with_partner);
  bool move(std::size_t c, std::size_t slot);
  void follow(std::size_t c, std::span<const Move> moves);
  void clean(std::size_t c, std::size_t max_left);
  void recover();
  double target(std::size_t c);
  bool can_judge(std::size_t c, double y) const;
  const Survey& survey(std::size_t c);

  Expansion& expansion_;
  std::vector<Survey> surveys_;
  std::vector<std::int64_t> steps_;
  std::vector<std::uint8_t> current_;  // whether the survey of a column is up to date
};

}  // namespace everlearn
