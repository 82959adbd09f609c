"""Probabilities on tables: out-of-fold and leave-one-out calibration, beside CalibratedClassifierCV."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

from ..harness.data import dense, load, standardized
from ..harness.machine import say
from ..harness.run import Run
from .report import tables_report as report
from .streams import measures

__all__ = ["NAMES", "report", "run_part"]

NAMES = ("australian", "german_numer", "diabetes", "spambase", "segment", "vowel", "cod_rna", "w8a")
TRAIN, TEST = 500, 3000


def makers(seed: int) -> dict[str, Callable[[], Any]]:
    """Every machine has C=1 and gamma="scale", as SVC comes."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.svm import SVC

    from everlearn import IDSVM, LASVM
    from everlearn.calibration import CalibratedClassifier

    return {
        "CalibratedClassifier(LASVM)": lambda: CalibratedClassifier(LASVM(), random_state=seed),
        "CalibratedClassifier(IDSVM)": lambda: CalibratedClassifier(IDSVM(), random_state=seed),
        "CalibratedClassifier(SVC)": lambda: CalibratedClassifier(SVC(), random_state=seed),
        "CalibratedClassifierCV(SVC), sigmoid": lambda: CalibratedClassifierCV(SVC(), cv=5),
        "CalibratedClassifierCV(SVC), sigmoid, one SVC": lambda: CalibratedClassifierCV(
            SVC(), cv=5, ensemble=False
        ),
        "CalibratedClassifierCV(SVC), isotonic": lambda: CalibratedClassifierCV(
            SVC(), cv=5, method="isotonic"
        ),
        "CalibratedClassifierCV(SVC), temperature": lambda: CalibratedClassifierCV(
            SVC(), cv=5, method="temperature"
        ),
        "CalibratedClassifierCV(LASVM), sigmoid": lambda: CalibratedClassifierCV(
            LASVM(random_state=seed), cv=5
        ),
    }


def run_part(run: Run) -> None:
    """One set after the other."""
    run.note(train=TRAIN, test=TEST)
    for name in run.missing(run.chosen(NAMES, ("australian", "vowel"))):
        say(name)
        run.add(run_set(name, run.settings["splits"]))


def run_set(name: str, splits: int) -> dict[str, Any]:
    """Means over splits: the same rows for everybody, scaled by the training rows."""
    data = load(name)
    X = dense(data.X)
    y = np.unique(data.y, return_inverse=True)[1]
    found: dict[str, list[dict[str, float]]] = {}
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(y))
        n = min(TRAIN, len(y) // 2)
        train, test = order[:n], order[n : n + TEST]
        scaled, scaled_test = standardized(X[train], X[test])
        for title, make in makers(split).items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                start = process_time()
                clf = make().fit(scaled, y[train])
                cpu = process_time() - start
                proba = np.zeros((len(test), int(y.max()) + 1))
                proba[:, clf.classes_] = clf.predict_proba(scaled_test)
            found.setdefault(title, []).append(measures(proba, y[test]) | {"cpu": cpu})
    readers = {
        title: {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
        for title, runs in found.items()
    }
    return {
        "set": name,
        "rows": min(TRAIN, len(y) // 2),
        "classes": int(y.max()) + 1,
        "readers": readers,
    }
