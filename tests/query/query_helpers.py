"""Shared by the tests of query strategies: models with given scores, a recording oracle, a plain loop."""

from contextlib import suppress

import numpy as np

from everlearn import LASVM
from everlearn._base.online import OnlineLearner
from svm.lasvm_helpers import learned, three_clouds, two_clouds


class Given:
    """A model whose scores are the rows: one column for two classes, more for more."""

    def decision_function(self, X):
        X = np.asarray(X, dtype=np.float64)
        return X[:, 0] if X.shape[1] == 1 else X


def column(*scores):
    """Rows on which `Given` has these scores."""
    return np.array(scores, dtype=np.float64)[:, np.newaxis]


class Notes:
    """An oracle that notes what it is asked: row numbers, the rows, and how often."""

    def __init__(self, labels):
        self.labels, self.numbers, self.rows, self.calls = np.asarray(labels), [], [], 0

    def __call__(self, numbers, rows):
        self.calls += 1
        self.numbers += numbers.tolist()
        self.rows.append(rows)
        return self.labels[numbers]


def plain_loop(model, choose, h, X, y, classes):
    """Block of h rows by block, as the papers write it; `choose` gets their scores, returns a place or None.

    A model that has learned nothing has no scores, f = 0.
    """
    if isinstance(model, OnlineLearner) and not hasattr(model, "classes_"):
        with suppress(ValueError):
            model.prepare(X[:1000], classes)
    asked = []
    for start in range(0, len(y) - h + 1, h):
        f = model.decision_function(X[start : start + h]) if hasattr(model, "classes_") else np.zeros(h)
        place = choose(f)
        if place is not None:
            row = start + place
            model.partial_fit(X[row : row + 1], y[row : row + 1], classes=None if asked else classes)
            asked.append(row)
    return asked


def in_ramp(f, reach=1.0):
    """Of one row: ask if some score is in reach."""
    return 0 if (np.abs(f) <= reach).any() else None


def smallest_margin(f):
    if f.ndim == 1:
        return int(np.argmin(np.abs(f)))
    gaps = [np.sort(scores)[-1] - np.sort(scores)[-2] for scores in f]
    return int(np.argmin(gaps))


def two_class_model(form=np.asarray):
    X, y = two_clouds(200, 3)
    return LASVM(gamma=0.3, random_state=0).fit(form(X[:100]), y[:100]), X[100:]


def three_class_model():
    X, y = three_clouds(240, 3)
    return LASVM(gamma=0.3, random_state=0).fit(X[:120], y[:120]), X[120:]


def what_is_learned(model):
    """The state of an everlearn learner, the coefficients of others."""
    return learned(model) if isinstance(model, LASVM) else {"coef": model.coef_, "bias": model.intercept_}
