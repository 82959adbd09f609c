// Sparse kernel blocks: a few rows are spread out column by column, then every kept row walks its own non-zero entries
// and meets all of them at once, one term a register.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "aligned.hpp"
#include "arch/map.hpp"

namespace everlearn::EVERLEARN_ARCH {
namespace {

/// Rows spread out at once: no more than eight accumulators, which leaves registers for the rest.
template <class T>
inline constexpr int kLanes = std::min(64, 8 * kWidth<T>);

/// Above this the spread rows are addressed through a table of the columns that occur in them.
inline constexpr std::size_t kSpreadBytes = 512u << 10;

/// Spread rows that take more than this are met range by range of their columns, if a kept row has this many entries
/// in a range, and by so many kept rows before the next range. Measured on mnist (784 columns, 150 entries): 5.1 ns a
/// kernel value, 6.4 in one range.
inline constexpr std::size_t kRangeBytes = 72u << 10, kRangeEntries = 16, kGroup = 128;

/// The spread rows of one tile: position[c] is the line of column c, line 0 is all zeros. Without the
/// table (few columns) column c has line c + 1. Lines are zero again after clear().
template <class T, int lanes>
struct Spread {
  AlignedVector<T> lines;
  std::vector<std::int32_t> position;
  bool indirect = false;

  void fill(const CsrView<T>& a, std::size_t first, std::size_t count, std::size_t width) {
    indirect = width * lanes * sizeof(T) > kSpreadBytes;
    const std::size_t least = (indirect ? 1 : width + 1) * lanes;  // line 0 is read even if all rows are empty
    if (lines.size() < least) lines.resize(least, T(0));
    if (indirect && position.size() < width) position.resize(width, 0);
    std::int32_t used = 1;
    for (std::size_t r = 0; r < count; ++r)
      for (auto e = a.starts[first + r]; e < a.starts[first + r + 1]; ++e) {
        const std::int32_t column = a.columns[e];
        std::int32_t line = column + 1;
        if (indirect) {
          if (position[column] == 0) position[column] = used++;
          line = position[column];
          const std::size_t needed = (static_cast<std::size_t>(line) + 1) * lanes;
          if (lines.size() < needed) lines.resize(2 * needed, T(0));
        }
        lines[static_cast<std::size_t>(line) * lanes + r] = a.values[e];
      }
  }

  void clear(const CsrView<T>& a, std::size_t first, std::size_t count) {
    for (std::size_t r = 0; r < count; ++r)
      for (auto e = a.starts[first + r]; e < a.starts[first + r + 1]; ++e) {
        const std::int32_t line = indirect ? position[a.columns[e]] : a.columns[e] + 1;
        lines[static_cast<std::size_t>(line) * lanes + r] = T(0);
      }
    if (indirect)
      for (std::size_t r = 0; r < count; ++r)
        for (auto e = a.starts[first + r]; e < a.starts[first + r + 1]; ++e) position[a.columns[e]] = 0;
  }
};

template <bool indirect, int lanes, class T>
inline const T* line_of(const Spread<T, lanes>& spread, std::int32_t column) {
  const std::int32_t line = indirect ? spread.position[column] : column + 1;
  return spread.lines.data() + static_cast<std::size_t>(line) * lanes;
}

/// sums[lane] = the pair sum of a_lane and a kept row, whose entries are [e, end).
template <PairSum pair, bool indirect, int lanes, class T>
inline void meet(const Spread<T, lanes>& spread, const CsrView<T>& kept, std::int64_t e, std::int64_t end, T* sums) {
  constexpr int vectors = lanes / kWidth<T>;
  Vec<T> sum[vectors] = {};
  for (; e < end; ++e) {
    const T* at = line_of<indirect>(spread, kept.columns[e]);
    const Vec<T> value = splat(kept.values[e]);
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) sum[v] = add_term<pair>(value, load<Vec<T>>(at + v * kWidth<T>), sum[v]);
  }
  for (int v = 0; v < vectors; ++v) store(sums + v * kWidth<T>, sum[v]);
}

/// The same for the entries whose columns are below `limit`, on top of `sums`. Returns the entry after them.
template <PairSum pair, int lanes, class T>
inline std::int64_t meet_below(std::int32_t limit, const Spread<T, lanes>& spread, const CsrView<T>& kept,
                               std::int64_t e, std::int64_t end, T* sums) {
  constexpr int vectors = lanes / kWidth<T>;
  Vec<T> sum[vectors];
#pragma GCC unroll 16
  for (int v = 0; v < vectors; ++v) sum[v] = load<Vec<T>>(sums + v * kWidth<T>);
  for (; e < end && kept.columns[e] < limit; ++e) {
    const T* at = line_of<false>(spread, kept.columns[e]);
    const Vec<T> value = splat(kept.values[e]);
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) sum[v] = add_term<pair>(value, load<Vec<T>>(at + v * kWidth<T>), sum[v]);
  }
#pragma GCC unroll 16
  for (int v = 0; v < vectors; ++v) store(sums + v * kWidth<T>, sum[v]);
  return e;
}

/// sums[l] = the pair sum of a and kept_{s + l}, for four kept rows at once: their chains of additions overlap.
template <PairSum pair, bool indirect, class T>
inline void meet_four(const Spread<T, 1>& spread, const CsrView<T>& kept, std::size_t s, T* sums) {
  std::int64_t at[4], common = kept.starts[s + 1] - kept.starts[s];
  for (int l = 0; l < 4; ++l) {
    at[l] = kept.starts[s + l];
    common = std::min(common, kept.starts[s + l + 1] - at[l]);
  }
  T sum[4] = {};
  const auto add = [&](int l, std::int64_t e) {
    sum[l] = add_term<pair>(kept.values[e], *line_of<indirect>(spread, kept.columns[e]), sum[l]);
  };
  for (std::int64_t e = 0; e < common; ++e) {
#pragma GCC unroll 4
    for (int l = 0; l < 4; ++l) add(l, at[l] + e);
  }
  for (int l = 0; l < 4; ++l) {
    for (std::int64_t e = at[l] + common; e < kept.starts[s + l + 1]; ++e) add(l, e);
    sums[l] = sum[l];
  }
}

/// Kernel values of a tile of spread rows with kept rows [begin, end), where sums_of(s) gives the pair sums of kept row
/// s. The map runs along the spread rows, which is the same as along the kept ones because kernels are symmetric; then
/// squares are turned into rows of the result.
template <KernelKind kind, int lanes, class T, class Sums>
inline void put_tile(const SparseJob<T>& job, std::size_t first, std::size_t count, std::size_t begin, std::size_t end,
                     Sums&& sums_of) {
  constexpr std::size_t w = kWidth<float>;
  T a_norms[lanes] = {};
  std::copy_n(job.a.norms + job.a_begin + first, count, a_norms);
  float values[w][lanes];
  for (std::size_t at = begin; at < end; at += w) {
    const std::size_t rows = std::min(w, end - at);
    for (std::size_t l = 0; l < rows; ++l) {
      const T* sums = sums_of(at + l);
      for (std::size_t p = 0; p < lanes; p += kPanel)
        map_panel<kind>(job.kernel, sums + p, job.kept.norms[at + l], a_norms + p, values[l] + p);
    }
    for (std::size_t r0 = 0; r0 < count; r0 += w) {
      Vec<float> square[w];
      for (std::size_t l = 0; l < w; ++l) square[l] = load<Vec<float>>(values[l] + r0);
      transpose(square);
      for (std::size_t r = r0; r < std::min(r0 + w, count); ++r)
        std::memcpy(job.out[first + r] + at, &square[r - r0], rows * sizeof(float));
    }
  }
}

/// A tile of spread rows against all kept rows.
template <KernelKind kind, bool indirect, int lanes, class T>
void sweep(const SparseJob<T>& job, const Spread<T, lanes>& spread, std::size_t first, std::size_t count) {
  constexpr PairSum pair = traits_of(kind).pair;
  T sums[lanes];
  put_tile<kind, lanes>(job, first, count, job.begin, job.end, [&](std::size_t s) {
    meet<pair, indirect>(spread, job.kept, job.kept.starts[s], job.kept.starts[s + 1], sums);
    return sums;
  });
}

/// The number of ranges of columns in which a tile is met: one, unless its lines are large and kept rows have enough
/// entries to pay for more.
template <int lanes, class T>
std::size_t ranges_of(const SparseJob<T>& job) {
  const std::size_t ranges = (job.width * lanes * sizeof(T) + kRangeBytes - 1) / kRangeBytes;
  const auto entries = static_cast<std::size_t>(job.kept.starts[job.end] - job.kept.starts[job.begin]);
  return entries < kRangeEntries * ranges * (job.end - job.begin) ? 1 : ranges;
}

/// The same in ranges of columns: a group of kept rows meets the lines of one range, which mostly stay in the
/// first-level cache, before those of the next.
template <KernelKind kind, int lanes, class T>
void sweep_ranges(const SparseJob<T>& job, const Spread<T, lanes>& spread, std::size_t first, std::size_t count,
                  std::size_t ranges) {
  constexpr PairSum pair = traits_of(kind).pair;
  T sums[kGroup][lanes];
  std::int64_t next[kGroup];
  for (std::size_t at = job.begin; at < job.end; at += kGroup) {
    const std::size_t rows = std::min(kGroup, job.end - at);
    std::fill_n(sums[0], rows * lanes, T(0));
    std::copy_n(job.kept.starts + at, rows, next);
    for (std::size_t range = 1; range <= ranges; ++range) {
      const auto limit = static_cast<std::int32_t>(job.width * range / ranges);
      for (std::size_t l = 0; l < rows; ++l)
        next[l] = meet_below<pair>(limit, spread, job.kept, next[l], job.kept.starts[at + l + 1], sums[l]);
    }
    put_tile<kind, lanes>(job, first, count, at, at + rows, [&](std::size_t s) { return sums[s - at]; });
  }
}

/// One row against all kept rows.
template <KernelKind kind, bool indirect, class T, class Out>
void sweep_one(const SparseJob<T, Out>& job, const Spread<T, 1>& spread, std::size_t first) {
  constexpr PairSum pair = traits_of(kind).pair;
  T sums[kPanel] = {}, norms[kPanel] = {};
  Out values[kPanel];
  for (std::size_t at = job.begin; at < job.end; at += kPanel) {
    const std::size_t rows = std::min(kPanel, job.end - at);
    std::size_t l = 0;
    for (; l + 4 <= rows; l += 4) meet_four<pair, indirect>(spread, job.kept, at + l, sums + l);
    for (; l < rows; ++l) {
      T sum = 0;
      for (auto e = job.kept.starts[at + l]; e < job.kept.starts[at + l + 1]; ++e)
        sum = add_term<pair>(job.kept.values[e], *line_of<indirect>(spread, job.kept.columns[e]), sum);
      sums[l] = sum;
    }
    std::copy_n(job.kept.norms + at, rows, norms);
    map_panel<kind>(job.kernel, sums, job.a.norms[job.a_begin + first], norms, values);
    std::memcpy(job.out[first] + at, values, rows * sizeof(Out));
  }
}

template <KernelKind kind, int lanes, class T, class Out>
void tiles(const SparseJob<T, Out>& job, std::size_t& done, std::size_t least) {
  thread_local Spread<T, lanes> spread;
  while (job.m - done >= least) {
    const std::size_t count = std::min<std::size_t>(lanes, job.m - done);
    spread.fill(job.a, job.a_begin + done, count, job.width);
    const auto meet_all = [&]<bool indirect>() {
      if constexpr (lanes == 1) sweep_one<kind, indirect>(job, spread, done);
      else if (const std::size_t ranges = indirect ? 1 : ranges_of<lanes>(job); ranges > 1)
        sweep_ranges<kind>(job, spread, done, count, ranges);
      else sweep<kind, indirect>(job, spread, done, count);
    };
    if (spread.indirect) meet_all.template operator()<true>();
    else meet_all.template operator()<false>();
    spread.clear(job.a, job.a_begin + done, count);
    done += count;
  }
}

template <class T, class Out>
void sparse(const SparseJob<T, Out>& job) {
  if (job.end <= job.begin) return;
  std::size_t done = 0;
  with_kind(job.kernel.kind, [&]<KernelKind kind>() {
    if constexpr (std::is_same_v<Out, float>) tiles<kind, kLanes<T>>(job, done, kLanes<T> / 4);
    tiles<kind, 1>(job, done, 1);
  });
}

}  // namespace

void sparse_f32(const SparseJob<float>& job) { sparse(job); }
void sparse_f64(const SparseJob<double>& job) { sparse(job); }
void sparse_exact(const SparseJob<double, double>& job) { sparse(job); }

}  // namespace everlearn::EVERLEARN_ARCH
