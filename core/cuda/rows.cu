#include <algorithm>
#include <cmath>
#include <cstring>
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

/// One block a row: both halves, the norm, and whether any low half is not 0.
__global__ void split_rows(const float* exact, std::size_t rows, int columns, int width, float scale, bool unit,
                           bool grid, __half* high, __half* low, float* norm, double* exact_norm, int* any_low) {
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
  bool has_low = false;
  for (int c = threadIdx.x; c < width; c += blockDim.x) {
    const double entry = c < columns ? from[c] : 0, x = grid ? rint(entry * 255) * (factor / 255) : entry * factor;
    const __half h = __double2half(x);
    const __half l = __double2half(x - double(__half2float(h)));
    high[row * width + c] = h, low[row * width + c] = l;
    has_low |= __half2float(l) != 0;
    const double kept = double(__half2float(h)) + double(__half2float(l));
    sum += kept * kept;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) norm[row] = static_cast<float>(sum);
  if (has_low) *any_low = 1;
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

/// Copies host memory to the device in pieces through two pinned buffers: one is filled while the other travels.
class Pump {
 public:
  explicit Pump(cudaStream_t stream) : stream_(stream), pinned_(2 * kPiece), landed_(2 * kPiece) {
    for (auto& event : sent_) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event");
  }
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;
  ~Pump() {
    cudaStreamSynchronize(stream_);
    for (auto& event : sent_) cudaEventDestroy(event);
  }
  /// Lets `fill(to)` write `bytes` bytes, and returns where they will be on the device.
  template <class F>
  const void* send(std::size_t bytes, F&& fill) {
    const int side = turn_++ & 1;
    if (turn_ > 2) check(cudaEventSynchronize(sent_[side]), "copying to the device");
    unsigned char* host = pinned_.data() + side * kPiece;
    unsigned char* device = landed_.data() + side * kPiece;
    fill(host);
    check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream_), "copying to the device");
    return device;
  }
  void mark_used() { check(cudaEventRecord(sent_[(turn_ - 1) & 1], stream_), "copying to the device"); }

 private:
  cudaStream_t stream_;
  PinnedBuffer<unsigned char> pinned_;
  Buffer<unsigned char> landed_;
  cudaEvent_t sent_[2]{};
  int turn_ = 0;
};

template <class T>
void densify(const Source& source, std::size_t first, std::size_t count, void* out) {
  T* to = static_cast<T*>(out);
  std::memset(to, 0, count * source.columns * sizeof(T));
  const T* values = static_cast<const T*>(source.values);
  for (std::size_t r = 0; r < count; ++r)
    for (std::int64_t k = source.starts[first + r]; k < source.starts[first + r + 1]; ++k)
      to[r * source.columns + source.indices[k]] = values[k];
}

}  // namespace

DeviceRows::DeviceRows(const Source& source, float scale, bool unit, bool keep_exact, cudaStream_t stream)
    : rows_(source.rows),
      columns_(static_cast<int>(source.columns)),
      width_(static_cast<int>((source.columns + kChunk - 1) / kChunk * kChunk)) {
  Buffer<float> exact(rows_ * source.columns);
  Buffer<Facts> facts(1);
  Buffer<int> any_low(1);
  facts.fill_bytes(0, stream), any_low.fill_bytes(0, stream);
  const std::size_t line = source.columns * bytes_of(source.scalar);
  if (source.on_device) {
    widen_any(source.scalar, source.values, rows_ * source.columns, exact.data(), facts.data(), stream);
  } else if (rows_ > 0 && line > 0) {
    if (line > kPiece) throw std::invalid_argument("rows on the device have at most half a million columns");
    Pump pump(stream);
    const std::size_t at_once = kPiece / line;
    for (std::size_t first = 0; first < rows_; first += at_once) {
      const std::size_t count = std::min(at_once, rows_ - first);
      const void* there = pump.send(count * line, [&](unsigned char* to) {
        if (!source.starts)
          std::memcpy(to, static_cast<const unsigned char*>(source.values) + first * line, count * line);
        else if (source.scalar == Scalar::f64) densify<double>(source, first, count, to);
        else densify<float>(source, first, count, to);
      });
      widen_any(source.scalar, there, count * source.columns, exact.data() + first * source.columns, facts.data(),
                stream);
      pump.mark_used();
    }
  }
  Facts known{};
  facts.to_host(&known, 1, stream);
  check(cudaStreamSynchronize(stream), "reading rows");
  float largest;
  std::memcpy(&largest, &known.largest, sizeof(float));
  if (unit) largest = 1;
  const bool grid = !unit && !known.off_grid && largest > 0 && largest <= 1 && (scale == 0 || scale == kGridScale);
  scale_ = scale > 0 ? scale : grid ? kGridScale : largest > 0 ? std::ldexp(1.0f, 10 - std::ilogb(largest)) : 1.0f;

  high_ = Buffer<__half>(rows_ * width_), low_ = Buffer<__half>(rows_ * width_), norm_ = Buffer<float>(rows_);
  exact_norm_ = Buffer<double>(rows_);
  if (rows_ > 0) {
    split_rows<<<static_cast<unsigned>(rows_), 128, 0, stream>>>(exact.data(), rows_, columns_, width_, scale_, unit,
                                                                 grid, high_.data(), low_.data(), norm_.data(),
                                                                 exact_norm_.data(), any_low.data());
    check_launch("splitting rows");
  }
  int has_low = 0;
  any_low.to_host(&has_low, 1, stream);
  check(cudaStreamSynchronize(stream), "splitting rows");
  has_low_ = has_low != 0;
  if (keep_exact) exact_ = std::move(exact);
}

RowsView DeviceRows::view() const {
  return {high_.data(), low_.data(), norm_.data(), exact_.data(), exact_norm_.data(),
          rows_,        columns_,    width_,       scale_,        has_low_};
}

}  // namespace everlearn::cuda
