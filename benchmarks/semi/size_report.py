"""The tables of `size`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..harness.report import NONE, fill, head, markdown, number
from ..harness.run import Data, Result

OURS = {
    "fast": 'solver="fast"',
    "fast, rho 1": 'solver="fast", rho=1',
    "greedy, rho 1": 'solver="greedy", rho=1',
    "two-sided": 'solver="two-sided"',
    "fast, rule": "fast, and a rule for new rows",
}
THESIS = {  # rows, accuracy %, seconds on a 2.7 GHz Core2
    "kdd-99": (1_500_000, 95.38, 15.72),
    "covtype": (581_012, 55.09, 14.44),
    "cod-rna": (331_617, 70.08, 9.302),
}
PEER_ROWS = 20_000
HELD = 0.5  # points: less is not called a gain or a loss

READING = """`SubmodS3VM(kernel="linear")` on rows that are scaled already, {labels} of them labeled,
told the true share of positives. CPU seconds of `fit`, median of three, one thread, with
`estimator=None`: the labels of the rows and no rule for new ones; what the rule costs, a LinearSVC on all
rows, is a line of its own. *memory / rows*: the most that a fit held beyond what was there before it,
over the size of the rows, which are float64 and in C order already; one copy of them is that of
`scaling="unit"`. "auto" takes two-sided up to 20,000 unlabeled rows and the fast path above it.
*exponent*: the slope of the logarithm of the seconds over that of the rows, from an eighth of the rows to
all of them."""
ALONE = """Accuracy on all rows of what uses no unlabeled row, and of `solver="fast"` as rho, the weight
of the clusters beside that of the labels, grows; "auto" is the default. The thesis chose it for each set,
near 0.005 on its large ones, where its answer is the labels' pull but for a few rows; its rows were
scaled in a way that it does not say."""
PEERS = """At 20,000 rows, beside what scikit-learn has, on its graph of 7 neighbors: with its default,
the RBF kernel, both graph methods hold all pairs, 3.2 GB here. They are not told the share of positives.
*ratio*: their seconds over those of the fast path."""


def seconds(entry: dict[str, Any]) -> float:
    return float(np.median(entry["cpu"]))


def _grown(result: Result, who: str) -> list[dict[str, Any]]:
    """The fits of a solver on growing parts of the rows."""
    return [f for f in result["growth"] if f["who"] == who and not f["reason"]]


def exponent(fits: list[dict[str, Any]]) -> float | None:
    if len(fits) < 2:
        return None
    rows, cpu = np.log([f["rows"] for f in fits]), np.log([max(seconds(f), 1e-4) for f in fits])
    return float(np.polyfit(rows, cpu, 1)[0])


def _growth(results: list[Result]) -> str:
    lines = []
    for r in results:
        for who in ("fast", "fast, rho 1", "greedy, rho 1", "fast, rule"):
            fits = _grown(r, who)
            if not fits:
                continue
            last = fits[-1]
            times = [number(seconds(f)) for f in fits]
            lines.append(
                [
                    r["set"],
                    OURS[who],
                    *[NONE] * (4 - len(times)),
                    *times,
                    number(exponent(fits), 2),
                    f"{last['rows_mb']:.0f}",
                    f"{last['peak_mb']:.0f}",
                    f"{last['peak_mb'] / last['rows_mb']:.1f}",
                    f"{100 * last['accuracy']:.1f}",
                ]
            )
    header = ["set", "", "1/8 of the rows", "1/4", "1/2", "all", "exponent", "rows MB", "memory MB"]
    return markdown([*header, "memory / rows", "accuracy %"], lines)


def _alone(results: list[Result]) -> str:
    """Accuracy of what needs no unlabeled row, on all rows, of ours by rho, and the thesis' figures."""
    who, rhos = list(results[0]["alone"]), list(results[0]["rho"])
    lines = []
    for r in results:
        rows, accuracy, cpu = THESIS[r["set"]]
        lines.append(
            [
                r["set"],
                f"{r['rows']:,}",
                f"{r['features']}",
                f"{100 * r['positives']:.0f}",
                *[f"{100 * r['alone'][w]:.1f}" for w in who],
                *[f"{100 * r['rho'][rho]:.1f}" for rho in rhos],
                f"{accuracy:.1f} ({rows:,} rows, {cpu:g} s)",
            ]
        )
    header = ["set", "rows", "features", "positive %", *who, *[f"rho={rho}" for rho in rhos]]
    return markdown([*header, "thesis: SUBMOD"], lines)


def _verdicts(results: list[Result]) -> str:
    """Where the clusters of unlabeled rows brought anything at the default rho."""
    lines = []
    for r in results:
        told = {who: r["alone"][who] for who in ("SVM + r", "labels' pull")}
        best = max(told, key=lambda who: told[who])
        gain = 100 * (r["rho"]["auto"] - told[best])
        side = "helped" if gain > HELD else "did harm" if gain < -HELD else "made no difference"
        lines.append(f"- {r['set']}: unlabeled rows {side}, {gain:+.1f} points against {best}.")
    return "\n".join(lines) + "\n"


def _peers(results: list[Result]) -> str:
    lines = []
    for r in results:
        here = r["peers"]
        base = next((seconds(f) for f in here if f["who"] == "fast" and not f["reason"]), None)
        for f in here:
            if f["reason"]:
                lines.append([r["set"], f["who"], f["reason"], *[NONE] * 3])
                continue
            ratio = seconds(f) / base if base else None
            lines.append(
                [
                    r["set"],
                    OURS.get(f["who"], f["who"]),
                    number(seconds(f)),
                    number(ratio),
                    f"{f['peak_mb'] / f['rows_mb']:.1f}",
                    f"{100 * f['accuracy']:.1f}",
                ]
            )
    return markdown(["set", f"{PEER_ROWS:,} rows", "CPU s", "ratio", "memory / rows", "accuracy %"], lines)


def report(data: Data) -> str:
    """Growth, the gain from unlabeled rows, and peers."""
    results = data["results"]
    parts = head("Labels for up to 805,050 rows", data)
    parts += [fill(READING.format(labels=data["settings"]["labels"])), _growth(results)]
    if results:
        parts += [fill(ALONE), _alone(results), _verdicts(results)]
    return "\n".join([*parts, fill(PEERS), _peers(results)])
