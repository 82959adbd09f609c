// The arithmetic of the kernels: the terms of a pair of rows, and the way from their sum to a kernel value.
#pragma once

#include <initializer_list>
#include <type_traits>
#include <utility>

#include "arch/kernels.hpp"
#include "arch/vec.hpp"

namespace everlearn::EVERLEARN_ARCH {

/// The sum after the term of one more column; of lone values or of vectors.
template <PairSum pair, class V>
inline V add_term(V a, V b, V sum) {
  if constexpr (pair == PairSum::squared_difference) {
    const V apart = a - b;
    return multiply_add(apart, apart, sum);
  } else if constexpr (pair == PairSum::absolute_difference) {
    return sum + magnitude(a - b);
  } else if constexpr (pair == PairSum::overlap) {
    return sum + magnitude(larger(smaller(a, b), smaller(larger(a, b), V{})));  // the median of a, b and 0
  } else {
    return multiply_add(a, b, sum);
  }
}

/// exp(x) to about two units in the last place; 0 below -87.
inline Vec<float> exp_lanes(Vec<float> x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const Vec<float> least = splat(-87.0f), most = splat(88.0f);
  const Vec<float> clamped = smaller(most, larger(least, x));
  const Vec<float> shifted = multiply_add(clamped, splat(1.44269504f), splat(kRound));
  const Vec<float> n = shifted - kRound;
  const Vec<float> r = multiply_add(n, splat(2.12194440e-4f), subtract_product(clamped, n, splat(0.693359375f)));
  Vec<float> p = splat(1.9875691500e-4f);
  for (const float coefficient :
       {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
    p = multiply_add(p, r, splat(coefficient));
  const Vec<float> value = multiply_add(p, r * r, r + 1.0f);
  // The low bits of `shifted` are n; all that is above them leaves the exponent on the way there.
  const Vec<float> scaled = (Vec<float>)((VecI)value + ((VecI)shifted << 23));
  return x < least ? Vec<float>{} : scaled;
}

/// exp(x) in double precision, to about one unit in the last place; 0 below -708.
inline Vec<double> exp_lanes(Vec<double> x) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52
  const Vec<double> least = splat(-708.0), most = splat(709.0);
  const Vec<double> clamped = smaller(most, larger(least, x));
  const Vec<double> shifted = multiply_add(clamped, splat(1.44269504088896340736), splat(kRound));
  const Vec<double> n = shifted - kRound;
  const Vec<double> r = subtract_product(subtract_product(clamped, n, splat(6.93147180369123816490e-01)), n,
                                         splat(1.90821492927058770002e-10));
  Vec<double> p = splat(1.0 / 6227020800.0);  // of the series, whose next term is below 1e-17 for |r| <= log(2) / 2
  for (const double factorial :
       {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0})
    p = multiply_add(p, r, splat(1.0 / factorial));
  const Vec<double> scaled = (Vec<double>)((VecL)p + ((VecL)shifted << 52));
  return x < least ? Vec<double>{} : scaled;
}

/// A full register of floats, where f(l) gives a register of T from lane l on.
template <class T, class F>
inline Vec<float> narrowed(std::size_t l, F&& f) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return f(l);
  } else {
    return join(__builtin_convertvector(f(l), HalfVecF), __builtin_convertvector(f(l + kWidth<T>), HalfVecF));
  }
}

/// The last step of a kernel, in the precision of the result.
template <KernelKind kind, class V>
inline V finished(V x) {
  using T = std::remove_cvref_t<decltype(x[0])>;
  if constexpr (traits_of(kind).of_distance) return exp_lanes(x);
  else if constexpr (kind == KernelKind::sigmoid) return T(1) - T(2) / (exp_lanes(T(2) * x) + T(1));
  else return x;
}

/// What the last step takes, in the precision of the rows: `sum` is the pair sum of two rows, or their distance.
template <KernelKind kind, bool distances, class T>
inline Vec<T> argument(const Kernel& kernel, Vec<T> sum, T a_norm, const T* norms) {
  const T gamma = static_cast<T>(kernel.gamma);
  if constexpr (kind == KernelKind::linear) {
    return sum;
  } else if constexpr (distances) {
    return -gamma * sum;
  } else if constexpr (traits_of(kind).of_distance) {
    const Vec<T> apart = (a_norm + load<Vec<T>>(norms)) - T(2) * sum;
    return -gamma * larger(apart, Vec<T>{});
  } else if constexpr (kind == KernelKind::cosine) {
    // Rows of the same length have their squared length for |a| |b|: a row with itself is exactly 1.
    const Vec<T> own = splat(a_norm), other = load<Vec<T>>(norms);
    const Vec<T> lengths = own == other ? own : root(own) * root(other);
    const Vec<T> cosine = larger(smaller(sum / lengths, splat(T(1))), splat(T(-1)));
    return lengths > T(0) ? cosine : Vec<T>{};
  } else {
    const Vec<T> base = multiply_add(splat(gamma), sum, splat(static_cast<T>(kernel.coef0)));
    if constexpr (kind == KernelKind::sigmoid) return base;
    Vec<T> power = splat(T(1)), square = base;
    for (int e = kernel.degree; e > 0; e /= 2, square *= square)
      if (e % 2 != 0) power *= square;
    return power;
  }
}

/// out[l] = K(a, b_l), given the pair sums and the norms, or the distances themselves. Vector by vector: left to itself
/// the compiler unrolls loops as short as a panel before it looks for vectors in them.
template <KernelKind kind, bool distances = false, class T, class Out>
inline void map_panel(const Kernel& kernel, const T* __restrict sums, T a_norm, const T* __restrict norms,
                      Out* __restrict out) {
  const auto at = [&](std::size_t l) {
    return argument<kind, distances, T>(kernel, load<Vec<T>>(sums + l), a_norm, norms + l);
  };
  for (std::size_t l = 0; l < kPanel; l += kWidth<Out>) {
    if constexpr (sizeof(Out) == sizeof(float)) store(out + l, finished<kind>(narrowed<T>(l, at)));
    else store(out + l, finished<kind>(at(l)));
  }
}

/// Calls f<kind>() for the kernel's kind, so that the choice is made once per block and not per value.
template <class F>
inline void with_kind(KernelKind kind, F&& f) {
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    ((kind == kKernels[k].kind ? f.template operator()<kKernels[k].kind>() : void()), ...);
  }(std::make_index_sequence<std::size(kKernels)>());
}

/// Copies the lanes of a panel that starts at slot `at` and lie in [begin, end).
template <class Out>
inline void put_lanes(const Out* values, std::size_t at, std::size_t begin, std::size_t end, Out* out) {
  if (at >= begin && at + kPanel <= end) {
    std::memcpy(out + at, values, kPanel * sizeof(Out));
    return;
  }
  for (std::size_t l = 0; l < kPanel; ++l)
    if (at + l >= begin && at + l < end) out[at + l] = values[l];
}

}  // namespace everlearn::EVERLEARN_ARCH
