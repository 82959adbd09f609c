// LASVM: an SVM learned one row at a time (Bordes, Ertekin, Weston, Bottou, JMLR 6, 2005).
//
// Problem, for each column:   max_alpha  sum_s y_s alpha_s - 1/2 sum_{s,t} alpha_s alpha_t K_{s,t}
//                             subject to sum_s alpha_s = 0,  A_s <= alpha_s <= B_s
// with the box [0, C_s] for y = +1 and [-C_s, 0] for y = -1 (signed coefficients).
//
// PROCESS(k) adds a row and makes a step on it and its most violating partner; REPROCESS makes one step on the most
// violating pair of all, then drops the idle rows that no pair can move. FINISH repeats steps until no pair violates by
// more than tau. A step on a pair costs one pass over the slots.
//
// FORGET brings the coefficients of some rows to zero by pair steps whose other half goes to the row that lowers the
// dual least; then these rows leave. What is left is a feasible start for FINISH on the rows that stay, near its
// optimum if few rows left. A column that has lost one of its classes is again as it was before that class arrived.
//
// Invariants, after every PROCESS, REPROCESS and FORGET: sum alpha = 0; A <= alpha <= B exactly, because a step that
// reaches a bound stores the bound; g = y - K alpha; column.ends are the extremes of g; every class that has been seen
// is among the rows kept. PROCESS and REPROCESS never decrease the dual. If memory runs out, learning stops between two
// steps: the invariants hold, and the rows learned so far stay.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "generator.hpp"
#include "turns.hpp"

namespace everlearn {

/// How learn_selected picks a row.
enum class Selection { gradient, active, autoactive };

class Lasvm {
 public:
  Lasvm(Expansion& expansion, std::size_t classes) : expansion_(expansion), seen_(classes, 0) {}

  double tau = 1e-3;
  double delta_max = -1;   // negative: one REPROCESS a row
  bool keep_idle = false;  // labels are expensive, and a row that is idle now may be needed later
  Generator generator;

  /// Keeps rows without a step: their coefficients are zero until a pair moves them.
  void seed(const LabeledRows& rows, std::span<const std::int64_t> which);
  /// The same with known scores without the bias, sum_t alpha_{c,t} K(x_t, x): a line for each row of the block and a
  /// value for each column. Where kernel values are cheap, none is computed before a step needs it.
  void seed(const LabeledRows& rows, std::span<const std::int64_t> which, std::span<const double> scores);
  /// PROCESS and REPROCESS for each of the rows `which`, in this order, none of them twice.
  void learn(const LabeledRows& rows, std::span<const std::int64_t> which);
  /// The same for `count` rows selected from `remaining`, each among `pool` rows drawn at random. `remaining` shrinks
  /// to the rows that are left, in another order.
  void learn_selected(const LabeledRows& rows, std::span<std::int64_t>& remaining, Selection selection,
                      std::size_t pool, std::size_t count);
  /// Some rounds of finishing; true when no column has a pair that violates by more than tau, or when no step
  /// changes a coefficient any more.
  bool finish(std::size_t rounds);

  /// Unlearns rows that are kept, also those that wait for a second class. Call `finish` afterwards.
  void forget(std::span<const std::int64_t> ids);

  /// Pair steps that finishing has made so far.
  std::int64_t finishing_steps() const { return finishing_steps_; }
  std::int64_t iterations() const { return iterations_; }
  void set_iterations(std::int64_t n) { iterations_ = n; }
  const std::vector<std::uint8_t>& seen() const { return seen_; }
  void set_seen(std::vector<std::uint8_t> seen) { seen_ = std::move(seen); }

 private:
  /// Each column learns the rows of a turn on its own, which is the same as row by row because columns share only rows.
  /// Returns true while no column is live: then all rows must stay.
  bool learn_turn(const Turn& turn);
  void learn_turn(std::size_t c, const Turn& turn);
  std::pair<bool, bool> classes_seen(std::size_t c) const;
  void predict_only_class(std::size_t c, bool positive);
  void activate(std::size_t c, std::size_t taken);
  void join_seeds(const LabeledRows& rows, std::span<const std::int64_t> which);
  void process(std::size_t c, std::size_t slot);
  bool reprocess(std::size_t c);
  bool step(std::size_t c, std::int64_t up, std::int64_t down);
  void hand_over(std::size_t c, std::size_t slot, const std::vector<std::uint8_t>& gone);
  std::int64_t cheapest_receiver(std::size_t c, std::size_t slot, const HeldRow& k,
                                 const std::vector<std::uint8_t>& gone) const;
  void restart_columns();
  void reset(std::size_t c);
  bool update_bias(std::size_t c);
  void drop_stuck(std::size_t c);
  std::size_t best_candidate(const LabeledRows& rows, std::span<const std::int64_t> drawn,
                             std::span<const double> scores, Selection selection) const;
  void recover();

  Expansion& expansion_;
  std::vector<std::uint8_t> seen_;
  std::int64_t iterations_ = 0, finishing_steps_ = 0;
};

}  // namespace everlearn
