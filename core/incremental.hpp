// The exact SVM, row by row: learning and unlearning (Cauwenberghs and Poggio, NIPS 13, 2000; Emara, thesis, 2012, VI).
//
// Problem, for each column, as in lasvm.hpp: signed coefficients theta in boxes that have 0 at one end, sum theta = 0,
//     g_i = y_i - sum_j theta_j K_ij,     u_i = b - g_i,     and at the optimum
//     u_i >= 0 where theta_i may rise,    u_i <= 0 where it may fall.
// So u = 0 for rows strictly inside of their boxes: these are the margin set S, whose linear system is kept factorised
// (border.hpp). Every other row is at an end of its box.
//
// One row c at a time moves; b and theta_S follow it so that sum theta = 0 and u_S = 0 stay true, until a row has to
// change sides: a member of S meets an end of its box and leaves, or u of another row becomes 0 and it joins. With S
// empty only b moves. The conditions of the rows that are settled hold all along, so that they hold still when c has come to rest, wherever it began. Hence learning a row
// is moving it from 0, unlearning it is moving it to 0, and any guess at the solution becomes the solution once the
// rows that violate their conditions have been moved, one after the other.
//
// Duplicates, near-duplicates and more rows than dimensions would make the system of S singular. So a ridge is added to
// every K_ii, 1e-11 of it (and of a hundredth of the median at least): solutions are then unique, and scores differ from
// those without it by 1e-11 K_ii theta_i at most, far less than what the rounding of kernel values to floats does. Leaving dependent rows out
// of S instead, where their u would not change if they were dependent exactly, lets near-duplicates violate their
// conditions by up to 1e-7 times the coefficients, or sends them round in circles.
//
// A step costs O(|S|^2 + m |S|) for the m rows that are watched, and a change O(n |S|): only the rows that are near to
// changing sides are watched step by step. What has happened to all others is seen when the change is made, and if one
// of them violates its condition, it is moved, too. Kernel values are doubles: with floats the conditions could not hold to better than
// 1e-7 times the coefficients, and near-duplicates would look indefinite. What is computed for a row does not depend on
// its slot, so that sweeping dropped slots out changes no bit.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "border.hpp"
#include "exact_rows.hpp"
#include "turns.hpp"

namespace everlearn {

class Incremental {
 public:
  explicit Incremental(Expansion& expansion)
      : expansion_(expansion), kernel_(expansion.rows()), fronts_(expansion.columns()) {}

  std::size_t window = 0;  // rows to keep, the last ones; 0 keeps all
  /// Whether the kernel may turn out not to be positive semi-definite: then a change that shows it is refused, and it is
  /// for the caller to put back the state before.
  bool cautious = false;
  /// Steps that a row may take before its column is solved from scratch; 0: 1000, and 20 for each slot.
  std::int64_t most_steps = 0;
  void set_limit(std::size_t cache_bytes) { kernel_.set_limit(cache_bytes); }

  /// Learns rows whose ids are new, in this order.
  void learn(const Labelled& rows, std::span<const std::int64_t> which);
  /// Unlearns rows that are kept.
  void forget(std::span<const std::int64_t> ids);
  /// Gives rows that are kept other labels, and multiplies their costs.
  void relabel(std::span<const std::int64_t> ids, std::span<const std::int32_t> labels, std::span<const double> factors);

  /// Keeps rows without learning them, for `solve` and `settle`.
  void gather(const Labelled& rows, std::span<const std::int64_t> which);
  /// Coefficients to begin with, theta[c * size + slot], clipped to their boxes.
  void guess(std::span<const double> theta);
  /// Some rounds of approximate optimisation; true when it is time for `settle`.
  bool solve(std::size_t rounds);
  /// Makes what was guessed or solved exact: moves up to `count` of the rows of each column that violate their
  /// conditions; returns how many are left.
  std::size_t settle(std::size_t count);

  /// out[r * columns + c]: the score of some of the kept rows, in order of arrival, by the machine that has not seen the
  /// row. Nothing changes.
  std::vector<double> leave_one_out(std::size_t first, std::size_t count);
  /// The dual objective of a column, sum |theta| - 1/2 sum theta_i theta_j K_ij.
  double objective(std::size_t c) const;
  /// out[r * columns + c] = f_c(row r)
  void decide(const Block& block, int threads, double* out) const;

  /// Drops the slots of forgotten rows.
  void sweep();
  /// What is saved beside the expansion: for each column its margin set and the factor of that.
  const std::vector<std::int64_t>& margin(std::size_t c) const { return fronts_[c].members; }
  std::vector<double> factor(std::size_t c) const { return fronts_[c].border.image(); }
  std::vector<std::int64_t> changes() const;
  void set_changes(std::span<const std::int64_t> changes);
  /// Steps, fallbacks and refreshes of each column.
  std::vector<std::int64_t> tallies() const;
  void set_tallies(std::span<const std::int64_t> tallies);
  /// Kernel values that come from the caller, slot by slot.
  std::vector<double> kernel_matrix();
  /// After the expansion was put back: the kernel values of the caller, if any, and then the margin sets.
  void restore(std::span<const double> kernel, std::span<const double> ridges);
  const std::vector<double>& ridges() const { return ridge_; }
  void restore_margin(std::size_t c, std::span<const std::int64_t> members, std::span<const double> factor);

  std::size_t bytes() const { return kernel_.bytes(); }
  std::uint64_t evaluations() const { return kernel_.evaluations(); }

  /// Counts: rows learnt, steps, solutions from scratch, refreshes, and changes of margin sets since.
  struct Counts {
    std::int64_t iterations = 0, steps = 0, fallbacks = 0, refreshes = 0;
  } counts;

 private:
  using Row = ExactRows::Row;

  /// Who is where in a column.
  struct Front {
    std::vector<std::int64_t> members;  // S, in the order of the factor
    std::vector<const Row*> rows;       // their kernel rows, held
    Border border;
    std::vector<std::uint8_t> settled;  // slots outside of S whose conditions hold
    std::vector<std::int32_t> place;    // in S, or -1
    double dust = 0;                    // what rounding leaves of a coefficient that is 0
    Counts counts;
    std::int64_t steps_left = 0, changes = 0;
    // While the column changes: the coefficients before, and the rows watched with their g, their kernel values with
    // the members of S, and the change of sum_j theta_j K_ij for a unit of the present direction.
    bool watching = false, watches_all = false;
    std::vector<double> before;
    std::vector<std::size_t> near;
    std::vector<std::int32_t> spot;  // of a slot among them, or -1
    std::vector<double> near_g;
    std::vector<AlignedVector<double>> near_rows;
    std::vector<double> change;
  };
  /// A row on its way.
  struct Mover {
    const Row& row;
    std::size_t slot;
    double direction;
    bool to_margin;              // or else to the end of its box
    AlignedVector<double> near;  // its kernel values with the rows watched
    std::int64_t entered;              // the row that has entered S in a step of no length, or -1
    std::vector<std::size_t> resting;  // rows that are not watched for a while
  };
  struct Event;
  struct Snapshot;
  /// A condition that is violated by less holds.
  static constexpr double kTouch = 1e-11;

  // Rows in and out (incremental.cpp).
  void open(const Labelled& rows, std::span<const std::int64_t> which);
  void name_rows(const Batch& batch, std::size_t count);
  void put_ridges(std::size_t first);
  double scale() const;
  void close(std::size_t first);
  void give_up(std::size_t first);
  void each_column(const std::function<void(std::size_t)>& work);
  void learn_slot(std::size_t c, std::size_t s);
  void forget_slot(std::size_t c, std::size_t s);
  void drop(std::span<const std::int64_t> slots);
  std::vector<std::int64_t> slots_of(std::span<const std::int64_t> ids) const;
  [[noreturn]] void refuse(std::size_t slot) const;
  void sum_counts();

  // Looking, which takes a column apart and puts it back (incremental_state.cpp).
  Snapshot take(std::size_t c) const;
  void put_back(std::size_t c, const Snapshot& snapshot);

  // A column as a whole (incremental_column.cpp).
  void change(std::size_t c, const std::function<void()>& work);
  void settle_rest(std::size_t c);
  void vouch(std::size_t c) const;
  void conclude(std::size_t c);
  void put_bias(std::size_t c);
  void snap(std::size_t c);
  void adjust(std::size_t c);
  void refresh(std::size_t c);
  void begin(std::size_t c);

  // The fallback (incremental_cold.cpp).
  void solve_cold(std::size_t c);
  std::pair<std::int64_t, std::int64_t> pair_step_exact(std::size_t c, double tolerance);
  void climb(std::size_t c);

  // Rows on their way (incremental_steps.cpp).
  void drive(std::size_t c, std::size_t s);
  std::size_t drive_all(std::size_t c, std::size_t most = std::numeric_limits<std::size_t>::max());
  void unlearn(std::size_t c, std::size_t s);
  void move(std::size_t c, std::size_t s, double direction, bool to_margin);
  bool step(std::size_t c, Mover& mover);
  void rest_over(std::size_t c, Mover& mover);
  Event next_event(std::size_t c, const Mover& mover, const Border::Response& by) const;
  void respond(std::size_t c, const Border::Response& by, const Mover& mover);
  void shift(std::size_t c, const Border::Response& by, double length);
  void descend(std::size_t c, std::span<const std::int64_t> slots, std::span<const double> lengths);
  void watch(std::size_t c);
  std::size_t look_around(std::size_t c);
  void add_near(std::size_t c, std::size_t s);
  AlignedVector<double> near_row(std::size_t c, const Row& row) const;
  void enter(std::size_t c, std::size_t s);
  void leave(std::size_t c, std::size_t s);
  void empty(std::size_t c);
  Border::Candidate see(std::size_t c, std::size_t s) const;
  double violation(std::size_t c, std::size_t s) const;
  bool inside(std::size_t c, std::size_t s) const;
  double room(std::size_t c, std::size_t s, double direction) const;
  /// u of a slot.
  double offset(std::size_t c, std::size_t s) const {
    const Front& front = fronts_[c];
    const Column& column = expansion_.column(c);
    return column.bias - (front.watching && front.spot[s] >= 0 ? front.near_g[static_cast<std::size_t>(front.spot[s])]
                                                               : column.g[s]);
  }

  Expansion& expansion_;
  ExactRows kernel_;
  std::vector<double> diagonal_, ridge_;  // K(s, s), and what is added to it
  std::vector<Front> fronts_;
  std::size_t dropped_ = 0;  // slots that wait for a sweep
  bool begun_ = false;       // `settle` has made its first call
};

}  // namespace everlearn
