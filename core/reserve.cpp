#include "reserve.hpp"

#include <algorithm>
#include <numeric>

namespace everlearn {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Rows that stay when the reserve is full. Making room for many rows at a time keeps the cost of moving rows small.
std::size_t after_trim(std::size_t capacity) { return capacity - capacity / 8; }

}  // namespace

void Reserve::set_capacity(std::size_t capacity) {
  places_.reserve(entries_.size());
  if (capacity != capacity_) ceiling_ = kInf;
  if (entries_.size() > capacity) trim(capacity);
  capacity_ = capacity;
}

void Reserve::add(const Batch& batch, std::span<const ReservedRow> entries) {
  const std::size_t before = entries_.size();
  places_.reserve(before + entries.size());
  try {
    rows_->append(batch);
    for (const ReservedRow& entry : entries) {
      place_of_[entry.id] = static_cast<std::int64_t>(entries_.size());
      entries_.push_back(entry);
    }
  } catch (...) {
    for (const ReservedRow& entry : entries) place_of_.erase(entry.id);
    entries_.resize(before);
    rows_->keep(before, {});
    throw;
  }
  if (entries_.size() > capacity_) trim(after_trim(capacity_));
}

void Reserve::erase(std::span<const std::int64_t> ids) {
  std::vector<std::uint8_t> gone;
  for (const auto id : ids) {
    const std::int64_t place = find(id);
    if (place < 0) continue;
    gone.resize(entries_.size(), 0);
    gone[static_cast<std::size_t>(place)] = 1;
  }
  if (gone.empty()) return;
  std::vector<std::int64_t> kept;
  for (std::size_t place = 0; place < gone.size(); ++place)
    if (!gone[place]) kept.push_back(static_cast<std::int64_t>(place));
  keep(kept);
  if (entries_.size() < after_trim(capacity_)) ceiling_ = kInf;
}

void Reserve::set_margins(std::span<const double> margins) {
  ceiling_ = entries_.size() < after_trim(capacity_) ? kInf : -kInf;
  for (std::size_t place = 0; place < margins.size(); ++place) {
    entries_[place].margin = margins[place];
    ceiling_ = std::max(ceiling_, margins[place]);
  }
}

/// Keeps the rows at these places, in ascending order, and moves them up. Does not throw.
void Reserve::keep(std::span<const std::int64_t> places) {
  rows_->keep(0, places);
  std::size_t kept = 0;
  for (std::size_t place = 0; place < entries_.size(); ++place) {
    const bool stays = kept < places.size() && places[kept] == static_cast<std::int64_t>(place);
    if (!stays) {
      place_of_.erase(entries_[place].id);
      continue;
    }
    entries_[kept] = entries_[place];
    place_of_.find(entries_[kept].id)->second = static_cast<std::int64_t>(kept);
    ++kept;
  }
  std::fill(entries_.begin() + static_cast<std::ptrdiff_t>(kept), entries_.end(), ReservedRow{});
  entries_.resize(kept);
}

/// Drops rows until `most` are left: those with the largest margins, of equals the newer ones. Does not throw.
void Reserve::trim(std::size_t most) {
  places_.resize(entries_.size());
  std::iota(places_.begin(), places_.end(), 0);
  const auto before = [&](std::int64_t a, std::int64_t b) {
    const double m = entries_[static_cast<std::size_t>(a)].margin, n = entries_[static_cast<std::size_t>(b)].margin;
    return m < n || (m == n && a < b);
  };
  const auto end = places_.begin() + static_cast<std::ptrdiff_t>(most);
  std::nth_element(places_.begin(), end, places_.end(), before);
  if (end != places_.end()) ceiling_ = entries_[static_cast<std::size_t>(*end)].margin;
  places_.resize(most);
  std::sort(places_.begin(), places_.end());
  keep(places_);
}

}  // namespace everlearn
