"""The sets: a draw for each seed, C and gamma, and what the thesis found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..harness.data import load, one_vs_rest, standardized
from . import RATIOS

CATEGORIES = ("acq", "corn", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade", "wheat")
SHARE = 0.9  # of the training rows of a standard split, so that runs differ
QUICK_ROWS = 600


class Rows(NamedTuple):
    """Training and test rows, dense or CSR, with labels -1 and 1, the rare class."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


class Thesis(NamedTuple):
    """Tables 5.2 and 5.3 in per cent: g-means, and the shares of made rows that became support vectors."""

    batch: float
    smote: float
    active: float
    virtual: float
    smote_share: float
    virtual_share: float


@dataclass(frozen=True)
class Rare:
    """A set: how a seed draws it, its parameters and whose they are."""

    draw: Callable[[int], Rows]
    C: float
    gamma: float
    source: str
    thesis: Thesis | None = None


def waveform(ratio: int, seed: int) -> Rows:
    """4,000 draws of which positives are thinned, and 2,000 test draws as they come, a third positive."""
    from everlearn.datasets import make_waveform

    (X, y), (X_test, y_test) = (
        make_waveform(n, random_state=s) for n, s in ((4000, seed), (2000, 1000 + seed))
    )
    y, y_test = one_vs_rest(y, y.min()), one_vs_rest(y_test, y_test.min())
    few = np.random.default_rng(seed).permutation(np.flatnonzero(y == 1))[: np.sum(y == -1) // ratio]
    keep = np.concatenate([np.flatnonzero(y == -1), few])
    return Rows(X[keep], y[keep], X_test, y_test)


def _part(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(count)[: int(SHARE * count)]


def standard(name: str, positive: int, seed: int) -> Rows:
    """The standard split with features as they are; of the training rows a random part."""
    data = load(name)
    y, y_test = one_vs_rest(data.y_train, positive), one_vs_rest(data.y_test, positive)
    keep = _part(len(y), seed)
    return Rows(data.X_train.astype(float)[keep], y[keep], data.X_test.astype(float), y_test)


def reuters(category: str, seed: int) -> Rows:
    """Of the 7,770 training documents that have a topic a random part; all 3,299 test documents."""
    data = load("reuters21578_modapte")
    column = data.y[:, list(data.extras["label_names"]).index(category)]
    train = data.extras["train_labelled_idx"]
    train = train[_part(len(train), seed)]
    return Rows(
        data.X[train],
        one_vs_rest(column[train], 1),
        data.X[data.test_idx],
        one_vs_rest(column[data.test_idx], 1),
    )


def _split(X: np.ndarray, y: np.ndarray, train_rows: int, seed: int) -> Rows:
    from sklearn.model_selection import train_test_split

    X, X_test, y, y_test = train_test_split(X, y, train_size=train_rows, stratify=y, random_state=seed)
    return Rows(X, y, X_test, y_test)


def abalone(seed: int) -> Rows:
    """Seven rings against all others; the features without the rings, standardized by the training rows."""
    data = load("abalone")
    rows = _split(data.X.astype(float), one_vs_rest(data.y, 7), 3759, seed)
    X, X_test = standardized(rows.X, rows.X_test)
    return rows._replace(X=X, X_test=X_test)


def breast(seed: int) -> Rows:
    """Malignant against benign; features from 1 to 10 brought to [0, 1]."""
    data = load("breast_cancer_wisconsin")
    return _split((data.X.astype(float) - 1) / 9, one_vs_rest(data.y, 1), 492, seed)


def fewer(rows: Rows, seed: int) -> Rows:
    """A stratified handful for a trial."""
    from sklearn.model_selection import train_test_split

    parts: list[Any] = []
    for X, y in ((rows.X, rows.y), (rows.X_test, rows.y_test)):
        if len(y) > QUICK_ROWS:
            X, _, y, _ = train_test_split(X, y, train_size=QUICK_ROWS, stratify=y, random_state=seed)
        parts += [sp.csr_matrix(X) if sp.issparse(X) else X, y]
    return Rows(*parts)


_THESIS = {
    "acq": Thesis(96.19, 96.21, 96.19, 96.54, 2.4, 20.3),
    "corn": Thesis(85.55, 89.62, 86.59, 90.60, 17.1, 36.6),
    "crude": Thesis(88.34, 91.21, 88.35, 91.74, 10.8, 50.4),
    "earn": Thesis(98.92, 98.97, 98.92, 98.97, 6.0, 24.2),
    "grain": Thesis(91.56, 92.29, 91.56, 93.00, 7.2, 42.3),
    "interest": Thesis(78.45, 83.96, 78.45, 84.75, 13.3, 72.2),
    "money-fx": Thesis(81.43, 83.70, 81.08, 85.61, 8.2, 31.1),
    "ship": Thesis(75.66, 78.55, 74.92, 81.34, 20.0, 66.5),
    "trade": Thesis(82.52, 84.52, 82.52, 85.48, 15.4, 26.6),
    "wheat": Thesis(89.54, 89.50, 89.55, 90.27, 12.3, 63.9),
    "abalone": Thesis(100, 100, 100, 100, 30.4, 69.2),
    "breast": Thesis(98.33, 97.52, 98.33, 98.84, 2.9, 39.5),
    "letter": Thesis(99.28, 99.42, 99.28, 99.54, 0.98, 74.4),
    "satimage": Thesis(83.57, 82.61, 82.76, 82.92, 37.3, 53.8),
}
_TABLE = "table 4.2"
_OURS = "ours"
_REUTERS = {
    **dict.fromkeys(("crude", "grain"), (2.0, 1.0, _TABLE)),
    "interest": (1.0, 2.0, _TABLE),
    **dict.fromkeys(("money-fx", "ship", "wheat"), (1.0, 0.5, _TABLE)),
    **dict.fromkeys(("acq", "corn", "earn", "trade"), (1.0, 0.5, _OURS)),
}

SETS: dict[str, Rare] = {
    **{
        f"waveform-{ratio}": Rare(lambda seed, r=ratio: waveform(r, seed), 1, 0.05, "chapter 3")
        for ratio in RATIOS
    },
    **{
        name: Rare(lambda seed, c=name: reuters(c, seed), *_REUTERS[name], _THESIS[name])
        for name in CATEGORIES
    },
    "abalone": Rare(abalone, 100, 0.01, _TABLE, _THESIS["abalone"]),
    "breast": Rare(breast, 1, 0.1, _OURS, _THESIS["breast"]),
    "letter": Rare(lambda seed: standard("letter", 0, seed), 10, 0.01, _TABLE, _THESIS["letter"]),
    "satimage": Rare(lambda seed: standard("satimage", 4, seed), 50, 0.001, _TABLE, _THESIS["satimage"]),
}
