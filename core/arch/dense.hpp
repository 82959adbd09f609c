// Dense kernel blocks: a register-tiled matrix product over panels, mapped while it is in cache.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "arch/map.hpp"

namespace everlearn::EVERLEARN_ARCH {
namespace {

template <class T>
inline constexpr int kPanelVectors = static_cast<int>(kPanel) / kWidth<T>;

/// The most rows of `a` handled at once: as many accumulators as fit in the registers.
template <class T>
inline constexpr int kTallTile = std::max(1, (kRegisters * 3 / 4) / kPanelVectors<T>);

/// Panels handled at once with fewer rows: enough independent accumulators to hide the latency of an addition.
template <class T>
constexpr int panels_beside(int rows) {
  return std::clamp(kRegisters / 2 / (rows * kPanelVectors<T>), 1, 4);
}

/// sums[r][p * kPanel + l] = the pair sum of a_r and b_{p, l}, for `rows` packed rows and `panels` adjacent panels.
template <int rows, int panels, PairSum pair, class T, class Stored>
#if EVERLEARN_REGISTERS == 16
[[gnu::noinline]]  // else the constants of the map push accumulators out of the registers
#endif
inline void tile(const T* packed, const Stored* b, std::size_t panel_stride, std::size_t width, T* sums) {
  constexpr int vectors = panels * kPanelVectors<T>;
  Vec<T> sum[rows][vectors] = {};
  for (std::size_t k = 0; k < width; ++k) {
    Vec<T> bv[vectors];
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v)
      bv[v] = load_wide(b + (v / kPanelVectors<T>)*panel_stride + k * kPanel + (v % kPanelVectors<T>)*kWidth<T>);
#pragma GCC unroll 32
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < vectors; ++v) sum[r][v] = add_term<pair>(splat(packed[k * rows + r]), bv[v], sum[r][v]);
    }
  }
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < vectors; ++v) store(sums + r * panels * kPanel + v * kWidth<T>, sum[r][v]);
}

template <int rows, class T>
void pack(const T* a, std::size_t width, T* packed) {
  for (std::size_t k = 0; k < width; ++k)
    for (int r = 0; r < rows; ++r) packed[k * rows + r] = a[r * width + k];
}

/// `rows` rows of `a` from `first` on, against panels [p0, p1), `panels` of them at a time.
template <KernelKind kind, int rows, int panels, class T, class Out, class Stored>
void strip(const DenseJob<T, Out, Stored>& job, const T* packed, std::size_t first, std::size_t p0, std::size_t p1) {
  // Distances from norms and pair sums lose digits far from the origin, and exact values must not.
  constexpr KernelTraits traits = traits_of(kind);
  constexpr bool distances = traits.of_distance && std::is_same_v<Out, double>;
  constexpr PairSum pair = distances ? difference_of(traits.pair) : traits.pair;
  const std::size_t stride = kPanel * job.width;
  T sums[rows * panels * kPanel];
  Out values[kPanel];
  for (std::size_t p = p0; p < p1; p += panels) {
    const bool whole = p + panels <= p1;
    const int count = whole ? panels : static_cast<int>(p1 - p);
    if (whole) {
      tile<rows, panels, pair>(packed, job.panels + p * stride, stride, job.width, sums);
    } else {
      for (int q = 0; q < count; ++q) {
        T one[rows * kPanel];
        tile<rows, 1, pair>(packed, job.panels + (p + q) * stride, stride, job.width, one);
        for (int r = 0; r < rows; ++r) std::copy_n(one + r * kPanel, kPanel, sums + (r * panels + q) * kPanel);
      }
    }
    for (int r = 0; r < rows; ++r)
      for (int q = 0; q < count; ++q) {
        const std::size_t at = (p + q) * kPanel;
        map_panel<kind, distances>(job.kernel, sums + (r * panels + q) * kPanel, job.a_norms[first + r], job.norms + at,
                                   values);
        put_lanes(values, at, job.begin, job.end, job.out[first + r]);
      }
  }
}

template <KernelKind kind, int rows, class T, class Out, class Stored>
void strips(const DenseJob<T, Out, Stored>& job, std::size_t& done, std::vector<T>& packed) {
  constexpr int panels = panels_beside<T>(rows);
  const std::size_t count = (job.m - done) / rows;
  if (count == 0) return;
  packed.resize(std::max<std::size_t>(packed.size(), count * rows * job.width));
  for (std::size_t t = 0; t < count; ++t)
    pack<rows>(job.a + (done + t * rows) * job.width, job.width, packed.data() + t * rows * job.width);
  // A group of panels stays in the second-level cache while all rows pass over it.
  constexpr std::size_t kGroupBytes = 256 * 1024;
  const std::size_t panel_bytes = std::max<std::size_t>(1, kPanel * job.width * sizeof(Stored));
  const std::size_t group = std::max<std::size_t>(panels, kGroupBytes / panel_bytes / panels * panels);
  const std::size_t first = job.begin / kPanel, last = (job.end + kPanel - 1) / kPanel;
  for (std::size_t p0 = first; p0 < last; p0 += group)
    for (std::size_t t = 0; t < count; ++t)
      strip<kind, rows, panels>(job, packed.data() + t * rows * job.width, done + t * rows, p0,
                                std::min(p0 + group, last));
  done += count * rows;
}

template <class T, class Out, class Stored>
void dense(const DenseJob<T, Out, Stored>& job) {
  if (job.end <= job.begin || job.m == 0) return;
  thread_local std::vector<T> packed;
  std::size_t done = 0;
  with_kind(job.kernel.kind, [&]<KernelKind kind>() {
    constexpr int tall = kTallTile<T>;
    strips<kind, tall>(job, done, packed);
    if constexpr (tall > 8) strips<kind, 8>(job, done, packed);
    if constexpr (tall > 4) strips<kind, 4>(job, done, packed);
    if constexpr (tall > 2) strips<kind, 2>(job, done, packed);
    if constexpr (tall > 1) strips<kind, 1>(job, done, packed);
  });
  // The scratch outlives every machine: no row may stay in it.
  std::fill_n(packed.begin(), std::min(packed.size(), job.m * job.width), T(0));
}

}  // namespace
}  // namespace everlearn::EVERLEARN_ARCH
