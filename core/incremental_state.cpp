// The exact machine: scores of seen and unseen rows, and saved state.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "incremental.hpp"
#include "score.hpp"

namespace everlearn {

// ------------------------------------------------------------------------------------------------- scores

double Incremental::objective(std::size_t c) const {
  const Column& column = expansion_.column(c);
  double sum = 0;
  for (std::size_t s = 0; s < expansion_.size(); ++s)
    sum += std::abs(column.alpha[s]) -
           0.5 * column.alpha[s] * (expansion_.sign(c, s) - column.g[s] - ridge_[s] * column.alpha[s]);
  return sum;
}

void Incremental::decide(const Block& block, int threads, double* out) const {
  const std::size_t k = expansion_.columns();
  const Rows& rows = expansion_.rows();
  std::vector<std::int64_t> support;
  for (std::size_t s = 0; s < expansion_.size(); ++s)
    for (std::size_t c = 0; c < k; ++c)
      if (expansion_.column(c).alpha[s] != 0) {
        support.push_back(static_cast<std::int64_t>(s));
        break;
      }
  // Only support vectors matter. Values that come from the caller are there for all slots.
  std::unique_ptr<Rows> only;
  if (rows.external()) {
    support.resize(expansion_.size());
    std::iota(support.begin(), support.end(), std::int64_t{0});
  } else {
    only = rows.sibling();
    only->append(*rows.take_kept(support));
  }
  constexpr TileShape kShape{64, 64};
  for_each_tile<double>(only ? *only : rows, block, threads, kShape, [&] {
    return [&, scores = std::vector<double>(k * kShape.rows),
            weights = std::vector<double>(kShape.slots)](const Tile<double>& tile) mutable {
      if (tile.first)
        for (std::size_t c = 0; c < k; ++c)
          std::fill_n(scores.data() + c * kShape.rows, tile.rows, -expansion_.column(c).bias);
      for (std::size_t c = 0; c < k; ++c) {
        for (std::size_t v = 0; v < tile.slots; ++v)
          weights[v] = expansion_.column(c).alpha[static_cast<std::size_t>(support[tile.s0 + v])];
        loops().dot_update_exact(scores.data() + c * kShape.rows, tile.lines, weights.data(), tile.rows, tile.slots);
      }
      if (!tile.last) return;
      for (std::size_t r = 0; r < tile.rows; ++r)
        for (std::size_t c = 0; c < k; ++c) out[(tile.r0 + r) * k + c] = -scores[c * kShape.rows + r];
    };
  });
}

// --------------------------------------------------------------------------------------------------- state

std::vector<std::int64_t> Incremental::changes() const {
  std::vector<std::int64_t> all;
  for (const ColumnState& state : states_) all.push_back(state.changes);
  return all;
}

void Incremental::set_changes(std::span<const std::int64_t> changes) {
  for (std::size_t c = 0; c < states_.size(); ++c) states_[c].changes = changes[c];
}

std::vector<std::int64_t> Incremental::tallies() const {
  std::vector<std::int64_t> all;
  for (const ColumnState& state : states_)
    all.insert(all.end(), {state.counts.steps, state.counts.fallbacks, state.counts.refreshes});
  return all;
}

void Incremental::set_tallies(std::span<const std::int64_t> tallies) {
  for (std::size_t c = 0; c < states_.size(); ++c) {
    states_[c].counts.steps = tallies[3 * c];
    states_[c].counts.fallbacks = tallies[3 * c + 1];
    states_[c].counts.refreshes = tallies[3 * c + 2];
  }
  sum_counts();
}

std::vector<double> Incremental::kernel_matrix() {
  std::vector<double> all;
  for (std::size_t s = 0; s < expansion_.size(); ++s) {
    const ExactRows::Held row = kernel_.hold(static_cast<std::int64_t>(s));
    all.insert(all.end(), row->values.begin(), row->values.end());
  }
  return all;
}

void Incremental::restore(std::span<const double> kernel, std::span<const double> ridges) {
  const std::size_t n = expansion_.size();
  if (ridges.size() != n) throw std::invalid_argument("the ridges do not fit the rows");
  ridge_.assign(ridges.begin(), ridges.end());
  for (std::size_t s = 0; s < n && !kernel.empty(); ++s) kernel_.restore(s, kernel.subspan(s * n, n));
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
  ColumnState& state = states_[c];
  const std::size_t n = expansion_.size();
  state.place.assign(n, -1);
  state.settled.assign(n, 1);
  for (const auto slot : members) {
    if (slot < 0 || static_cast<std::size_t>(slot) >= n || state.place[static_cast<std::size_t>(slot)] >= 0)
      throw std::invalid_argument("a margin set does not fit the rows");
    state.place[static_cast<std::size_t>(slot)] = static_cast<std::int32_t>(state.members.size());
    state.settled[static_cast<std::size_t>(slot)] = 0;
    state.members.push_back(slot);
    state.rows.push_back(kernel_.hold(slot));
  }
  state.border.restore(factor, members.size());
}

}  // namespace everlearn
