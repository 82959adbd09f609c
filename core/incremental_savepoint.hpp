// An earlier state of the exact machine, to go back to.
#pragma once

#include <cstdint>
#include <vector>

#include "incremental.hpp"

namespace everlearn {

/// Makes a column what it was; rows that were appended since belong to it no longer. Allocates nothing.
void put_back_column(Column& now, const Column& before) noexcept;

struct Incremental::Snapshot {
  Column column;
  ColumnState state;
};

/// What rollback() restores. Slots do not move while there is one.
struct Incremental::Savepoint {
  struct Label {
    std::size_t slot;
    std::int32_t label;
    double cost;
  };
  std::size_t size = 0, nested = 0;
  std::vector<Snapshot> columns;
  Counts counts;
  std::vector<Label> labels;          // before they were changed
  std::vector<std::int64_t> leaving;  // rows that were forgotten
  std::vector<std::uint8_t> is_leaving;

  /// Makes room for n slots, so that forgetting one does not allocate.
  void reserve(std::size_t n) {
    leaving.reserve(n);
    is_leaving.resize(n, 0);
  }
};

}  // namespace everlearn
