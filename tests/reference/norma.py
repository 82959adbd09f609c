"""Plain NumPy NORMA for classification: the slow twin of the compiled one.

J. Kivinen, A. J. Smola, R. C. Williamson, "Online Learning with Kernels" (2004).

Stochastic gradient descent on max(0, ρ − y (f(x) + b)) + λ/2 ‖f‖², and with ν also on −ν ρ:
    for every row a ← (1 − η_t λ) a; on a margin error append (x, η_t y), b += η_t y, and the oldest may go;
    with ν: ρ −= η_t (1 − ν) on an error, ρ += η_t ν otherwise, so that the share of errors tends to ν.
"""

import numpy as np

from reference.kept_rows import MistakeDriven


class ReferenceNORMA(MistakeDriven):
    """eta is constant, or with decay eta/√t; rho is where the margin is, with nu where it begins."""

    def __init__(
        self, kernel, budget=200, eta=0.01, lambda_=1.0, rho=1.0, nu=None, fit_intercept=False, decay=False
    ):
        super().__init__(kernel, budget)
        self.eta, self.lambda_, self.rho, self.nu = eta, lambda_, rho, nu
        self.fit_intercept, self.decay, self.b = fit_intercept, decay, 0.0

    def decide(self, X):
        return super().decide(X) + self.b

    def learn(self, x, y):
        margin = self.score(x, y)
        eta = self.eta / np.sqrt(self.t) if self.decay else self.eta
        error = margin < self.rho if self.nu is None else margin <= self.rho
        self.a *= 1 - eta * self.lambda_
        if error:
            self.append(x, eta * y, self.t)
            self.b += eta * y * self.fit_intercept
            if len(self) > self.budget:
                self.drop(0)
        if self.nu is not None:
            self.rho += eta * (self.nu - error)
