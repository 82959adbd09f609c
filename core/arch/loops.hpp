// The vector loops, compiled once per instruction set and chosen once per process.
#pragma once

#include "arch/kernels.hpp"
#include "arch/passes.hpp"

namespace everlearn {

struct Loops : KernelLoops, PassLoops {
  const char* name;
};

/// The loops for this machine's best instruction set.
const Loops& loops();

/// The loops of a named instruction set ("baseline", "avx2", "avx512"); null if this machine lacks it.
const Loops* loops_named(const char* name);

}  // namespace everlearn
