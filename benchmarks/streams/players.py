"""Whoever reads a stream: batch by batch it predicts, says which labels it wants, and is told those."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any, Protocol

import numpy as np

from .data import Stream

BATCH = 100  # rows; their labels come after the batch, for everybody
REFIT = 1.05  # a forest on all labels is refitted when there are so many times as many


class Player(Protocol):
    def step(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Predictions, and the numbers of the rows whose labels are wanted."""

    def learn(self, numbers: np.ndarray, y: np.ndarray) -> None:
        """Labels of rows that have come."""


class Ours:
    """A `NeverEndingLearner` in memory; when all labels are given, it asks for none."""

    def __init__(self, learner: Any, rate: float, seed: int, **options: Any) -> None:
        from everlearn.stream import NeverEndingLearner

        self.all = rate == 1
        if self.all:
            options["query_strategy"] = None
        self.stream = NeverEndingLearner.open(
            ":memory:", learner, label_rate=rate, random_state=seed, **options
        )
        self.only_class = 0

    def step(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        out = self.stream.step(X)
        wanted = out.ids if self.all else [question.id for question in out.questions]
        predictions = [self.only_class if label is None else int(label) for label in out.predictions]
        return np.array(predictions), np.array(wanted, dtype=int)

    def learn(self, numbers: np.ndarray, y: np.ndarray) -> None:
        self.stream.label(numbers, y)
        self.only_class = int(y[-1])


class Drawn:
    """Labels are drawn at random, so many of each batch that they keep to the rate."""

    def __init__(self, rate: float, seed: int) -> None:
        self.rate, self.random = rate, np.random.default_rng(seed)
        self.rows = self.asked = 0

    def arrived(self, size: int) -> np.ndarray:
        """The numbers of the rows of a batch."""
        self.rows += size
        return np.arange(self.rows - size, self.rows)

    def allowed(self) -> int:
        """How many labels may be asked for by now."""
        return round(self.rate * self.rows) - self.asked

    def draw(self, numbers: np.ndarray) -> np.ndarray:
        wanted = numbers if self.rate == 1 else np.sort(self.random.permutation(numbers)[: self.allowed()])
        self.asked += len(wanted)
        return wanted


class Rivers(Drawn):
    """A classifier of River, row by row; a scaler before it sees every row, labeled or not.

    Labels are drawn at random, or wanted by River's EntropySampler. Its discount is doubled or halved after
    a batch in which it asked for more or for less than the rate, and it cannot go beyond; what it leaves for
    two batches is drawn at random, so that all have the same number of labels. It would never ask for the
    label of a second class, as a single one has no entropy: until there are two, labels are drawn.
    """

    def __init__(
        self, model: Any, rate: float, seed: int, entropy: bool = False, scaled: bool = False
    ) -> None:
        from river import active, preprocessing

        super().__init__(rate, seed)
        self.model = model
        self.scaler = preprocessing.StandardScaler() if scaled else None
        self.sampler = active.EntropySampler(model, discount_factor=1.0, seed=seed) if entropy else None
        self.classes: set[int] = set()
        self.waiting: dict[int, dict[int, float]] = {}

    def step(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        only = next(iter(self.classes), 0)
        predictions, wants, seen = [], [], {}
        asks = self.sampler is not None and self.rate < 1
        for number, row in enumerate(X.tolist(), self.rows):
            x = dict(enumerate(row))
            if self.scaler is not None:
                self.scaler.learn_one(x)
                x = self.scaler.transform_one(x)
            chances = self.model.predict_proba_one(x)
            predictions.append(max(chances, key=chances.get) if chances else only)
            if asks and self._asks(x, chances):
                wants.append(number)
            seen[number] = x
        wanted = self._wanted(self.arrived(len(X)), wants)
        self.waiting = {number: seen[number] for number in wanted.tolist()}
        return np.array(predictions, dtype=int), wanted

    def _asks(self, x: dict[int, float], chances: dict[int, float]) -> bool:
        try:
            return bool(self.sampler._ask_for_label(x, chances))  # type: ignore[union-attr]
        except ZeroDivisionError:  # one class alone with a probability that is not quite 1
            return False

    def _wanted(self, numbers: np.ndarray, wants: list[int]) -> np.ndarray:
        if self.sampler is None or self.rate == 1 or len(self.classes) < 2:
            return self.draw(numbers)
        most = self.allowed()
        factor = 2.0 if len(wants) > self.rate * len(numbers) else 0.5
        self.sampler.discount_factor = min(max(self.sampler.discount_factor * factor, 1e-6), 1e9)
        wanted = self.random.permutation(np.array(wants, dtype=int))[:most]
        if most - len(wanted) > max(1, 2 * self.rate * len(numbers)):  # its entropies are all but 0
            others = self.random.permutation(np.setdiff1d(numbers, wanted))
            wanted = np.concatenate([wanted, others[: most - len(wanted)]])
        self.asked += len(wanted)
        return np.sort(wanted)

    def learn(self, numbers: np.ndarray, y: np.ndarray) -> None:
        for number, label in zip(numbers.tolist(), y.tolist(), strict=True):
            self.model.learn_one(self.waiting[number], label)
            self.classes.add(label)


class Refitted(Drawn):
    """A forest of scikit-learn, refitted: on the last labels, or on all whenever they have grown by 5 %."""

    def __init__(self, rate: float, seed: int, window: int | None = None) -> None:
        super().__init__(rate, seed)
        self.seed, self.window, self.fitted_on = seed, window, 0
        self.X: list[np.ndarray] = []
        self.y: list[int] = []
        self.model: Any = None

    def step(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        last = self.y[-1] if self.y else 0
        predictions = np.full(len(X), last) if self.model is None else self.model.predict(X)
        numbers = self.arrived(len(X))
        self.batch, self.first = X, numbers[0]
        return predictions, self.draw(numbers)

    def learn(self, numbers: np.ndarray, y: np.ndarray) -> None:
        from sklearn.ensemble import RandomForestClassifier

        self.X += list(self.batch[numbers - self.first])
        self.y += y.tolist()
        if self.window is not None:
            self.X, self.y = self.X[-self.window :], self.y[-self.window :]
        elif len(self.y) < REFIT * self.fitted_on:
            return
        if len(set(self.y)) > 1:
            forest = RandomForestClassifier(100, random_state=self.seed, n_jobs=1)
            self.model = forest.fit(np.array(self.X), np.array(self.y))
            self.fitted_on = len(self.y)


class Constant(Drawn):
    """A baseline: the last label, or the most frequent one so far."""

    def __init__(self, rate: float, seed: int, majority: bool) -> None:
        super().__init__(rate, seed)
        self.majority = majority
        self.y: list[int] = []

    def step(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        known = self.y or [0]
        label = int(np.bincount(known).argmax()) if self.majority else known[-1]
        return np.full(len(X), label), self.draw(self.arrived(len(X)))

    def learn(self, numbers: np.ndarray, y: np.ndarray) -> None:
        self.y += y.tolist()


Make = Callable[[float, int, int], Player]  # from the share of labels, a seed and the number of classes


def follow(make: Make, stream: Stream, rate: float, seed: int = 0) -> dict[str, Any]:
    """Go through a stream: how good its predictions were, each made before the label was known."""
    from sklearn.metrics import matthews_corrcoef

    player = make(rate, seed, stream.n_classes)
    predictions = np.zeros(len(stream.y), dtype=int)
    labels, start = 0, process_time()
    for first in range(0, len(stream.y), BATCH):
        batch = slice(first, first + BATCH)
        predictions[batch], wanted = player.step(stream.X[batch])
        if len(wanted):
            player.learn(wanted, stream.y[wanted])
        labels += len(wanted)
    return {
        "mcc": float(matthews_corrcoef(stream.y, predictions)),
        "accuracy": float(np.mean(predictions == stream.y)),
        "labels": labels,
        "rows": len(stream.y),
        "cpu": process_time() - start,
    }
