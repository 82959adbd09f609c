// LASVM-G and its relatives: no bias, single steps, as much optimisation as the gap asks for
// (Ertekin, "Learning in Extreme Conditions", 2009, chapter 6; Ertekin, Bottou, Giles, TPAMI 33, 2011).
//
// Problem, for each column:   max_alpha  sum_s y_s alpha_s - 1/2 sum_{s,t} alpha_s alpha_t K_{s,t},   A_s <= alpha_s <= B_s
//
// PROCESS(k) takes a row in and moves its coefficient; REPROCESS moves the coefficient that violates most, after many
// steps for one row together with a partner (working_set.hpp). A row is
// followed by REPROCESS until the duality gap
//     G = sum_s (B_s - alpha_s) max(0, g_s) + (alpha_s - A_s) max(0, -g_s)   =   primal - dual
// is at most max(C, H), where C is the cost of a row (of the dearest class, if they differ) and H estimates the standard deviation of the primal's loss sum: optimising further would
// chase noise. With h_s = max(A_s g_s, B_s g_s), the loss of a row, and l support vectors,
//     H = sqrt(max(0, sum h^2 - (sum h)^2 / l)).
// CLEAN(m) keeps, of the rows with alpha = 0, the m that are nearest to moving. FORGET brings the coefficients of rows to
// zero, drops the rows and lets REPROCESS close the gap again on those that are left.
//
// The ramp loss lets go of rows that lie on the wrong side by more than s at arrival, once there are support vectors to
// judge by: with Ramp::fold (LASVM-NC) their box is turned over, [-C, 0] for y = +1, and with Ramp::skip
// (LASVM-I) they are not kept at all, and neither are rows that are right already.
//
// Invariants, after every row: A <= alpha <= B exactly; g = y - K alpha; the dual never decreases; G is at most its
// target, or no coefficient violates by more than tau, or the row had its 10,000 steps, which is counted. A step costs
// one pass over the slots.
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

  void learn(const Labelled& rows, std::span<const std::int64_t> which);
  /// Unlearns rows that are kept.
  void forget(std::span<const std::int64_t> ids);
  /// Drops rows with alpha = 0 but for `most` in each column.
  void clean(std::size_t most);
  /// Some rounds of optimising on the rows kept; true when no coefficient violates by more than tau, or when no step
  /// changes one any more.
  bool finish(std::size_t rounds);

  /// The duality gap of a column, on the rows it keeps.
  double gap(std::size_t c) const;
  /// What decides how the solver goes on, beside the expansion; one entry for each column where it is a vector.
  struct State {
    std::vector<std::int64_t> outliers, skipped;
    std::vector<std::int64_t> capped;  // rows whose steps were cut off
    std::vector<double> costs;         // of each class, summed
    std::vector<std::int64_t> rows;    // of each class
    std::int64_t iterations = 0;
  } state;
  /// Steps made so far: moves of a coefficient after its row was taken in.
  std::int64_t steps() const;

 private:
  double meet(std::size_t slot);
  double dearest() const;
  void close_gap(std::size_t c, double enough);
  void take_in(std::size_t c, std::span<const std::int64_t> slots, std::span<const double> dearest);
  bool process(std::size_t c, std::size_t slot);
  bool reprocess(std::size_t c, bool with_partner);
  bool move(std::size_t c, std::size_t slot);
  void follow(std::size_t c, std::span<const Move> moves);
  void clean(std::size_t c, std::size_t most);
  double target(std::size_t c);
  bool judges(std::size_t c, double y) const;
  const Survey& survey(std::size_t c);

  Expansion& expansion_;
  std::vector<Survey> surveys_;
  std::vector<std::int64_t> steps_;
  std::vector<std::uint8_t> fresh_;  // whether the survey of a column is that of its coefficients
};

}  // namespace everlearn
