// Labeled rows on their way into an expansion, a block at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "expansion.hpp"

namespace everlearn {

/// Labeled rows of the caller. Labels, costs (above 0) and ids (all different) have one entry for each row of the
/// block.
struct LabeledRows {
  Block block;
  std::span<const std::int32_t> labels;
  std::span<const double> costs;
  std::span<const std::int64_t> ids;
  bool as_stored = false;  // the block comes from an image of kept rows
};

/// The ids, labels and costs of some of the caller's rows, copied.
struct Arrived {
  std::vector<std::int64_t> ids;
  std::vector<std::int32_t> labels;
  std::vector<double> costs;

  Arrived(const LabeledRows& rows, std::span<const std::int64_t> which);
  operator Arrivals() const { return {ids, labels, costs}; }
};

/// The rows of a block: their slots in the order in which they are learned. Slots from `fresh` on are new.
struct Turn {
  std::span<const std::int64_t> slots;
  std::size_t fresh;
};

/// Calls learn(turn) for the rows `which`, in this order and none of them twice, a block at a time. Rows that are kept
/// already keep their slot. `learn` returns whether slots that no column uses must stay. If it throws, the block is
/// abandoned.
void in_turns(Expansion& expansion, const LabeledRows& rows, std::span<const std::int64_t> which,
              FunctionRef<bool(const Turn&)> learn);

/// The same for a single block of rows `unknown`, none of which is kept. `kernel`, if given, holds their values with
/// the kept rows.
void in_one_turn(Expansion& expansion, const LabeledRows& rows, std::span<const std::int64_t> unknown,
                 const float* const* kernel, FunctionRef<bool()> learn);

/// Calls learn(rows, which) for rows in memory, by their ids: of the block, only those from the reserve are read.
void relearn(Expansion& expansion, std::span<const std::int64_t> ids,
             FunctionRef<void(const LabeledRows&, std::span<const std::int64_t>)> learn);

}  // namespace everlearn
