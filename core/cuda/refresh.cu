#include "refresh.hpp"

#include <algorithm>
#include <vector>

namespace everlearn::cuda {
namespace {

constexpr int kParts = 4;
constexpr double kBand = 4;  // tolerances around the ends
constexpr int kMaxWidenings = 3;

__device__ inline double label_of(double edge) { return edge > 0 ? 1 : edge < 0 ? -1 : 0; }

/// Lists the rows of a problem that `wanted` names, in order; one block of 1024 threads.
template <class Wanted, class Take>
__device__ void list_rows(int rows, Wanted wanted, Take take, int* count) {
  __shared__ int sums[32];
  const int t = threadIdx.x, lane = t & 31;
  int base = 0;
  for (int from = 0; from < rows; from += 1024) {
    const int s = from + t;
    const bool yes = s < rows && wanted(s);
    const unsigned votes = __ballot_sync(~0u, yes);
    if (lane == 0) sums[t >> 5] = __popc(votes);
    __syncthreads();
    int place = base + __popc(votes & ((1u << lane) - 1)), total = 0;
    for (int w = 0; w < 32; ++w) {
      place += w < t >> 5 ? sums[w] : 0;
      total += sums[w];
    }
    if (yes) take(place, s);
    base += total;
    __syncthreads();
  }
  if (t == 0) *count = base;
}

__global__ __launch_bounds__(1024) void list_support_kernel(Problems problems, int* support, double* coefficients,
                                                            float* coefficients_float, int* count) {
  const std::size_t line = static_cast<std::size_t>(blockIdx.x) * problems.rows;
  list_rows(
      problems.rows, [&](int s) { return problems.alpha[line + s] != 0; },
      [&](int place, int s) {
        support[line + place] = s;
        coefficients[line + place] = problems.alpha[line + s];
        coefficients_float[line + place] = static_cast<float>(problems.alpha[line + s]);
      },
      &count[blockIdx.x]);
}

/// The steepest gradient of the rows that may rise, and the lowest of those that may fall.
__global__ __launch_bounds__(1024) void find_ends(Problems problems, double* ends) {
  __shared__ double highs[32], lows[32];
  const std::size_t line = static_cast<std::size_t>(blockIdx.x) * problems.rows;
  double high = -INFINITY, low = INFINITY;
  for (int s = threadIdx.x; s < problems.rows; s += 1024) {
    const double a = problems.alpha[line + s], edge = problems.edge[line + s], g = problems.g[line + s];
    if (a < fmax(edge, 0.0)) high = fmax(high, g);
    if (a > fmin(edge, 0.0)) low = fmin(low, g);
  }
  for (int o = 16; o; o >>= 1) {
    high = fmax(high, __shfl_xor_sync(~0u, high, o));
    low = fmin(low, __shfl_xor_sync(~0u, low, o));
  }
  if ((threadIdx.x & 31) == 0) highs[threadIdx.x >> 5] = high, lows[threadIdx.x >> 5] = low;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int w = 1; w < 32; ++w) high = fmax(high, highs[w]), low = fmin(low, lows[w]);
  ends[2 * blockIdx.x] = high, ends[2 * blockIdx.x + 1] = low;
}

__global__ __launch_bounds__(1024) void list_band(Problems problems, const double* ends, double width, int* band,
                                                  int* count) {
  const int p = blockIdx.x;
  const std::size_t line = static_cast<std::size_t>(p) * problems.rows;
  const double high = ends[2 * p], low = ends[2 * p + 1];
  list_rows(
      problems.rows,
      [&](int s) {
        const double a = problems.alpha[line + s], edge = problems.edge[line + s], g = problems.g[line + s];
        return (a < fmax(edge, 0.0) && g > low - width) || (a > fmin(edge, 0.0) && g < high + width);
      },
      [&](int place, int s) { band[line + place] = s; }, &count[p]);
}

__global__ void take_band(Problems problems, const int* band, const int* count, const double* sums, int parts,
                          unsigned long long* error) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x, p = blockIdx.y;
  if (k >= count[p]) return;
  const std::size_t line = static_cast<std::size_t>(p) * problems.rows, at = line + band[line + k];
  double g = label_of(problems.edge[at]);
  for (int part = 0; part < parts; ++part)
    g -= sums[(static_cast<std::size_t>(part) * problems.problems + p) * problems.rows + k];
  atomicMax(error, static_cast<unsigned long long>(__double_as_longlong(fabs(g - problems.g[at]))));
  problems.g[at] = g;
}

__global__ void take_all(Problems problems, const double* sums, int parts) {
  const int s = blockIdx.x * blockDim.x + threadIdx.x, p = blockIdx.y;
  if (s >= problems.rows) return;
  const std::size_t at = static_cast<std::size_t>(p) * problems.rows + s;
  double g = label_of(problems.edge[at]);
  for (int part = 0; part < parts; ++part)
    g -= sums[(static_cast<std::size_t>(part) * problems.problems + p) * problems.rows + s];
  problems.g[at] = g;
}

}  // namespace

Refresh::Refresh(const RowsView& rows, const KernelFunction& kernel, const Problems& problems, cudaStream_t stream)
    : rows_(rows),
      kernel_(kernel),
      problems_(problems),
      stream_(stream),
      support_(static_cast<std::size_t>(problems.problems) * problems.rows),
      n_support_(problems.problems),
      band_(support_.size()),
      n_band_(problems.problems),
      coefficients_(support_.size()),
      sums_(kParts * support_.size()),
      ends_(2 * problems.problems),
      coefficients_float_(support_.size()),
      error_(1) {}

double Refresh::operator()(bool all, double tau) {
  list_support_kernel<<<problems_.problems, 1024, 0, stream_>>>(problems_, support_.data(), coefficients_.data(),
                                                                coefficients_float_.data(), n_support_.data());
  check_launch("listing support vectors");
  if (all) {
    sum_rows(rows_,
             {support_.data(), coefficients_float_.data(), n_support_.data(), 0, problems_.problems, problems_.rows},
             rows_, kernel_, kParts, sums_.data(), stream_);
    take_all<<<dim3(blocks_for(problems_.rows, 256), problems_.problems), 256, 0, stream_>>>(problems_, sums_.data(),
                                                                                             kParts);
    check_launch("refreshing gradients");
  }
  // Rows outside of the band must stay outside: it is widened if the errors inside are not small beside it.
  double width = kBand * tau;
  for (int k = 0; k < kMaxWidenings; ++k) {
    const double error = mend_band(width);
    if (4 * error <= width) break;
    width = 8 * error;
  }
  return violation();
}

double Refresh::mend_band(double width) {
  find_ends<<<problems_.problems, 1024, 0, stream_>>>(problems_, ends_.data());
  error_.fill_bytes(0, stream_);
  list_band<<<problems_.problems, 1024, 0, stream_>>>(problems_, ends_.data(), width, band_.data(), n_band_.data());
  check_launch("listing rows near the ends");
  sum_exactly(rows_,
              {support_.data(), coefficients_.data(), n_support_.data(), problems_.problems, problems_.rows,
               band_.data(), n_band_.data()},
              kernel_, kParts, sums_.data(), stream_);
  take_band<<<dim3(blocks_for(problems_.rows, 256), problems_.problems), 256, 0, stream_>>>(
      problems_, band_.data(), n_band_.data(), sums_.data(), kParts, error_.data());
  check_launch("mending gradients");
  unsigned long long bits = 0;
  error_.to_host(&bits, 1, stream_);
  check(cudaStreamSynchronize(stream_), "mending gradients");
  double error;
  static_assert(sizeof error == sizeof bits);
  std::copy_n(reinterpret_cast<const char*>(&bits), sizeof bits, reinterpret_cast<char*>(&error));
  return error;
}

double Refresh::violation() {
  find_ends<<<problems_.problems, 1024, 0, stream_>>>(problems_, ends_.data());
  check_launch("looking for the ends");
  std::vector<double> ends(2 * problems_.problems);
  ends_.to_host(ends.data(), ends.size(), stream_);
  check(cudaStreamSynchronize(stream_), "looking for the ends");
  double worst = 0;
  for (int p = 0; p < problems_.problems; ++p) worst = std::max(worst, ends[2 * p] - ends[2 * p + 1]);
  return worst;
}

}  // namespace everlearn::cuda
