// The one loop behind every decision function: kernel values of the caller's rows with kept rows, a tile at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "rows.hpp"
#include "threads.hpp"

namespace everlearn {

/// Kernel values K(row_at(r0 + r), slot s0 + s) = lines[r][s] for r < rows and s < slots.
template <class Value>
struct Tile {
  std::size_t r0, rows, s0, slots;
  const Value* const* lines;
  bool first, last;  // of the tiles of these rows
};

/// The largest number of rows and slots in a tile.
struct TileShape {
  std::size_t rows, slots;
};

/// Kernel values below which one thread computes them all.
inline constexpr std::size_t kSmallScore = 50000;

/// Computes the kernel values of some rows of a block with all kept rows, as float or (rows in double precision only)
/// as double. There are `count` of them, row_at(0), row_at(1), ...; tiles have their positions in this list. Each thread
/// gets its own consumer from make_consumer() and calls consumer(tile) for its rows: slots in ascending order, and once
/// with no slots if no row is kept.
template <class Value, class RowAt, class MakeConsumer>
void for_each_tile(const Rows& kept, const Block& block, std::size_t count, RowAt&& row_at, int threads,
                   TileShape shape, MakeConsumer&& make_consumer) {
  const std::size_t n = kept.size();
  parallel_ranges(count * n < kSmallScore ? 1 : threads, count, shape.rows, [&](std::size_t begin, std::size_t end) {
    const std::size_t width = std::min(shape.slots, n);
    std::vector<Value> values(shape.rows * width);
    std::vector<Value*> lines(shape.rows), out(shape.rows);
    for (std::size_t r = 0; r < shape.rows; ++r) lines[r] = values.data() + r * width;
    std::vector<std::int64_t> which;
    auto consume = make_consumer();
    for (std::size_t r0 = begin; r0 < end; r0 += shape.rows) {
      const std::size_t rows = std::min(shape.rows, end - r0);
      which.clear();
      for (std::size_t r = r0; r < r0 + rows; ++r) which.push_back(row_at(r));
      const auto batch = kept.take(block, which);
      std::size_t s0 = 0;
      do {
        const std::size_t s1 = std::min(s0 + shape.slots, n);
        for (std::size_t r = 0; r < rows; ++r) out[r] = lines[r] - s0;
        if constexpr (std::is_same_v<Value, float>) kept.evaluate(*batch, 0, rows, s0, s1, out.data());
        else kept.evaluate_exactly(*batch, 0, rows, s0, s1, out.data());
        consume(Tile<Value>{r0, rows, s0, s1 - s0, lines.data(), s0 == 0, s1 == n});
        s0 = s1;
      } while (s0 < n);
    }
  });
}

/// The same for all rows of a block.
template <class Value, class MakeConsumer>
void for_each_tile(const Rows& kept, const Block& block, int threads, TileShape shape, MakeConsumer&& make_consumer) {
  const auto same = [](std::size_t r) { return static_cast<std::int64_t>(r); };
  for_each_tile<Value>(kept, block, block.rows, same, threads, shape, make_consumer);
}

/// Sums of kernel values between rows of the caller's block, for `columns` sets of weights:
///   sums[targets[t] * columns + c] += sum_j weights[c * sources.size() + j] K(sources[j], targets[t]).
/// The rows are prepared as those of `like`, which gives the kernel. With the step of the rows from byte_step(), which
/// only rows that take_bytes() can have, kernel values are not the same bits as those of `like`, but rounded as little.
void add_kernel_sums(const Rows& like, const Block& block, std::span<const std::int64_t> sources,
                     std::span<const double> weights, std::span<const std::int64_t> targets, std::size_t columns,
                     int threads, double* sums, double step = 0);

/// Whether sums can be computed in bytes (byte_rows.hpp), fast or not.
bool take_bytes(const Rows& rows);

}  // namespace everlearn
