#include "score.hpp"

#include <utility>

#include "aligned.hpp"
#include "byte_rows.hpp"

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
template <class Batch>
struct Weights {
  Batch batch;
  std::vector<Weighted> columns;
};

/// Kernel values as a model has them.
class UsualRows {
 public:
  UsualRows(const Rows& like, const Block& block) : like_(like), block_(block) {}

  auto sources(std::span<const std::int64_t> which) const { return std::pair(like_.take(block_, which), which.size()); }
  auto targets(std::span<const std::int64_t> which) const {
    auto store = like_.sibling();
    store->append(*store->take(block_, which));
    return store;
  }
  template <class Sources, class Targets>
  void evaluate(const Sources& sources, const Targets& targets, float* const* out) const {
    targets->evaluate(*sources.first, 0, sources.second, 0, targets->size(), out);
  }

 private:
  const Rows& like_;
  const Block& block_;
};

template <class Source>
auto in_batches(const Source& rows, std::span<const std::int64_t> sources, std::span<const double> weights,
                std::size_t columns) {
  std::vector<Weights<decltype(rows.sources(sources))>> batches;
  for (std::size_t at = 0; at < sources.size(); at += kSources) {
    const std::size_t count = std::min(kSources, sources.size() - at);
    auto& some = batches.emplace_back(rows.sources(sources.subspan(at, count)), std::vector<Weighted>(columns));
    for (std::size_t c = 0; c < columns; ++c)
      for (std::size_t r = 0; r < count; ++r)
        if (const double weight = weights[c * sources.size() + at + r]; weight != 0) {
          some.columns[c].rows.push_back(r);
          some.columns[c].weights.push_back(weight);
        }
  }
  return batches;
}

template <class Source>
void add_sums(const Source& rows, std::span<const std::int64_t> sources, std::span<const double> weights,
              std::span<const std::int64_t> targets, std::size_t columns, int threads, double* sums) {
  if (targets.empty()) return;
  const auto batches = in_batches(rows, sources, weights, columns);
  const int workers = sources.size() * targets.size() < kSmallScore ? 1 : std::max(1, threads);
  const std::size_t share = (targets.size() + workers - 1) / workers;
  parallel_ranges(workers, targets.size(), std::min(kTargets, share), [&](std::size_t begin, std::size_t end) {
    AlignedVector<float> values(kSources * kTargets);
    AlignedVector<double> minus(columns * kTargets);  // the sums, column by column, with the sign of rank_update
    std::vector<float*> lines(kSources);
    for (std::size_t r = 0; r < kSources; ++r) lines[r] = values.data() + r * kTargets;
    std::vector<const float*> weighted;
    for (std::size_t at = begin; at < end; at += kTargets) {
      const std::size_t n = std::min(kTargets, end - at);
      const auto store = rows.targets(targets.subspan(at, n));
      std::fill(minus.begin(), minus.end(), 0.0);
      for (const auto& some : batches) {
        rows.evaluate(some.batch, store, lines.data());
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

}  // namespace

void add_kernel_sums(const Rows& like, const Block& block, std::span<const std::int64_t> sources,
                     std::span<const double> weights, std::span<const std::int64_t> targets, std::size_t columns,
                     int threads, double* sums, double step) {
  if (step > 0) {
    const ByteRows rows(block, step, like.kernel()->gamma, byte_loops());
    add_sums(rows, sources, weights, targets, columns, threads, sums);
  } else {
    add_sums(UsualRows(like, block), sources, weights, targets, columns, threads, sums);
  }
}

bool take_bytes(const Rows& rows) { return rows.kernel() != nullptr && rows.kernel()->kind == KernelKind::rbf; }

}  // namespace everlearn
