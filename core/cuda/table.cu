#include "table.hpp"

#include <algorithm>
#include <cmath>

#include "entries.cuh"
#include "team.hpp"

namespace everlearn::cuda {
namespace {

constexpr int kBlocks = 528, kThreads = 256, kWarps = kThreads / 32;

/// One warp a row at a time. What block b finds is added to line b: sum, squares, longest, and whether one entry is not
/// finite.
template <class T>
__global__ __launch_bounds__(kThreads) void summarize_kernel(const void* values, std::size_t rows, int columns,
                                                             double center, double* found) {
  __shared__ double parts[4][kWarps];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  double sum = 0, squares = 0, longest = 0, broken = 0;
  for (std::size_t row = blockIdx.x * kWarps + warp; row < rows; row += gridDim.x * kWarps) {
    double length = 0;
    for (int c = lane; c < columns; c += 32) {
      const double x = entry<T>(values, row * columns + c);
      sum += x, squares += (x - center) * (x - center), length += x * x;
      if (!isfinite(x)) broken = 1;
    }
    for (int o = 16; o; o >>= 1) length += __shfl_xor_sync(~0u, length, o);
    longest = fmax(longest, length);
  }
  for (int o = 16; o; o >>= 1) {
    sum += __shfl_xor_sync(~0u, sum, o), squares += __shfl_xor_sync(~0u, squares, o);
    broken = fmax(broken, __shfl_xor_sync(~0u, broken, o));
  }
  if (lane == 0) parts[0][warp] = sum, parts[1][warp] = squares, parts[2][warp] = longest, parts[3][warp] = broken;
  __syncthreads();
  if (threadIdx.x > 0) return;
  double* line = found + 4 * blockIdx.x;
  for (int w = 0; w < kWarps; ++w) {
    line[0] += parts[0][w], line[1] += parts[1][w];
    line[2] = fmax(line[2], parts[2][w]), line[3] = fmax(line[3], parts[3][w]);
  }
}

template <class T, class Out>
__global__ void take_kernel(const void* values, const long long* rows, std::size_t count, int columns, Out* out) {
  const std::size_t at = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= count) return;
  out[at] = static_cast<Out>(entry<T>(values, static_cast<std::size_t>(rows[at / columns]) * columns + at % columns));
}

}  // namespace

Summary summarize(const Source& source, double center) {
  const Stream stream;
  Buffer<double> found(4 * kBlocks);
  const WaitAtEnd before_memory_is_released(stream);
  found.fill_bytes(0, stream);
  for_pieces(source, stream, nullptr, [&](const void* entries, std::size_t, std::size_t count) {
    by_type(source.scalar, [&](auto tag) {
      summarize_kernel<typename decltype(tag)::type>
          <<<kBlocks, kThreads, 0, stream>>>(entries, count, static_cast<int>(source.columns), center, found.data());
    });
    check_launch("looking at rows");
  });
  std::vector<double> lines(4 * kBlocks);
  found.to_host(lines.data(), lines.size(), stream);
  stream.wait();
  Summary all;
  for (std::size_t at = 0; at < lines.size(); at += 4) {
    all.sum += lines[at], all.squares += lines[at + 1], all.longest = std::max(all.longest, lines[at + 2]);
    all.finite = all.finite && lines[at + 3] == 0;
  }
  return all;
}

template <class Out>
void take(const Source& source, const std::vector<std::int64_t>& rows, Out* out) {
  static_assert(sizeof(std::int64_t) == sizeof(long long));
  if (!source.on_device || source.starts) throw std::invalid_argument("only dense rows in device memory are taken");
  for (const std::int64_t row : rows)
    if (row < 0 || static_cast<std::size_t>(row) >= source.rows) throw std::out_of_range("there is no such row");
  const std::size_t size = rows.size() * source.columns;
  if (size == 0) return;
  const Stream stream;
  Buffer<long long> which(rows.size());
  Buffer<Out> there(size);
  const WaitAtEnd before_memory_is_released(stream);
  which.from_host(reinterpret_cast<const long long*>(rows.data()), rows.size(), stream);
  by_type(source.scalar, [&](auto tag) {
    take_kernel<typename decltype(tag)::type, Out><<<blocks_for(size, 256), 256, 0, stream>>>(
        source.values, which.data(), size, static_cast<int>(source.columns), there.data());
  });
  check_launch("taking rows");
  stream.wait();
  to_host(there.data(), out, size * sizeof(Out));
}

template void take(const Source&, const std::vector<std::int64_t>&, float*);
template void take(const Source&, const std::vector<std::int64_t>&, double*);

}  // namespace everlearn::cuda
