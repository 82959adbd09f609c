// The cache of kernel rows on the device.
#include "working_set.hpp"

namespace everlearn::cuda {
namespace {

/// Marks the slots of rows that are cached, so that nobody takes them in this round.
__global__ void stamp_rows(CacheView cache, Sets sets) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x, p = blockIdx.y;
  if (k >= sets.count[p]) return;
  if (const int slot = cache.slot_of[sets.rows[p * kSet + k]]; slot >= 0) cache.stamp[slot] = *cache.round;
}

/// Takes slots in turn for rows that are not cached; whoever comes first takes it for all problems.
__global__ void take_slots(CacheView cache, Sets sets) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x, p = blockIdx.y;
  if (k >= sets.count[p]) return;
  const int row = sets.rows[p * kSet + k], round = *cache.round;
  if (cache.slot_of[row] != -1 || atomicCAS(&cache.slot_of[row], -1, -2) != -1) return;
  int slot;
  do {
    slot = static_cast<int>(static_cast<unsigned>(atomicAdd(cache.next, 1)) % static_cast<unsigned>(cache.slots));
  } while (atomicExch(&cache.stamp[slot], round) == round);
  if (const int before = cache.row_of[slot]; before >= 0) cache.slot_of[before] = -1;
  cache.row_of[slot] = row;
  const int at = atomicAdd(cache.n_missing, 1);
  cache.missing[at] = row, cache.place[at] = slot;
}

/// Publishes the slots: before, slot_of is -2 for rows that were just taken.
__global__ void publish_slots(CacheView cache) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < *cache.n_missing) cache.slot_of[cache.missing[k]] = cache.place[k];
}

__global__ void next_round(CacheView cache) {
  *cache.n_missing = 0;
  ++*cache.round;
}

__global__ void gather_kernel(CacheView cache, Sets sets, float* matrices) {
  const int a = blockIdx.x, p = blockIdx.y, count = sets.count[p];
  if (a >= count) return;
  const int* rows = sets.rows + p * kSet;
  const float* from = cache.values + static_cast<std::size_t>(cache.slot_of[rows[a]]) * cache.ld;
  float* to = matrices + (static_cast<std::size_t>(p) * kSet + a) * kSet;
  for (int b = threadIdx.x; b < count; b += blockDim.x) to[b] = from[rows[b]];
}

constexpr int kSumThreads = 128;

/// Each thread has four neighboring rows; kernel rows are read 16 bytes at a time.
__global__ __launch_bounds__(kSumThreads) void sum_cached_kernel(CacheView cache, Problems problems, Sets sets,
                                                                 double* part) {
  __shared__ const float* lines[kSumThreads];
  __shared__ double by[kSumThreads];
  const int t = threadIdx.x, p = blockIdx.y, parts = gridDim.z, total = sets.moved_count[p];
  const int each = (total + parts - 1) / parts, end = min(total, static_cast<int>(blockIdx.z + 1) * each);
  const int column = (blockIdx.x * kSumThreads + t) * 4;
  double sums[4] = {};
  for (int first = blockIdx.z * each; first < end; first += kSumThreads) {
    const int here = min(kSumThreads, end - first);
    __syncthreads();
    if (t < here) {
      lines[t] = cache.values + static_cast<std::size_t>(cache.slot_of[sets.moved[p * kSet + first + t]]) * cache.ld;
      by[t] = sets.by[p * kSet + first + t];
    }
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < here; ++k) {
      const float4 x = __ldg(reinterpret_cast<const float4*>(lines[k] + column));  // ld has room for whole blocks
      const double d = by[k];
      sums[0] += d * x.x, sums[1] += d * x.y, sums[2] += d * x.z, sums[3] += d * x.w;
    }
  }
  double* to = part + (static_cast<std::size_t>(blockIdx.z) * problems.problems + p) * problems.rows;
  for (int k = 0; k < 4; ++k)
    if (column + k < problems.rows) to[column + k] = sums[k];
}

}  // namespace

void claim(const CacheView& cache, const Sets& sets, int problems, cudaStream_t stream) {
  const dim3 grid(kSet / 256, problems);
  next_round<<<1, 1, 0, stream>>>(cache);
  stamp_rows<<<grid, 256, 0, stream>>>(cache, sets);
  take_slots<<<grid, 256, 0, stream>>>(cache, sets);
  publish_slots<<<blocks_for(static_cast<std::size_t>(problems) * kSet, 256), 256, 0, stream>>>(cache);
  check_launch("finding slots for kernel rows");
}

void gather(const CacheView& cache, const Sets& sets, int problems, float* matrices, cudaStream_t stream) {
  gather_kernel<<<dim3(kSet, problems), 256, 0, stream>>>(cache, sets, matrices);
  check_launch("gathering kernel matrices");
}

void sum_cached(const CacheView& cache, const Problems& problems, const Sets& sets, int parts, double* part,
                cudaStream_t stream) {
  const dim3 grid(blocks_for(problems.rows, 4 * kSumThreads), problems.problems, parts);
  sum_cached_kernel<<<grid, kSumThreads, 0, stream>>>(cache, problems, sets, part);
  check_launch("summing cached kernel rows");
}

}  // namespace everlearn::cuda
