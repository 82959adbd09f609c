// Kernel rows in double precision: K(slot, .) over all slots of an expansion.
//
// Rows that somebody holds stay; of the others those used last, as long as a limit in bytes allows. Values are a pure
// function of their pair of rows, so that it does not matter which are kept. Kernel values that come from the caller
// cannot be computed again: then every row stays.
#pragma once

#include <cstdint>
#include <list>
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
    int holders = 0;

    double operator[](std::size_t s) const { return values[s]; }
    const double* data() const { return values.data(); }
  };

  explicit ExactRows(const Rows& rows) : rows_(rows) {}

  void set_limit(std::size_t bytes);
  std::size_t bytes() const { return bytes_; }
  /// Values computed so far.
  std::uint64_t evaluations() const { return evaluations_; }

  /// The last `count` slots of the expansion are new and come from this batch: computes their rows, and completes all
  /// others. New rows are held once, for the caller to release.
  void extend(const Batch& batch, std::size_t count, int threads);
  /// The row of a slot, which stays where it is until it is released. Safe to call from several threads.
  const Row& hold(std::int64_t slot);
  void release(std::int64_t slot);
  /// Follows the expansion, which drops all slots but these, in ascending order.
  void keep(std::span<const std::int64_t> kept);
  /// All values at once, for saving and from a saved state; only where they come from the caller.
  void put_back(std::size_t slot, std::span<const double> values);

 private:
  using Place = std::list<Row>::iterator;
  Place find(std::int64_t slot) { return where_[static_cast<std::size_t>(slot)]; }
  Place add(std::int64_t slot, std::size_t length);
  static std::size_t room_for(std::size_t length);
  void evict();

  const Rows& rows_;
  std::list<Row> order_;  // the one used last in front
  std::vector<Place> where_;
  std::size_t limit_ = 0, bytes_ = 0;
  std::uint64_t evaluations_ = 0;
  std::mutex mutex_;
};

}  // namespace everlearn
