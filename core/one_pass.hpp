// What the learners on a budget share: a row is met, scored by what was learnt before it, and changes a few
// coefficients.
//
//   f_c(x_s) = sum_t alpha_{c,t} K_{s,t} = y_{c,s} - g_{c,s}
//
// The members of a column are its buffer. Invariants, after every row: the score of every slot, kept or yet to come in
// this block, follows every change of a coefficient, so that a row's score is there when its turn comes and that of a kept
// row never has to be computed again; `buffers` lists the members in their order of arrival, each once.
//
// Cost of a row: its kernel values against the buffer, and one pass over the slots for each coefficient that changes.
//
// FORGET takes rows out of the buffers, their coefficients out of the scores, and then the rows out of the expansion:
// f is the expansion over the rows that are left. What the rows did to other coefficients while they were here, and the
// counts, stay. Cost: one pass over the slots for each row and column.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "generator.hpp"
#include "turns.hpp"

namespace everlearn {

class OnePass {
 public:
  explicit OnePass(Expansion& expansion);
  virtual ~OnePass() = default;

  /// Rows `which` in this order, none of them twice.
  void learn(const Labelled& rows, std::span<const std::int64_t> which);

  /// Takes rows out, and drops all those that linger after a buffer has dropped them.
  void forget(std::span<const std::int64_t> ids);

  /// Has one entry for each column, but for the iterations.
  struct State {
    std::vector<Generator> generators;
    std::vector<std::int64_t> mistakes;              // rows with y f <= 0 when they came
    std::vector<std::vector<std::int64_t>> buffers;  // ids of the members
    std::int64_t iterations = 0;
  };
  State state;

  /// A generator for each column, from four words.
  void seed(const Generator& generator);
  /// Makes the columns ready, after construction and after a state was put back.
  void start();

 protected:
  /// Meets the row in a slot, the `time`-th of all.
  virtual void take_in(std::size_t c, std::size_t slot, std::int64_t time) = 0;
  /// Before the first row of a turn: a budget may have become smaller since the last one.
  virtual void trim(std::size_t) {}
  /// After the last row of a turn, and after rows were forgotten.
  virtual void end_turn(std::size_t) {}
  /// The entry at a place of the buffer is to be forgotten: what is stored about it beside its coefficient has to go.
  virtual void strike(std::size_t, std::size_t) {}

  /// The buffer of a column, as slots.
  std::vector<std::int64_t>& buffer(std::size_t c) { return slots_[c]; }
  double score(std::size_t c, std::size_t slot) const { return expansion_.sign(c, slot) - expansion_.column(c).g[slot]; }
  bool is_member(std::size_t c, std::size_t slot) const { return expansion_.column(c).member[slot] != 0; }

  /// Puts a row at the end of the buffer, with coefficient 0, unless it is there already.
  void enter(std::size_t c, std::size_t slot);
  /// Takes the entry at a place out of the buffer and its coefficient, which is returned, out of the score.
  double expel(std::size_t c, std::size_t place);
  /// Adds to the coefficient of a member; scores follow with `apply`.
  void shift(std::size_t c, std::size_t slot, double by);
  void apply(std::size_t c);
  /// Multiplies all coefficients; no shift may be pending.
  void shrink(std::size_t c, double factor);

  Expansion& expansion_;

 private:
  void read_buffer(std::size_t c);
  void write_buffer(std::size_t c);

  std::vector<std::vector<std::int64_t>> slots_;
  struct Pending {
    std::vector<std::int64_t> slots;
    std::vector<double> steps;
    std::vector<RowView> rows;
  };
  std::vector<Pending> pending_;
};

}  // namespace everlearn
