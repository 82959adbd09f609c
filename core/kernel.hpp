// The kernel functions: what a user chooses once, and every block is mapped through.
#pragma once

namespace everlearn {

enum class KernelKind { linear, polynomial, rbf, sigmoid };

/// linear <a,b> · polynomial (gamma <a,b> + coef0)^degree · rbf exp(-gamma |a-b|^2) · sigmoid tanh(gamma <a,b> + coef0)
struct Kernel {
  KernelKind kind = KernelKind::rbf;
  double gamma = 1.0;
  double coef0 = 0.0;
  int degree = 3;
};

}  // namespace everlearn
