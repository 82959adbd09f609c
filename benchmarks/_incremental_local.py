"""Answering in the neighbourhood only: LocalSVM on the thesis' set-up, and a long stream."""

from __future__ import annotations

from itertools import pairwise
from statistics import mean
from typing import Any

import numpy as np
from sklearn.svm import SVC
from tqdm import tqdm

from _incremental_exact import dual, timed
from _incremental_sets import SEED, Rows, draw, split
from _report import say
from everlearn import IDSVM, LocalSVM

MOST = 5_000  # rows of a set
FIFTHS = 5
TIGHT = 1e-6  # tolerance of the SVC that stands for the solution
# The rules of the thesis as they are there: the bare neighbourhood, and never a full pass
BARE = {"min_neighbours": 0, "full_pass_every": None, "drift_sample": 0}
RULES: dict[str, dict[str, Any]] = {
    "nu=1": BARE | {"neighbourhood": 1.0},
    "nu=2": BARE | {"neighbourhood": 2.0},
    "grow": BARE | {"neighbourhood": "grow"},
    "default": {},
}
MARKS = 10
MAX_IDLE = 500
LONG_RULES = {"nu=2": RULES["nu=2"], "default": {}, f"default, max_idle={MAX_IDLE}": {"max_idle": MAX_IDLE}}


def run_local(name: str, splits: int, most: int = MOST) -> dict[str, Any]:
    """Means over the splits, of every rule and of its peers."""
    runs = [_one_split(name, seed, most) for seed in tqdm(range(splits), desc=f"local, {name}", leave=False)]
    found = {key: runs[0][key] for key in ("set", "C", "gamma", "features", "start", "stream", "test")}
    found["runs"] = runs
    found["initial"] = mean(run["initial"] for run in runs)
    for peer in ("svc", "idsvm", *RULES):
        found[peer] = {key: mean(float(run[peer][key]) for run in runs) for key in runs[0][peer]}
    say(f"local, {name}: " + ", ".join(f"{rule} {found[rule]['ms_a_row']:.2f} ms" for rule in RULES))
    return found


def _one_split(name: str, seed: int, most: int) -> dict[str, Any]:
    start, seen, test, labels = split(name, seed, most)
    begin, end = len(start.y), len(seen.y)
    optimum = SVC(**seen.parameters, tol=TIGHT).fit(seen.X, seen.y)
    best = dual(seen, optimum.support_, np.ravel(optimum.dual_coef_))
    retrained, seconds = timed(lambda: SVC(**seen.parameters).fit(seen.X, seen.y))
    found: dict[str, Any] = start.describe() | {
        "start": begin,
        "stream": end - begin,
        "test": len(labels),
        "initial": SVC(**start.parameters).fit(start.X, start.y).score(test, labels),
        "svc": {"accuracy": retrained.score(test, labels), "ms": 1e3 * seconds},
    }
    cuts = np.linspace(begin, end, FIFTHS + 1).round().astype(int)
    machines = {
        rule: LocalSVM(**seen.parameters, **options, random_state=SEED) for rule, options in RULES.items()
    }
    for rule, machine in {"idsvm": IDSVM(**seen.parameters), **machines}.items():
        machine.fit(start.X, start.y)
        before = _updates(machine)
        times = [
            timed(lambda m=machine, a=a, b=b: m.partial_fit(seen.X[a:b], seen.y[a:b]))[1]
            for a, b in pairwise(cuts)
        ]
        reached = dual(seen, machine.support_, np.ravel(machine.dual_coef_))
        found[rule] = {
            "accuracy": machine.score(test, labels),
            "gap": (best - reached) / best,
            "ms_a_row": 1e3 * sum(times) / (end - begin),
            "first_fifth_ms": 1e3 * times[0] / (cuts[1] - cuts[0]),
            "last_fifth_ms": 1e3 * times[-1] / (cuts[-1] - cuts[-2]),
        }
        if rule != "idsvm":
            updates, neighbours, full_passes = _updates(machine) - before
            found[rule] |= {
                "updates": updates,
                "neighbours": neighbours / max(updates, 1),
                "full_passes": full_passes,
            }
    return found


def _updates(machine: Any) -> np.ndarray:
    """Updates so far, the neighbours optimised in them, and full passes."""
    if not isinstance(machine, LocalSVM):
        return np.zeros(3)
    updates = machine.n_updates_[0]
    return np.array([updates, updates * machine.mean_neighbours_[0], machine.n_full_passes_[0]], float)


def run_local_stream(name: str, size: int) -> list[dict[str, Any]]:
    """Does a row cost the same at the end of a long stream, with all rows kept and with few idle ones?"""
    rows, found = draw(name, size, 1_000), []
    for rule, options in LONG_RULES.items():
        machine = LocalSVM(**rows.parameters, **options, random_state=SEED)
        found.append(rows.describe() | {"rule": rule, "points": _pass(machine, rows)})
        times = ", ".join(f"{1e3 * point['ms_a_row']:.0f}" for point in found[-1]["points"])
        say(f"local stream, {name}, {rule}: {times} µs a row")
    return found


def _pass(machine: LocalSVM, rows: Rows) -> list[dict[str, Any]]:
    points, step = [], len(rows.y) // MARKS
    for mark in range(MARKS):
        here = slice(mark * step, (mark + 1) * step)
        seconds = timed(lambda h=here: machine.partial_fit(rows.X[h], rows.y[h], classes=(-1, 1)))[1]
        points.append(
            {
                "rows": (mark + 1) * step,
                "ms_a_row": 1e3 * seconds / step,
                "n_kept": int(machine.n_kept_),
                "n_support": len(machine.support_),
            }
        )
    return points
