"""All learners on all splits, and the tables of the plain implementation."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.svm import SVC

from everlearn import LASVM, IncrSVM, QuerySVM, StatQSVM
from everlearn.datasets import make_twonorm
from everlearn.metrics import support_set_distance
from everlearn.query import Margin

from ..harness.data import load
from ..harness.machine import say
from ..harness.report import NONE, head, markdown, number
from ..harness.run import Data, Run

# chunk, steps, steps of Query, runs
SIZES = {"cancer": (26, 24, 600, 10), "twonorm": (50, 20, 250, 3), "covertype": (60, 12, 180, 3)}
# accuracy %, its SD, D, used, examined, support vectors
TABLES: dict[str, dict[str, tuple[float, ...]]] = {
    "cancer": {
        "Batch": (96.62, 1.71, 0, 1, 1, 55),
        "Incr": (96.47, 1.58, 0.83, 1, 1, 52),
        "Query, keep all": (97.21, 1.29, 1.09, 0.109, 0.109, 40),
        "Query, keep sv": (97.35, 1.16, 1.07, 0.126, 0.126, 40),
        "StatQ, c p_nm/p": (95.88, 1.67, 1.77, 0.626, 0.792, 16),
        "StatQ, p_nm/p": (95.74, 1.29, 2.13, 0.051, 0.058, 8),
        "StatQ robust": (95.74, 2.64, 1.56, 0.642, 0.794, 21),
    },
    "twonorm": {
        "Batch": (97.57, 0.44, 0, 1, 1, 1022),
        "Incr": (96.13, 0.33, 11.26, 0.058, 0.058, 54),
        "Query, keep all": (97.53, 0.49, 9.21, 0.0167, 0.0167, 169),
        "Query, keep sv": (96.88, 0.65, 10.63, 0.0167, 0.0167, 67),
        "StatQ, c p_nm/p": (94.58, 1.81, 12.26, 0.057, 0.090, 28),
        "StatQ, p_nm/p": (95.27, 0.83, 14.15, 0.0046, 0.0058, 14),
        "StatQ robust": (96.62, 0.68, 11.34, 0.057, 0.120, 60),
    },
    "covertype": {
        "Batch": (79.08, 0.31, 0, 1, 1, 3941),
        "Incr": (77.50, 1.82, 5.70, 0.108, 0.108, 427),
        "Query, keep all": (77.58, 0.69, 6.00, 0.033, 0.033, 192),
        "Query, keep sv": (63.00, 10.33, 6.72, 0.033, 0.033, 131),
        "StatQ, c p_nm/p": (71.25, 8.46, 5.69, 0.106, 0.177, 485),
        "StatQ robust": (76.46, 1.87, 5.62, 0.107, 0.173, 508),
    },
}
MARGIN_AT = ("StatQ robust", "StatQ smooth", "StatQ smooth, frugal")
MEASURES = ("accuracy", "distance", "used", "examined", "support", "labels", "seconds")
QUICK_ROWS = 600
NAMES = tuple(SIZES)


def run_part(run: Run) -> None:
    """One run after the other."""
    settings = run.settings
    for name in run.chosen(NAMES):
        for seed in range(settings["runs"] or SIZES[name][3]):
            if run.find(set=name, seed=seed):
                continue
            say(f"{name}, run {seed}")
            found = one_run(name, seed, run.quick, settings["covertype_rows"])
            run.add({"set": name, "seed": seed, "learners": found})


def report(data: Data) -> str:
    """A table per set."""
    by_set: dict[str, list[dict[str, dict[str, Any]]]] = {}
    for r in data["results"]:
        by_set.setdefault(r["set"], []).append(r["learners"])
    tables = [_table(name, runs, data["settings"]) for name, runs in by_set.items()]
    return "\n".join([*head("Statistical queries", data), *tables])


def rows_of(name: str, seed: int, covertype_rows: int) -> tuple[Any, Any]:
    """All rows of a set and their labels, -1 and 1."""
    if name == "twonorm":
        return make_twonorm(20_000, random_state=seed)
    if name == "cancer":
        data = load("breast_cancer_wisconsin")
        return (data.X.astype(np.float64) - 1) / 9, np.where(data.y == 1, 1, -1)
    data = load("covtype")
    chosen = np.random.RandomState(seed).permutation(np.flatnonzero(data.y <= 2))[:covertype_rows]
    X = data.X[chosen, :10].astype(np.float64)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(data.y[chosen] == 1, 1, -1)


def learners(name: str, quick: bool, seed: int) -> dict[str, Any]:
    chunk, steps, queries, _ = SIZES[name]
    if quick:
        steps, queries = 3, 20
    common: dict[str, Any] = {"chunk_size": chunk, "random_state": seed}
    frugal: dict[str, Any] = {"keep": "all", "confidence_fraction": None}
    return {
        "Incr": IncrSVM(**common, max_iter=steps),
        "Query, keep all": QuerySVM(**common, max_iter=queries),
        "Query, keep sv": QuerySVM(**common, max_iter=queries, keep="support"),
        "StatQ, c p_nm/p": StatQSVM(**common, max_iter=steps, robust=False),
        "StatQ, p_nm/p": StatQSVM(**common, max_iter=steps, robust=False, criterion="outside"),
        "StatQ robust": StatQSVM(**common, max_iter=steps),
        "StatQ smooth": StatQSVM(**common, max_iter=steps, sampling="smooth"),
        "StatQ smooth, frugal": StatQSVM(**common, max_iter=steps, sampling="smooth", **frugal),
    }


def margin_sampling(X: Any, y: Any, chunk: int, labels: int, seed: int) -> Any:
    """LASVM on a random chunk, then on one row after the other, the nearest to the boundary of 59 drawn."""
    order = np.random.RandomState(seed).permutation(len(y))
    while len(set(y[order[:chunk]])) < 2:
        order = np.random.RandomState(seed := seed + 1).permutation(len(y))
    first, rest = order[:chunk], order[chunk:]
    model = LASVM(kernel="linear", random_state=seed).partial_fit(X[first], y[first], classes=[-1, 1])
    strategy = Margin(random_state=seed)
    for draw in range(min(labels - chunk, len(rest))):
        place = int(strategy.query(model, X[rest], n=1, draw=draw)[0])
        model.partial_fit(X[rest[place]][np.newaxis], y[rest[place]][np.newaxis])
        rest[place] = rest[-1]
        rest = rest[:-1]
    return model.finish()


def one_run(name: str, seed: int, quick: bool, covertype_rows: int) -> dict[str, dict[str, Any]]:
    """Every learner on one split, by its name."""
    X, y = rows_of(name, seed, covertype_rows)
    order = np.random.RandomState(seed).permutation(len(y))
    if quick:
        order = order[:QUICK_ROWS]
    test, train = order[: len(order) // 10], order[len(order) // 10 :]
    X_test, y_test, X, y = X[test], y[test], X[train], y[train]
    found: dict[str, dict[str, Any]] = {}

    def note(line: str, model: Any, seconds: float, support: Any, **counts: Any) -> None:
        found[line] = {
            "accuracy": 100 * float(np.mean(model.predict(X_test) == y_test)),
            "distance": support_set_distance(support, batch_support),
            "support": support.shape[0],
            "seconds": seconds,
            **counts,
        }

    start = perf_counter()
    batch = SVC(kernel="linear", cache_size=1000).fit(X, y)
    batch_support = X[batch.support_]
    note("Batch", batch, perf_counter() - start, batch_support, used=1.0, examined=1.0, labels=len(y))
    for line, model in learners(name, quick, seed).items():
        start = perf_counter()
        model.fit(X, y)
        note(
            line,
            model,
            perf_counter() - start,
            X[model.support_],
            used=model.n_used_ / len(y),
            examined=model.history_[model.n_iter_ - 1]["examined"] / len(y),
            labels=getattr(model, "n_labels_", model.n_examined_),
            stopped=model.stop_reason_,
            correlation=_correlation(model, X, y, batch_support) if line == "StatQ robust" else None,
        )
    for line in MARGIN_AT:
        labels = int(found[line]["labels"])
        start = perf_counter()
        model = margin_sampling(X, y, SIZES[name][0], labels, seed)
        share = labels / len(y)
        seconds = perf_counter() - start
        counts = {"used": share, "examined": share, "labels": labels}
        note(f"Margin at {line}", model, seconds, model.support_vectors_, **counts)
    return found


def _correlation(model: Any, X: Any, y: Any, batch_support: Any) -> float | None:
    """Of c and D along a course, which is run again with one step after the other."""
    points = []
    for steps in range(min(model.n_iter_, 12)):
        part = clone(model).set_params(max_iter=steps).fit(X, y)
        points.append((part.confidence_, support_set_distance(X[part.support_], batch_support)))
    c, D = np.array(points).T
    return float(np.corrcoef(c, D)[0, 1]) if len(points) > 2 and c.std() > 0 and D.std() > 0 else None


def _table(name: str, runs: list[dict[str, dict[str, Any]]], settings: dict[str, Any]) -> str:
    """The table of a set: mean and SD over the runs, and in brackets what the plain implementation found."""
    lines = []
    for line in runs[0]:
        cells = {key: [run[line][key] for run in runs] for key in runs[0][line]}
        mean = {key: float(np.mean(values)) for key, values in cells.items() if key in MEASURES}
        plain = TABLES[name].get(line)
        row = [line, f"{mean['accuracy']:.2f} / {float(np.std(cells['accuracy'])):.2f}"]
        row += [number(mean[key]) for key in ("distance", "used", "examined", "support")]
        if plain is None:
            row += [NONE, NONE]
        else:
            row[1] += f" ({plain[0]:.2f} / {plain[1]:.2f})"
            row[2:] = [f"{ours} ({number(theirs)})" for ours, theirs in zip(row[2:], plain[2:], strict=True)]
            within = abs(mean["accuracy"] - plain[0]) <= 1.5 * plain[1]
            row += [f"{mean['accuracy'] - plain[0]:+.2f}", "yes" if within else "no"]
        lines.append([*row, f"{mean['labels']:.0f}", number(mean["seconds"])])
    header = ["learner", "accuracy %", "D", "used", "examined", "SVs", "difference", "within", "labels", "s"]
    text = f"## {name}, {len(runs)} run{'s' * (len(runs) != 1)}\n\n" + markdown(header, lines)
    found = [run["StatQ robust"]["correlation"] for run in runs]
    text += f"\nCorrelation of c and D, StatQ robust: {', '.join(map(number, found))}.\n"
    if settings["quick"] or (name == "covertype" and settings["covertype_rows"] != 8_000):
        text += "\nNot the rows of the tables: the figures in brackets are for orientation only.\n"
    return text
