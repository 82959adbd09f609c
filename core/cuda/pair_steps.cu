// Pair steps on working sets: one thread block a problem.
//
// The chain of a step is what costs time: find the steepest row i that may rise, look at all partners j that may fall,
// take the one with the largest gain (g_i - g_j)^2 / curvature, move both, follow with all gradients of the set. A
// candidate's place rides in the low bits of its key, so that one reduction over a warp names it. The first row is then
// the steepest but for the last ten bits of its gradient, which changes the order of steps, not where they lead.
#include "working_set.hpp"

namespace everlearn::cuda {
namespace {

constexpr int kThreads = kSet / 4, kWarps = kThreads / 32, kEach = kSet / kThreads;
constexpr unsigned kPlace = kSet - 1;
constexpr float kFlat = 1e-7f;  // the least curvature of a pair

__device__ inline unsigned ordered(float x) {
  const unsigned bits = __float_as_uint(x);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__device__ inline float unordered(unsigned bits) {
  return __uint_as_float(bits & 0x80000000u ? bits & 0x7fffffffu : ~bits);
}
__device__ inline unsigned largest(unsigned x) { return __reduce_max_sync(~0u, x); }

struct Four {
  float of[kEach];
};
static_assert(kEach == 4);
__device__ inline Four four(const float* from) {
  const float4 x = *reinterpret_cast<const float4*>(from);
  return {x.x, x.y, x.z, x.w};
}

__global__ __launch_bounds__(kThreads, 1) void step_pairs_kernel(Problems problems, Sets sets, const float* matrices,
                                                                 float tau, float share, int max_steps) {
  __shared__ __align__(16) float slope[2][kSet], row_i[kSet], own[kSet];
  __shared__ double alpha[kSet], edge[kSet];
  __shared__ uint2 ends[kWarps];
  __shared__ unsigned gains[kWarps];
  __shared__ int moved[kWarps];
  const int p = blockIdx.x, t = threadIdx.x, lane = t & 31, warp = t >> 5, count = sets.count[p];
  const int* rows = sets.rows + p * kSet;
  const std::size_t line = static_cast<std::size_t>(p) * problems.rows;
  const float* matrix = matrices + static_cast<std::size_t>(p) * kSet * kSet;
  const float tolerance = fmaxf(0.5f * tau, share * sets.violation[p]);

  float g[kEach], diagonal[kEach];
  unsigned may = 0;  // bit k: entry k of this thread may rise; bit 16 + k: it may fall
  for (int k = 0; k < kEach; ++k) {
    const int v = t * kEach + k;
    g[k] = 0, diagonal[k] = 0, alpha[v] = edge[v] = 0, own[v] = 0;
    if (v >= count) continue;
    const std::size_t at = line + rows[v];
    g[k] = static_cast<float>(problems.g[at]);
    own[v] = diagonal[k] = problems.diagonal[rows[v]];
    alpha[v] = problems.alpha[at], edge[v] = problems.edge[at];
    if (alpha[v] < fmax(edge[v], 0.0)) may |= 1u << k;
    if (alpha[v] > fmin(edge[v], 0.0)) may |= 0x10000u << k;
  }
  int steps = 0, last_i = -1, last_j = -1, side = 0;
  double last_alpha_i = 0, last_alpha_j = 0;  // of the last step; written to shared memory one step late
  __syncthreads();
  for (; count > 1 && steps < max_steps; ++steps, side ^= 1) {
    unsigned up = 0, down = 0;
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const unsigned o = ordered(g[k]);
      up = max(up, may >> k & 1 ? (o & ~kPlace) | (t * kEach + k) : 0u);
      down = max(down, may >> (16 + k) & 1 ? ~o : 0u);
    }
    up = largest(up), down = largest(down);
    if (lane == 0) ends[warp] = make_uint2(up, down);
    *reinterpret_cast<float4*>(&slope[side][t * kEach]) = make_float4(g[0], g[1], g[2], g[3]);
    __syncthreads();
    const uint2 end = lane < kWarps ? ends[lane] : make_uint2(0u, 0u);
    up = largest(end.x), down = largest(end.y);
    const int i = up & kPlace;
    const Four ki = four(matrix + i * kSet + t * kEach);
    const float gi = slope[side][i], own_i = own[i];
    const double alpha_i = i == last_i ? last_alpha_i : i == last_j ? last_alpha_j : alpha[i];
    const double upper = fmax(edge[i], 0.0), room_i = upper - alpha_i;
    if (up == 0 || down == 0 || !(gi - unordered(~down) > tolerance)) break;
    if (t == 0 && last_i >= 0) alpha[last_i] = last_alpha_i, alpha[last_j] = last_alpha_j;
    if (warp == 1) {  // the steepest row of the other warps is often next: its kernel values should be near by then
      const unsigned second = largest(end.x == up ? 0u : end.x);
      asm volatile("prefetch.global.L1 [%0];" ::"l"(matrix + (second & kPlace) * kSet + lane * (kSet / 32)));
    }
    unsigned gain = 0;
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const float b = gi - g[k], curvature = fmaxf(own_i + diagonal[k] - 2 * ki.of[k], kFlat);
      const unsigned key = (__float_as_uint(__fdividef(b * b, curvature)) & ~kPlace) | (t * kEach + k);
      gain = max(gain, (may >> (16 + k) & 1) && b > 0 ? key : 0u);
    }
    gain = largest(gain);
    if (lane == 0) gains[warp] = gain;
    *reinterpret_cast<float4*>(&row_i[t * kEach]) = make_float4(ki.of[0], ki.of[1], ki.of[2], ki.of[3]);
    __syncthreads();
    gain = largest(lane < kWarps ? gains[lane] : 0u);
    if (gain == 0) break;
    const int j = gain & kPlace;
    const Four kj = four(matrix + j * kSet + t * kEach);
    const double alpha_j = alpha[j], lower = fmin(edge[j], 0.0), room_j = alpha_j - lower;
    const float wanted = __fdividef(gi - slope[side][j], fmaxf(own_i + own[j] - 2 * row_i[j], kFlat));
    const double length = fmin(fmin(static_cast<double>(wanted), room_i), room_j);
    last_i = i, last_j = j;
    last_alpha_i = length == room_i ? upper : alpha_i + length;
    last_alpha_j = length == room_j ? lower : alpha_j - length;
    if (i / kEach == t)
      may = (may & ~(0x10001u << i % kEach)) | (last_alpha_i < upper ? 1u << i % kEach : 0) | 0x10000u << i % kEach;
    if (j / kEach == t)
      may = (may & ~(0x10001u << j % kEach)) | (last_alpha_j > lower ? 0x10000u << j % kEach : 0) | 1u << j % kEach;
#pragma unroll
    for (int k = 0; k < kEach; ++k) g[k] -= static_cast<float>(length) * (ki.of[k] - kj.of[k]);
  }
  __syncthreads();
  if (t == 0 && last_i >= 0) alpha[last_i] = last_alpha_i, alpha[last_j] = last_alpha_j;
  __syncthreads();

  // What has moved, in the order of the set.
  int mine = 0;
  double before[kEach];
  for (int k = 0; k < kEach; ++k) {
    const int v = t * kEach + k;
    before[k] = v < count ? problems.alpha[line + rows[v]] : 0;
    mine += v < count && alpha[v] != before[k];
  }
  int through = mine;
  for (int o = 1; o < 32; o <<= 1) {
    const int other = __shfl_up_sync(~0u, through, o);
    if (lane >= o) through += other;
  }
  if (lane == 31) moved[warp] = through;
  __syncthreads();
  int at = through - mine, total = 0;
  for (int w = 0; w < kWarps; ++w) {
    at += w < warp ? moved[w] : 0;
    total += moved[w];
  }
  for (int k = 0; k < kEach; ++k) {
    const int v = t * kEach + k;
    if (v >= count || alpha[v] == before[k]) continue;
    const int place = p * kSet + at++;
    sets.moved[place] = rows[v], sets.to[place] = alpha[v];
    sets.by[place] = alpha[v] - before[k], sets.by_float[place] = static_cast<float>(alpha[v] - before[k]);
  }
  if (t == 0) sets.moved_count[p] = total, atomicAdd(sets.steps, static_cast<unsigned long long>(steps));
}

__global__ void move_alpha(Problems problems, Sets sets) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x, p = blockIdx.y;
  if (k >= sets.moved_count[p]) return;
  problems.alpha[static_cast<std::size_t>(p) * problems.rows + sets.moved[p * kSet + k]] = sets.to[p * kSet + k];
}

__global__ void move_gradients(Problems problems, const double* part, int parts) {
  const int s = blockIdx.x * blockDim.x + threadIdx.x, p = blockIdx.y;
  if (s >= problems.rows) return;
  double sum = 0;
  for (int k = 0; k < parts; ++k)
    sum += part[(static_cast<std::size_t>(k) * problems.problems + p) * problems.rows + s];
  problems.g[static_cast<std::size_t>(p) * problems.rows + s] -= sum;
}

}  // namespace

void step_pairs(const Problems& problems, const Sets& sets, const float* matrices, float tau, float share,
                int max_steps, cudaStream_t stream) {
  step_pairs_kernel<<<problems.problems, kThreads, 0, stream>>>(problems, sets, matrices, tau, share, max_steps);
  check_launch("pair steps");
}

void move(const Problems& problems, const Sets& sets, const double* part, int parts, float* scores,
          cudaStream_t stream) {
  move_alpha<<<dim3(kSet / 256, problems.problems), 256, 0, stream>>>(problems, sets);
  move_gradients<<<dim3(blocks_for(problems.rows, 256), problems.problems), 256, 0, stream>>>(problems, part, parts);
  check_launch("moving gradients");
  score(problems, scores, stream);
}

}  // namespace everlearn::cuda
