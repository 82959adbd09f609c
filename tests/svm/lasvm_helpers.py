"""What the tests of LASVM share: data, comparisons down to the last bit, a visiting order of one's choice."""

from contextlib import contextmanager
from copy import deepcopy

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels


class InOrder(np.random.RandomState):
    """As `random_state` it makes `fit` visit the rows in the order given."""

    def permutation(self, rows):
        return np.array(rows)


def two_clouds(n=200, features=4, apart=1.0, seed=0):
    """Two overlapping Gaussian clouds, labels 0 and 1."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.standard_normal((n, features))
    X[:, 0] += apart * (2 * y - 1)
    return X, y


def three_clouds(n=240, features=4, seed=0):
    """Three overlapping Gaussian clouds, labels "ash", "oak" and "yew"."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.standard_normal((n, features))
    X[np.arange(n), y] += 2
    return X, np.array(["ash", "oak", "yew"])[y]


def without_rivals(n, seed):
    """Rows, labels and weights; with some seeds no step on them ever has a second choice as good."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    X = rng.standard_normal((n, 3))
    X[:, 0] += 1.5 * y
    return X, y, 0.5 + rng.random(n)


def snapshot(model):
    """Everything that a learner knows, as a copy of its own."""
    state = model._get_state()
    foreign = getattr(model, "_foreign", None)
    rows = None if foreign is None else foreign.rows
    return deepcopy({**state, "params": {**state["params"], "kernel": str(model.kernel)}, "rows": rows})


def assert_same(a, b, where="state"):
    """Equal in type and in every bit, all the way down."""
    assert type(a) is type(b), where
    if isinstance(a, dict):
        assert list(a) == list(b), where
        for key in a:
            assert_same(a[key], b[key], f"{where}[{key!r}]")
    elif sparse.issparse(a):
        for part in ("data", "indices", "indptr"):
            assert_same(getattr(a, part), getattr(b, part), f"{where}.{part}")
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, where
        assert a.shape == b.shape, where
        if a.dtype == object:
            assert a.tolist() == b.tolist(), where
        else:
            assert a.tobytes() == b.tobytes(), where
    elif isinstance(a, float):
        assert repr(a) == repr(b), where  # NaN is what it is
    else:
        assert a == b, where


def learned(model):
    """The native state."""
    return model._get_state()["machine"]["native"]


def assert_same_model(a, b):
    """The same support vectors, coefficients and biases, bit for bit; the rows may be stored otherwise."""
    for name in ("support_", "dual_coef_", "intercept_", "n_support_"):
        assert_same(getattr(a, name), getattr(b, name), name)


@contextmanager
def refused(model, words, error=ValueError):
    """The call is refused with these words, and the learner is afterwards what it was before."""
    before = snapshot(model)
    with pytest.raises(error, match=words):
        yield
    assert_same(snapshot(model), before)


def in_blocks(model, X, y, size, classes):
    """Feed rows block by block."""
    for start in range(0, len(y), size):
        block = slice(start, start + size)
        model.partial_fit(X[block], y[block], classes=classes)
    return model


def coefficients(model, n):
    """Signed coefficients by row number, one line for each binary problem."""
    alpha = np.zeros((model.dual_coef_.shape[0], n))
    alpha[:, model.support_] = model.dual_coef_
    return alpha


def dual(alpha, K):
    """W of signed coefficients whose signs are those of the labels."""
    return np.abs(alpha).sum() - 0.5 * alpha @ K @ alpha


def kernel_matrix(name, X, Y=None, gamma=None, degree=3, coef0=0.0):
    """scikit-learn's kernel of that name."""
    options = {"gamma": gamma, "coef0": coef0, "degree": degree}
    return pairwise_kernels(X, Y, metric=name, filter_params=True, **options)
