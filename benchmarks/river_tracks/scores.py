"""Accuracy of all learners on the streams of River's tracks, beside the published figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from time import process_time
from typing import Any

from ..harness.data import load
from ..harness.machine import say
from ..harness.report import NONE, fill, head, markdown, number
from ..harness.run import Data, Run

NAMES = ("bananas", "phishing", "segments", "elec2")
# What River published in 2023.
PUBLISHED = {
    "bananas": {"best of River": 0.8894, "adaptive random forest": 0.8870, "logistic regression": 0.5432},
    "phishing": {"streaming random patches": 0.9135, "logistic regression": 0.8872},
    "segments": {"aggregated Mondrian forest": 0.9017, "k-nearest neighbors": 0.8735},
    "elec2": {"ALMA": 0.9064, "leveraging bagging": 0.8927, "no change": 0.8533},
}
SLOW = ("River, adaptive random forest", "River, k-nearest neighbors")  # not on elec2: more than five minutes


def _stream(name: str) -> Iterable[tuple[dict[Any, Any], Any]]:
    from river import datasets

    if name == "elec2":
        data = load("elec2")
        return (
            (dict(enumerate(row.tolist())), int(label)) for row, label in zip(data.X, data.y, strict=True)
        )
    return {"bananas": datasets.Bananas, "phishing": datasets.Phishing, "segments": datasets.ImageSegments}[
        name
    ]()


def _learners(name: str) -> dict[str, Callable[[], Any]]:
    from river import dummy, forest, linear_model, neighbors, preprocessing

    from everlearn import LASVM, AdaptiveSVM
    from everlearn.compat.river import RiverClassifier

    def scaled(model: Any) -> Any:
        return preprocessing.StandardScaler() | model

    made: dict[str, Callable[[], Any]] = {
        "AdaptiveSVM()": lambda: RiverClassifier(AdaptiveSVM(random_state=0)),
        "LASVM()": lambda: RiverClassifier(LASVM(random_state=0)),
        "LASVM(), scaled": lambda: scaled(RiverClassifier(LASVM(random_state=0))),
        "River, adaptive random forest": lambda: forest.ARFClassifier(seed=42),
        "River, k-nearest neighbors": lambda: scaled(neighbors.KNNClassifier()),
        "no change": dummy.NoChangeClassifier,
        "majority class": dummy.PriorClassifier,
    }
    if name != "segments":
        made["River, logistic regression"] = lambda: scaled(linear_model.LogisticRegression())
        made["River, ALMA"] = lambda: scaled(linear_model.ALMAClassifier())
    return {key: make for key, make in made.items() if name != "elec2" or key not in SLOW}


def _accuracies(model: Any, rows: Iterable[tuple[dict[Any, Any], Any]]) -> Iterator[bool]:
    for x, y in rows:
        yield model.predict_one(x) == y
        model.learn_one(x, y)


def run_part(run: Run) -> None:
    """All learners on all streams; what is there already is not measured again."""
    for name in run.chosen(NAMES):
        for learner, make in _learners(name).items():
            if run.find(set=name, learner=learner):
                continue
            start = process_time()
            right = list(_accuracies(make(), islice(_stream(name), run.settings["rows"])))
            seconds = process_time() - start
            accuracy = sum(right) / len(right)
            say(f"{name}: {learner} {accuracy:.4f}, {number(seconds)} s")
            run.add(
                {"set": name, "learner": learner, "rows": len(right), "accuracy": accuracy, "cpu": seconds}
            )


def report(data: Data) -> str:
    """One table for each stream, the published figures among the measured ones."""
    parts = head("River's tracks", data)
    parts.append(
        fill(
            "Accuracy of predictions that come before the label, in percent; CPU seconds of the whole stream."
        )
    )
    for name in dict.fromkeys(result["set"] for result in data["results"]):
        mine = [result for result in data["results"] if result["set"] == name]
        lines = [(r["learner"], 100 * r["accuracy"], number(r["cpu"])) for r in mine]
        if not data["settings"]["quick"]:
            lines += [(f"*published: {key}*", 100 * value, NONE) for key, value in PUBLISHED[name].items()]
        lines.sort(key=lambda line: -line[1])
        table = markdown(("learner", "accuracy %", "CPU s"), [(a, f"{b:.2f}", c) for a, b, c in lines])
        parts.append(f"## {name}, {mine[0]['rows']:,} rows\n\n{table}")
    return "\n".join(parts)
