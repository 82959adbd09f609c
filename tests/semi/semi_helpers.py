"""What the tests of the semi-supervised family share: data, small problems with exact sums, streams."""

import os
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits

from reference.s3vm import scale_rows

THESIS = {"rho": 1.0, "label_scores": "similarity"}  # what the twins and the figures of the thesis have
HAVE_DATA = bool(os.environ.get("EVERLEARN_DATA"))


# --- data --------------------------------------------------------------------------------------------------


def breast_cancer():
    """Standardized columns, rows of length 1; benign is +1."""
    X, target = load_breast_cancer(return_X_y=True)
    return scale_rows(X), np.where(target == 1, 1.0, -1.0)


def digits(positive=3, negative=8, columns="keep"):
    X, target = load_digits(return_X_y=True)
    rows = (target == positive) | (target == negative)
    return scale_rows(X[rows], columns), np.where(target[rows] == positive, 1.0, -1.0)


def load(name):
    """Rows and −1, +1 of a set in the folder EVERLEARN_DATA; of two classes the larger number is +1."""
    with np.load(Path(os.environ["EVERLEARN_DATA"]) / f"{name}.npz") as file:
        data = {key: file[key] for key in file}
    y = np.where(data["y"] == data["y"].max(), 1.0, -1.0)
    if "X" in data:
        return data["X"].astype(float), y
    parts = data["data"].astype(float), data["indices"].astype(np.int32), data["indptr"]
    return sparse.csr_matrix(parts, shape=tuple(data["shape"])), y


def spread(X, low, high):
    """Every column from low to high."""
    least, range_ = X.min(0), np.ptp(X, axis=0)
    return low + (high - low) * (X - least) / np.where(range_ > 0, range_, 1)


def clouds(n, seed, features=5, apart=1.5, share=0.5):
    """Two clouds in no order; no two rows are the same."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < share, 1.0, -1.0)
    X = rng.standard_normal((n, features))
    X[:, 0] += apart * y
    return X, y


# --- small problems ----------------------------------------------------------------------------------------


def quarters(shape, low=-8, high=8):
    """Multiples of 1/4: sums and products of a few are exact, and ties are many."""
    return arrays(float, shape, elements=st.integers(low, high).map(lambda i: i / 4))


def gram(X):
    return X @ X.T


@st.composite
def matrices(draw, low=1, high=8, signed=None, psd=None):
    """A symmetric matrix with entries of both signs or none below 0; psd or, maybe, not."""
    n = draw(st.integers(low, high))
    signed = draw(st.booleans()) if signed is None else signed
    psd = draw(st.booleans()) if psd is None else psd
    least = -4 if signed else 0
    if psd:
        return gram(draw(quarters((n, draw(st.integers(1, 3))), least, 4)))
    K = draw(quarters((n, n), least, 4))
    return K + K.T


@st.composite
def partly_labeled(draw, high=9, least_labels=1, least_unlabeled=1):
    """Rows on a grid and labels −1, 0, +1."""
    labels = draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=least_labels, max_size=4))
    n = draw(st.integers(least_unlabeled, high))
    y = np.array(draw(st.permutations([*labels, *[0.0] * n])))
    return draw(quarters((len(y), draw(st.integers(1, 3))), -4, 4)), y


WEIGHTS = st.sampled_from([0.25, 0.5, 1.0, 2.0])  # powers of two keep sums exact


def subsets(n):
    """All sets of the numbers below n."""
    return [np.flatnonzero([number >> i & 1 for i in range(n)]) for number in range(2**n)]


def partly(y, rows):
    """Labels of some rows, NaN for the others."""
    return np.where(np.isin(np.arange(len(y)), rows), y, np.nan)


def rows_and_labels(seed, n=40, labeled=5):
    X, y = clouds(n, seed, features=3)
    return X, partly(y, np.random.default_rng(seed).permutation(n)[:labeled])
