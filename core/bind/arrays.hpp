// NumPy arrays in and out, and the caller's rows together with the arrays they are in.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "rows.hpp"

namespace everlearn::bind {

namespace nb = nanobind;

template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using MutableMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> view(const Array<T>& array) {
  return {array.data(), array.shape(0)};
}

/// Moves a vector to NumPy without a copy.
template <class T>
nb::object give(std::vector<T> values, std::initializer_list<std::size_t> shape = {}) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  const std::size_t length = owned->size();
  std::vector<std::size_t> dims(shape);
  if (dims.empty()) dims.push_back(length);
  return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), dims.size(), dims.data(), owner));
}

/// Moves an array to NumPy without a copy.
template <class T>
nb::object give(std::unique_ptr<T[]> values, std::initializer_list<std::size_t> shape) {
  const T* data = values.get();
  nb::capsule owner(values.release(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(const_cast<T*>(data), shape.size(), shape.begin(), owner));
}

/// The largest squared length of a row; infinite if it overflows, or if a value is not finite.
template <class T>
double longest_row(const Matrix<T>& rows) {
  constexpr std::size_t kLanes = 8;
  double longest = 0;
  for (std::size_t r = 0; r < rows.shape(0); ++r) {
    const T* values = rows.data() + r * rows.shape(1);
    double lanes[kLanes] = {};
    std::size_t at = 0;
    for (; at + kLanes <= rows.shape(1); at += kLanes)
      for (std::size_t k = 0; k < kLanes; ++k) lanes[k] += static_cast<double>(values[at + k]) * values[at + k];
    for (; at < rows.shape(1); ++at) lanes[0] += static_cast<double>(values[at]) * values[at];
    double square = 0;
    for (const double lane : lanes) square += lane;
    if (!(square <= std::numeric_limits<double>::max())) return std::numeric_limits<double>::infinity();
    longest = square > longest ? square : longest;
  }
  return longest;
}

/// A Block together with the arrays it points to.
struct HeldBlock {
  Block block;
  nb::object owners;
};

template <class T>
HeldBlock dense_block(const Matrix<T>& rows) {
  return {{sizeof(T) == 4 ? Precision::f32 : Precision::f64, false, rows.shape(0), rows.shape(1), rows.data()},
          nb::cast(rows)};
}

template <class T>
HeldBlock csr_block(const Array<T>& values, const Array<std::int32_t>& columns, const Array<std::int64_t>& starts,
                    std::size_t width) {
  const std::size_t count = starts.shape(0);
  bool valid = count > 0 && columns.shape(0) == values.shape(0) && starts(0) == 0 &&
               static_cast<std::size_t>(starts(count - 1)) == values.shape(0);
  for (std::size_t r = 0; valid && r + 1 < count; ++r) valid = starts(r) <= starts(r + 1);
  for (std::size_t e = 0; valid && e < columns.shape(0); ++e)
    valid = columns(e) >= 0 && static_cast<std::size_t>(columns(e)) < width;
  if (!valid)
    throw std::invalid_argument(
        "not a valid CSR matrix: starts must be ascending from 0 to the number of values, and columns "
        "must have one entry for each value, from 0 to the width");
  return {{sizeof(T) == 4 ? Precision::f32 : Precision::f64, true, starts.shape(0) - 1, width, values.data(),
           columns.data(), starts.data()},
          nb::make_tuple(values, columns, starts)};
}

template <class E>
E named(const std::string& name, std::initializer_list<std::pair<const char*, E>> choices) {
  for (const auto& [word, value] : choices)
    if (name == word) return value;
  throw std::invalid_argument("unknown name '" + name + "'");
}

/// The largest counter that a state may hold, so that it can still grow.
inline constexpr std::int64_t kMostCounted = std::int64_t{1} << 62;

[[noreturn]] inline void refuse(const std::string& what) {
  throw std::invalid_argument("the state is broken: " + what);
}

/// A value of a state, or an error that names it.
template <class T>
T part_of(const nb::dict& state, const char* key) {
  if (!state.contains(key)) refuse(std::string(key) + " is missing");
  T value;
  if (!nb::try_cast<T>(state[key], value)) refuse(std::string(key) + " is of the wrong type or dimension");
  return value;
}

/// An array of a state.
template <class T>
Array<T> entry(const nb::dict& state, const char* key) {
  return part_of<Array<T>>(state, key);
}

/// Refuses a state whose parts do not match each other.
inline void require(bool matching) {
  if (!matching) refuse("its parts do not match each other");
}
inline void check_size(std::size_t length, std::size_t expected) { require(length == expected); }

template <class T>
bool is_finite(T value) {
  return value >= std::numeric_limits<T>::lowest() && value <= std::numeric_limits<T>::max();
}

template <class T>
void check_finite(std::span<const T> values, const char* key) {
  for (const T value : values)
    if (!is_finite(value)) refuse(std::string(key) + " is not finite");
}

/// An array of a state that must have a certain length, its numbers finite.
template <class T>
std::vector<T> vector(const nb::dict& state, const char* key, std::size_t length) {
  const auto array = entry<T>(state, key);
  check_size(array.shape(0), length);
  if constexpr (std::is_floating_point_v<T>) check_finite(view(array), key);
  return {array.data(), array.data() + length};
}

/// A matrix of a state that must have a certain shape, its numbers finite.
template <class T>
Matrix<T> matrix(const nb::dict& state, const char* key, std::size_t rows, std::size_t columns) {
  auto found = part_of<Matrix<T>>(state, key);
  check_size(found.shape(0), rows), check_size(found.shape(1), columns);
  if constexpr (std::is_floating_point_v<T>) check_finite(std::span<const T>(found.data(), found.size()), key);
  return found;
}

inline void check_count(std::int64_t count, const char* key) {
  if (count < 0 || count > kMostCounted) refuse(std::string(key) + " is not a count");
}

/// A counter of a state.
inline std::int64_t count(const nb::dict& state, const char* key) {
  const auto value = part_of<std::int64_t>(state, key);
  check_count(value, key);
  return value;
}

/// Counters of a state.
inline std::vector<std::int64_t> counts(const nb::dict& state, const char* key, std::size_t length) {
  auto values = vector<std::int64_t>(state, key, length);
  for (const auto value : values) check_count(value, key);
  return values;
}

inline std::int64_t sum(const std::vector<std::int64_t>& counts) {
  std::int64_t all = 0;
  for (const auto count : counts) all += count;
  return all;
}

}  // namespace everlearn::bind
