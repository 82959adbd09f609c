// A loop shared out among threads that live as long as the loop: nothing to configure, safe to fork.
#pragma once

#include <cstddef>
#include <functional>

namespace everlearn {

/// Work, in kernel values, below which threads cost more than they bring.
inline constexpr std::size_t kWorthThreads = 200000;

/// Runs body(begin, end) over disjoint pieces that cover [0, n), each a multiple of `grain` long but the
/// last. With one thread, or too little to share, it runs in the caller. The first exception is rethrown.
void parallel_ranges(int threads, std::size_t n, std::size_t grain,
                     const std::function<void(std::size_t, std::size_t)>& body);

}  // namespace everlearn
