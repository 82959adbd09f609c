#include "scorer.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "kernel_rows.hpp"
#include "rows.hpp"

namespace everlearn::cuda {
namespace {

constexpr std::size_t kPiece = std::size_t{16} << 20;        // bytes that are copied at once
constexpr std::size_t kBatchBytes = std::size_t{64} << 20;   // of rows in host memory
constexpr std::size_t kBatchEntries = std::size_t{1} << 28;  // of rows in device memory
constexpr std::size_t kLanes = 3;                            // streams that rows from host memory come on

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
    if (!batch.on_device && !lane.pump) lane.pump.emplace(kPiece, lane.stream);
    const DeviceRows targets(batch, &vectors, kernel.kind == KernelKind::cosine, kernel.kind == KernelKind::laplacian,
                             lane.stream, batch.on_device ? nullptr : &*lane.pump);
    const RowsView z = vectors.view();
    Buffer<double> sums(batch.rows * static_cast<std::size_t>(columns));
    score_rows(z, coefficients.data(), static_cast<int>(z.rows), columns, targets.view(),
               KernelFunction::of(kernel, z.scale), sums.data(), lane.stream);
    Buffer<double> offsets(bias.size());
    Buffer<int> broken(1);
    offsets.from_host(bias.data(), bias.size(), lane.stream), broken.fill_bytes(0, lane.stream);
    add_bias<<<dim3(blocks_for(batch.rows, 256), columns), 256, 0, lane.stream>>>(sums.data(), batch.rows,
                                                                                  offsets.data(), broken.data());
    check_launch("adding the bias");
    const std::size_t line = batch.rows * sizeof(double);
    check(cudaMemcpy2DAsync(out + first, total * sizeof(double), sums.data(), line, line, columns,
                            out_on_device ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost, lane.stream),
          "copying scores");
    int any = 0;
    broken.to_host(&any, 1, lane.stream);
    lane.stream.wait();
    if (any) throw NotFinite();
  }
};

Scorer::Scorer(const Source& vectors, const std::vector<float>& coefficients, int columns, const Kernel& kernel)
    : state_(std::make_unique<State>(vectors, coefficients, columns, kernel)) {}
Scorer::~Scorer() = default;

bool Scorer::scores(const Source& rows, const std::vector<double>& bias, double* out, bool out_on_device,
                    const std::function<bool()>& interrupted) {
  if (bias.size() != static_cast<std::size_t>(state_->columns)) throw std::invalid_argument("one bias for each column");
  const std::size_t line = std::max<std::size_t>(1, rows.line());
  const std::size_t each = rows.on_device
                               ? std::max<std::size_t>(1, kBatchEntries / std::max<std::size_t>(1, rows.columns))
                               : std::max<std::size_t>(1, kBatchBytes / line);
  const std::lock_guard alone(state_->busy);
  int device = 0;
  check(cudaGetDevice(&device), "asking for the device");
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stopped = false;
  std::exception_ptr error;
  std::mutex one_error;
  const auto work = [&](State::Lane& lane, bool asks) {
    try {
      check(cudaSetDevice(device), "choosing the device");
      for (std::size_t first; !stopped && (first = next.fetch_add(each)) < rows.rows;) {
        const std::size_t count = std::min(each, rows.rows - first);
        state_->score(lane, rows.part(first, count), bias, out, first, rows.rows, out_on_device);
        if (asks && interrupted()) stopped = true;
      }
    } catch (...) {
      const std::lock_guard lock(one_error);
      if (!error) error = std::current_exception();
      stopped = true;
    }
  };
  {
    std::vector<std::jthread> helpers;
    const std::size_t lanes = rows.on_device ? 1 : std::min(kLanes, (rows.rows + each - 1) / each);
    for (std::size_t k = 1; k < lanes; ++k) helpers.emplace_back(work, std::ref(state_->lanes[k]), false);
    work(state_->lanes[0], true);
  }
  if (error) std::rethrow_exception(error);
  return !stopped;
}

}  // namespace everlearn::cuda
