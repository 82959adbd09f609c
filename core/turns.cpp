#include "turns.hpp"

#include <algorithm>

namespace everlearn {

/// Rows in a block: so many kernel rows are computed at once.
constexpr std::size_t kLookAhead = 128;

Arrived::Arrived(const LabeledRows& rows, std::span<const std::int64_t> which) {
  for (const auto row : which) {
    const auto r = static_cast<std::size_t>(row);
    ids.push_back(rows.ids[r]);
    labels.push_back(rows.labels[r]);
    costs.push_back(rows.costs[r]);
  }
}

void in_turns(Expansion& expansion, const LabeledRows& rows, std::span<const std::int64_t> which,
              FunctionRef<bool(const Turn&)> learn) {
  std::vector<std::int64_t> slots, unknown;
  for (std::size_t at = 0; at < which.size(); at += kLookAhead) {
    const std::size_t fresh = expansion.size();
    slots.clear(), unknown.clear();
    for (const auto row : which.subspan(at, std::min(kLookAhead, which.size() - at))) {
      const std::int64_t kept = expansion.find(rows.ids[static_cast<std::size_t>(row)]);
      slots.push_back(kept >= 0 ? kept : static_cast<std::int64_t>(fresh + unknown.size()));
      if (kept < 0) unknown.push_back(row);
    }
    in_one_turn(expansion, rows, unknown, nullptr, [&] { return learn({slots, fresh}); });
  }
}

void in_one_turn(Expansion& expansion, const LabeledRows& rows, std::span<const std::int64_t> unknown,
                 const float* const* kernel, FunctionRef<bool()> learn) {
  const Arrived arrived(rows, unknown);
  Arrivals arrivals = arrived;
  arrivals.kernel = kernel;
  expansion.open_block(*expansion.rows().take(rows.block, unknown), arrivals);
  try {
    expansion.close_block(learn());
  } catch (...) {
    expansion.abandon_block();
    throw;
  }
}

}  // namespace everlearn
