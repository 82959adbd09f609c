"""Whoever reads a stream: batch by batch it predicts, says which labels it wants, and is told those."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from time import process_time
from typing import Any, Protocol

import numpy as np

from _streams_sets import Stream

BATCH = 100  # rows; their labels come after the batch, for everybody


class Player(Protocol):
    def step(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Predictions, scores, and the numbers of the rows whose labels are wanted."""

    def learn(self, numbers: np.ndarray, y: np.ndarray) -> None:
        """Labels of rows that have come."""


class Ours:
    """A `NeverEndingLearner` in memory; with `rescale` it fixes its scale anew when the rows have doubled."""

    def __init__(self, learner: Any, rate: float, seed: int, rescale: bool = True, **options: Any) -> None:
        from everlearn.stream import NeverEndingLearner

        self.all = rate == 1
        options = {"query": "margin", "audit": 0.0} | options
        if self.all:
            options["query"] = None
        self.stream = NeverEndingLearner.open(
            ":memory:", learner, label_rate=rate, random_state=seed, **options
        )
        self.rescale, self.rows, self.only_class = rescale, 0, 0

    def step(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self.rescale and self.rows >= 500 and math.log2(self.rows / 500) % 1 == 0:
            with contextlib.suppress(ValueError):  # it scales by unlabelled rows, and there may be none
                self.stream.rescale()
        out = self.stream.step(X)
        wanted = [question.id for question in out.questions]
        if self.all:
            wanted = out.ids
        self.rows += len(X)
        if out.decision is None:  # one class so far
            return np.full(len(X), self.only_class), np.zeros(len(X)), np.array(wanted, dtype=int)
        return out.predictions.astype(int), out.decision, np.array(wanted, dtype=int)

    def learn(self, numbers: np.ndarray, y: np.ndarray) -> None:
        self.stream.label(numbers, y)
        self.only_class = int(y[-1])

    @property
    def facts(self) -> dict[str, Any]:
        status = self.stream.status()
        return {"support_vectors": status["support_vectors"], "alarms": len(status["drift_alarms"])}


class Rivers:
    """A classifier of River, row by row; a scaler before it sees every row, labelled or not.

    Labels are drawn at random, so many of each batch that they keep to the rate, or wanted by River's
    EntropySampler. Its discount is doubled or halved after a batch in which it asked for more or for less
    than the rate, and it cannot go beyond; what it leaves for two batches is drawn at random, so that all
    have the same number of labels. It would never ask for the label of a second class, as a single one has
    no entropy: until there are two, labels are drawn.
    """

    def __init__(
        self, model: Any, rate: float, seed: int, entropy: bool = False, scaled: bool = False
    ) -> None:
        from river import active, preprocessing

        self.model, self.rate = model, rate
        self.scaler = preprocessing.StandardScaler() if scaled else None
        self.sampler = active.EntropySampler(model, discount_factor=1.0, seed=seed) if entropy else None
        self.random = np.random.default_rng(seed)
        self.rows = self.asked = 0
        self.classes: set[int] = set()
        self.waiting: dict[int, dict[int, float]] = {}
        self.facts: dict[str, Any] = {}

    def step(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        only = next(iter(self.classes), 0)
        predictions, scores, wants = [], [], []
        seen = {}
        for number, row in enumerate(X.tolist(), self.rows):
            x = dict(enumerate(row))
            if self.scaler is not None:
                self.scaler.learn_one(x)
                x = self.scaler.transform_one(x)
            chances = self.model.predict_proba_one(x)
            scores.append(chances.get(1, 0.0) - chances.get(0, 0.0))
            predictions.append(max(chances, key=chances.get) if chances else only)
            if self.sampler is not None and self._asks(x, chances):
                wants.append(number)
            seen[number] = x
        self.rows += len(X)
        wanted = self._wanted(np.arange(self.rows - len(X), self.rows), wants)
        self.waiting = {number: seen[number] for number in wanted.tolist()}
        return np.array(predictions, dtype=int), np.array(scores), wanted

    def _asks(self, x: dict[int, float], chances: dict[int, float]) -> bool:
        try:
            return bool(self.sampler._ask_for_label(x, chances))  # type: ignore[union-attr]
        except ZeroDivisionError:  # one class alone with a probability that is not quite 1
            return False

    def _wanted(self, numbers: np.ndarray, wants: list[int]) -> np.ndarray:
        most = int(self.rate * self.rows) - self.asked
        if self.sampler is None or len(self.classes) < 2:
            wanted = np.sort(self.random.permutation(numbers)[:most])
        else:
            factor = 2.0 if len(wants) > self.rate * len(numbers) else 0.5
            self.sampler.discount_factor = min(max(self.sampler.discount_factor * factor, 1e-6), 1e9)
            wanted = self.random.permutation(np.array(wants, dtype=int))[:most]
            if most - len(wanted) > max(1, 2 * self.rate * len(numbers)):  # its entropies are all but 0
                others = self.random.permutation(np.setdiff1d(numbers, wanted))
                wanted = np.concatenate([wanted, others[: most - len(wanted)]])
            wanted = np.sort(wanted)
        self.asked += len(wanted)
        return wanted

    def learn(self, numbers: np.ndarray, y: np.ndarray) -> None:
        for number, label in zip(numbers.tolist(), y.tolist(), strict=True):
            self.model.learn_one(self.waiting[number], label)
            self.classes.add(label)


Make = Callable[[float, int], Player]  # from the share of labels and a seed


def follow(make: Make, stream: Stream, rate: float, seed: int = 0) -> dict[str, Any]:
    """Go through a stream: how good its predictions were, each made before the label was known."""
    from sklearn.metrics import matthews_corrcoef, roc_auc_score

    from everlearn.metrics import g_means

    player = make(rate, seed)
    predictions, scores = np.zeros(len(stream.y), dtype=int), np.zeros(len(stream.y))
    labels, start = 0, process_time()
    for first in range(0, len(stream.y), BATCH):
        batch = slice(first, first + BATCH)
        predictions[batch], scores[batch], wanted = player.step(stream.X[batch])
        if len(wanted):
            player.learn(wanted, stream.y[wanted])
        labels += len(wanted)
    cpu = process_time() - start
    return {
        "accuracy": float(np.mean(predictions == stream.y)),
        "g_means": g_means(stream.y, predictions),
        "auc": float(roc_auc_score(stream.y, scores)),
        "mcc": float(matthews_corrcoef(stream.y, predictions)),
        "labels": labels,
        "cpu": cpu,
        "facts": player.facts,  # type: ignore[attr-defined]
    }
