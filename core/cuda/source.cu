#include "source.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>

#include "team.hpp"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace everlearn::cuda {
namespace {

/// Copies to memory that this processor will not read: past its caches, which saves reading the lines that are written.
void copy_past_caches(unsigned char* to, const unsigned char* from, std::size_t bytes) {
  std::size_t at = 0;
#ifdef __SSE2__
  if (reinterpret_cast<std::uintptr_t>(to) % sizeof(__m128i) == 0) {
    constexpr std::size_t kAtOnce = 4 * sizeof(__m128i);
    for (; at + kAtOnce <= bytes; at += kAtOnce) {
      const __m128i* source = reinterpret_cast<const __m128i*>(from + at);
      __m128i* target = reinterpret_cast<__m128i*>(to + at);
      const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
      const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
      _mm_stream_si128(target, a), _mm_stream_si128(target + 1, b);
      _mm_stream_si128(target + 2, c), _mm_stream_si128(target + 3, d);
    }
    _mm_sfence();
  }
#endif
  std::memcpy(to + at, from + at, bytes - at);
}

template <class T>
void densify(const Source& source, std::size_t first, std::size_t count, void* out) {
  T* to = static_cast<T*>(out);
  std::memset(to, 0, count * source.columns * sizeof(T));
  const T* values = static_cast<const T*>(source.values);
  for (std::size_t r = 0; r < count; ++r)
    for (std::int64_t k = source.starts[first + r]; k < source.starts[first + r + 1]; ++k)
      to[r * source.columns + source.indices[k]] = values[k];
}

/// Lets threads do something one after the other, in the order of the rows they have.
class Turns {
 public:
  /// A thread that takes turns. If it ends by an error, nobody waits for the turns it leaves out.
  class Member {
   public:
    explicit Member(Turns& turns) : turns_(turns), errors_(std::uncaught_exceptions()) {}
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;
    ~Member() {
      if (std::uncaught_exceptions() == errors_) return;
      const std::lock_guard lock(turns_.mutex_);
      turns_.broken_ = true;
      turns_.moved_.notify_all();
    }

   private:
    Turns& turns_;
    int errors_;
  };
  /// Calls work() when all rows before `from` have had their turn, and lets `to` be next; false after an error elsewhere.
  template <class F>
  bool take(std::size_t from, std::size_t to, F&& work) {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return next_ == from || broken_; });
    if (broken_) return false;
    work();
    next_ = to;
    moved_.notify_all();
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable moved_;
  std::size_t next_ = 0;
  bool broken_ = false;
};

/// Writes rows to `to`, as they are copied to the device.
void fill(const Source& source, std::size_t first, std::size_t count, unsigned char* to) {
  const std::size_t line = source.line();
  if (!source.starts)
    copy_past_caches(to, static_cast<const unsigned char*>(source.values) + first * line, count * line);
  else if (source.scalar == Scalar::f64) densify<double>(source, first, count, to);
  else densify<float>(source, first, count, to);
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
  const std::size_t line = source.line();
  if (line > PinnedPiece::kBytes) throw std::invalid_argument("rows on the device have at most half a million columns");
  const std::size_t at_once = PinnedPiece::kBytes / line;
  if (pump) {
    for (std::size_t first = 0; first < source.rows; first += at_once) {
      const std::size_t count = std::min(at_once, source.rows - first);
      fill(source, first, count, pump->begin());
      look(pump->send(count * line), first, count);
      pump->mark_used();
    }
    return;
  }
  std::atomic<std::size_t> next = 0;
  Turns turns;
  in_team(copying_threads(source.rows * line), [&](std::size_t) {
    const Turns::Member member(turns);
    Pump own(stream);
    for (std::size_t first; (first = next.fetch_add(at_once)) < source.rows;) {
      const std::size_t count = std::min(at_once, source.rows - first);
      fill(source, first, count, own.begin());
      const bool mine = turns.take(first, first + count, [&] {
        look(own.send(count * line), first, count);
        own.mark_used();
      });
      if (!mine) return;
    }
  });
}

}  // namespace everlearn::cuda
