#include "threads.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

namespace everlearn {
namespace {

/// The most threads that a loop started in this thread may have.
thread_local int share = std::numeric_limits<int>::max();

std::size_t workers_for(int threads, std::size_t pieces) {
  return std::min(static_cast<std::size_t>(std::max(1, std::min(threads, share))), pieces);
}

}  // namespace

void parallel_each(int threads, std::size_t n, FunctionRef<void(std::size_t)> body) {
  const std::size_t workers = workers_for(threads, n);
  if (workers <= 1) {
    for (std::size_t i = 0; i < n; ++i) body(i);
    return;
  }
  const int whole = share, part = std::max(1, std::min(threads, share) / static_cast<int>(workers));
  std::exception_ptr failure;
  std::size_t failed = n;
  std::mutex mutex;
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    share = part;
    for (std::size_t i = next++; i < n; i = next++) {
      try {
        body(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (i < failed) failed = i, failure = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      others.reserve(workers - 1);
      while (others.size() + 1 < workers) others.emplace_back(work);
    } catch (const std::exception&) {  // the system has no memory or no thread left
    }
    work();
    share = whole;
  }
  if (failure) std::rethrow_exception(failure);
}

void parallel_ranges(int threads, std::size_t n, std::size_t grain, FunctionRef<void(std::size_t, std::size_t)> body) {
  const std::size_t grains = (n + grain - 1) / grain, pieces = workers_for(threads, grains);
  if (pieces <= 1) {
    if (n > 0) body(0, n);
    return;
  }
  const auto edge = [&](std::size_t w) { return std::min(n, grains * w / pieces * grain); };
  parallel_each(threads, pieces, [&](std::size_t w) { body(edge(w), edge(w + 1)); });
}

}  // namespace everlearn
