"""Exact fits: from rows in the memory of the device and of the host, on the CPU, and by xRFM."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from everlearn import LASVM

from ..harness.data import COVTYPE_ALL, Task, covtype_task, load_task
from ..harness.machine import say
from ..harness.report import NONE, fill, head, markdown, number
from ..harness.run import Data, Run
from .device import seconds, there

NAMES = ("usps", "ijcnn1", "a9a", "mnist8", "mnist10_all", "covtype", "covtype_all")
GOALS = {"ijcnn1": 40, "a9a": 150, "mnist8": 45, "mnist10_all": 80, "covtype": 140, "covtype_all": 2000}
ON_CPU = NAMES[:-1]  # the fit of all rows of covtype takes many minutes there
CACHE = 40_000


def dual(model: Any, gamma: float, C: float) -> float | None:
    """The dual objective of a binary RBF model, in double precision."""
    alpha = np.asarray(model.dual_coef_)
    if alpha.shape[0] != 1 or alpha.shape[1] > 25_000:
        return None
    Z = np.asarray(model.support_vectors_, dtype=np.float64)
    squares = np.square(Z).sum(axis=1)
    quadratic = 0.0
    for start in range(0, len(Z), 2000):
        block = slice(start, start + 2000)
        distances = squares[block, None] + squares - 2 * Z[block] @ Z.T
        quadratic += alpha[0, block] @ np.exp(-gamma * np.maximum(distances, 0)) @ alpha[0]
    return float(np.abs(alpha).sum() - quadratic / 2)


def _dense(task: Task) -> tuple[Any, Any]:
    rows = [X.toarray() if task.sparse else X for X in (task.X_train, task.X_test)]
    return np.ascontiguousarray(rows[0], dtype=np.float32), np.ascontiguousarray(rows[1], dtype=np.float32)


def _measure(task: Task, run: Run, name: str) -> dict[str, Any]:
    X, X_test = _dense(task)
    options = {"C": task.C, "gamma": task.gamma, "cache_size": CACHE}
    result = task.describe() | {"set": name, "goal_ms": GOALS.get(name)}

    def error(model: Any) -> float:
        return float(np.mean(model.predict(X_test) != task.y_test))

    rows = there(X)
    for kind, given in (("device", rows), ("host", X)):
        middle, spread, model = seconds(
            lambda given=given: LASVM(device="cuda", **options).fit(given, task.y_train),
            run.settings["repeats"],
        )
        result |= {f"{kind}_ms": 1000 * middle, f"{kind}_range_ms": 1000 * spread}
    result |= {"n_sv": len(model.support_), "error": error(model), "dual": dual(model, task.gamma, task.C)}
    result["violation"] = float(np.max(model.violations()))
    say(f"{name}: {result['device_ms']:.1f} ms")
    if name in ON_CPU:
        start = time.perf_counter()
        cpu = LASVM(**options).fit(X, task.y_train)
        result |= {"cpu_s": time.perf_counter() - start, "cpu_error": error(cpu)}
        result["cpu_dual"] = dual(cpu, task.gamma, task.C)
        result |= _xrfm(task, X, X_test)
    return result


def _xrfm(task: Task, X: Any, X_test: Any) -> dict[str, Any]:
    """XRFM at its defaults, on the device; a fifth of the rows is its validation set."""
    try:
        import torch
        from xrfm import xRFM
    except ImportError:
        return {}
    order = np.random.default_rng(0).permutation(len(X))
    cut = len(X) * 4 // 5
    parts = [torch.asarray(X[part], device="cuda") for part in (order[:cut], order[cut:])]
    labels = [
        torch.asarray(task.y_train[part] > 0, device="cuda").long() for part in (order[:cut], order[cut:])
    ]
    if task.multiclass:
        labels = [torch.asarray(task.y_train[p], device="cuda").long() for p in (order[:cut], order[cut:])]
    start = time.perf_counter()
    try:
        model = xRFM(device=torch.device("cuda"), tuning_metric="accuracy", verbose=False)
        model.fit(parts[0], labels[0], parts[1], labels[1])
        torch.cuda.synchronize()
        spent = time.perf_counter() - start
        found = np.asarray(model.predict(torch.asarray(X_test, device="cuda"))).ravel()
    except (RuntimeError, ValueError, TypeError, AssertionError) as problem:
        return {"xrfm_problem": f"{type(problem).__name__}: {problem}"[:200]}
    wanted = task.y_test if task.multiclass else (task.y_test > 0).astype(int)
    return {"xrfm_s": spent, "xrfm_error": float(np.mean(found != wanted))}


def run_part(run: Run) -> None:
    """All data sets."""
    for name in run.missing(run.chosen(NAMES, quick=("usps",))):
        rows = run.settings["rows"]
        task = covtype_task(rows or COVTYPE_ALL) if name == "covtype_all" else load_task(name, rows)
        run.add(_measure(task, run, name))


def report(data: Data) -> str:
    """One line for each data set."""
    lines = []
    for r in data["results"]:
        seconds_of = [f"{number(r[key])}" if key in r else NONE for key in ("cpu_s", "xrfm_s")]
        errors = [f"{100 * r[key]:.2f}" if key in r else NONE for key in ("error", "cpu_error", "xrfm_error")]
        apart = (r["dual"] - r["cpu_dual"]) / r["cpu_dual"] if r.get("cpu_dual") and r.get("dual") else None
        lines.append(
            [
                r["title"],
                f"{r['rows']:,} x {r['features']}",
                number(r["device_ms"]),
                number(r["goal_ms"]),
                number(r["host_ms"]),
                *seconds_of,
                *errors,
                NONE if apart is None else f"{apart:.0e}",
                f"{r['violation']:.1e}",
                f"{r['n_sv']:,}",
            ]
        )
    columns = ["", "rows", "from device, ms", "goal", "from host, ms", "CPU, s", "xRFM, s"]
    columns += ["error %", "CPU's", "xRFM's", "dual - CPU's", "violation", "support vectors"]
    text = f"""`LASVM(device="cuda").fit` on one GPU: wall clock, median of {data["settings"]["repeats"]} fits
    after one that does not count, hand-over to the CPU included. The CPU and xRFM (at its defaults, on the
    GPU) are fitted once, with one CPU thread. The difference of the dual objectives is relative."""
    problems = [
        fill(f"xRFM on {r['title']}: {r['xrfm_problem']}") for r in data["results"] if "xrfm_problem" in r
    ]
    return "\n".join([*head("Exact fits on a GPU", data), fill(text), markdown(columns, lines), *problems])
