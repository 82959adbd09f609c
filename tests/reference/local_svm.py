"""Plain NumPy SVM that learns a row by solving in its neighborhood alone: the slow twin of the compiled one.

W. Emara, "A Submodular Optimization Framework for Never-Ending Learning" (thesis, 2012), chapter VI.

The problem is that of `reference.idsvm`: signed coefficients θ in boxes, Σ θ = 0. With e_i = y_i − Σ_j θ_j
K_ij the conditions are e_i ≤ b where θ_i can rise and e_i ≥ b where it can fall. For a new row c with y f
< 1 it is solved over its neighbors N; outside N θ is frozen, so Σ_N θ stays what it was. The kernel has
to be RBF: it has the distances in it, ‖x_i − x_c‖ = σ √(−2 ln K_ic).
"""

import numpy as np

from reference.generator import ReferenceGenerator


class ReferenceLocalSVM:
    """Kernel matrix K (n x n), labels y in {−1, +1}, one cost C or one per row.

    N is the ball of radius `neighborhood` · σ, and no less than the `n_nearest` rows; or with "grow"
    takes in a row a round until three rounds have changed no θ by more than `still` of its cost. After
    `full_every` updates, or where one of `n_sampled` rows that is not in N violates its condition by more
    than `max_violation`, all rows are solved for.
    """

    def __init__(
        self, K, y, C=1.0, neighborhood=2.0, n_nearest=50, tol=1e-3, full_every=500, n_sampled=100,
        max_violation=0.1, still=1e-3, generator=None
    ):  # fmt: skip
        self.K, self.y, self.C = np.asarray(K, float), np.asarray(y, float), C * np.ones(len(K))
        self.lo, self.hi = np.minimum(0, self.C * self.y), np.maximum(0, self.C * self.y)
        self.neighborhood, self.n_nearest, self.tol, self.still = neighborhood, n_nearest, tol, still
        self.full_every, self.n_sampled, self.max_violation = full_every, n_sampled, max_violation
        self.generator = generator or ReferenceGenerator.of(0)
        self.rows: list[int] = []  # in order of arrival
        self.theta, self.b, self.n_full, self.since_full = np.zeros(len(K)), 0.0, 0, 0

    def decision(self, K_rows):
        """Return f for kernel rows of shape (m, n)."""
        return np.asarray(K_rows, float) @ self.theta + self.b

    def dual(self):
        """Return Σ yθ − ½ θᵀKθ."""
        return float(self.y @ self.theta - 0.5 * self.theta @ self.K @ self.theta)

    def add(self, c):
        """Learn row c; where y f ≥ 1 it is only kept. Return N."""
        content = bool(self.rows) and self.y[c] * self.decision(self.K[c]) >= 1
        self.rows.append(c)
        if content:
            return []
        N = self.grow(c) if self.neighborhood == "grow" else self.ball(c)
        self.b, self.since_full = self.bias(), self.since_full + 1
        sampled = [self.rows[self.generator.below(len(self.rows))] for _ in range(self.n_sampled)]
        outside = [i for i in sampled if i not in N]
        if self.since_full >= self.full_every or self.violation(outside) > self.max_violation:
            self.finish()
        return N

    def finish(self):
        """Solve over everything."""
        self.solve(self.rows)
        self.b, self.since_full, self.n_full = self.bias(), 0, self.n_full + 1
        return self

    def ball(self, c):
        """Solve in the ball around c, or among the nearest rows; return them."""
        nearest, least = self.nearest(c)
        with np.errstate(divide="ignore"):
            distances = np.sqrt(-2 * np.log(np.minimum(self.K[c, nearest], 1)))  # in units of σ
        N = nearest[: max(least, self.n_nearest, np.sum(distances <= self.neighborhood))]
        self.solve(N)
        return N

    def grow(self, c):
        """Solve among ever more of the nearest rows until that changes nothing; return them."""
        nearest, n = self.nearest(c)
        quiet = 0
        while True:
            before = self.theta.copy()
            self.solve(nearest[:n])
            quiet = quiet + 1 if np.all(abs(self.theta - before) <= self.still * self.C) else 0
            if quiet == 3 or n >= len(nearest):
                return nearest[:n]
            n += 1

    def nearest(self, c):
        """Return all rows, c and the nearest first, and how many it takes until c has a partner to move."""
        order = sorted(self.rows, key=lambda i: (i != c, -self.K[c, i]))
        partners = self.theta > self.lo if self.y[c] > 0 else self.theta < self.hi
        return order, next((n for n, i in enumerate(order, 1) if i != c and partners[i]), len(order))

    def solve(self, N):
        """Move pairs in N, the worst violator and its partner best to second order, to within tol."""
        K, theta, N = self.K, self.theta, np.array(N)
        e = self.y - K @ theta
        while True:
            up, down = N[theta[N] < self.hi[N]], N[theta[N] > self.lo[N]]
            if e[up].max(initial=-np.inf) - e[down].min(initial=np.inf) <= self.tol:
                return
            i = up[np.argmax(e[up])]
            down = down[e[down] < e[i]]
            curvatures = np.maximum(K[i, i] + K[down, down] - 2 * K[i, down], 1e-12)
            best = np.argmax((e[i] - e[down]) ** 2 / curvatures)
            j = down[best]
            length = min(self.hi[i] - theta[i], theta[j] - self.lo[j], (e[i] - e[j]) / curvatures[best])
            ends = (
                length == self.hi[i] - theta[i],
                length == theta[j] - self.lo[j],
            )  # there store the end itself
            theta[i] = self.hi[i] if ends[0] else theta[i] + length
            theta[j] = self.lo[j] if ends[1] else theta[j] - length
            e -= length * (K[i] - K[j])

    def bias(self):
        """Return the mean e of all free rows, else the middle of what the conditions allow."""
        e, theta = (self.y - self.K @ self.theta)[self.rows], self.theta[self.rows]
        rise, fall = theta < self.hi[self.rows], theta > self.lo[self.rows]
        limits = [e[rise].max(initial=-np.inf), e[fall].min(initial=np.inf)]
        return float(
            np.mean(e[rise & fall] if np.any(rise & fall) else [v for v in limits if np.isfinite(v)])
        )

    def violation(self, rows):
        """Return by how much a condition of these rows is violated at most."""
        u, theta = self.decision(self.K[rows]) - self.y[rows], self.theta[rows]
        return max((-u[theta < self.hi[rows]]).max(initial=0), u[theta > self.lo[rows]].max(initial=0))
