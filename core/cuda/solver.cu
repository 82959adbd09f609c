#include "solver.hpp"

#include <algorithm>
#include <cmath>

#include "kernel_rows.hpp"
#include "refresh.hpp"
#include "working_set.hpp"

namespace everlearn::cuda {
namespace {

constexpr float kShare = 0.2f;  // a set is solved until its violation has fallen to this share
constexpr int kMaxSteps = 100 * kSet;
constexpr int kPoll = 4;     // rounds between two looks at the violation
constexpr int kNarrow = 64;  // columns up to which kernel values of products are cheaper to compute than to read
constexpr int kMaxRefreshes = 8;
constexpr int kMostCached = 8191;  // problems: the rows of all sets are one dimension of a grid, in tiles of 128

__global__ void start_gradients(const double* edge, double* g, std::size_t count) {
  const std::size_t k = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k < count) g[k] = edge[k] > 0 ? 1 : edge[k] < 0 ? -1 : 0;
}

class Solver {
 public:
  Solver(const Source& source, const std::vector<double>& edge, int problems, const Task& task)
      : task_(task),
        rows_(source, nullptr, task.kernel.kind == KernelKind::cosine, true, stream_),
        view_(rows_.view()),
        kernel_(KernelFunction::of(task.kernel, view_.scale)),
        n_(static_cast<int>(source.rows)),
        p_(problems),
        alpha_(edge.size()),
        g_(edge.size()),
        edge_(edge.size()),
        diagonal_(source.rows),
        matrices_(static_cast<std::size_t>(problems) * kSet * kSet),
        by_(set_size()),
        to_(set_size()),
        by_float_(set_size()),
        violation_(problems),
        set_(set_size()),
        count_(problems),
        moved_(set_size()),
        moved_count_(problems),
        steps_(1),
        selection_(problems, n_, stream_) {
    edge_.from_host(edge.data(), edge.size(), stream_);
    alpha_.fill_bytes(0, stream_), count_.fill_bytes(0, stream_), steps_.fill_bytes(0, stream_);
    matrices_.fill_bytes(0, stream_), moved_count_.fill_bytes(0, stream_);
    start_gradients<<<blocks_for(edge.size(), 256), 256, 0, stream_>>>(edge_.data(), g_.data(), edge.size());
    check_launch("starting gradients");
    diagonal(view_, kernel_, diagonal_.data(), stream_);
    reserve_cache();
    parts_ = cached_ ? std::max(1, 8 / p_) : std::max(1, std::min(8, 264 / std::max(1, blocks_for(n_, 128) * p_)));
    part_ = Buffer<double>(static_cast<std::size_t>(parts_) * p_ * n_);
    score(state(), selection_.scores(), stream_);
  }

  Solution run(const std::function<bool()>& interrupted) {
    Solution solution;
    solution.cached = cached_;
    PinnedBuffer<float> violation(p_);
    round();
    stream_.wait();
    const Graph graph(stream_, [&] { round(); });
    Refresh refresh(view_, kernel_, state(), stream_);
    const WaitAtEnd before_memory_is_released(stream_);
    std::int64_t rounds = 1;
    for (;;) {
      bool solved = false;
      while (!solved && rounds < task_.max_rounds) {
        for (int k = 0; k < kPoll; ++k) graph.launch(stream_);
        rounds += kPoll;
        violation_.to_host(violation.data(), p_, stream_);
        stream_.wait();
        if (interrupted()) return solution;
        solved = std::all_of(violation.data(), violation.data() + p_, [&](float v) { return v <= task_.tau; });
      }
      const double worst = refresh(!cached_, task_.tau);
      score(state(), selection_.scores(), stream_);
      ++solution.refreshes;
      if (worst <= task_.tau || !solved || solution.refreshes >= kMaxRefreshes) {
        solution.violation = {worst};
        break;
      }
    }
    solution.rounds = rounds;
    solution.alpha.resize(alpha_.size()), solution.g.resize(g_.size());
    alpha_.to_host(solution.alpha.data(), alpha_.size(), stream_);
    g_.to_host(solution.g.data(), g_.size(), stream_);
    unsigned long long steps = 0;
    steps_.to_host(&steps, 1, stream_);
    stream_.wait();
    solution.steps = static_cast<std::int64_t>(steps);
    if (cached_) {
      int next = 0;
      next_.to_host(&next, 1, stream_);
      stream_.wait();
      solution.rows_computed = next;
    }
    return solution;
  }

 private:
  std::size_t set_size() const { return static_cast<std::size_t>(p_) * kSet; }
  Problems state() const { return {alpha_.data(), g_.data(), edge_.data(), diagonal_.data(), p_, n_}; }
  Sets sets() const {
    return {set_.data(), count_.data(),       moved_.data(),     by_.data(),   by_float_.data(),
            to_.data(),  moved_count_.data(), violation_.data(), steps_.data()};
  }
  CacheView cache() const {
    return {values_.data(), ld_,           slots_,          slot_of_.data(), row_of_.data(),   stamp_.data(),
            next_.data(),   round_.data(), missing_.data(), place_.data(),   n_missing_.data()};
  }

  /// Room for kernel rows, if they are worth keeping and there is enough for two rounds.
  void reserve_cache() {
    ld_ = (static_cast<std::size_t>(n_) + 511) / 512 * 512;
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for free memory");
    const std::size_t keep = static_cast<std::size_t>(8) * p_ * n_ * sizeof(double) + (std::size_t{1} << 30);
    const std::size_t bytes =
        std::min(free > keep ? free - keep : 0, task_.cache_bytes ? task_.cache_bytes : total / 10);
    const std::size_t most = std::min<std::size_t>(bytes / (ld_ * sizeof(float)), n_);
    const std::size_t least = std::min<std::size_t>(2 * set_size(), n_);
    cached_ = (view_.width > kNarrow || kernel_.of_distances()) && most >= least && p_ <= kMostCached;
    if (!cached_) return;
    slots_ = static_cast<int>(most);
    values_ = Buffer<float>(most * ld_);
    slot_of_ = Buffer<int>(n_), row_of_ = Buffer<int>(most), stamp_ = Buffer<int>(most);
    next_ = Buffer<int>(1), round_ = Buffer<int>(1), n_missing_ = Buffer<int>(1);
    missing_ = Buffer<int>(set_size()), place_ = Buffer<int>(set_size());
    slot_of_.fill_bytes(0xff, stream_), row_of_.fill_bytes(0xff, stream_), stamp_.fill_bytes(0xff, stream_);
    next_.fill_bytes(0, stream_), round_.fill_bytes(0, stream_), n_missing_.fill_bytes(0, stream_);
  }

  void round() {
    const Problems problems = state();
    const Sets all = sets();
    selection_.compose(problems, all, static_cast<float>(task_.tau), stream_);
    if (cached_) {
      claim(cache(), all, p_, stream_);
      write_rows(view_, kernel_, missing_.data(), place_.data(), n_missing_.data(), static_cast<int>(set_size()),
                 values_.data(), ld_, stream_);
      gather(cache(), all, p_, matrices_.data(), stream_);
    } else {
      write_sets(view_, kernel_, set_.data(), count_.data(), p_, kSet, matrices_.data(), stream_);
    }
    step_pairs(problems, all, matrices_.data(), static_cast<float>(task_.tau), kShare, kMaxSteps, stream_);
    if (cached_) sum_cached(cache(), problems, all, parts_, part_.data(), stream_);
    else
      sum_rows(view_, {moved_.data(), by_float_.data(), moved_count_.data(), 0, p_, kSet}, view_, kernel_, parts_,
               part_.data(), stream_);
    move(problems, all, part_.data(), parts_, selection_.scores(), stream_);
  }

  const Task task_;
  Stream stream_;
  DeviceRows rows_;
  RowsView view_;
  KernelFunction kernel_;
  const int n_, p_;
  Buffer<double> alpha_, g_, edge_;
  Buffer<float> diagonal_, matrices_;
  Buffer<double> by_, to_;
  Buffer<float> by_float_, violation_;
  Buffer<int> set_, count_, moved_, moved_count_;
  Buffer<unsigned long long> steps_;
  Selection selection_;
  bool cached_ = false;
  std::size_t ld_ = 0;
  int slots_ = 0, parts_ = 1;
  Buffer<float> values_;
  Buffer<int> slot_of_, row_of_, stamp_, next_, round_, missing_, place_, n_missing_;
  Buffer<double> part_;
  // The last member: it goes first, also if the constructor throws.
  const WaitAtEnd before_memory_is_released_{stream_};
};

}  // namespace

Solution solve(const Source& source, const std::vector<double>& edge, int problems, const Task& task,
               const std::function<bool()>& interrupted) {
  if (source.rows == 0 || edge.size() != source.rows * static_cast<std::size_t>(problems))
    throw std::invalid_argument("one box for each row and problem");
  if (source.rows > 0x7fffffff) throw std::invalid_argument("fits on the device take at most 2^31 - 1 rows");
  return Solver(source, edge, problems, task).run(interrupted);
}

}  // namespace everlearn::cuda
