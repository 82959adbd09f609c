// Loops shared among threads that live as long as the loop: nothing to configure, safe to fork. A loop inside another
// one gets its share of the threads: there are never more of them than the outermost loop asked for.
#pragma once

#include <cstddef>

#include "function_ref.hpp"

namespace everlearn {

/// Work, in kernel values, below which starting threads costs more than it saves.
inline constexpr std::size_t kWorthThreads = 200000;

/// Runs body(i) for every i in [0, n), each in the thread that is free next, in ascending order as far as threads allow.
/// If some fail, rethrows the exception of the first of them: at once in a single thread, and after all have run in
/// several. Throws nothing of its own.
void parallel_each(int threads, std::size_t n, FunctionRef<void(std::size_t)> body);

/// Runs body(begin, end) over disjoint pieces that cover [0, n); every piece but the last is a multiple of `grain`
/// long. Runs in the calling thread if there is only one piece, and runs the pieces for which no thread can be started
/// there, too. Exceptions as in parallel_each.
void parallel_ranges(int threads, std::size_t n, std::size_t grain, FunctionRef<void(std::size_t, std::size_t)> body);

}  // namespace everlearn
