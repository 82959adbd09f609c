"""Somebody labels with the service, with some mistakes, while the truth is known."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..harness.machine import say
from ..harness.report import fill, head, markdown
from ..harness.run import Data, Run
from .rows import CHOSEN_ON, POOL, REPORTED, as_csv, names, rows_of

NAMES = (*REPORTED, *CHOSEN_ON)
EVERY = 50  # labels between two looks
OUTLIERS, LEFT_OUT = (-0.75, -1.0, -1.5), (-0.25, -0.5, -0.75)
GAINS = (0.005, 0.01, 0.02)
WORDS = """{labels} labels with {mistakes} % wrong answers, {pool} rows in the pool. *Interval*: looks every
50 labels at which the interval of the accuracy contains the accuracy on {test} other rows, and the mean
difference (shown minus true, in points). *Gain*: what 100 more labels were expected to bring, and brought, in
points, mean over the looks with 30 checks. *Stop*: the first look at which at most g points are expected
(90 % sure), and what the labels up to the end still brought."""
SUSPECT_WORDS = """*Suspects* after the last label: how many labels are suspected, of which so many are wrong
answers, for several thresholds of the margin of an outlier and of the margin for a model without the row;
and how many labels are wrong in all. At most 20 labels are left out at a time."""


def run_part(run: Run) -> None:
    """One set after the other."""
    for name in run.missing(run.chosen(names(run.settings), names(run.settings)[:1])):
        say(name)
        run.add(
            {"set": name, **session(name, **{k: run.settings[k] for k in ("labels", "mistakes", "seed")})}
        )


def session(name: str, labels: int, mistakes: float, seed: int) -> dict[str, Any]:
    """What the service said at every look, beside the truth."""
    from everlearn.serve.service import AnswerIn, LearningService

    X, y = rows_of(name, seed)
    random, classes = np.random.default_rng(seed + 1), sorted(set(y))
    test = X[POOL:]
    wrong: set[Any] = set()
    looks: list[dict[str, Any]] = []
    with LearningService(":memory:") as service:
        upload = service.inspect_upload(as_csv(X[:POOL]), "rows.csv").upload
        service.set_up(upload, classes=classes)
        for n in range(1, labels + 1):
            (question,) = service.lease_questions("ann").questions
            label = y[int(question.id)]
            if random.random() < mistakes:
                label = str(random.choice([other for other in classes if other != label]))
                wrong.add(question.id)
            service.answer("ann", [AnswerIn(question.id, "label", str(n), label)])
            if n % EVERY == 0:
                time.sleep(1.01)  # parts of the status are kept for a second
                status = service.status()
                true = float(
                    np.mean([a == b for a, b in zip(service.learner.predict(test), y[POOL:], strict=True)])
                )
                stopping = status["stopping"]
                looks.append(
                    {
                        "labels": n,
                        "true": true,
                        "accuracy": status["accuracy"],
                        "expected": stopping["expected_gain_100"],
                        "largest": stopping["largest_gain_100"],
                        "baseline": status["baseline"],
                    }
                )
        suspects = [
            {
                "outlier": outlier,
                "left_out": left_out,
                "found": len(found),
                "right": sum(r in wrong for r, _ in found),
            }
            for outlier in OUTLIERS
            for left_out in LEFT_OUT
            for found in [service.learner.suspected_mistakes(outlier=outlier, left_out=left_out)]
        ]
    return {"looks": looks, "suspects": suspects, "wrong": len(wrong)}


def report(data: Data) -> str:
    """Accuracy and stop signal; suspected mistakes."""
    settings, results = data["settings"], data["results"]
    title = "Labeling with the service" + ", for development" * settings.get("develop", False)
    words = WORDS.format(
        labels=settings["labels"], mistakes=f"{100 * settings['mistakes']:g}", pool=POOL, test=POOL
    )
    lines = [_accuracy_line(r) for r in results]
    gains = [f"stop at {100 * g:g}" for g in GAINS]
    columns = ["set", "interval", "difference", "gain expected", "gain", *gains, "accuracy at the end"]
    pairs = [f"{o:g} / {left:g}" for o in OUTLIERS for left in LEFT_OUT]
    suspects = [
        [r["set"], str(r["wrong"]), *(f"{s['right']} of {s['found']}" for s in r["suspects"])]
        for r in results
    ]
    return "\n\n".join([
        *head(title, data), fill(words), markdown(columns, lines),
        fill(SUSPECT_WORDS), markdown(["set", "wrong", *pairs], suspects),
    ]) + "\n"  # fmt: skip


def _accuracy_line(result: dict[str, Any]) -> list[str]:
    looks = [look for look in result["looks"] if look["accuracy"]]
    inside = [look["accuracy"]["low"] <= look["true"] <= look["accuracy"]["high"] for look in looks]
    off = [look["accuracy"]["value"] - look["true"] for look in looks]
    true = {look["labels"]: look["true"] for look in result["looks"]}
    pairs = [
        (look["expected"], true[look["labels"] + 100] - look["true"])
        for look in looks
        if look["expected"] is not None and look["labels"] + 100 in true
    ]
    end = max(true)
    line = [
        result["set"],
        f"{sum(inside)} of {len(inside)}",
        f"{100 * float(np.mean(off)):+.1f}" if off else "-",
    ]
    line += [
        f"{100 * float(np.mean(part)):.1f}" if pairs else "-"
        for part in (zip(*pairs, strict=True) if pairs else ((), ()))
    ]
    for gain in GAINS:
        first = next((look for look in looks if look["largest"] is not None and look["largest"] < gain), None)
        line.append(
            "never" if first is None else f"{first['labels']}: {100 * (true[end] - first['true']):+.1f}"
        )
    return [*line, f"{100 * true[end]:.1f}"]
