"""What the tests of the exact SVM share: small hard problems, operations on them, an independent solver."""

import numpy as np
from hypothesis import strategies as st
from sklearn.svm import SVC

from reference import kernels

COSTS = st.sampled_from([0.01, 0.1, 1.0, 10.0, 1000.0])


def rbf(X, gamma, Z=None):
    return kernels.rbf(gamma)(X, X if Z is None else Z)


@st.composite
def problems(draw, distinct=False, jitters=(0.0,), single=False):
    """Kernel matrix, labels and costs of rows on a grid, some of them repeated with either label.

    Labels are random, or separable by a line but for repeated rows; kernels are linear (more rows than
    dimensions), polynomial and RBF. Jitter moves every row a little, so that repeated rows are nearly the
    same. Single rounds kernel values to single precision. `SVC` keeps them so, with an error of 6e-8 each,
    which moved f by up to 1.5e-6 at C = 1000: only of such values it solves the same problem.
    """
    point = st.tuples(st.integers(-3, 3), st.integers(-3, 3))
    X = draw(st.lists(point, min_size=3, max_size=14, unique=distinct))
    label = st.sampled_from([1, -1])
    y = draw(
        st.lists(label, min_size=len(X), max_size=len(X))
        | st.just([1 if 2 * a + b > 0.5 else -1 for a, b in X])
    )
    for k, sign in draw(
        st.lists(st.tuples(st.integers(0, len(X) - 1), label), max_size=0 if distinct else 6)
    ):
        X, y = [*X, X[k]], [*y, sign * y[k]]
    X, y = np.array(X, float), np.array(y, float)
    X = X + draw(st.sampled_from(jitters)) * np.random.default_rng(0).standard_normal(X.shape)
    kernel = draw(st.sampled_from([0.1, 1.0] if distinct else ["linear", "poly", 0.1, 1.0]))
    linear = X @ X.T
    K = linear if kernel == "linear" else (1 + linear) ** 2 if kernel == "poly" else rbf(X, kernel)
    C = draw(st.lists(COSTS, min_size=len(y), max_size=len(y)) | COSTS.map(lambda C: [C] * len(y)))
    return K.astype(np.float32).astype(float) if single else K, y, np.array(C)


@st.composite
def stories(draw, **options):
    """A problem, and what happens to its rows: each is added, later some go, turn or get another cost."""
    K, y, C = draw(problems(**options))
    order = draw(st.permutations(range(len(y))) | st.just(np.argsort(y).tolist()))  # also one class first
    events = [("add", i, None) for i in order]
    changes = st.tuples(st.sampled_from(["remove", "flip", "set_C"]), st.integers(0, len(y) - 1), COSTS)
    for what, i, cost in draw(st.lists(changes, max_size=12)):
        after = draw(st.integers(0, len(events)))
        events.insert(after, (what, i, cost))
    return K, y, C, events


def happen(model, event):
    """Let an event happen if it can; a row removed and added later comes back; tell whether anything did.

    The model has `rows`, those that it knows, and `add(i)`, `remove(i)`, `flip(i)`, `set_C(i, C)`.
    """
    what, i, cost = event
    if (i in model.rows) == (what == "add"):
        return False
    getattr(model, what)(i, *([cost] if what == "set_C" else []))
    return True


def batch(K, y, C, rows, tol=1e-9):
    """`SVC` on some rows, a cost a row, as signed coefficients of all rows and a bias."""
    rows = np.array(rows)
    exact = SVC(kernel="precomputed", C=1.0, tol=tol)
    exact.fit(K[np.ix_(rows, rows)], y[rows], sample_weight=C[rows])
    theta = np.zeros(len(y))
    theta[rows[exact.support_]] = exact.dual_coef_[0]
    return theta, exact.intercept_[0]


def kkt_interval(K, y, C, theta, rows, slack=1e-6):
    """The least and the largest bias that the conditions allow, for signed coefficients of all rows.

    A coefficient near an end of its box is at it.
    """
    rows = np.array(rows)
    e, alpha = (y - K @ theta)[rows], (y * theta)[rows]
    below, above = alpha < (1 - slack) * C[rows], alpha > slack * C[rows]
    up, down = np.where(y[rows] > 0, below, above), np.where(y[rows] > 0, above, below)
    return e[up].max(initial=-np.inf), e[down].min(initial=np.inf)
