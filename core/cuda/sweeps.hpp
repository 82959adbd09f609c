// Sweeps of a cut under the linear kernel, K = X X': every sum of similarities is two products with the rows.
//
// Given w, q > 0 and a set A of k rows, a sweep replaces A by the k rows with the largest slopes w + 2 q K p, p = 1 on A,
// as long as F(A) = sum of w over A + q p'K p rises. (W. Emara, thesis, 2012, chapter III; `Choice` in Python.) Rows stay
// on the device; a sweep reads them twice, and that is what it costs.
#pragma once

#include <functional>
#include <vector>

#include "source.hpp"

namespace everlearn::cuda {

class LinearSweeps {
 public:
  /// Copies the rows to the device, or refers to them if they are there.
  explicit LinearSweeps(const Source& rows);

  /// out = X (X' weights); both have one line for each row, with `columns` entries.
  void times(const double* weights, int columns, double* out);

  /// The set that sweeps end with, as 0 or 1 for each row; empty if `interrupted`, which is asked after every sweep, says
  /// yes. Of rows with equal slopes the first are taken.
  std::vector<unsigned char> linearize(const double* w, double q, const unsigned char* start, std::size_t k,
                                       const std::function<bool()>& interrupted);

 private:
  void multiply(const double* weights, int columns, double* out);

  Stream stream_;
  Source rows_;
  Buffer<unsigned char> own_;
};

}  // namespace everlearn::cuda
