#include "source.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

namespace everlearn::cuda {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 22;  // bytes at once; pinning more costs more than it gains

template <class T>
void densify(const Source& source, std::size_t first, std::size_t count, void* out) {
  T* to = static_cast<T*>(out);
  std::memset(to, 0, count * source.columns * sizeof(T));
  const T* values = static_cast<const T*>(source.values);
  for (std::size_t r = 0; r < count; ++r)
    for (std::int64_t k = source.starts[first + r]; k < source.starts[first + r + 1]; ++k)
      to[r * source.columns + source.indices[k]] = values[k];
}

/// Writes rows to `to`, as they are copied to the device.
void fill(const Source& source, std::size_t first, std::size_t count, unsigned char* to) {
  const std::size_t line = source.line();
  if (!source.starts) std::memcpy(to, static_cast<const unsigned char*>(source.values) + first * line, count * line);
  else if (source.scalar == Scalar::f64) densify<double>(source, first, count, to);
  else densify<float>(source, first, count, to);
}

/// The same by several threads, where there is much to write: one alone cannot keep up with the bus.
void fill_in_parallel(const Source& source, std::size_t first, std::size_t count, unsigned char* to) {
  constexpr std::size_t kBytesEach = std::size_t{2} << 20;
  const std::size_t line = source.line();
  const std::size_t most = std::min<std::size_t>(8, std::max(1u, std::thread::hardware_concurrency()));
  const std::size_t workers = std::clamp<std::size_t>(count * line / kBytesEach, 1, most);
  const std::size_t each = (count + workers - 1) / workers;
  std::vector<std::jthread> threads;
  for (std::size_t at = each; at < count; at += each)
    threads.emplace_back([&, at] { fill(source, first + at, std::min(each, count - at), to + at * line); });
  fill(source, first, std::min(each, count), to);
}

}  // namespace

Source Source::part(std::size_t first, std::size_t count) const {
  Source some = *this;
  some.rows = count;
  if (starts) some.starts = starts + first;
  else some.values = static_cast<const unsigned char*>(values) + first * line();
  return some;
}

void for_pieces(const Source& source, cudaStream_t stream, Pump* pump, const Look& look) {
  if (source.rows == 0 || source.columns == 0) return;
  if (source.on_device) {
    look(source.values, 0, source.rows);
    return;
  }
  std::optional<Pump> own;
  if (!pump) pump = &own.emplace(kPiece, stream);
  if (source.line() > pump->piece())
    throw std::invalid_argument("rows on the device have at most half a million columns");
  const std::size_t at_once = pump->piece() / source.line();
  for (std::size_t first = 0; first < source.rows; first += at_once) {
    const std::size_t count = std::min(at_once, source.rows - first);
    fill_in_parallel(source, first, count, pump->begin());
    look(pump->send(count * source.line()), first, count);
    pump->mark_used();
  }
}

}  // namespace everlearn::cuda
