// The exact SVM, row by row: learning and unlearning (Cauwenberghs and Poggio, NIPS 13, 2000; Emara, thesis, 2012, VI).
//
// Problem, for each column, as in lasvm.hpp: signed coefficients theta in boxes that have 0 at one end, sum theta = 0,
//     g_i = y_i - sum_j theta_j K_ij,     u_i = b - g_i,     and at the optimum
//     u_i >= 0 where theta_i may rise,    u_i <= 0 where it may fall.
// So u = 0 for rows strictly inside of their boxes: these are the margin set S, whose linear system is kept factorized
// (border.hpp). Every other row is at an end of its box.
//
// One row c at a time moves; b and theta_S follow it so that sum theta = 0 and u_S = 0 stay true, until a row has to
// change sides: a member of S meets an end of its box and leaves, or u of another row becomes 0 and it joins. With S
// empty only b moves. The conditions of settled rows hold all the time, so they still hold when c has stopped, wherever
// it began. Hence learning a row is moving it from 0, unlearning it is moving it to 0, and any guess at the solution
// becomes the solution once the rows that violate their conditions have been moved, one after the other.
//
// Duplicates, near-duplicates and more rows than dimensions would make the system of S singular. So a ridge is added to
// every K_ii: 1e-11 of K_ii, or of a hundredth of the median if that is larger. Solutions are then unique, and scores
// change by at most 1e-11 K_ii theta_i, far less than by rounding kernel values to floats. Leaving dependent rows out
// of S instead lets near-duplicates violate their conditions by up to 1e-7 times the coefficients, or makes steps
// cycle.
//
// Only rows near to changing sides are watched at every step, so that a step costs O(|S|^2 + m |S|) for m watched rows.
// All others are updated at the end of a change, O(n |S|); those that violate their conditions then are moved, too.
// Kernel values are doubles: with floats the conditions could not hold to better than 1e-7 times the coefficients, and
// near-duplicates would look indefinite. What is computed for a row does not depend on its slot, so that dropping slots
// changes no bit.
//
// A call of `learn`, `forget`, `relabel` or `leave_one_out` that is refused, because a row shows that the kernel is not
// positive semi-definite, changes nothing at all. If memory runs out, coefficients are as they were before the call or,
// if it learns many rows, before the last 64 of them. The margin sets are then rebuilt from the coefficients by the
// next call.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "border.hpp"
#include "exact_rows.hpp"
#include "turns.hpp"

namespace everlearn {

class Incremental {
 public:
  explicit Incremental(Expansion& expansion);
  ~Incremental();

  std::size_t window = 0;  // rows to keep, the last ones; 0 keeps all
  /// Whether the kernel may turn out not to be positive semi-definite. A call that shows it is then refused.
  bool check_definite = false;
  /// Steps that a row may take before its column is solved from scratch; 0: 1000 and 20 for each slot.
  std::int64_t max_steps = 0;
  void set_limit(std::size_t cache_bytes) { kernel_.set_limit(cache_bytes); }

  /// Learns rows with new ids, in this order.
  void learn(const LabeledRows& rows, std::span<const std::int64_t> which);
  /// Unlearns rows that are kept.
  void forget(std::span<const std::int64_t> ids);
  /// Gives kept rows other labels, and multiplies their costs.
  void relabel(std::span<const std::int64_t> ids, std::span<const std::int32_t> labels,
               std::span<const double> factors);

  /// A change of several calls: rollback() brings back the state at begin(). Rows that are forgotten in between stay in
  /// their slots, in no column, until commit() erases them. A begin() in an open change belongs to that change.
  void begin();
  void commit();
  void rollback();

  /// Adds rows without learning them, for `solve` and `settle`.
  void gather(const LabeledRows& rows, std::span<const std::int64_t> which);
  /// Sets the coefficients to begin with, theta[c * size + slot], clipped to their boxes.
  void guess(std::span<const double> theta);
  /// Some rounds of approximate optimization; returns true when `settle` can follow.
  bool solve(std::size_t rounds);
  /// Makes a guess or an approximate solution exact: in each column moves up to `count` rows that violate their
  /// conditions. Returns how many are left.
  std::size_t settle(std::size_t count);

  /// out[r * columns + c]: the scores of `count` kept rows, in order of arrival, each by the model without that row.
  /// Changes nothing.
  std::vector<double> leave_one_out(std::size_t first, std::size_t count);
  /// The dual objective of a column, sum |theta| - 1/2 sum theta_i theta_j K_ij.
  double objective(std::size_t c) const;
  /// out[r * columns + c] = f_c(row r)
  void decide(const Block& block, int threads, double* out) const;

  /// Drops the slots of forgotten rows.
  void sweep();
  /// Rebuilds margin sets that an error has destroyed.
  void rebuild();
  /// What is saved in addition to the expansion: for each column its margin set and the factor of its system.
  const std::vector<std::int64_t>& margin(std::size_t c) const { return states_[c].members; }
  std::vector<double> factor(std::size_t c) const { return states_[c].border.image(); }
  std::vector<std::int64_t> changes() const;
  void set_changes(std::span<const std::int64_t> changes);
  /// Steps, fallbacks and refreshes of each column.
  std::vector<std::int64_t> tallies() const;
  void set_tallies(std::span<const std::int64_t> tallies);
  /// Kernel values that come from the caller, slot by slot.
  std::vector<double> kernel_matrix();
  /// After the expansion was restored: the kernel values of the caller, if any, and then the margin sets.
  void restore(std::span<const double> kernel, std::span<const double> ridges);
  const std::vector<double>& ridges() const { return ridge_; }
  void restore_margin(std::size_t c, std::span<const std::int64_t> members, std::span<const double> factor);

  std::size_t bytes() const { return kernel_.bytes(); }
  std::uint64_t evaluations() const { return kernel_.evaluations(); }

  /// Rows learned, steps, solutions from scratch, and margin sets that were computed again.
  struct Counts {
    std::int64_t iterations = 0, steps = 0, fallbacks = 0, refreshes = 0;
  } counts;

 private:
  using Row = ExactRows::Row;

  /// The margin set of a column, and the state of a change.
  struct ColumnState {
    std::vector<std::int64_t> members;  // S, in the order of the factor
    std::vector<ExactRows::Held> rows;  // their kernel rows
    Border border;
    std::vector<std::uint8_t> settled;  // slots outside of S whose conditions hold
    std::vector<std::int32_t> place;    // in S, or -1
    double negligible = 0;              // a coefficient that is smaller is 0 but for rounding
    bool lost = false;                  // an error has destroyed it; see rebuild()
    Counts counts;
    std::int64_t steps_left = 0, changes = 0;
    // During a change: the coefficients before it, and the watched rows with their g, their kernel values with the
    // members of S, and the change of sum_j theta_j K_ij for a unit step in the present direction.
    bool watching = false, watches_all = false;
    std::vector<double> before;
    std::vector<std::size_t> watched;
    std::vector<std::int32_t> watch_index;  // index of a slot among the watched ones, or -1
    std::vector<double> watched_g;
    std::vector<AlignedVector<double>> watched_rows;
    std::vector<double> change;
  };
  /// A row that moves.
  struct Mover {
    const Row& row;
    std::size_t slot;
    double direction;
    bool to_margin;                    // or else to the end of its box
    AlignedVector<double> watched;     // its kernel values with the watched rows
    std::int64_t entered;              // the row that entered S in a step of length 0, or -1
    std::vector<std::size_t> resting;  // rows that are not watched until something has moved
  };
  struct Event;
  struct Snapshot;
  struct Savepoint;
  /// A condition that is violated by no more than this holds.
  static constexpr double kTolerance = 1e-11;

  // Rows in and out (incremental.cpp).
  std::vector<ExactRows::Held> append_rows(const LabeledRows& rows, std::span<const std::int64_t> which,
                                           bool compute_rows);
  void set_ridges(std::size_t first);
  bool is_kept(std::size_t s) const;
  double scale() const;
  void each_column(FunctionRef<void(std::size_t)> work);
  void lose_margin(std::size_t c) noexcept;
  void learn_slot(std::size_t c, std::size_t s);
  void forget_slot(std::size_t c, std::size_t s);
  void learn_block(const LabeledRows& rows, std::span<const std::int64_t> which);
  void relabel_slot(std::size_t s, std::int32_t label, double factor);
  void drop(std::span<const std::int64_t> slots);
  void sweep_if_due();
  std::vector<std::int64_t> slots_of(std::span<const std::int64_t> ids) const;
  [[noreturn]] void refuse(std::size_t slot) const;
  void sum_counts();

  // Back to an earlier state (incremental_undo.cpp).
  Snapshot take(std::size_t c) const;
  void put_back(std::size_t c, const Snapshot& snapshot);
  void transact(FunctionRef<void()> work);

  // A column as a whole (incremental_column.cpp).
  void change(std::size_t c, FunctionRef<void()> work);
  void settle_rest(std::size_t c);
  void check_solution(std::size_t c) const;
  void finish_change(std::size_t c);
  void set_middle_bias(std::size_t c);
  void snap_to_bounds(std::size_t c);
  void solve_margin(std::size_t c);
  void refresh(std::size_t c);
  void start_from_coefficients(std::size_t c);

  // The fallback (incremental_cold.cpp).
  void solve_from_scratch(std::size_t c);
  std::pair<std::int64_t, std::int64_t> pair_step_exact(std::size_t c, double tolerance);
  void solve_active_set(std::size_t c);

  // Steps (incremental_steps.cpp).
  void settle_row(std::size_t c, std::size_t s);
  std::size_t settle_rows(std::size_t c, std::size_t most = std::numeric_limits<std::size_t>::max());
  void unlearn(std::size_t c, std::size_t s);
  void move(std::size_t c, std::size_t s, double direction, bool to_margin);
  bool step(std::size_t c, Mover& mover);
  void resume_watching(std::size_t c, Mover& mover);
  Event next_event(std::size_t c, const Mover& mover, const Border::Response& by) const;
  void compute_change(std::size_t c, const Border::Response& by, const Mover& mover);
  void follow(std::size_t c, const Border::Response& by, double length);
  void descend(std::size_t c, std::span<const std::int64_t> slots, std::span<const double> lengths);
  void start_watching(std::size_t c);
  std::size_t end_watching(std::size_t c);
  void watch_row(std::size_t c, std::size_t s);
  AlignedVector<double> watched_values(std::size_t c, const Row& row) const;
  void enter_margin(std::size_t c, std::size_t s);
  void leave_margin(std::size_t c, std::size_t s);
  void clear_margin(std::size_t c);
  Border::Candidate project(std::size_t c, std::size_t s) const;
  double violation(std::size_t c, std::size_t s) const;
  bool is_free(std::size_t c, std::size_t s) const;
  double room(std::size_t c, std::size_t s, double direction) const;
  /// u of a slot.
  double offset(std::size_t c, std::size_t s) const {
    const ColumnState& state = states_[c];
    const Column& column = expansion_.column(c);
    return column.bias - (state.watching && state.watch_index[s] >= 0
                              ? state.watched_g[static_cast<std::size_t>(state.watch_index[s])]
                              : column.g[s]);
  }

  Expansion& expansion_;
  ExactRows kernel_;
  std::vector<double> diagonal_, ridge_;  // K(s, s), and what is added to it
  std::vector<ColumnState> states_;
  std::unique_ptr<Savepoint> saved_;  // of the change that is open, if any
  std::size_t dropped_ = 0;           // slots of rows that were erased
  bool begun_ = false;                // `settle` has made its first call
};

}  // namespace everlearn
