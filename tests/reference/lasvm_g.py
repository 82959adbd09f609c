"""Plain NumPy LASVM-G, its relatives LASVM-NC and LASVM-I, and the full SVM: slow twins of the compiled ones.

S. Ertekin, "Learning in Extreme Conditions" (thesis, 2009), chapter 6.

Without a bias: maximize W(α) = Σ α_i y_i − ½ Σ α_i α_j K_ij over A_i ≤ α_i ≤ B_i, one coordinate a step and,
where a row takes more than single_steps of them, two. The box lies between 0 and C_i y_i; for a row that
LASVM-NC found beyond the ramp between 0 and −C_i y_i.
"""

from itertools import count

import numpy as np

from reference.partner import step_with_partner


class ReferenceGap:
    """Kernel matrix K (n x n), labels y in {−1, +1}, one cost C or one per row; mode g, full, nc or i."""

    def __init__(
        self,
        K,
        y,
        C=1.0,
        tau=1e-3,
        mode="g",
        s=-1.0,
        min_support=100,
        clean_every=300,
        max_idle=100,
        single_steps=np.inf,
    ):
        self.K, self.y = np.asarray(K, float), np.asarray(y, float)
        self.tau, self.mode, self.s, self.min_support = tau, mode, s, min_support
        self.clean_every, self.max_idle, self.largest_cost = clean_every, max_idle, np.max(C)
        self.single_steps = single_steps
        self.edge = C * self.y  # the end of the box that is not 0
        self.A, self.B = np.minimum(0, self.edge), np.maximum(0, self.edge)
        self.S: list[int] = []  # in insertion order
        self.alpha, self.g = np.zeros(len(self.y)), np.full(len(self.y), np.nan)  # g is valid on S only
        self.outliers: list[int] = []  # found beyond the ramp on arrival (NC)
        self.skipped: list[int] = []  # neither kept nor learned (I)
        self.n_visited = self.n_reprocess = self.n_evaluations = 0

    def move(self, k):
        """Take α_k to its optimum with all else fixed, or to the end of its box."""
        bound, curvature, S = self.A[k] if self.g[k] < 0 else self.B[k], self.K[k, k], self.S
        length = bound - self.alpha[k]
        if curvature > 1e-12 and abs(self.g[k] / curvature) < abs(length):
            length = self.g[k] / curvature
            bound = self.alpha[k] + length
        self.alpha[k] = bound  # at the end of the box the end itself
        self.g[S] -= length * self.K[k, S]

    def process(self, i):
        """Insert row i and move it; tell whether it was new. LASVM-I may skip it, LASVM-NC turn its box."""
        if i in self.S:
            return False
        g, n_sv = self.y[i] - self.K[i, self.S] @ self.alpha[self.S], np.count_nonzero(self.alpha)
        z, ramp = 1 - self.y[i] * g, self.ramp_works(i)
        if self.mode == "i" and ramp and (z > 1 or z < self.s):
            self.skipped.append(i)
            self.n_evaluations += n_sv  # to know z the support vectors are enough
            return False
        edge = self.edge[i]
        if self.mode == "nc" and ramp and z < self.s:
            self.outliers.append(i)
            edge = -edge
        self.A[i], self.B[i], self.g[i] = min(0, edge), max(0, edge), g
        self.n_evaluations += len(self.S)
        self.S.append(i)
        self.move(i)
        return True

    def ramp_works(self, i):
        """Tell whether support vectors are enough, and those of its class, to call row i an outlier."""
        n_sv, n_own = np.count_nonzero(self.alpha), np.count_nonzero(self.alpha * self.y[i] > 0)
        return n_sv >= self.min_support + (self.mode == "nc") and n_own >= self.min_support // 10

    def reprocess(self, with_partner=False):
        """Move the row with the largest violation if that is above τ; tell whether it was."""
        down = [s for s in self.S if self.alpha[s] > self.A[s]]
        up = [s for s in self.S if self.alpha[s] < self.B[s]]
        lowest, highest = min(self.g[down], default=np.inf), max(self.g[up], default=-np.inf)
        if max(highest, -lowest) <= self.tau:
            return False
        k = down[np.argmin(self.g[down])] if lowest + highest < 0 else up[np.argmax(self.g[up])]
        if with_partner:
            rows = np.array(self.S)
            for j, value in step_with_partner(k, rows, self.alpha, self.g, self.K, self.A, self.B).items():
                self.g[rows] -= (value - self.alpha[j]) * self.K[j, rows]
                self.alpha[j] = value
        else:
            self.move(k)
        self.n_reprocess += 1
        return True

    def gap(self):
        """Return primal − dual over S: the most that all rows together could still gain."""
        S, g = self.S, self.g[self.S]
        up, down = self.B[S] - self.alpha[S], self.alpha[S] - self.A[S]
        return float(up @ np.maximum(0, g) + down @ np.maximum(0, -g))

    def target(self):
        """Return the standard deviation of the sum of losses."""
        n_sv, S = np.count_nonzero(self.alpha), self.S
        loss = np.maximum(self.A[S] * self.g[S], self.B[S] * self.g[S])
        return float(np.sqrt(max(0, loss @ loss - loss.sum() ** 2 / n_sv))) if n_sv else 0.0

    def clean(self, m):
        """Of the rows of α = 0 keep the m nearest to the margin, of equals the older; return the others."""
        idle = [s for s in self.S if self.alpha[s] == 0]
        slack = [-self.g[s] if self.B[s] > 0 else self.g[s] for s in idle]
        gone = [idle[k] for k in np.argsort(slack, kind="stable")[m:]]
        self.S = [s for s in self.S if s not in gone]
        return gone

    def close_gap(self, threshold):
        """Reprocess until the gap is small enough or nothing violates."""
        for step in count():
            if self.gap() <= threshold or not self.reprocess(with_partner=step >= self.single_steps):
                break

    def forget(self, rows):
        """Take rows out, their coefficients with them, and close the gap on the others."""
        for i in rows:
            self.g[self.S] += self.alpha[i] * self.K[i, self.S]
            self.alpha[i] = 0
        self.S = [s for s in self.S if s not in rows]
        self.close_gap(max(self.largest_cost, self.target()))
        return self

    def visit(self, i):
        """Process row i, then reprocess until the gap is small enough or nothing violates."""
        threshold, skipped = max(self.largest_cost, self.target()), len(self.skipped)
        self.process(i)
        if len(self.skipped) == skipped:
            self.close_gap(threshold)
        self.n_visited += 1
        if self.mode != "full" and self.n_visited % self.clean_every == 0:
            self.clean(self.max_idle)

    def run(self, order, epochs=1, final_clean=True):
        """Visit the rows in order, epoch by epoch."""
        for i in [*order] * epochs:
            self.visit(i)
        if final_clean and self.mode != "full":
            self.clean(0)
        return self

    def finish(self):
        """Reprocess until nothing violates by more than τ."""
        while self.reprocess():
            pass
        return self

    def dual(self):
        """Return W(α)."""
        return float(self.alpha @ self.y - 0.5 * self.alpha @ self.K @ self.alpha)

    def decision(self, K_test_rows):
        """Return f = Σ α_s K_s for kernel rows of shape (m, n)."""
        return np.asarray(K_test_rows, float) @ self.alpha
