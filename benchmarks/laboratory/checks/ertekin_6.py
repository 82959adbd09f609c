"""Chapter 6 of Ertekin's thesis: wrong labels and the ramp loss."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..results import Results
from ..verdict import Check, checks_of
from ..words import count, num, pct

STAGES, TABLE, ENDS = "papers-stages", "noise-table", "papers-ramp_end"
NOISY = ("adult", "banana", "usps+N")


def _at(results: Results, name: str, learner: str, metric: str) -> dict[float, float]:
    return results.pick(STAGES, metric, set=name, learner=learner).by("share")


def _sets(results: Results) -> list[str]:
    return list(results.pick(STAGES, "error").by("set"))


@checks_of("ertekin-fig-6.1")
def gap(results: Results) -> Sequence[Check]:
    gaps = {name: _at(results, name, "LASVMG", "gap") for name in _sets(results)}
    first, last = ({name: gaps[name][share] for name in gaps} for share in (0.1, 1.0))
    return [
        count(
            "The gap for each row is smaller at the end of the pass than after a tenth",
            {name: last[name] < first[name] for name in gaps},
            detail=lambda name: f"({num(first[name])} to {num(last[name])})",
        )
    ]


@checks_of("ertekin-fig-6.2")
def intermediate(results: Results) -> Sequence[Check]:
    error, size = (
        {who: _at(results, "adult", who, metric) for who in ("LASVM", "LASVMG")}
        for metric in ("error", "support")
    )
    stages = [share for share in error["LASVM"] if share < 1]
    return [
        count(
            "LASVM-G errs less at stages of the pass",
            {f"{share:.0%}": error["LASVMG"][share] < error["LASVM"][share] for share in stages},
            0.8,
            lambda s: (
                f"({pct(error['LASVMG'][float(s[:-1]) / 100])}, {pct(error['LASVM'][float(s[:-1]) / 100])})"
            ),
        ),
        count(
            "It has fewer support vectors",
            {f"{share:.0%}": size["LASVMG"][share] < size["LASVM"][share] for share in stages},
            0.8,
        ),
    ]


def _table(results: Results, learner: str, metric: str) -> dict[str, float]:
    return results.pick(TABLE, metric, learner=learner).by("set")


@checks_of("ertekin-table-6.3")
def table(results: Results) -> Sequence[Check]:
    error = {who: _table(results, who, "error") for who in ("svc", "g", "nc", "i")}
    size = {who: _table(results, who, "n_sv") for who in ("svc", "full", "g", "nc", "i")}
    time = {who: _table(results, who, "median_cpu") for who in ("svc", "full", "g", "nc", "i")}
    worst = max(error[who][n] - error["svc"][n] for who in ("nc", "i") for n in error["svc"])
    return [
        Check(f"Errors of LASVM-NC and LASVM-I exceed SVC's by {pct(worst)} at most.", worst < 0.005),
        count(
            "On noisy sets LASVM-NC has less than two thirds of LASVM-G's support vectors",
            {n: size["nc"][n] < size["g"][n] * 2 / 3 for n in NOISY},
            detail=lambda n: f"({num(size['nc'][n])} and {num(size['g'][n])})",
        ),
        count(
            "LASVM-NC and LASVM-I are faster than SVC, FULL SVM and LASVM-G",
            {
                n: max(time["nc"][n], time["i"][n]) < min(time[w][n] for w in ("svc", "full", "g"))
                for n in time["svc"]
            },
            0.8,
        ),
    ]


@checks_of("ertekin-table-6.4")
def g_means(results: Results) -> Sequence[Check]:
    g = {who: _table(results, who, "g_means") for who in ("full", "nc", "i")}
    kernel = {who: _table(results, who, "n_kernel_evaluations") for who in ("full", "nc", "i")}
    shares = {n: kernel["nc"][n] / kernel["full"][n] for n in kernel["full"]}
    return [
        count(
            "g-means of LASVM-NC and LASVM-I is at most 0.5 points below FULL SVM",
            {n: min(g["nc"][n], g["i"][n]) > g["full"][n] - 0.005 for n in g["full"]},
            0.8,
            lambda n: f"({pct(min(g['nc'][n], g['i'][n]))} and {pct(g['full'][n])})",
        ),
        Check(
            f"LASVM-NC computes {pct(min(shares.values()), 0)} to {pct(max(shares.values()), 0)} of "
            "its kernel values.",
            max(shares.values()) < 0.7,
        ),
    ]


@checks_of("ertekin-fig-6.4")
def prbep(results: Results) -> Sequence[Check]:
    found = []
    for learner in ("LASVMG", "LASVMNC", "LASVMI"):
        stages = {}
        for name in _sets(results):
            mine, full = (_at(results, name, who, "prbep") for who in (learner, "FullSVM"))
            stages |= {f"{name} at {s:.0%}": mine[s] > full[s] - 0.02 for s in mine if s >= 0.2}
        found.append(count(f"{learner}: at most 2 points of PRBEP below FULL SVM", stages, 0.8))
    return found


def _end(results: Results, name: str, learner: str, metric: str) -> dict[float, float]:
    return results.pick(ENDS, metric, set=name, learner=learner).by("s")


@checks_of("ertekin-fig-6.5")
def ends(results: Results) -> Sequence[Check]:
    sets = list(results.pick(ENDS, "error").by("set"))
    near = {}
    for name in sets:
        error = _end(results, name, "LASVMNC", "error")
        near[name] = error[-1.0] - min(error.values())
    size = {name: _end(results, name, "LASVMNC", "support") for name in sets}
    nc, i = ({m: _end(results, "banana", w, m) for m in ("error", "support")} for w in ("LASVMNC", "LASVMI"))
    return [
        count(
            "s = -1 is within 0.3 points of the best error of LASVM-NC",
            {name: value < 0.003 for name, value in near.items()},
            detail=lambda name: f"({pct(near[name])} off)",
        ),
        count(
            "s = -5 brings support vectors back",
            {name: size[name][-5.0] > size[name][-1.0] for name in sets},
            detail=lambda name: f"({num(size[name][-5.0])} and {num(size[name][-1.0])})",
        ),
        count(
            "On Banana LASVM-NC has the smaller error",
            {f"s = {s:g}": nc["error"][s] <= i["error"][s] for s in nc["error"]},
            0.8,
        ),
        count(
            "and the fewer support vectors",
            {f"s = {s:g}": nc["support"][s] <= i["support"][s] for s in nc["error"]},
            0.8,
        ),
    ]


def _ordered(results: Results, metric: str, order: Sequence[str], names: Sequence[str], text: str) -> Check:
    values = {n: {who: _at(results, n, who, metric)[1.0] for who in order} for n in names}
    return count(
        text,
        {n: all(values[n][a] <= values[n][b] for a, b in pairwise(order)) for n in names},
        0.75,
        lambda n: "(" + ", ".join(f"{who} {num(values[n][who])}" for who in order) + ")",
    )


@checks_of("ertekin-fig-6.6")
def kernel_values(results: Results) -> Sequence[Check]:
    names = _sets(results)
    ratios = {
        n: _at(results, n, "FullSVM", "kernel")[1.0] / _at(results, n, "LASVMG", "kernel")[1.0] for n in names
    }
    return [
        Check(
            f"FULL SVM computes {num(min(ratios.values()))} to {num(max(ratios.values()))} times the "
            "kernel values of LASVM-G.",
            min(ratios.values()) > 1.2,
        ),
        _ordered(
            results,
            "kernel",
            ("LASVMNC", "LASVMG"),
            NOISY,
            "On noisy sets LASVM-NC computes fewer than LASVM-G",
        ),
        _ordered(results, "kernel", ("LASVMI", "LASVMNC"), names, "LASVM-I computes fewest"),
    ]


@checks_of("ertekin-fig-6.7")
def support_vectors(results: Results) -> Sequence[Check]:
    both = ("LASVMG", "FullSVM")
    text = "On noisy sets {} has fewer support vectors than LASVM-G and FULL SVM"
    return [
        *(
            count(
                text.format(who),
                {
                    n: _at(results, n, who, "support")[1.0]
                    < min(_at(results, n, b, "support")[1.0] for b in both)
                    for n in NOISY
                },
            )
            for who in ("LASVMNC", "LASVMI")
        ),
        _ordered(results, "support", ("LASVMNC", "LASVMI"), NOISY, "LASVM-NC has fewest"),
    ]


@checks_of("ertekin-fig-6.8")
def times(results: Results) -> Sequence[Check]:
    time = {who: _table(results, who, "median_cpu") for who in ("full", "g", "nc", "i")}
    ratio = {n: time["full"][n] / time["i"][n] for n in time["i"]}
    rows = results.pick(TABLE, "rows", learner="").by("set")
    large, small = max(rows, key=lambda n: rows[n]), min(rows, key=lambda n: rows[n])
    return [
        count(
            "LASVM-I is fastest, then LASVM-NC, LASVM-G, FULL SVM",
            {n: time["i"][n] <= time["nc"][n] <= time["g"][n] <= time["full"][n] for n in time["i"]},
            0.8,
        ),
        Check(
            f"FULL SVM takes {num(ratio[small])} times LASVM-I's time on {small} and "
            f"{num(ratio[large])} on {large}.",
            ratio[large] > ratio[small],
        ),
    ]
