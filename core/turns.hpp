// Labelled rows on their way into an expansion, a turn at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "expansion.hpp"

namespace everlearn {

/// Labelled rows of the caller: labels, costs (above 0) and ids (no two the same) have one entry for each row of
/// the block.
struct Labelled {
  Block block;
  std::span<const std::int32_t> labels;
  std::span<const double> costs;
  std::span<const std::int64_t> ids;
};

/// The names of some of the caller's rows, gathered.
struct Arrived {
  std::vector<std::int64_t> ids;
  std::vector<std::int32_t> labels;
  std::vector<double> costs;

  Arrived(const Labelled& rows, std::span<const std::int64_t> which);
  operator Arrivals() const { return {ids, labels, costs}; }
};

/// What a turn takes in: the slots of its rows in order, of which those from `fresh` on are new.
struct Turn {
  std::span<const std::int64_t> slots;
  std::size_t fresh;
};

/// Hands the rows `which`, in this order and none of them twice, to take(turn), with look-ahead. Rows that are still
/// kept from before keep their slot. `take` says whether slots that no column uses must stay.
void in_turns(Expansion& expansion, const Labelled& rows, std::span<const std::int64_t> which,
              const std::function<bool(const Turn&)>& take);

/// One turn of rows `unknown` that are not kept yet; `kernel`, when given, holds their values against the kept rows.
/// If `take` throws, the block is closed all the same.
void in_one_turn(Expansion& expansion, const Labelled& rows, std::span<const std::int64_t> unknown,
                 const float* const* kernel, const std::function<bool()>& take);

}  // namespace everlearn
