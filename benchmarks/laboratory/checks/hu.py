"""Hu et al.: KOIL."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from scipy.stats import ttest_rel

from ...koil.paper import PAPER, PAPER_COUNTS
from ..results import Results
from ..verdict import Check, checks_of
from ..words import count, num, points

TABLE, FIGURES = "koil-table", "papers-koil_figures"
BUDGET = 100  # of the authors' program
RAW = "poker, raw"  # as the authors distribute it; their figures are of these rows


def _runs(results: Results, learner: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for row in results.pick(TABLE, "auc", learner=learner):
        found.setdefault(row.set, []).append(row.value)
    found["poker"] = found.pop(RAW)
    return found


@checks_of("hu-table-2")
def table(results: Results) -> Sequence[Check]:
    found = []
    for learner in ("RS++", "FIFO++"):
        auc = _runs(results, learner)
        printed = {name: line[learner] for name, line in PAPER.items()}
        good = {
            name: 1000 * fmean(auc[name]) >= figure[0] - figure[1]
            for name, figure in printed.items()
            if figure is not None
        }
        text = f"{learner}: AUC is within one printed standard deviation, or above"
        found.append(count(text, good, 0.8))
    return found


@checks_of("hu-table-2-wins")
def wins(results: Results) -> Sequence[Check]:
    ours = [_runs(results, learner) for learner in ("RS++", "FIFO++")]
    found = []
    for learner, (printed, _, _) in PAPER_COUNTS.items():
        theirs = _runs(results, learner)
        won = sum(
            any(
                fmean(mine[name]) > fmean(theirs[name]) and ttest_rel(mine[name], theirs[name]).pvalue < 0.05
                for mine in ours
            )
            for name in theirs
        )
        text = f"{learner}: significantly better on {won} of {len(theirs)} sets (paper: {printed})."
        found.append(Check(text, won >= len(theirs) / 2))
    return found


def _auc(results: Results, learner: str, **at: float | None) -> dict[str, float]:
    rows = results.data(FIGURES)["results"]
    mine = [r for r in rows if r["learner"] == learner and all(r.get(k) == v for k, v in at.items())]
    return {n: fmean(r["auc"] for r in mine if r["set"] == n) for n in dict.fromkeys(r["set"] for r in mine)}


@checks_of("hu-fig-compensation")
def compensation(results: Results) -> Sequence[Check]:
    whole = _auc(results, "no limit")
    found = []
    for plain in ("rs", "fifo"):
        bare, plus = (_auc(results, name, budget=BUDGET, neighbors=10) for name in (plain, f"{plain}++"))
        full = [n for n in whole if bare[n] != whole[n]]  # sets whose rows fill the buffers
        lost, kept = (fmean(whole[n] - table[n] for n in full) for table in (bare, plus))
        found += [
            count(
                f"{plain.upper()}++ has a higher AUC than {plain.upper()} where buffers are full,",
                {n: plus[n] > bare[n] for n in full},
                0.7,
                lambda n, a=plus, b=bare: f"({points(a[n] - b[n])})",
            ),
            Check(
                f"There {plain.upper()}++ is {points(-kept)} from keeping all rows, {plain.upper()} "
                f"{points(-lost)}.",
                kept < 0.01 < lost,
            ),
        ]
    return found


@checks_of("hu-fig-buffers")
def buffers(results: Results) -> Sequence[Check]:
    tiny, some, many = (_auc(results, "rs++", budget=size, neighbors=10) for size in (5, 100, 200))
    return [
        count(
            "100 and 200 rows of each class are within one point",
            {n: abs(some[n] - many[n]) < 0.01 for n in some},
        ),
        count(
            "Five rows are more than one point below",
            {n: tiny[n] < many[n] - 0.01 for n in some},
            0.8,
            lambda n: f"({points(tiny[n] - many[n])})",
        ),
    ]


@checks_of("hu-fig-neighbors")
def neighbors(results: Results) -> Sequence[Check]:
    by_k = {k: _auc(results, "rs++", budget=100, neighbors=k) for k in (1, 3, 5, 10, 20, 50)}
    names = list(by_k[10])
    best = {n: max(by_k, key=lambda k, n=n: by_k[k][n]) for n in names}
    noisy = [n for n in ("diabetes", "german", "heart", "australian") if n in names]
    shown = ", ".join(f"{n} {best[n]}" for n in names)
    lost = fmean(by_k[10][n] - by_k[1][n] for n in names)
    return [
        count(
            f"On noisy sets the best k is at most 10 (best k: {shown})",
            {n: best[n] <= 10 for n in noisy},
            0.75,
        ),
        Check(f"k = 1 is {num(100 * lost)} points of AUC below k = 10 in the mean.", lost > 0.005),
    ]
