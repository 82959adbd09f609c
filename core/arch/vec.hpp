// Short vectors of the widest registers this translation unit is compiled for.
//
// The files in this folder that include vec.hpp are compiled once per instruction set (see
// CMakeLists.txt), each time with another EVERLEARN_ARCH namespace; loops.cpp picks one at run time.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "half.hpp"

#if defined(__AVX512F__)
#define EVERLEARN_VECTOR_BYTES 64
#define EVERLEARN_REGISTERS 32
#elif defined(__AVX2__)
#define EVERLEARN_VECTOR_BYTES 32
#define EVERLEARN_REGISTERS 16
#elif defined(__aarch64__)
#define EVERLEARN_VECTOR_BYTES 16
#define EVERLEARN_REGISTERS 32
#else
#define EVERLEARN_VECTOR_BYTES 16
#define EVERLEARN_REGISTERS 16
#endif

#ifndef EVERLEARN_ARCH
#define EVERLEARN_ARCH baseline
#endif

namespace everlearn::EVERLEARN_ARCH {

inline constexpr int kVectorBytes = EVERLEARN_VECTOR_BYTES;
inline constexpr int kRegisters = EVERLEARN_REGISTERS;

template <class T>
struct Vector;
template <>
struct Vector<float> {
  typedef float type __attribute__((vector_size(kVectorBytes)));
};
template <>
struct Vector<double> {
  typedef double type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vec = typename Vector<T>::type;

/// Lanes of one register.
template <class T>
inline constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));

/// As many floats as a register holds doubles.
typedef float HalfVecF __attribute__((vector_size(kVectorBytes / 2)));
typedef int32_t VecI __attribute__((vector_size(kVectorBytes)));
typedef std::int64_t VecL __attribute__((vector_size(kVectorBytes)));

// Through memcpy, because a template argument loses the attribute that would allow unaligned access.
template <class V, class T>
inline V load(const T* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V, class T>
inline void store(T* p, V v) {
  std::memcpy(p, &v, sizeof v);
}

/// A register of numbers in the precision that they are computed with.
template <class T>
inline Vec<T> load_wide(const T* p) {
  return load<Vec<T>>(p);
}
#if defined(__AVX512F__)  // with a full mask, as in root()
inline Vec<float> load_wide(const Half* p) { return (Vec<float>)_mm512_maskz_cvtph_ps(0xffff, load<__m256i>(p)); }
#elif defined(__AVX2__)
inline Vec<float> load_wide(const Half* p) { return (Vec<float>)_mm256_cvtph_ps(load<__m128i>(p)); }
#else  // as Half::operator float
inline Vec<float> load_wide(const Half* p) {
#ifdef __SSE2__
  const VecI bits = (VecI)_mm_unpacklo_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)), _mm_setzero_si128());
#else
  typedef std::uint16_t Bits __attribute__((vector_size(kVectorBytes / 2)));
  const VecI bits = __builtin_convertvector(load<Bits>(p), VecI);
#endif
  const Vec<float> size = (Vec<float>)((bits & 0x7fff) << 13) * 0x1p112f;
  return (Vec<float>)((VecI)size | (bits & 0x8000) << 16);
}
#endif

template <class T>
inline Vec<T> splat(T x) {
  return x - Vec<T>{};
}

/// The larger and the smaller of two numbers in each lane; b where they do not compare.
template <class V>
inline V larger(V a, V b) {
#ifdef __SSE2__
  asm("" : "+v"(a), "+v"(b));  // GCC sees no maximum in a comparison with a constant
#endif
  return a > b ? a : b;
}
template <class V>
inline V smaller(V a, V b) {
#ifdef __SSE2__
  asm("" : "+v"(a), "+v"(b));
#endif
  return a < b ? a : b;
}

/// |x|
inline float magnitude(float x) { return __builtin_fabsf(x); }
inline double magnitude(double x) { return __builtin_fabs(x); }
inline Vec<float> magnitude(Vec<float> x) { return (Vec<float>)((VecI)x & 0x7fffffff); }
inline Vec<double> magnitude(Vec<double> x) { return (Vec<double>)((VecL)x & 0x7fffffffffffffff); }

// Sums of products: rounded once where the instruction set has a fused multiply-add, twice where it has none. Compilers
// must not decide (-ffp-contract=off): Clang fuses only within a basic block and a statement of its choice, so that the
// checks that sanitizers insert, or another optimization level, would change the bits of one loop and not of another.
// A lone value equals a lane of a vector.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
/// a b + c
inline float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
/// c - a b
inline float subtract_product(float c, float a, float b) { return __builtin_fmaf(-a, b, c); }
inline double subtract_product(double c, double a, double b) { return __builtin_fma(-a, b, c); }
#if defined(__AVX512F__)
inline Vec<float> multiply_add(Vec<float> a, Vec<float> b, Vec<float> c) {
  return (Vec<float>)_mm512_fmadd_ps(a, b, c);
}
inline Vec<double> multiply_add(Vec<double> a, Vec<double> b, Vec<double> c) {
  return (Vec<double>)_mm512_fmadd_pd(a, b, c);
}
inline Vec<float> subtract_product(Vec<float> c, Vec<float> a, Vec<float> b) {
  return (Vec<float>)_mm512_fnmadd_ps(a, b, c);
}
inline Vec<double> subtract_product(Vec<double> c, Vec<double> a, Vec<double> b) {
  return (Vec<double>)_mm512_fnmadd_pd(a, b, c);
}
#elif defined(__AVX2__)
inline Vec<float> multiply_add(Vec<float> a, Vec<float> b, Vec<float> c) {
  return (Vec<float>)_mm256_fmadd_ps(a, b, c);
}
inline Vec<double> multiply_add(Vec<double> a, Vec<double> b, Vec<double> c) {
  return (Vec<double>)_mm256_fmadd_pd(a, b, c);
}
inline Vec<float> subtract_product(Vec<float> c, Vec<float> a, Vec<float> b) {
  return (Vec<float>)_mm256_fnmadd_ps(a, b, c);
}
inline Vec<double> subtract_product(Vec<double> c, Vec<double> a, Vec<double> b) {
  return (Vec<double>)_mm256_fnmadd_pd(a, b, c);
}
#else  // lane by lane, which compilers turn into one instruction
template <class V>
inline V multiply_add(V a, V b, V c) {
  for (unsigned l = 0; l < sizeof(V) / sizeof(a[0]); ++l) c[l] = multiply_add(a[l], b[l], c[l]);
  return c;
}
template <class V>
inline V subtract_product(V c, V a, V b) {
  for (unsigned l = 0; l < sizeof(V) / sizeof(a[0]); ++l) c[l] = subtract_product(c[l], a[l], b[l]);
  return c;
}
#endif
#else
template <class V>
inline V multiply_add(V a, V b, V c) {
  return a * b + c;
}
template <class V>
inline V subtract_product(V c, V a, V b) {
  return c - a * b;
}
#endif

/// The square root of each lane, correctly rounded.
#if defined(__AVX512F__)  // with a full mask: GCC warns of the undefined lanes of the plain form
inline Vec<float> root(Vec<float> x) { return (Vec<float>)_mm512_maskz_sqrt_ps(0xffff, x); }
inline Vec<double> root(Vec<double> x) { return (Vec<double>)_mm512_maskz_sqrt_pd(0xff, x); }
#elif defined(__AVX2__)
inline Vec<float> root(Vec<float> x) { return (Vec<float>)_mm256_sqrt_ps(x); }
inline Vec<double> root(Vec<double> x) { return (Vec<double>)_mm256_sqrt_pd(x); }
#elif defined(__SSE2__)
inline Vec<float> root(Vec<float> x) { return (Vec<float>)_mm_sqrt_ps(x); }
inline Vec<double> root(Vec<double> x) { return (Vec<double>)_mm_sqrt_pd(x); }
#else  // lane by lane, which compilers turn into one instruction
inline Vec<float> root(Vec<float> x) {
  for (int l = 0; l < kWidth<float>; ++l) x[l] = __builtin_sqrtf(x[l]);
  return x;
}
inline Vec<double> root(Vec<double> x) {
  for (int l = 0; l < kWidth<double>; ++l) x[l] = __builtin_sqrt(x[l]);
  return x;
}
#endif

template <int... lanes>
inline Vec<float> join(HalfVecF low, HalfVecF high, std::integer_sequence<int, lanes...>) {
  return __builtin_shufflevector(low, high, lanes...);
}
inline Vec<float> join(HalfVecF low, HalfVecF high) {
  return join(low, high, std::make_integer_sequence<int, kWidth<float>>());
}

/// One round of interleaving: the lower halves of two registers, or the upper ones.
template <int first, int... lanes>
inline Vec<float> interleave(Vec<float> a, Vec<float> b, std::integer_sequence<int, lanes...>) {
  return __builtin_shufflevector(a, b, (first + lanes / 2 + lanes % 2 * kWidth<float>)...);
}

/// Transposes a square of floats as wide as a register: log2(width) rounds of interleaving.
inline void transpose(Vec<float>* rows) {
  constexpr int w = kWidth<float>;
  constexpr std::make_integer_sequence<int, w> lanes;
  Vec<float> next[w];
  for (int round = 1; round < w; round *= 2) {
    for (int i = 0; i < w / 2; ++i) {
      next[2 * i] = interleave<0>(rows[i], rows[i + w / 2], lanes);
      next[2 * i + 1] = interleave<w / 2>(rows[i], rows[i + w / 2], lanes);
    }
    for (int i = 0; i < w; ++i) rows[i] = next[i];
  }
}

}  // namespace everlearn::EVERLEARN_ARCH
