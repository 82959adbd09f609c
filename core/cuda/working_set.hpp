// The parts of a round of the working-set method, for all problems at once.
//
// Problem p, over rows s:   max sum_s y_s a_s - 1/2 sum a_s a_t K_st,  sum a = 0,  a_s between 0 and edge_s
// where edge_s = C_s y_s. With the gradient g_s = y_s - sum_t a_t K_st, a pair (i, j) such that a_i may rise and a_j may
// fall violates optimality by g_i - g_j.
//
// A round: select the steepest rows on both sides; compose the working set; get its kernel matrix; make pair steps on
// it until its own violation has fallen; move the gradients of all rows along; score the rows for the next round.
//
// Everything is deterministic: ties are broken by row number, sums are made in a fixed order, and the order in which
// threads take slots of the cache does not touch a value.
#pragma once

#include <cstdint>

#include "device.hpp"

namespace everlearn::cuda {

constexpr int kSet = 1024;         // rows of a working set
constexpr int kSide = kSet / 2;    // selected on each side
constexpr int kCandidates = 1024;  // sorted on each side

/// The state of all problems; every array has `problems` lines of `rows` entries, all in device memory.
struct Problems {
  double* alpha;
  double* g;
  const double* edge;
  const float* diagonal;  // one line
  int problems;
  int rows;
};

/// The last working sets and the moves made on them: lines of kSet entries and a count for each problem.
struct Sets {
  int* rows;
  int* count;
  int* moved;
  double* by;  // by how much coefficients moved
  float* by_float;
  double* to;  // and where to
  int* moved_count;
  float* violation;  // one a problem
  unsigned long long* steps;
};

/// Scratch memory of a selection.
class Selection {
 public:
  Selection(int problems, int rows, cudaStream_t stream);
  /// Scores of the rows that may rise and, below them, of those that may fall: how steep they are.
  float* scores() const { return scores_.data(); }
  /// Sorts the steepest rows of both sides, and composes the working sets from them: a quarter of the steepest, then the
  /// rows of the last set that are still free, then the next steepest. Sets the violation of each problem.
  void compose(const Problems& problems, const Sets& sets, float tau, cudaStream_t stream);

 private:
  Buffer<float> scores_;
  Buffer<unsigned> histogram_;
  Buffer<unsigned long long> threshold_, candidates_;
  Buffer<int> state_, found_, mark_;
  int problems_, rows_;
};

/// Scores all rows by their gradients.
void score(const Problems& problems, float* scores, cudaStream_t stream);

/// A cache of kernel rows: slots are taken in turn, but never from a row of the present working sets.
struct CacheView {
  float* values;
  std::size_t ld;
  int slots;
  int* slot_of;  // by row, -1 if not cached
  int* row_of;   // by slot, -1 if free
  int* stamp;    // by slot: the round that last used it
  int* next;     // one counter
  int* round;    // one counter
  int* missing;  // rows to compute, and where to
  int* place;
  int* n_missing;
};

/// Finds slots for the rows of the working sets, and lists those whose values are missing.
void claim(const CacheView& cache, const Sets& sets, int problems, cudaStream_t stream);
/// Copies the kernel matrices of the working sets out of the cache.
void gather(const CacheView& cache, const Sets& sets, int problems, float* matrices, cudaStream_t stream);

/// Pair steps on each working set until its violation is at most max(tau / 2, share of the violation of all rows).
void step_pairs(const Problems& problems, const Sets& sets, const float* matrices, float tau, float share,
                int max_steps, cudaStream_t stream);

/// part[part][p][s] = sum over the moved rows of this part of by K, from cached rows.
void sum_cached(const CacheView& cache, const Problems& problems, const Sets& sets, int parts, double* part,
                cudaStream_t stream);
/// Moves coefficients and gradients, and scores the rows.
void move(const Problems& problems, const Sets& sets, const double* part, int parts, float* scores,
          cudaStream_t stream);

}  // namespace everlearn::cuda
