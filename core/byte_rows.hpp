// Kernel values of rows whose values are whole multiples, 0 to 255, of one step: pictures, counts, flags.
//
//   K(a, b) = exp(-gamma step^2 |a' - b'|^2) for a = step a', b = step b'
//
// The distance of a' and b' is a whole number without rounding, from products of bytes, of which a processor makes four
// times as many an instruction as of floats. The values are as good as those of Rows, but not the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "arch/bytes.hpp"
#include "rows.hpp"

namespace everlearn {

/// The step of all values of a block; 0 if there is none, or if rows are so sparse that floats are faster.
double byte_step(const Block& block);

/// Kernel values between rows of a block that has a step.
class ByteRows {
 public:
  struct Sources {
    std::vector<std::int8_t> values;
    std::vector<std::uint32_t> norms;
  };
  struct Targets {
    AlignedVector<std::uint8_t> panels;
    std::vector<std::uint32_t> offsets;
    std::size_t size = 0;
  };

  ByteRows(const Block& block, double step, double gamma, const ByteLoops& loops);

  Sources sources(std::span<const std::int64_t> which) const;
  Targets targets(std::span<const std::int64_t> which) const;
  /// out[r][t] = K(source r, target t); rows of `out` have room for the targets, rounded up to whole panels.
  void evaluate(const Sources& sources, const Targets& targets, float* const* out) const;

 private:
  struct Sums {
    std::uint32_t values = 0, squares = 0;
  };
  Sums read(std::int64_t row, std::vector<std::uint8_t>& steps) const;

  Block block_;
  const ByteLoops& loops_;
  double per_step_, scale_;
  std::size_t quads_;
};

}  // namespace everlearn
