"""Streams in batches with few labels each, and the ways to label a batch when it comes."""

from __future__ import annotations

import pickle
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.svm import SVC

from .data import kdd99, newsgroups, plain, reuters, sampled, scaled
from .methods import count, cut, partly

LINEAR = {"kernel": "linear", "scaling": "unit"}


class Batches(NamedTuple):
    """Batches of rows, the truth, the same with NaN where it is not told, and the share of positives."""

    rows: list[Any]
    truth: list[np.ndarray]
    known: list[np.ndarray]
    share: float


def cut_up(X: Any, y: np.ndarray, size: int, batches: int, labels: int, seed: int) -> Batches:
    """Batches in the order of the rows, each with so many labels at random; the first has both classes."""
    rng = np.random.default_rng(seed)
    batches = min(batches, len(y) // size)
    places = [np.arange(t * size, (t + 1) * size) for t in range(batches)]
    known = []
    for t, rows in enumerate(places):
        told = rng.permutation(size)[:labels]
        while t == 0 and labels > 1 and len(np.unique(y[rows[told]])) < 2:
            told = rng.permutation(size)[:labels]
        known.append(partly(y[rows], told))
    share = float(np.mean(y[: batches * size] > 0))
    return Batches([X[rows] for rows in places], [y[rows] for rows in places], known, share)


def rows_of(name: str, seed: int) -> tuple[Any, np.ndarray]:
    """The rows of a stream: Reuters in the order of time, all others in a random one."""
    if name == "reuters":
        X, y = reuters("earn")
        return scaled(X), y
    X, y = {
        "newsgroups": lambda: newsgroups("comp.", "rec."),
        "kdd-99": kdd99,
        "g50c": lambda: plain("ssl_g50c", 1),
        "a9a": lambda: plain("a9a", 1),
        "svmguide1": lambda: plain("svmguide1", 1),
        "usps 2, 5": lambda: _two_of("usps", 2, 5),
    }[name]()
    X, y = sampled(X, y, 30_000, seed)
    return scaled(X), y


def _two_of(name: str, positive: int, negative: int) -> tuple[Any, np.ndarray]:
    X, y = plain(name, positive)
    keep = np.isin(plain(name, (positive, negative))[1], 1)
    return X[keep], y[keep]


def stack(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    return sp.csr_matrix(sp.vstack(parts)) if sp.issparse(parts[0]) else np.vstack(parts)


class AllKept:
    """Label each batch with everything that ever came: what a stream cannot afford."""

    def __init__(self, share: float) -> None:
        from everlearn import SubmodS3VM

        self.model = SubmodS3VM(positive_fraction=share, estimator=None, **LINEAR)
        self.X: list[Any] = []
        self.y: list[np.ndarray] = []

    def step(self, X: Any, known: np.ndarray) -> np.ndarray:
        self.X.append(X)
        self.y.append(known)
        self.model.fit(stack(self.X), np.concatenate(self.y))
        return np.asarray(self.model.transduction_)[-len(known) :]

    def held(self) -> int:
        return sum(len(y) for y in self.y)


class LabelsAlone:
    """The SVM on all labels so far; the batch cut at the share of positives."""

    def __init__(self, share: float) -> None:
        self.share = share
        self.X: list[Any] = []
        self.y: list[np.ndarray] = []

    def step(self, X: Any, known: np.ndarray) -> np.ndarray:
        told = np.flatnonzero(~np.isnan(known))
        self.X.append(X[told])
        self.y.append(known[told])
        machine = SVC(kernel="linear", C=1).fit(stack(self.X), np.concatenate(self.y))
        return cut(machine.decision_function(X), count(self.share, len(known)))

    def held(self) -> int:
        return sum(len(y) for y in self.y)


class Streaming:
    """`StreamS3VM` with a linear kernel, batch by batch."""

    def __init__(self, share: float, rho: float | str = "auto", **options: Any) -> None:
        from everlearn import StreamS3VM, SubmodS3VM

        s3vm = SubmodS3VM(rho=rho, positive_fraction=share, **LINEAR)
        self.model = StreamS3VM(s3vm, random_state=0, **options)

    def step(self, X: Any, known: np.ndarray) -> np.ndarray:
        self.model.partial_fit(X, known)
        return np.asarray(self.model.transduction_)

    def held(self) -> int:
        return int(self.model.n_stored_)

    def told(self, share: float) -> None:
        """From now on that is the share of positives."""
        self.model.set_params(s3vm__positive_fraction=share)

    def history(self) -> dict[str, list[float]]:
        """Exemplars, trials and cost of every summary; the first batch makes none."""
        made = [entry for entry in self.model.history_ if entry["trials"]]
        keys = {"exemplars": "exemplars", "trials": "trials", "cost": "disagreement"}
        return {name: [float(entry[key]) for entry in made] for name, key in keys.items()}


def follow(labeler: Any, batches: Batches) -> dict[str, list[float]]:
    """Accuracy on the rows without a label, CPU seconds, rows held and size on disk, batch by batch."""
    found: dict[str, list[float]] = {key: [] for key in ("accuracy", "cpu", "rows", "bytes")}
    for X, truth, known in zip(batches.rows, batches.truth, batches.known, strict=True):
        start = process_time()
        labels = labeler.step(X, known)
        found["cpu"].append(process_time() - start)
        open_ = np.isnan(known)
        found["accuracy"].append(float(np.mean(labels[open_] == truth[open_])))
        found["rows"].append(labeler.held())
        found["bytes"].append(len(pickle.dumps(labeler)))
    return found
