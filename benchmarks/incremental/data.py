"""The data sets: 5,000 rows to learn and 1,000 others, or the thesis' split.

Sets that the LASVM benchmark has, too, come with its rows, scaling, C and gamma. The others are standardized,
with gamma = 1 / d, that is sigma = sqrt(d / 2), and C = 1, but for the two of the plane.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ..harness.data import SEED, SETS, dense, load, one_vs_rest, standardized

Made = tuple[np.ndarray, np.ndarray]  # rows in double precision, labels -1 and +1


@dataclass(frozen=True)
class Rows:
    """Rows to learn, others to compare decisions on, and the machine's parameters."""

    name: str
    C: float
    gamma: float
    X: np.ndarray
    y: np.ndarray
    others: np.ndarray

    @property
    def parameters(self) -> dict[str, float]:
        return {"C": self.C, "gamma": self.gamma}

    def without(self, some: np.ndarray) -> Rows:
        """All rows but some."""
        return replace(self, X=np.delete(self.X, some, axis=0), y=np.delete(self.y, some))

    def describe(self) -> dict[str, Any]:
        return {
            "set": self.name,
            "C": self.C,
            "gamma": self.gamma,
            "rows": len(self.y),
            "features": self.X.shape[1],
            "positives": int(np.sum(self.y == 1)),
        }


@dataclass(frozen=True)
class Source:
    """Where the rows of a set come from. Without C and gamma: 1 and 1 / d, on standardized rows."""

    make: Callable[[], Made]
    C: float = 1.0
    gamma: float | None = None
    real: bool = True
    standardized: bool = True


def _as_lasvm(name: str) -> Source:
    """Training rows, C and gamma of the LASVM benchmark, whose scaling is kept."""
    spec = SETS[name]

    def make() -> Made:
        X, y, *_ = spec.build()
        return dense(X), np.asarray(y)

    return Source(make, spec.C, spec.gamma, standardized=False)


def _stored(name: str, positive: Any = 1) -> Callable[[], Made]:
    def make() -> Made:
        data = load(name)
        return dense(data.X), one_vs_rest(data.y, positive)

    return make


def _generated(name: str, rows: int = 20_000) -> Callable[[], Made]:
    def make() -> Made:
        from everlearn.datasets import make_banana, make_waveform

        if name == "waveform":
            return make_waveform(rows, binary=True, random_state=SEED)
        return make_banana(rows, random_state=SEED)

    return make


def _digits() -> Made:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    either = np.isin(y, (3, 8))
    return X[either], one_vs_rest(y[either], 3)


EXACT: dict[str, Source] = {
    "banana": Source(_generated("banana"), 10, 1, real=False, standardized=False),
    "waveform": Source(_generated("waveform"), real=False),
    "letter A": _as_lasvm("letter"),
    "usps 0": _as_lasvm("usps"),
    "mnist 8": _as_lasvm("mnist8"),
    "cod_rna": Source(_stored("cod_rna")),
    "ijcnn1": _as_lasvm("ijcnn1"),
    "a9a": _as_lasvm("a9a"),
    "covtype 2": _as_lasvm("covtype"),
}

# sigma is sqrt(d / 2) but in the plane, where it is 0.5 and 0.3; C is 1
LOCAL: dict[str, Source] = {
    "banana": Source(_stored("banana"), gamma=1 / (2 * 0.5**2)),
    "fourclass": Source(_stored("fourclass"), gamma=1 / (2 * 0.3**2)),
    "breast cancer W.": Source(_stored("breast_cancer_wisconsin")),
    "diabetes": Source(_stored("diabetes")),
    "digits 3/8": Source(_digits),
    "australian": Source(_stored("australian")),
    "german": Source(_stored("german_numer")),
    "ionosphere": Source(_stored("ionosphere")),
    "spambase": Source(_stored("spambase")),
    "svmguide1": Source(_stored("svmguide1")),
}


@cache
def made(name: str, local: bool = False) -> Made:
    """All rows of a set, kept for the next part that asks."""
    return (LOCAL if local else EXACT)[name].make()


def draw(name: str, rows: int, others: int) -> Rows:
    """Rows drawn at random, always the same; the first of many are those of few."""
    source = EXACT[name]
    X, y = made(name)
    order = np.random.default_rng(SEED).permutation(len(y))
    if rows + others > len(y):
        raise ValueError(f"{name} has {len(y)} rows, not {rows + others}.")
    rest, chosen = order[:others], order[others : others + rows]
    seen_rows, apart = X[chosen], X[rest]
    if source.standardized:
        seen_rows, apart = standardized(seen_rows, apart)
    gamma = source.gamma or 1 / X.shape[1]
    return Rows(name, source.C, gamma, seen_rows, y[chosen], apart)


def split(name: str, seed: int, most: int) -> tuple[Rows, Rows, np.ndarray, np.ndarray]:
    """The thesis' setup: 20 % of the rows to start with, 40 % that come one by one, 40 % to test.

    Returns the start, start and stream together, and rows and labels of the test; sets are cut to `most`.
    """
    source = LOCAL[name]
    X, y = made(name, local=True)
    order = np.random.default_rng([SEED, seed]).permutation(len(y))[:most]
    begin, end = round(0.2 * len(order)), round(0.6 * len(order))
    seen, test = order[:end], order[end:]
    gamma = source.gamma or 1 / X.shape[1]
    seen_rows, apart = standardized(X[seen], X[test])
    together = Rows(name, source.C, gamma, seen_rows, y[seen], apart)
    return replace(together, X=seen_rows[:begin], y=y[seen][:begin]), together, apart, y[test]
