"""Chapters IV to VI of Emara's thesis: streams, queries, and local updates."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from ...harness.statistics import signed_rank
from ..results import Results
from ..verdict import Check, checks_of
from ..words import count, num, pct, points

STREAMS, SUMMARIES, LOCAL = "semi-streams", "papers-summaries", "papers-locality"


def _learners(results: Results) -> dict[str, dict[str, Any]]:
    return {r["stream"]: r["learners"] for r in results.data(STREAMS)["results"] if "stream" in r}


@checks_of("emara-fig-IV.8")
def parts_of_the_choice(results: Results) -> Sequence[Check]:
    (moons,) = (r["moons"] for r in results.data(STREAMS)["results"] if "moons" in r)
    by_kind: dict[str, dict[tuple[Any, ...], list[float]]] = {}
    for line in moons["lines"]:
        key = (line["M"], line["rows"], line["batches"], line["last_batch"])
        by_kind.setdefault(line["kind"], {})[key] = line["accuracy"]
    found = []
    for other in ("diversity off", "random"):
        differences = {
            key: [a - b for a, b in zip(by_kind["exemplars"][key], by_kind[other][key], strict=True)]
            for key in by_kind["exemplars"]
        }
        every = [fmean(values) for values in differences.values()]
        significant = sum((signed_rank(v) or 1) < 0.05 and fmean(v) > 0 for v in differences.values())
        found.append(
            Check(
                f"Against {'no diversity' if other != 'random' else 'random rows'}: "
                f"{points(fmean(every))} in the mean of "
                f"{len(every)} settings, significantly better in {significant}.",
                significant >= len(every) / 2,
            )
        )
    return found


def _summaries(results: Results, method: str, metric: str, share: float) -> dict[str, float]:
    rows = [
        r
        for r in results.data(SUMMARIES)["results"]
        if r["share"] == share and r["learner"].startswith(method + ",")
    ]
    keys = dict.fromkeys(f"{r['set']}, {r['learner'].split(', ')[1]}" for r in rows)
    return {
        key: fmean(r[metric] for r in rows if f"{r['set']}, {r['learner'].split(', ')[1]}" == key)
        for key in keys
    }


@checks_of("emara-fig-IV.13")
def exemplars(results: Results) -> Sequence[Check]:
    one, ten = (_summaries(results, "greedy", "agreement", share) for share in (0.01, 0.1))
    random = _summaries(results, "random", "agreement", 0.1)
    alone = _summaries(results, "greedy", "labels_alone", 0.1)
    return [
        count(
            "With 1 % exemplars 95 % of the labels are the same",
            {n: value >= 0.95 for n, value in one.items()},
            0.8,
            lambda n: f"({pct(one[n], 0)})",
        ),
        count(
            "With 10 %", {n: value >= 0.95 for n, value in ten.items()}, 0.8, lambda n: f"({pct(ten[n], 0)})"
        ),
        Check(
            f"In the mean 10 % exemplars agree on {pct(fmean(ten.values()), 1)}, random rows on "
            f"{pct(fmean(random.values()), 1)}, the labeled rows alone on {pct(fmean(alone.values()), 1)}.",
            fmean(ten.values()) > fmean(random.values()) and fmean(ten.values()) > fmean(alone.values()),
        ),
    ]


@checks_of("emara-fig-IV.16")
def greedy_or_qp(results: Results) -> Sequence[Check]:
    greedy, qp = (_summaries(results, method, "accuracy", 0.1) for method in ("greedy", "qp"))
    time, slow = (fmean(_summaries(results, method, "cpu", 0.1).values()) for method in ("greedy", "qp"))
    return [
        count("Accuracies are within one point", {n: abs(greedy[n] - qp[n]) < 0.01 for n in greedy}, 0.9),
        Check(f"Greedy is {num(slow / time)} times as fast as the quadratic program.", slow > 2 * time),
    ]


@checks_of("emara-fig-IV.19")
def incremental(results: Results) -> Sequence[Check]:
    found = _learners(results)
    lost = {
        n: fmean(who["all rows kept"]["accuracy"]) - fmean(who["tolerant"]["accuracy"])
        for n, who in found.items()
    }
    growth = {
        n: fmean(who["tolerant"]["cpu"][-5:]) / fmean(who["tolerant"]["cpu"][2:7]) for n, who in found.items()
    }
    kept = {
        n: fmean(who["all rows kept"]["cpu"][-5:]) / fmean(who["all rows kept"]["cpu"][2:7])
        for n, who in found.items()
    }
    return [
        count(
            "Accuracy is at most one point below keeping every row",
            {n: value < 0.01 for n, value in lost.items()},
            detail=lambda n: f"({points(-lost[n])})",
        ),
        count(
            "The last five batches cost at most 1.5 times the early ones",
            {n: value < 1.5 for n, value in growth.items()},
            detail=lambda n: f"({num(growth[n])})",
        ),
        count("Keeping every row costs more and more", {n: kept[n] > growth[n] for n in kept}),
    ]


@checks_of("emara-fig-IV.19-tolerant")
def tolerant(results: Results) -> Sequence[Check]:
    found = _learners(results)
    lost = {
        n: fmean(who["strict"]["accuracy"]) - fmean(who["tolerant"]["accuracy"]) for n, who in found.items()
    }
    size = {
        n: fmean(who["tolerant"]["history"]["exemplars"]) / fmean(who["strict"]["history"]["exemplars"])
        for n, who in found.items()
    }
    time = {n: sum(who["tolerant"]["cpu"]) / sum(who["strict"]["cpu"]) for n, who in found.items()}
    return [
        count("Accuracy is within one point of the strict procedure", {n: v < 0.01 for n, v in lost.items()}),
        count(
            "The summary is less than half as large",
            {n: v < 0.5 for n, v in size.items()},
            detail=lambda n: f"({pct(size[n], 0)})",
        ),
        count(
            "It takes less time",
            {n: v < 1 for n, v in time.items()},
            detail=lambda n: f"({num(time[n])} times)",
        ),
    ]


@checks_of("emara-fig-IV.25")
def kdd(results: Results) -> Sequence[Check]:
    found = _learners(results)["kdd-99"]
    mine, kept = (fmean(found[name]["accuracy"]) for name in ("tolerant", "all rows kept"))
    low = min(found["tolerant"]["accuracy"])
    return [
        Check(f"With a summary {pct(mine, 1)}, with every row kept {pct(kept, 1)}.", mine > kept - 0.01),
        Check(
            f"The worst batch of 400 rows has {pct(low, 1)}: small batches are unstable.", low < mine - 0.05
        ),
    ]


@checks_of("emara-fig-IV.26")
def online(results: Results) -> Sequence[Check]:
    found = _learners(results)
    first = {
        n: fmean(who["online"]["accuracy"][:3]) - fmean(who["tolerant"]["accuracy"][:3])
        for n, who in found.items()
    }
    last = {
        n: fmean(who["online"]["accuracy"][-5:]) - fmean(who["tolerant"]["accuracy"][-5:])
        for n, who in found.items()
    }
    return [
        count(
            "The first three batches are worse than in the incremental scenario",
            {n: v < 0 for n, v in first.items()},
        ),
        count(
            "The last five are within two points of it",
            {n: v > -0.02 for n, v in last.items()},
            detail=lambda n: f"({points(last[n], 1)})",
        ),
    ]


@checks_of("emara-fig-V.2")
def queries(results: Results) -> Sequence[Check]:
    found = []
    for share in (0.25, 0.05):
        by_rule = {
            rule: results.pick("semi-questions", "lines.held_out", learner=rule, at={"share": share}).by(
                "set"
            )
            for rule in ("random", "submodular", "smallest margin")
        }
        lead = {n: by_rule["submodular"][n] - by_rule["random"][n] for n in by_rule["random"]}
        margin = fmean(by_rule["submodular"][n] - by_rule["smallest margin"][n] for n in lead)
        found += [
            count(
                f"With {share:.0%} of each batch queried, accuracy is above random queries, by "
                f"{points(fmean(lead.values()))} in the mean,",
                {n: v > 0 for n, v in lead.items()},
                0.8,
            ),
            Check(
                f"The gain is large (five points or more): {points(max(lead.values()))} at most; against the "
                f"smallest margin {points(margin)}.",
                max(lead.values()) > 0.05,
            ),
        ]
    return found


def _local(results: Results, width: str, metric: str) -> dict[str, float]:
    return results.pick(LOCAL, metric, learner=width).by("set")


WIDTHS = ("sigma 1", "sigma 1/2", "sigma 1/4")


@checks_of("emara-fig-VI.3")
def near_and_far(results: Results) -> Sequence[Check]:
    found = []
    for width in WIDTHS:
        within, beyond = (_local(results, width, m) for m in ("mean_within", "mean_beyond"))
        keys = [n for n in beyond if n in within]
        found.append(
            count(
                f"{width}: within one sigma the mean change is "
                f"{pct(fmean(within[n] for n in keys), 1)} of C, beyond "
                f"{pct(fmean(beyond[n] for n in keys), 1)}, and at least twice as large",
                {n: within[n] > 2 * beyond[n] for n in keys},
                0.8,
            )
        )
    return found


@checks_of("emara-fig-VI.9")
def beyond_sigma(results: Results) -> Sequence[Check]:
    found = []
    for width in WIDTHS:
        mean, large = (_local(results, width, m) for m in ("mean_beyond", "large_beyond"))
        found.append(
            count(
                f"{width}: the mean change beyond one sigma is below 15 % of C (largest "
                f"{pct(max(mean.values()), 1)}; "
                f"single changes exceed it in {pct(fmean(large.values()), 1)})",
                {n: value < 0.15 for n, value in mean.items()},
            )
        )
    return found


def _updates(results: Results, way: str, metric: str) -> dict[str, float]:
    found = {}
    for result in results.data("incremental")["results"]:
        if result["part"] == "local":
            found[result["set"]] = fmean(run[way][metric] for run in result["runs"])
    return found


@checks_of("emara-fig-VI.11")
def ignoring(results: Results) -> Sequence[Check]:
    exact = _updates(results, "svc", "accuracy")
    found = []
    for way, limit in (("nu=1", 0.015), ("nu=2", 0.005)):
        mine = _updates(results, way, "accuracy")
        worst = max(exact[n] - mine[n] for n in exact)
        text = f"{way.replace('nu=', '')} sigma: accuracy is at most {points(-worst)} from retraining"
        found.append(count(text, {n: exact[n] - mine[n] < limit for n in exact}))
    return found


@checks_of("emara-fig-VI.12")
def fixed_or_growing(results: Results) -> Sequence[Check]:
    time, slow = (_updates(results, way, "ms_a_row") for way in ("nu=1", "grow"))
    fixed, grown = (_updates(results, way, "accuracy") for way in ("nu=1", "grow"))
    return [
        count(
            "One sigma is faster than growing the neighborhood",
            {n: time[n] < slow[n] for n in time},
            0.8,
            lambda n: f"({1000 * time[n]:.0f} and {1000 * slow[n]:.0f} microseconds)",
        ),
        count("It is as accurate, or more", {n: fixed[n] > grown[n] - 0.005 for n in fixed}, 0.8),
    ]
