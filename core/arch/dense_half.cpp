// Rows in 16 bits: rounding, and dense kernel blocks. In a file of its own, so that compilers inline the loops of other
// rows as if these did not exist.
#include "arch/dense.hpp"

namespace everlearn::EVERLEARN_ARCH {

void dense_f16(const DenseJob<float, float, Half>& job) { dense(job); }

void to_halves(const double* values, std::size_t n, float* out) {
  for (std::size_t k = 0; k < n; ++k) out[k] = static_cast<float>(Half(values[k]));
}

}  // namespace everlearn::EVERLEARN_ARCH
