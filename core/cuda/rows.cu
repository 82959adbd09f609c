#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "rows.hpp"

namespace everlearn::cuda {
namespace {

constexpr float kGridScale = 4 * 255;
constexpr std::size_t kPiece = std::size_t{1}
                               << 22;  // bytes that are copied at once; pinning more costs more than it gains

std::size_t bytes_of(Scalar scalar) {
  constexpr std::size_t kBytes[] = {8, 4, 2, 1};
  return kBytes[static_cast<int>(scalar)];
}

template <class T>
__device__ float entry(const void* values, std::size_t at) {
  return static_cast<float>(static_cast<const T*>(values)[at]);
}
template <>
__device__ float entry<__half>(const void* values, std::size_t at) {
  return __half2float(static_cast<const __half*>(values)[at]);
}

/// What is known of all entries: the bit pattern of the largest magnitude, and whether one is not k / 255.
struct Facts {
  unsigned largest;
  int off_grid;
};

__device__ bool on_grid(float x) {
  const float k = rintf(x * 255);
  return fabsf(x * 255 - k) <= 1e-6f * k && k <= 255 && k >= 0;
}

/// float32 entries of a piece of rows.
template <class T>
__global__ void widen(const void* values, std::size_t count, float* out, Facts* facts) {
  unsigned most = 0;
  bool off = false;
  for (std::size_t at = blockIdx.x * blockDim.x + threadIdx.x; at < count; at += gridDim.x * blockDim.x) {
    const float x = entry<T>(values, at);
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

void widen_any(Scalar scalar, const void* values, std::size_t count, float* out, Facts* facts, cudaStream_t stream) {
  const int blocks = std::min(blocks_for(count, 256), 132 * 16);
  if (count == 0) return;
  switch (scalar) {
    case Scalar::f64: widen<double><<<blocks, 256, 0, stream>>>(values, count, out, facts); break;
    case Scalar::f32: widen<float><<<blocks, 256, 0, stream>>>(values, count, out, facts); break;
    case Scalar::f16: widen<__half><<<blocks, 256, 0, stream>>>(values, count, out, facts); break;
    case Scalar::u8: widen<unsigned char><<<blocks, 256, 0, stream>>>(values, count, out, facts); break;
  }
  check_launch("reading rows");
}

template <class T>
void densify(const Source& source, std::size_t first, std::size_t count, void* out) {
  T* to = static_cast<T*>(out);
  std::memset(to, 0, count * source.columns * sizeof(T));
  const T* values = static_cast<const T*>(source.values);
  for (std::size_t r = 0; r < count; ++r)
    for (std::int64_t k = source.starts[first + r]; k < source.starts[first + r + 1]; ++k)
      to[r * source.columns + source.indices[k]] = values[k];
}

/// Writes rows to `to`, as they are copied to the device.
void fill(const Source& source, std::size_t first, std::size_t count, unsigned char* to) {
  const std::size_t line = source.columns * bytes_of(source.scalar);
  if (!source.starts) std::memcpy(to, static_cast<const unsigned char*>(source.values) + first * line, count * line);
  else if (source.scalar == Scalar::f64) densify<double>(source, first, count, to);
  else densify<float>(source, first, count, to);
}

/// The same by several threads, where there is much to write: one alone cannot keep up with the bus.
void fill_in_parallel(const Source& source, std::size_t first, std::size_t count, unsigned char* to) {
  constexpr std::size_t kBytesEach = std::size_t{2} << 20;
  const std::size_t line = source.columns * bytes_of(source.scalar);
  const std::size_t most = std::min<std::size_t>(8, std::max(1u, std::thread::hardware_concurrency()));
  const std::size_t workers = std::clamp<std::size_t>(count * line / kBytesEach, 1, most);
  const std::size_t each = (count + workers - 1) / workers;
  std::vector<std::jthread> threads;
  for (std::size_t at = each; at < count; at += each)
    threads.emplace_back([&, at] { fill(source, first + at, std::min(each, count - at), to + at * line); });
  fill(source, first, std::min(each, count), to);
}

}  // namespace

DeviceRows::DeviceRows(const Source& source, const DeviceRows* like, bool unit, bool keep_exact, cudaStream_t stream,
                       Pump* pump)
    : rows_(source.rows),
      columns_(static_cast<int>(source.columns)),
      width_(static_cast<int>((source.columns + kChunk - 1) / kChunk * kChunk)) {
  Buffer<float> exact(rows_ * source.columns);
  Buffer<Facts> facts(1);
  facts.fill_bytes(0, stream);
  const std::size_t line = source.columns * bytes_of(source.scalar);
  if (source.on_device) {
    widen_any(source.scalar, source.values, rows_ * source.columns, exact.data(), facts.data(), stream);
  } else if (rows_ > 0 && line > 0) {
    std::optional<Pump> own;
    if (!pump) pump = &own.emplace(kPiece, stream);
    if (line > pump->piece()) throw std::invalid_argument("rows on the device have at most half a million columns");
    const std::size_t at_once = pump->piece() / line;
    for (std::size_t first = 0; first < rows_; first += at_once) {
      const std::size_t count = std::min(at_once, rows_ - first);
      unsigned char* host = pump->begin();
      fill_in_parallel(source, first, count, host);
      const void* there = pump->send(count * line);
      widen_any(source.scalar, there, count * source.columns, exact.data() + first * source.columns, facts.data(),
                stream);
      pump->mark_used();
    }
  }
  Facts known{};
  facts.to_host(&known, 1, stream);
  check(cudaStreamSynchronize(stream), "reading rows");
  float largest;
  std::memcpy(&largest, &known.largest, sizeof(float));
  if (unit) largest = 1;
  const bool grid =
      !unit && !known.off_grid && largest > 0 && largest <= 1 && (like == nullptr || like->scale_ == kGridScale);
  scale_ = like ? like->scale_ : grid ? kGridScale : largest > 0 ? std::ldexp(1.0f, 10 - std::ilogb(largest)) : 1.0f;
  order_columns(exact.data(), like, unit, grid, stream);

  Buffer<int> order(order_.size());
  order.from_host(order_.data(), order_.size(), stream);
  high_ = Buffer<__half>(rows_ * width_), low_ = Buffer<__half>(rows_ * width_), norm_ = Buffer<float>(rows_);
  exact_norm_ = Buffer<double>(rows_);
  if (rows_ > 0) {
    split_rows<<<static_cast<unsigned>(rows_), 128, 0, stream>>>(exact.data(), order.data(), columns_, width_, scale_,
                                                                 unit, grid, high_.data(), low_.data(), norm_.data(),
                                                                 exact_norm_.data());
    check_launch("splitting rows");
  }
  check(cudaStreamSynchronize(stream), "splitting rows");
  if (keep_exact) exact_ = std::move(exact);
}

/// Columns with low halves come first: the others need one product instead of three.
void DeviceRows::order_columns(const float* exact, const DeviceRows* like, bool unit, bool grid, cudaStream_t stream) {
  std::vector<int> low(static_cast<std::size_t>(columns_), unit ? 1 : 0);
  if (!unit && rows_ > 0 && columns_ > 0) {
    Buffer<int> marks(low.size());
    marks.fill_bytes(0, stream);
    const std::size_t count = rows_ * low.size();
    mark_low_columns<<<std::min(blocks_for(count, 256), 132 * 16), 256, 0, stream>>>(exact, count, columns_, scale_,
                                                                                     grid, marks.data());
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
