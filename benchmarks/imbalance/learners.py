"""The learners, and what is measured of each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

from everlearn import LASVM, VIRTUAL
from everlearn.metrics import g_means, prbep

from ..harness.machine import say
from .data import Rare, Rows, fewer

LEARNERS = ("batch", "undersampled", "costs", "SMOTE", "SMOTE x2", "active", "VIRTUAL")
SERIES = ("g_means", "best_g_means", "auc", "prbep", "share")  # kept run by run, of all others the mean


def learners(C: float, gamma: float, seed: int) -> dict[str, Callable[[Any, Any], Any]]:
    """Each takes rows and labels and returns a model with what was made beside it."""
    from imblearn.over_sampling import SMOTE  # here, so that its import is not timed

    def svm(**options: Any) -> Any:
        return LASVM(C, gamma=gamma, epochs=3, cache_size=500, random_state=seed, **options)

    def undersampled(X: Any, y: Any) -> Any:
        rare = np.flatnonzero(y == 1)
        many = np.random.default_rng(seed).permutation(np.flatnonzero(y == -1))[: len(rare)]
        keep = np.concatenate([rare, many])
        return svm().fit(X[keep], y[keep])

    def smote(doubled: bool) -> Callable[[Any, Any], Any]:
        def fit(X: Any, y: Any) -> Any:
            wanted = {1: 2 * int(np.sum(y == 1))} if doubled else "minority"
            with warnings.catch_warnings():  # doubled, a class of more than a third is no longer the smaller
                warnings.filterwarnings("ignore", message="After over-sampling")
                more, labels = SMOTE(sampling_strategy=wanted, random_state=seed).fit_resample(X, y)
            model = svm().fit(more, labels)
            model.made = len(labels) - len(y)
            model.made_learned = model.made
            model.made_support = int(np.sum(model.support_ >= len(y)))
            return model

        return fit

    def virtual(n_virtual: int) -> Callable[[Any, Any], Any]:
        def fit(X: Any, y: Any) -> Any:
            options = {"cache_size": 500, "random_state": seed, "minority_class": 1}
            model = VIRTUAL(C, gamma=gamma, n_virtual=n_virtual, **options).fit(X, y)
            model.made, model.made_support = model.n_virtual_, model.n_virtual_support_
            model.made_learned = int(model.n_iter_) - model.n_labels_
            return model

        return fit

    found = (
        lambda X, y: svm().fit(X, y),
        undersampled,
        lambda X, y: svm(class_weight="balanced").fit(X, y),
        smote(doubled=False),
        smote(doubled=True),
        virtual(0),
        virtual(1),
    )
    return dict(zip(LEARNERS, found, strict=True))


def _measures(model: Any, rows: Rows) -> dict[str, float]:
    score = model.decision_function(rows.X_test)
    false_alarms, hits, _ = roc_curve(rows.y_test, score)
    made, made_support = getattr(model, "made", 0), getattr(model, "made_support", 0)
    return {
        "g_means": g_means(rows.y_test, model.predict(rows.X_test)),
        "best_g_means": float(np.sqrt(np.max(hits * (1 - false_alarms)))),
        "auc": float(roc_auc_score(rows.y_test, score)),
        "prbep": prbep(rows.y_test, score),
        "support_negatives": int(model.n_support_[0]),
        "support_positives": int(model.n_support_[1]),
        "learned": int(model.n_iter_) // getattr(model, "epochs", 1),
        "made": made,
        "made_learned": getattr(model, "made_learned", 0),
        "made_support": made_support,
        **({"share": made_support / made} if made else {}),
    }


def run_set(name: str, rare: Rare, runs: int, quick: bool) -> dict[str, Any]:
    """All runs of all learners on a set: a list of values for what is tested, of the rest the mean."""
    values: dict[str, dict[str, list[float]]] = {who: {} for who in LEARNERS}
    sizes = []
    for seed in range(runs):
        rows = fewer(rare.draw(seed), seed) if quick else rare.draw(seed)
        sizes.append((len(rows.y), int(np.sum(rows.y == 1))))
        for who, fit in learners(rare.C, rare.gamma, seed).items():
            start = process_time()
            model = fit(rows.X, rows.y)
            spent = process_time() - start
            for key, value in {**_measures(model, rows), "cpu": spent}.items():
                values[who].setdefault(key, []).append(round(float(value), 5))
        say(f"{name}, run {seed + 1} of {runs}")
    total, positives = np.mean(sizes, axis=0)
    return {
        "set": name,
        "C": rare.C,
        "gamma": rare.gamma,
        "parameters": rare.source,
        "runs": runs,
        "rows": float(total),
        "positives": float(positives),
        "test_rows": len(rows.y_test),
        "test_positives": int(np.sum(rows.y_test == 1)),
        "imbalance": float((total - positives) / positives),
        "thesis": rare.thesis and rare.thesis._asdict(),
        "learners": {
            who: {k: v if k in SERIES else round(float(np.mean(v)), 4) for k, v in found.items()}
            for who, found in values.items()
        },
    }
