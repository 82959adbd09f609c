#include "arch/loops.hpp"

#include <cstring>
#include <initializer_list>

namespace everlearn {

// Defined in arch/table.cpp, once per instruction set.
namespace baseline {
extern const Loops table;
}
#ifdef EVERLEARN_X86
namespace avx2 {
extern const Loops table;
}
namespace avx512 {
extern const Loops table;
}
#endif

const Loops* loops_named(const char* name) {
#ifdef EVERLEARN_X86
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (std::strcmp(name, "avx512") == 0) return v4 ? &avx512::table : nullptr;
  if (std::strcmp(name, "avx2") == 0) return v3 ? &avx2::table : nullptr;
#endif
  return std::strcmp(name, "baseline") == 0 ? &baseline::table : nullptr;
}

const Loops& loops() {
  static const Loops* const best = [] {
    for (const char* name : {"avx512", "avx2"})
      if (const Loops* found = loops_named(name)) return found;
    return &baseline::table;
  }();
  return *best;
}

}  // namespace everlearn
