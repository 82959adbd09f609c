#include "turns.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>

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

namespace {

/// The batch holds the rows `unknown`.
void in_one_turn(Expansion& expansion, const LabeledRows& rows, const Batch& batch,
                 std::span<const std::int64_t> unknown, const float* const* kernel, FunctionRef<bool()> learn) {
  const Arrived arrived(rows, unknown);
  Arrivals arrivals = arrived;
  arrivals.kernel = kernel;
  expansion.open_block(batch, arrivals);
  try {
    expansion.close_block(learn());
  } catch (...) {
    expansion.abandon_block();
    throw;
  }
}

}  // namespace

void in_turns(Expansion& expansion, const LabeledRows& rows, std::span<const std::int64_t> which,
              FunctionRef<bool(const Turn&)> learn) {
  const auto turn_at = [&](std::size_t at) {
    const auto rest = which.subspan(std::min(at, which.size()));
    return rest.first(std::min(kLookAhead, rest.size()));
  };
  const auto slot_of = [&](std::int64_t row) { return expansion.find(rows.ids[static_cast<std::size_t>(row)]); };
  std::vector<std::int64_t> slots, unknown, unknown_ahead;
  std::unique_ptr<Batch> batch, ahead;  // of this turn and of the next one
  try {
    for (std::size_t at = 0; at < which.size(); at += kLookAhead) {
      const std::size_t fresh = expansion.size();
      slots.clear(), unknown.clear();
      for (const auto row : turn_at(at)) {
        const std::int64_t kept = slot_of(row);
        slots.push_back(kept >= 0 ? kept : static_cast<std::int64_t>(fresh + unknown.size()));
        if (kept < 0) unknown.push_back(row);
      }
      // Rows that were known when the batch was made may have been dropped since.
      if (ahead == nullptr || unknown != unknown_ahead) {
        expansion.drop_ahead();
        ahead = expansion.rows().take(rows.block, unknown, rows.as_stored);
      }
      batch = std::move(ahead);
      in_one_turn(expansion, rows, *batch, unknown, nullptr, [&] {
        const auto next = turn_at(at + kLookAhead);
        if (expansion.threads() > 1 && !next.empty()) {
          unknown_ahead.clear();
          std::copy_if(next.begin(), next.end(), std::back_inserter(unknown_ahead),
                       [&](std::int64_t row) { return slot_of(row) < 0; });
          ahead = expansion.rows().take(rows.block, unknown_ahead, rows.as_stored);
          expansion.look_ahead(*ahead, unknown_ahead.size());
        }
        return learn({slots, fresh});
      });
    }
  } catch (...) {
    expansion.drop_ahead();
    throw;
  }
}

void in_one_turn(Expansion& expansion, const LabeledRows& rows, std::span<const std::int64_t> unknown,
                 const float* const* kernel, FunctionRef<bool()> learn) {
  in_one_turn(expansion, rows, *expansion.rows().take(rows.block, unknown, rows.as_stored), unknown, kernel, learn);
}

void relearn(Expansion& expansion, std::span<const std::int64_t> ids,
             FunctionRef<void(const LabeledRows&, std::span<const std::int64_t>)> learn) {
  const Reserve& reserve = expansion.reserve();
  std::vector<std::int64_t> places, slots, names, which(ids.size());
  for (const auto id : ids) {
    const std::int64_t slot = expansion.find(id), place = reserve.find(id);
    if (slot < 0 && place < 0) throw std::invalid_argument("row " + std::to_string(id) + " is not in memory");
    slot >= 0 ? slots.push_back(slot) : places.push_back(place);
  }
  std::vector<std::int32_t> labels;
  std::vector<double> costs;
  const auto add = [&](std::int64_t id, std::int32_t label, double cost) {
    names.push_back(id), labels.push_back(label), costs.push_back(cost);
  };
  for (const auto place : places) {
    const ReservedRow& row = reserve.entry(static_cast<std::size_t>(place));
    add(row.id, row.label, row.cost);
  }
  for (const auto slot : slots) {
    const auto s = static_cast<std::size_t>(slot);
    add(expansion.id(s), expansion.label(s), expansion.cost(s));
  }
  std::iota(which.begin(), which.end(), 0);
  const RowsImage image = reserve.rows().image(places, true);
  const Block block{Precision::f64,      !image.starts.empty(), places.size(),      reserve.rows().width(),
                    image.values.data(), image.columns.data(),  image.starts.data()};
  learn({block, labels, costs, names, true}, which);
}

}  // namespace everlearn
