// Gradients a register at a time: which lanes may move, and the extremes among them.
#pragma once

#include <bit>
#include <limits>

#include "arch/passes.hpp"
#include "arch/vec.hpp"

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace everlearn::EVERLEARN_ARCH {

using VecD = Vec<double>;
constexpr int kW = kWidth<double>;
constexpr double kInf = std::numeric_limits<double>::infinity();

inline VecD widen(const float* p) {
#if defined(__AVX512F__) || !defined(__SSE2__)
  return __builtin_convertvector(load<HalfVecF>(p), VecD);
#elif defined(__AVX2__)  // spelled out, because GCC converts shorter vectors piece by piece
  return _mm256_cvtps_pd(_mm_loadu_ps(p));
#else
  return _mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#endif
}

inline VecD widen(const double* p) { return load<VecD>(p); }

/// A yes or no for each lane, and what is done with it: mask registers where there are any.
#if defined(__AVX512F__)
using Lanes = __mmask8;
inline Lanes may(const std::uint8_t* gate, std::uint8_t bit) {
  const __m128i bits = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(gate));
  return static_cast<Lanes>(_mm_test_epi8_mask(bits, _mm_set1_epi8(static_cast<char>(bit))));
}
inline Lanes greater(Lanes among, VecD a, VecD b) {
  return _mm512_mask_cmp_pd_mask(among, (__m512d)a, (__m512d)b, _CMP_GT_OQ);
}
inline VecD pick(Lanes yes, VecD a, VecD b) { return (VecD)_mm512_mask_mov_pd((__m512d)b, yes, (__m512d)a); }
inline VecL pick(Lanes yes, VecL a, VecL b) { return (VecL)_mm512_mask_mov_epi64((__m512i)b, yes, (__m512i)a); }
#elif defined(__AVX2__)
using Lanes = VecL;
/// The answers of may() are sign bits, which is all that blendv looks at; those of greater() are whole lanes.
inline Lanes may(const std::uint8_t* gate, std::uint8_t bit) {
  const __m256i bits = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(load<std::int32_t>(gate)));
  return (VecL)_mm256_slli_epi64(bits, 64 - std::bit_width(bit));
}
inline Lanes greater(Lanes among, VecD a, VecD b) { return _mm256_blendv_pd(splat(-kInf), a, (__m256d)among) > b; }
inline VecD pick(Lanes yes, VecD a, VecD b) { return yes ? a : b; }
inline VecL pick(Lanes yes, VecL a, VecL b) { return yes ? a : b; }
#else
using Lanes = VecL;
/// From a table, which is shorter than any way that SSE2 has of widening bytes.
inline Lanes may(const std::uint8_t* gate, std::uint8_t bit) {
  static constexpr std::int64_t kAnswers[] = {0, -1, -1};
  return VecL{kAnswers[gate[0] & bit], kAnswers[gate[1] & bit]};
}
inline Lanes greater(Lanes among, VecD a, VecD b) { return among & (a > b); }
/// Bit by bit, because SSE2 compares no 64-bit integers and GCC would take ?: lane by lane.
inline VecL pick(Lanes yes, VecL a, VecL b) { return (yes & a) | (~yes & b); }
inline VecD pick(Lanes yes, VecD a, VecD b) { return (VecD)pick(yes, (VecL)a, (VecL)b); }
#endif

/// The extremes seen so far in each lane.
struct LaneExtremes {
  VecD high = splat(-kInf), low = splat(kInf);
  VecL up = VecL{} - 1, down = VecL{} - 1;

  inline void see(VecD g, const std::uint8_t* gate, VecL slot) {
    const Lanes higher = greater(may(gate, kMayRise), g, high);
    high = pick(higher, g, high);
    up = pick(higher, slot, up);
    const Lanes lower = greater(may(gate, kMayFall), low, g);
    low = pick(lower, g, low);
    down = pick(lower, slot, down);
  }

  void merge(const LaneExtremes& other) {
    const VecL higher = (other.high > high) | ((other.high == high) & (other.up < up));
    high = higher ? other.high : high;
    up = higher ? other.up : up;
    const VecL lower = (other.low < low) | ((other.low == low) & (other.down < down));
    low = lower ? other.low : low;
    down = lower ? other.down : down;
  }

  Extremes reduce() const {
    Extremes best{-kInf, kInf, -1, -1};
    for (int l = 0; l < kW; ++l) {
      if (up[l] >= 0 && (high[l] > best.high || (high[l] == best.high && up[l] < best.up))) {
        best.high = high[l];
        best.up = up[l];
      }
      if (down[l] >= 0 && (low[l] < best.low || (low[l] == best.low && down[l] < best.down))) {
        best.low = low[l];
        best.down = down[l];
      }
    }
    return best;
  }
};

inline VecL slots_from(std::int64_t first) {
  VecL slots{};
  for (int l = 0; l < kW; ++l) slots[l] = first + l;
  return slots;
}

/// Independent chains of comparisons, so that one need not wait for the other, in half of the registers.
constexpr int kChains = kRegisters / 8;
static_assert(kPad % (kChains * kW) == 0);

/// Runs value(s, chain), the gradients of slots s .. s + kW, over all slots and returns their extremes.
template <class F>
inline Extremes extremes(const std::uint8_t* gate, std::size_t n, F&& value) {
  LaneExtremes best[kChains];
  VecL slot = slots_from(0);
  for (std::size_t s = 0; s < n; s += kChains * kW) {
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c, slot += kW) best[c].see(value(s + c * kW, c), gate + s + c * kW, slot);
  }
  for (int c = 1; c < kChains; ++c) best[0].merge(best[c]);
  return best[0].reduce();
}

}  // namespace everlearn::EVERLEARN_ARCH
