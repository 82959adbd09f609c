// A tile of kernel values: 128 rows against 128 rows, from products by tensor cores or from distances |a - b|_1.
//
// 256 threads, eight warps in two rows of four; a warp has 64 x 32 values. Chunks of 32 columns come through shared
// memory, three of them in flight. A row of a chunk is 64 bytes, four pieces of 16; piece p of row r lies at p ^ (r / 2
// mod 4), so that the eight rows that an ldmatrix reads lie in different banks.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "kernel_function.cuh"
#include "rows.hpp"

namespace everlearn::cuda {

constexpr int kTile = 128, kTileThreads = 256, kStages = 3;
constexpr int kTileHalves = kTile * kChunk;  // of one matrix and stage

/// What a pair of rows is reduced to, and how.
enum class Pairs {
  one_product,     // of the high halves: nothing is missing where low halves are 0
  three_products,  // high high + high low + low high
  distance,        // the sum of |a - b| of the entries as they came
};

constexpr int kDistanceLine = kChunk + 1;  // floats of a row of a chunk: no bank conflicts

/// Bytes of dynamic shared memory that a tile needs.
template <Pairs kPairs>
inline constexpr int kTileBytes =
    kPairs == Pairs::distance ? 2 * kTile * kDistanceLine * 4
                              : kStages * kTileHalves * 2 * (kPairs == Pairs::three_products ? 4 : 2);

__device__ inline int swizzled(int row, int piece) { return row * kChunk + ((piece ^ ((row >> 1) & 3)) << 3); }

__device__ inline void copy_16(__half* to, const __half* from) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from));
}

__device__ inline void load_fragments(std::uint32_t (&to)[4], const __half* from) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(from));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}

__device__ inline void multiply(float (&sum)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Sums of products, as the tensor cores leave them. Entry [m][n][e] is for row 64 warp_row + 16 m + lane / 4 + 8 (e / 2)
/// and column 32 warp_column + 8 n + 2 (lane mod 4) + e mod 2.
struct Products {
  float of[4][4][4];

  __device__ static int row(int m, int e) {
    return (threadIdx.x >> 7) * 64 + m * 16 + ((threadIdx.x & 31) >> 2) + (e >> 1) * 8;
  }
  __device__ static int column(int n, int e) {
    return ((threadIdx.x >> 5) & 3) * 32 + n * 8 + (threadIdx.x & 3) * 2 + (e & 1);
  }
};

/// Distances of the rows a_rows[0..127] of a and b_rows[0..127] of b, in the places of their products.
__device__ inline void distances(Products& sums, const RowsView& a, const int* a_rows, const RowsView& b,
                                 const int* b_rows, float* shared) {
  const int t = threadIdx.x, lane = t & 31;
  float* const side_b = shared + kTile * kDistanceLine;
  for (int first = 0; first < a.columns; first += kChunk) {
    __syncthreads();  // the lists are written, and the last chunk has been read
    const bool in = first + lane < a.columns;
    for (int row = t >> 5; row < kTile; row += kTileThreads / 32) {
      const std::size_t from = static_cast<std::size_t>(first) + lane, line = a.columns;
      shared[row * kDistanceLine + lane] = in ? a.exact[a_rows[row] * line + from] : 0;
      side_b[row * kDistanceLine + lane] = in ? b.exact[b_rows[row] * line + from] : 0;
    }
    __syncthreads();
    for (int k = 0; k < kChunk; ++k) {
      float of_a[4][2], of_b[4][2];
#pragma unroll
      for (int m = 0; m < 4; ++m)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          of_a[m][half] = shared[Products::row(m, half * 2) * kDistanceLine + k];
          of_b[m][half] = side_b[Products::column(m, half) * kDistanceLine + k];
        }
#pragma unroll
      for (int m = 0; m < 4; ++m)
#pragma unroll
        for (int n = 0; n < 4; ++n)
#pragma unroll
          for (int e = 0; e < 4; ++e) sums.of[m][n][e] += fabsf(of_a[m][e >> 1] - of_b[n][e & 1]);
    }
  }
}

/// What the rows a_rows[0..127] of a and b_rows[0..127] of b are reduced to; both lists are in shared memory, and all of
/// their entries are rows.
template <Pairs kPairs>
__device__ void products(Products& sums, const RowsView& a, const int* a_rows, const RowsView& b, const int* b_rows,
                         __half* shared) {
  constexpr bool kSplit = kPairs == Pairs::three_products;
  constexpr int kMatrices = kSplit ? 4 : 2;
  const int t = threadIdx.x, lane = t & 31, warp_row = t >> 7, warp_column = (t >> 5) & 3, width = a.width;
  const int split = kSplit ? max(a.split, b.split) : 0;
  for (auto& m : sums.of)
    for (auto& n : m)
      for (float& x : n) x = 0;
  if constexpr (kPairs == Pairs::distance) {
    distances(sums, a, a_rows, b, b_rows, reinterpret_cast<float*>(shared));
    return;
  }

  const auto load = [&](int chunk, int stage) {
    __half* to = shared + stage * kMatrices * kTileHalves;
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      const int id = t + v * kTileThreads, row = id >> 2, piece = id & 3, place = swizzled(row, piece);
      const std::size_t from_a = static_cast<std::size_t>(a_rows[row]) * width + chunk * kChunk + piece * 8;
      const std::size_t from_b = static_cast<std::size_t>(b_rows[row]) * width + chunk * kChunk + piece * 8;
      copy_16(to + place, a.high + from_a);
      copy_16(to + kTileHalves + place, b.high + from_b);
      if (kSplit && chunk * kChunk < split) {
        copy_16(to + 2 * kTileHalves + place, a.low + from_a);
        copy_16(to + 3 * kTileHalves + place, b.low + from_b);
      }
    }
  };

  const int chunks = width / kChunk;
  __syncthreads();  // the lists are written, and the last tile has been read
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) {
    if (stage < chunks) load(stage, stage);
    asm volatile("cp.async.commit_group;");
  }
  const int a_row = warp_row * 64 + (lane & 15), a_piece = lane >> 4;
  const int b_row = warp_column * 32 + (lane & 7) + ((lane >> 4) << 3), b_piece = (lane >> 3) & 1;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2));
    __syncthreads();
    if (chunk + kStages - 1 < chunks) load(chunk + kStages - 1, (chunk + kStages - 1) % kStages);
    asm volatile("cp.async.commit_group;");
    const __half* from = shared + (chunk % kStages) * kMatrices * kTileHalves;
#pragma unroll
    for (int k = 0; k < kChunk / 16; ++k) {
      std::uint32_t ah[4][4], bh[2][4];
#pragma unroll
      for (int m = 0; m < 4; ++m) load_fragments(ah[m], from + swizzled(a_row + m * 16, k * 2 + a_piece));
#pragma unroll
      for (int n = 0; n < 2; ++n) load_fragments(bh[n], from + kTileHalves + swizzled(b_row + n * 16, k * 2 + b_piece));
      if (kSplit && chunk * kChunk + k * 16 < split) {
        std::uint32_t bl[2][4];
#pragma unroll
        for (int n = 0; n < 2; ++n)
          load_fragments(bl[n], from + 3 * kTileHalves + swizzled(b_row + n * 16, k * 2 + b_piece));
#pragma unroll
        for (int m = 0; m < 4; ++m) {
          std::uint32_t al[4];
          load_fragments(al, from + 2 * kTileHalves + swizzled(a_row + m * 16, k * 2 + a_piece));
#pragma unroll
          for (int n = 0; n < 4; ++n) {
            multiply(sums.of[m][n], al, bh[n >> 1][(n & 1) * 2], bh[n >> 1][(n & 1) * 2 + 1]);
            multiply(sums.of[m][n], ah[m], bl[n >> 1][(n & 1) * 2], bl[n >> 1][(n & 1) * 2 + 1]);
          }
        }
      }
#pragma unroll
      for (int m = 0; m < 4; ++m)
#pragma unroll
        for (int n = 0; n < 4; ++n)
          multiply(sums.of[m][n], ah[m], bh[n >> 1][(n & 1) * 2], bh[n >> 1][(n & 1) * 2 + 1]);
    }
  }
  asm volatile("cp.async.wait_group 0;");
}

}  // namespace everlearn::cuda
