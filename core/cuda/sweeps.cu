#include "sweeps.hpp"

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>

#include "entries.cuh"

namespace everlearn::cuda {
namespace {

constexpr int kBlocks = 528, kLanes = 32, kGroups = 8;

/// part[block][column][c] = sum over the rows of this block of weights[row][column] x[row][c].
template <class T>
__global__ __launch_bounds__(kLanes* kGroups) void sum_weighted_rows(const void* x, const double* weights,
                                                                     std::size_t rows, int width, int columns,
                                                                     double* part) {
  __shared__ double sums[kGroups][kLanes];
  const int c = blockIdx.y * kLanes + threadIdx.x, column = blockIdx.z;
  double sum = 0;
  for (std::size_t row = blockIdx.x * kGroups + threadIdx.y; c < width && row < rows; row += gridDim.x * kGroups) {
    const double weight = weights[row * columns + column];
    if (weight != 0) sum += weight * entry<T>(x, row * width + c);
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || c >= width) return;
  for (int g = 1; g < kGroups; ++g) sum += sums[g][threadIdx.x];
  part[(static_cast<std::size_t>(blockIdx.x) * columns + column) * width + c] = sum;
}

__global__ void sum_parts(const double* part, int parts, int size, double* out) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= size) return;
  double sum = 0;
  for (int k = 0; k < parts; ++k) sum += part[static_cast<std::size_t>(k) * size + at];
  out[at] = sum;
}

/// out[row][column] = x[row] . v[column]; a warp for each row.
template <class T>
__global__ __launch_bounds__(256) void multiply_rows(const void* x, const double* v, std::size_t rows, int width,
                                                     int columns, double* out) {
  const int lane = threadIdx.x & 31;
  for (std::size_t row = (static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32; row < rows;
       row += static_cast<std::size_t>(gridDim.x) * blockDim.x / 32)
    for (int column = 0; column < columns; ++column) {
      double sum = 0;
      for (int c = lane; c < width; c += 32)
        sum += entry<T>(x, row * width + c) * v[static_cast<std::size_t>(column) * width + c];
      for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
      if (lane == 0) out[row * columns + column] = sum;
    }
}

__global__ void spread(const unsigned char* chosen, std::size_t rows, double* p) {
  const std::size_t at = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at < rows) p[at] = chosen[at];
}

/// Slopes of all rows and their numbers; part[block] = sum over the chosen rows of this block of w + q sums.
__global__ __launch_bounds__(256) void look(const double* w, double q, const double* sums, const double* p,
                                            std::size_t rows, double* slopes, int* numbers, double* part) {
  __shared__ double warps[8];
  double value = 0;
  for (std::size_t row = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; row < rows;
       row += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
    slopes[row] = w[row] + 2 * q * sums[row], numbers[row] = static_cast<int>(row);
    value += p[row] * (w[row] + q * sums[row]);
  }
  for (int o = 16; o; o >>= 1) value += __shfl_xor_sync(~0u, value, o);
  if ((threadIdx.x & 31) == 0) warps[threadIdx.x >> 5] = value;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int k = 1; k < 8; ++k) value += warps[k];
  part[blockIdx.x] = value;
}

__global__ void choose(const int* numbers, std::size_t k, double* p) {
  const std::size_t at = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at < k) p[numbers[at]] = 1;
}

__global__ void gather_chosen(const double* p, std::size_t rows, unsigned char* chosen) {
  const std::size_t at = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at < rows) chosen[at] = p[at] != 0;
}

}  // namespace

LinearSweeps::LinearSweeps(const Source& rows) : rows_(rows) {
  if (rows.rows > 0x7fffffff) throw std::invalid_argument("sweeps on the device take at most 2^31 - 1 rows");
  if (rows.starts || rows.shift) throw std::invalid_argument("sweeps on the device take dense rows as they are");
  if (rows.on_device) return;
  own_ = Buffer<unsigned char>(rows.rows * rows.line());
  for_pieces(rows, stream_, nullptr, [&](const void* entries, std::size_t first, std::size_t count) {
    check(cudaMemcpyAsync(own_.data() + first * rows.line(), entries, count * rows.line(), cudaMemcpyDeviceToDevice,
                          stream_),
          "copying rows");
  });
  stream_.wait();
  rows_.values = own_.data(), rows_.on_device = true;
}

void LinearSweeps::multiply(const double* weights, int columns, double* out) {
  const int width = static_cast<int>(rows_.columns), size = width * columns;
  Buffer<double> part(static_cast<std::size_t>(kBlocks) * size), sums(size);
  const WaitAtEnd before_memory_is_released(stream_);
  by_type(rows_.scalar, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const dim3 grid(kBlocks, blocks_for(width, kLanes), columns);
    sum_weighted_rows<T>
        <<<grid, dim3(kLanes, kGroups), 0, stream_>>>(rows_.values, weights, rows_.rows, width, columns, part.data());
    sum_parts<<<blocks_for(size, 256), 256, 0, stream_>>>(part.data(), kBlocks, size, sums.data());
    const int blocks = std::min(blocks_for(rows_.rows * 32, 256), 132 * 32);
    multiply_rows<T><<<blocks, 256, 0, stream_>>>(rows_.values, sums.data(), rows_.rows, width, columns, out);
  });
  check_launch("multiplying rows");
  stream_.wait();
}

void LinearSweeps::times(const double* weights, int columns, double* out) {
  const std::size_t size = rows_.rows * static_cast<std::size_t>(columns);
  Buffer<double> there(size), result(size);
  const WaitAtEnd before_memory_is_released(stream_);
  there.from_host(weights, size, stream_);
  multiply(there.data(), columns, result.data());
  result.to_host(out, size, stream_);
  stream_.wait();
}

std::vector<unsigned char> LinearSweeps::linearize(const double* w, double q, const unsigned char* start, std::size_t k,
                                                   const std::function<bool()>& interrupted) {
  const std::size_t n = rows_.rows;
  const int blocks = blocks_for(n, 256), items = static_cast<int>(n);
  Buffer<double> linear(n), p(n), last(n), sums(n), slopes(n), sorted(n), part(kBlocks);
  Buffer<int> numbers(n), order(n);
  Buffer<unsigned char> chosen(n);
  linear.from_host(w, n, stream_), chosen.from_host(start, n, stream_);
  spread<<<blocks, 256, 0, stream_>>>(chosen.data(), n, p.data());
  std::size_t bytes = 0;
  check(cub::DeviceRadixSort::SortPairsDescending(nullptr, bytes, slopes.data(), sorted.data(), numbers.data(),
                                                  order.data(), items, 0, 64, stream_),
        "sorting slopes");
  Buffer<unsigned char> scratch(bytes);
  const WaitAtEnd before_memory_is_released(stream_);
  std::vector<double> parts(kBlocks);
  const auto value = [&] {
    multiply(p.data(), 1, sums.data());
    look<<<kBlocks, 256, 0, stream_>>>(linear.data(), q, sums.data(), p.data(), n, slopes.data(), numbers.data(),
                                       part.data());
    check_launch("looking at slopes");
    part.to_host(parts.data(), parts.size(), stream_);
    stream_.wait();
    double sum = 0;
    for (const double x : parts) sum += x;
    return sum;
  };
  for (double best = value();;) {
    if (interrupted()) return {};
    check(cudaMemcpyAsync(last.data(), p.data(), n * sizeof(double), cudaMemcpyDeviceToDevice, stream_),
          "keeping a set");
    check(cub::DeviceRadixSort::SortPairsDescending(scratch.data(), bytes, slopes.data(), sorted.data(), numbers.data(),
                                                    order.data(), items, 0, 64, stream_),
          "sorting slopes");
    p.fill_bytes(0, stream_);
    if (k > 0) choose<<<blocks_for(k, 256), 256, 0, stream_>>>(order.data(), k, p.data());
    check_launch("choosing rows");
    const double risen = value();
    if (!(risen > best)) break;
    best = risen;
  }
  gather_chosen<<<blocks, 256, 0, stream_>>>(last.data(), n, chosen.data());
  check_launch("the chosen rows");
  std::vector<unsigned char> found(n);
  chosen.to_host(found.data(), n, stream_);
  stream_.wait();
  return found;
}

}  // namespace everlearn::cuda
