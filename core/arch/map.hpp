// From dot products to kernel values, sixteen at a time.
#pragma once

#include <bit>

#include "arch/loops.hpp"
#include "arch/vec.hpp"

namespace everlearn::EVERLEARN_ARCH {

/// exp(x) to about two units in the last place; 0 below -87. Branch-free, so that it vectorises.
inline float exp_lane(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float clamped = x < -87.0f ? -87.0f : (x > 88.0f ? 88.0f : x);
  const float shifted = clamped * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float value = p * (r * r) + (r + 1.0f);
  const auto bits = std::bit_cast<std::int32_t>(value) +
                    (std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kRound)) * (1 << 23);
  return x < -87.0f ? 0.0f : std::bit_cast<float>(bits);
}

template <KernelKind kind, class T>
inline void map_panel(const Kernel& kernel, const T* __restrict dots, T a_norm, const T* __restrict norms,
                      float* __restrict out) {
  const T gamma = static_cast<T>(kernel.gamma);
  const T coef0 = static_cast<T>(kernel.coef0);
  if constexpr (kind == KernelKind::linear) {
    for (std::size_t l = 0; l < kPanel; ++l) out[l] = static_cast<float>(dots[l]);
  } else if constexpr (kind == KernelKind::rbf) {
    for (std::size_t l = 0; l < kPanel; ++l) {
      const T squared = (a_norm + norms[l]) - T(2) * dots[l];
      const T distance = squared > T(0) ? squared : T(0);
      out[l] = exp_lane(static_cast<float>(-gamma * distance));
    }
  } else if constexpr (kind == KernelKind::polynomial) {
    T base[kPanel], value[kPanel];
    for (std::size_t l = 0; l < kPanel; ++l) base[l] = gamma * dots[l] + coef0;
    for (std::size_t l = 0; l < kPanel; ++l) value[l] = T(1);
    for (int e = 0; e < kernel.degree; ++e)
      for (std::size_t l = 0; l < kPanel; ++l) value[l] *= base[l];
    for (std::size_t l = 0; l < kPanel; ++l) out[l] = static_cast<float>(value[l]);
  } else {
    for (std::size_t l = 0; l < kPanel; ++l) {
      const float x = static_cast<float>(gamma * dots[l] + coef0);
      out[l] = 1.0f - 2.0f / (exp_lane(2.0f * x) + 1.0f);
    }
  }
}

/// Calls f<kind>() for the kernel's kind, so that the choice is made once per block and not per value.
template <class F>
inline void with_kind(KernelKind kind, F&& f) {
  switch (kind) {
    case KernelKind::linear: return f.template operator()<KernelKind::linear>();
    case KernelKind::polynomial: return f.template operator()<KernelKind::polynomial>();
    case KernelKind::rbf: return f.template operator()<KernelKind::rbf>();
    case KernelKind::sigmoid: return f.template operator()<KernelKind::sigmoid>();
  }
}

/// Copies the lanes of a panel that starts at slot `at` and lie in [begin, end).
inline void put_lanes(const float* values, std::size_t at, std::size_t begin, std::size_t end, float* out) {
  if (at >= begin && at + kPanel <= end) {
    std::memcpy(out + at, values, kPanel * sizeof(float));
    return;
  }
  for (std::size_t l = 0; l < kPanel; ++l)
    if (at + l >= begin && at + l < end) out[at + l] = values[l];
}

}  // namespace everlearn::EVERLEARN_ARCH
