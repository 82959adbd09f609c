"""Chapter III of Emara's thesis: labels for unlabeled rows."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

import numpy as np

from ...harness.statistics import signed_rank
from ..results import Results
from ..verdict import Check, checks_of
from ..words import count, num, pct, points

SURROGATE, ACCURACY, SIZE = "papers-surrogate", "semi-accuracy", "semi-size"
LARGE_LABELS = "papers-large_labels"
PRINTED = {"a9a": 65.11, "w8a": 95.0, "cod-rna": 70.08, "covtype": 55.09, "kdd-99": 95.38}  # table III.7
PEERS = (
    "self-training",
    "propagation, 7 neighbours",
    "propagation, RBF",
    "spreading, 7 neighbours",
    "spreading, RBF",
)


def _surrogate(results: Results, metric: str) -> dict[str, float]:
    return results.pick(SURROGATE, metric).by("set")


@checks_of("emara-fig-III.3")
def proportional(results: Results) -> Sequence[Check]:
    whole, near = (_surrogate(results, m) for m in ("correlation", "correlation_near"))
    wide = [n for n in whole if n in ("newsgroups", "digit1", "g50c", "mushrooms")]
    return [
        count(
            f"The correlation is above 0.9 ({min(whole.values()):.2f} to {max(whole.values()):.2f})",
            {n: value > 0.9 for n, value in whole.items()},
            detail=lambda n: f"({whole[n]:.2f})",
        ),
        count(
            "It is above 0.9 where at most half of the labels are turned",
            {n: value > 0.9 for n, value in near.items()},
            detail=lambda n: f"({near[n]:.2f})",
        ),
        Check(
            f"With 50 features or more it is {min(near[n] for n in wide):.3f} at least.",
            min(near[n] for n in wide) > 0.98,
        ),
    ]


@checks_of("emara-fig-III.4")
def concave(results: Results) -> Sequence[Check]:
    peak = _surrogate(results, "peak")
    return [
        count(
            "The objective is largest with 40 to 60 % of the labels turned",
            {n: 0.4 <= value <= 0.6 for n, value in peak.items()},
            0.9,
            lambda n: f"({pct(peak[n], 0)})",
        )
    ]


@checks_of("emara-fig-III.9")
def share_of_positives(results: Results) -> Sequence[Check]:
    off: dict[str, float] = {}
    for result in results.data(ACCURACY)["results"]:
        if result["protocol"] == "worst":
            off[result["set"]] = median(abs(e["estimate"] - e["share"]) for e in result["estimated"])
    return [
        Check(
            f"On Breast cancer the median error of the share is {pct(off['breast cancer'], 1)}.",
            off["breast cancer"] < 0.05,
        ),
        count(
            "It is below ten points",
            {n: value < 0.1 for n, value in off.items()},
            0.8,
            lambda n: f"({100 * off[n]:.0f})",
        ),
    ]


@checks_of("emara-fig-III.12")
def near_optimum(results: Results) -> Sequence[Check]:
    whole, mean, worst = (_surrogate(results, m) for m in ("greedy_on_set", "greedy_mean", "greedy_worst"))
    return [
        count(
            "On whole sets greedy reaches 87.5 % of the best value that we find "
            f"({pct(min(whole.values()), 0)} at least)",
            {n: value >= 0.875 for n, value in whole.items()},
            detail=lambda n: f"({pct(whole[n], 0)})",
        ),
        count(
            "and 98 %",
            {n: value >= 0.98 for n, value in whole.items()},
            0.6,
            lambda n: f"({pct(whole[n], 0)})",
        ),
        count(
            "On problems of 14 rows the worst of 30 is above 87.5 % of the optimum "
            f"({pct(min(worst.values()), 0)} at least)",
            {n: value >= 0.875 for n, value in worst.items()},
        ),
        count("Their mean is above 98 %", {n: value >= 0.98 for n, value in mean.items()}, 0.6),
    ]


def _worst(results: Results, method: str, metric: str = "accuracy") -> dict[str, float]:
    return results.pick(ACCURACY, metric, learner=method, at={"protocol": "worst"}).by("set")


@checks_of("emara-table-III.2")
def small_sets(results: Results) -> Sequence[Check]:
    ours, svm, told = (_worst(results, name) for name in ("SubmodS3VM", "SVM", "SVM + r"))
    thesis = {
        r["set"]: r["thesis"]["submod"] / 100
        for r in results.data(ACCURACY)["results"]
        if r["protocol"] == "worst"
    }
    gain = {n: ours[n] - told[n] for n in ours}
    p = signed_rank(list(gain.values()))
    return [
        count(
            "It is above the SVM on the labels, by "
            f"{points(fmean(ours[n] - svm[n] for n in ours), 1)} in the mean,",
            {n: ours[n] > svm[n] for n in ours},
            0.9,
        ),
        Check(
            f"Above an SVM that is told the share of positives by {points(fmean(gain.values()), 1)} "
            "in the mean, "
            f"on {sum(v > 0 for v in gain.values())} of {len(gain)} sets (p = {p:.2g}).",
            p is not None and p < 0.05 and fmean(gain.values()) > 0,
        ),
        count(
            "It is within five points of the printed accuracy, or above",
            {n: ours[n] > thesis[n] - 0.05 for n in ours},
            0.7,
            lambda n: f"({points(ours[n] - thesis[n], 0)})",
        ),
    ]


@checks_of("emara-table-III.5")
def small_times(results: Results) -> Sequence[Check]:
    ours = _worst(results, "SubmodS3VM", "cpu")
    peers = {name: _worst(results, name, "cpu") for name in PEERS}
    best = {n: min(table[n] for table in peers.values()) for n in ours}
    ratio = {n: best[n] / ours[n] for n in ours}
    return [
        count(
            f"It is faster than the fastest of self-training, propagation and spreading "
            f"({num(min(ratio.values()))} to {num(max(ratio.values()))} times)",
            {n: value > 1 for n, value in ratio.items()},
            0.8,
        )
    ]


@checks_of("emara-table-III.7")
def large_sets(results: Results) -> Sequence[Check]:
    names = ("SubmodS3VM", "SVM", "SVM + r")
    ours, svm, told = (results.pick(LARGE_LABELS, "accuracy", learner=n).by("set") for n in names)
    mcc, svm_mcc = (results.pick(LARGE_LABELS, "mcc", learner=n).by("set") for n in names[:2])
    gain, told_gain = (fmean(ours[n] - other[n] for n in ours) for other in (svm, told))
    return [
        count(
            f"It is above the SVM on the labels, by {points(gain, 1)} in the mean (against an SVM that is "
            f"told the share of positives, {points(told_gain, 1)}),",
            {n: ours[n] > svm[n] for n in ours},
            0.8,
            lambda n: f"({points(ours[n] - svm[n], 1)})",
        ),
        count(
            "Its MCC is above that of the SVM on the labels",
            {n: mcc[n] > svm_mcc[n] for n in mcc},
            0.8,
            lambda n: f"({mcc[n]:.2f} and {svm_mcc[n]:.2f})",
        ),
        count(
            "It is within five points of the printed accuracy, or above",
            {n: 100 * ours[n] > PRINTED[n] - 5 for n in ours},
            0.8,
            lambda n: f"({100 * ours[n]:.1f}, printed {PRINTED[n]:.1f} %)",
        ),
    ]


@checks_of("emara-table-III.9")
def large_times(results: Results) -> Sequence[Check]:
    ratios: dict[str, float] = {}
    for result in results.data(SIZE)["results"]:
        times = {p["who"]: median(p["cpu"]) for p in result["peers"] if p.get("cpu") and p["rows"] == 20_000}
        others = [t for who, t in times.items() if who in ("propagation", "spreading", "self-training")]
        ratios[result["set"]] = min(others) / times["fast"]
    shown = ", ".join(f"{n} {num(value)}" for n, value in ratios.items())
    return [Check(f"Times as fast as the fastest of three others: {shown}.", min(ratios.values()) >= 8)]


LARGE = ("a9a", "w8a", "cod_rna", "covtype")


@checks_of("emara-table-III.10")
def lazy_small(results: Results) -> Sequence[Check]:
    saved = {n: value for n, value in _surrogate(results, "saved").items() if n not in LARGE}
    return [
        count(
            f"At least 69 % are saved ({pct(min(saved.values()), 1)} to {pct(max(saved.values()), 1)})",
            {n: value >= 0.69 for n, value in saved.items()},
            detail=lambda n: f"({pct(saved[n], 0)})",
        )
    ]


@checks_of("emara-table-III.11")
def lazy_large(results: Results) -> Sequence[Check]:
    saved = {n: value for n, value in _surrogate(results, "saved").items() if n in LARGE}
    return [
        count(
            f"More than 99.7 % are saved ({pct(min(saved.values()), 3)} at least)",
            {n: value >= 0.997 for n, value in saved.items()},
            detail=lambda n: f"({pct(saved[n], 2)})",
        )
    ]


@checks_of("emara-fig-III.15")
def growth(results: Results) -> Sequence[Check]:
    exponents: dict[str, float] = {}
    for result in results.data(SIZE)["results"]:
        points_ = [
            (g["rows"], median(g["cpu"])) for g in result["growth"] if g["who"] == "fast" and g.get("cpu")
        ]
        rows, times = (np.log([p[i] for p in points_]) for i in (0, 1))
        exponents[result["set"]] = float(np.polyfit(rows, times, 1)[0])
    shown = ", ".join(f"{n} {value:.2f}" for n, value in exponents.items())
    return [Check(f"Exponents of time against rows: {shown}.", max(exponents.values()) < 1.3)]
