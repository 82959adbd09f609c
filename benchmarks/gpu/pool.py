"""`ActiveLearner` on a pool of up to 10^8 rows of the host: seconds a question, and memory."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from everlearn import LASVM, ActiveLearner
from everlearn.query import Auto, Margin

from ..harness.machine import memory, reset_peak, say
from ..harness.report import fill, head, markdown, number
from ..harness.run import Data, Run

COLUMNS = 12
PIECE = 1 << 20
# Rows, device, whether each question scores the whole pool, questions.
CASES = (
    (1_000_000, "cpu", True, 20),
    (1_000_000, "cuda", True, 20),
    (100_000_000, "cuda", True, 20),
    (100_000_000, "cuda", False, 500),
)
LABELS = 200  # to begin with


def _pool(rows: int) -> tuple[Any, Any]:
    """Normal rows, drawn in pieces; a row is of the other class if the first two features differ in sign."""
    X, y = np.empty((rows, COLUMNS), dtype=np.float32), np.empty(rows, dtype=np.int8)

    def draw(start: int) -> None:
        piece = X[start : start + PIECE]
        np.random.default_rng(start).standard_normal(out=piece, dtype=np.float32)
        y[start : start + PIECE] = piece[:, 0] * piece[:, 1] > 0

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(draw, range(0, rows, PIECE)))
    return X, y


def _measure(X: Any, y: Any, device: str, whole: bool, questions: int) -> dict[str, Any]:
    """Answer `LABELS` questions about random rows, one more, and then those that are timed."""
    strategy = Margin(pool_size=None) if whole else Auto()
    first = {int(row): y[row] for row in np.random.default_rng(0).choice(len(y), LABELS, replace=False)}
    loop = ActiveLearner(LASVM(C=10, gamma=0.1, device=device), strategy, random_state=0)
    reset_peak()
    before, start = memory()["now"], time.perf_counter()
    loop.start(X, classes=[0, 1], initial_labels=first)
    loop.run(X, y, max_labels=1)
    began, start = time.perf_counter() - start, time.perf_counter()
    each = []
    loop.start(X, classes=[0, 1])
    for _ in range(questions):
        turn = time.perf_counter()
        rows = loop.ask()
        loop.tell(rows, y[rows])
        each.append(time.perf_counter() - turn)
    return {
        "rows": len(X),
        "columns": X.shape[1],
        "pool_mb": X.nbytes / 2**20,
        "device": device,
        "scored": len(X) if whole else strategy.pool_size,
        "begin_s": began,
        "question_s": float(np.median(each)),
        "first_s": each[0],
        "questions": questions,
        "grown_mb": memory()["peak"] - before,
        "n_sv": len(loop.estimator.support_),
    }


def run_part(run: Run) -> None:
    """All cases; a pool is drawn once."""
    X = y = np.zeros((0, COLUMNS))
    for rows, device, whole, questions in CASES:
        rows = min(rows, run.settings["rows"] or rows)
        if len(X) != rows:
            del X, y
            X, y = _pool(rows)
        result = _measure(X, y, device, whole, 5 if run.quick else questions)
        run.add(result)
        say(f"{rows} rows, {device}, {result['scored']} scored: {result['question_s']:.4f} s a question")


def report(data: Data) -> str:
    """One line for each case."""
    lines = [
        [
            f"{r['rows']:,}",
            r["device"],
            f"{r['scored']:,}",
            number(r["begin_s"]),
            number(r["first_s"]),
            number(r["question_s"]),
            number(1 / r["question_s"]),
            f"{r['pool_mb']:,.0f}",
            f"{r['grown_mb']:,.0f}",
            f"{r['n_sv']}",
        ]
        for r in data["results"]
    ]
    columns = ["rows", "device", "rows scored for a question", "beginning, s", "first question, s"]
    columns += ["question, s", "questions/s", "pool, MB", "memory beside it, MB", "support vectors"]
    text = f"""`ActiveLearner` over rows of {COLUMNS} float32 features in the memory of the host,
    {LABELS} random labels first. A question is `ask` and `tell`, learning included, and the median of
    them; the beginning checks the pool and learns the first labels. Memory is the peak beyond the
    pool itself."""
    return "\n".join(
        [*head("Active learning from a pool of many rows", data), fill(text), markdown(columns, lines)]
    )
