// The exact machine looked at: what it says of rows, seen and unseen, and what is saved of it.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "incremental.hpp"
#include "threads.hpp"

namespace everlearn {

/// A column as it was.
struct Incremental::Snapshot {
  Column column;
  Front front;
};

Incremental::Snapshot Incremental::take(std::size_t c) const { return {expansion_.column(c), fronts_[c]}; }

void Incremental::put_back(std::size_t c, const Snapshot& snapshot) {
  for (const auto slot : fronts_[c].members) kernel_.release(slot);
  expansion_.column(c) = snapshot.column;
  const Counts counts_now = fronts_[c].counts;
  fronts_[c] = snapshot.front;
  fronts_[c].counts = counts_now;
  for (std::size_t k = 0; k < fronts_[c].members.size(); ++k)
    fronts_[c].rows[k] = &kernel_.hold(fronts_[c].members[k]);
}

// ------------------------------------------------------------------------------------------------- looking

double Incremental::objective(std::size_t c) const {
  const Column& column = expansion_.column(c);
  double sum = 0;
  for (std::size_t s = 0; s < expansion_.size(); ++s)
    sum += std::abs(column.alpha[s]) - 0.5 * column.alpha[s] * (expansion_.sign(c, s) - column.g[s] - ridge_[s] * column.alpha[s]);
  return sum;
}

std::vector<double> Incremental::leave_one_out(std::size_t first, std::size_t count) {
  const std::size_t k = expansion_.columns();
  std::vector<std::size_t> slots;
  for (std::size_t s = 0, r = 0; s < expansion_.size(); ++s)
    if (expansion_.id(s) != kNobody && r++ >= first && slots.size() < count) slots.push_back(s);
  std::vector<double> out(slots.size() * k);
  const Counts before = counts;
  each_column([&](std::size_t c) {
    const Snapshot now = take(c);
    const Counts own = fronts_[c].counts;
    for (std::size_t r = 0; r < slots.size(); ++r) {
      const std::size_t s = slots[r];
      const Column& column = expansion_.column(c);
      double& score = out[r * k + c];
      if (column.alpha[s] == 0 && !fronts_[c].members.empty() && fronts_[c].place[s] < 0) {
        score = expansion_.sign(c, s) - column.g[s] + column.bias;
        continue;
      }
      fronts_[c].changes = 0;  // no refresh for a machine that is thrown away
      try {
        forget_slot(c, s);
      } catch (...) {
        put_back(c, now);
        fronts_[c].counts = own;
        throw;
      }
      score = expansion_.sign(c, s) - column.g[s] + column.bias;
      put_back(c, now);
    }
    fronts_[c].counts = own;
  });
  counts = before;
  return out;
}

void Incremental::decide(const Block& block, int threads, double* out) const {
  constexpr std::size_t kRows = 256, kSupport = 64;
  const std::size_t k = expansion_.columns(), n = expansion_.size();
  const Rows& rows = expansion_.rows();
  std::vector<std::int64_t> support;
  for (std::size_t s = 0; s < n; ++s)
    for (std::size_t c = 0; c < k; ++c)
      if (expansion_.column(c).alpha[s] != 0) {
        support.push_back(static_cast<std::int64_t>(s));
        break;
      }
  parallel_ranges(block.rows * support.size() < 50000 ? 1 : threads, block.rows, kRows, [&](std::size_t begin,
                                                                                            std::size_t end) {
    std::vector<double> values(kSupport * kRows), scores(k * kRows), weights(kSupport);
    std::vector<double*> lines(kSupport);
    for (std::size_t r = 0; r < kSupport; ++r) lines[r] = values.data() + r * kRows;
    for (std::size_t r0 = begin; r0 < end; r0 += kRows) {
      const std::size_t count = std::min(kRows, end - r0);
      std::vector<std::int64_t> which(count);
      for (std::size_t r = 0; r < count; ++r) which[r] = static_cast<std::int64_t>(r0 + r);
      // K(a, b) = K(b, a): support vectors meet a store of the rows to be scored.
      const auto batch = rows.take(block, which);
      const auto store = rows.sibling();
      if (!rows.external()) store->append(*batch);
      for (std::size_t c = 0; c < k; ++c) std::fill_n(scores.data() + c * kRows, count, -expansion_.column(c).bias);
      for (std::size_t v0 = 0; v0 < support.size(); v0 += kSupport) {
        const auto group = std::span(support).subspan(v0, std::min(kSupport, support.size() - v0));
        if (rows.external()) {
          std::vector<double> row(n);
          double* const to = row.data();
          for (std::size_t r = 0; r < count; ++r) {
            rows.evaluate_exactly(*batch, r, r + 1, 0, n, &to);
            for (std::size_t v = 0; v < group.size(); ++v) lines[v][r] = row[static_cast<std::size_t>(group[v])];
          }
        } else {
          store->evaluate_exactly(*rows.take_kept(group), 0, group.size(), 0, count, lines.data());
        }
        for (std::size_t c = 0; c < k; ++c) {
          for (std::size_t v = 0; v < group.size(); ++v)
            weights[v] = expansion_.column(c).alpha[static_cast<std::size_t>(group[v])];
          loops().rank_update_exact(scores.data() + c * kRows, lines.data(), weights.data(), group.size(), 0, count);
        }
      }
      for (std::size_t r = 0; r < count; ++r)
        for (std::size_t c = 0; c < k; ++c) out[(r0 + r) * k + c] = -scores[c * kRows + r];
    }
  });
}

// --------------------------------------------------------------------------------------------------- state

std::vector<std::int64_t> Incremental::changes() const {
  std::vector<std::int64_t> all;
  for (const Front& front : fronts_) all.push_back(front.changes);
  return all;
}

void Incremental::set_changes(std::span<const std::int64_t> changes) {
  for (std::size_t c = 0; c < fronts_.size(); ++c) fronts_[c].changes = changes[c];
}

std::vector<std::int64_t> Incremental::tallies() const {
  std::vector<std::int64_t> all;
  for (const Front& front : fronts_)
    all.insert(all.end(), {front.counts.steps, front.counts.fallbacks, front.counts.refreshes});
  return all;
}

void Incremental::set_tallies(std::span<const std::int64_t> tallies) {
  for (std::size_t c = 0; c < fronts_.size(); ++c) {
    fronts_[c].counts.steps = tallies[3 * c];
    fronts_[c].counts.fallbacks = tallies[3 * c + 1];
    fronts_[c].counts.refreshes = tallies[3 * c + 2];
  }
  sum_counts();
}

std::vector<double> Incremental::kernel_matrix() {
  std::vector<double> all;
  for (std::size_t s = 0; s < expansion_.size(); ++s) {
    const Row& row = kernel_.hold(static_cast<std::int64_t>(s));
    all.insert(all.end(), row.values.begin(), row.values.end());
    kernel_.release(static_cast<std::int64_t>(s));
  }
  return all;
}

void Incremental::restore(std::span<const double> kernel, std::span<const double> ridges) {
  const std::size_t n = expansion_.size();
  if (ridges.size() != n) throw std::invalid_argument("the ridges do not fit the rows");
  ridge_.assign(ridges.begin(), ridges.end());
  for (std::size_t s = 0; s < n && !kernel.empty(); ++s) kernel_.put_back(s, kernel.subspan(s * n, n));
  diagonal_.resize(n);
  for (std::size_t s = 0; s < n; ++s) {
    const auto slot = static_cast<std::int64_t>(s);
    if (!kernel.empty()) {
      diagonal_[s] = kernel[s * n + s];
      continue;
    }
    double* const own = &diagonal_[s] - s;
    expansion_.rows().evaluate_exactly(*expansion_.rows().take_kept({&slot, 1}), 0, 1, s, s + 1, &own);
  }
}

void Incremental::restore_margin(std::size_t c, std::span<const std::int64_t> members, std::span<const double> factor) {
  Front& front = fronts_[c];
  const std::size_t n = expansion_.size();
  front.place.assign(n, -1);
  front.settled.assign(n, 1);
  for (const auto slot : members) {
    if (slot < 0 || static_cast<std::size_t>(slot) >= n || front.place[static_cast<std::size_t>(slot)] >= 0)
      throw std::invalid_argument("a margin set does not fit the rows");
    front.place[static_cast<std::size_t>(slot)] = static_cast<std::int32_t>(front.members.size());
    front.settled[static_cast<std::size_t>(slot)] = 0;
    front.members.push_back(slot);
    front.rows.push_back(&kernel_.hold(slot));
  }
  front.border.restore(factor, members.size());
}

}  // namespace everlearn
