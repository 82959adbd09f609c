"""The data sets of the noise benchmark: those of the thesis' chapter 6, and sets whose labels are flipped.

`THESIS` holds its support-vector counts (table 6.3) at the same C and gamma. USPS is the exception: its
scaling is not known there. Rows of unit length at gamma 1 come nearest to the count printed for clean labels.
MNIST has pixels in [0, 1]: at gamma .001 an exact SVM then has 3114 support vectors and is right on 99.38 %
(printed: 3146 and 99.36 %).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..harness.data import Task, as_given, load_task, standardized, unit_rows

FLIP_SEED = 1
MOST_ROWS = 10_000  # of a set whose labels are flipped, for training and for testing

THESIS: dict[str, dict[str, int]] = {
    "usps": {"svc": 364, "full": 384, "g": 383, "nc": 372, "i": 373},
    "usps+N": {"svc": 2307, "full": 2455, "g": 2288, "nc": 752, "i": 937},
    "adult": {"svc": 11420, "full": 11831, "g": 11266, "nc": 4609, "i": 5776},
    "mnist8": {"svc": 3146, "full": 3412, "g": 3157, "nc": 2653, "i": 2722},
    "banana": {"svc": 915, "full": 947, "g": 941, "nc": 551, "i": 669},
    "reuters": {"svc": 1090, "full": 1122, "g": 1120, "nc": 1086, "i": 1093},
}


def flipped(task: Task, share: float, seed: int) -> Task:
    """The same task with the labels of an exact share of the training rows flipped; the test stays clean."""
    n = len(task.y_train)
    wrong = np.random.default_rng(seed).permutation(n)[: round(share * n)]
    y = task.y_train.copy()
    y[wrong] = -y[wrong]
    return replace(task, y_train=y)


def _usps() -> Task:
    task = load_task("usps")
    rows = {part: unit_rows(getattr(task, part)).astype(np.float32) for part in ("X_train", "X_test")}
    return replace(task, C=1, gamma=1, **rows)


def _usps_noisy() -> Task:
    return replace(flipped(_usps(), 0.1, FLIP_SEED), name="usps+N", title="usps 0 + 10 % noise")


def _standard(name: str, C: float, gamma: float) -> Task:
    X_train, y_train, X_test, y_test = as_given(name)
    rows = [X.astype(np.float32) for X in standardized(X_train, X_test)]
    return Task(name, name, C, gamma, rows[0], y_train, rows[1], y_test)


TABLE: dict[str, Callable[[], Task]] = {
    "usps": _usps,
    "usps+N": _usps_noisy,
    "adult": lambda: replace(load_task("a9a"), name="adult", title="adult (a9a)"),
    "mnist8": lambda: replace(load_task("mnist8"), gamma=0.001),
    "banana": lambda: replace(load_task("banana"), C=10, gamma=1),
    "reuters": lambda: replace(load_task("reuters"), gamma=0.5),
}
# The last three: the best accuracy of 3-fold cross-validation of SVC on 3000 standardized training rows with
# clean labels, over C = .1, 1, 10, 100 and gamma = .02, .1, .5, 2. With 20 % of the labels flipped it is the
# same for svmguide1, tied with C = 1 for cod_rna, and C = 1, gamma = .1 for ijcnn1 (g-means of 35 %).
FLIPPED: dict[str, Callable[[], Task]] = {
    "usps": _usps,
    "banana": TABLE["banana"],
    "svmguide1": lambda: _standard("svmguide1", 10, 0.1),
    "cod_rna": lambda: _standard("cod_rna", 10, 0.02),
    "ijcnn1": lambda: _standard("ijcnn1", 100, 0.02),
}


def table_task(name: str, rows: int | None = None) -> Task:
    """A set of the thesis' table; `rows` cuts it down for a trial run."""
    return TABLE[name]().head(rows)


def flipped_task(name: str, rows: int | None = None) -> Task:
    """A set whose labels are still clean, with at most 10,000 rows."""
    return FLIPPED[name]().head(min(rows or MOST_ROWS, MOST_ROWS))
