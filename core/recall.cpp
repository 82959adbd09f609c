// Rows on their way into the reserve of an expansion, and those that are needed again.
#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <numeric>

#include "expansion.hpp"
#include "threads.hpp"

namespace everlearn {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace

/// Reserves, of the slots from `from` on that are not `kept`, the rows with the smallest margins. Without memory for
/// them, they are lost.
void Expansion::reserve_dropped(std::size_t from, std::span<const std::int64_t> kept) noexcept {
  if (reserve_.capacity() == 0 || from + kept.size() == size()) return;
  struct Dropped {
    std::int64_t slot;
    ReservedRow row;
    bool operator<(const Dropped& other) const {
      return row.margin < other.row.margin || (row.margin == other.row.margin && slot < other.slot);
    }
  };
  try {
    std::vector<Dropped> dropped;
    for (std::size_t s = from, t = 0; s < size(); ++s) {
      if (t < kept.size() && kept[t] == static_cast<std::int64_t>(s)) {
        ++t;
        continue;
      }
      double least = kInf;
      for (std::size_t c = 0; c < columns_.size(); ++c)
        if (columns_[c].live) least = std::min(least, margin(c, s));
      if (ids_[s] != kNoId && costs_[s] > 0 && reserve_.wants(least) && !reserve_.has(ids_[s]))
        dropped.push_back({static_cast<std::int64_t>(s), {ids_[s], labels_[s], costs_[s], least}});
    }
    if (dropped.empty()) return;
    if (const std::size_t most = reserve_.capacity(); dropped.size() > most) {
      std::nth_element(dropped.begin(), dropped.begin() + static_cast<std::ptrdiff_t>(most), dropped.end());
      dropped.resize(most);
    }
    std::sort(dropped.begin(), dropped.end(), [](const Dropped& a, const Dropped& b) { return a.slot < b.slot; });
    std::vector<std::int64_t> slots;
    std::vector<ReservedRow> entries;
    for (const Dropped& one : dropped) slots.push_back(one.slot), entries.push_back(one.row);
    reserve_.add(*rows_->take_kept(slots), entries);
  } catch (const std::bad_alloc&) {
  }
}

/// The smallest y f(x) over the live columns, for each reserved row.
std::vector<double> Expansion::reserved_margins() const {
  constexpr std::size_t kRows = 64;  // rows that are scored at once
  std::vector<double> margins(reserve_.size(), kInf);
  const int workers = margins.size() * size() < kWorthThreads ? 1 : threads();
  parallel_ranges(workers, margins.size(), kRows, [&](std::size_t begin, std::size_t end) {
    const std::size_t stride = round_up(size(), kPad);
    std::vector<float> values(kRows * stride);
    std::array<float*, kRows> lines;
    for (std::size_t r = 0; r < kRows; ++r) lines[r] = values.data() + r * stride;
    for (std::size_t at = begin; at < end; at += kRows) {
      std::vector<std::int64_t> places(std::min(kRows, end - at));
      std::iota(places.begin(), places.end(), static_cast<std::int64_t>(at));
      rows_->evaluate(*reserve_.rows().take_kept(places), 0, places.size(), 0, size(), lines.data());
      for (std::size_t r = 0; r < places.size(); ++r)
        for (std::size_t c = 0; c < columns_.size(); ++c) {
          const Column& column = columns_[c];
          if (!column.live) continue;
          const double f = loops().dot(lines[r], column.alpha.data(), size()) + column.bias;
          margins[at + r] = std::min(margins[at + r], sign_of(c, reserve_.entry(at + r).label) * f);
        }
    }
  });
  return margins;
}

std::vector<std::int64_t> Expansion::violating(double limit) {
  std::vector<std::int64_t> found;
  std::vector<std::uint8_t> has_rows;  // by class
  for (std::size_t s = 0; s < size(); ++s) {
    if (ids_[s] == kNoId) continue;
    has_rows.resize(std::max(has_rows.size(), static_cast<std::size_t>(labels_[s]) + 1), 0);
    has_rows[static_cast<std::size_t>(labels_[s])] = 1;
    bool needed = false;
    for (std::size_t c = 0; c < columns_.size() && !needed; ++c)
      needed = columns_[c].live && !columns_[c].member[s] && margin(c, s) < 1 - limit;
    if (needed && costs_[s] > 0) found.push_back(ids_[s]);
  }
  const std::vector<double> margins = reserved_margins();
  kernel_.count_evaluations(margins.size() * size());
  reserve_.set_margins(margins);
  for (std::size_t place = 0; place < margins.size(); ++place) {
    const ReservedRow& row = reserve_.entry(place);
    const auto label = static_cast<std::size_t>(row.label);
    if (margins[place] < 1 - limit || label >= has_rows.size() || !has_rows[label]) found.push_back(row.id);
  }
  return found;
}

}  // namespace everlearn
