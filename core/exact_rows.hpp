// Kernel rows in double precision: K(slot, .) over all slots of an expansion.
//
// A row stays as long as somebody holds a handle on it; of the others those used last stay, up to a limit in bytes.
// Values are a pure function of their pair of rows, so that results do not depend on which rows are kept. Kernel values
// that come from the caller cannot be computed again: then every row stays.
//
// If memory runs out, a method throws and changes nothing.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "rows.hpp"

namespace everlearn {

class ExactRows {
 public:
  struct Row {
    std::int64_t slot;
    AlignedVector<double> values;  // one for each slot

    double operator[](std::size_t s) const { return values[s]; }
    const double* data() const { return values.data(); }
  };
  /// A handle: the row is kept, and follows the expansion, until the last handle on it is destroyed.
  using Held = std::shared_ptr<const Row>;

  explicit ExactRows(const Rows& rows) : rows_(rows) {}

  void set_limit(std::size_t bytes);
  std::size_t bytes() const { return bytes_; }
  /// Values computed so far.
  std::uint64_t evaluations() const { return evaluations_; }

  /// The last `count` slots of the expansion are new and come from this batch. Computes their rows, completes all
  /// others, and returns handles on the new ones.
  std::vector<Held> extend(const Batch& batch, std::size_t count, int threads);
  /// The row of a slot. May be called from several threads.
  Held hold(std::int64_t slot);
  /// Follows the expansion, which drops all slots except these, in ascending order. Call prepare_keep() with the
  /// present number of slots before: then keep() does not allocate.
  void prepare_keep(std::size_t n) { spare_.reserve(n); }
  void keep(std::span<const std::int64_t> kept);
  /// Restores a row of values that came from the caller.
  void restore(std::size_t slot, std::span<const double> values);

 private:
  using Place = std::list<std::shared_ptr<Row>>::iterator;
  static std::size_t room_for(std::size_t length);
  static std::size_t bytes_of(const Row& row) { return row.values.capacity() * sizeof(double); }
  static std::shared_ptr<Row> make(std::int64_t slot, std::size_t length);
  Place add(std::shared_ptr<Row> row);
  void drop(Place at);
  void evict();

  const Rows& rows_;
  std::list<std::shared_ptr<Row>> order_;  // the row used last in front
  std::vector<Place> where_, spare_;
  std::size_t limit_ = 0, bytes_ = 0;
  std::uint64_t evaluations_ = 0;
  std::mutex mutex_;
};

}  // namespace everlearn
