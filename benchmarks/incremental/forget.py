"""Forgetting rows one at a time, against a new SVC."""

from __future__ import annotations

from statistics import mean, median
from typing import Any

import numpy as np
from sklearn.svm import SVC

from everlearn import IDSVM, LASVM

from ..harness.machine import say
from ..harness.report import fill, markdown, number
from ..harness.run import Data, Result, Run
from .data import EXACT, SEED, Rows, draw
from .exact import residual, timed, warm_up
from .report import named, opening, times, tiny

NAMES = tuple(EXACT)

OTHERS = 1_000  # rows on which decision values are compared
RETRAININGS = 5
LASVM_EPOCHS = 3  # then it is the SVM of all rows, nearly
TIGHT = 1e-6  # tolerance of the SVC that stands for the solution


def _milliseconds(seconds: list[float]) -> dict[str, Any]:
    return {
        "count": len(seconds),
        "mean_ms": 1e3 * mean(seconds) if seconds else None,
        "median_ms": 1e3 * median(seconds) if seconds else None,
        "largest_ms": 1e3 * max(seconds) if seconds else None,
    }


def run_part(run: Run) -> None:
    """One set after the other."""
    warm_up()
    for name in run.missing(run.chosen(NAMES, ("banana", "usps 0"))):
        run.add(_run_set(name, run.settings["rows"], run.settings["forgotten"]))


def _run_set(name: str, size: int, count: int) -> dict[str, Any]:
    """Forget `count` rows drawn at random, one call each, and as many support vectors."""
    rows = draw(name, size, OTHERS)
    rng = np.random.default_rng(SEED)
    retrainings = []
    for left_out in rng.integers(size, size=RETRAININGS):
        rest = rows.without(np.array([left_out]))
        retrainings.append(timed(lambda r=rest: SVC(**r.parameters).fit(r.X, r.y))[1])
    exact, fitting = timed(lambda: IDSVM(**rows.parameters).fit(rows.X, rows.y))
    found: dict[str, Any] = rows.describe() | {
        "n_support": len(exact.support_),
        "n_margin": int(exact.n_margin_[0]),
        "svc": _milliseconds(retrainings),
        "fit_ms": 1e3 * fitting,
        "lasvm_before": _largest(_lasvm(rows), rows, exact.decision_function(rows.others)),
    }
    for group, pool in (("random", np.arange(size)), ("support", np.sort(exact.support_))):
        chosen = rng.choice(pool, size=min(count, len(pool)), replace=False)
        rest = rows.without(chosen)
        truth, tight = timed(lambda r=rest: SVC(**r.parameters, tol=TIGHT).fit(r.X, r.y))
        wanted = truth.decision_function(rows.others)
        found[group] = {
            "idsvm": _forget_exactly(exact, rows, chosen, wanted),
            "lasvm": _forget_with_lasvm(_lasvm(rows), rows, chosen, wanted),
            "tight_svc_ms": 1e3 * tight,
            "tight_svc": residual(truth, rest, np.arange(len(rest.y))),
        }
        say(f"forget, {name}, {group}: {found[group]['idsvm']['mean_ms']:.2f} ms a row")
    return found | {"n_refreshes": exact.n_refreshes_, "n_fallbacks": exact.n_fallbacks_}


def _forget_exactly(exact: IDSVM, rows: Rows, chosen: np.ndarray, wanted: np.ndarray) -> dict[str, Any]:
    """Forget the rows in turn, compare, and learn them again in turn."""
    forgetting = [timed(lambda i=i: exact.forget(i))[1] for i in chosen]
    found = _milliseconds(forgetting) | residual(exact, rows, exact.ids_)
    found |= {"difference": _largest(exact, rows, wanted), "n_support_left": len(exact.support_)}
    learning = [timed(lambda i=i: exact.partial_fit(rows.X[[i]], rows.y[[i]], ids=[i]))[1] for i in chosen]
    return found | {"learned_again": _milliseconds(learning)}


def _lasvm(rows: Rows) -> LASVM:
    return LASVM(**rows.parameters, epochs=LASVM_EPOCHS, random_state=SEED).fit(rows.X, rows.y)


def _forget_with_lasvm(learner: LASVM, rows: Rows, chosen: np.ndarray, wanted: np.ndarray) -> dict[str, Any]:
    """The same with LASVM, which has dropped most rows that are no support vectors: nothing to forget."""
    forgetting = [seconds for row in chosen if (seconds := _forgotten(learner, row)) is not None]
    return _milliseconds(forgetting) | {
        "difference": _largest(learner, rows, wanted),
        "n_support_left": len(learner.support_),
    }


def _forgotten(learner: LASVM, row: int) -> float | None:
    """Seconds to forget a row, None if it is not kept."""
    try:
        return timed(lambda: learner.forget(row))[1]
    except ValueError:
        return None


def _largest(learner: Any, rows: Rows, wanted: np.ndarray) -> float:
    """The largest difference to other decision values."""
    return float(np.abs(learner.decision_function(rows.others) - wanted).max())


def report(data: Data) -> str:
    """Milliseconds per row, and how exact the result is."""
    found, settings = data["results"], data["settings"]
    lines = [
        [
            named(r),
            str(r["features"]),
            str(r["n_support"]),
            str(r["n_margin"]),
            number(r["svc"]["median_ms"]),
            number(r["fit_ms"]),
            number(r["random"]["idsvm"]["learned_again"]["mean_ms"]),
            number(r["support"]["idsvm"]["learned_again"]["mean_ms"]),
        ]
        for r in found
    ]
    header = ["set (C, gamma)", "features", "SVs", "at margin", "SVC ms", "IDSVM.fit ms"]
    parts = [
        *opening(f"One row of {settings['rows']:,} withdrawn", data),
        markdown([*header, "learn one ms", "learn one SV ms"], lines),
        fill(f"""
        {settings["forgotten"]} rows are forgotten in calls of one, one after the other, then learned again in
        calls of one ("learn one", of which some 0.4 ms are the checks of `partial_fit`). "SVC ms": retraining
        without one row, median of five.
        """),
    ]
    for group, words in (("random", "rows drawn at random"), ("support", "support vectors")):
        parts += [f"### {settings['forgotten']} {words}\n", _forget_table(found, group)]
    worst = [max(r[g]["idsvm"]["residual"] for r in found) for g in ("random", "support")]
    peer = [max(r[g]["tight_svc"]["residual"] for r in found) for g in ("random", "support")]
    parts.append(
        fill(f"""
        "x": how many times as long the SVC takes, beside the mean. "df": largest difference to the decision
        values of an SVC with tolerance 1e-6 on the rows left, over 1,000 other rows, after all were
        forgotten. That SVC keeps its kernel values in single precision: its own residual is up to
        {tiny(max(peer))}, that of IDSVM up to {tiny(max(worst))}. LASVM: three epochs, then `forget`;
        "kept" are the rows that it had not dropped as idle, and its times are of these; rows dropped do not
        come back, hence its "df". "before": its difference to IDSVM when nothing was forgotten yet. Circles
        that made IDSVM learn all rows again:
        {sum(r["n_fallbacks"] for r in found)}.
        """)
    )
    return "\n".join(parts)


def _forget_table(found: list[Result], group: str) -> str:
    lines = []
    for r in found:
        ours, lasvm, svc = r[group]["idsvm"], r[group]["lasvm"], r["svc"]["median_ms"]
        lines.append(
            [
                r["set"],
                number(svc),
                *[number(ours[key]) for key in ("mean_ms", "median_ms", "largest_ms")],
                f"**{times(svc, ours['mean_ms'])}**",
                tiny(ours["difference"]),
                f"{lasvm['count']} of {ours['count']}",
                *[number(lasvm[key]) for key in ("mean_ms", "median_ms")],
                times(svc, lasvm["mean_ms"]),
                number(lasvm["difference"], 2),
                number(r["lasvm_before"], 2),
            ]
        )
    middle = median(r["svc"]["median_ms"] / r[group]["idsvm"]["mean_ms"] for r in found)
    header = [
        "set",
        "SVC ms",
        "IDSVM mean ms",
        "median",
        "largest",
        "x",
        "df",
        "LASVM kept",
        "mean ms",
        "median",
    ]
    table = markdown([*header, "x", "df", "before"], lines)
    return f"{table}\nMedian over the sets: {number(middle)} times as fast as a new SVC.\n"
