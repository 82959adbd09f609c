// Numbers of 16 bits, in which rows can be stored: IEEE 754 binary16, 11 significant bits and at most 65504.
#pragma once

#include <bit>
#include <cstdint>

namespace everlearn {

struct Half {
  std::uint16_t bits = 0;

  Half() = default;
  /// Rounded once, to the nearest and ties to even; infinite from 65520 on. A float converts to double without loss.
  explicit Half(double value) {
    const auto all = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t sign = all >> 48 & 0x8000, size = all & ~(std::uint64_t{1} << 63);
    // Below 2^-14 steps are 2^-24, which is the last digit of numbers around 2^28.
    const std::uint64_t small = std::bit_cast<std::uint64_t>(std::bit_cast<double>(size) + 0x1p28) & 0xffff;
    const std::uint64_t rounded = (size + 0x1ffffffffff + (size >> 42 & 1)) >> 42;
    const std::uint64_t normal = rounded - (std::uint64_t{1023 - 15} << 10);
    const bool is_small = size < std::bit_cast<std::uint64_t>(0x1p-14);
    const bool too_large = size >= std::bit_cast<std::uint64_t>(65520.0);
    bits = static_cast<std::uint16_t>(sign | (is_small ? small : too_large ? 0x7c00 : normal));
  }

  /// Of a number that has been rounded: a few instructions instead of many.
  static Half of_rounded(float value) {
    const auto size = std::bit_cast<std::uint32_t>(value * 0x1p-112f);  // the exponents differ by 127 - 15
    Half half;
    half.bits = static_cast<std::uint16_t>((size >> 16 & 0x8000) | (size >> 13 & 0x7fff));
    return half;
  }

  /// The same number; of finite numbers only.
  explicit operator float() const {
    const std::uint32_t moved = std::uint32_t(bits & 0x7fffu) << 13;
    const float size = std::bit_cast<float>(moved) * 0x1p112f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) | std::uint32_t(bits & 0x8000u) << 16);
  }
};

}  // namespace everlearn
