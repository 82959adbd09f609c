// Rows on the device, as tensor cores take them.
//
// Every entry x is multiplied by a power of two, so that the largest one is near 2^10, and split into two numbers of 16
// bits: x = high + low + r with |r| <= 2^-22 |x|, or 2^-35 of the largest entry where that is more. A product of rows is
// then high high + high low + low high, summed in float32; in columns where every low part is 0 (bytes, counts, one-hot
// columns), one product has all bits. Columns are ordered so that the others come first. Entries that are k / 255 in float32, as pictures often are, count as k. Rows are
// filled up with zeros to whole chunks of 32 columns.
#pragma once

#include <cuda_fp16.h>

#include <vector>

#include "source.hpp"

namespace everlearn::cuda {

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
  /// their own. Raises NotFinite.
  DeviceRows(const Source& source, const DeviceRows* like, bool unit, bool keep_exact, cudaStream_t stream,
             Pump* pump = nullptr);
  RowsView view() const;

 private:
  void read(const Source& source, float* exact, cudaStream_t stream, Pump* pump);
  void order_columns(const float* exact, const DeviceRows* like, bool unit, cudaStream_t stream);

  Buffer<__half> high_, low_;
  Buffer<float> norm_, exact_;
  Buffer<double> exact_norm_;
  std::size_t rows_;
  int columns_, width_;
  int split_ = 0;
  float scale_;
  float largest_ = 0;  // magnitude of an entry
  bool grid_ = false;  // whether all entries are k / 255
  std::vector<int> order_;
};

}  // namespace everlearn::cuda
