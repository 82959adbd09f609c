// The base of the budget learners: each row is scored by what was learned before it, and changes a few coefficients.
//
//   f_c(x_s) = sum_t alpha_{c,t} K_{s,t} = y_{c,s} - g_{c,s}
//
// The members of a column are its buffer. Invariants, after every row: the score of every slot follows every change of
// a coefficient, also for rows of the block that have not been learned yet, so that no score is computed twice;
// `buffers` lists the members in their order of arrival, each once. If memory runs out while a block is learned, the
// learner is as it was before the block.
//
// Cost of a row: its kernel values against the buffer, and one pass over the slots for each coefficient that changes.
//
// FORGET removes rows from the buffers, their coefficients from the scores, and then the rows from the expansion.
// Changes that the rows made to other coefficients stay, and so do the counts. Cost: one pass over the slots for each
// row and column.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "generator.hpp"
#include "turns.hpp"

namespace everlearn {

class OnePass {
 public:
  explicit OnePass(Expansion& expansion);
  virtual ~OnePass() = default;

  /// Learns the rows `which` in this order, none of them twice.
  void learn(const LabeledRows& rows, std::span<const std::int64_t> which);

  /// Removes rows, and drops all rows that linger after leaving a buffer.
  void forget(std::span<const std::int64_t> ids);

  /// Vectors have one entry for each column.
  struct State {
    std::vector<Generator> generators;
    std::vector<std::int64_t> mistakes;              // rows with y f <= 0 at arrival
    std::vector<std::vector<std::int64_t>> buffers;  // ids of the members
    std::int64_t iterations = 0;
  };
  State state;

  /// A generator for each column, from four words.
  void seed(const Generator& generator);
  /// Prepares the columns, after construction and after a state was restored.
  void start();

 protected:
  /// Learns the row of a slot, the `time`-th of all.
  virtual void learn_row(std::size_t c, std::size_t slot, std::int64_t time) = 0;
  /// Called before the first row of a turn: the budget may have become smaller.
  virtual void shrink_to_budget(std::size_t) {}
  /// Called after the last row of a turn, and after rows were forgotten.
  virtual void end_turn(std::size_t) {}
  /// Called before the entry at a place of the buffer is forgotten: erases what is stored about it beside its
  /// coefficient. Changes nothing if it throws.
  virtual void erase_entry(std::size_t, std::size_t) {}

  /// The buffer of a column, as slots.
  std::vector<std::int64_t>& buffer(std::size_t c) { return slots_[c]; }
  double score(std::size_t c, std::size_t slot) const {
    return expansion_.sign(c, slot) - expansion_.column(c).g[slot];
  }
  bool is_member(std::size_t c, std::size_t slot) const { return expansion_.column(c).member[slot] != 0; }

  /// Returns a function that restores what the learner keeps beside `state` and the expansion. While rows are learned,
  /// lists only grow.
  virtual std::function<void()> make_undo() {
    return [] {};
  }

  /// Puts a row at the end of the buffer, with coefficient 0, unless it is there already.
  void insert_row(std::size_t c, std::size_t slot);
  /// Removes the entry at a place from the buffer, and its coefficient, which is returned, from the scores.
  double remove(std::size_t c, std::size_t place);
  /// Adds to the coefficient of a member; scores follow with `apply`.
  void add(std::size_t c, std::size_t slot, double by);
  void apply(std::size_t c);
  /// Multiplies all coefficients. No change may be pending.
  void shrink(std::size_t c, double factor);

  Expansion& expansion_;

 private:
  void read_buffer(std::size_t c);
  void write_buffer(std::size_t c);

  std::vector<std::vector<std::int64_t>> slots_;
  struct Pending {
    std::vector<std::int64_t> slots;
    std::vector<double> steps;
  };
  std::vector<Pending> pending_;
};

}  // namespace everlearn
