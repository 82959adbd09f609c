#include "score.hpp"

namespace everlearn {
namespace {

/// Sources are taken in parts, so that the copies of their rows stay small and near.
constexpr std::size_t kSources = 4096;

}  // namespace

void add_kernel_sums(const Rows& like, const Block& block, std::span<const std::int64_t> sources,
                     std::span<const double> weights, std::span<const std::int64_t> targets, std::size_t columns,
                     int threads, double* sums) {
  const std::size_t m = sources.size();
  for (std::size_t at = 0; at < m; at += kSources) {
    const std::size_t part = std::min(kSources, m - at);
    const auto store = like.sibling();
    store->append(*store->take(block, sources.subspan(at, part)));
    const auto target = [&](std::size_t t) { return targets[t]; };
    for_each_tile<float>(*store, block, targets.size(), target, threads, {64, 1024}, [&] {
      return [&](const Tile<float>& tile) {
        for (std::size_t r = 0; r < tile.rows; ++r) {
          double* sum = sums + static_cast<std::size_t>(targets[tile.r0 + r]) * columns;
          for (std::size_t c = 0; c < columns; ++c)
            sum[c] += loops().dot(tile.lines[r], weights.data() + c * m + at + tile.s0, tile.slots);
        }
      };
    });
  }
}

}  // namespace everlearn
