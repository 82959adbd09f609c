"""What this project claims of itself: speed, exactness, forgetting."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from ..results import Results
from ..verdict import Check, checks_of
from ..words import count, num, pct, points

TABLE, EXACT, STEPS = "lasvm-table", "lasvm-exact", "incremental"


@checks_of("everlearn-speed-fit")
def fit(results: Results) -> Sequence[Check]:
    found = []
    for peer, name in (("svc", "SVC"), ("intelex", "scikit-learn-intelex")):
        ratio = results.pick(TABLE, "cpu_over_ours", learner=peer).by("set")
        low, high = min(ratio.values()), max(ratio.values())
        found.append(
            count(
                f"Faster than {name} ({num(low)} to {num(high)} times)",
                {n: value > 1 for n, value in ratio.items()},
                detail=lambda n, ratio=ratio: f"({num(ratio[n])})",
            )
        )
    agreement = results.pick(TABLE, "exact.agreement").by("set")
    least = min(agreement.values())
    return [
        *found,
        Check(f"Predictions equal SVC's on {pct(least, 3)} of the test rows at least.", least > 0.999),
    ]


@checks_of("everlearn-speed-growth")
def growth(results: Results) -> Sequence[Check]:
    exponents = results.data("lasvm-growth")["exponents"]
    ours, svc = exponents["ours_on_the_sizes_of_svc"], exponents["svc"]
    return [Check(f"Exponents on the sizes of SVC: {ours:.2f} and {svc:.2f}.", ours < svc)]


@checks_of("everlearn-speed-budget")
def budget(results: Results) -> Sequence[Check]:
    data = results.data("budget-throughput")["results"]
    found = []
    for result in data:
        if "learners" not in result:
            continue
        learners: dict[str, Any] = result["learners"]
        ours = {n: v["median"]["block_both"] for n, v in learners.items() if v["family"] == "ours"}
        river = max(
            v["median"]["single_both"]
            for n, v in learners.items()
            if v["family"] == "River" and "RBFSampler(100)" in n
        )
        slowest = min(ours.values()) / river
        found.append(
            Check(f"{result['stream']}: at least {num(slowest)} times as many rows a second.", slowest > 10)
        )
    flat = {}
    for result in data:
        for line in result.get("long", []):
            rates = [p["rows_per_s"] for p in line["points"]]
            flat[line["learner"]] = fmean(rates[-3:]) > 0.7 * fmean(rates[:3])
    return [*found, count("Over a million rows the speed stays within 30 %", flat)]


def _shuffles(results: Results, way: str, what: str) -> dict[str, list[float]]:
    return {r["set"]: [s[way][what] for s in r["shuffles"]] for r in results.data(EXACT)["results"]}


def _excess(results: Results, way: str) -> dict[str, float]:
    return {
        r["set"]: fmean(s[way]["error"] - s["svc"] for s in r["shuffles"])
        for r in results.data(EXACT)["results"]
    }


@checks_of("everlearn-exact-fit")
def exact(results: Results) -> Sequence[Check]:
    dual = {n: max(abs(v) for v in values) for n, values in _shuffles(results, "all", "dual").items()}
    differ = {n: fmean(values) for n, values in _shuffles(results, "all", "differ").items()}
    excess = _excess(results, "all")
    return [
        count(
            "The dual value is the same to 1e-5",
            {n: value < 1e-5 for n, value in dual.items()},
            detail=lambda n: f"({dual[n]:.0e})",
        ),
        count(
            f"Less than 0.1 % of the predictions differ (largest {pct(max(differ.values()), 3)})",
            {n: value < 0.001 for n, value in differ.items()},
        ),
        count(
            "The mean excess error is within 0.05 points",
            {n: abs(value) < 0.0005 for n, value in excess.items()},
            0.9,
            lambda n: f"({points(excess[n], 3)})",
        ),
    ]


@checks_of("everlearn-exact-stream")
def exact_stream(results: Results) -> Sequence[Check]:
    excess = _excess(results, "stream")
    return [
        count(
            f"The mean excess error is below 0.2 points (largest {points(max(excess.values()), 3)})",
            {n: value < 0.002 for n, value in excess.items()},
        )
    ]


def _part(results: Results, part: str) -> list[dict[str, Any]]:
    return [r for r in results.data(STEPS)["results"] if r["part"] == part]


@checks_of("everlearn-forgetting-speed")
def forgetting(results: Results) -> Sequence[Check]:
    rows = _part(results, "forget")
    random = {r["set"]: r["svc"]["mean_ms"] / r["random"]["idsvm"]["mean_ms"] for r in rows}
    support = {r["set"]: r["svc"]["mean_ms"] / r["support"]["idsvm"]["mean_ms"] for r in rows}
    apart = {r["set"]: max(r[kind]["idsvm"]["difference"] for kind in ("random", "support")) for r in rows}
    return [
        count(
            f"A random row: {num(min(random.values()))} to {num(max(random.values()))} times as fast, "
            "above ten",
            {n: v > 10 for n, v in random.items()},
        ),
        count(
            f"A support vector: {num(min(support.values()))} to {num(max(support.values()))} times as "
            "fast, above ten",
            {n: v > 10 for n, v in support.items()},
            detail=lambda n: f"({num(support[n])})",
        ),
        count(
            f"Decisions differ by less than 1e-3 from a new fit (largest {max(apart.values()):.0e})",
            {n: v < 1e-3 for n, v in apart.items()},
        ),
    ]


@checks_of("everlearn-forgetting-leave-one-out")
def leave_one_out(results: Results) -> Sequence[Check]:
    rows = _part(results, "leave_one_out")
    ratio = {r["set"]: r["svc_s_for_all"] / r["idsvm_s"] for r in rows}
    differ = {r["set"]: r["decisions_that_differ"] for r in rows}
    return [
        count(
            f"{num(min(ratio.values()))} to {num(max(ratio.values()))} times as fast as a fit for "
            "each row, above ten",
            {n: v > 10 for n, v in ratio.items()},
        ),
        count("All decisions are the same", {n: v == 0 for n, v in differ.items()}, 0.8),
    ]


@checks_of("everlearn-forgetting-long")
def long(results: Results) -> Sequence[Check]:
    worst = {
        f"{r['set']}{', window' if r['window'] else ''}": max(p["residual"] for p in r["points"])
        for r in _part(results, "long")
    }
    return [
        count(
            f"The residual stays below 1e-8 (largest {max(worst.values()):.0e})",
            {n: v < 1e-8 for n, v in worst.items()},
        )
    ]
