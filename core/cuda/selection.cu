// The steepest rows of each side, sorted, and the working sets composed from them.
//
// A row's key has 64 bits: its score, so ordered that keys compare like scores, then its number, turned around, so that
// of equal scores the first row wins and no two keys are equal. The keys from which the steepest are collected are found
// 11 bits at a time by counting, until at most kCandidates are left.
#include <climits>

#include "working_set.hpp"

namespace everlearn::cuda {
namespace {

constexpr int kBits = 11, kBins = 1 << kBits, kPasses = 6;  // 6 x 11 >= 64

__device__ inline unsigned ordered(float x) {
  const unsigned bits = __float_as_uint(x);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__device__ inline float score_of(unsigned long long key) {
  const unsigned bits = static_cast<unsigned>(key >> 32);
  return __uint_as_float(bits & 0x80000000u ? bits & 0x7fffffffu : ~bits);
}
__device__ inline unsigned long long key_of(float score, int row) {
  return static_cast<unsigned long long>(ordered(score)) << 32 | (0xffffffffu - static_cast<unsigned>(row));
}
__device__ inline int row_of(unsigned long long key) {
  return static_cast<int>(0xffffffffu - static_cast<unsigned>(key));
}
__device__ inline int shift_of(int pass) { return pass == kPasses - 1 ? 0 : 64 - kBits * (pass + 1); }

/// State of a side: [0] finished, [1] how many of the keys with the prefix are still wanted.
__global__ void count_keys(const float* scores, int rows, int pass, const unsigned long long* prefix, const int* state,
                           unsigned* histogram) {
  __shared__ unsigned bins[kBins];
  const int side = blockIdx.y;
  if (state[side * 2]) return;
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) bins[b] = 0;
  __syncthreads();
  const int shift = shift_of(pass), above = pass == 0 ? 64 : shift_of(pass - 1);
  const unsigned long long wanted = prefix[side];
  for (int s = blockIdx.x * blockDim.x + threadIdx.x; s < rows; s += gridDim.x * blockDim.x) {
    const unsigned long long key = key_of(scores[static_cast<std::size_t>(side) * rows + s], s);
    if (above == 64 || key >> above == wanted >> above) atomicAdd(&bins[key >> shift & (kBins - 1)], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += blockDim.x)
    if (bins[b]) atomicAdd(&histogram[side * kBins + b], bins[b]);
}

/// Finds the bin of the last key that is wanted.
__global__ __launch_bounds__(1024) void narrow(int pass, unsigned* histogram, unsigned long long* prefix, int* state,
                                               int* found) {
  __shared__ unsigned sums[32];
  __shared__ int bin_found;
  const int side = blockIdx.x, t = threadIdx.x, lane = t & 31;
  if (pass == 0 && t == 0) state[side * 2] = 0, state[side * 2 + 1] = kSide, found[side] = 0;
  __syncthreads();
  if (state[side * 2]) return;
  if (t == 0) bin_found = -1;
  const int want = state[side * 2 + 1];
  // Thread t has bins kBins - 1 - 2t and the one below, so that sums run from the highest key down.
  unsigned* bins = histogram + side * kBins;
  const int high = kBins - 1 - 2 * t;
  const unsigned first = bins[high], second = bins[high - 1];
  unsigned sum = first + second;
  for (int o = 1; o < 32; o <<= 1) {
    const unsigned other = __shfl_up_sync(~0u, sum, o);
    if (lane >= o) sum += other;
  }
  if (lane == 31) sums[t >> 5] = sum;
  __syncthreads();
  unsigned before = sum - first - second;
  for (int w = 0; w < t >> 5; ++w) before += sums[w];
  __syncthreads();
  const auto look = [&](int bin, unsigned here, unsigned ahead) {
    if (static_cast<int>(ahead) >= want || static_cast<int>(ahead + here) < want) return;
    bin_found = bin;
    prefix[side] = (pass == 0 ? 0ull : prefix[side]) | static_cast<unsigned long long>(bin) << shift_of(pass);
    state[side * 2 + 1] = want - static_cast<int>(ahead);
    // Keys above the prefix: kSide minus those still wanted.
    if (kSide - (want - static_cast<int>(ahead)) + static_cast<int>(here) <= kCandidates || pass == kPasses - 1)
      state[side * 2] = 1;
  };
  look(high, first, before);
  look(high - 1, second, before + first);
  __syncthreads();
  bins[high] = bins[high - 1] = 0;
  if (t == 0 && bin_found < 0)
    state[side * 2] = 1, prefix[side] = pass == 0 ? 0ull : prefix[side];  // fewer than wanted
}

__global__ void collect(const float* scores, int rows, const unsigned long long* prefix, unsigned long long* candidates,
                        int* found) {
  const int side = blockIdx.y;
  const unsigned long long from = prefix[side];
  for (int s = blockIdx.x * blockDim.x + threadIdx.x; s < rows; s += gridDim.x * blockDim.x) {
    const unsigned long long key = key_of(scores[static_cast<std::size_t>(side) * rows + s], s);
    if (key < from) continue;
    const int at = atomicAdd(&found[side], 1);
    if (at < kCandidates) candidates[side * kCandidates + at] = key;
  }
}

/// Sorts kCandidates keys in shared memory, largest first.
__device__ void sort_keys(unsigned long long* keys) {
  const int t = threadIdx.x;
  for (int size = 2; size <= kCandidates; size <<= 1)
    for (int stride = size >> 1; stride; stride >>= 1) {
      __syncthreads();
      if (t < kCandidates / 2) {
        const int low = 2 * t - (t & (stride - 1)), other = low + stride;
        const unsigned long long a = keys[low], b = keys[other];
        if ((a < b) == ((low & size) == 0)) keys[low] = b, keys[other] = a;
      }
    }
  __syncthreads();
}

/// One block of 1024 threads a problem. A candidate has a rank; of several candidates that are the same row the one
/// with the lowest rank counts. mark[s] is INT_MAX outside of this kernel.
__global__ __launch_bounds__(1024) void compose_sets(Problems problems, Sets sets, const unsigned long long* candidates,
                                                     const int* found, float tau, int* mark) {
  __shared__ unsigned long long up[kCandidates], down[kCandidates];
  __shared__ int last[kSet], sums[32];
  const int p = blockIdx.x, t = threadIdx.x, lane = t & 31, n_up = min(found[p], kCandidates);
  const int n_down = min(found[problems.problems + p], kCandidates);
  up[t] = t < n_up ? candidates[p * kCandidates + t] : 0;
  down[t] = t < n_down ? candidates[(problems.problems + p) * kCandidates + t] : 0;
  const std::size_t line = static_cast<std::size_t>(p) * problems.rows;
  int* set = sets.rows + p * kSet;
  if (t < kSet) last[t] = t < sets.count[p] ? set[t] : -1;
  sort_keys(up);
  sort_keys(down);
  const float high = n_up ? score_of(up[0]) : -INFINITY, low = n_down ? -score_of(down[0]) : INFINITY;
  const float violation = high > low ? high - low : 0;
  if (t == 0) sets.violation[p] = violation;
  constexpr int kFirst = kSet / 4, kSteepest = 2 * kFirst, kRanks = kSteepest + kSet + 2 * (kSide - kFirst);
  const auto candidate = [&](int rank) -> int {
    if (rank < kSteepest || rank >= kSteepest + kSet) {
      const int e = rank < kSteepest ? rank : rank - kSet, k = e >> 1;
      const unsigned long long key = e & 1 ? down[k] : up[k];
      const float score = score_of(key);
      if (k >= (e & 1 ? n_down : n_up) || !(e & 1 ? score > tau - high : score > low + tau)) return -1;
      return row_of(key);
    }
    const int s = last[rank - kSteepest];
    if (s < 0) return -1;
    const double a = problems.alpha[line + s], edge = problems.edge[line + s];
    return a != 0 && a != edge ? s : -1;
  };
  int* marks = mark + line;
  const int ranks = violation > tau ? kRanks : 0;
  for (int rank = t; rank < ranks; rank += 1024)
    if (const int s = candidate(rank); s >= 0) atomicMin(&marks[s], rank);
  __syncthreads();
  int base = 0;
  for (int from = 0; from < ranks && base < kSet; from += 1024) {
    const int rank = from + t, s = rank < ranks ? candidate(rank) : -1;
    const bool taken = s >= 0 && atomicAdd(&marks[s], 0) == rank;
    const unsigned votes = __ballot_sync(~0u, taken);
    if (lane == 0) sums[t >> 5] = __popc(votes);
    __syncthreads();
    int place = base + __popc(votes & ((1u << lane) - 1)), total = 0;
    for (int w = 0; w < 32; ++w) {
      place += w < t >> 5 ? sums[w] : 0;
      total += sums[w];
    }
    if (taken && place < kSet) set[place] = s;
    base += total;
    __syncthreads();
  }
  for (int rank = t; rank < ranks; rank += 1024)
    if (const int s = candidate(rank); s >= 0) marks[s] = INT_MAX;
  if (t == 0) sets.count[p] = min(base, kSet);
}

__global__ void score_rows(Problems problems, float* scores) {
  const int s = blockIdx.x * blockDim.x + threadIdx.x, p = blockIdx.y;
  if (s >= problems.rows) return;
  const std::size_t at = static_cast<std::size_t>(p) * problems.rows + s;
  const double a = problems.alpha[at], edge = problems.edge[at], g = problems.g[at];
  const double upper = edge > 0 ? edge : 0, lower = edge > 0 ? 0 : edge;
  scores[at] = a < upper ? static_cast<float>(g) : -INFINITY;
  scores[static_cast<std::size_t>(problems.problems) * problems.rows + at] =
      a > lower ? static_cast<float>(-g) : -INFINITY;
}

__global__ void fill(int* values, std::size_t count, int value) {
  for (std::size_t k = blockIdx.x * blockDim.x + threadIdx.x; k < count; k += gridDim.x * blockDim.x) values[k] = value;
}

}  // namespace

Selection::Selection(int problems, int rows, cudaStream_t stream)
    : scores_(2 * static_cast<std::size_t>(problems) * rows),
      histogram_(2 * static_cast<std::size_t>(problems) * kBins),
      threshold_(2 * problems),
      candidates_(2 * static_cast<std::size_t>(problems) * kCandidates),
      state_(4 * problems),
      found_(2 * problems),
      mark_(static_cast<std::size_t>(problems) * rows),
      problems_(problems),
      rows_(rows) {
  histogram_.fill_bytes(0, stream), state_.fill_bytes(0, stream), threshold_.fill_bytes(0, stream);
  fill<<<1024, 256, 0, stream>>>(mark_.data(), mark_.size(), INT_MAX);
  check_launch("starting a selection");
}

void Selection::compose(const Problems& problems, const Sets& sets, float tau, cudaStream_t stream) {
  const int sides = 2 * problems_;
  const dim3 grid(min(blocks_for(rows_, 2048), max(1, 528 / sides)), sides);
  state_.fill_bytes(0, stream);
  for (int pass = 0; pass < kPasses; ++pass) {
    count_keys<<<grid, 512, 0, stream>>>(scores_.data(), rows_, pass, threshold_.data(), state_.data(),
                                         histogram_.data());
    narrow<<<sides, 1024, 0, stream>>>(pass, histogram_.data(), threshold_.data(), state_.data(), found_.data());
  }
  collect<<<grid, 512, 0, stream>>>(scores_.data(), rows_, threshold_.data(), candidates_.data(), found_.data());
  compose_sets<<<problems_, 1024, 0, stream>>>(problems, sets, candidates_.data(), found_.data(), tau, mark_.data());
  check_launch("composing working sets");
}

void score(const Problems& problems, float* scores, cudaStream_t stream) {
  score_rows<<<dim3(blocks_for(problems.rows, 256), problems.problems), 256, 0, stream>>>(problems, scores);
  check_launch("scoring rows");
}

}  // namespace everlearn::cuda
