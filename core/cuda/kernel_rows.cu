#include "kernel_rows.hpp"

#include <algorithm>

#include "tiles.cuh"

namespace everlearn::cuda {
namespace {

extern __shared__ __align__(128) unsigned char dynamic_shared[];

template <class Function>
void with_room(Function* function, int bytes) {
  check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "asking for shared memory");
}

template <Pairs kPairs>
__global__ __launch_bounds__(kTileThreads, 2) void write_rows_kernel(RowsView x, KernelFunction kernel,
                                                                     const int* which, const int* place,
                                                                     const int* count, float* out, std::size_t ld) {
  __shared__ int a_rows[kTile], b_rows[kTile], to[kTile];
  __shared__ float a_norm[kTile], b_norm[kTile];
  const int total = *count, first = blockIdx.y * kTile, t = threadIdx.x;
  if (first >= total) return;
  if (t < kTile) {
    const int k = first + t;
    a_rows[t] = k < total ? which[k] : which[first];
    to[t] = k < total ? place[k] : -1;
    a_norm[t] = x.norm[a_rows[t]];
  } else {
    const std::size_t s = static_cast<std::size_t>(blockIdx.x) * kTile + t - kTile;
    b_rows[t - kTile] = s < x.rows ? static_cast<int>(s) : 0;
    b_norm[t - kTile] = x.norm[b_rows[t - kTile]];
  }
  Products sums;
  products<kPairs>(sums, x, a_rows, x, b_rows, reinterpret_cast<__half*>(dynamic_shared));
#pragma unroll
  for (int m = 0; m < 4; ++m)
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
      for (int e = 0; e < 4; e += 2) {
        const int row = Products::row(m, e), column = Products::column(n, e);
        if (to[row] < 0) continue;
        const float2 values = {kernel(sums.of[m][n][e], a_norm[row], b_norm[column]),
                               kernel(sums.of[m][n][e + 1], a_norm[row], b_norm[column + 1])};
        const std::size_t s = static_cast<std::size_t>(blockIdx.x) * kTile + column;  // ld has room for whole tiles
        *reinterpret_cast<float2*>(out + static_cast<std::size_t>(to[row]) * ld + s) = values;
      }
}

template <Pairs kPairs>
__global__ __launch_bounds__(kTileThreads, 2) void write_sets_kernel(RowsView x, KernelFunction kernel, const int* w,
                                                                     const int* count, int size, float* out) {
  __shared__ int a_rows[kTile], b_rows[kTile];
  __shared__ float a_norm[kTile], b_norm[kTile];
  const int set = blockIdx.z, total = count[set], t = threadIdx.x;
  const int first_a = blockIdx.y * kTile, first_b = blockIdx.x * kTile;
  if (first_a >= total || first_b >= total) return;
  const int* rows = w + static_cast<std::size_t>(set) * size;
  const int k = (t < kTile ? first_a : first_b - kTile) + t, row = rows[k < total ? k : 0];
  (t < kTile ? a_rows : b_rows)[t % kTile] = row;
  (t < kTile ? a_norm : b_norm)[t % kTile] = x.norm[row];
  Products sums;
  products<kPairs>(sums, x, a_rows, x, b_rows, reinterpret_cast<__half*>(dynamic_shared));
  float* to = out + static_cast<std::size_t>(set) * size * size;
#pragma unroll
  for (int m = 0; m < 4; ++m)
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
      for (int e = 0; e < 4; e += 2) {
        const int a = Products::row(m, e), b = Products::column(n, e);
        const float2 values = {kernel(sums.of[m][n][e], a_norm[a], b_norm[b]),
                               kernel(sums.of[m][n][e + 1], a_norm[a], b_norm[b + 1])};
        *reinterpret_cast<float2*>(to + static_cast<std::size_t>(first_a + a) * size + first_b + b) = values;
      }
}

/// Adds up a tile of products over its rows, with coefficients: thread t < 128 gets the sum of column t.
__device__ float sum_of_column(const Products& sums, const KernelFunction& kernel, const float* a_norm,
                               const float* b_norm, const float* coefficients, float (*halves)[kTile]) {
  const int t = threadIdx.x, lane = t & 31;
#pragma unroll
  for (int n = 0; n < 4; ++n)
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      float sum = 0;
      const int column = Products::column(n, side);
#pragma unroll
      for (int m = 0; m < 4; ++m)
#pragma unroll
        for (int e = side; e < 4; e += 2) {
          const int row = Products::row(m, e);
          sum += coefficients[row] * kernel(sums.of[m][n][e], a_norm[row], b_norm[column]);
        }
      for (int o = 4; o < 32; o <<= 1) sum += __shfl_xor_sync(~0u, sum, o);
      if (lane < 4) halves[t >> 7][column] = sum;
    }
  __syncthreads();
  return t < kTile ? halves[0][t] + halves[1][t] : 0;
}

template <Pairs kPairs>
__global__ __launch_bounds__(kTileThreads, 2) void sum_rows_kernel(RowsView z, Terms terms, RowsView x,
                                                                   KernelFunction kernel, double* out) {
  __shared__ int a_rows[kTile], b_rows[kTile];
  __shared__ float a_norm[kTile], b_norm[kTile], coefficients[kTile], halves[2][kTile];
  const int t = threadIdx.x, list = blockIdx.y, part = blockIdx.z, parts = gridDim.z;
  const int total = terms.count ? terms.count[list] : terms.fixed;
  const std::size_t s = static_cast<std::size_t>(blockIdx.x) * kTile + (t & (kTile - 1));
  if (t >= kTile) {
    b_rows[t - kTile] = s < x.rows ? static_cast<int>(s) : 0;
    b_norm[t - kTile] = x.norm[b_rows[t - kTile]];
  }
  const int tiles = (total + kTile - 1) / kTile, each = (tiles + parts - 1) / parts;
  double sum = 0;
  for (int tile = part * each; tile < min(tiles, (part + 1) * each); ++tile) {
    __syncthreads();
    if (t < kTile) {
      const int k = tile * kTile + t;
      const std::size_t place = static_cast<std::size_t>(list) * terms.stride + (k < total ? k : 0);
      a_rows[t] = terms.rows ? terms.rows[place] : k < total ? k : 0;
      a_norm[t] = z.norm[a_rows[t]];
      coefficients[t] = k < total ? terms.coefficients[place] : 0;
    }
    Products sums;
    products<kPairs>(sums, z, a_rows, x, b_rows, reinterpret_cast<__half*>(dynamic_shared));
    sum += sum_of_column(sums, kernel, a_norm, b_norm, coefficients, halves);
  }
  if (t < kTile && s < x.rows) out[(static_cast<std::size_t>(part) * terms.lists + list) * x.rows + s] = sum;
}

template <Pairs kPairs>
__global__ __launch_bounds__(kTileThreads, 2) void score_rows_kernel(RowsView z, const float* coefficients, int count,
                                                                     int columns, RowsView x, KernelFunction kernel,
                                                                     double* out) {
  __shared__ int a_rows[kTile], b_rows[kTile];
  __shared__ float a_norm[kTile], b_norm[kTile], weights[kTile], halves[2][kTile];
  double* totals = reinterpret_cast<double*>(dynamic_shared + kTileBytes<kPairs>);  // one line a column
  const int t = threadIdx.x;
  const std::size_t s = static_cast<std::size_t>(blockIdx.x) * kTile + (t & (kTile - 1));
  if (t >= kTile) {
    b_rows[t - kTile] = s < x.rows ? static_cast<int>(s) : 0;
    b_norm[t - kTile] = x.norm[b_rows[t - kTile]];
  } else {
    for (int column = 0; column < columns; ++column) totals[column * kTile + t] = 0;
  }
  for (int first = 0; first < count; first += kTile) {
    __syncthreads();
    if (t < kTile) {
      a_rows[t] = min(first + t, count - 1);
      a_norm[t] = z.norm[a_rows[t]];
    }
    Products sums;
    products<kPairs>(sums, z, a_rows, x, b_rows, reinterpret_cast<__half*>(dynamic_shared));
#pragma unroll
    for (int m = 0; m < 4; ++m)
#pragma unroll
      for (int n = 0; n < 4; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          sums.of[m][n][e] = kernel(sums.of[m][n][e], a_norm[Products::row(m, e)], b_norm[Products::column(n, e)]);
    for (int column = 0; column < columns; ++column) {
      __syncthreads();
      if (t < kTile)
        weights[t] = first + t < count ? coefficients[static_cast<std::size_t>(column) * count + first + t] : 0;
      __syncthreads();
#pragma unroll
      for (int n = 0; n < 4; ++n)
#pragma unroll
        for (int side = 0; side < 2; ++side) {
          float sum = 0;
#pragma unroll
          for (int m = 0; m < 4; ++m)
#pragma unroll
            for (int e = side; e < 4; e += 2) sum += weights[Products::row(m, e)] * sums.of[m][n][e];
          for (int o = 4; o < 32; o <<= 1) sum += __shfl_xor_sync(~0u, sum, o);
          if ((t & 31) < 4) halves[t >> 7][Products::column(n, side)] = sum;
        }
      __syncthreads();
      if (t < kTile) totals[column * kTile + t] += halves[0][t] + halves[1][t];
    }
  }
  if (t < kTile && s < x.rows)
    for (int column = 0; column < columns; ++column)
      out[static_cast<std::size_t>(column) * x.rows + s] = totals[column * kTile + t];
}

constexpr int kExactTile = 64, kExactDepth = 32, kExactLine = kExactDepth + 4;  // lines of 36 floats: no bank conflicts
constexpr int kExactThreads = 128;

__device__ inline void multiply_exactly(double (&sum)[2], double a, double b) {
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(sum[0]), "+d"(sum[1])
               : "d"(a), "d"(b));
}

/// Tiles of 64 terms x 64 targets; four warps of 32 x 32.
template <bool kDistances>
__global__ __launch_bounds__(kExactThreads) void sum_exactly_kernel(RowsView x, ExactTerms terms, KernelFunction kernel,
                                                                    double* out) {
  __shared__ float a[kExactTile * kExactLine], b[kExactTile * kExactLine];
  __shared__ int a_rows[kExactTile], b_rows[kExactTile];
  __shared__ double a_norm[kExactTile], b_norm[kExactTile], coefficients[kExactTile], halves[2][kExactTile];
  const int t = threadIdx.x, lane = t & 31, warp_row = t >> 6, warp_column = (t >> 5) & 1;
  const int list = blockIdx.y, total = terms.count[list], wanted = terms.n_targets[list];
  const int first_target = blockIdx.x * kExactTile;
  const std::size_t line = static_cast<std::size_t>(list) * terms.stride;
  if (first_target >= wanted) return;
  if (t < kExactTile) {
    b_rows[t] = terms.targets[line + min(first_target + t, wanted - 1)];
    b_norm[t] = x.exact_norm[b_rows[t]];
  }
  const int tiles = (total + kExactTile - 1) / kExactTile, each = (tiles + gridDim.z - 1) / gridDim.z;
  double result = 0;
  for (int tile = blockIdx.z * each; tile < min(tiles, static_cast<int>(blockIdx.z + 1) * each); ++tile) {
    __syncthreads();
    if (t < kExactTile) {
      const int k = tile * kExactTile + t;
      a_rows[t] = terms.rows[line + min(k, total - 1)];
      a_norm[t] = x.exact_norm[a_rows[t]];
      coefficients[t] = k < total ? terms.coefficients[line + k] : 0;
    }
    double sums[4][4][2] = {};
    for (int c0 = 0; c0 < x.columns; c0 += kExactDepth) {
      __syncthreads();
      for (int k = t >> 5; k < kExactTile; k += kExactThreads / 32) {
        const bool in = c0 + lane < x.columns;
        a[k * kExactLine + lane] = in ? x.exact[static_cast<std::size_t>(a_rows[k]) * x.columns + c0 + lane] : 0;
        b[k * kExactLine + lane] = in ? x.exact[static_cast<std::size_t>(b_rows[k]) * x.columns + c0 + lane] : 0;
      }
      __syncthreads();
#pragma unroll
      for (int k = 0; k < (kDistances ? kExactDepth : 0); ++k)
#pragma unroll
        for (int m = 0; m < 4; ++m)
#pragma unroll
          for (int n = 0; n < 4; ++n)
#pragma unroll
            for (int e = 0; e < 2; ++e) {
              const int row = warp_row * 32 + m * 8 + (lane >> 2),
                        column = warp_column * 32 + n * 8 + (lane & 3) * 2 + e;
              sums[m][n][e] += fabs(double(a[row * kExactLine + k]) - b[column * kExactLine + k]);
            }
#pragma unroll
      for (int k = 0; k < (kDistances ? 0 : kExactDepth); k += 4) {
        double fa[4], fb[4];
#pragma unroll
        for (int m = 0; m < 4; ++m) {
          fa[m] = a[(warp_row * 32 + m * 8 + (lane >> 2)) * kExactLine + k + (lane & 3)];
          fb[m] = b[(warp_column * 32 + m * 8 + (lane >> 2)) * kExactLine + k + (lane & 3)];
        }
#pragma unroll
        for (int m = 0; m < 4; ++m)
#pragma unroll
          for (int n = 0; n < 4; ++n) multiply_exactly(sums[m][n], fa[m], fb[n]);
      }
    }
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int column = warp_column * 32 + n * 8 + (lane & 3) * 2 + e;
        double sum = 0;
#pragma unroll
        for (int m = 0; m < 4; ++m) {
          const int row = warp_row * 32 + m * 8 + (lane >> 2);
          sum += coefficients[row] * kernel.exact(sums[m][n][e], a_norm[row], b_norm[column]);
        }
        for (int o = 4; o < 32; o <<= 1) sum += __shfl_xor_sync(~0u, sum, o);
        if (lane < 4) halves[warp_row][column] = sum;
      }
    __syncthreads();
    if (t < kExactTile) result += halves[0][t] + halves[1][t];
  }
  if (t < kExactTile && first_target + t < wanted)
    out[(static_cast<std::size_t>(blockIdx.z) * terms.lists + list) * terms.stride + first_target + t] = result;
}

__global__ void diagonal_kernel(RowsView x, KernelFunction kernel, float* out) {
  const std::size_t s = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (s < x.rows) out[s] = kernel(kernel.of_distances() ? 0 : x.norm[s], x.norm[s], x.norm[s]);
}

template <Pairs kPairs>
using How = std::integral_constant<Pairs, kPairs>;

template <class F>
void by_pairs(const KernelFunction& kernel, const RowsView& a, const RowsView& b, F&& launch) {
  if (kernel.of_distances()) launch(How<Pairs::distance>());
  else if (a.split > 0 || b.split > 0) launch(How<Pairs::three_products>());
  else launch(How<Pairs::one_product>());
}

}  // namespace

void write_rows(const RowsView& x, const KernelFunction& kernel, const int* which, const int* place, const int* count,
                int most, float* out, std::size_t ld, cudaStream_t stream) {
  by_pairs(kernel, x, x, [&](auto how) {
    with_room(write_rows_kernel<how.value>, kTileBytes<how.value>);
    const dim3 grid(blocks_for(x.rows, kTile), blocks_for(most, kTile));
    write_rows_kernel<how.value>
        <<<grid, kTileThreads, kTileBytes<how.value>, stream>>>(x, kernel, which, place, count, out, ld);
  });
  check_launch("computing kernel rows");
}

void write_sets(const RowsView& x, const KernelFunction& kernel, const int* w, const int* count, int sets, int size,
                float* out, cudaStream_t stream) {
  by_pairs(kernel, x, x, [&](auto how) {
    with_room(write_sets_kernel<how.value>, kTileBytes<how.value>);
    const dim3 grid(blocks_for(size, kTile), blocks_for(size, kTile), sets);
    write_sets_kernel<how.value><<<grid, kTileThreads, kTileBytes<how.value>, stream>>>(x, kernel, w, count, size, out);
  });
  check_launch("computing the kernel matrices of working sets");
}

void sum_rows(const RowsView& z, const Terms& terms, const RowsView& x, const KernelFunction& kernel, int parts,
              double* out, cudaStream_t stream) {
  by_pairs(kernel, z, x, [&](auto how) {
    with_room(sum_rows_kernel<how.value>, kTileBytes<how.value>);
    const dim3 grid(blocks_for(x.rows, kTile), terms.lists, parts);
    sum_rows_kernel<how.value><<<grid, kTileThreads, kTileBytes<how.value>, stream>>>(z, terms, x, kernel, out);
  });
  check_launch("summing kernel values");
}

void score_rows(const RowsView& z, const float* coefficients, int count, int columns, const RowsView& x,
                const KernelFunction& kernel, double* out, cudaStream_t stream) {
  constexpr int kAtOnce = 14;  // columns whose totals fit into shared memory beside two tiles
  constexpr int kColumn = kTile * static_cast<int>(sizeof(double));
  constexpr int kStatic = 4096;  // more than the kernels of this file declare
  static_assert(kTileBytes<Pairs::three_products> + kAtOnce * kColumn + kStatic <= kBlockMemory);
  by_pairs(kernel, z, x, [&](auto how) {
    // The limit belongs to the kernel, not to a launch: one for all, because other threads score at the same time.
    with_room(score_rows_kernel<how.value>, kTileBytes<how.value> + kAtOnce * kColumn);
    for (int first = 0; first < columns; first += kAtOnce) {
      const int some = std::min(kAtOnce, columns - first);
      const int bytes = kTileBytes<how.value> + some * kColumn;
      score_rows_kernel<how.value><<<blocks_for(x.rows, kTile), kTileThreads, bytes, stream>>>(
          z, coefficients + static_cast<std::size_t>(first) * count, count, some, x, kernel,
          out + static_cast<std::size_t>(first) * x.rows);
    }
  });
  check_launch("scoring rows");
}

void sum_exactly(const RowsView& x, const ExactTerms& terms, const KernelFunction& kernel, int parts, double* out,
                 cudaStream_t stream) {
  const dim3 grid(blocks_for(terms.stride, kExactTile), terms.lists, parts);
  const auto run = kernel.of_distances() ? sum_exactly_kernel<true> : sum_exactly_kernel<false>;
  run<<<grid, kExactThreads, 0, stream>>>(x, terms, kernel, out);
  check_launch("summing kernel values in double precision");
}

void diagonal(const RowsView& x, const KernelFunction& kernel, float* out, cudaStream_t stream) {
  diagonal_kernel<<<blocks_for(x.rows, 256), 256, 0, stream>>>(x, kernel, out);
  check_launch("computing the diagonal");
}

}  // namespace everlearn::cuda
