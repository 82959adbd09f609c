"""Plain NumPy LASVM: the slow twin against which the compiled solver is checked.

A. Bordes, S. Ertekin, J. Weston, L. Bottou, "Fast Kernel Classifiers with Online and Active Learning",
JMLR 6 (2005); S. Ertekin, "Learning in Extreme Conditions" (thesis, 2009).

Maximize W(α) = Σ α_i y_i − ½ Σ α_i α_j K_ij with signed coefficients, Σ α_i = 0 and A_i ≤ α_i ≤ B_i, where
[A_i, B_i] lies between 0 and C_i y_i. The gradient g_i = y_i − Σ_j α_j K_ij does not contain the bias.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Pair = tuple[int | None, int | None]


class ReferenceLASVM:
    """Binary LASVM with bias: kernel matrix K (n x n), labels y in {−1, +1}, one cost C or one per row."""

    def __init__(self, K: ArrayLike, y: ArrayLike, C: ArrayLike = 1.0, tau=1e-3, delta_max=None, n_seed=5):
        self.K, self.y = np.asarray(K, float), np.asarray(y, float)
        self.A, self.B = np.minimum(0, C * self.y), np.maximum(0, C * self.y)
        self.tau, self.delta_max, self.n_seed = tau, delta_max, n_seed
        self.S: list[int] = []  # the expansion, in insertion order
        self.alpha = np.zeros(len(self.y))  # 0 outside S
        self.g = np.full(len(self.y), np.nan)  # valid on S only
        self.b, self.delta, self.n_steps = 0.0, np.inf, 0

    def extremes(self) -> Pair:
        """Return who gains most by going up and who by going down; the first inserted wins ties."""
        up = [s for s in self.S if self.alpha[s] < self.B[s]]
        down = [s for s in self.S if self.alpha[s] > self.A[s]]
        return up[np.argmax(self.g[up])] if up else None, down[np.argmin(self.g[down])] if down else None

    def step(self, i: int, j: int) -> None:
        """Move α_i up and α_j down by the same amount: to the optimum on that line or to the box."""
        K, a, S = self.K, self.alpha, self.S
        room_i, room_j = self.B[i] - a[i], a[j] - self.A[j]
        length, curvature = min(room_i, room_j), K[i, i] + K[j, j] - 2 * K[i, j]
        if curvature > 1e-12:
            length = min(length, (self.g[i] - self.g[j]) / curvature)
        a[i] = self.B[i] if length == room_i else a[i] + length  # at the bound store the bound itself
        a[j] = self.A[j] if length == room_j else a[j] - length
        self.g[S] -= length * (K[i, S] - K[j, S])
        self.n_steps += 1

    def process(self, k: int) -> bool:
        """Insert example k and pair it with its best partner; tell whether a step was made."""
        if k in self.S:
            return False
        self._insert(k)
        i, j = self.extremes()
        return self._step_if_violating(k, j) if self.y[k] > 0 else self._step_if_violating(i, k)

    def reprocess(self) -> bool:
        """Step on the most violating pair if there is one, drop what cannot help, refresh b and δ.

        The two extremes stay in S even where δ ≤ 0 would let them go: without a free support vector they are
        all that pins b down. For δ > 0 the printed rule keeps them, too.
        """
        stepped = self._step_if_violating(*self.extremes())
        i, j = self._refresh()
        if i is not None and j is not None:
            idle = [s for s in self.S if self.alpha[s] == 0 and s not in (i, j)]
            g, g_i, g_j = self.g, self.g[i], self.g[j]
            useless = [s for s in idle if (g[s] >= g_i if self.y[s] < 0 else g[s] <= g_j)]
            self.S = [s for s in self.S if s not in useless]
        return stepped

    def _insert(self, k: int) -> None:
        self.g[k] = self.y[k] - self.K[k, self.S] @ self.alpha[self.S]
        self.S.append(k)

    def _step_if_violating(self, i: int | None, j: int | None) -> bool:
        if i is None or j is None or self.g[i] - self.g[j] <= self.tau:
            return False
        self.step(i, j)
        return True

    def _refresh(self) -> Pair:
        i, j = self.extremes()
        g = [float(self.g[s]) for s in (i, j) if s is not None]
        self.b = sum(g) / max(1, len(g))
        self.delta = g[0] - g[1] if len(g) == 2 else np.inf
        return i, j

    def seed(self, order: Sequence[int]) -> list[int]:
        """Insert the first n_seed examples of each class with α = 0 and return them."""
        firsts = [[k for k in order if self.y[k] == label][: self.n_seed] for label in (-1, 1)]
        for k in order:
            if k in firsts[0] or k in firsts[1]:
                self._insert(k)
        self._refresh()
        return list(self.S)

    def run(self, order: Sequence[int], epochs: int = 1) -> "ReferenceLASVM":
        """Visit the examples in order; an empty model seeds itself, and its first epoch skips the seeds."""
        skip = [] if self.S else self.seed(order)
        for epoch in range(epochs):
            for k in order:
                if epoch > 0 or k not in skip:
                    self.process(k)
                    stepped = self.reprocess()
                    while self.delta_max is not None and stepped and self.delta > self.delta_max:
                        stepped = self.reprocess()
        return self

    def finish(self) -> "ReferenceLASVM":
        """REPROCESS until δ ≤ τ or no step is possible."""
        while self.reprocess() and self.delta > self.tau:
            pass
        return self

    def decision(self, K_test_rows: ArrayLike) -> NDArray[np.float64]:
        """Return f = Σ α_s K_s + b for kernel rows of shape (m, n)."""
        return np.asarray(K_test_rows, float) @ self.alpha + self.b

    def dual(self) -> float:
        """Return W(α)."""
        return float(self.alpha @ self.y - 0.5 * self.alpha @ self.K @ self.alpha)


def select(rule: str, f: ArrayLike, y: ArrayLike | None = None, delta: float = 0.0) -> int:
    """Return the position of the chosen candidate; f and y in drawn order, the first drawn wins ties.

    "gradient" takes the smallest y f, "active" the smallest |f|, and "autoactive" the smallest |f| of those
    drawn until 5 have |f| < 1 + δ/2 or 100 are drawn. Only "gradient" reads y.
    """
    if rule == "gradient":
        return int(np.argmin(np.multiply(y, f)))
    distance = np.abs(f)
    if rule == "autoactive":
        inside = np.flatnonzero(distance[:100] < 1 + delta / 2)
        distance = distance[: inside[4] + 1 if len(inside) >= 5 else 100]
    elif rule != "active":
        raise ValueError(f"unknown selection rule {rule!r}")
    return int(np.argmin(distance))


def run_selected(
    model: ReferenceLASVM, pool: Sequence[int], rule: str, draw: Callable, size=50, iterations: int = -1
) -> list[int]:
    """Learn from the pool in selected order; draw(rest, m) gives m of the rest without replacement."""
    rest, chosen = list(pool), []
    while rest and len(chosen) != iterations:
        drawn = draw(rest, min(100 if rule == "autoactive" else size, len(rest)))
        labels = model.y[drawn] if rule == "gradient" else None
        k = int(drawn[select(rule, model.decision(model.K[drawn]), labels, model.delta)])
        rest.remove(k)
        chosen.append(k)
        model.process(k)
        model.reprocess()
    return chosen
