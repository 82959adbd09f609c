// Entries of rows in their four types, on the device.
#pragma once

#include <cuda_fp16.h>

#include "source.hpp"

namespace everlearn::cuda {

template <class T>
__device__ inline double entry(const void* values, std::size_t at) {
  return static_cast<double>(static_cast<const T*>(values)[at]);
}
template <>
__device__ inline double entry<__half>(const void* values, std::size_t at) {
  return static_cast<double>(__half2float(static_cast<const __half*>(values)[at]));
}

template <class T>
struct Tag {
  using type = T;
};

/// Calls launch(Tag<T>()) with the type of the entries.
template <class F>
void by_type(Scalar scalar, F&& launch) {
  switch (scalar) {
    case Scalar::f64: launch(Tag<double>()); break;
    case Scalar::f32: launch(Tag<float>()); break;
    case Scalar::f16: launch(Tag<__half>()); break;
    case Scalar::u8: launch(Tag<unsigned char>()); break;
  }
}

}  // namespace everlearn::cuda
