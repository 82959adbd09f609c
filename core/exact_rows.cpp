#include "exact_rows.hpp"

#include <algorithm>
#include <utility>

#include "threads.hpp"

namespace everlearn {

void ExactRows::set_limit(std::size_t bytes) {
  limit_ = bytes;
  evict();
}

/// Rows have the same length, and room for an eighth more. There are few sizes, so that freed memory can be reused.
std::size_t ExactRows::room_for(std::size_t length) { return round_up(length + length / 8, 512); }

std::shared_ptr<ExactRows::Row> ExactRows::make(std::int64_t slot, std::size_t length) {
  auto row = std::make_shared<Row>(Row{slot, {}});
  row->values.reserve(room_for(length));
  row->values.resize(length);
  return row;
}

/// Adds a row whose values are known.
ExactRows::Place ExactRows::add(std::shared_ptr<Row> row) {
  order_.push_front(std::move(row));
  bytes_ += bytes_of(*order_.front());
  return where_[static_cast<std::size_t>(order_.front()->slot)] = order_.begin();
}

void ExactRows::drop(Place at) {
  bytes_ -= bytes_of(**at);
  where_[static_cast<std::size_t>((*at)->slot)] = order_.end();
  order_.erase(at);
}

void ExactRows::evict() {
  if (rows_.external()) return;
  for (auto at = order_.end(); bytes_ > limit_ && at != order_.begin();) {
    --at;
    if (at->use_count() == 1) drop(at++);  // nobody holds it
  }
}

std::vector<ExactRows::Held> ExactRows::extend(const Batch& batch, std::size_t count, int threads) {
  const std::size_t n = rows_.size(), old = n - count;
  std::vector<std::shared_ptr<Row>> added;
  std::vector<double*> out;
  for (std::size_t s = old; s < n; ++s) {
    added.push_back(make(static_cast<std::int64_t>(s), n));
    out.push_back(added.back()->values.data());
  }
  parallel_ranges(count * n < kWorthThreads / 4 ? 1 : threads, n, kPad, [&](std::size_t begin, std::size_t end) {
    rows_.evaluate_exactly(batch, 0, count, begin, end, out.data());
  });
  std::vector<Held> held(added.begin(), added.end());
  where_.resize(n, order_.end());
  for (const auto& row : order_) {
    if (row->values.capacity() >= n) continue;
    const std::size_t before = bytes_of(*row);
    row->values.reserve(room_for(n));
    bytes_ += bytes_of(*row) - before;
  }
  std::list<std::shared_ptr<Row>> fresh(added.rbegin(), added.rend());
  evaluations_ += count * n;
  for (const auto& row : order_)
    for (std::size_t r = 0; r < count; ++r) row->values.push_back(out[r][row->slot]);
  for (auto at = fresh.begin(); at != fresh.end(); ++at) {
    where_[static_cast<std::size_t>((*at)->slot)] = at;
    bytes_ += bytes_of(**at);
  }
  order_.splice(order_.begin(), fresh);
  added.clear();
  evict();
  return held;
}

ExactRows::Held ExactRows::hold(std::int64_t slot) {
  const std::lock_guard lock(mutex_);
  where_.resize(rows_.size(), order_.end());
  Place at = where_[static_cast<std::size_t>(slot)];
  if (at == order_.end()) {
    const auto row = make(slot, rows_.size());
    double* const out = row->values.data();
    rows_.evaluate_exactly(*rows_.take_kept({&slot, 1}), 0, 1, 0, rows_.size(), &out);
    evaluations_ += rows_.size();
    at = add(row);
  }
  order_.splice(order_.begin(), order_, at);
  Held held = *at;
  evict();
  return held;
}

void ExactRows::keep(std::span<const std::int64_t> kept) {
  spare_.assign(kept.size(), order_.end());
  for (std::size_t t = 0; t < kept.size(); ++t) {
    const auto slot = static_cast<std::size_t>(kept[t]);
    if (slot >= where_.size() || where_[slot] == order_.end()) continue;  // a row that nobody has held yet
    spare_[t] = where_[slot];
    (*spare_[t])->slot = -1 - static_cast<std::int64_t>(t);
  }
  std::erase_if(order_, [&](const std::shared_ptr<Row>& row) {
    if (row->slot >= 0) bytes_ -= bytes_of(*row);
    return row->slot >= 0;
  });
  std::size_t first = 0;  // slots before it keep their numbers
  while (first < kept.size() && kept[first] == static_cast<std::int64_t>(first)) ++first;
  for (const auto& row : order_) {
    row->slot = -1 - row->slot;
    for (std::size_t t = first; t < kept.size(); ++t) row->values[t] = row->values[static_cast<std::size_t>(kept[t])];
    row->values.resize(kept.size());
  }
  where_.swap(spare_);
}

void ExactRows::restore(std::size_t slot, std::span<const double> values) {
  where_.resize(std::max(where_.size(), values.size()), order_.end());
  const auto row = make(static_cast<std::int64_t>(slot), values.size());
  std::copy(values.begin(), values.end(), row->values.begin());
  add(row);
}

}  // namespace everlearn
