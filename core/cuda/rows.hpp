// Rows on the device, as tensor cores take them.
//
// Every entry x is multiplied by a power of two, so that the largest one is near 2^10, and split into two numbers of 16
// bits: x = high + low + r with |r| <= 2^-22 |x|. A product of rows is then high high + high low + low high, summed in
// float32; in columns where every low part is 0 (bytes, counts, one-hot columns), one product is exact. Columns are
// ordered so that the others come first. Entries that are k / 255 in float32, as pictures often are, count as k. Rows are
// filled up with zeros to whole chunks of 32 columns.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>
#include <vector>

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
  int split;           // columns from here on have low halves of 0
  float scale;         // what entries were multiplied by
};

class DeviceRows {
 public:
  /// Takes rows over. Rows that are compared with others must have their scale and their order of columns: those of
  /// `like`. `unit` divides each row by its length, for the cosine kernel. Rows come through `pump`, or a small one of
  /// their own.
  DeviceRows(const Source& source, const DeviceRows* like, bool unit, bool keep_exact, cudaStream_t stream,
             Pump* pump = nullptr);
  RowsView view() const;

 private:
  void order_columns(const float* exact, const DeviceRows* like, bool unit, bool grid, cudaStream_t stream);

  Buffer<__half> high_, low_;
  Buffer<float> norm_, exact_;
  Buffer<double> exact_norm_;
  std::size_t rows_;
  int columns_, width_;
  int split_ = 0;
  float scale_;
  std::vector<int> order_;
};

}  // namespace everlearn::cuda
