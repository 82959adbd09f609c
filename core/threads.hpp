// A loop shared among threads that live as long as the loop: nothing to configure, safe to fork.
#pragma once

#include <cstddef>

#include "function_ref.hpp"

namespace everlearn {

/// Work, in kernel values, below which starting threads costs more than it saves.
inline constexpr std::size_t kWorthThreads = 200000;

/// Runs body(begin, end) over disjoint pieces that cover [0, n); every piece but the last is a multiple of `grain`
/// long. Runs in the calling thread if there is only one piece, and runs the pieces for which no thread can be started
/// there, too. Rethrows the exception of the first piece that failed.
void parallel_ranges(int threads, std::size_t n, std::size_t grain, FunctionRef<void(std::size_t, std::size_t)> body);

}  // namespace everlearn
