"""One pass of a stream through a learner: CPU seconds of what it does, and what its scores are worth."""

from __future__ import annotations

from statistics import fmean, median
from time import process_time
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from ..harness.machine import say
from ..harness.report import number
from .data import Stream
from .learners import ADAPTED, Learner

BLOCK = 500
SLOW = 10.0  # seconds of a pass after which a learner is not repeated
RATES = ("block_learn", "block_both", "single_learn", "single_both")


class _InBlocks:
    """Learners with partial_fit and decision_function."""

    def __init__(self, stream: Stream) -> None:
        self.X, self.y, self.name = stream.X, stream.y, stream.name

    def pass_over(self, model: Any, rows: int, singles: int) -> tuple[np.ndarray, dict[str, float]]:
        """Score each block, then learn it; then rows in calls of one: learned, then scored and learned."""
        scores, scoring, learning = np.zeros(rows), 0.0, 0.0
        for begin in range(0, rows, BLOCK):
            block = slice(begin, min(begin + BLOCK, rows))
            X, y = self.X[block], self.y[block]
            start = process_time()
            if begin:
                scores[block] = model.decision_function(X)
            between = process_time()
            model.partial_fit(X, y, classes=(-1, 1))
            scoring, learning = scoring + between - start, learning + process_time() - between
        found = {"block_learn": rows / learning, "block_both": rows / (scoring + learning)}
        if singles:
            start = process_time()
            for i in range(rows, rows + singles):
                model.partial_fit(self.X[i : i + 1], self.y[i : i + 1])
            found["single_learn"] = singles / (process_time() - start)
            start = process_time()
            for i in range(rows + singles, rows + 2 * singles):
                model.decision_function(self.X[i : i + 1])
                model.partial_fit(self.X[i : i + 1], self.y[i : i + 1])
            found["single_both"] = singles / (process_time() - start)
        return scores, found


class _ByDict:
    """Learners of River: a dict at a time."""

    def __init__(self, stream: Stream) -> None:
        self.rows, self.labels = stream.dicts()
        self.y, self.name = stream.y, stream.name

    def pass_over(self, model: Any, rows: int, singles: int) -> tuple[np.ndarray, dict[str, float]]:
        """Score each row, then learn it; then learn rows without scoring them."""
        chances = []
        start = process_time()
        for x, y in zip(self.rows[:rows], self.labels[:rows], strict=True):
            chances.append(model.predict_proba_one(x).get(True, 0.5))
            model.learn_one(x, y)
        found = {"single_both": rows / (process_time() - start)}
        if singles:
            start = process_time()
            for x, y in zip(
                self.rows[rows : rows + singles], self.labels[rows : rows + singles], strict=True
            ):
                model.learn_one(x, y)
            found["single_learn"] = singles / (process_time() - start)
        return np.array(chances) - 0.5, found


class Field:
    """A stream in both shapes, to run any learner on."""

    def __init__(self, stream: Stream, rows: int, singles: int) -> None:
        self.stream, self.rows, self.singles = stream, rows, singles
        self._shapes: dict[bool, _InBlocks | _ByDict] = {}

    def run(self, learner: Learner, parameters: dict[str, Any], seed: int) -> dict[str, Any]:
        if learner.by_dict not in self._shapes:
            self._shapes[learner.by_dict] = (_ByDict if learner.by_dict else _InBlocks)(self.stream)
        if learner.family == ADAPTED:
            parameters = parameters | {"features": self.stream.X.shape[1]}
        model = learner.make(seed, **parameters)
        start = process_time()
        scores, found = self._shapes[learner.by_dict].pass_over(model, self.rows, self.singles)
        y, scores = self.stream.y[BLOCK : self.rows], scores[BLOCK:]
        return found | {
            "auc": float(roc_auc_score(y, scores)),
            "accuracy": float(np.mean((scores > 0) == (y == 1))),
            "kept": int(model.n_kept_) if hasattr(model, "n_kept_") else None,
            "mistakes": int(model.n_mistakes_[0]) if hasattr(model, "n_mistakes_") else None,
            "seconds": process_time() - start,
        }


def choose(learner: Learner, tuning: Field, chosen: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The parameters with the highest prequential AUC on another draw of the stream."""
    if learner.taken_from:
        return chosen[learner.taken_from]
    found = [(tuning.run(learner, each, 0)["auc"], each) for each in learner.candidates()]
    return max(found, key=lambda pair: pair[0])[1]


def run_stream(
    learners: list[Learner], field: Field, tuning: Field, repeats: int
) -> dict[str, dict[str, Any]]:
    """Choose parameters, then run all learners in turn, `repeats` times; by name what was found."""
    chosen: dict[str, dict[str, Any]] = {}
    for learner in learners:
        chosen[learner.name] = choose(learner, tuning, chosen)
        say(f"{field.stream.name}: {learner.name} takes {in_words(chosen[learner.name])}")
    runs: dict[str, list[dict[str, Any]]] = {learner.name: [] for learner in learners}
    for repeat in range(repeats):
        for learner in learners:
            mine = runs[learner.name]
            if mine and mine[0]["seconds"] > SLOW:
                continue
            mine.append(field.run(learner, chosen[learner.name], repeat))
            rate = mine[-1].get("block_learn", mine[-1].get("single_learn"))
            say(f"{field.stream.name}: {learner.name} {number(rate)} rows/s, AUC {mine[-1]['auc']:.3f}")
    return {
        learner.name: {
            "family": learner.family,
            "parameters": chosen[learner.name],
            "candidates": len(learner.candidates()) if learner.grid else 0,
            "median": {key: _middle(runs[learner.name], key) for key in (*RATES, "kept", "mistakes")},
            "mean": {key: fmean(run[key] for run in runs[learner.name]) for key in ("auc", "accuracy")},
            "runs": runs[learner.name],
        }
        for learner in learners
    }


def _middle(runs: list[dict[str, Any]], key: str) -> float | None:
    values = [run[key] for run in runs if run.get(key) is not None]
    return median(values) if values else None


def in_words(parameters: dict[str, Any]) -> str:
    return ", ".join(
        f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in parameters.items()
    )
