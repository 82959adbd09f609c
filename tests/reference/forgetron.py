"""Plain NumPy Forgetron, self-tuned: the slow twin of the compiled one.

O. Dekel, S. Shalev-Shwartz, Y. Singer, "The Forgetron: A Kernel-Based Perceptron on a Budget" (2008).

Taking out a row r with coefficient λ y_r and margin μ = y_r f(x_r) brings f, in squared distance, further
from any u with |u(x_r)| ≤ 1 by at most ψ(λ, μ) = λ² + 2 λ − 2 λ μ, if k(x, x) ≤ 1. Q is the sum of these,
M the number of mistakes. Before a removal all coefficients shrink by φ, and with them λ and μ: no more
than it takes to have Q ≤ 15/32 M after it.
"""

import numpy as np

from reference.kept_rows import MistakeDriven


def psi(coefficient, margin):
    """Return what taking out a coefficient costs at most."""
    return coefficient**2 + 2 * coefficient - 2 * coefficient * margin


def shrinkage(s, mu, c):
    """Return the largest φ in (0, 1] with ψ(φ s, φ μ) + c ≤ 0, for s ≥ 0 and c < 0.

    ψ(φ s, φ μ) + c = A φ² + b φ + c with A = s² − 2 s μ, b = 2 s: a parabola, below 0 at φ = 0. Opened
    upwards it has one root above 0; opened downwards two or none, and φ may be below the first or beyond
    the second.
    """
    A, b = s * s - 2 * s * mu, 2 * s
    D = b * b - 4 * A * c
    if b == 0 or (A < 0 and (D <= 0 or b + np.sqrt(D) <= -2 * A)):
        return 1.0
    return min(1.0, -2 * c / (b + np.sqrt(D)))  # (−b + √D) / 2A without cancellation; −c/b where A = 0


class ReferenceForgetron(MistakeDriven):
    """On a mistake append (x, y); if there are more than B, shrink all by φ and drop the oldest."""

    def __init__(self, kernel, budget=200):
        super().__init__(kernel, budget)
        self.Q, self.phi = 0.0, 1.0  # the costs so far; how the last removal shrank

    def learn(self, x, y):
        if self.score(x, y) > 0:
            return
        self.append(x, y, self.t)
        if len(self) > self.budget:
            s, mu = np.abs(self.a[0]), np.sign(self.a[0]) * self.decide(self.X[0])
            self.phi = shrinkage(s, mu, self.Q - 15 / 32 * self.n_mistakes)
            self.Q += psi(self.phi * s, self.phi * mu)
            self.a *= self.phi
            self.drop(0)
