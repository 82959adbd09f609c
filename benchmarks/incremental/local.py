"""Answering in the neighborhood only: LocalSVM on the thesis' setup, and a long stream."""

from __future__ import annotations

from itertools import pairwise
from statistics import mean
from typing import Any

import numpy as np
from sklearn.svm import SVC
from tqdm import tqdm

from everlearn import IDSVM, LocalSVM

from ..harness.machine import say
from ..harness.report import fill, markdown, number
from ..harness.run import Data, Result, Run
from .data import LOCAL, SEED, Rows, draw, split
from .exact import dual, timed, warm_up
from .report import opening, times

NAMES = tuple(LOCAL)
STREAMS = ("banana", "ijcnn1")

FIFTHS = 5
TIGHT = 1e-6  # tolerance of the SVC that stands for the solution
# The rules of the thesis as they are there: the bare neighborhood, and never a full pass
BARE = {"min_neighbors": 0, "full_pass_every": None, "full_pass_sample": 0}
RULES: dict[str, dict[str, Any]] = {
    "nu=1": BARE | {"radius": 1.0},
    "nu=2": BARE | {"radius": 2.0},
    "grow": BARE | {"radius": "grow"},
    "default": {},
}
MARKS = 10
MAX_IDLE = 500
LONG_RULES = {"nu=2": RULES["nu=2"], "default": {}, f"default, max_idle={MAX_IDLE}": {"max_idle": MAX_IDLE}}


def run_part(run: Run) -> None:
    """All sets, then the long streams; `--only` leaves these out."""
    warm_up()
    settings = run.settings
    for name in run.missing(run.chosen(NAMES, ("banana", "diabetes"))):
        run.add(_run_set(name, settings["splits"], settings["most"]))
    for name in STREAMS if settings["only"] is None else ():
        for rule, options in LONG_RULES.items():
            if run.find(set=name, rule=rule) is None:
                run.add(_run_stream(name, rule, options, settings["stream"]))


def _run_set(name: str, splits: int, most: int) -> dict[str, Any]:
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
            updates, neighbors, full_passes = _updates(machine) - before
            found[rule] |= {
                "updates": updates,
                "neighbors": neighbors / max(updates, 1),
                "full_passes": full_passes,
            }
    return found


def _updates(machine: Any) -> np.ndarray:
    """Updates so far, the neighbors optimized in them, and full passes."""
    if not isinstance(machine, LocalSVM):
        return np.zeros(3)
    updates = machine.n_updates_[0]
    return np.array([updates, updates * machine.mean_neighbors_[0], machine.n_full_passes_[0]], float)


def _run_stream(name: str, rule: str, options: dict[str, Any], size: int) -> dict[str, Any]:
    """Does a row cost the same at the end of a long stream, with all rows kept and with few idle ones?"""
    rows = draw(name, size, 1_000)
    machine = LocalSVM(**rows.parameters, **options, random_state=SEED)
    found = rows.describe() | {"rule": rule, "points": _pass(machine, rows)}
    shown = ", ".join(f"{1e3 * point['ms_a_row']:.0f}" for point in found["points"])
    say(f"stream, {name}, {rule}: {shown} µs a row")
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


def report(data: Data) -> str:
    """Accuracy and time of all rules, then the long streams."""
    settings = data["settings"]
    found = [r for r in data["results"] if "runs" in r]
    accuracy = [
        [
            f"{r['set']} ({r['gamma']:.3g})",
            f"{r['start']} + {r['stream']}",
            str(r["test"]),
            *[f"{100 * value:.1f}" for value in (r["initial"], r["svc"]["accuracy"])],
            *[f"{100 * r[rule]['accuracy']:.1f}" for rule in RULES],
            *[_gap(r[rule]["gap"]) for rule in RULES],
        ]
        for r in found
    ]
    costs = [
        [
            r["set"],
            number(r["svc"]["ms"]),
            number(1e3 * r["idsvm"]["ms_a_row"]),
            *[number(1e3 * r[rule]["ms_a_row"]) for rule in RULES],
            *[
                f"{number(1e3 * r[k]['first_fifth_ms'])}, {number(1e3 * r[k]['last_fifth_ms'])}"
                for k in [*RULES][1:]
            ],
            times(r["grow"]["ms_a_row"], r["nu=2"]["ms_a_row"]),
            *[f"{r[rule]['neighbors']:.0f}" for rule in RULES],
            f"{r['default']['full_passes']:.0f}",
        ]
        for r in found
    ]
    columns = ["nu=1", "nu=2", "grow", "default"]
    spread = [
        f"{100 * max(abs(r[rule]['accuracy'] - r['svc']['accuracy']) for r in found):.1f}" for rule in RULES
    ]
    mean = [sum(r[rule]["accuracy"] - r["svc"]["accuracy"] for r in found) / len(found) for rule in RULES]
    streams = [r for r in data["results"] if "rule" in r]
    return "\n".join(
        [
            *opening("LocalSVM: 20 % of the rows to start with, 40 % streamed, 40 % to test", data),
            markdown(
                [
                    "set (gamma)",
                    "start + stream",
                    "test",
                    "initial %",
                    "retrained %",
                    *[f"{c} %" for c in columns],
                    *[f"gap {c}" for c in columns],
                ],
                accuracy,
            ),
            fill(f"""
            C = 1, means of {settings["splits"]} splits. "initial": an SVC of the start, "retrained": of
            start and stream. The thesis' rules are bare: a neighborhood of nu sigma or one that grows, no
            full pass, no minimum number of neighbors; "default" is LocalSVM as it comes: nu = 2, at least 50
            neighbors, full passes. "gap": how far the dual objective is below that of an SVC with tolerance
            1e-6, relative, at the end of the stream. Accuracy beside retraining, mean over the sets in
            points:
            {", ".join(f"{c} {100 * m:+.2f}" for c, m in zip(columns, mean, strict=True))}; farthest:
            {", ".join(f"{c} {s}" for c, s in zip(columns, spread, strict=True))}.
            """),
            markdown(
                [
                    "set",
                    "new SVC, ms",
                    "IDSVM µs a row",
                    *[f"{c} µs" for c in columns],
                    *[f"{c}: first, last fifth" for c in columns[1:]],
                    "grow / nu=2",
                    *[f"neighbors {c}" for c in columns],
                    "full passes",
                ],
                costs,
            ),
            fill("""
            CPU time of a streamed row, which come in five calls of `partial_fit`, a fifth each; calls of one
            row add some 0.4 ms each for the checks. "neighbors": mean over the updates by streamed rows.
            """),
            _streams(streams, settings) if streams else "",
        ]
    )


def _gap(value: float) -> str:
    return f"{value:.1e}" if abs(value) < 1e-3 else f"{value:.4f}"


def _streams(found: list[Result], settings: dict[str, Any]) -> str:
    parts = [f"## {settings['stream']:,} rows: does the cost of a row stay the same?\n"]
    for name in dict.fromkeys(r["set"] for r in found):
        here = [r for r in found if r["set"] == name]
        header = [f"{name}: rows", *[f"{r['rule']}: {w}" for r in here for w in ("µs a row", "kept")]]
        lines = []
        for points in zip(*[r["points"] for r in here], strict=True):
            cells = [c for p in points for c in (number(1e3 * p["ms_a_row"]), f"{p['n_kept']:,}")]
            lines.append([f"{points[0]['rows']:,}", *cells])
        parts.append(markdown(header, lines))
    return "\n".join(parts)
