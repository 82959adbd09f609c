#include "scorer.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>

#include "kernel_rows.hpp"
#include "rows.hpp"
#include "team.hpp"

namespace everlearn::cuda {
namespace {

constexpr std::size_t kLeastBatch = std::size_t{2} << 20;  // bytes of rows in host memory
constexpr std::size_t kMostBatch = std::size_t{16} << 20;  // and the most of them
// Entries of a batch, the zeros that fill up rows among them: of rows in device memory, and the most of those that come
// from host memory, where kLanes batches are on the device at the same time.
constexpr std::size_t kBatchEntries = std::size_t{1} << 28, kLaneEntries = std::size_t{1} << 25;
// Threads that rows from host memory come by, each on a stream of its own: together they copy as fast as the bus, and
// while one waits for the device the others go on.
constexpr std::size_t kLanes = 12;

/// Adds the bias of each line, and says whether a sum is not finite.
__global__ void add_bias(double* sums, std::size_t rows, const double* bias, int* broken) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  double& sum = sums[blockIdx.y * rows + row];
  sum += bias[blockIdx.y];
  if (!isfinite(sum)) *broken = 1;
}

}  // namespace

struct Scorer::State {
  /// A stream with memory of its own, and one thread at a time.
  struct Lane {
    Stream stream;
    std::optional<Pump> pump;  // made when the first rows come from the host
    std::optional<PinnedPiece> sums;
  };

  std::mutex busy;  // one call of scores() at a time
  Lane lanes[kLanes];
  DeviceRows vectors;
  Buffer<float> coefficients;
  int columns;
  Kernel kernel;

  State(const Source& source, const std::vector<float>& values, int count, const Kernel& k)
      : vectors(source, nullptr, k.kind == KernelKind::cosine, k.kind == KernelKind::laplacian, lanes[0].stream),
        coefficients(values.size()),
        columns(count),
        kernel(k) {
    coefficients.from_host(values.data(), values.size(), lanes[0].stream);
    lanes[0].stream.wait();
  }

  /// Scores a batch; out has lines of `total` entries, of which these rows are the ones from `first` on.
  void score(Lane& lane, const Source& batch, const std::vector<double>& bias, double* out, std::size_t first,
             std::size_t total, bool out_on_device) {
    if (!batch.on_device && !lane.pump) lane.pump.emplace(lane.stream);
    const DeviceRows targets(batch, &vectors, kernel.kind == KernelKind::cosine, kernel.kind == KernelKind::laplacian,
                             lane.stream, batch.on_device ? nullptr : &*lane.pump);
    const RowsView z = vectors.view();
    Buffer<double> sums(batch.rows * static_cast<std::size_t>(columns)), offsets(bias.size());
    Buffer<int> broken(1);
    const WaitAtEnd before_memory_is_released(lane.stream);
    score_rows(z, coefficients.data(), static_cast<int>(z.rows), columns, targets.view(),
               KernelFunction::of(kernel, z.scale), sums.data(), lane.stream);
    offsets.from_host(bias.data(), bias.size(), lane.stream), broken.fill_bytes(0, lane.stream);
    add_bias<<<dim3(blocks_for(batch.rows, 256), columns), 256, 0, lane.stream>>>(sums.data(), batch.rows,
                                                                                  offsets.data(), broken.data());
    check_launch("adding the bias");
    if (out_on_device) {
      for (std::size_t column = 0; column < static_cast<std::size_t>(columns); ++column)
        check(cudaMemcpyAsync(out + column * total + first, sums.data() + column * batch.rows,
                              batch.rows * sizeof(double), cudaMemcpyDeviceToDevice, lane.stream),
              "copying scores");
    } else {
      bring(lane, sums, batch.rows, out + first, total);
    }
    int any = 0;
    broken.to_host(&any, 1, lane.stream);
    lane.stream.wait();
    if (any) throw NotFinite();
  }

  /// Copies lines of `rows` sums into lines of `total` in host memory, by pinned memory: the driver's own way from there
  /// has a lock that all lanes would wait for.
  void bring(Lane& lane, const Buffer<double>& sums, std::size_t rows, double* out, std::size_t total) {
    if (!lane.sums) lane.sums.emplace();
    const auto* landed = reinterpret_cast<const double*>(lane.sums->data());
    constexpr std::size_t kAtOnce = PinnedPiece::kBytes / sizeof(double);
    for (std::size_t from = 0; from < sums.size(); from += kAtOnce) {
      const std::size_t to = std::min(sums.size(), from + kAtOnce);
      check(cudaMemcpyAsync(lane.sums->data(), sums.data() + from, (to - from) * sizeof(double), cudaMemcpyDeviceToHost,
                            lane.stream),
            "copying scores");
      lane.stream.wait();
      for (std::size_t at = from; at < to;) {
        const std::size_t column = at / rows, row = at % rows, count = std::min(rows - row, to - at);
        std::memcpy(out + column * total + row, landed + (at - from), count * sizeof(double));
        at += count;
      }
    }
  }
};

Scorer::Scorer(const Source& vectors, const std::vector<float>& coefficients, int columns, const Kernel& kernel)
    : state_(std::make_unique<State>(vectors, coefficients, columns, kernel)) {}
Scorer::~Scorer() = default;

bool Scorer::scores(const Source& rows, const std::vector<double>& bias, double* out, bool out_on_device,
                    const std::function<bool()>& interrupted) {
  if (bias.size() != static_cast<std::size_t>(state_->columns)) throw std::invalid_argument("one bias for each column");
  const std::size_t line = std::max<std::size_t>(1, rows.line());
  const std::size_t width = (std::max<std::size_t>(1, rows.columns) + kChunk - 1) / kChunk * kChunk;
  const auto batch_of = [](std::size_t amount, std::size_t a_row) { return std::max<std::size_t>(1, amount / a_row); };
  const std::size_t each =
      rows.on_device ? batch_of(kBatchEntries, width)
                     : std::min(batch_of(std::clamp(rows.rows * line / (4 * kLanes), kLeastBatch, kMostBatch), line),
                                batch_of(kLaneEntries, width));
  const std::size_t lanes = rows.on_device ? 1 : std::clamp<std::size_t>((rows.rows + each - 1) / each, 1, kLanes);
  const std::lock_guard alone(state_->busy);
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stopped = false;
  in_team(lanes, [&](std::size_t number) {
    try {
      for (std::size_t first; !stopped && (first = next.fetch_add(each)) < rows.rows;) {
        const std::size_t count = std::min(each, rows.rows - first);
        state_->score(state_->lanes[number], rows.part(first, count), bias, out, first, rows.rows, out_on_device);
        if (number == 0 && interrupted()) stopped = true;
      }
    } catch (...) {
      stopped = true;
      throw;
    }
  });
  return !stopped;
}

}  // namespace everlearn::cuda
