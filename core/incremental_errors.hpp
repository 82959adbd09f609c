// What can go wrong on the way to an exact solution.
#pragma once

#include <cstddef>

namespace everlearn {

/// More steps than the algorithm can need: rounding has led it in circles. The column is then solved from scratch.
struct Stuck {};

/// The kernel of a slot with the margin set cannot be that of a positive semi-definite kernel.
struct IndefiniteKernel {
  std::size_t slot;
  explicit IndefiniteKernel(std::size_t s) : slot(s) {}
};

}  // namespace everlearn
