// Kernel values on the device: written as rows, or summed with coefficients and never written.
#pragma once

#include "kernel_function.cuh"
#include "rows.hpp"

namespace everlearn::cuda {

/// Writes K(x[which[k]], x_s) for all rows s to out + place[k] ld, for k < *count <= most; count is on the device.
void write_rows(const RowsView& x, const KernelFunction& kernel, const int* which, const int* place, const int* count,
                int most, float* out, std::size_t ld, cudaStream_t stream);

/// The kernel matrices of `sets` working sets of up to `size` rows: out[set][a][b] = K(x[w[set][a]], x[w[set][b]]).
void write_sets(const RowsView& x, const KernelFunction& kernel, const int* w, const int* count, int sets, int size,
                float* out, cudaStream_t stream);

/// Rows and coefficients to sum over. `rows` null: the first `count` rows. There are `lists` lists, `stride` apart, each
/// with its own count on the device, or `fixed` entries where `count` is null.
struct Terms {
  const int* rows;
  const float* coefficients;
  const int* count;
  int fixed;
  int lists;
  int stride;
};

/// out[part][list][s] = sum over the terms k of this part of coefficients[k] K(z[rows[k]], x_s), in `parts` parts.
void sum_rows(const RowsView& z, const Terms& terms, const RowsView& x, const KernelFunction& kernel, int parts,
              double* out, cudaStream_t stream);

/// out[column][s] = sum over k < count of coefficients[column][k] K(z_k, x_s), for all columns at once.
void score_rows(const RowsView& z, const float* coefficients, int count, int columns, const RowsView& x,
                const KernelFunction& kernel, double* out, cudaStream_t stream);

/// Lists of rows with coefficients, and for each the rows to sum for. Lines are `stride` apart; counts are on the device.
struct ExactTerms {
  const int* rows;
  const double* coefficients;
  const int* count;
  int lists;
  int stride;
  const int* targets;
  const int* n_targets;
};
/// In double precision, from the entries as they came: out[part][list][k] = sum over the terms of this part of
/// coefficients K(x[rows], x[targets[k]]), in lines of `stride`.
void sum_exactly(const RowsView& x, const ExactTerms& terms, const KernelFunction& kernel, int parts, double* out,
                 cudaStream_t stream);

/// K(x_s, x_s).
void diagonal(const RowsView& x, const KernelFunction& kernel, float* out, cudaStream_t stream);

}  // namespace everlearn::cuda
