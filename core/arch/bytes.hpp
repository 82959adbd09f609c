// Squared distances between rows of bytes, as loops over whole numbers.
//
// The sum of the products of two rows is a whole number, exact in any order of additions. Instructions that multiply
// bytes take one unsigned and one signed factor: b is kept as it is, a less 128, and sum_k 128 b_k is added again.
#pragma once

#include <cstddef>
#include <cstdint>

namespace everlearn {

/// Columns that are multiplied at once.
inline constexpr std::size_t kQuad = 4;
/// Columns of the widest rows: the squared distance of two rows of bytes must fit into 31 bits.
inline constexpr std::size_t kMostByteColumns = 33000;

/// The rows `a` against panels of rows b: out[r][s] = exp(-scale |a_r - b_s|^2). Panels are those of dense rows
/// (kernels.hpp), but with four columns of a row side by side; columns are filled up with zeros to a multiple of four.
struct ByteJob {
  const std::int8_t* a;          // row-major, less 128
  const std::uint32_t* a_norms;  // |a|^2
  std::size_t m, quads;
  const std::uint8_t* panels;
  const std::uint32_t* offsets;  // |b|^2 - 256 sum_k b_k
  std::size_t n;
  float scale;
  float* const* out;  // room for n, rounded up to whole panels
};

struct ByteLoops {
  void (*rbf)(const ByteJob&);
  const char* name;
};

/// The loops for this machine, and whether they are faster than those for floats.
const ByteLoops& byte_loops();
bool bytes_are_fast();

/// The loops of a named instruction set ("baseline", "vnni"); null if this machine lacks it.
const ByteLoops* byte_loops_named(const char* name);

}  // namespace everlearn
