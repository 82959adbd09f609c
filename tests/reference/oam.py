"""Plain NumPy OAM, sequential: the slow twin of the compiled one.

P. Zhao, S. C. H. Hoi, R. Jin, T. Yang, "Online AUC Maximization" (2011).

f(x) = ⟨w, x⟩. A new row (x, y) is paired with every row x_i in the reservoir of the other class, one
after the other, and each pair with a loss makes a passive-aggressive step:
    g = y (x − x_i);   ℓ = 1 − ⟨w, g⟩;   if ℓ > 0: w += min(C_t, ℓ / ‖g‖²) g
C_t = C max(1, n / N), n rows of the other class seen, N places in its reservoir.
"""

import numpy as np

from reference.kept_rows import RowByRow


class ReferenceOAM(RowByRow):
    """kept[y] and n[y] are of class y: its reservoir of at most N = budget rows, and the rows seen.

    A row that comes to a full reservoir calls below(n[y]) once: it takes the place of row j, if there is one.
    """

    def __init__(self, n_features, C=1.0, budget=100, below=None):
        self.C, self.budget, self.below, self.w = C, budget, below, np.zeros(n_features)
        self.kept, self.n = {y: np.zeros((0, n_features)) for y in (1, -1)}, {1: 0, -1: 0}

    def decide(self, X):
        return X @ self.w

    def offer(self, x, y):
        """Keep a uniform sample of the class."""
        if len(self.kept[y]) < self.budget:
            self.kept[y] = np.vstack([self.kept[y], x])
        elif (j := self.below(self.n[y])) < self.budget:
            self.kept[y][j] = x

    def learn(self, x, y):
        self.n[y] += 1
        C = self.C * max(1, self.n[-y] / self.budget)
        self.offer(x, y)
        for other in self.kept[-y]:
            g = y * (x - other)
            loss, length = 1 - self.w @ g, g @ g
            if loss > 0 and length > 0:
                self.w = self.w + min(C, loss / length) * g
