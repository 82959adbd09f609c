// Dense kernel blocks of rows in 16 bits; in a file of its own, so that compilers inline the other loops as before.
#include "arch/dense.hpp"

namespace everlearn::EVERLEARN_ARCH {

void dense_f16(const DenseJob<float, float, Half>& job) { dense(job); }

}  // namespace everlearn::EVERLEARN_ARCH
