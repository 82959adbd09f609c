"""Transductive accuracy, beside the methods that need no S3VM and those that are told as much.

Two protocols. *Worst splits* is the thesis': of 100 random choices of the labeled rows the 10 on which the
SVM on the labels alone does worst. *Published*: the labeled subsets that come with the sets, all
of 10 and 50 labels, the first four of 100.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.svm import SVC

from ..harness.machine import say
from ..harness.run import Run
from .accuracy_report import report
from .data import PUBLISHED, SMALL, Problem, published, small
from .methods import (
    LP,
    LS,
    OURS,
    PULL,
    SVM_R,
    Scores,
    compare,
    count,
    cut,
    labels_alone,
    median_gamma,
    ours,
)

__all__ = ["NAMES", "report", "run_part"]
NAMES = tuple(dict.fromkeys([*SMALL, *PUBLISHED]))
LABELS = 4  # of a worst split
DRAWS, KEPT = 100, 10
SPLITS = {"lab10": 12, "lab50": 10, "lab100": 4}
QUICK_NAMES = ("sonar", "breast cancer")
KINDS = ("7 neighbors", "RBF")


def worst_splits(problem: Problem, labels: int, draws: int) -> Problem:
    """Random labeled rows; first those with which the SVM on the labels alone is worst."""
    from everlearn.semi import PessimisticSplit

    machine = SVC(kernel="linear", C=1)
    splitter = PessimisticSplit(labels, n_draws=draws, n_splits=draws, estimator=machine, random_state=0)
    return replace(problem, labeled=[rows for rows, _ in splitter.split(problem.X, problem.y)])


def better_graph(scores: Scores) -> dict[str, str]:
    """Keep of propagation and of spreading the better graph, by the true labels: in their favor."""
    chosen = {}
    for who in (LP, LS):
        for told in ("", " + r"):
            lines = {kind: f"{who}, {kind}{told}" for kind in KINDS}
            best = max(KINDS, key=lambda kind: float(np.mean(scores.found[lines[kind]]["accuracy"])))
            scores.found[f"{who}{told}"] = scores.found[lines[best]]
            chosen[f"{who}{told}"] = best
    return chosen


def estimated(problem: Problem, labeled: np.ndarray) -> dict[str, Any]:
    """Ours with the share that it estimates, and what is told that share."""
    X, y = problem.X, problem.y
    rest = np.setdiff1d(np.arange(len(y)), labeled)
    model = ours(problem, labeled, None)
    share = float(model.positive_fraction_)
    k = count(share, len(rest))
    decision = SVC(kernel="linear", C=1).fit(X[labeled], y[labeled]).decision_function(X[rest])
    guesses = {
        OURS: model.transduction_[rest],
        SVM_R: cut(decision, k),
        PULL: cut(labels_alone(X, y, labeled, rest), k),
    }
    return {
        "share": float(np.mean(y[rest] > 0)),
        "estimate": share,
        "by_labels": float((np.sum(y[labeled] > 0) + 1) / (len(labeled) + 2)),
        "reliable": bool(model.fraction_reliable_),
        "accuracy": {who: float(np.mean(guess == y[rest])) for who, guess in guesses.items()},
    }


def run_problem(problem: Problem, protocol: str, splits: int, estimates: int) -> dict[str, Any]:
    """The first splits with every method; all of them with those that take no time."""
    scores, every, gamma = Scores(), Scores(), median_gamma(problem.X)
    for labeled in problem.labeled[:splits]:
        compare(problem, labeled, scores, gamma)
    graphs = better_graph(scores)
    if len(problem.labeled) > splits:
        for labeled in problem.labeled:
            compare(problem, labeled, every, None)
    shares = [estimated(problem, labeled) for labeled in problem.labeled[:estimates]]
    say(f"{problem.name}: {OURS} {100 * np.mean(scores.found[OURS]['accuracy']):.1f} %")
    return {
        "set": problem.name,
        "protocol": protocol,
        "rows": len(problem.y),
        "features": problem.X.shape[1],
        "sparse": problem.sparse,
        "positives": float(np.mean(problem.y > 0)),
        "labels": len(problem.labeled[0]),
        "splits": splits,
        "thesis": None if problem.thesis is None else problem.thesis._asdict(),
        "graphs": graphs,
        "methods": scores.found,
        "every_split": {who: {"accuracy": of["accuracy"]} for who, of in every.found.items()},
        "estimated": shares,
    }


def run_part(run: Run) -> None:
    """Both protocols, one set after the other."""
    kept, draws = (2, 5) if run.quick else (KEPT, DRAWS)
    run.note(labels=LABELS, draws=draws, kept=kept)
    for name in run.chosen(SMALL, QUICK_NAMES):
        if run.find(set=name, protocol="worst") is None:
            problem = worst_splits(small(name), LABELS, draws)
            run.add(run_problem(problem, "worst", kept, kept))
    for name in run.chosen(PUBLISHED, ("bci",)):
        for which in PUBLISHED[name]:
            splits = 2 if run.quick else SPLITS[which]
            if run.find(set=name, protocol=which) is None:
                problem = published(name, which, splits)
                run.add(run_problem(problem, which, splits, 0 if which == "lab100" else splits))
