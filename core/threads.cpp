#include "threads.hpp"

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

namespace everlearn {

void parallel_ranges(int threads, std::size_t n, std::size_t grain, FunctionRef<void(std::size_t, std::size_t)> body) {
  const std::size_t grains = (n + grain - 1) / grain;
  const std::size_t workers = std::min<std::size_t>(static_cast<std::size_t>(std::max(1, threads)), grains);
  if (workers <= 1) {
    if (n > 0) body(0, n);
    return;
  }
  const auto edge = [&](std::size_t w) { return std::min(n, grains * w / workers * grain); };
  std::vector<std::exception_ptr> failures(workers);
  const auto work = [&](std::size_t w) {
    try {
      body(edge(w), edge(w + 1));
    } catch (...) {
      failures[w] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    others.reserve(workers - 1);
    std::size_t started = 1;
    try {
      for (; started < workers; ++started) others.emplace_back(work, started);
    } catch (const std::exception&) {  // the system has no memory or no thread left
    }
    work(0);
    for (std::size_t w = started; w < workers; ++w) work(w);
  }
  for (const auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace everlearn
