#include "byte_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace everlearn {
namespace {

constexpr std::size_t kMostSteps = 255;
/// Sparse rows with fewer values than one in so many columns are faster as they are: bytes take all columns.
constexpr std::size_t kSparse = 8;
/// The smallest value of a block may be this many steps.
constexpr int kMostSmallest = 16;
/// How far a value may be from a whole number of steps, relative to it: a few roundings of floats.
constexpr double kRounding = 0x1p-22;
/// Steps whose inverse and square are ordinary numbers.
constexpr double kLeastStep = 1e-30, kMostStep = 1e30;
/// Values that say what the step may be, and values that are looked up between two looks at the result.
constexpr std::size_t kSample = 1u << 16, kChunk = 1u << 12;

/// The nearest number of steps; kMostSteps + 1 if it is larger than kMostSteps.
template <class T>
std::size_t steps_of(T value, T per_step) {
  return static_cast<std::size_t>(std::min(std::max(value * per_step + T(0.5), T(0)), T(kMostSteps) + T(1.5)));
}

/// Whether all values are whole multiples, 0 to 255, of a step, and equal where their multiples are: rows that differ
/// stay different.
template <class T>
bool are_steps(const T* values, std::size_t count, double step) {
  std::array<T, kMostSteps + 2> value_of;  // by the number of steps; those that have not been seen equal nothing
  value_of.fill(std::numeric_limits<T>::quiet_NaN());
  const T per_step = static_cast<T>(1 / step);
  for (std::size_t at = 0; at < count; at += kChunk) {
    const std::size_t end = std::min(count, at + kChunk);
    bool known = true;
    for (std::size_t k = at; k < end; ++k) known &= value_of[steps_of(values[k], per_step)] == values[k];
    for (std::size_t k = at; k < end && !known; ++k) {
      const std::size_t steps = steps_of(values[k], per_step);
      T& own = value_of[steps];
      if (own == values[k]) continue;
      const double apart = std::abs(double(values[k]) / step - static_cast<double>(steps));
      if (!std::isnan(own) || steps > kMostSteps || apart > kRounding * static_cast<double>(steps)) return false;
      own = values[k];
    }
  }
  return true;
}

template <class T>
double step_of(const T* values, std::size_t count) {
  const std::size_t sample = std::min(count, kSample);
  T least = std::numeric_limits<T>::infinity(), most = 0;
  for (std::size_t k = 0; k < sample; ++k) {
    if (values[k] < 0) return 0;
    if (values[k] > 0) least = std::min(least, values[k]), most = std::max(most, values[k]);
  }
  if (most == 0) return 0;
  for (int smallest = 1; smallest <= kMostSmallest; ++smallest) {
    const double steps = std::round(double(most) / double(least) * smallest);
    if (steps > static_cast<double>(kMostSteps)) break;
    const double step = double(most) / steps;  // from the largest value, which has the most digits of it
    if (step < kLeastStep || step > kMostStep) break;
    if (are_steps(values, sample, step) && are_steps(values, count, step)) return step;
  }
  return 0;
}

}  // namespace

double byte_step(const Block& block) {
  if (block.width == 0 || block.width > kMostByteColumns) return 0;
  std::size_t count = block.rows * block.width;
  if (block.is_sparse) {
    const auto stored = static_cast<std::size_t>(block.starts[block.rows]);
    if (stored * kSparse < count) return 0;
    count = stored;
  }
  return block.precision == Precision::f32 ? step_of(static_cast<const float*>(block.values), count)
                                           : step_of(static_cast<const double*>(block.values), count);
}

ByteRows::ByteRows(const Block& block, double step, double gamma, const ByteLoops& loops)
    : block_(block),
      loops_(loops),
      per_step_(1 / step),
      scale_(gamma * step * step),
      quads_((block.width + kQuad - 1) / kQuad) {}

/// A row in steps, filled up with zeros.
ByteRows::Sums ByteRows::read(std::int64_t row, std::vector<std::uint8_t>& steps) const {
  steps.assign(quads_ * kQuad, 0);
  const auto r = static_cast<std::size_t>(row);
  const auto in_steps = [this](auto value) {
    return static_cast<std::uint8_t>(static_cast<std::int32_t>(value * static_cast<decltype(value)>(per_step_) + 0.5f));
  };
  if (block_.is_sparse) {
    visit_row(block_, r, [&](std::int32_t k, auto value) { steps[static_cast<std::size_t>(k)] = in_steps(value); });
  } else if (block_.precision == Precision::f32) {
    const float* values = static_cast<const float*>(block_.values) + r * block_.width;
    std::transform(values, values + block_.width, steps.data(), in_steps);
  } else {
    const double* values = static_cast<const double*>(block_.values) + r * block_.width;
    std::transform(values, values + block_.width, steps.data(), in_steps);
  }
  Sums sums;
  for (const std::uint32_t v : steps) sums.values += v, sums.squares += v * v;
  return sums;
}

ByteRows::Sources ByteRows::sources(std::span<const std::int64_t> which) const {
  Sources sources;
  sources.values.reserve(which.size() * quads_ * kQuad);
  std::vector<std::uint8_t> row;
  for (const auto r : which) {
    sources.norms.push_back(read(r, row).squares);
    for (const auto v : row) sources.values.push_back(static_cast<std::int8_t>(v - 128));
  }
  return sources;
}

ByteRows::Targets ByteRows::targets(std::span<const std::int64_t> which) const {
  Targets targets;
  targets.size = which.size();
  const std::size_t room = round_up(which.size(), kPanel);
  targets.panels.resize(room * quads_ * kQuad, 0);
  targets.offsets.resize(room, 0);
  std::vector<std::uint8_t> row;
  for (std::size_t t = 0; t < which.size(); ++t) {
    const Sums sums = read(which[t], row);
    targets.offsets[t] = sums.squares - 256 * sums.values;
    std::uint8_t* at = targets.panels.data() + (t / kPanel * quads_ * kPanel + t % kPanel) * kQuad;
    for (std::size_t q = 0; q < quads_; ++q) std::memcpy(at + q * kPanel * kQuad, row.data() + q * kQuad, kQuad);
  }
  return targets;
}

void ByteRows::evaluate(const Sources& sources, const Targets& targets, float* const* out) const {
  loops_.rbf({sources.values.data(), sources.norms.data(), sources.norms.size(), quads_, targets.panels.data(),
              targets.offsets.data(), targets.size, static_cast<float>(scale_), out});
}

}  // namespace everlearn
