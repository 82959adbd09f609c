#include "byte_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace everlearn {
namespace {

constexpr int kMostSteps = 255;
/// Sparse rows with fewer values than one in so many columns are faster as they are. Measured on mnist (784 columns, 150
/// values): 4.6 ns a kernel value as floats, 1.3 as bytes, which take all columns.
constexpr std::size_t kSparse = 8;
/// The smallest value of a block may be this many steps.
constexpr int kMostSmallest = 16;
/// How far a value may be from a whole number of steps, relative to it: a few roundings of floats.
constexpr double kRounding = 0x1p-21;
/// Values that say what the step may be, and values that are checked between two looks at the result.
constexpr std::size_t kSample = 1u << 16, kChunk = 1u << 12;

/// Whether all values are whole multiples, 0 to 255, of a step. No branch within a chunk, so that compilers use vectors.
template <class T>
bool are_steps(const T* values, std::size_t count, double step) {
  constexpr T kWhole = std::is_same_v<T, float> ? T(0x1.8p23) : T(0x1.8p52);  // adding it rounds to a whole number
  const T per_step = static_cast<T>(1 / step), rounding = static_cast<T>(kRounding), most = T(kMostSteps) + T(0.5);
  for (std::size_t at = 0; at < count; at += kChunk) {
    const std::size_t end = std::min(count, at + kChunk);
    int others = 0;
    for (std::size_t k = at; k < end; ++k) {
      const T steps = values[k] * per_step, apart = steps - ((steps + kWhole) - kWhole);
      others |= (apart > steps * rounding) | (-apart > steps * rounding) | (steps > most);
    }
    if (others) return false;
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
    if (steps > kMostSteps) break;
    const double step = double(most) / steps;  // from the largest value, which has the most digits of it
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
  const auto in_steps = [per_step = static_cast<float>(per_step_)](auto value) {
    return static_cast<std::uint8_t>(static_cast<std::int32_t>(static_cast<float>(value) * per_step + 0.5f));
  };
  if (block_.is_sparse || block_.precision == Precision::f64) {
    visit_row(block_, r, [&](std::int32_t k, auto value) { steps[static_cast<std::size_t>(k)] = in_steps(value); });
  } else {
    const float* values = static_cast<const float*>(block_.values) + r * block_.width;
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
