"""Plain NumPy kernel passive-aggressive learner: the slow twin of the compiled one.

K. Crammer et al., "Online Passive-Aggressive Algorithms" (2006).

ℓ = max(0, 1 − y f(x)); if ℓ > 0 append (x, τ y). The least change of f that brings the loss to 0 is
    PA: τ = ℓ / k(x, x)     PA-I: τ = min(C, ℓ / k(x, x))     PA-II: τ = ℓ / (k(x, x) + 1 / 2C)
"""

from reference.kept_rows import MistakeDriven


class ReferenceKernelPA(MistakeDriven):
    """variant is "pa", "pa1" or "pa2"; a row with k(x, x) = 0 cannot change f at x, and one below 0
    would change it the wrong way: both are passed over.
    """

    def __init__(self, kernel, C=1.0, variant="pa1"):
        super().__init__(kernel)
        self.C, self.variant = C, variant

    def learn(self, x, y):
        loss, length = 1 - self.score(x, y), self.length(x)
        if loss <= 0 or length <= 0:
            return
        tau = loss / (length + (1 / (2 * self.C) if self.variant == "pa2" else 0))
        self.append(x, y * (min(self.C, tau) if self.variant == "pa1" else tau), self.t)
