"""Chapter 3 of Ertekin's thesis: LASVM and the selection of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..results import Results
from ..verdict import Check, checks_of
from ..words import ahead, common, count, mean, num, pct, points

DIGITS, FINISHING = "papers-digits", "papers-finishing"
ALL = "ten digits"
CLEAN, NOISY = ("waveform", "reuters", "usps"), ("banana", "adult", "usps+N")


def _digits(results: Results, learner: str, metric: str) -> dict[str, float]:
    found = results.pick(DIGITS, metric, learner=learner).by("set")
    return {name: value for name, value in found.items() if name != ALL}


@checks_of("ertekin-fig-3.1")
def errors(results: Results) -> Sequence[Check]:
    svc, one, two = (mean(_digits(results, name, "error")) for name in ("SVC", "LASVM x 1", "LASVM x 2"))
    first, tenth = (mean(_digits(results, f"averaged perceptron x {n}", "error")) for n in (1, 10))
    return [
        Check(f"Mean error over the digits: SVC {pct(svc)}, LASVM x 1 {pct(one)}.", one - svc < 0.0015),
        Check(f"LASVM x 2 has {pct(two)}, {points(two - svc)} from SVC.", abs(two - svc) < 0.0005),
        Check(f"The averaged perceptron has {pct(first)} after one epoch.", first > 1.5 * svc),
        Check(f"After ten it has {pct(tenth)}.", tenth - svc < 0.0025),
    ]


@checks_of("ertekin-fig-3.2")
def times(results: Results) -> Sequence[Check]:
    names = ("SVC", "LASVM x 1", "averaged perceptron x 1", "averaged perceptron x 10")
    svc, one, first, tenth = (sum(_digits(results, name, "cpu").values()) for name in names)
    return [
        Check(f"LASVM x 1 is {num(svc / one)} times as fast as SVC (three in the thesis).", svc / one > 2),
        Check(f"One epoch of the perceptron takes {num(first / one)} of LASVM's time.", first < one),
        Check(f"Ten epochs take {num(tenth / one)} times LASVM's time.", tenth > one),
    ]


@checks_of("ertekin-fig-3.3")
def time_and_size(results: Results) -> Sequence[Check]:
    found = []
    for learner in ("SVC", "LASVM x 1"):
        time, size = (_digits(results, learner, metric) for metric in ("cpu", "support"))
        r = float(np.corrcoef([time[k] for k in time], [size[k] for k in time])[0, 1])
        found.append(Check(f"{learner}: correlation of time and support vectors {r:.2f}.", r > 0.9))
    return found


@checks_of("ertekin-fig-3.4")
def ten_classes(results: Results) -> Sequence[Check]:
    names = ("SVC", "LASVM x 1", "LASVM x 2")
    error = {name: results.pick(DIGITS, "error", set=ALL, learner=name).mean() for name in names}
    time = {name: results.pick(DIGITS, "cpu", set=ALL, learner=name).mean() for name in names}
    svc, one, two = names
    ratios = {name: time[svc] / time[name] for name in (one, two)}
    return [
        Check(
            f"Errors of ten classes: SVC {pct(error[svc])}, x 1 {pct(error[one])}, x 2 {pct(error[two])}.",
            error[one] - error[svc] < 0.003 and abs(error[two] - error[svc]) < 0.001,
        ),
        Check(
            f"x 1 is {num(ratios[one])} times, x 2 {num(ratios[two])} times as fast as SVC.",
            ratios[one] > 2 and ratios[two] > 1,
        ),
    ]


@checks_of("ertekin-fig-3.5")
def sizes(results: Results) -> Sequence[Check]:
    svc, one, two = (_digits(results, name, "support") for name in ("SVC", "LASVM x 1", "LASVM x 2"))
    first = {key: one[key] / svc[key] for key in svc}
    second = {key: two[key] / svc[key] for key in svc}
    return [
        Check(f"One epoch has {pct(mean(first), 1)} of SVC's support vectors.", 0.8 < mean(first) < 1),
        Check(
            f"Two epochs have {pct(mean(second), 1)}.",
            abs(1 - mean(second)) < abs(1 - mean(first)) and mean(second) > 0.95,
        ),
    ]


@checks_of("ertekin-fig-3.6")
def cache(results: Results) -> Sequence[Check]:
    def time(learner: str, size: int) -> float:
        rows = results.data("papers-cache")["results"]
        return float(np.mean([r["cpu"] for r in rows if r["learner"] == learner and r["cache"] == size]))

    small, large, svc = time("LASVM x 1", 8), time("LASVM x 1", 1024), time("SVC", 1024)
    svc_small = time("SVC", 8)
    return [
        Check(f"LASVM with 8 MB takes {num(small / svc)} of SVC's time with 1,024 MB.", small < svc),
        Check(
            f"From 1,024 to 8 MB, LASVM slows down by a factor of {num(small / large)}, SVC by "
            f"{num(svc_small / svc)}.",
            small / large < svc_small / svc,
        ),
    ]


def _finishing(results: Results, learner: str, metric: str) -> dict[str, float]:
    return results.pick(FINISHING, metric, learner=learner).by("set")


@checks_of("ertekin-table-3.2")
def one_epoch(results: Results) -> Sequence[Check]:
    error, svc_error = (_finishing(results, name, "error") for name in ("LASVM x 1", "SVC"))
    size, svc_size = (_finishing(results, name, "support") for name in ("LASVM x 1", "SVC"))
    time, svc_time = (_finishing(results, name, "cpu") for name in ("LASVM x 1", "SVC"))
    ratios = {key: svc_time[key] / time[key] for key in time}
    keys = common(error, svc_error)
    largest = max(abs(error[key] - svc_error[key]) for key in keys)
    return [
        count(
            f"The error is within 0.3 points of SVC's (largest difference {pct(largest)})",
            {key: abs(error[key] - svc_error[key]) < 0.003 for key in keys},
            0.8,
        ),
        count("There are fewer support vectors than SVC has", {k: size[k] <= svc_size[k] for k in keys}, 0.8),
        Check(
            f"It is {num(min(ratios.values()))} to {num(max(ratios.values()))} times as fast as SVC.",
            max(ratios.values()) > 1,
        ),
    ]


@checks_of("ertekin-table-3.3")
def finishing_step(results: Results) -> Sequence[Check]:
    before, after = (
        {metric: _finishing(results, name, metric) for metric in ("error", "support")}
        for name in ("LASVM x 1, not finished", "LASVM x 1")
    )
    size = {key: after["support"][key] / before["support"][key] - 1 for key in after["support"]}
    error = {key: after["error"][key] / before["error"][key] - 1 for key in after["error"]}
    return [
        count(
            "On clean sets support vectors change by less than 5 %",
            {key: abs(size[key]) < 0.05 for key in CLEAN},
            detail=lambda key: f"({100 * size[key]:+.0f} %)",
        ),
        count(
            "On noisy sets the step removes support vectors or errors by more than 5 %",
            {key: size[key] < -0.05 or error[key] < -0.05 for key in NOISY},
            detail=lambda key: f"({100 * size[key]:+.0f} % and {100 * error[key]:+.0f} %)",
        ),
    ]


@checks_of("ertekin-fig-3.7")
def extra_optimization(results: Results) -> Sequence[Check]:
    rows = results.data(FINISHING)["results"]

    def value(learner: str, metric: str, delta: float | None = None) -> float:
        found = [r[metric] for r in rows if r["learner"] == learner and r.get("delta_max") == delta]
        return float(np.mean(found))

    plain, plain_two = (value(f"LASVM x {n}, as it is", "error") for n in (1, 2))
    tight, tight_two = (value(f"LASVM x {n}, delta_max", "error", 0.1) for n in (1, 2))
    loose = value("LASVM x 1, delta_max", "error", 100.0)
    return [
        Check(
            f"One epoch errs on {pct(tight)} with delta_max 0.1 and on {pct(plain)} without.",
            tight > plain + 0.001,
        ),
        Check(
            f"With two epochs it is {pct(tight_two)} and {pct(plain_two)}.",
            abs(tight_two - plain_two) < 0.003,
        ),
        Check(f"A delta_max of 100 behaves like none: {pct(loose)}.", abs(loose - plain) < 0.002),
    ]


def _selection(results: Results, rule: str, metric: str) -> dict[int, float]:
    return results.pick("lasvm-selection", f"points.{metric}", learner=rule, set="a9a").by("labels")


HALF_ADULT = 8_000  # labels; later gradient selection has learned nearly all rows that matter


@checks_of("ertekin-fig-3.8")
def adult_errors(results: Results) -> Sequence[Check]:
    svc = results.pick("lasvm-selection", "svc.error", set="a9a").mean()
    best = {
        rule: min(_selection(results, rule, "error").items(), key=lambda item: item[1])
        for rule in ("active", "autoactive")
    }
    last = list(_selection(results, "active", "error").values())[-1]
    gradient, random = (_selection(results, rule, "error") for rule in ("gradient", "random"))
    behind = {n: gradient[n] - random[n] for n in gradient if n <= HALF_ADULT}
    labels, error = best["active"]
    auto_labels, auto_error = best["autoactive"]
    return [
        Check(
            f"Active selection reaches {pct(error)} at {labels:,} labels; SVC has {pct(svc)}.", error < svc
        ),
        Check(f"Autoactive selection reaches {pct(auto_error)} at {auto_labels:,} labels.", auto_error < svc),
        Check(f"At the end of its curve active selection has {pct(last)}.", last > error),
        Check(
            f"Gradient selection is behind random selection (at {HALF_ADULT:,} labels by "
            f"{points(behind[HALF_ADULT])}).",
            sum(lost > 0.0025 for lost in behind.values()) > len(behind) / 2,
        ),
    ]


@checks_of("ertekin-fig-3.9")
def adult_sizes(results: Results) -> Sequence[Check]:
    svc = results.pick("lasvm-selection", "svc.error", set="a9a").mean()
    svc_size = results.pick("lasvm-selection", "svc.n_sv", set="a9a").mean()
    found = []
    for rule in ("active", "autoactive"):
        error, size = (_selection(results, rule, metric) for metric in ("error", "n_sv"))
        good = [size[n] for n in error if error[n] <= svc + 0.001]
        least = min(good, default=float("inf"))
        text = f"{rule} selection reaches it with {num(least)} support vectors, SVC has {num(svc_size)}."
        found.append(Check(text.capitalize(), least < svc_size / 2))
    return found


def _noise(results: Results, noise: str, rule: str, metric: str = "finished") -> dict[int, float]:
    return results.pick("query_strategies-noise", f"points.{metric}", learner=rule, at={"noise": noise}).by(
        "rows"
    )


def _kinds(results: Results) -> list[str]:
    return [r["noise"] for r in results.data("query_strategies-noise")["results"]]


@checks_of("ertekin-fig-3.10")
def clean_digits(results: Results) -> Sequence[Check]:
    active, gradient, random = (_noise(results, "none", rule) for rule in ("active", "gradient", "random"))
    active_time, random_time = (_noise(results, "none", rule, "cpu") for rule in ("active", "random"))
    last = max(random)
    equal = min((n for n in active if active[n] <= random[last]), default=last)
    ratio = active_time[equal] / random_time[last]
    return [
        Check(
            f"With 2,000 rows: active {active[2000]:.2f} %, gradient {gradient[2000]:.2f} %.",
            abs(active[2000] - gradient[2000]) < 0.2,
        ),
        Check(
            f"Active selection of {equal:,} rows has {active[equal]:.2f} %, {last:,} random rows "
            f"{random[last]:.2f} %.",
            equal <= last / 4,
        ),
        Check(f"It takes {num(ratio)} times the time of these random rows.", ratio < 2),
    ]


@checks_of("ertekin-fig-3.11")
def noisy_digits(results: Results) -> Sequence[Check]:
    found = []
    for kind in _kinds(results)[1:]:
        active, gradient, random = (_noise(results, kind, rule) for rule in ("active", "gradient", "random"))
        found.append(
            Check(
                f"{kind.capitalize()}, 4,000 rows: gradient {gradient[4000]:.1f} %, active "
                f"{active[4000]:.1f} %, random {random[4000]:.1f} %.",
                gradient[4000] > 2 * active[4000] and active[4000] < random[4000],
            )
        )
        calm = active[max(active)] - min(active.values())
        found.append(Check(f"Active selection then rises by {calm:.2f} points from its best.", calm < 0.3))
    return found


@checks_of("ertekin-fig-3.12")
def insensitive(results: Results) -> Sequence[Check]:
    kind = _kinds(results)[-1]
    clean, noisy = (_noise(results, noise, "active") for noise in ("none", kind))
    random = {noise: _noise(results, noise, "random") for noise in ("none", kind)}
    size = {
        (noise, rule): _noise(results, noise, rule, "support")
        for noise in ("none", kind)
        for rule in ("active", "random")
    }
    at, last = min(noisy, key=lambda n: noisy[n]), max(noisy)
    whole = size["none", "active"][last]
    return [
        Check(
            f"{last:,} random rows: {random[kind][last]:.2f} % and {num(size[kind, 'random'][last])} support "
            f"vectors, with clean labels {random['none'][last]:.2f} % and "
            f"{num(size['none', 'random'][last])}.",
            random[kind][last] > random["none"][last]
            and size[kind, "random"][last] > 1.5 * size["none", "random"][last],
        ),
        Check(
            f"Active selection errs least after {at:,} rows, with {num(size[kind, 'active'][at])} support "
            f"vectors; the model of clean labels has {num(whole)}.",
            size[kind, "active"][at] < 1.2 * whole,
        ),
        Check(
            f"Its error is then {noisy[at]:.2f} %, with clean labels {min(clean.values()):.2f} %.",
            noisy[at] < min(clean.values()) + 0.2,
        ),
    ]


@checks_of("ertekin-fig-3.13")
def updating(results: Results) -> Sequence[Check]:
    rows = results.data("papers-retraining")["results"]

    def value(learner: str, metric: str) -> dict[str, float]:
        names = dict.fromkeys(r["set"] for r in rows)
        return {
            n: float(
                np.mean(
                    [r[metric] for r in rows if (r["set"], r["learner"], r["labels"]) == (n, learner, 200)]
                )
            )
            for n in names
        }

    ours, slow, both = (
        value(n, "error") for n in ("updated, 50 drawn", "retrained, all searched", "updated, all searched")
    )
    random = value("random", "error")
    times = {
        n: value(n, "cpu") for n in ("updated, 50 drawn", "updated, all searched", "retrained, all searched")
    }
    quick, middle, slowest = times.values()
    return [
        Check(
            "Errors with 200 labels, updated and retrained with all searched: "
            + "; ".join(f"{n} {pct(both[n])} and {pct(slow[n])}" for n in both)
            + ".",
            all(both[n] < slow[n] + 0.003 for n in both),
        ),
        Check(
            "With 50 drawn: " + "; ".join(f"{n} {pct(ours[n])}" for n in ours) + ".",
            all(ours[n] < slow[n] + 0.003 for n in ours),
        ),
        ahead("All beat random selection", random, ours, 1.0),
        count(
            "Each of the two saves time",
            {n: quick[n] < middle[n] < slowest[n] for n in quick},
            detail=lambda n: f"({num(quick[n])}, {num(middle[n])}, {num(slowest[n])} s)",
        ),
    ]
