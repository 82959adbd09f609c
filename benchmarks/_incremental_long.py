"""Ten thousand additions in a row: does the solution stay exact, what does a row cost; and ways to begin."""

from __future__ import annotations

import gc
import multiprocessing
from time import process_time
from typing import Any

import numpy as np
from sklearn.svm import SVC
from tqdm import tqdm

from _incremental_exact import residual, timed
from _incremental_sets import SEED, draw
from _report import say
from _worker import _memory, limit_threads
from everlearn import IDSVM, LASVM

MARKS = 10


def run_long(name: str, size: int, window: int | None) -> dict[str, Any]:
    """The pass in a process of its own, for its memory."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1, maxtasksperchild=1) as pool:
        found = pool.apply(_long_pass, (name, size, window))
        pool.close()
        pool.join()  # leaves by itself; terminated, it would not tidy up
    times = ", ".join(f"{point['ms_a_row']:.2f}" for point in found["points"])
    say(f"long, {name}, window {window}: {times} ms a row")
    return dict(found)


def _long_pass(name: str, size: int, window: int | None) -> dict[str, Any]:
    limit_threads(1)
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    rows = draw(name, size, 0)
    machine = IDSVM(**rows.parameters, window=window)
    gc.collect()
    before, points, step = _memory()["now"], [], size // MARKS
    for mark in tqdm(range(MARKS), desc=f"adding, {name}", leave=False):
        here = range(mark * step, (mark + 1) * step)
        start = process_time()
        for i in here:
            machine.partial_fit(rows.X[i : i + 1], rows.y[i : i + 1], classes=(-1, 1))
        seconds = process_time() - start
        memory = _memory()["now"] - before
        points.append(
            residual(machine, rows, machine.ids_)
            | {
                "rows": (mark + 1) * step,
                "ms_a_row": 1e3 * seconds / step,
                "n_kept": int(machine.n_kept_),
                "n_support": len(machine.support_),
                "n_margin": int(machine.n_margin_[0]),
                "memory_mb": memory,
                "n_refreshes": machine.n_refreshes_,
                "n_fallbacks": machine.n_fallbacks_,
            }
        )
    return rows.describe() | {"window": window, "points": points}


def run_start(name: str, size: int) -> dict[str, Any]:
    """CPU seconds of every way to an exact machine of the same rows, and how far they are apart."""
    rows = draw(name, size, 1_000)
    X, y, parameters = rows.X, rows.y, rows.parameters
    machine, scratch = timed(lambda: IDSVM(**parameters).fit(X, y))
    svc, svc_fit = timed(lambda: SVC(**parameters).fit(X, y))
    from_svc, svc_taken = timed(lambda: IDSVM.from_svm(svc, X, y))
    lasvm, lasvm_fit = timed(lambda: LASVM(**parameters, random_state=SEED).fit(X, y))
    from_lasvm, lasvm_taken = timed(lambda: IDSVM.from_svm(lasvm, X, y))
    at_once, block = timed(lambda: IDSVM(**parameters).partial_fit(X, y, classes=(-1, 1)))
    one_by_one = IDSVM(**parameters)
    start = process_time()
    for i in range(size):
        one_by_one.partial_fit(X[i : i + 1], y[i : i + 1], classes=(-1, 1))
    singly = process_time() - start
    scores = machine.decision_function(rows.others)
    everyone = (from_svc, from_lasvm, at_once, one_by_one)
    say(f"start, {name}, {size} rows: fit {scratch:.2f} s, one by one {singly:.2f} s")
    return rows.describe() | {
        "n_support": len(machine.support_),
        "n_margin": int(machine.n_margin_[0]),
        "fit_s": scratch,
        "svc_s": svc_fit,
        "from_svc_s": svc_taken,
        "lasvm_s": lasvm_fit,
        "from_lasvm_s": lasvm_taken,
        "one_call_s": block,
        "singly_s": singly,
        "apart": max(float(np.abs(m.decision_function(rows.others) - scores).max()) for m in everyone),
    }
