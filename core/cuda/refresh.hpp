// Gradients computed anew from the coefficients alone, and the true violation.
//
// A round follows its moves with kernel values in float32. Their errors add up to more than the tolerance if many
// coefficients are large. So, at the end, gradients near both ends, which alone decide about optimality, are computed in
// double precision from the rows as they came; if rows then violate their conditions, rounds go on from there. Moves are
// small by then, and so are their errors.
#pragma once

#include "kernel_rows.hpp"
#include "working_set.hpp"

namespace everlearn::cuda {

class Refresh {
 public:
  Refresh(const RowsView& rows, const KernelFunction& kernel, const Problems& problems, cudaStream_t stream);
  /// Mends the gradients; `all`: first those of all rows, in float32 kernel values. Returns the largest violation.
  double operator()(bool all, double tau);

 private:
  void list_support();
  double mend_band(double width);
  double violation();

  RowsView rows_;
  KernelFunction kernel_;
  Problems problems_;
  cudaStream_t stream_;
  Buffer<int> support_, n_support_, band_, n_band_;
  Buffer<double> coefficients_, sums_, ends_;
  Buffer<float> coefficients_float_;
  Buffer<unsigned long long> error_;
};

}  // namespace everlearn::cuda
