// Dropped rows that may be needed again.
//
// A row is dropped when its coefficient is 0 and no step can move it. Later steps can change that, but a stream does
// not come back. Of the rows that were dropped, the reserve keeps those with the smallest margins
//     m = min over the columns of y f(x)
// at that time, at most `capacity` of them. A row that is learned again leaves the reserve.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "rows.hpp"

namespace everlearn {

/// The numbers that belong to a row of the reserve.
struct ReservedRow {
  std::int64_t id;
  std::int32_t label;
  double cost, margin;
};

class Reserve {
 public:
  /// Rows are kept as `like` keeps them.
  explicit Reserve(const Rows& like) : rows_(like.sibling()) {}

  std::size_t size() const { return entries_.size(); }
  std::size_t capacity() const { return capacity_; }
  /// Drops the rows with the largest margins if there are too many.
  void set_capacity(std::size_t capacity);

  const Rows& rows() const { return *rows_; }
  const ReservedRow& entry(std::size_t place) const { return entries_[place]; }
  /// The place of a row, or -1.
  std::int64_t find(std::int64_t id) const {
    const auto at = place_of_.find(id);
    return at == place_of_.end() ? -1 : at->second;
  }
  bool has(std::int64_t id) const { return find(id) >= 0; }

  /// Whether a row with this margin would be kept.
  bool wants(double margin) const { return capacity_ > 0 && margin < ceiling_; }
  /// Adds rows, none of which it has; a row of the batch for each entry. Changes nothing if memory runs out.
  void add(const Batch& batch, std::span<const ReservedRow> entries);
  /// Drops the rows with these ids, as far as it has them, and overwrites their features.
  void erase(std::span<const std::int64_t> ids);
  /// Gives every row its present margin.
  void set_margins(std::span<const double> margins);

  /// Rows with larger margins were dropped to make room: new ones with such margins are not kept.
  double ceiling() const { return ceiling_; }
  void set_ceiling(double margin) { ceiling_ = margin; }

 private:
  void keep(std::span<const std::int64_t> places);
  void trim(std::size_t most);

  std::unique_ptr<Rows> rows_;
  std::vector<ReservedRow> entries_;
  std::vector<std::int64_t> places_;  // used by trim, which does not allocate
  std::unordered_map<std::int64_t, std::int64_t> place_of_;
  std::size_t capacity_ = 0;
  double ceiling_ = std::numeric_limits<double>::infinity();
};

}  // namespace everlearn
