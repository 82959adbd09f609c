"""What the tests of the compiled exact SVM share: numbered rows, and conditions by definition."""

from copy import deepcopy

import numpy as np
import pytest
from hypothesis import strategies as st
from sklearn.svm import SVC

from everlearn import IDSVM
from reference import kernels
from svm.idsvm_helpers import COSTS
from svm.lasvm_helpers import assert_same, two_clouds
from svm.lasvm_helpers import learned as native_state

KERNELS = {
    "rbf": {"kernel": "rbf", "gamma": 0.7},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "gamma": 1.0, "coef0": 1.0, "degree": 2},
    "cubic": {"kernel": "poly", "gamma": 2.0, "coef0": 0.0, "degree": 3},
    "cosine": {"kernel": "cosine"},
    "laplacian": {"kernel": "laplacian", "gamma": 0.7},
}


def gram(options, X, Z=None):
    """Kernel values in NumPy."""
    if options["kernel"] == "precomputed":
        return X
    return kernels.named(**options)(X, X if Z is None else Z)


class Compiled:
    """The compiled machine, rows by their number; beside it what it should know: labels and costs."""

    def __init__(self, X, y, costs, **options):
        self.X, self.y, self.C, self.options = (
            np.asarray(X, float),
            np.array(y),
            np.array(costs, float),
            options,
        )
        self.K = gram(options, self.X)
        self.model = IDSVM(**options)

    @property
    def rows(self):
        return self.model.ids_.tolist() if hasattr(self.model, "_machine") else []

    @property
    def theta(self):
        theta = np.zeros(len(self.y))
        theta[self.model.support_] = self.model.dual_coef_[0]
        return theta

    @property
    def b(self):
        return float(self.model.intercept_[0])

    def add(self, i):
        self.model.partial_fit(self.X[[i]], self.y[[i]], classes=[-1, 1], sample_weight=self.C[[i]], ids=[i])

    def remove(self, i):
        self.model.forget(i)

    def flip(self, i):
        self.y[i] *= -1
        self.model.relabel(i, self.y[i])

    def set_C(self, i, C):
        self.remove(i)
        self.C[i] = C
        self.add(i)

    def decision(self):
        """Of all rows, kept or not."""
        return self.model.decision_function(self.X)

    def residual(self):
        """By how much a condition is violated at most, by definition; f must be the expansion that it claims.

        u_i = f(x_i) - y_i: at least 0 where theta_i can rise, at most 0 where it can fall, and sum theta = 0.
        """
        rows = np.array(self.rows, int)
        theta = self.theta
        assert not theta[np.setdiff1d(np.arange(len(self.y)), rows)].any()
        f = self.K @ theta + self.b
        np.testing.assert_allclose(
            self.decision(), f, rtol=0, atol=1e-12 * (1 + abs(self.K).max() * abs(theta).sum())
        )
        edge = (self.C * self.y)[rows] * self.options.get("C", 1.0)
        low, high, theta, u = np.minimum(0, edge), np.maximum(0, edge), theta[rows], (f - self.y)[rows]
        assert np.all((low <= theta) & (theta <= high))
        return max(
            (-u[theta < high]).max(initial=0.0), u[theta > low].max(initial=0.0), float(abs(theta.sum()))
        )


def learned(X, y, costs, rows, **options):
    """A machine that has learned rows one by one, in this order."""
    machine = Compiled(X, y, costs, **options)
    for i in rows:
        machine.add(int(i))
    return machine


def same_as_svc(machine, tol=1e-6, within=1e-4):
    """The decision values of `SVC` on the same rows.

    Without a coefficient strictly inside of its box b may be anywhere in an interval. Both machines take its
    middle; but where a coefficient of `SVC` ends within its tolerance of an end, it takes that row for one at
    the margin and puts b at an end of the interval. So f - b is compared and, where the biases differ, both
    must lie in the interval that the conditions allow.
    """
    rows = np.array(machine.rows, int)
    y, C, K = machine.y, machine.C * machine.options.get("C", 1.0), machine.K
    if len(set(y[rows])) < 2:
        assert not machine.theta.any()
        label = float(y[rows[0]]) if len(rows) else 0.0
        np.testing.assert_allclose(machine.decision(), label, rtol=0, atol=1e-9)
        return
    exact = SVC(kernel="precomputed", C=1.0, tol=tol, cache_size=10)
    exact.fit(K[np.ix_(rows, rows)], y[rows], sample_weight=C[rows])
    theta, b = np.zeros(len(y)), exact.intercept_[0]
    theta[rows[exact.support_]] = exact.dual_coef_[0]
    np.testing.assert_allclose(machine.decision() - machine.b, K @ theta, rtol=0, atol=within)
    if abs(machine.b - b) > within:
        e, own = (y - K @ machine.theta)[rows], (y * machine.theta)[rows]
        below, above = own < C[rows], own > 0
        up, down = np.where(y[rows] > 0, below, above), np.where(y[rows] > 0, above, below)
        low, high = e[up].max(initial=-np.inf), e[down].min(initial=np.inf)
        assert high - low > within
        assert low - within <= b <= high + within
        assert low - 1e-7 <= machine.b <= high + 1e-7


@st.composite
def native_stories(draw, jitters=(0.0,)):
    """Rows in the unit disc, some repeated with either label, a kernel, costs, and what happens to the rows.

    All kernel values are near 1, as those of standardized data are: what is added to the diagonal against
    singular systems follows their size.
    """
    point = st.tuples(st.integers(-3, 3), st.integers(-3, 3))
    X = draw(st.lists(point, min_size=3, max_size=12))
    label = st.sampled_from([1, -1])
    y = draw(
        st.lists(label, min_size=len(X), max_size=len(X))
        | st.just([1 if 2 * a + b > 0.5 else -1 for a, b in X])
    )
    for k, sign in draw(st.lists(st.tuples(st.integers(0, len(X) - 1), label), max_size=5)):
        X, y = [*X, X[k]], [*y, sign * y[k]]
    X, y = np.array(X, float) / np.sqrt(18), np.array(y)
    X = X + draw(st.sampled_from(jitters)) * np.random.default_rng(0).standard_normal(X.shape)
    C = draw(st.lists(COSTS, min_size=len(y), max_size=len(y)) | COSTS.map(lambda C: [C] * len(y)))
    order = draw(st.permutations(range(len(y))) | st.just(np.argsort(y).tolist()))  # also one class first
    events = [("add", i, None) for i in order]
    changes = st.tuples(st.sampled_from(["remove", "flip", "set_C"]), st.integers(0, len(y) - 1), COSTS)
    for what, i, cost in draw(st.lists(changes, max_size=12)):
        events.insert(draw(st.integers(0, len(events))), (what, i, cost))
    return X, y, np.array(C), KERNELS[draw(st.sampled_from(list(KERNELS)))], events


def clouds_learned(n=60, **options):
    X, y = two_clouds(n, 2)
    return IDSVM(**{"C": 5.0, "gamma": 0.5, **options}).partial_fit(X, y, classes=[0, 1])


def known(model):
    """Everything that decides how a learner goes on; it is read from a copy, since saving sweeps rows out."""
    params = {name: str(value) for name, value in model.get_params().items()}
    foreign = getattr(model, "_foreign", None)
    rows = None if foreign is None or foreign.rows is None else np.array(foreign.rows)
    return {"params": params, **deepcopy(native_state(model)), "rows seen": model._rows_seen, "foreign": rows}


class Refused:
    """The call is refused with these words, and the learner is afterwards what it was before, bit for bit."""

    def __init__(self, model, words, error=ValueError):
        self.model, self.caught = model, pytest.raises(error, match=words)

    def __enter__(self):
        self.before = known(self.model)
        self.caught.__enter__()

    def __exit__(self, *error):
        held = self.caught.__exit__(*error)
        assert_same(known(self.model), self.before)
        return held


def first_rows(wdbc, n, **options):
    X, y = wdbc
    model = IDSVM(**{"gamma": 1 / 30, **options})
    for i in range(n):
        model.partial_fit(X[[i]], y[[i]], classes=[-1, 1])
    return model
