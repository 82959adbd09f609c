"""Plain NumPy OPAUC: the slow twin of the compiled one.

W. Gao, R. Jin, S. Zhu, Z.-H. Zhou, "One-Pass AUC Optimization" (2013).

f(x) = ⟨w, x⟩. The loss of a new row (x, y) is λ/2 ‖w‖² + ½ (1 − y ⟨w, x − x_j⟩)², the latter averaged
over all rows x_j of the other class seen so far. Their mean c and covariance S (divisor n) are enough for
its gradient:
    λ w − y u + u ⟨u, w⟩ + S w,   u = x − c
With rank r the covariance is a sketch: each row has q ~ N(0, I_r / r), Z = Σ x qᵀ, h = Σ q, and S w is
taken for A (Aᵀ w) / n, A = Z − c hᵀ = Σ (x − c) qᵀ; unbiased, because E⟨q_i, q_j⟩ is 1 for i = j and 0
otherwise.
"""

import numpy as np

from reference.kept_rows import RowByRow


class ReferenceOPAUC(RowByRow):
    """n[y], c[y], and S[y] or Z[y] and h[y], are of class y. With rank each row calls normal(rank) once."""

    def __init__(self, n_features, eta=0.01, lambda_=0.0, rank=None, normal=None):
        self.eta, self.lambda_, self.rank, self.normal, d = eta, lambda_, rank, normal, n_features
        self.w, self.n, self.c = np.zeros(d), {1: 0, -1: 0}, {1: np.zeros(d), -1: np.zeros(d)}
        if rank is None:
            self.S = {1: np.zeros((d, d)), -1: np.zeros((d, d))}
        else:
            self.Z, self.h = ({y: np.zeros(shape) for y in (1, -1)} for shape in ((d, rank), rank))

    def decide(self, X):
        return X @ self.w

    def note(self, x, y):
        """Bring the statistics of class y up to date (Welford)."""
        self.n[y] += 1
        before = x - self.c[y]
        self.c[y] = self.c[y] + before / self.n[y]
        if self.rank is None:
            self.S[y] = self.S[y] + (np.outer(before, x - self.c[y]) - self.S[y]) / self.n[y]
        else:
            q = self.normal(self.rank) / np.sqrt(self.rank)
            self.Z[y], self.h[y] = self.Z[y] + np.outer(x, q), self.h[y] + q

    def covariance_times(self, y, w):
        """Return S w, or what the sketch makes of it."""
        if self.rank is None:
            return self.S[y] @ w
        A = self.Z[y] - np.outer(self.c[y], self.h[y])
        return A @ (A.T @ w) / self.n[y]

    def gradient(self, x, y):
        g = self.lambda_ * self.w
        if self.n[-y]:
            u = x - self.c[-y]
            g = g - y * u + u * (u @ self.w) + self.covariance_times(-y, self.w)
        return g

    def learn(self, x, y):
        self.note(x, y)
        self.w = self.w - self.eta * self.gradient(x, y)
