"""Probabilities along streams: one LASVM and several calibrators of its scores, beside River."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from _streams_sets import DEVELOPMENT, REPORTED

BATCH = 100
MOST_ROWS = 10_000
METHODS = ("auto", "sigmoid", "temperature", "venn_abers")
BINS = 15
ALPHA = 0.1  # of the prediction sets


@dataclass(frozen=True)
class Course:
    """A stream: rows with a fixed scale, taken from the first 500, and class numbers."""

    name: str
    X: np.ndarray
    y: np.ndarray

    @property
    def classes(self) -> int:
        return int(self.y.max()) + 1


def _whole(name: str) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
    """All classes of a real set, in the order of its file."""

    def make(rows: int) -> tuple[np.ndarray, np.ndarray]:
        from everlearn.datasets import load

        data = load(name)
        X = data.X[:rows]
        return X.toarray() if hasattr(X, "toarray") else X, data.y[:rows]

    return make


def _generated(name: str) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
    def make(rows: int) -> tuple[np.ndarray, np.ndarray]:
        from river.datasets import synth

        if name == "rbf5":
            parts = [
                synth.RandomRBFDrift(
                    3, 4, n_classes=5, n_features=10, change_speed=0.002, n_centroids=30, n_drift_centroids=30
                ).take(rows)
            ]
        else:
            parts = [
                synth.LED(1, 0.2).take(rows // 2),
                synth.LEDDrift(2, 0.1, n_drift_features=5).take(rows - rows // 2),
            ]
        pairs = [pair for part in parts for pair in part]
        X = np.array([[float(value) for value in x.values()] for x, _ in pairs])
        return X, np.array([label for _, label in pairs])

    return make


REPORTED_STREAMS = {
    **{name: REPORTED[name][1] for name in ("elec2", "weather", "sea", "kdd99", "covtype")},
    "covtype, 7 classes": _whole("covtype"),
    "letter": _whole("letter"),
    "usps": _whole("usps"),
}
DEVELOPMENT_STREAMS = {
    **DEVELOPMENT,
    "rbf5": _generated("rbf5"),
    "led": _generated("led"),
    "pendigits": _whole("pendigits"),
    "satimage": _whole("satimage"),
}


def course(name: str, make: Callable[[int], tuple[np.ndarray, np.ndarray]], rows: int) -> Course:
    X, y = make(rows)
    X = np.asarray(X, dtype=np.float64)
    deviation = X[:500].std(axis=0)
    deviation[deviation == 0] = 1
    X = (X - X[:500].mean(axis=0)) / deviation
    return Course(name, np.ascontiguousarray(X), np.unique(y, return_inverse=True)[1])


def batches(stream: Course) -> Iterator[slice]:
    for start in range(0, len(stream.y), BATCH):
        yield slice(start, min(start + BATCH, len(stream.y)))


def measures(proba: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Brier score (at most 1 for two classes, 2 for more), error of the confidence, log loss, accuracy."""
    places = np.arange(len(y))
    squares = (proba**2).sum(axis=1) - 2 * proba[places, y] + 1
    top, right = proba.max(axis=1), proba.argmax(axis=1) == y
    bins = np.minimum((top * BINS).astype(int), BINS - 1)
    gaps = [abs(right[bins == b].sum() - top[bins == b].sum()) for b in range(BINS)]
    return {
        "brier": float(squares.mean() / (2 if proba.shape[1] == 2 else 1)),
        "ece": float(sum(gaps) / len(y)),
        "log_loss": float(-np.log(np.maximum(proba[places, y], 1e-6)).mean()),
        "accuracy": float(right.mean()),
    }


def ours(stream: Course, rate: float, ask: bool, seed: int) -> dict[str, dict[str, Any]]:
    """LASVM, its scores calibrated in each way; all calibrators see the same scores and labels.

    With `ask`, every other label goes to the row nearest to the boundary, the others are drawn at random.
    """
    from everlearn import LASVM
    from everlearn.calibration import AdaptiveConformal, OnlineCalibrator

    classes = list(range(stream.classes))
    calibrators = {f"LASVM, {method}": OnlineCalibrator(method, classes=classes) for method in METHODS}
    if ask:
        calibrators = {
            "LASVM, auto, all labels": OnlineCalibrator(classes=classes),
            "LASVM, auto, random labels": OnlineCalibrator(classes=classes),
        }
    fixed = OnlineCalibrator("temperature", classes=classes)  # never updated
    proba = {name: np.full((len(stream.y), len(classes)), 1 / len(classes)) for name in calibrators}
    proba["LASVM, not calibrated"] = np.full((len(stream.y), len(classes)), 1 / len(classes))
    cpu = dict.fromkeys(proba, 0.0)
    conformal = AdaptiveConformal(alpha=ALPHA, classes=classes)
    sets = np.ones_like(proba["LASVM, not calibrated"], dtype=bool)
    learned_from = next(iter(calibrators))  # the one whose probabilities the sets are made of
    learner = LASVM(C=10, random_state=0)
    random = np.random.default_rng(seed)
    started = False
    for rows in batches(stream):
        X, y = stream.X[rows], stream.y[rows]
        scores = learner.decision_function(X) if started else None
        if scores is not None:
            for name, calibrator in (*calibrators.items(), ("LASVM, not calibrated", fixed)):
                start = process_time()
                proba[name][rows] = calibrator.predict_proba(scores)
                cpu[name] += process_time() - start
            sets[rows] = conformal.predict_set(proba[learned_from][rows])
        drawn = np.flatnonzero(random.random(len(y)) < (rate / 2 if ask else rate))
        asked = np.empty(0, dtype=np.intp)
        if ask and scores is not None:
            ordered = np.sort(scores, axis=1) if scores.ndim == 2 else None
            margin = np.abs(scores) if ordered is None else ordered[:, -1] - ordered[:, -2]
            asked = np.setdiff1d(np.argsort(margin, kind="stable")[: round(rate / 2 * len(y))], drawn)
        wanted = np.concatenate((drawn, asked))
        if not len(wanted):
            continue
        if scores is not None:
            held = sets[rows][drawn, y[drawn]]
            conformal.update(proba[learned_from][rows][drawn], y[drawn], covered=held)
            for name, calibrator in calibrators.items():
                told = drawn if name.endswith("random labels") else wanted
                start = process_time()
                calibrator.update(scores[told], y[told])
                cpu[name] += process_time() - start
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if not started:
                learner._prepare(stream.X[:500], classes)
            learner.partial_fit(X[wanted], y[wanted])
        started = True
    readers: dict[str, dict[str, Any]] = {
        name: measures(found, stream.y) | {"cpu": cpu[name]} for name, found in proba.items()
    }
    readers[learned_from] |= {
        "coverage": float(sets[np.arange(len(stream.y)), stream.y].mean()),
        "set_size": float(sets.sum(axis=1).mean()),
    }
    return readers


def rivers(stream: Course, rate: float, seed: int) -> dict[str, dict[str, Any]]:
    """River's logistic regression (softmax regression for several classes), and the class frequencies."""
    from river import linear_model, preprocessing

    k = stream.classes
    model = linear_model.LogisticRegression() if k == 2 else linear_model.SoftmaxRegression()
    scaler = preprocessing.StandardScaler()
    proba, frequent = (np.full((len(stream.y), k), 1 / k) for _ in range(2))
    counts = np.ones(k)
    random = np.random.default_rng(seed)
    start = process_time()
    for rows in batches(stream):
        y, seen = stream.y[rows], []
        frequent[rows] = counts / counts.sum()
        for number, row in enumerate(stream.X[rows].tolist(), rows.start):
            x = dict(enumerate(row))
            scaler.learn_one(x)
            x = scaler.transform_one(x)
            shares = model.predict_proba_one(x)
            found = np.array([shares.get(code, 0.0) for code in range(k)])
            if found.sum() > 0:
                proba[number] = found / found.sum()
            seen.append(x)
        for place in np.flatnonzero(random.random(len(y)) < rate).tolist():
            model.learn_one(seen[place], bool(y[place]) if k == 2 else int(y[place]))
            counts[y[place]] += 1
    cpu = process_time() - start
    return {
        "River logistic regression": measures(proba, stream.y) | {"cpu": cpu},
        "class frequencies": measures(frequent, stream.y) | {"cpu": 0.0},
    }
