"""What the tests of one-pass learners share: streams, kernels, the area under the ROC curve."""

import os
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from reference.kernels import linear, rbf

NO_LIMIT = 10**9


def cubic(A, B):
    """A kernel with k(x, x) other than 1."""
    return (0.5 * A @ B.T + 1) ** 3


def waves(first, last):
    """Rows first, …, last of a stream without randomness and with a rare class."""
    t = np.arange(first, last + 1.0)
    X = np.column_stack([np.sin(1.3 * t), np.cos(0.7 * t), np.sin(0.31 * t**2)])
    return X, np.where(X[:, 0] * X[:, 1] > 0.35, 1, -1)


def clouds(n, seed, features=2, apart=0.7, share=0.5):
    """Two overlapping clouds in no order; no two rows are the same."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < share, 1, -1)
    X = rng.standard_normal((n, features))
    X[:, 0] += apart * y
    return X, y


def auc(y, f, ties=0.5):
    """The share of pairs of a positive and a negative in the right order; NaN where there is no pair."""
    apart = f[y > 0][:, None] - f[y < 0]
    return np.mean((apart > 0) + ties * (apart == 0)) if apart.size else np.nan


def folds(name, partitions=4):
    """Training rows and labels, test rows and labels of each published fold, in the order of the file."""
    with np.load(Path(os.environ["EVERLEARN_DATA"]) / f"koil_{name}.npz") as file:
        X, y, numbers = file["X"].astype(float), file["y"].astype(int), file["fold_cv"]
    for partition in range(partitions):
        for fold in range(1, 6):
            test = numbers[:, partition] == fold
            yield X[~test], y[~test], X[test], y[test]


@st.composite
def streams(draw, most=30):
    """Rows on a coarse grid, so that some are the same and sums are exact, and labels."""
    n, features = draw(st.integers(1, most)), draw(st.integers(1, 3))
    X = draw(arrays(float, (n, features), elements=st.integers(-3, 3)))
    return X / 2, draw(arrays(int, n, elements=st.sampled_from([-1, 1])))


KERNELS = st.sampled_from([rbf(0.7), linear, cubic])
BUDGETS = st.integers(1, 6)
SEEDS = st.integers(0, 10**6)


class Draws:
    """Recorded draws in place of a generator: remembers what was asked for."""

    def __init__(self, *draws):
        self.left, self.asked = list(draws), []

    def __call__(self, n):
        self.asked.append(n)
        return self.left.pop(0)
