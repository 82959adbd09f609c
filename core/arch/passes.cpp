// The passes over gradients: what a step on a pair of coefficients costs, and what all solvers share.
#include "arch/lanes.hpp"

namespace everlearn::EVERLEARN_ARCH {

Extremes step(double* g, const std::uint8_t* gate, const float* ki, const float* kj, double length, std::size_t n) {
  return extremes(gate, n, [=](std::size_t s, int) {
    const VecD value = subtract_product(load<VecD>(g + s), splat(length), widen(ki + s) - widen(kj + s));
    store(g + s, value);
    return value;
  });
}

Extremes scan(const double* g, const std::uint8_t* gate, std::size_t n) {
  return extremes(gate, n, [=](std::size_t s, int) { return load<VecD>(g + s); });
}

namespace {

template <class K>
double sum_of_products(const K* k, const double* coefficients, std::size_t n) {
  VecD sum[4] = {};
  std::size_t s = 0;
  for (; s + 4 * kW <= n; s += 4 * kW)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v)
      sum[v] = multiply_add(widen(k + s + v * kW), load<VecD>(coefficients + s + v * kW), sum[v]);
  double total = 0;
  for (; s < n; ++s) total = multiply_add(double(k[s]), coefficients[s], total);
  const VecD folded = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  for (int l = 0; l < kW; ++l) total += folded[l];
  return total;
}

template <class K>
void update(double* g, const K* const* rows, const double* steps, std::size_t count, std::size_t begin,
            std::size_t end) {
  constexpr std::size_t kChunk = 512;  // of gradients, so that they stay in the first-level cache
  for (std::size_t at = begin; at < end; at += kChunk) {
    const std::size_t stop = at + kChunk < end ? at + kChunk : end;
    std::size_t r = 0;
    for (; r + 4 <= count; r += 4) {
      const K *k0 = rows[r], *k1 = rows[r + 1], *k2 = rows[r + 2], *k3 = rows[r + 3];
      std::size_t s = at;
      for (; s + kW <= stop; s += kW) {
        VecD value = load<VecD>(g + s);
        value = subtract_product(value, splat(steps[r]), widen(k0 + s));
        value = subtract_product(value, splat(steps[r + 1]), widen(k1 + s));
        value = subtract_product(value, splat(steps[r + 2]), widen(k2 + s));
        value = subtract_product(value, splat(steps[r + 3]), widen(k3 + s));
        store(g + s, value);
      }
      for (; s < stop; ++s) {
        double value = g[s];
        value = subtract_product(value, steps[r], double(k0[s]));
        value = subtract_product(value, steps[r + 1], double(k1[s]));
        value = subtract_product(value, steps[r + 2], double(k2[s]));
        value = subtract_product(value, steps[r + 3], double(k3[s]));
        g[s] = value;
      }
    }
    for (; r < count; ++r)
      for (std::size_t s = at; s < stop; ++s) g[s] = subtract_product(g[s], steps[r], double(rows[r][s]));
  }
}

}  // namespace

double dot(const float* k, const double* coefficients, std::size_t n) { return sum_of_products(k, coefficients, n); }
double dot_exact(const double* a, const double* b, std::size_t n) { return sum_of_products(a, b, n); }

void transpose(const float* from, std::size_t from_stride, std::size_t rows, std::size_t columns, float* to,
               std::size_t to_stride) {
  constexpr std::size_t w = kWidth<float>;
  const auto one_by_one = [&](std::size_t r0, std::size_t r1, std::size_t c0, std::size_t c1) {
    for (std::size_t c = c0; c < c1; ++c)
      for (std::size_t r = r0; r < r1; ++r) to[c * to_stride + r] = from[r * from_stride + c];
  };
  const std::size_t whole_rows = rows / w * w, whole_columns = columns / w * w;
  for (std::size_t c = 0; c < whole_columns; c += w)
    for (std::size_t r = 0; r < whole_rows; r += w) {
      Vec<float> square[w];
      for (std::size_t l = 0; l < w; ++l) square[l] = load<Vec<float>>(from + (r + l) * from_stride + c);
      transpose(square);
      for (std::size_t l = 0; l < w; ++l) store(to + (c + l) * to_stride + r, square[l]);
    }
  one_by_one(whole_rows, rows, 0, columns);
  one_by_one(0, whole_rows, whole_columns, columns);
}

std::size_t compress(const float* from, const std::uint8_t* stays, std::size_t n, float* to) {
  std::size_t s = 0, t = 0;
#ifdef __AVX512F__
  // Whole registers are stored: what is behind the values that stay is overwritten by the next ones.
  for (; s + 16 <= n; s += 16) {
    const __m128i flags = _mm_loadu_si128(reinterpret_cast<const __m128i*>(stays + s));
    const __mmask16 mask = _mm_test_epi8_mask(flags, flags);
    _mm512_storeu_ps(to + t, _mm512_maskz_compress_ps(mask, _mm512_loadu_ps(from + s)));
    t += static_cast<std::size_t>(std::popcount(static_cast<unsigned>(mask)));
  }
#endif
  // No branch on what stays: every value is written, and the place to write advances if it stays.
  for (; s < n; ++s) {
    to[t] = from[s];
    t += stays[s];
  }
  return t;
}

void rotate(double* a, double* b, double cosine, double sine, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) {
    const double left = a[k], right = b[k];
    a[k] = multiply_add(cosine, left, sine * right);
    b[k] = subtract_product(cosine * right, sine, left);
  }
}

void rank_update(double* g, const float* const* rows, const double* steps, std::size_t count, std::size_t begin,
                 std::size_t end) {
  update(g, rows, steps, count, begin, end);
}

void rank_update_exact(double* g, const double* const* rows, const double* steps, std::size_t count, std::size_t begin,
                       std::size_t end) {
  update(g, rows, steps, count, begin, end);
}

void dot_update_exact(double* g, const double* const* rows, const double* steps, std::size_t count, std::size_t n) {
  constexpr std::size_t kSums = 8;  // side by side: each has to wait for its last product
  std::size_t r = 0;
  for (; r + kSums <= count; r += kSums) {
    const double* k[kSums];
    double value[kSums];
    for (std::size_t j = 0; j < kSums; ++j) k[j] = rows[r + j], value[j] = g[r + j];
    for (std::size_t s = 0; s < n; ++s) {
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kSums; ++j) value[j] = subtract_product(value[j], steps[s], k[j][s]);
    }
    for (std::size_t j = 0; j < kSums; ++j) g[r + j] = value[j];
  }
  for (; r < count; ++r)
    for (std::size_t s = 0; s < n; ++s) g[r] = subtract_product(g[r], steps[s], rows[r][s]);
}

std::int64_t second_order(const double* g, const std::uint8_t* gate, const float* ki, const float* diagonal, double kii,
                          double high, std::size_t n) {
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
