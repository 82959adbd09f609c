// The one expansion: kept rows and, for each binary problem on them, coefficients and gradients.
//
//   f_c(x) = sum_s alpha_{c,s} K(x_s, x) + b_c          g_{c,s} = y_{c,s} - sum_t alpha_{c,t} K_{s,t}
//
// A slot is the place of a row; slots are in order of arrival. Columns share rows, kernel values and the cache. Column
// c separates class c from the rest or, if there is only one column, class 1 from class 0. Gradients are kept for every
// slot in every column, so that a row can join a column at any time.
//
// Rows come in blocks with look-ahead: open_block() appends rows that belong to no column yet and computes all of their
// kernel values at once; a solver then learns them one at a time, in order; close_block() drops the slots that no
// column uses.
//
// Out of memory: open_block, append, drop and compact change nothing if they throw. The same holds for `descend` and
// for everything that moves a coefficient, so that g = y - K alpha stays true wherever a solver is interrupted.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "aligned.hpp"
#include "function_ref.hpp"
#include "kernel_rows.hpp"
#include "reserve.hpp"
#include "rows.hpp"

namespace everlearn {

/// One binary problem. Vectors are as long as the expansion, rounded up to kPad.
struct Column {
  AlignedVector<double> alpha, g;
  AlignedVector<double> edge;  // the end of a coefficient's box that is not 0; 0 if it must stay 0
  AlignedVector<std::uint8_t> gate;
  std::vector<std::uint8_t> member;
  std::vector<std::int64_t> idle;     // members with alpha = 0, each once; may list slots that no longer are
  std::vector<std::uint8_t> is_idle;  // listed in idle
  std::vector<std::int64_t> changed;  // time of the last change of a coefficient; kept by solvers that need it
  Extremes ends{};                    // of the gradients of the members
  std::size_t above = 0, below = 0;   // numbers of coefficients above and below 0
  double bias = 0, delta = 0;
  bool live = false;  // it learns; a column with a bias starts when both of its classes have been seen

  std::size_t support() const { return above + below; }
};

/// Ids, labels and costs of new rows. `kernel`, if given, holds their values with the rows that are kept already.
struct Arrivals {
  std::span<const std::int64_t> ids;
  std::span<const std::int32_t> labels;
  std::span<const double> costs;
  const float* const* kernel = nullptr;
};

/// The id of a slot whose row has been erased.
inline constexpr std::int64_t kNoId = std::numeric_limits<std::int64_t>::min();

/// By how much a coefficient moves, and its kernel row, which the caller holds.
struct Move {
  RowView row;
  double length;
};

class Expansion {
 public:
  Expansion(std::unique_ptr<Rows> rows, std::size_t columns, std::size_t cache_bytes);

  std::size_t size() const { return ids_.size(); }
  std::size_t columns() const { return columns_.size(); }
  Column& column(std::size_t c) { return columns_[c]; }
  const Column& column(std::size_t c) const { return columns_[c]; }
  bool any_live() const {
    return std::any_of(columns_.begin(), columns_.end(), [](const Column& column) { return column.live; });
  }
  const Rows& rows() const { return *rows_; }
  KernelRows& kernel() { return kernel_; }
  const KernelRows& kernel() const { return kernel_; }
  void set_threads(int threads) { kernel_.set_threads(threads); }
  int threads() const { return kernel_.threads(); }

  std::int64_t id(std::size_t s) const { return ids_[s]; }
  std::int32_t label(std::size_t s) const { return labels_[s]; }
  double cost(std::size_t s) const { return costs_[s]; }
  /// K(s, s), and its inverse, which is huge where K(s, s) is 0.
  double diagonal(std::size_t s) const { return diagonal_[s]; }
  float inverse_diagonal(std::size_t s) const { return inverse_[s]; }
  /// A label, or that of a row, in column c: +1 or -1.
  double sign_of(std::size_t c, std::int32_t label) const {
    const bool positive = columns_.size() == 1 ? label == 1 : label == static_cast<std::int32_t>(c);
    return positive ? 1.0 : -1.0;
  }
  double sign(std::size_t c, std::size_t s) const { return sign_of(c, labels_[s]); }
  double lower(std::size_t c, std::size_t s) const { return std::min(0.0, columns_[c].edge[s]); }
  double upper(std::size_t c, std::size_t s) const { return std::max(0.0, columns_[c].edge[s]); }

  // Rows (expansion.cpp). A row that no column uses lingers in its slot until there are enough of them for a sweep. A
  // sweep may move it to the reserve.

  /// The number of slots that some column uses.
  std::size_t kept() const;
  /// A flag for every slot: whether its row is kept, because a column uses it or because no column is live yet.
  std::vector<std::uint8_t> kept_flags() const;
  /// Drops lingering rows that have these ids, so that new rows can use the ids.
  void drop_lingering(std::span<const std::int64_t> ids);
  /// The slot of a row, or -1.
  std::int64_t find(std::int64_t id) const;
  /// A flag for every slot: whether its row is one of these. Refuses an id of a row that is neither kept nor reserved.
  std::vector<std::uint8_t> flags_of(std::span<const std::int64_t> ids) const;
  /// Drops every slot that no column uses; returns the slots that stay, by their old numbers.
  std::vector<std::int64_t> compact();
  /// Drops the flagged slots, which no column may use, for good; returns the others, by their old numbers.
  std::vector<std::int64_t> drop(const std::vector<std::uint8_t>& gone);
  /// Erases the features and the id of a row whose coefficients are 0. The slot goes with the next compact().
  void wipe(std::size_t s);
  /// Drops the flagged slots, whose coefficients are 0, and reserved rows for good, then every slot that no column uses.
  /// `ends` is of the members that are left, also if memory runs out.
  void erase(const std::vector<std::uint8_t>& gone, std::span<const std::int64_t> ids);
  /// Gives a row that belongs to no column another label and cost.
  void relabel(std::size_t s, std::int32_t label, double cost);

  // Blocks (expansion.cpp).

  /// Appends a batch, and computes its kernel rows and its gradients in every column.
  void open_block(const Batch& batch, const Arrivals& arrivals);
  /// Has the kernel rows of the next block, `count` rows, computed while the open one is learned. The batch must live
  /// until it is opened, or until drop_ahead().
  void look_ahead(const Batch& batch, std::size_t count) { kernel_.look_ahead(batch, count); }
  void drop_ahead() noexcept { kernel_.drop_ahead(); }
  /// Ends the block, and drops unused slots unless `keep_all`: those of the block always, older ones once there are
  /// enough for a sweep. If memory runs out, slots linger and kernel rows are not cached; nothing else is lost.
  void close_block(bool keep_all);
  /// Ends the block after an error. Rows that joined a column stay; the others are dropped or, without memory, linger.
  void abandon_block() noexcept;
  /// Appends a batch without look-ahead: kernel rows are computed when they are held. `sums`, if given, has
  /// sum_t alpha_{c,t} K_{s,t} for each row, row after row; otherwise coefficients must be 0.
  void append(const Batch& batch, const Arrivals& arrivals, std::span<const double> sums = {});

  /// Takes back the slots from n on, which belong to no column and are not cached.
  void truncate(std::size_t n) noexcept;

  /// K(slot, .) over all slots. May be called from the threads of each_column.
  HeldRow hold(std::integral auto slot) { return kernel_.hold(static_cast<std::size_t>(slot)); }
  HeldRows hold(std::span<const std::int64_t> slots) { return kernel_.hold(slots); }

  // Coefficients (columns.cpp).

  /// Runs work(c) for every column, in parallel if there are threads: columns share only rows. Threads that have no
  /// column left compute what look_ahead() asked for.
  void each_column(FunctionRef<void(std::size_t)> work);
  /// Makes slot s a member with its own side of the box: [0, C] for y = +1, [-C, 0] for y = -1.
  void join(std::size_t c, std::size_t s) noexcept;
  void leave(std::size_t c, std::size_t s) noexcept;
  /// Sets a coefficient and with it the gate; lists the slot as idle if the coefficient is 0. Gradients do not follow.
  void set_alpha(std::size_t c, std::size_t s, double alpha) noexcept;
  /// Brings a coefficient to 0 and all gradients up to date, but not `ends`. May be called from the threads of
  /// each_column.
  void unlearn(std::size_t c, std::size_t s);
  /// Gives a member the box between 0 and `edge`. Its coefficient must lie in it.
  void set_edge(std::size_t c, std::size_t s, double edge) noexcept;
  /// Members whose coefficient is 0, in no order.
  const std::vector<std::int64_t>& idle(std::size_t c);
  /// Lets idle members leave until `most` are left: those with the smallest keys, of equals the older ones. Returns how
  /// many left.
  std::size_t leave_idle(std::size_t c, std::size_t most, FunctionRef<double(std::size_t)> key);
  /// The largest distance of a free support vector, whose coefficient is at no end of its box, from the boundary: |f|
  /// or, with several columns, the gap between the two largest scores. Negative if there is none.
  double free_margin() const;

  // Passes over the gradients of a column (column_passes.cpp).

  /// g_c -= sum_r moves[r] rows[r], over all slots.
  void descend(std::size_t c, std::span<const RowView> rows, std::span<const double> moves);
  /// The same for the rows of some slots, whose kernel values are computed anew and not cached.
  void descend(std::size_t c, std::span<const std::int64_t> slots, std::span<const double> moves);
  /// g_c -= length (K_i - K_j); returns the extremes of the result.
  Extremes descend_pair(std::size_t c, const HeldRow& i, const HeldRow& j, double length);
  Extremes scan(std::size_t c) const;
  /// The parts of the duality gap of a column; with moves, at most two, after g_c -= length k for each.
  Survey survey(std::size_t c) const;
  Survey survey(std::size_t c, std::span<const Move> moves);
  /// The best step on a single coefficient with |g| > tolerance; with moves, after them.
  Gain best_gain(std::size_t c, double tolerance) const;
  Gain best_gain(std::size_t c, double tolerance, std::span<const Move> moves);
  /// The slot with which the pivot, whose kernel row is k, gains most.
  Gain partner(std::size_t c, const HeldRow& k, const Pivot& pivot) const;

  // Saved state (expansion.cpp): restores slot by slot. Kernel values are computed again when they are needed.

  void restore(const Batch& batch, const Arrivals& arrivals, std::span<const float> diagonal);
  void restore_column(std::size_t c, std::span<const double> alpha, std::span<const double> g,
                      std::span<const double> edge, std::span<const std::uint8_t> member, double bias, double delta,
                      bool live);

  // The reserve (recall.cpp).

  Reserve& reserve() { return reserve_; }
  const Reserve& reserve() const { return reserve_; }
  /// The ids of rows in memory that some live column needs although they are no members of it, because
  /// y f(x) < 1 - limit, and of reserved rows of a class of which no row is kept. Margins in the reserve are up to date
  /// afterwards.
  std::vector<std::int64_t> violating(double limit);

  /// out[r * columns + c] = f_c(row r).
  void decide(const Block& block, int threads, double* out) const;

 private:
  void resize(std::size_t n);
  void add_slots(const Batch& batch, const Arrivals& arrivals, FunctionRef<void()> compute);
  void set_diagonal(std::size_t s, float value);
  void keep_slots(std::size_t from, const std::vector<std::int64_t>& kept);
  std::vector<std::int64_t> drop(const std::vector<std::uint8_t>& gone, bool for_good);
  /// y f_c(x) of the row in slot s, member or not.
  double margin(std::size_t c, std::size_t s) const { return 1 - sign(c, s) * (columns_[c].g[s] - columns_[c].bias); }
  std::vector<double> reserved_margins() const;
  void reserve_dropped(std::size_t from, std::span<const std::int64_t> kept) noexcept;
  std::vector<std::uint8_t> used() const;
  CoefficientView view(std::size_t c, std::size_t at) const;
  Survey survey_pass(std::size_t c, std::span<const Move> moves) const;
  Gain gain_pass(std::size_t c, double tolerance, std::span<const Move> moves) const;

  std::unique_ptr<Rows> rows_;
  KernelRows kernel_;
  std::vector<Column> columns_;
  std::vector<std::int64_t> ids_;
  std::vector<std::int32_t> labels_;
  std::vector<double> costs_;
  AlignedVector<float> diagonal_, inverse_;
  std::unordered_map<std::int64_t, std::int64_t> slot_of_;
  Reserve reserve_;
};

}  // namespace everlearn
