"""Plain NumPy Projectron and Projectron++: the slow twins of the compiled ones.

F. Orabona, J. Keshet, B. Caputo, "Bounded Kernel-Based Online Learning" (2009).

With k_t the kernel values of x against the rows kept and K = L Lᵀ those between them, z = L⁻¹ k_t and
d = L⁻ᵀ z = K⁻¹ k_t. These are the coefficients of P k(x, ·), the projection on the span of the rows kept;
‖P k(x, ·)‖² = z·z, and δ² = k(x, x) − z·z is the squared length of what it misses. The paper keeps K⁻¹ and
adds v vᵀ/δ², v = (d, −1), for a new row: the same numbers, but for rounding, which that recursion amplifies
without bounds. L gets the row (z, δ).
"""

import numpy as np
from scipy.linalg import solve_triangular

from reference.kept_rows import MistakeDriven

DEPENDENT = 1e-10  # a share of k(x, x): a smaller δ² is rounding


class ReferenceProjectron(MistakeDriven):
    """On a mistake project where δ ≤ η or the budget is full, else append. plus: margin steps as well."""

    def __init__(self, kernel, budget=np.inf, eta=0.1, plus=False):
        super().__init__(kernel, budget)
        self.eta, self.plus, self.L = eta, plus, np.zeros((0, 0))
        self.n_projections = self.n_margin_steps = 0

    def learn(self, x, y):
        margin = self.score(x, y)
        if margin <= 0:
            self.mistake(x, y)
        elif margin < 1 and self.plus:
            self.margin_error(x, y, 1 - margin)

    def project(self, x):
        """Return z, d and δ²."""
        if not len(self):
            return np.zeros(0), np.zeros(0), self.length(x)
        z = solve_triangular(self.L, self.against(x), lower=True)
        return z, solve_triangular(self.L, z, lower=True, trans="T"), max(0.0, self.length(x) - z @ z)

    def forget(self, numbers):
        super().forget(numbers)
        self.L = np.linalg.cholesky(self.gram()) if len(self) else np.zeros((0, 0))

    def mistake(self, x, y):
        z, d, miss = self.project(x)
        if np.sqrt(miss) <= self.eta or len(self) >= self.budget or miss <= DEPENDENT * self.length(x):
            self.a += y * d  # f + y P k(x, ·)
            self.n_projections += 1
            return
        self.append(x, y, self.t)
        self.L = np.pad(self.L, (0, 1))
        self.L[-1] = [*z, np.sqrt(miss)]

    def margin_error(self, x, y, loss):
        z, d, miss = self.project(x)
        span, room = z @ z, self.eta * loss - np.sqrt(miss)  # room: η (ℓ − δ/η); with η = 0 there is none
        if room > 0 and span > 0:
            self.a += y * min(1.0, loss / span, 2 * room / (self.eta * span)) * d
            self.n_margin_steps += 1
