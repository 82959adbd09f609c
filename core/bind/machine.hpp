// The base of all solver classes in Python: an expansion with rows in, decisions and state out.
#pragma once

#include <memory>
#include <shared_mutex>
#include <type_traits>

#include "arch/bytes.hpp"
#include "bind/arrays.hpp"
#include "score.hpp"
#include "turns.hpp"

namespace everlearn::bind {

class Machine {
 public:
  Machine(const std::string& kernel, double gamma, double coef0, int degree, const std::string& layout,
          const std::string& precision, std::size_t width, std::size_t classes, const Array<double>& center);
  virtual ~Machine() = default;

  void configure(std::size_t cache_bytes, int threads);
  nb::object decide(const HeldBlock& rows, int threads) const;
  /// See everlearn::add_kernel_sums; `sums` has a line for each row of the block and a value for each column.
  void add_kernel_sums(const HeldBlock& rows, const Array<std::int64_t>& sources, const Matrix<double>& weights,
                       const Array<std::int64_t>& targets, const MutableMatrix<double>& sums, double step) const;
  /// Whether sums are faster with the step of byte_step().
  bool takes_bytes() const {
    return together([&] { return bytes_are_fast() && take_bytes(expansion_.rows()); });
  }
  /// Whether a kernel value costs more to compute than to fetch from memory.
  bool costly() const {
    return together([&] { return expansion_.rows().costly(); });
  }

  nb::object ids() const;
  /// The ids among these of which no row is in a slot or in the reserve.
  nb::object missing(const Array<std::int64_t>& ids) const;
  /// Whether a row with this id is in a slot.
  bool has(std::int64_t id) const {
    return together([&] { return expansion_.find(id) >= 0; });
  }
  /// The ids of the rows that are kept. Rows that were dropped may linger in their slots for a while.
  nb::object kept_ids() const;
  /// Drops lingering rows that have these ids.
  void drop_lingering(const Array<std::int64_t>& ids);
  /// Dropped rows that may be needed again; as stored, with ids, labels, costs and margins.
  nb::object reserved_ids() const;
  nb::dict reserve() const;
  void set_reserve(const HeldBlock& block, const nb::dict& state);
  /// See Expansion::violating.
  nb::object violating(double limit);
  nb::object labels() const;
  nb::object alpha() const;
  /// y - K alpha, and whether a row belongs to the problem of a column; one line for each column.
  nb::object gradients() const;
  nb::object members() const;
  nb::object bias() const;
  nb::object delta() const;
  /// The largest violation of the optimality conditions of a column without a bias.
  double violation() const;
  double free_margin() const {
    return together([&] { return expansion_.free_margin(); });
  }
  nb::dict rows(const Array<std::int64_t>& slots, bool as_stored) const;
  std::size_t size() const {
    return together([&] { return expansion_.size(); });
  }
  std::size_t kept() const {
    return together([&] { return expansion_.kept(); });
  }
  std::size_t cache_bytes() const {
    return together([&] { return expansion_.kernel().cache().bytes(); });
  }
  std::uint64_t evaluations() const {
    return together([&] { return expansion_.kernel().evaluations(); });
  }
  void set_evaluations(std::uint64_t count) {
    alone([&] { expansion_.kernel().set_evaluations(count); });
  }
  /// The number of rows whose steps were cut off.
  virtual std::int64_t capped() const { return 0; }

  nb::dict get_state();
  /// `block` holds the rows as stored or, for external rows, their kernel matrix.
  void set_state(const HeldBlock& block, const nb::dict& state);

 protected:
  /// What the solver adds to a state, and reads from it.
  virtual void put(nb::dict& state) const = 0;
  virtual void take(const nb::dict& state) = 0;
  /// Called before the expansion is read out.
  virtual void ready() {}
  /// The kernel values of external rows, out and in; saved as floats unless they are exact.
  virtual bool exact() const { return false; }
  virtual std::vector<double> kernel_values();
  virtual void take_kernel(const nb::dict& state);
  /// out[r * columns + c]: the score of row r.
  virtual void score(const Block& block, int threads, double* out) const { expansion_.decide(block, threads, out); }

  /// Whether coefficients stay in their boxes.
  virtual bool boxed() const { return true; }

  /// Checks labeled rows and the indices of those to learn, so that no index is out of range afterwards. With `unknown`
  /// no row may be kept already.
  LabeledRows checked(const HeldBlock& rows, const Array<std::int32_t>& labels, const Array<double>& costs,
                      const Array<std::int64_t>& ids, std::span<const std::int64_t> which, bool unknown = false) const;
  /// Rows of the width that is kept.
  const Block& checked(const HeldBlock& rows) const;
  void check_label(std::int32_t label) const;
  static void check_distinct(std::vector<std::int64_t> ids);

  /// value(c) for every column.
  template <class T, class F>
  nb::object per_column(F&& value) const {
    return give(together([&] { return columns<T>(value); }));
  }

  /// value(c, s) for every column and slot, one line for each column.
  template <class T, class F>
  nb::object per_slot(F&& value) const {
    std::vector<T> values = together([&] { return table<T>(value); });
    const std::size_t n = values.size() / expansion_.columns();
    return give(std::move(values), {expansion_.columns(), n});
  }

  /// Runs work that changes the machine: alone, and without the interpreter's lock.
  template <class F>
  std::invoke_result_t<F> alone(F&& work) {
    nb::gil_scoped_release release;
    const std::unique_lock lock(in_use_);
    return work();
  }
  /// Runs work that only reads, while nobody learns.
  template <class F>
  std::invoke_result_t<F> together(F&& work) const {
    nb::gil_scoped_release release;
    const std::shared_lock lock(in_use_);
    return work();
  }

  /// Lets a solver learn rows in memory again.
  template <class Solver>
  void relearn_with(Solver& solver, std::span<const std::int64_t> ids) {
    check_distinct({ids.begin(), ids.end()});
    alone([&] {
      everlearn::relearn(expansion_, ids, [&](const LabeledRows& rows, std::span<const std::int64_t> which) {
        solver.learn(rows, which);
      });
    });
  }

  /// Whether the caller brings the kernel values.
  bool external() const { return external_; }

  Expansion expansion_;
  std::size_t classes_;

 private:
  template <class T, class F>
  std::vector<T> slots(F&& value) const {
    std::vector<T> out(expansion_.size());
    for (std::size_t s = 0; s < out.size(); ++s) out[s] = value(s);
    return out;
  }
  template <class T, class F>
  std::vector<T> columns(F&& value) const {
    std::vector<T> out(expansion_.columns());
    for (std::size_t c = 0; c < out.size(); ++c) out[c] = value(c);
    return out;
  }
  /// One line for each column.
  template <class T, class F>
  std::vector<T> table(F&& value) const {
    const std::size_t n = expansion_.size(), k = expansion_.columns();
    std::vector<T> out(n * k);
    for (std::size_t c = 0; c < k; ++c)
      for (std::size_t s = 0; s < n; ++s) out[c * n + s] = value(c, s);
    return out;
  }
  struct Image;
  Image image();

  bool external_;
  mutable std::shared_mutex in_use_;  // many threads may decide at once; learning is exclusive
};

}  // namespace everlearn::bind
