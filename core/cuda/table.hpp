// What must be known of rows before they are learned, and some of them back in host memory.
#pragma once

#include <vector>

#include "source.hpp"

namespace everlearn::cuda {

struct Summary {
  double sum = 0;      // of all entries
  double squares = 0;  // of all entries minus the center
  double longest = 0;  // largest squared length of a row
  bool finite = true;
};

/// Sums are made in a fixed order: the same rows give the same bits.
Summary summarize(const Source& source, double center);

/// Copies rows of a source in device memory to `out` in host memory, as float or double.
template <class Out>
void take(const Source& source, const std::vector<std::int64_t>& rows, Out* out);

}  // namespace everlearn::cuda
