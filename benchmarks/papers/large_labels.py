"""Few labels for many rows, on the worst splits: an SVM on the labels, and the semi-supervised SVM."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..harness.run import Data, Run
from ..semi.data import cod_rna, covtype, kdd99, plain, sampled, scaled
from .common import add, done, flat_report

# Labels as in table III.6 of the thesis
SETS: dict[str, tuple[Any, int]] = {
    "a9a": (lambda: plain("a9a", 1), 9),
    "w8a": (lambda: plain("w8a", 1), 15),
    "cod-rna": (cod_rna, 98),
    "covtype": (covtype, 24),
    "kdd-99": (kdd99, 9),
}
NAMES = tuple(SETS)
MOST_ROWS = 50_000
DRAWS, KEPT = 100, 10


def _measures(found: np.ndarray, y: np.ndarray) -> dict[str, float]:
    from sklearn.metrics import matthews_corrcoef

    return {
        "accuracy": float(np.mean(found == y)),
        "sensitivity": float(np.mean(found[y > 0] > 0)),
        "specificity": float(np.mean(found[y < 0] < 0)),
        "mcc": float(matthews_corrcoef(y, found)),
    }


def _splits(X: Any, y: np.ndarray, labels: int, draws: int) -> list[tuple[float, np.ndarray, np.ndarray]]:
    """Accuracy of an SVM on the labels, the labeled rows and its scores of all rows, for each draw."""
    from sklearn.svm import SVC

    found = []
    for seed in range(draws):
        random = np.random.default_rng(seed)
        chosen = random.permutation(len(y))[:labels]
        while len(set(y[chosen])) < 2:
            chosen = random.permutation(len(y))[:labels]
        model = SVC(kernel="linear", C=1).fit(X[chosen], y[chosen])
        scores = np.asarray(X @ np.ravel(_dense(model.coef_))).ravel() + model.intercept_[0]
        found.append((float(np.mean(np.where(scores > 0, 1, -1) == y)), chosen, scores))
    return found


def _dense(values: Any) -> np.ndarray:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values)


def run_part(run: Run) -> None:
    """The splits on which the SVM is worst, as in the thesis."""
    from everlearn import SubmodS3VM

    for name in run.chosen(NAMES, ("a9a",)):
        make, labels = SETS[name]
        X, y = make()
        X, y = sampled(X, np.asarray(y, float), 2_000 if run.quick else MOST_ROWS)
        X = scaled(X)
        worst = sorted(_splits(X, y, labels, 10 if run.quick else DRAWS), key=lambda split: split[0])[:KEPT]
        for seed, (_, chosen, scores) in enumerate(worst):
            if done(run, name, "SubmodS3VM", seed):
                continue
            known = np.full(len(y), np.nan)
            known[chosen] = y[chosen]
            free = np.isnan(known)
            share = float(np.mean(y[free] > 0))
            highest = scores[free] >= np.quantile(scores[free], 1 - share)
            model = SubmodS3VM(
                kernel="linear", scaling="none", positive_fraction=share, estimator=None, random_state=seed
            )
            add(run, name, "SVM", seed, **_measures(np.where(scores[free] > 0, 1, -1), y[free]))
            add(run, name, "SVM + r", seed, **_measures(np.where(highest, 1, -1), y[free]))
            labeled = np.asarray(model.fit(X, known).transduction_)[free]
            add(run, name, "SubmodS3VM", seed, **_measures(labeled, y[free]))


def report(data: Data) -> str:
    """A table for each set."""
    text = (
        f"At most {MOST_ROWS:,} rows, linear kernel, the number of labels of the thesis; means over "
        f"the {KEPT} of {DRAWS} "
        "splits on which an SVM on the labels is worst. SVM + r: told the share of positives, as the last is."
    )
    return flat_report(data, "Few labels for many rows", text)
