"""How far it goes: CPU seconds, memory and accuracy on up to 805,050 rows, and who else gets to 20,000.

Each fit in a process of its own, which has loaded the scaled rows and fitted a few hundred of them before.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import signal
import tempfile
import warnings
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..harness.machine import memory, reset_peak, say
from ..harness.run import Run
from .data import LARGE, sampled, scaled
from .methods import LP, LS, ST, Guessing, count, cut, labels_alone, partly
from .size_report import report

__all__ = ["NAMES", "report", "run_part"]
NAMES = tuple(LARGE)

LABELS = 100
PARTS = (8, 4, 2, 1)  # all rows divided by these
PEER_ROWS = 20_000
LIMIT = 90  # CPU seconds for a peer
OURS_LIMIT = 600
REPEATS = 3
SOLVERS = ("fast", "fast, rho 1", "greedy, rho 1", "two-sided", "fast, rule")
PEERS = (LP, LS, ST)
RHOS = ("auto", 0.0, 0.1, 0.3, 1.0, 3.0)
FEW = 600
QUICK_ROWS = 4_000


def save(folder: Path, X: Any, y: np.ndarray) -> None:
    if sp.issparse(X):
        sp.save_npz(folder / "X.npz", X, compressed=False)
    else:
        np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)


def load(folder: Path, rows: int) -> tuple[Any, np.ndarray]:
    """The first rows, copied, so that no others are held."""
    dense = folder / "X.npy"
    if dense.exists():
        X = np.array(np.load(dense, mmap_mode="r")[:rows])
    else:
        X = sp.load_npz(folder / "X.npz")[:rows]
    return X, np.load(folder / "y.npy")[:rows]


def n_bytes(X: Any) -> int:
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) if sp.issparse(X) else int(X.nbytes)


def _labeled(y: np.ndarray) -> np.ndarray:
    """The first rows; the rows are in a random order."""
    return np.arange(LABELS)


def model_of(who: str, share: float) -> Any:
    from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier

    from everlearn import SubmodS3VM

    if who in SOLVERS:
        solver, _, more = who.partition(", ")
        options = {
            "solver": solver,
            "positive_fraction": share,
            "estimator": "auto" if more == "rule" else None,
        }
        options |= {"rho": 1.0} if more == "rho 1" else {}
        return SubmodS3VM(kernel="linear", scaling="unit", random_state=0, **options)
    return {
        LP: LabelPropagation(kernel="knn", n_neighbors=7),
        LS: LabelSpreading(kernel="knn", n_neighbors=7),
        ST: SelfTrainingClassifier(Guessing(kernel="linear", C=1)),
    }[who]


def labels_of(who: str, X: Any, y: np.ndarray) -> np.ndarray:
    labeled = _labeled(y)
    model = model_of(who, float(np.mean(y[LABELS:] > 0)))
    if who in SOLVERS:
        return np.asarray(model.fit(X, partly(y, labeled)).transduction_)
    known = np.full(len(y), -1)
    known[labeled] = y[labeled] > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, known)
    found = model.predict(X) if who == ST else model.transduction_
    return np.where(np.asarray(found) == 1, 1.0, -1.0)


def _serve(conn: Connection, folder: str, sizes: list[int], who: str, repeats: int, limit: int) -> None:
    """Fit a few rows, then so many, the most first, since what is freed may stay with the process."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    for rows in sorted(sizes, reverse=True):
        X, y = load(Path(folder), rows)
        few = np.arange(min(FEW, rows))
        labels_of(who, X[few], y[few])
        cpu, peak = [], 0.0
        for _ in range(repeats):
            reset_peak()
            before = memory()["now"]
            start = process_time()
            labels = labels_of(who, X, y)
            cpu.append(process_time() - start)
            peak = max(peak, memory()["peak"] - before)
        right = float(np.mean(labels[LABELS:] == y[LABELS:]))
        found = {"cpu": cpu, "peak_mb": peak, "rows_mb": n_bytes(X) / 2**20, "accuracy": right}
        conn.send({"who": who, "rows": rows, "reason": None} | found)
        del X, y, labels


def _received(conn: Connection) -> Iterator[dict[str, Any]]:
    """What a process sends until it ends, or is ended."""
    with contextlib.suppress(EOFError):
        while True:
            yield conn.recv()


def measure(folder: Path, sizes: list[int], who: str, repeats: int, limit: int) -> list[dict[str, Any]]:
    """Fit in a process of its own; the smallest first, with a reason where a fit gave no result."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(
        target=_serve, args=(there, str(folder), sizes, who, repeats, limit), daemon=True
    )
    process.start()
    there.close()
    found = list(_received(here))
    process.join()
    if len(found) < len(sizes):
        late = process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL)
        reason = f"stopped after {limit} CPU s" if late else f"ended with code {process.exitcode}"
        rows = sorted(sizes, reverse=True)[len(found)]
        found.append({"who": who, "rows": rows, "reason": reason})
    for entry in found:
        words = entry["reason"] or f"{np.median(entry['cpu']):.2f} s, {100 * entry['accuracy']:.1f} %"
        say(f"{entry['rows']} rows, {who}: {words}")
    return found[::-1]


def _against_rho(X: Any, y: np.ndarray) -> dict[str, float]:
    """Accuracy of the fast path on all rows as the pull of clusters grows."""
    from everlearn import SubmodS3VM

    share, known = float(np.mean(y[LABELS:] > 0)), partly(y, _labeled(y))
    options = {"kernel": "linear", "scaling": "unit", "solver": "fast", "estimator": None}
    found = {}
    for rho in RHOS:
        model = SubmodS3VM(rho=rho, positive_fraction=share, random_state=0, **options).fit(X, known)
        found[str(rho)] = float(np.mean(model.transduction_[LABELS:] == y[LABELS:]))
    return found


def _baselines(X: Any, y: np.ndarray) -> dict[str, float]:
    """What needs no unlabeled rows, told the share of positives, on all rows."""
    from sklearn.svm import SVC

    labeled, rest = _labeled(y), np.arange(LABELS, len(y))
    k = count(float(np.mean(y[rest] > 0)), len(rest))
    decision = SVC(kernel="linear", C=1).fit(X[labeled], y[labeled]).decision_function(X[rest])
    guesses = {
        "SVM": np.where(decision > 0, 1.0, -1.0),
        "SVM + r": cut(decision, k),
        "labels' pull": cut(labels_alone(X, y, labeled, rest), k),
        "larger class": np.full(len(rest), 1.0 if np.mean(y > 0) > 0.5 else -1.0),
    }
    return {who: float(np.mean(guess == y[rest])) for who, guess in guesses.items()}


def run_part(run: Run) -> None:
    """One set after the other."""
    quick = run.quick
    run.note(labels=LABELS, limit=LIMIT)
    for name in run.missing(run.chosen(NAMES, ("cod-rna",))):
        X, y = LARGE[name]()
        X, y = sampled(X, y, QUICK_ROWS if quick else len(y))
        X = scaled(X)
        result: dict[str, Any] = {"set": name, "rows": len(y), "features": X.shape[1]}
        result |= {"sparse": sp.issparse(X), "positives": float(np.mean(y > 0)), "alone": _baselines(X, y)}
        result["rho"] = _against_rho(X, y)
        say(f"{name}: {len(y)} rows")
        result |= {"growth": [], "peers": []}
        with tempfile.TemporaryDirectory(prefix="everlearn-bench-") as temporary:
            folder, total = Path(temporary), len(y)
            save(folder, X, y)
            del X, y
            parts = [total // part for part in PARTS]
            repeats = 1 if quick else REPEATS
            for who in ("fast", "fast, rho 1", "greedy, rho 1"):
                result["growth"] += measure(folder, parts, who, repeats, OURS_LIMIT)
            result["growth"] += measure(folder, [total], "fast, rule", 1, OURS_LIMIT)
            here = [min(PEER_ROWS, total)]
            for who in ("fast", "fast, rho 1", "greedy, rho 1", "two-sided", *PEERS):
                result["peers"] += measure(folder, here, who, 1 if who in PEERS else repeats, LIMIT)
        run.add(result)
