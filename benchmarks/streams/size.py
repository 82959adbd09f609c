"""A million rows in one run: does memory stay where it is, does a batch take as long at the end?"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from everlearn.auc import KOIL
from everlearn.budget import Forgetron
from everlearn.stream import NeverEndingLearner
from everlearn.svm import LASVM

from ..harness.machine import memory, say, trimmed_memory
from ..harness.process import in_own_process
from ..harness.run import Run
from .size_report import report

__all__ = ["NAMES", "report", "run_part"]
FEATURES, BATCH, PARTS = 50, 1_000, 10
PEER_ROWS, PEER_LABELS = 20_000, (1_000, 20_000)


LEARNERS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "as it comes, a label in 100": (lambda: None, {"label_rate": 0.01}),
    "LASVM(C=10), a label in 1,000": (lambda: LASVM(C=10), {"label_rate": 0.001}),
    "LASVM(C=10), 1,000 labels, 1 in 100": (
        lambda: LASVM(C=10),
        {"label_rate": 0.01, "label_budget": 1_000},
    ),
    "Forgetron(budget=500), a label in 100": (lambda: Forgetron(budget=500), {"label_rate": 0.01}),
    "KOIL(budget=100), a label in 100": (lambda: KOIL(budget=100), {"label_rate": 0.01}),
}
NAMES = tuple(LEARNERS)


def rows_of(number: int, size: int = BATCH) -> tuple[np.ndarray, np.ndarray]:
    """A batch: two Gaussian features decide by their product, 48 others are noise; always the same."""
    X = np.random.default_rng([7, number]).standard_normal((size, FEATURES))
    return X, (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] > 0).astype(np.int64)


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def through(name: str, rows: int, folder: Path) -> dict[str, Any]:
    """Go through all rows with a store in a file; a line for each tenth."""
    make, options = LEARNERS[name]
    tenths: list[dict[str, Any]] = []
    batches = rows // BATCH
    start_wall, start_cpu = perf_counter(), process_time()
    generating = 0.0
    with NeverEndingLearner.open(folder / "size.everlearn", make(), random_state=0, **options) as stream:
        right: list[float] = []
        took: list[tuple[float, float, float]] = []
        for number in range(batches):
            began = process_time()
            X, y = rows_of(number)
            generating += process_time() - began
            wall, cpu = perf_counter(), process_time()
            out = stream.step(X)
            stepped = process_time()
            if asked := [question.id for question in out.questions]:
                truth = [int(rows_of(i // BATCH)[1][i % BATCH]) for i in asked]
                stream.label(asked, truth)
            took.append((perf_counter() - wall, process_time() - cpu, stepped - cpu))
            if out.decision_values is not None:
                right.append(float(np.mean(out.predictions.astype(int) == y)))
            if (number + 1) % (batches // PARTS) == 0:
                status = stream.status()
                tenths.append(
                    {
                        "rows": status["rows"],
                        "resident_mb": memory()["now"],
                        "wall_ms": _quantiles([t[0] for t in took]),
                        "cpu_ms": _quantiles([t[1] for t in took]),
                        "step_cpu_ms": _quantiles([t[2] for t in took]),
                        "labels": status["labels"],
                        "support_vectors": status["support_vectors"],
                        "kept_rows": status["kept_rows"],
                        "accuracy": float(np.mean(right)) if right else None,
                        "store_mb": _bytes(folder) / 2**20,
                    }
                )
                right, took = [], []
        trimmed = trimmed_memory()
    return {
        "learner": name,
        "rows": batches * BATCH,
        "tenths": tenths,
        "wall": perf_counter() - start_wall,
        "cpu": process_time() - start_cpu - generating,
        "peak_mb": memory()["peak"],
        "trimmed_mb": trimmed,
        "store_mb": _bytes(folder) / 2**20,
        "rows_mb": batches * BATCH * FEATURES * 8 / 2**20,
    }


def _quantiles(seconds: list[float]) -> dict[str, float]:
    return {
        "median": 1000 * float(np.median(seconds)),
        "p95": 1000 * float(np.quantile(seconds, 0.95)),
        "most": 1000 * max(seconds),
    }


def alone(name: str, rows: int) -> dict[str, Any]:
    """The same in a process of its own, whose memory is its own."""
    with tempfile.TemporaryDirectory(prefix="everlearn-bench-") as folder:
        found: dict[str, Any] = in_own_process(through, name, rows, Path(folder))
    return found


def peers() -> list[dict[str, Any]]:
    """River's tree, with its sampler and without, and its linear model; rows are dicts made beforehand."""
    from river import active, linear_model, preprocessing, tree

    def linear() -> Any:
        return preprocessing.StandardScaler() | linear_model.LogisticRegression()

    models: list[tuple[str, Any, int]] = [
        (f"River HoeffdingTreeClassifier, {labels:,} labels", tree.HoeffdingTreeClassifier(), labels)
        for labels in PEER_LABELS
    ]
    sampler = active.EntropySampler(tree.HoeffdingTreeClassifier(), seed=0)
    models.append((f"River EntropySampler of it, {PEER_LABELS[-1]:,} labels", sampler, PEER_LABELS[-1]))
    models.append((f"River LogisticRegression, scaled, {PEER_LABELS[0]:,} labels", linear(), PEER_LABELS[0]))
    batches = [rows_of(number) for number in range(2 * PEER_ROWS // BATCH)]
    dicts = [dict(enumerate(row)) for X, _ in batches for row in X.tolist()]
    truth = [label for _, y in batches for label in y.tolist()]
    found = []
    for name, model, labels in models:
        began = process_time()
        for row, label in zip(dicts[:labels], truth, strict=False):
            model.learn_one(row, label)
        learning = process_time() - began
        began = process_time()
        for row in dicts[PEER_ROWS:]:
            model.predict_one(row)
        rate = PEER_ROWS / (process_time() - began)
        found.append({"peer": name, "rows_a_second": rate, "learned_a_second": labels / learning})
    return found


def run_part(run: Run) -> None:
    """One learner after the other, then River's."""
    for name in run.missing(run.chosen(NAMES, NAMES[:2]), "learner"):
        found = alone(name, run.settings["long_rows"])
        run.add(found)
        say(f"{name}: {found['cpu']:.0f} s CPU, {found['wall']:.0f} s, peak {found['peak_mb']:.0f} MB")
    run.data["peers"] = peers()
