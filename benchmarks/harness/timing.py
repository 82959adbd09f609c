"""Interleaved, repeated fits of several peers on one data set, and their medians."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from .data import Task
from .machine import say
from .peer import Peer
from .report import middle, number
from .worker import PeerFailed, Worker


def _wanted(measures: list[dict[str, Any]], budget: float, repeats: int) -> int:
    """How often to measure a peer: as its budget of seconds allows, at least once."""
    return max(1, min(repeats, int(budget // max(median(m["seconds"] for m in measures), 1e-9))))


class Comparison:
    """One data set: the processes of its peers, and their results."""

    def __init__(
        self, task: Task, folder: Path, peers: Mapping[str, type[Peer]], settings: dict[str, Any]
    ) -> None:
        self.task, self.settings, self.peers = task, settings, peers
        self.result: dict[str, Any] = task.describe() | {"peers": {}}
        self.workers: dict[str, Worker] = {}
        for name, peer in peers.items():
            self.result["peers"][name] = {
                "label": peer.label,
                "fits": [],
                "predicts": [],
                "reason": None,
                "once": False,
            }
            worker = Worker(folder, peer, settings["threads"], settings["cache"])
            try:
                self.workers[name] = worker.ready()  # one after the other: nothing runs beside a measurement
            except PeerFailed as error:
                self.failed(name, error)
                worker.stop()

    def failed(self, name: str, error: PeerFailed) -> None:
        """Note why a peer gives no more results, and end its process."""
        entry = self.result["peers"][name]
        entry["reason"], entry["stopped_after"] = str(error), error.seconds
        say(f"{self.task.title}: {entry['label']} failed: {error}")
        worker = self.workers.pop(name, None)
        if worker is not None:
            worker.stop()

    def round(self, name: str) -> None:
        """One more fit of one peer, and a prediction where it is wanted."""
        entry, worker = self.result["peers"][name], self.workers[name]
        context: dict[str, Any] = {}
        if name == "floor":
            if not hasattr(self, "found"):
                raise PeerFailed("needs the kernel count of a fit of ours")
            context = self.found
        answer = worker.fit(self.settings["limit"], context)
        facts = answer.pop("facts")
        entry["fits"].append(answer)
        if name == "ours":
            self.found = {k: facts[k] for k in ("n_kernel_evaluations", "support")}
            entry["n_kernel_evaluations"] = facts["n_kernel_evaluations"]
        if len(entry["fits"]) == 1:
            entry["grown_mb"], entry["peak_mb"] = answer["grown_mb"], answer["peak_mb"]
        if not entry["predicts"] or (self.peers[name].times_predict and self._again(entry["predicts"])):
            prediction = worker.ask("predict", self.settings["limit"])
            labels, facts = prediction.pop("labels"), prediction.pop("facts")
            entry["predicts"].append(prediction)
            if labels is not None:
                entry["error"] = float(np.mean(np.asarray(labels) != self.task.y_test))
        entry.update({k: facts[k] for k in ("n_sv", "note") if k in facts})
        error = "" if entry.get("error") is None else f", error {100 * entry['error']:.2f} %"
        say(f"{self.task.title}: {entry['label']} {number(answer['seconds'])} s{error}")

    def _again(self, measures: list[dict[str, Any]]) -> bool:
        return len(measures) < _wanted(measures, self.settings["budget"], self.settings["repeats"])

    def run(self, keep: Iterable[str] = ()) -> None:
        """Fit the peers in turn until each has had its repeats; then stop all but `keep`."""
        for turn in range(self.settings["repeats"]):
            for name in list(self.workers):
                entry = self.result["peers"][name]
                try:
                    if turn == 0 or self._again(entry["fits"]):
                        self.round(name)
                except PeerFailed as error:
                    self.failed(name, error)
                    continue
                if not self._again(entry["fits"]) and name not in keep:
                    self.workers.pop(name).stop()

    def exact(self) -> None:
        """Ours against the optimum of SVC."""
        try:
            for name in ("ours", "svc"):
                if name not in self.workers:
                    raise PeerFailed(f"there is no {name}")
            say(f"{self.task.title}: against the optimum")
            ours, svc = (self.workers[name].ask("exact") for name in ("ours", "svc"))
        except PeerFailed as error:
            self.result["exact_reason"] = str(error)
            return
        if ours["decision"].shape != svc["decision"].shape:
            self.result["exact_reason"] = "decision values of different shapes"
            return
        relative = [(a - b) / b for a, b in zip(ours["dual"], svc["dual"], strict=True)]
        if self.task.multiclass:
            agree = ours["decision"].argmax(axis=1) == svc["decision"].argmax(axis=1)
        else:
            agree = (ours["decision"] > 0) == (svc["decision"] > 0)
        self.result["exact"] = {
            "rounds": ours["rounds"],
            "dual": ours["dual"],
            "dual_svc": svc["dual"],
            "dual_difference": max(relative, key=abs),
            "agreement": float(agree.mean()),
            "max_relative_difference": float(np.abs(ours["decision"] - svc["decision"]).max()),
            "seconds": ours["seconds"],
            "seconds_svc_one_vs_rest": svc["seconds"],
            "n_sv": ours["n_sv"],
            "n_sv_svc": svc["n_sv"],
        }

    def stop(self) -> None:
        """End all processes."""
        for worker in self.workers.values():
            worker.stop()


@contextmanager
def comparison(
    task: Task,
    peers: Mapping[str, type[Peer]],
    settings: dict[str, Any],
    kind: type[Comparison] = Comparison,
) -> Iterator[Comparison]:
    """Start the peers on a task, and end them; then there are medians beside the measurements."""
    with tempfile.TemporaryDirectory(prefix="everlearn-bench-") as folder:
        task.save(Path(folder))
        found = kind(task, Path(folder), peers, settings)
        try:
            yield found
        finally:
            found.stop()
    _summarize(found.result, settings["budget"])


def _summarize(result: dict[str, Any], budget: float) -> None:
    """Add medians and ratios, so that the JSON file can be read without this program."""
    ours = {unit: middle(result["peers"].get("ours", {}), unit=unit) for unit in ("seconds", "cpu")}
    for entry in result["peers"].values():
        for unit in ("seconds", "cpu"):
            entry[f"median_{unit}"] = middle(entry, unit=unit)
            if entry[f"median_{unit}"] and ours[unit]:
                entry[f"{unit}_over_ours"] = entry[f"median_{unit}"] / ours[unit]
        entry["once"] = bool(entry["fits"]) and _wanted(entry["fits"], budget, 2) == 1
        entry["median_predict_seconds"] = middle(entry, "predicts")
