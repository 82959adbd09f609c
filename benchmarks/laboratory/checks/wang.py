"""Wang and Vucetic: online training with the ramp loss."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from ..results import Results
from ..verdict import Check, checks_of
from ..words import count, listed, num, pct, points

RAMP, SETS, LABELS = "noise-ramp", "papers-ramp_sets", "papers-ramp_labels"
ASKS = "OnlineSVMR, asks in the ramp"


def _ramp(results: Results, name: str, learner: str, metric: str) -> float:
    return results.pick(RAMP, f"runs.{metric}", set=name, learner=learner).mean()


@checks_of("wang-fig-2")
def gauss(results: Results) -> Sequence[Check]:
    names = ("SVC", "OnlineSVMR", ASKS)
    accuracy = {who: _ramp(results, "Gauss", who, "accuracy") for who in names}
    size = {who: _ramp(results, "Gauss", who, "n_sv") for who in names}
    ratio = size["SVC"] / size["OnlineSVMR"]
    return [
        Check(
            "Accuracy: " + ", ".join(f"{who} {pct(accuracy[who])}" for who in names) + ".",
            min(accuracy.values()) > accuracy["SVC"] - 0.003,
        ),
        Check(
            f"OnlineSVMR has {num(size['OnlineSVMR'])} support vectors, SVC {num(size['SVC'])}: "
            f"{num(ratio)} times sparser.",
            ratio > 5,
        ),
        Check(f"Sparser by a factor of two at least: {num(ratio)}.", ratio > 2),
    ]


@checks_of("wang-fig-4a")
def kernel_values(results: Results) -> Sequence[Check]:
    ratios = {
        name: _ramp(results, name, "OnlineSVMR", "n_kernel_evaluations")
        / _ramp(results, name, "RampSVM", "n_kernel_evaluations")
        for name in ("NCheckerboard", "Gauss")
    }
    shown = ", ".join(f"{name} {num(value)}" for name, value in ratios.items())
    return [Check(f"Kernel values as a multiple of one offline fit: {shown}.", max(ratios.values()) < 2)]


def _sets(results: Results, learner: str, metric: str) -> dict[str, float]:
    return results.pick(SETS, metric, learner=learner).by("set")


@checks_of("wang-fig-4b")
def times(results: Results) -> Sequence[Check]:
    time = {who: _sets(results, who, "cpu") for who in ("IDSVM", "OnlineSVMR", ASKS)}
    sets = time["IDSVM"]
    return [
        Check(
            f"Gauss: {who} takes {num(time[who]['Gauss'])} s, IDSVM {num(sets['Gauss'])} s (less on "
            f"{sum(time[who][n] < sets[n] for n in sets)} of {len(sets)} sets).",
            time[who]["Gauss"] < 0.5 * sets["Gauss"],
        )
        for who in ("OnlineSVMR", ASKS)
    ]


@checks_of("wang-table-1")
def nine_sets(results: Results) -> Sequence[Check]:
    accuracy = {
        who: _sets(results, who, "accuracy") for who in ("SVC", "IDSVM", "KernelPA", "OnlineSVMR", ASKS)
    }
    size = {who: _sets(results, who, "support") for who in accuracy}
    names = list(accuracy["SVC"])
    lead = {n: accuracy["OnlineSVMR"][n] - accuracy["SVC"][n] for n in names}
    return [
        count(
            "OnlineSVMR is at most 0.5 points less accurate than SVC (NCheckerboard "
            f"{points(lead['NCheckerboard'])})",
            {n: lead[n] > -0.005 for n in names},
            0.8,
            lambda n: f"({points(lead[n])})",
        ),
        count(
            "It has fewer support vectors", {n: size["OnlineSVMR"][n] < size["SVC"][n] for n in names}, 0.8
        ),
        count(
            "The active version is within one point of it",
            {n: accuracy[ASKS][n] > accuracy["OnlineSVMR"][n] - 0.01 for n in names},
            0.8,
            lambda n: f"({points(accuracy[ASKS][n] - accuracy['OnlineSVMR'][n])})",
        ),
        count(
            "The passive-aggressive perceptron is less accurate than SVC",
            {n: accuracy["KernelPA"][n] < accuracy["SVC"][n] for n in names},
            0.7,
        ),
        count(
            "and has the most support vectors",
            {n: size["KernelPA"][n] >= max(size[w][n] for w in size) for n in names},
            0.7,
        ),
    ]


@checks_of("wang-fig-5")
def idle_rows(results: Results) -> Sequence[Check]:
    found = []
    for name in ("NCheckerboard", "Gauss"):
        full, thousand, hundred, none = (
            _ramp(results, name, f"OnlineSVMR{rest}", "accuracy")
            for rest in ("", ", 1000 idle", ", 100 idle", ", none idle")
        )
        saved = 1 - _ramp(results, name, "OnlineSVMR, 1000 idle", "n_kernel_evaluations") / _ramp(
            results, name, "OnlineSVMR", "n_kernel_evaluations"
        )
        found += [
            Check(
                f"{name}: keeping 1,000 costs {points(thousand - full)} and saves {pct(saved, 0)} of "
                "the kernel values.",
                thousand > full - 0.002 and saved > 0.3,
            ),
            Check(f"{name}: keeping 100 costs {points(hundred - full)}.", hundred > full - 0.005),
            Check(f"{name}: keeping none costs {points(none - full)}.", none < full - 0.01),
        ]
    return found


def _leads(results: Results, loop: str, other: str) -> dict[str, float]:
    """By how much a loop is more accurate than another with as many labels, 100 and more, by set."""
    rows = results.data(LABELS)["results"]
    accuracy: dict[tuple[str, str, int], list[float]] = {}
    for r in rows:
        if r["labels"] >= 100:
            accuracy.setdefault((r["learner"], r["set"], r["labels"]), []).append(r["accuracy"])
    found: dict[str, list[float]] = {}
    for learner, name, labels in accuracy:
        if learner == loop and (other, name, labels) in accuracy:
            lead = fmean(accuracy[loop, name, labels]) - fmean(accuracy[other, name, labels])
            found.setdefault(name, []).append(lead)
    return {name: fmean(values) for name, values in found.items()}


@checks_of("wang-fig-6")
def labels(results: Results) -> Sequence[Check]:
    everything, one, ramp = ("OnlineSVMR, all", "OnlineSVMR, one of 5", "OnlineSVMR, in the ramp")
    found = []
    for loop, text in ((one, "One of five"), (ramp, "Asking in the ramp")):
        leads = _leads(results, loop, everything)
        found.append(
            count(
                f"{text} is more accurate than asking for all",
                {n: lead > 0 for n, lead in leads.items()},
                0.8,
                lambda n, leads=leads: f"({points(leads[n])})",
            )
        )
    beside = _leads(results, ramp, one)
    won = [n for n, lead in beside.items() if lead > 0]
    found.append(
        Check(
            f"In the ramp beats one of five on {len(won)} of {len(beside)} ({listed(won) or 'none'}).",
            0 < len(won) < len(beside),
        )
    )
    for strategy in ("all", "one of 5"):
        leads = _leads(results, f"OnlineSVMR, {strategy}", f"IDSVM, {strategy}")
        found.append(
            count(
                f"The ramp loss beats the hinge loss, both {strategy.replace('5', 'five')},",
                {n: lead > 0 for n, lead in leads.items()},
                0.55,
                lambda n, leads=leads: f"({points(leads[n])})",
            )
        )
    return found
