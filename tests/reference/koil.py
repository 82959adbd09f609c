"""Plain NumPy KOIL: the slow twin of the compiled one.

J. Hu, H. Yang, I. King, M. R. Lyu, A. M.-C. So, "Kernelized Online Imbalanced Learning with Fixed Budgets"
(2015).

f(x) = Σ a_i k(x_i, x) over two sets of kept rows, one a class. A new row (x, y) is paired with kept rows
of the other class; the loss of a pair is max(0, 1 − y (f(x) − f(x_i))). V are the nearest rows of pairs
with a loss, at most n_neighbors. One step of gradient descent on ½ ‖f‖² + C Σ_V losses:
    a ← (1 − η) a;   a_i −= η C y for i in V;   the new row gets η C y |V|
All of it by f as it was. Who leaves a full set also leaves, if the replacement is one with ++, the
coefficient: to the nearest row of the class, so that the sum of all coefficients stays.
"""

import numpy as np

from reference.kept_rows import KeptRows, RowByRow

USUAL = {"nearest": "violators", "bootstrap": True, "keep_zeros": False, "weighted": False}


class ReferenceKOIL(RowByRow):
    """kept[y], n[y] and budget[y] are of class y: its kept rows, the rows seen, the most that are kept.

    replacement: "rs++", "rs", "fifo++" or "fifo". With rs a row that comes to a full set calls
    below(n[y]) once: it says which row goes; if there is no such row, the new one. A row that meets
    nobody (no row of the other class, or no loss and no row of its own) gets η C y. A row without a
    coefficient is not kept. Other readings: nearest="all" takes of the n_neighbors nearest rows those
    with a loss; bootstrap=False gives nothing to rows that meet nobody, and keeps the first of a class
    all the same; keep_zeros=True keeps all rows without a coefficient; weighted=True multiplies C by
    max(1, n[−y] / budget[−y]).
    """

    def __init__(
        self, kernel, C=1.0, eta=0.01, n_neighbors=10, budget=100, replacement="rs++", below=None, **reading
    ):
        self.kept, self.n = {y: KeptRows(kernel) for y in (1, -1)}, {1: 0, -1: 0}
        self.budget = budget if isinstance(budget, dict) else {1: budget, -1: budget}
        self.C, self.eta, self.n_neighbors = C, eta, n_neighbors
        self.replacement, self.below = replacement, below
        assert set(reading) <= set(USUAL)
        self.nearest, self.bootstrap, self.keep_zeros, self.weighted = (USUAL | reading).values()

    def decide(self, X):
        return self.kept[1].decide(X) + self.kept[-1].decide(X)

    def forget(self, numbers):
        """Take out the rows with these numbers; nobody inherits their coefficients."""
        for rows in self.kept.values():
            rows.forget(numbers)

    def violators(self, x, y):
        """Return V: places in kept[−y]; of equally near rows the older ones."""
        others = self.kept[-y]
        near = np.argsort(-others.against(x), kind="stable")
        if self.nearest == "all":
            near = near[: self.n_neighbors]
        gap = y * (self.decide(x) - self.decide(others.X.reshape(-1, len(x))))
        return near[gap[near] < 1][: self.n_neighbors]

    def learn(self, x, y):
        self.n[y] += 1
        V, own, others = self.violators(x, y), self.kept[y], self.kept[-y]
        step = self.eta * self.C * y * (max(1, self.n[-y] / self.budget[-y]) if self.weighted else 1)
        alone = not len(others) or (not len(own) and not len(V))
        own.a *= 1 - self.eta
        others.a *= 1 - self.eta
        others.a[V] -= step
        a = step if self.bootstrap and alone else step * len(V)
        if a != 0 or self.keep_zeros or not len(own):
            self.insert(x, y, a)

    def insert(self, x, y, a):
        """Keep the row; if there are too many now one goes, and may leave its coefficient to the nearest."""
        own, N = self.kept[y], self.budget[y]
        own.append(x, a, self.n[1] + self.n[-1])
        if len(own) > N:
            j = self.below(self.n[y]) if self.replacement.startswith("rs") else 0
            row, coefficient = own.drop(min(j, N))  # the new row is the one in place N
            if self.replacement.endswith("++"):
                own.a[np.argmax(own.against(row))] += coefficient
