// Rows as they come: in host or device memory, in one of four types, and how they reach the device.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>

#include "device.hpp"

namespace everlearn::cuda {

enum class Scalar { f64, f32, f16, u8 };

/// Rows in host or device memory: dense and row by row, or in compressed sparse rows if `starts` is given. Rows in device
/// memory are complete: whoever wrote them has been waited for.
struct Source {
  const void* values = nullptr;
  Scalar scalar = Scalar::f32;
  std::size_t rows = 0, columns = 0;
  bool on_device = false;
  const std::int64_t* starts = nullptr;   // rows + 1 places
  const std::int32_t* indices = nullptr;  // columns of the values
  const double* shift = nullptr;          // subtracted from every row; one entry a column, in host memory

  std::size_t entry_bytes() const {
    constexpr std::size_t kBytes[] = {8, 4, 2, 1};
    return kBytes[static_cast<int>(scalar)];
  }
  std::size_t line() const { return columns * entry_bytes(); }
  Source part(std::size_t first, std::size_t count) const;
};

/// Rows with an entry that is NaN or too large for the numbers that the device computes with.
struct NotFinite : std::invalid_argument {
  NotFinite() : std::invalid_argument("rows or kernel values do not fit into the numbers of the device") {}
};

/// What is done with a piece of the rows: its entries in device memory, in the type of the source, dense and without the
/// shift; its first row and the number of rows.
using Look = std::function<void(const void* entries, std::size_t first, std::size_t count)>;

/// Looks at all rows, a piece at a time, in their order. Rows in host memory come through `pump`; without one, several
/// threads copy them, and take turns to look.
void for_pieces(const Source& source, cudaStream_t stream, Pump* pump, const Look& look);

}  // namespace everlearn::cuda
