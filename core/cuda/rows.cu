#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "entries.cuh"
#include "rows.hpp"

namespace everlearn::cuda {
namespace {

constexpr float kGridScale = 4 * 255;
constexpr float kLargestHalf = 65504;
/// What is known of all entries: the bit pattern of the largest magnitude, and whether one is not k / 255.
struct Facts {
  unsigned largest;
  int off_grid;
};

__device__ bool on_grid(float x) {
  const float k = rintf(x * 255);
  return fabsf(x * 255 - k) <= 1e-6f * k && k <= 255 && k >= 0;
}

/// float32 entries of a piece of rows, without their shift, if there is one.
template <class T>
__global__ void widen(const void* values, std::size_t count, const double* shift, int columns, float* out,
                      Facts* facts) {
  unsigned most = 0;
  bool off = false;
  for (std::size_t at = blockIdx.x * blockDim.x + threadIdx.x; at < count; at += gridDim.x * blockDim.x) {
    const double whole = entry<T>(values, at);
    const float x = static_cast<float>(shift ? whole - shift[at % columns] : whole);
    out[at] = x;
    most = max(most, __float_as_uint(fabsf(x)));
    off |= !on_grid(x);
  }
  most = __reduce_max_sync(~0u, most);
  if ((threadIdx.x & 31) == 0) atomicMax(&facts->largest, most);
  if (off) facts->off_grid = 1;
}

struct Halves {
  __half high, low;
};
__device__ Halves halves_of(double entry, double factor, bool grid) {
  const double x = grid ? rint(entry * 255) * (factor / 255) : entry * factor;
  const __half high = __double2half(x);
  return {high, __double2half(x - double(__half2float(high)))};
}

/// Marks the columns in which some low half is not 0.
__global__ void mark_low_columns(const float* exact, std::size_t count, int columns, float scale, bool grid, int* low) {
  for (std::size_t at = blockIdx.x * blockDim.x + threadIdx.x; at < count; at += gridDim.x * blockDim.x)
    if (__half2float(halves_of(exact[at], scale, grid).low) != 0) low[at % columns] = 1;
}

/// One block a row: both halves of its entries in the order of columns, and the norm.
__global__ void split_rows(const float* exact, const int* order, int columns, int width, float scale, bool unit,
                           bool grid, __half* high, __half* low, float* norm, double* exact_norm) {
  __shared__ double sums[8];
  const std::size_t row = blockIdx.x;
  const float* from = exact + row * columns;
  const auto block_sum = [&](double sum) {
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) sums[threadIdx.x >> 5] = sum;
    __syncthreads();
    sum = 0;
    for (int w = 0; w < static_cast<int>(blockDim.x >> 5); ++w) sum += sums[w];
    return sum;
  };
  double sum = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += double(from[c]) * from[c];
  sum = block_sum(sum);
  if (threadIdx.x == 0) exact_norm[row] = sum;
  const double factor = !unit ? scale : sum > 0 ? scale / sqrt(sum) : 0;
  sum = 0;
  for (int c = threadIdx.x; c < width; c += blockDim.x) {
    const Halves halves = halves_of(c < columns ? from[order[c]] : 0, factor, grid);
    high[row * width + c] = halves.high, low[row * width + c] = halves.low;
    const double kept = double(__half2float(halves.high)) + double(__half2float(halves.low));
    sum += kept * kept;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) norm[row] = static_cast<float>(sum);
}

}  // namespace

DeviceRows::DeviceRows(const Source& source, const DeviceRows* like, bool unit, bool keep_exact, cudaStream_t stream,
                       Pump* pump)
    : rows_(source.rows),
      columns_(static_cast<int>(source.columns)),
      width_(static_cast<int>((source.columns + kChunk - 1) / kChunk * kChunk)) {
  Buffer<float> exact(rows_ * source.columns);
  read(source, exact.data(), stream, pump);
  if (unit) largest_ = 1;
  grid_ = grid_ && !unit && largest_ > 0 && largest_ <= 1 && (like == nullptr || like->scale_ == kGridScale);
  scale_ = like ? like->scale_ : grid_ ? kGridScale : largest_ > 0 ? std::ldexp(1.0f, 10 - std::ilogb(largest_)) : 1.0f;
  if (!(largest_ * scale_ <= kLargestHalf)) throw NotFinite();
  order_columns(exact.data(), like, unit, stream);

  Buffer<int> order(order_.size());
  const WaitAtEnd before_memory_is_released(stream);
  order.from_host(order_.data(), order_.size(), stream);
  high_ = Buffer<__half>(rows_ * width_), low_ = Buffer<__half>(rows_ * width_), norm_ = Buffer<float>(rows_);
  exact_norm_ = Buffer<double>(rows_);
  if (rows_ > 0) {
    split_rows<<<static_cast<unsigned>(rows_), 128, 0, stream>>>(exact.data(), order.data(), columns_, width_, scale_,
                                                                 unit, grid_, high_.data(), low_.data(), norm_.data(),
                                                                 exact_norm_.data());
    check_launch("splitting rows");
  }
  check(cudaStreamSynchronize(stream), "splitting rows");
  if (keep_exact) exact_ = std::move(exact);
}

/// Entries in float32, the largest magnitude, and whether they are on the grid.
void DeviceRows::read(const Source& source, float* exact, cudaStream_t stream, Pump* pump) {
  Buffer<Facts> facts(1);
  facts.fill_bytes(0, stream);
  Buffer<double> shift(source.shift ? source.columns : 0);
  const WaitAtEnd before_memory_is_released(stream);
  if (source.shift) shift.from_host(source.shift, source.columns, stream);
  for_pieces(source, stream, pump, [&](const void* entries, std::size_t first, std::size_t count) {
    const std::size_t size = count * source.columns;
    by_type(source.scalar, [&](auto tag) {
      widen<typename decltype(tag)::type><<<std::min(blocks_for(size, 256), 132 * 16), 256, 0, stream>>>(
          entries, size, shift.data(), columns_, exact + first * source.columns, facts.data());
    });
    check_launch("reading rows");
  });
  Facts known{};
  facts.to_host(&known, 1, stream);
  check(cudaStreamSynchronize(stream), "reading rows");
  std::memcpy(&largest_, &known.largest, sizeof(float));
  grid_ = !known.off_grid;
  if (!std::isfinite(largest_)) throw NotFinite();
}

/// Columns with low halves come first: the others need one product instead of three.
void DeviceRows::order_columns(const float* exact, const DeviceRows* like, bool unit, cudaStream_t stream) {
  std::vector<int> low(static_cast<std::size_t>(columns_), unit ? 1 : 0);
  if (!unit && rows_ > 0 && columns_ > 0) {
    Buffer<int> marks(low.size());
    marks.fill_bytes(0, stream);
    const std::size_t count = rows_ * low.size();
    mark_low_columns<<<std::min(blocks_for(count, 256), 132 * 16), 256, 0, stream>>>(exact, count, columns_, scale_,
                                                                                     grid_, marks.data());
    check_launch("looking at columns");
    marks.to_host(low.data(), low.size(), stream);
    check(cudaStreamSynchronize(stream), "looking at columns");
  }
  if (like) order_ = like->order_;
  else {
    order_.resize(low.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_partition(order_.begin(), order_.end(), [&](int c) { return low[static_cast<std::size_t>(c)] != 0; });
  }
  split_ = 0;
  for (int place = 0; place < columns_; ++place)
    if (low[static_cast<std::size_t>(order_[static_cast<std::size_t>(place)])]) split_ = place + 1;
}

RowsView DeviceRows::view() const {
  return {high_.data(), low_.data(), norm_.data(), exact_.data(), exact_norm_.data(),
          rows_,        columns_,    width_,       split_,        scale_};
}

}  // namespace everlearn::cuda
