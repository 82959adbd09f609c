#include "arch/loops.hpp"

#include <cstring>
#include <initializer_list>

#include "arch/bytes.hpp"

namespace everlearn {

// Defined in arch/table.cpp, once per instruction set.
namespace baseline {
extern const Loops table;
extern const ByteLoops byte_table;
}  // namespace baseline
#ifdef EVERLEARN_X86
namespace avx2 {
extern const Loops table;
}
namespace avx512 {
extern const Loops table;
}
namespace vnni {
extern const ByteLoops byte_table;
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

const ByteLoops* byte_loops_named(const char* name) {
#ifdef EVERLEARN_X86
  if (std::strcmp(name, "vnni") == 0)
    return loops_named("avx512") != nullptr && __builtin_cpu_supports("avx512vnni") ? &vnni::byte_table : nullptr;
#endif
  return std::strcmp(name, "baseline") == 0 ? &baseline::byte_table : nullptr;
}

const ByteLoops& byte_loops() {
  static const ByteLoops* const fast = byte_loops_named("vnni");
  return fast != nullptr ? *fast : baseline::byte_table;
}
bool bytes_are_fast() { return &byte_loops() != &baseline::byte_table; }

}  // namespace everlearn
