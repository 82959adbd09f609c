// The one expansion: kept rows and, for each binary problem on them, coefficients and gradients.
//
//   f_c(x) = sum_s alpha_{c,s} K(x_s, x) + b_c          g_{c,s} = y_{c,s} - sum_t alpha_{c,t} K_{s,t}
//
// A slot is a row's place; slots are in order of arrival. Columns share rows, kernel values and the cache:
// column c separates class c from the rest, or, when there is one column only, class 1 from class 0.
// Gradients are kept for every slot in every column, so that a row can join a column at any time.
//
// Rows come in blocks with look-ahead: open_block() appends rows that are members of nothing yet and
// computes their kernel values against everything at once; a solver then takes them in, one at a time, in
// order; close_block() drops the slots that no column uses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "aligned.hpp"
#include "row_cache.hpp"
#include "rows.hpp"

namespace everlearn {

/// One binary problem. Vectors are as long as the expansion, rounded up to kPad.
struct Column {
  AlignedVector<double> alpha, g;
  AlignedVector<double> edge;  // the end of a coefficient's box that is not 0; 0 shuts it
  AlignedVector<std::uint8_t> gate;
  std::vector<std::uint8_t> member;
  std::vector<std::int64_t> idle;     // members with alpha = 0, each once; may also list some that are not any more
  std::vector<std::uint8_t> is_idle;  // listed in idle
  std::vector<std::int64_t> changed;  // when a coefficient changed last, for solvers that ask; they set it themselves
  Extremes ends{};                    // of the gradients of the members
  std::size_t above = 0, below = 0;   // coefficients above and below 0
  double bias = 0, delta = 0;
  bool live = false;  // it learns; one with a bias waits until it has seen both of its classes

  std::size_t support() const { return above + below; }
};

/// Where new rows come from. `kernel`, when given, holds their values against the kept rows already.
struct Arrivals {
  std::span<const std::int64_t> ids;
  std::span<const std::int32_t> labels;
  std::span<const double> costs;
  const float* const* kernel = nullptr;
};

/// The id of a slot whose row is forgotten.
inline constexpr std::int64_t kNobody = std::numeric_limits<std::int64_t>::min();

/// By how much a coefficient moves, and its kernel row.
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
  const Rows& rows() const { return *rows_; }
  RowCache& cache() { return cache_; }
  const RowCache& cache() const { return cache_; }
  std::uint64_t evaluations() const { return evaluations_; }
  void set_evaluations(std::uint64_t n) { evaluations_ = n; }
  void set_threads(int threads) { threads_ = threads; }
  int threads() const { return threads_; }

  std::int64_t id(std::size_t s) const { return ids_[s]; }
  std::int32_t label(std::size_t s) const { return labels_[s]; }
  double cost(std::size_t s) const { return costs_[s]; }
  double diagonal(std::size_t s) const { return diagonal_[s]; }
  const float* diagonals() const { return diagonal_.data(); }
  const float* inverses() const { return inverse_.data(); }
  double sign(std::size_t c, std::size_t s) const {
    const bool positive = columns_.size() == 1 ? labels_[s] == 1 : labels_[s] == static_cast<std::int32_t>(c);
    return positive ? 1.0 : -1.0;
  }
  double lower(std::size_t c, std::size_t s) const { return std::min(0.0, columns_[c].edge[s]); }
  double upper(std::size_t c, std::size_t s) const { return std::max(0.0, columns_[c].edge[s]); }

  /// How many slots some column uses; the others are dropped when there are enough of them to be worth a sweep.
  std::size_t kept() const;

  /// A flag for every slot: whether its row is kept, because a column uses it or because it waits for a second class. The
  /// others were dropped and linger until the next sweep.
  std::vector<std::uint8_t> kept_flags() const;
  /// Drops rows that linger under these ids, so that other rows can come under them.
  void let_go(std::span<const std::int64_t> ids);

  /// The slot of a row by its id, or -1.
  std::int64_t find(std::int64_t id) const;
  /// A flag for every slot: whether its row is among these. Refuses an id that is not kept.
  std::vector<std::uint8_t> flag(std::span<const std::int64_t> ids) const;

  /// Appends a batch. Every column's gradient of the new rows is right when this returns.
  void open_block(const Batch& batch, const Arrivals& arrivals);
  /// Moves the kernel rows that are worth keeping to the cache and, unless `keep_all`, drops unused slots:
  /// those of this block always, older ones once there are enough of them to be worth a sweep.
  void close_block(bool keep_all);
  /// Ends a block that an error has cut short, as well as memory allows.
  void give_up_block() noexcept;
  /// Drops every unused slot; returns those that stay, by their names until then.
  std::vector<std::int64_t> compact();
  /// Drops the slots that are flagged, which no column uses; returns the others.
  std::vector<std::int64_t> drop(const std::vector<std::uint8_t>& gone);
  /// Forgets the row of a slot, whose coefficients are 0: its features and its id at once, the slot with the next
  /// compact().
  void wipe(std::size_t s);
  /// Gives a row that belongs to no column another label, and multiplies its cost.
  void relabel(std::size_t s, std::int32_t label, double factor);
  /// Appends a batch without look-ahead: kernel rows are computed when somebody holds them.
  void append(const Batch& batch, const Arrivals& arrivals);

  /// K(slot, .) over all slots, held until it is released. Safe to call from the threads of each_column.
  RowView hold(std::int64_t slot);
  void release(std::int64_t slot);
  /// Runs work(c) for every column, in parallel where there are threads: columns share only rows.
  void each_column(const std::function<void(std::size_t)>& work);
  /// Several rows at once; valid until the next call of hold or rows_of.
  std::vector<RowView> rows_of(std::span<const std::int64_t> slots);
  /// g_c -= sum_r moves[r] rows[r], over all slots.
  void descend(std::size_t c, std::span<const RowView> rows, std::span<const double> moves);
  /// g_c -= length (ki - kj), and the extremes of the result.
  Extremes descend_pair(std::size_t c, RowView ki, RowView kj, double length);
  /// What the gap of a column is made of; with moves, at most two, after g_c -= length k for each.
  Survey survey(std::size_t c) const;
  Survey survey(std::size_t c, std::span<const Move> moves);
  /// The best step on a single coefficient with |g| > tolerance; with moves, after them.
  Gain best_gain(std::size_t c, double tolerance) const;
  Gain best_gain(std::size_t c, double tolerance, std::span<const Move> moves);
  /// With which slot the pivot, whose kernel row is k, gains most.
  Gain partner(std::size_t c, RowView k, const Pivot& pivot) const;

  /// Makes slot s a member with its own side of the box: [0, C] for y = +1, [-C, 0] for y = -1.
  void join(std::size_t c, std::size_t s);
  void leave(std::size_t c, std::size_t s);
  /// Brings a coefficient to zero, and all gradients up to date; `ends` are as they were. Safe to call from the threads of
  /// each_column.
  void unlearn(std::size_t c, std::size_t s);
  /// Sets a coefficient and with it the gate; a coefficient that becomes zero is listed as idle.
  void set_alpha(std::size_t c, std::size_t s, double alpha);
  /// Gives a member another box, that between 0 and `edge`. Its coefficient must lie in it.
  void set_edge(std::size_t c, std::size_t s, double edge);
  /// Members whose coefficient is zero, in no order.
  const std::vector<std::int64_t>& idle(std::size_t c);
  /// Lets idle members leave until `most` are left, those with the smallest keys, of equals the older ones; returns how
  /// many left.
  std::size_t leave_idle(std::size_t c, std::size_t most, const std::function<double(std::size_t)>& key);
  Extremes scan(std::size_t c) const;
  /// How far the free support vectors, whose coefficients are at no end of their box, lie from the boundary at most: |f|,
  /// or with several columns the gap between the two largest scores. Negative if there are none.
  double free_margin() const;

  /// Puts back what was read out of an expansion, slot by slot; kernel values are computed again when needed.
  void restore(const Batch& batch, const Arrivals& arrivals, std::span<const float> diagonal);
  void restore_column(std::size_t c, std::span<const double> alpha, std::span<const double> g,
                      std::span<const double> edge, std::span<const std::uint8_t> member, double bias, double delta,
                      bool live);
  /// Kernel values that cannot be computed again (Layout::external).
  void restore_row(std::size_t slot, std::span<const float> values);

  /// out[r * columns + c] = f_c(row r).
  void decide(const Block& block, int threads, double* out) const;
  /// K(batch, all slots) into out, in parallel.
  void evaluate(const Batch& batch, std::size_t count, float* const* out);

 private:
  void resize(std::size_t n);
  void name_slot(std::size_t s, const Arrivals& arrivals, std::size_t r);
  void keep_slots(std::size_t from, const std::vector<std::int64_t>& kept);
  std::vector<std::uint8_t> used() const;
  void greet(std::size_t s, const float* kernel);
  void fill(RowCache::Entry& entry);
  bool in_open_block(std::int64_t slot) const;
  RowView block_row(std::int64_t slot) const;
  void set_diagonal(std::size_t s, float value);
  void refuse_endless(std::size_t begin);
  CoefficientView view(std::size_t c, std::size_t at) const;
  Survey survey_pass(std::size_t c, std::span<const Move> moves) const;
  Gain gain_pass(std::size_t c, double tolerance, std::span<const Move> moves) const;
  void evaluate_pages(const Batch& batch, std::span<RowCache::Entry* const> entries, std::size_t begin,
                      std::size_t end) const;

  std::unique_ptr<Rows> rows_;
  RowCache cache_;
  std::vector<Column> columns_;
  std::vector<std::int64_t> ids_;
  std::vector<std::int32_t> labels_;
  std::vector<double> costs_;
  AlignedVector<float> diagonal_, inverse_;
  std::unordered_map<std::int64_t, std::int64_t> slot_of_;

  AlignedVector<float> block_;             // kernel rows of the open block; zeros while none is open
  std::vector<const float*> block_pages_;  // the same as pages, row after row
  std::size_t block_begin_ = 0, block_stride_ = 0;
  bool open_ = false;
  std::uint64_t evaluations_ = 0;
  int threads_ = 1;
  std::mutex cache_mutex_;
};

}  // namespace everlearn
