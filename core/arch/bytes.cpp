// Compiled once for each instruction set that has byte_loops_named() in arch/loops.cpp.
#include "arch/bytes.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "arch/map.hpp"

#define EVERLEARN_TEXT_OF(name) #name
#define EVERLEARN_TEXT(name) EVERLEARN_TEXT_OF(name)

namespace everlearn::EVERLEARN_ARCH {
namespace {

/// Bytes of a panel in one quad of columns.
constexpr std::size_t kPanelQuad = kPanel * kQuad;

#ifdef __AVX512VNNI__
/// A sum for each row of a panel.
using Sums = __m512i;
inline Sums add_quad(Sums sums, Sums b, std::int32_t a) { return _mm512_dpbusd_epi32(sums, b, _mm512_set1_epi32(a)); }
inline Sums load_quad(const std::uint8_t* b) { return _mm512_loadu_si512(b); }
constexpr int kTallBytes = 12, kPanelsBeside = 2;
#else
struct Sums {
  std::int32_t lane[kPanel];
};
inline const std::uint8_t* load_quad(const std::uint8_t* b) { return b; }
inline Sums add_quad(Sums sums, const std::uint8_t* b, std::int32_t a) {
  std::int8_t factors[kQuad];
  std::memcpy(factors, &a, sizeof a);
  for (std::size_t l = 0; l < kPanel; ++l)
    for (std::size_t k = 0; k < kQuad; ++k) sums.lane[l] += factors[k] * b[l * kQuad + k];
  return sums;
}
constexpr int kTallBytes = 4, kPanelsBeside = 1;
#endif

/// out[l] = exp(-scale d) of the squared distances d = |a|^2 + |b_l|^2 - 2 a b_l, which are computed modulo 2^32.
inline void put(const std::uint32_t* products, std::uint32_t a_norm, const std::uint32_t* offsets, float scale,
                float* out) {
  float apart[kPanel];
  for (std::size_t l = 0; l < kPanel; ++l)
    apart[l] = static_cast<float>(static_cast<std::int32_t>(a_norm + offsets[l] - 2 * products[l]));
  for (std::size_t l = 0; l < kPanel; l += kWidth<float>)
    store(out + l, exp_lanes(-scale * load<Vec<float>>(apart + l)));
}

template <int rows, int panels>
void tile(const ByteJob& job, const std::int32_t* packed, std::size_t first, std::size_t p0) {
  const std::uint8_t* b = job.panels + p0 * job.quads * kPanelQuad;
  const std::size_t quads = job.quads;
  Sums sum[rows][panels] = {};
  for (std::size_t q = 0; q < quads; ++q) {
    decltype(load_quad(b)) beside[panels];
#pragma GCC unroll 4
    for (int p = 0; p < panels; ++p) beside[p] = load_quad(b + (p * quads + q) * kPanelQuad);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int p = 0; p < panels; ++p) sum[r][p] = add_quad(sum[r][p], beside[p], packed[q * rows + r]);
    }
  }
  std::uint32_t products[rows][panels][kPanel];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int p = 0; p < panels; ++p) store(products[r][p], sum[r][p]);
  }
  for (int r = 0; r < rows; ++r)
    for (int p = 0; p < panels; ++p)
      put(products[r][p], job.a_norms[first + r], job.offsets + (p0 + p) * kPanel, job.scale,
          job.out[first + r] + (p0 + p) * kPanel);
}

/// As many strips of `rows` rows as there are from row `done` on, against all panels; a panel stays in the cache while
/// all rows pass over it.
template <int rows>
void strips(const ByteJob& job, std::size_t& done, std::vector<std::int32_t>& packed) {
  const std::size_t count = (job.m - done) / rows, panels = (job.n + kPanel - 1) / kPanel, strip = job.quads * rows;
  packed.resize(count * strip);
  for (std::size_t t = 0; t < count; ++t)
    for (int r = 0; r < rows; ++r) {
      const std::int8_t* row = job.a + (done + t * rows + r) * job.quads * kQuad;
      for (std::size_t q = 0; q < job.quads; ++q)
        std::memcpy(&packed[t * strip + q * rows + r], row + q * kQuad, kQuad);
    }
  const auto pass = [&]<int beside>(std::size_t p) {
    for (std::size_t t = 0; t < count; ++t) tile<rows, beside>(job, packed.data() + t * strip, done + t * rows, p);
  };
  std::size_t p = 0;
  for (; p + kPanelsBeside <= panels; p += kPanelsBeside) pass.template operator()<kPanelsBeside>(p);
  for (; p < panels; ++p) pass.template operator()<1>(p);
  done += count * rows;
}

void rbf(const ByteJob& job) {
  std::vector<std::int32_t> packed;
  std::size_t done = 0;
  strips<kTallBytes>(job, done, packed);
  if constexpr (kTallBytes > 8) strips<8>(job, done, packed);
  if constexpr (kTallBytes > 4) strips<4>(job, done, packed);
  strips<1>(job, done, packed);
}

}  // namespace

extern const ByteLoops byte_table;
constinit const ByteLoops byte_table{rbf, EVERLEARN_TEXT(EVERLEARN_ARCH)};

}  // namespace everlearn::EVERLEARN_ARCH
