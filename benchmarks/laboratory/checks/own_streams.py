"""What this project claims of itself: streams, asking, survival."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from ...active_learning.data import PUBLISHED as AUBC
from ...river_tracks.scores import PUBLISHED as RIVER
from ..results import Results
from ..verdict import Check, checks_of
from ..words import count, listed, num, pct, points

SCORES, RIVERS = "streams-scores", "river_tracks-scores"
OURS = "everlearn, as it comes"


@checks_of("everlearn-streams-scores")
def scores(results: Results) -> Sequence[Check]:
    found = []
    names = dict.fromkeys(row.learner for row in results.rows(SCORES))
    peers = [name for name in names if name.startswith(("River", "scikit-learn"))]
    for rate in sorted({dict(row.at)["rate"] for row in results.rows(SCORES)}):
        by_set = {
            n: results.pick(SCORES, "mcc", learner=n, at={"rate": rate}).by("set") for n in (OURS, *peers)
        }
        means = {n: fmean(table.values()) for n, table in by_set.items() if len(table) == len(by_set[OURS])}
        best = max((n for n in means if n != OURS), key=lambda n: means[n])
        wins = sum(by_set[OURS][n] > by_set[best][n] for n in by_set[OURS])
        found.append(
            Check(
                f"With {rate:.0%} of the labels: {100 * means[OURS]:.1f}, the best of "
                f"{len(means) - 1} others "
                f"({best}) {100 * means[best]:.1f}; ahead on {wins} of {len(by_set[OURS])} streams.",
                means[OURS] > means[best],
            )
        )
    return found


@checks_of("everlearn-streams-flat")
def flat(results: Results) -> Sequence[Check]:
    (run,) = results.data("streams-size")["results"]
    tenths = run["tenths"]
    time = tenths[-1]["cpu_ms"]["median"] / tenths[4]["cpu_ms"]["median"]
    memory = tenths[-1]["resident_mb"] / tenths[4]["resident_mb"]
    early = tenths[-1]["cpu_ms"]["median"] / tenths[0]["cpu_ms"]["median"]
    return [
        Check(f"CPU time of 1,000 rows: {num(time)} times that of the fifth tenth.", time < 1.15),
        Check(f"Memory: {num(memory)} times that of the fifth tenth.", memory < 1.15),
        Check(
            f"CPU time against the first tenth, before the limit of rows is reached: {num(early)}.",
            early < 1.15,
        ),
    ]


@checks_of("everlearn-river-tracks")
def river(results: Results) -> Sequence[Check]:
    ours = results.pick(RIVERS, "accuracy", learner="AdaptiveSVM()").by("set")
    still = results.pick(RIVERS, "accuracy", learner="no change").by("set")
    found = []
    for name, published in RIVER.items():
        best = max(published, key=lambda n: published[n])
        found.append(
            Check(
                f"{name}: {pct(ours[name])}, published {pct(published[best])} ({best}), no change "
                f"{pct(still[name])}.",
                ours[name] >= published[best],
            )
        )
    return found


@checks_of("everlearn-calibration-streams")
def calibration(results: Results) -> Sequence[Check]:
    better, covered = {}, {}
    for result in results.data("calibration-streams")["results"]:
        readers = result["readers"]
        key = f"{result['stream']} at {result['rate']:.0%}{', asking' if result['ask'] else ''}"
        if "LASVM, auto" in readers and "LASVM, not calibrated" in readers:
            better[key] = readers["LASVM, auto"]["brier"] <= readers["LASVM, not calibrated"]["brier"]
        if "coverage" in readers.get("LASVM, auto", {}):
            covered[key] = abs(readers["LASVM, auto"]["coverage"] - 0.9) < 0.03
    return [
        count("The Brier score is smaller than without calibration", better, 0.9),
        count("Sets cover 87 to 93 %", covered, 0.9),
    ]


@checks_of("everlearn-calibration-tables")
def calibration_tables(results: Results) -> Sequence[Check]:
    names = ("CalibratedClassifier(LASVM)", "CalibratedClassifierCV(SVC), sigmoid")
    ours, theirs = (results.pick("calibration-tables", "brier", learner=n).by("set") for n in names)
    time, slow = (
        fmean(results.pick("calibration-tables", "cpu", learner=n).by("set").values()) for n in names
    )
    return [
        count(
            "The Brier score is at most 0.005 above",
            {n: ours[n] <= theirs[n] + 0.005 for n in ours},
            0.9,
            lambda n: f"({ours[n]:.3f} and {theirs[n]:.3f})",
        ),
        Check(f"It takes {num(time / slow)} of the CPU time.", time < slow),
    ]


@checks_of("everlearn-asking-public")
def public(results: Results) -> Sequence[Check]:
    rows = {name: [] for name in AUBC}
    for row in results.pick("active_learning-aubc", "aubc", learner="auto"):
        rows[row.set].append(row.value)
    measured = {n: values for n, values in rows.items() if values}
    error = {
        n: (sum((v - fmean(x)) ** 2 for v in x) / (len(x) - 1) / len(x)) ** 0.5 for n, x in measured.items()
    }
    random = results.pick("active_learning-aubc", "aubc", learner="uniform").by("set")
    missing = [n for n in AUBC if n not in measured]
    note = f"; not measured: {listed(missing)}" if missing else ""
    return [
        count(
            f"AUBC is at most two standard errors below the published margin sampling{note};",
            {n: fmean(x) > AUBC[n][0] - 2 * error[n] for n, x in measured.items() if AUBC[n]},
            detail=lambda n: f"({fmean(measured[n]):.4f} and {AUBC[n][0]:.4f})",
        ),
        count("It is above random queries", {n: fmean(x) > random[n] for n, x in measured.items()}),
    ]


@checks_of("everlearn-asking-cost")
def cost(results: Results) -> Sequence[Check]:
    found = {r["peer"]: r for r in results.data("query_strategies-questions")["results"]}
    each = {n: r["total"] / r["questions"] for n, r in found.items()}
    mine = each["ours, 59 drawn"]
    return [
        Check(f"A query takes {1000 * mine:.1f} ms of CPU time.", mine < 0.01),
        *(
            Check(f"{name}: {num(each[name] / mine)} times as much.", each[name] / mine >= 100)
            for name in ("scikit-activeml, calibrated SVC", "SVC anew, full search")
        ),
        Check(
            f"SVC retrained with 59 rows drawn: {num(each['SVC anew, 59 drawn'] / mine)} times as much.",
            each["SVC anew, 59 drawn"] > mine,
        ),
    ]


@checks_of("everlearn-asking-imbalance")
def imbalance(results: Results) -> Sequence[Check]:
    part = "active_learning-imbalance"
    return [
        count(
            f"{metric}: above random queries",
            {
                n: value > results.pick(part, f"means.{metric}", learner="Random").by("set")[n]
                for n, value in results.pick(part, f"means.{metric}", learner="Auto").by("set").items()
            },
            0.9,
        )
        for metric in ("g_means", "auc", "prbep")
    ]


MAGELLAN = {"dblp_acm": 98.4, "amazon_google": 49.1}  # F1 with all labels, as DeepMatcher's paper prints it


@checks_of("everlearn-asking-linkage")
def linkage(results: Results) -> Sequence[Check]:
    part = "linkage-peers"
    ours = results.pick(part, "runs.250", learner="everlearn").by("set")
    tools = {
        "dedupe": results.pick(part, "runs.250", learner="dedupe").by("set"),
        "recordlinkage": results.pick(part, "runs.250", learner="recordlinkage").by("set"),
        "splink (no labels)": results.pick(part, "runs.0", learner="splink").by("set"),
    }
    asked = results.pick("linkage-curves", "active.curve.250").by("set")
    return [
        *(
            count(
                f"Above {tool}",
                {n: ours[n] > f1[n] for n in ours},
                detail=lambda n, f1=f1: f"({ours[n]:.1f} and {f1[n]:.1f})",
            )
            for tool, f1 in tools.items()
        ),
        count(
            "At or above Magellan with all labels",
            {n: asked[n] >= f1 for n, f1 in MAGELLAN.items()},
            detail=lambda n: f"({asked[n]:.1f} and {MAGELLAN[n]:.1f})",
        ),
    ]


@checks_of("everlearn-survival-soak")
def soak(results: Results) -> Sequence[Check]:
    data = results.data("soak-stream")
    tenths = data if isinstance(data, list) else data["results"]
    second, last = tenths[1], tenths[-1]
    rows = last["rows"] / 1e6
    time = last["cpu"] / last["counted"] / (second["cpu"] / second["counted"])
    memory = last["resident_mb"] / second["resident_mb"]
    opening = last["open_s"] / second["open_s"]
    return [
        Check(
            f"{rows:.0f} million rows: CPU time per row {points(time - 1, 0).replace(' points', ' %')}.",
            time < 1.15,
        ),
        Check(f"Memory from {num(second['resident_mb'])} to {num(last['resident_mb'])} MB.", memory < 1.15),
        Check(f"Opening takes {num(second['open_s'])} s and {num(last['open_s'])} s.", opening < 1.3),
    ]


@checks_of("everlearn-survival-torture")
def torture(results: Results) -> Sequence[Check]:
    found = results.data("soak-torture")["results"]
    broken = [r["scenario"] for r in found if not r["holds"]]
    checked = sum(r["checked"] for r in found)
    what = f"lost or changed in {listed(broken)}" if broken else "nothing was lost or changed"
    return [Check(f"{len(found)} scenarios, {checked:,} checks: {what}.", not broken)]
