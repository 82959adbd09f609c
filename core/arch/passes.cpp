// The passes over gradients: what a step of a solver costs.
#include <bit>
#include <limits>

#include "arch/loops.hpp"
#include "arch/vec.hpp"

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace everlearn::EVERLEARN_ARCH {
namespace {

typedef std::int64_t VecL __attribute__((vector_size(kVectorBytes)));
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
inline Lanes greater(Lanes among, VecD a, VecD b) {
  return _mm256_blendv_pd(splat(-kInf), a, (__m256d)among) > b;
}
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

/// Runs value(s), the gradients of slots s .. s + kW, over all slots and returns their extremes.
template <class F>
inline Extremes extremes(const std::uint8_t* gate, std::size_t n, F&& value) {
  LaneExtremes best[kChains];
  VecL slot = slots_from(0);
  for (std::size_t s = 0; s < n; s += kChains * kW) {
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c, slot += kW) best[c].see(value(s + c * kW), gate + s + c * kW, slot);
  }
  for (int c = 1; c < kChains; ++c) best[0].merge(best[c]);
  return best[0].reduce();
}

}  // namespace

Extremes step(double* g, const std::uint8_t* gate, const float* ki, const float* kj, double length,
              std::size_t n) {
  return extremes(gate, n, [=](std::size_t s) {
    const VecD value = load<VecD>(g + s) - length * (widen(ki + s) - widen(kj + s));
    store(g + s, value);
    return value;
  });
}

Extremes scan(const double* g, const std::uint8_t* gate, std::size_t n) {
  return extremes(gate, n, [=](std::size_t s) { return load<VecD>(g + s); });
}

double dot(const float* k, const double* coefficients, std::size_t n) {
  VecD sum[4] = {};
  std::size_t s = 0;
  for (; s + 4 * kW <= n; s += 4 * kW)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sum[v] += widen(k + s + v * kW) * load<VecD>(coefficients + s + v * kW);
  double total = 0;
  for (; s < n; ++s) total += k[s] * coefficients[s];
  const VecD folded = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  for (int l = 0; l < kW; ++l) total += folded[l];
  return total;
}

void rank_update(double* g, const float* const* rows, const double* steps, std::size_t count,
                 std::size_t begin, std::size_t end) {
  constexpr std::size_t kChunk = 512;  // of gradients, so that they stay in the first-level cache
  for (std::size_t at = begin; at < end; at += kChunk) {
    const std::size_t stop = at + kChunk < end ? at + kChunk : end;
    std::size_t r = 0;
    for (; r + 4 <= count; r += 4) {
      const float *k0 = rows[r], *k1 = rows[r + 1], *k2 = rows[r + 2], *k3 = rows[r + 3];
      std::size_t s = at;
      for (; s + kW <= stop; s += kW) {
        VecD value = load<VecD>(g + s);
        value -= steps[r] * widen(k0 + s);
        value -= steps[r + 1] * widen(k1 + s);
        value -= steps[r + 2] * widen(k2 + s);
        value -= steps[r + 3] * widen(k3 + s);
        store(g + s, value);
      }
      for (; s < stop; ++s) {
        double value = g[s];
        value -= steps[r] * k0[s];
        value -= steps[r + 1] * k1[s];
        value -= steps[r + 2] * k2[s];
        value -= steps[r + 3] * k3[s];
        g[s] = value;
      }
    }
    for (; r < count; ++r)
      for (std::size_t s = at; s < stop; ++s) g[s] -= steps[r] * rows[r][s];
  }
}

std::int64_t second_order(const double* g, const std::uint8_t* gate, const float* ki, const float* diagonal,
                          double kii, double high, std::size_t n) {
  // Gains are compared as fractions, fall^2 / curvature, without dividing.
  struct Chain {
    VecD gain = {}, curvature = splat(1.0);
    VecL slot = VecL{} - 1;
  } best[kChains];
  VecL slot = slots_from(0);
  const VecD least = splat(1e-12);
  for (std::size_t at = 0; at < n; at += kChains * kW) {
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c, slot += kW) {
      const std::size_t s = at + c * kW;
      const VecD fall = larger(high - load<VecD>(g + s), VecD{});  // above `high` there is no gain
      const VecD squared = fall * fall;
      const VecD curvature = larger(kii + widen(diagonal + s) - 2.0 * widen(ki + s), least);
      const Lanes better = greater(may(gate + s, kMayFall), squared * best[c].curvature, best[c].gain * curvature);
      best[c].gain = pick(better, squared, best[c].gain);
      best[c].curvature = pick(better, curvature, best[c].curvature);
      best[c].slot = pick(better, slot, best[c].slot);
    }
  }
  std::int64_t winner = -1;
  double most = 0;
  for (const Chain& chain : best)
    for (int l = 0; l < kW; ++l) {
      const double gain = chain.gain[l] / chain.curvature[l];
      if (chain.slot[l] >= 0 && (gain > most || (gain == most && chain.slot[l] < winner))) {
        most = gain;
        winner = chain.slot[l];
      }
    }
  return winner;
}

}  // namespace everlearn::EVERLEARN_ARCH
