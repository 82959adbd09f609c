"""What the tests of LocalSVM share: streams, a plain version on the whole kernel matrix, conditions."""

import numpy as np
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from svm.lasvm_helpers import learned, two_clouds

QUIET = {"full_pass_every": None, "full_pass_sample": 0}  # nothing but local updates


def signs(n, features=3, seed=0):
    X, y = two_clouds(n, features, seed=seed)
    return X, np.where(y == 1, 1, -1)


def gram(X, gamma):
    """The kernel as the core has it, but for a last digit now and then."""
    return rbf_kernel(X, gamma=gamma).astype(np.float32).astype(float)


def retrained(X, y, C, gamma):
    reference = SVC(C=C, gamma=gamma, tol=1e-8).fit(X, y)
    alpha = np.zeros(len(y))
    alpha[reference.support_] = reference.dual_coef_[0]
    return reference, alpha


@st.composite
def streams(draw):
    """Rows on a grid: ties, rows repeated with equal and with opposite labels; a cost for each row."""
    n = draw(st.integers(4, 24))
    X = np.array(draw(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.sampled_from([1, -1]), min_size=n, max_size=n)))
    weights = np.array(draw(st.lists(st.sampled_from([0.1, 1.0, 10.0]), min_size=n, max_size=n)))
    return X.astype(float), y, weights


def pair_steps(alpha, g, K, box, rows, tol):
    """Steps on the most violating pair of ``rows`` until none violates by more than tol; in place."""
    while True:
        up = [i for i in rows if alpha[i] < box[1, i]]
        down = [i for i in rows if alpha[i] > box[0, i]]
        if not up or not down:
            return
        i, j = max(up, key=g.__getitem__), min(down, key=g.__getitem__)
        if g[i] - g[j] <= tol:
            return
        curvature = max(K[i, i] + K[j, j] - 2 * K[i, j], 1e-12)
        rooms = box[1, i] - alpha[i], alpha[j] - box[0, j]
        step = min((g[i] - g[j]) / curvature, *rooms)
        alpha[i] = box[1, i] if step == rooms[0] else alpha[i] + step
        alpha[j] = box[0, j] if step == rooms[1] else alpha[j] - step
        g -= step * (K[:, i] - K[:, j])


def reach(k, y, alpha, box, others, neighborhood, least):
    """How many of the others, nearest first, a new row of label y with the kernel row k has to do with."""
    radius = 0 if neighborhood == "grow" else np.sum(k[others] >= np.exp(-(neighborhood**2) / 2))
    count = min(len(others), max(int(radius), least))
    makes_way = (alpha > box[0] if y > 0 else alpha < box[1])[others]
    return max(count, int(np.argmax(makes_way)) + 1)


class PlainLocalSVM:
    """Local updates of one binary problem as they are defined; labels are +-1, coefficients signed."""

    def __init__(self, K, y, C, neighborhood, min_neighbors, tol):
        self.K, self.y, self.tol = K, y, tol
        self.C = np.broadcast_to(np.asarray(C, float), y.shape)
        self.box = np.array([np.minimum(0, y * self.C), np.maximum(0, y * self.C)])
        self.neighborhood, self.min_neighbors = neighborhood, min_neighbors
        self.alpha, self.b, self.rows = np.zeros(len(y)), 0.0, []

    def f(self, i):
        return self.K[i] @ self.alpha + self.b

    def learn(self, c):
        """Take row c in; return its neighborhood, empty if no coefficient moves."""
        y, others = self.y, sorted(self.rows, key=lambda i: (-self.K[c, i], i))
        self.rows.append(c)
        if len(set(y[self.rows])) == 1:
            self.b = float(y[c])
            return []
        if y[c] * self.f(c) >= 1:
            return []
        count = reach(self.K[c], y[c], self.alpha, self.box, others, self.neighborhood, self.min_neighbors)
        g, first = y - self.K @ self.alpha, self.alpha.copy()
        if self.neighborhood != "grow":
            pair_steps(self.alpha, g, self.K, self.box, [c, *others[:count]], self.tol)
        else:
            calm = 0
            while calm < 3:
                before = self.alpha.copy()
                pair_steps(self.alpha, g, self.K, self.box, [c, *others[:count]], self.tol)
                calm = calm + 1 if np.all(np.abs(self.alpha - before) <= 1e-3 * self.C) else 0
                if calm == 3 or count == len(others):
                    break
                count += 1
        self.set_bias(g)
        return [] if np.array_equal(self.alpha, first) else [c, *others[:count]]

    def set_bias(self, g):
        rows = np.array(self.rows)
        rise, fall = self.alpha[rows] < self.box[1, rows] - 1e-9, self.alpha[rows] > self.box[0, rows] + 1e-9
        if (rise & fall).any():
            self.b = g[rows][rise & fall].mean()
        else:
            self.b = (g[rows][rise].max() + g[rows][fall].min()) / 2


def by_row(model, n):
    """Signed coefficients by row id of a model with one binary problem."""
    state, alpha = learned(model), np.zeros(n)
    alpha[state["ids"]] = state["alpha"][0]
    return alpha


def violation(alpha, g, box, rows):
    """By how much the best pair of some rows violates; 0 if no pair does."""
    rows = np.asarray(rows, int)
    up, down = rows[alpha[rows] < box[1, rows]], rows[alpha[rows] > box[0, rows]]
    return max(0.0, g[up].max() - g[down].min()) if len(up) and len(down) else 0.0


def dual(alpha, K, y):
    return alpha @ y - 0.5 * alpha @ K @ alpha
