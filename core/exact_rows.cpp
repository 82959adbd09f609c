#include "exact_rows.hpp"

#include <algorithm>

#include "threads.hpp"

namespace everlearn {

void ExactRows::set_limit(std::size_t bytes) {
  limit_ = bytes;
  evict();
}

/// Rows are as long as one another, and there is room for an eighth more: few sizes, so that memory given back fits again.
std::size_t ExactRows::room_for(std::size_t length) { return round_up(length + length / 8, 512); }

ExactRows::Place ExactRows::add(std::int64_t slot, std::size_t length) {
  order_.push_front(Row{slot, {}, 0});
  order_.front().values.reserve(room_for(length));
  order_.front().values.resize(length);
  bytes_ += order_.front().values.capacity() * sizeof(double);
  return where_[static_cast<std::size_t>(slot)] = order_.begin();
}

void ExactRows::evict() {
  if (rows_.external()) return;
  for (auto at = order_.end(); bytes_ > limit_ && at != order_.begin();) {
    --at;
    if (at->holders > 0) continue;
    bytes_ -= at->values.capacity() * sizeof(double);
    where_[static_cast<std::size_t>(at->slot)] = order_.end();
    at = order_.erase(at);
  }
}

void ExactRows::extend(const Batch& batch, std::size_t count, int threads) {
  const std::size_t n = rows_.size(), old = n - count;
  where_.resize(n, order_.end());
  std::vector<double*> out;
  for (std::size_t s = old; s < n; ++s) {
    const Place row = add(static_cast<std::int64_t>(s), n);
    row->holders = 1;
    out.push_back(row->values.data());
  }
  parallel_ranges(count * n < kWorthThreads / 4 ? 1 : threads, n, kPad, [&](std::size_t begin, std::size_t end) {
    rows_.evaluate_exactly(batch, 0, count, begin, end, out.data());
  });
  evaluations_ += count * n;
  for (Row& row : order_) {
    if (row.values.size() == n) continue;
    bytes_ -= row.values.capacity() * sizeof(double);
    if (row.values.capacity() < n) row.values.reserve(room_for(n));
    for (std::size_t r = 0; r < count; ++r) row.values.push_back(out[r][row.slot]);
    bytes_ += row.values.capacity() * sizeof(double);
  }
  evict();
}

const ExactRows::Row& ExactRows::hold(std::int64_t slot) {
  const std::lock_guard lock(mutex_);
  where_.resize(rows_.size(), order_.end());
  Place row = find(slot);
  if (row == order_.end()) {
    row = add(slot, rows_.size());
    double* const out = row->values.data();
    rows_.evaluate_exactly(*rows_.take_kept({&slot, 1}), 0, 1, 0, rows_.size(), &out);
    evaluations_ += rows_.size();
  }
  ++row->holders;
  order_.splice(order_.begin(), order_, row);
  evict();
  return *row;
}

void ExactRows::release(std::int64_t slot) {
  const std::lock_guard lock(mutex_);
  --find(slot)->holders;
}

void ExactRows::keep(std::span<const std::int64_t> kept) {
  if (!kept.empty() && where_.size() <= static_cast<std::size_t>(kept.back()))
    where_.resize(static_cast<std::size_t>(kept.back()) + 1, order_.end());  // rows that nobody has held yet
  std::vector<Place> where(kept.size(), order_.end());
  for (std::size_t t = 0; t < kept.size(); ++t) {
    where[t] = find(kept[t]);
    if (where[t] != order_.end()) where[t]->slot = -1 - static_cast<std::int64_t>(t);
  }
  std::erase_if(order_, [&](const Row& row) {
    if (row.slot >= 0) bytes_ -= row.values.capacity() * sizeof(double);
    return row.slot >= 0;
  });
  const auto first = static_cast<std::size_t>(
      std::mismatch(kept.begin(), kept.end(), kept.begin(),
                    [i = std::int64_t{0}](std::int64_t slot, std::int64_t) mutable { return slot == i++; })
          .first -
      kept.begin());
  for (Row& row : order_) {
    row.slot = -1 - row.slot;
    for (std::size_t t = first; t < kept.size(); ++t) row.values[t] = row.values[static_cast<std::size_t>(kept[t])];
    row.values.resize(kept.size());
  }
  where_ = std::move(where);
}

void ExactRows::put_back(std::size_t slot, std::span<const double> values) {
  where_.resize(std::max(where_.size(), values.size()), order_.end());
  const Place row = add(static_cast<std::int64_t>(slot), values.size());
  std::copy(values.begin(), values.end(), row->values.begin());
}

}  // namespace everlearn
