#include "score.hpp"

#include "aligned.hpp"

namespace everlearn {
namespace {

/// Targets and sources of a tile of kernel values, which stays in the second-level cache.
constexpr std::size_t kTargets = 1024, kSources = 128;

/// Rows of a batch of sources with a weight in one column, and the weights.
struct Weighted {
  std::vector<std::size_t> rows;
  std::vector<double> weights;
};

/// A few sources, and what they weigh in each column: with several columns most weights are 0.
struct Sources {
  std::unique_ptr<Batch> batch;
  std::size_t count;
  std::vector<Weighted> columns;
};

std::vector<Sources> in_batches(const Rows& like, const Block& block, std::span<const std::int64_t> sources,
                                std::span<const double> weights, std::size_t columns) {
  std::vector<Sources> batches;
  for (std::size_t at = 0; at < sources.size(); at += kSources) {
    const std::size_t count = std::min(kSources, sources.size() - at);
    Sources some{like.take(block, sources.subspan(at, count)), count, std::vector<Weighted>(columns)};
    for (std::size_t c = 0; c < columns; ++c)
      for (std::size_t r = 0; r < count; ++r)
        if (const double weight = weights[c * sources.size() + at + r]; weight != 0) {
          some.columns[c].rows.push_back(r);
          some.columns[c].weights.push_back(weight);
        }
    batches.push_back(std::move(some));
  }
  return batches;
}

}  // namespace

void add_kernel_sums(const Rows& like, const Block& block, std::span<const std::int64_t> sources,
                     std::span<const double> weights, std::span<const std::int64_t> targets, std::size_t columns,
                     int threads, double* sums) {
  const std::vector<Sources> batches = in_batches(like, block, sources, weights, columns);
  const int workers = sources.size() * targets.size() < kSmallScore ? 1 : threads;
  parallel_ranges(workers, targets.size(), kTargets, [&](std::size_t begin, std::size_t end) {
    AlignedVector<float> values(kSources * kTargets);
    AlignedVector<double> minus(columns * kTargets);  // the sums, column by column, with the sign of rank_update
    std::vector<float*> lines(kSources);
    for (std::size_t r = 0; r < kSources; ++r) lines[r] = values.data() + r * kTargets;
    std::vector<const float*> weighted;
    for (std::size_t at = begin; at < end; at += kTargets) {
      const std::size_t n = std::min(kTargets, end - at);
      const auto store = like.sibling();
      store->append(*store->take(block, targets.subspan(at, n)));
      std::fill(minus.begin(), minus.end(), 0.0);
      for (const Sources& some : batches) {
        store->evaluate(*some.batch, 0, some.count, 0, n, lines.data());
        for (std::size_t c = 0; c < columns; ++c) {
          weighted.clear();
          for (const auto r : some.columns[c].rows) weighted.push_back(lines[r]);
          loops().rank_update(minus.data() + c * kTargets, weighted.data(), some.columns[c].weights.data(),
                              weighted.size(), 0, n);
        }
      }
      for (std::size_t t = 0; t < n; ++t)
        for (std::size_t c = 0; c < columns; ++c)
          sums[static_cast<std::size_t>(targets[at + t]) * columns + c] -= minus[c * kTargets + t];
    }
  });
}

}  // namespace everlearn
