// Random numbers whose whole state is four words, so that it can be saved.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace everlearn {

/// xoshiro256** (Blackman and Vigna, 2018).
struct Generator {
  std::array<std::uint64_t, 4> state{1, 2, 3, 4};

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state[1] * 5, 7) * 9, shifted = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = std::rotl(state[3], 45);
    return result;
  }

  /// Uniform on [0, n), without bias.
  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t limit = std::numeric_limits<std::uint64_t>::max() / n * n;
    std::uint64_t draw = next();
    while (draw >= limit) draw = next();
    return draw % n;
  }
};

}  // namespace everlearn
