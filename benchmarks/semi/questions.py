"""Which rows of a batch to ask about: unsure and unlike each other, unsure alone, or at random.

Batches have no labels, except for a few in the first. A query strategy selects a fraction of the rows, their
labels are revealed, and `StreamS3VM` labels the others. Asking about the hard rows leaves the easy ones,
so accuracy on the others flatters a query strategy; all are also scored on rows that are in no batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..harness.machine import say
from ..harness.run import Run
from .batches import LINEAR, Batches, Streaming, cut_up, rows_of, stack
from .methods import partly
from .questions_report import report

__all__ = ["NAMES", "report", "run_part"]
# rows of a batch, batches
STREAMS = {
    "g50c": (80, 5),
    "usps 2, 5": (150, 6),
    "svmguide1": (200, 8),
    "a9a": (200, 8),
    "newsgroups": (200, 8),
}
NAMES = tuple(STREAMS)
FIRST_LABELS = 4
HELD_OUT = 1000
SHARES = (0.25, 0.05)
SEEDS = 6
RULES = ("random", "submodular", "by labels", "smallest margin")


def ask(who: str, model: Any, X: Any, labeled: tuple[Any, np.ndarray], n: int, seed: int) -> np.ndarray:
    """Row numbers of a batch."""
    from everlearn import query

    if who == "random":
        return np.asarray(query.Random(random_state=seed).query(model, X, n))
    if who == "smallest margin":
        return np.asarray(query.Margin(pool_size=None).query(model, X, n))
    rule = query.Submodular(pool_size=None, **LINEAR)
    return np.asarray(rule.query(model, X, n, labeled=labeled if who == "by labels" else None))


def unasked_share(share: float, rows: int, answers: list[np.ndarray]) -> float:
    """The share of positives among rows not asked about, where that among all is known."""
    known = np.concatenate(answers)
    left = (share * rows - np.sum(known > 0)) / max(1, rows - len(known))
    return float(np.clip(left, 0.01, 0.99))


def one_run(
    who: str, stream: Batches, share: float, test: tuple[Any, np.ndarray], seed: int
) -> dict[str, Any]:
    """Accuracy on the rows not asked about after the first batch, and on rows held out at the end."""
    learner = Streaming(stream.share)
    rows, labels = [], []
    right = []
    for t, (X, truth, first) in enumerate(zip(stream.rows, stream.truth, stream.known, strict=True)):
        if t == 0:
            asked = np.flatnonzero(~np.isnan(first))
        else:
            n = max(1, round(share * len(truth)))
            asked = ask(who, learner.model, X, (stack(rows), np.concatenate(labels)), n, 100 * seed + t)
        rows.append(X[asked])
        labels.append(truth[asked])
        learner.told(unasked_share(stream.share, (t + 1) * len(truth), labels))
        found = learner.step(X, partly(truth, asked))
        rest = np.setdiff1d(np.arange(len(truth)), asked)
        if t:
            right.append(float(np.mean(found[rest] == truth[rest])))
    held_out = float(np.mean(learner.model.predict(test[0]) == test[1]))
    return {"rest": float(np.mean(right)), "held_out": held_out, "last": right[-1]}


def run_stream(name: str, size: int, batches: int, seeds: int) -> dict[str, Any]:
    result: dict[str, Any] = {"stream": name, "rows": size, "batches": batches, "seeds": seeds, "lines": []}
    draws = []
    for seed in range(seeds):
        X, y = rows_of(name, seed)
        stop = size * batches
        test = X[stop : stop + HELD_OUT], y[stop : stop + HELD_OUT]
        draws.append((cut_up(X[:stop], y[:stop], size, batches, FIRST_LABELS, seed), test))
    result |= {"held_out": len(draws[0][1][1]), "features": draws[0][0].rows[0].shape[1]}
    for share in SHARES:
        for who in RULES:
            runs = [one_run(who, stream, share, test, seed) for seed, (stream, test) in enumerate(draws)]
            line = {key: [run[key] for run in runs] for key in runs[0]}
            result["lines"].append({"rule": who, "share": share} | line)
            say(f"{name}, {share:.0%}, {who}: {100 * np.mean(line['rest']):.1f} %")
    return result


def run_part(run: Run) -> None:
    """One stream after the other."""
    for name in run.missing(run.chosen(NAMES, ("g50c", "svmguide1")), "stream"):
        size, batches = STREAMS[name]
        run.add(run_stream(name, size, 3 if run.quick else batches, 2 if run.quick else SEEDS))
