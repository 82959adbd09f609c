"""The sets: rows scaled once for every method, and the labeled rows of each split.

Rows are scaled as `SubmodS3VM(scaling="auto")` would: dense ones standardized, then all to length 1. Every
method of a comparison gets these same rows. The 14 small sets are those of W. Emara's thesis (2012, chapter
III) or the nearest to them that is at hand, with what it found; `ssl_*` have published labeled subsets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..harness.data import load

MOST_ROWS = 1_000  # of a set of `accuracy`: LabelPropagation keeps a matrix of all pairs


class Thesis(NamedTuple):
    """Table III.8, transductive accuracy in per cent, linear kernel, true share of positives."""

    svm: float
    tsvm: float
    da: float
    qp: float
    submod: float


@dataclass(frozen=True)
class Problem:
    """Rows of length 1 (float64, dense or CSR), labels -1 and 1, labeled rows of every split, raw rows."""

    name: str
    X: Any
    y: np.ndarray
    labeled: list[np.ndarray]
    raw: Any
    thesis: Thesis | None = None

    @property
    def sparse(self) -> bool:
        return bool(sp.issparse(self.X))


def scaled(X: Any) -> Any:
    """Dense columns standardized, CSR as it is; then rows of length 1, but for rows of zeros."""
    if sp.issparse(X):
        X = sp.csr_matrix(X, dtype=np.float64)
        length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        return sp.csr_matrix(sp.diags(1 / np.where(length > 0, length, 1)) @ X)
    X = np.array(X, dtype=np.float64)
    X -= X.mean(axis=0)
    spread = X.std(axis=0)
    X /= np.where(spread > 0, spread, 1)
    length = np.sqrt(np.einsum("ij,ij->i", X, X))
    X /= np.where(length > 0, length, 1)[:, np.newaxis]
    return X


def signs(labels: Any, positive: Any) -> np.ndarray:
    return np.where(np.isin(labels, positive), 1.0, -1.0)


def newsgroups(positive: str, negative: str) -> tuple[Any, np.ndarray]:
    """Documents of the groups whose names begin so, in their order."""
    data = load("20newsgroups_bydate")
    names = np.array([str(name) for name in data.extras["label_names"]])
    ours = [i for i, name in enumerate(names) if name.startswith(positive)]
    theirs = [i for i, name in enumerate(names) if name.startswith(negative)]
    keep = np.flatnonzero(np.isin(data.y, ours + theirs))
    return data.X[keep], signs(data.y[keep], ours)


def reuters(category: str) -> tuple[Any, np.ndarray]:
    """The documents that have a topic, in the order of time: those with this topic are positive."""
    data = load("reuters21578_modapte")
    keep = np.flatnonzero(np.asarray(data.y).any(axis=1))
    column = list(data.extras["label_names"]).index(category)
    return data.X[keep], signs(data.y[keep, column], 1)


def kdd99() -> tuple[Any, np.ndarray]:
    """Normal traffic against attacks: a column for every protocol, service and flag, counts as logarithms.

    All 0 or more and mostly 0, so CSR: 805,050 rows.
    """
    data = load("kdd99_10pct")
    names = list(data.extras["feature_names"])
    kinds = [names.index(name) for name in ("protocol_type", "service", "flag")]
    numbers = np.log1p(np.delete(data.X, kinds, axis=1).astype(np.float64))
    top = numbers.max(axis=0)
    parts = [sp.csr_matrix(numbers / np.where(top > 0, top, 1))]
    rows = np.arange(len(data.y))
    for kind in kinds:
        value = data.X[:, kind].astype(np.int64)
        parts.append(sp.csr_matrix((np.ones(len(rows)), (rows, value)), shape=(len(rows), value.max() + 1)))
    return sp.csr_matrix(sp.hstack(parts)), signs(data.extras["is_normal"], 1)


def covtype() -> tuple[Any, np.ndarray]:
    """Lodgepole pine against all other covers: 581,012 rows."""
    data = load("covtype")
    return data.X, signs(data.y, 2)


def cod_rna() -> tuple[Any, np.ndarray]:
    """331,152 rows of 8 features."""
    data = load("cod_rna")
    return data.X, signs(data.y, 1)


def plain(name: str, positive: Any) -> tuple[Any, np.ndarray]:
    data = load(name)
    return data.X, signs(data.y, positive)


def sampled(X: Any, y: np.ndarray, rows: int, seed: int = 0) -> tuple[Any, np.ndarray]:
    """So many rows at random, always the same, if there are more; in a random order in any case."""
    keep = np.random.default_rng(seed).permutation(len(y))[:rows]
    return X[keep], y[keep]


# name: rows and labels as they are, and the thesis' figures
SMALL: dict[str, tuple[Callable[[], tuple[Any, np.ndarray]], Thesis]] = {
    "sonar": (lambda: plain("sonar", 1), Thesis(45.15, 54.45, 50.24, 55.53, 57.09)),
    "ionosphere": (lambda: plain("ionosphere", 1), Thesis(34.22, 51.15, 76.44, 65.23, 65.17)),
    "g50c": (lambda: plain("ssl_g50c", 1), Thesis(49.54, 94.70, 94.26, 94.64, 93.83)),
    "breast cancer": (
        lambda: plain("breast_cancer_wisconsin", 1),
        Thesis(58.78, 96.66, 93.28, 96.69, 96.63),
    ),
    "australian": (lambda: plain("australian", 1), Thesis(40.26, 64.46, 63.13, 82.83, 79.30)),
    "diabetes": (lambda: plain("diabetes", 1), Thesis(46.16, 66.14, 67.74, 61.13, 61.11)),
    "fourclass": (lambda: plain("fourclass", 1), Thesis(55.24, 60.71, 63.34, 63.41, 63.43)),
    "newsgroups": (lambda: newsgroups("comp.", "rec."), Thesis(49.12, 67.67, 65.60, 57.23, 67.78)),
    "german": (lambda: plain("german_numer", 1), Thesis(33.01, 60.12, 61.24, 63.75, 63.43)),
    "w8a": (lambda: plain("w8a", 1), Thesis(45.09, 53.90, 60.65, 64.13, 62.30)),
    "text": (lambda: plain("ssl_text_macwin", 1), Thesis(56.67, 73.71, 75.96, 74.25, 74.04)),
    "usps": (lambda: plain("ssl_usps", 1), Thesis(50.67, 70.95, 74.88, 71.40, 71.42)),
    "digit1": (lambda: plain("ssl_digit1", 1), Thesis(50.56, 83.90, 84.95, 66.55, 85.92)),
    "svmguide1": (lambda: plain("svmguide1", 1), Thesis(65.11, 94.88, 81.77, 92.38, 92.55)),
}
# name: the arrays with published labeled subsets
PUBLISHED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("bci", "coil2", "digit1", "g241c", "g241n", "text", "usps"), ("lab10", "lab100")),
    **dict.fromkeys(("g50c", "text_macwin"), ("lab50",)),
}
LARGE: dict[str, Callable[[], tuple[Any, np.ndarray]]] = {
    "kdd-99": kdd99,
    "covtype": covtype,
    "cod-rna": cod_rna,
}


def small(name: str) -> Problem:
    """A set of the thesis; its splits are yet to be drawn."""
    make, thesis = SMALL[name]
    X, y = sampled(*make(), MOST_ROWS)
    return Problem(name, scaled(X), y, [], X, thesis)


def published(name: str, which: str, splits: int) -> Problem:
    """A set of Chapelle, Schölkopf and Zien (2006) or of Chapelle and Zien (2005), with its own splits."""
    data = load(f"ssl_{name}")
    subsets = np.asarray(data.extras[which], dtype=np.int64)
    return Problem(name, scaled(data.X), signs(data.y, 1), list(subsets[:splits]), data.X)
