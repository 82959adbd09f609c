// Kernel expansions on the device, for prediction.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "../kernel.hpp"
#include "source.hpp"

namespace everlearn::cuda {

class Scorer {
 public:
  Scorer(const Source& vectors, const std::vector<float>& coefficients, int columns, const Kernel& kernel);
  ~Scorer();
  /// Sums plus the bias of each column: `out`, in host or device memory, has one line for each column. Rows from host
  /// memory come in batches, on several streams, so that some travel while others are scored. `interrupted` is asked
  /// between batches; false is returned if it says yes. Raises NotFinite.
  bool scores(const Source& rows, const std::vector<double>& bias, double* out, bool out_on_device,
              const std::function<bool()>& interrupted);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace everlearn::cuda
