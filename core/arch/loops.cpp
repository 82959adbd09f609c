#include "arch/loops.hpp"

#include <cstring>
#include <initializer_list>

namespace everlearn {

#define EVERLEARN_DECLARE(arch)                                                                        \
  namespace arch {                                                                                     \
  void dense_f32(const DenseJob<float>&);                                                              \
  void dense_f64(const DenseJob<double>&);                                                             \
  void sparse_f32(const SparseJob<float>&);                                                            \
  void sparse_f64(const SparseJob<double>&);                                                           \
  void dense_exact(const DenseJob<double, double>&);                                                   \
  void sparse_exact(const SparseJob<double, double>&);                                                 \
  void norms_f32(const float*, std::size_t, std::size_t, float*);                                      \
  void norms_f64(const double*, std::size_t, std::size_t, double*);                                    \
  Extremes step(double*, const std::uint8_t*, const float*, const float*, double, std::size_t);              \
  Extremes scan(const double*, const std::uint8_t*, std::size_t);                                            \
  double dot(const float*, const double*, std::size_t);                                                \
  void rank_update(double*, const float* const*, const double*, std::size_t, std::size_t, std::size_t); \
  void rank_update_exact(double*, const double* const*, const double*, std::size_t, std::size_t, std::size_t); \
  double dot_exact(const double*, const double*, std::size_t);                                          \
  void rotate(double*, double*, double, double, std::size_t);                                          \
  std::int64_t second_order(const double*, const std::uint8_t*, const float*, const float*, double, double,  \
                            std::size_t);                                                              \
  Survey survey(const CoefficientView&, Descent, Descent, std::size_t);                                \
  Gain best_gain(const CoefficientView&, Descent, Descent, double, std::size_t);                       \
  Gain partner(const CoefficientView&, const float*, const Pivot&, std::size_t);                       \
  }                                                                                                    \
  static const Loops arch##_loops{#arch,           arch::dense_f32,   arch::dense_f64,    arch::sparse_f32,   \
                                  arch::sparse_f64, arch::dense_exact, arch::sparse_exact, arch::norms_f32,    \
                                  arch::norms_f64,  arch::step,        arch::scan,         arch::dot,          \
                                  arch::rank_update, arch::rank_update_exact, arch::dot_exact, arch::rotate, \
                                  arch::second_order, arch::survey, arch::best_gain, arch::partner};

EVERLEARN_DECLARE(baseline)
#ifdef EVERLEARN_X86
EVERLEARN_DECLARE(avx2)
EVERLEARN_DECLARE(avx512)
#endif

const Loops* loops_named(const char* name) {
#ifdef EVERLEARN_X86
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (std::strcmp(name, "avx512") == 0) return v4 ? &avx512_loops : nullptr;
  if (std::strcmp(name, "avx2") == 0) return v3 ? &avx2_loops : nullptr;
#endif
  return std::strcmp(name, "baseline") == 0 ? &baseline_loops : nullptr;
}

const Loops& loops() {
  static const Loops& best = [] () -> const Loops& {
    for (const char* name : {"avx512", "avx2"})
      if (const Loops* found = loops_named(name)) return *found;
    return baseline_loops;
  }();
  return best;
}

}  // namespace everlearn
