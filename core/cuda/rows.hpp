// Rows on the device, as tensor cores take them.
//
// Every entry x is multiplied by a power of two, so that the largest one is near 2^10, and split into two numbers of 16
// bits: x = high + low + r with |r| <= 2^-22 |x|. A product of rows is then high high + high low + low high, summed in
// float32; where every low part is 0 (bytes, counts, one-hot columns), one product is exact. Entries that are k / 255 in
// float32, as pictures often are, count as k. Rows are filled up with zeros to whole chunks of 32 columns.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "device.hpp"

namespace everlearn::cuda {

enum class Scalar { f64, f32, f16, u8 };

/// Rows in host or device memory: dense and row by row, or in compressed sparse rows if `starts` is given.
struct Source {
  const void* values = nullptr;
  Scalar scalar = Scalar::f32;
  std::size_t rows = 0, columns = 0;
  bool on_device = false;
  const std::int64_t* starts = nullptr;   // rows + 1 places
  const std::int32_t* indices = nullptr;  // columns of the values
};

constexpr int kChunk = 32;  // columns that are multiplied at once

struct RowsView {
  const __half* high;
  const __half* low;
  const float* norm;         // |x|^2 of the scaled row
  const float* exact;        // the entries in float32, not scaled, `columns` a row
  const double* exact_norm;  // |x|^2 of those
  std::size_t rows;
  int columns, width;  // width: columns with padding
  float scale;         // what entries were multiplied by
  bool has_low;        // some low half is not 0
};

class DeviceRows {
 public:
  /// Takes rows over. With `scale` 0 the scale is chosen by the largest entry; rows that are compared must have one
  /// scale. `unit` divides each row by its length, for the cosine kernel.
  DeviceRows(const Source& source, float scale, bool unit, bool keep_exact, cudaStream_t stream);
  RowsView view() const;

 private:
  Buffer<__half> high_, low_;
  Buffer<float> norm_, exact_;
  Buffer<double> exact_norm_;
  std::size_t rows_;
  int columns_, width_;
  float scale_;
  bool has_low_ = true;
};

}  // namespace everlearn::cuda
