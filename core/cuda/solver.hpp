// An exact SVM on the device: all one-vs-rest problems of a fit at once, by the working-set method.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "../kernel.hpp"
#include "rows.hpp"

namespace everlearn::cuda {

struct Task {
  Kernel kernel;
  double tau = 1e-3;
  std::size_t cache_bytes = 0;  // 0: what is free
  std::int64_t max_rounds = 100'000;
};

struct Solution {
  std::vector<double> alpha, g;  // one line of all rows for each problem
  std::vector<double> violation;
  std::int64_t rounds = 0, steps = 0, rows_computed = 0;
  int refreshes = 0;
  bool cached = false;  // kernel rows were kept, not summed anew
};

/// Solves the problems with these boxes: `edge` has one line for each problem, C_s for rows of the class, -C_s for the
/// others, 0 for rows that do not count. `interrupted` is asked between rounds.
Solution solve(const Source& source, const std::vector<double>& edge, int problems, const Task& task,
               const std::function<bool()>& interrupted);

}  // namespace everlearn::cuda
