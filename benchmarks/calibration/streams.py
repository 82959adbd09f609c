"""Probabilities along streams: one LASVM and several calibrators of its scores, beside River."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np

from ..harness.data import standardized
from ..harness.machine import say
from ..harness.run import Run
from ..streams.data import REPORTED, Make, Stream, generated, real
from .report import streams_report as report

__all__ = ["NAMES", "report", "run_part"]
BATCH = 100
METHODS = ("auto", "sigmoid", "temperature", "venn_abers")
BINS = 15
SCALE_ROWS = 500  # the first rows, whose scale is that of all
ALPHA = 0.1  # of the prediction sets


def _halves(name: str, *concepts: int, **options: Any) -> Make:
    return generated(
        lambda synth: [(getattr(synth, name)(f, seed=f, **options), 1 / len(concepts)) for f in concepts]
    )


_BINARY: dict[str, Make] = {
    "rbf": generated(
        lambda synth: [
            (synth.RandomRBFDrift(1, 2, n_features=10, change_speed=0.001, n_drift_centroids=25), 1)
        ]
    ),
    "hyperplane": generated(
        lambda synth: [(synth.Hyperplane(2, n_features=10, n_drift_features=5, mag_change=0.001), 1)]
    ),
    "sine": _halves("Sine", 0, 3, has_noise=True),
    "agrawal": _halves("Agrawal", 0, 2, perturbation=0.05),
    "ijcnn1": real("ijcnn1", 1),
    "shuttle": real("shuttle", 1),
}


REPORTED_STREAMS = {
    **{name: REPORTED[name].make for name in ("elec2", "weather", "sea", "kdd99", "covtype")},
    "covtype, 7 classes": real("covtype"),
    "letter": real("letter"),
    "usps": real("usps"),
}
DEVELOPMENT_STREAMS = {
    **_BINARY,
    "rbf5": generated(
        lambda synth: [
            (
                synth.RandomRBFDrift(
                    3, 4, n_classes=5, n_features=10, change_speed=0.002, n_centroids=30, n_drift_centroids=30
                ),
                1,
            )
        ]
    ),
    "led": generated(
        lambda synth: [(synth.LED(1, 0.2), 0.5), (synth.LEDDrift(2, 0.1, n_drift_features=5), 0.5)]
    ),
    "pendigits": real("pendigits"),
    "satimage": real("satimage"),
}
NAMES = (*REPORTED_STREAMS, *DEVELOPMENT_STREAMS)


def scaled(name: str, make: Make, rows: int) -> Stream:
    """A stream on the scale of its first 500 rows."""
    X, y = make(rows)
    _, X = standardized(X[:SCALE_ROWS], X)
    return Stream(name, X, np.unique(y, return_inverse=True)[1])


def run_part(run: Run) -> None:
    """All streams at all shares of labels, and once more with queried labels."""
    develop = run.settings["develop"]
    source = DEVELOPMENT_STREAMS if develop else REPORTED_STREAMS
    for name in run.chosen(source, ("elec2", "letter", "sine")):
        stream = scaled(name, source[name], run.settings["rows"])
        for rate in (0.02, 0.1, 1.0) if develop else (0.1, 1.0):
            if run.find(stream=name, rate=rate, ask=False) is None:
                say(f"{name}, {rate:.0%} of the labels")
                readers = ours(stream, rate, False, 0) | ({} if develop else rivers(stream, rate, 0))
                run.add({"stream": name, "rate": rate, "ask": False, "readers": readers})
        if run.find(stream=name, rate=0.1, ask=True) is None:
            run.add({"stream": name, "rate": 0.1, "ask": True, "readers": ours(stream, 0.1, True, 0)})


def batches(stream: Stream) -> Iterator[slice]:
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


def ours(stream: Stream, rate: float, ask: bool, seed: int) -> dict[str, dict[str, Any]]:
    """LASVM, its scores calibrated in each way; all calibrators see the same scores and labels.

    With `ask`, every other label goes to the row nearest to the boundary, the others are drawn at random.
    """
    from everlearn import LASVM
    from everlearn.calibration import AdaptiveConformal, OnlineCalibrator

    classes = list(range(stream.n_classes))
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
    scale = stream.X[:SCALE_ROWS]
    learner = LASVM(C=10, gamma=1 / (scale.shape[1] * scale.var()), random_state=0)
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
                learner.prepare(stream.X[:500], classes)
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


def rivers(stream: Stream, rate: float, seed: int) -> dict[str, dict[str, Any]]:
    """River's logistic regression (softmax regression for several classes), and the class frequencies."""
    from river import linear_model, preprocessing

    k = stream.n_classes
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
