"""Somebody labels with the service, with some mistakes, while the truth is known."""

from __future__ import annotations

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
OVERLAP = 0.4  # of the rows, which two people answer
KINDS = ("right answers", "one person, mistakes", "two people, mistakes")
WORDS = """{labels} answers, {pool} rows in the pool, {sessions} sessions for each set and kind of answers; of
{mistakes} % mistakes, or none. Two people answer {overlap} % of the rows, and the others are answered by one
of them. *Interval*: looks every 50 answers at which the interval of the accuracy contains the one on {test}
other rows, the mean difference (shown minus true, in points), and the mean width. With one person, what is
shown is the agreement with the answers, and it is compared with that."""
GAIN_WORDS = """One person with {mistakes} % mistakes. *Gain*: what 100 more labels were expected to bring,
and brought, in points, mean over the looks with 30 checks. *Stop*: in how many sessions, and after how many
labels in the mean, at most g points were expected (90 % sure), and what the labels up to the end still
brought."""
SUSPECT_WORDS = """*Suspects* after the last label: how many labels are suspected, of which so many are wrong
answers, for several thresholds of the margin of an outlier and of the margin for a model without the row;
and how many labels are wrong in all. At most 20 labels are left out at a time."""


def run_part(run: Run) -> None:
    """One set after the other."""
    settings = run.settings
    for name in run.missing(run.chosen(names(settings), names(settings)[:1])):
        say(name)
        sessions = {
            kind: [
                session(name, settings["labels"], settings["mistakes"], settings["seed"] + k, kind)
                for k in range(settings["sessions"])
            ]
            for kind in KINDS
        }
        run.add({"set": name, "sessions": sessions})


def session(name: str, labels: int, mistakes: float, seed: int, kind: str) -> dict[str, Any]:
    """What the service said at every look, beside the truth."""
    from everlearn.serve.service import AnswerIn, LearningService, ServiceSettings

    X, y = rows_of(name, seed)
    random, classes = np.random.default_rng(seed + 1), sorted(set(y))
    people = ["ann", "bob"] if kind == KINDS[2] else ["ann"]
    mistakes = 0.0 if kind == KINDS[0] else mistakes
    overlap = ServiceSettings(overlap_answers=len(people), overlap_fraction=OVERLAP)
    test = X[POOL:]
    wrong: set[Any] = set()
    looks: list[dict[str, Any]] = []
    with LearningService(":memory:", overlap, random_state=seed) as service:
        upload = service.inspect_upload(as_csv(X[:POOL]), "rows.csv").upload
        service.set_up(upload, classes=classes)
        for n in range(1, labels + 1):
            person = people[n % len(people)]
            (question,) = service.lease_questions(person).questions
            label = y[int(question.id)]
            if random.random() < mistakes:
                label = str(random.choice([other for other in classes if other != label]))
                wrong.add(question.id)
            service.answer(person, [AnswerIn(question.id, "label", str(n), label)])
            if n % EVERY == 0:
                found = service.measure()
                predicted = service.learner.predict(test)
                true = float(np.mean([a == b for a, b in zip(predicted, y[POOL:], strict=True)]))
                agree = true * (1 - mistakes) + (1 - true) * mistakes / (len(classes) - 1)
                accuracy, stopping = found["accuracy"], found["stopping"]
                shown = agree if accuracy and accuracy["of"] == "answers" else true
                looks.append(
                    {
                        "labels": n,
                        "true": true,
                        "compared": shown,
                        "accuracy": accuracy,
                        "expected": stopping["expected_gain_100"],
                        "largest": stopping["largest_gain_100"],
                        "baseline": found["baseline"],
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
    """Accuracy; gain and stop signal; suspected mistakes."""
    settings, results = data["settings"], data["results"]
    title = "Labeling with the service" + ", for development" * settings.get("develop", False)
    about = {
        **{key: settings[key] for key in ("labels", "sessions")},
        "mistakes": f"{100 * settings['mistakes']:g}",
        "overlap": f"{100 * OVERLAP:g}",
        "pool": POOL,
        "test": POOL,
    }
    accuracy = [
        [r["set"], *(part for kind in KINDS for part in _accuracy_of(r["sessions"][kind]))] for r in results
    ]
    columns = ["set", *(f"{kind}: {part}" for kind in KINDS for part in ("inside", "off", "width"))]
    noisy = {r["set"]: r["sessions"][KINDS[1]] for r in results}
    gains = [[name, *_gain_of(sessions)] for name, sessions in noisy.items()]
    gain_columns = [
        "set", "gain expected", "gain", *(f"stop at {100 * g:g}" for g in GAINS), "accuracy at the end",
    ]  # fmt: skip
    pairs = [f"{o:g} / {left:g}" for o in OUTLIERS for left in LEFT_OUT]
    suspects = [[name, *_suspects_of(sessions)] for name, sessions in noisy.items()]
    return "\n\n".join([
        *head(title, data), fill(WORDS.format(**about)), markdown(columns, accuracy),
        fill(GAIN_WORDS.format(**about)), markdown(gain_columns, gains),
        fill(SUSPECT_WORDS), markdown(["set", "wrong", *pairs], suspects),
    ]) + "\n"  # fmt: skip


def _accuracy_of(sessions: list[dict[str, Any]]) -> list[str]:
    looks = [look for one in sessions for look in one["looks"] if look["accuracy"]]
    if not looks:
        return ["-", "-", "-"]
    inside = [look["accuracy"]["low"] <= look["compared"] <= look["accuracy"]["high"] for look in looks]
    off = [look["accuracy"]["value"] - look["compared"] for look in looks]
    width = [look["accuracy"]["high"] - look["accuracy"]["low"] for look in looks]
    return [
        f"{sum(inside)} of {len(inside)}",
        f"{100 * float(np.mean(off)):+.1f}",
        f"{100 * float(np.mean(width)):.0f}",
    ]


def _gain_of(sessions: list[dict[str, Any]]) -> list[str]:
    pairs, ends = [], []
    stops: dict[float, list[tuple[int, float]]] = {gain: [] for gain in GAINS}
    for one in sessions:
        true = {look["labels"]: look["true"] for look in one["looks"]}
        end = max(true)
        ends.append(true[end])
        pairs += [
            (look["expected"], true[look["labels"] + 100] - look["true"])
            for look in one["looks"]
            if look["expected"] is not None and look["labels"] + 100 in true
        ]
        for gain, found in stops.items():
            sure = [look for look in one["looks"] if look["largest"] is not None and look["largest"] < gain]
            found += [(look["labels"], true[end] - look["true"]) for look in sure[:1]]
    means = np.mean(pairs, axis=0) if pairs else (np.nan, np.nan)
    line = [f"{100 * float(mean):.1f}" for mean in means]
    for found in stops.values():
        labels, later = np.mean(found, axis=0) if found else (0, 0)
        line.append(f"{len(found)}: {labels:.0f}, {100 * later:+.1f}" if found else "never")
    return [*line, f"{100 * float(np.mean(ends)):.1f}"]


def _suspects_of(sessions: list[dict[str, Any]]) -> list[str]:
    found = zip(*(one["suspects"] for one in sessions), strict=True)
    return [
        str(sum(one["wrong"] for one in sessions)),
        *(f"{sum(s['right'] for s in same)} of {sum(s['found'] for s in same)}" for same in found),
    ]
