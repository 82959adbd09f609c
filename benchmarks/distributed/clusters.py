"""Partitions that are clusters of kernel k-means, against partitions as they come; the early answer."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from everlearn import LASVM
from everlearn.distributed import DistributedSVM

from ..harness.data import covtype_task, load_task
from ..harness.machine import say
from ..harness.report import head, markdown
from ..harness.run import Data, Run
from .measure import cluster, cpu_seconds

NAMES = ("ijcnn1", "covtype25000")
CLUSTERS = 16


def run_part(run: Run) -> None:
    """Fit every set in both ways, and early."""
    settings = run.settings
    with cluster(settings["workers"]) as client:
        for name in run.missing(run.chosen(NAMES, quick=("ijcnn1",))):
            known = covtype_task(int(name[7:])) if name.startswith("covtype") else load_task(name)
            task = known.head(settings["rows"])
            learner = LASVM(task.C, gamma=task.gamma, cache_size=1000, random_state=0)
            result: dict[str, Any] = task.describe() | {"set": name, "clusters": CLUSTERS}
            for kind in ("given", "kernel_kmeans"):
                say(f"{task.title}: {kind}")
                before = cpu_seconds(client)
                svm = DistributedSVM(learner, client=client, n_partitions=CLUSTERS, partition=kind)
                svm.fit(task.X_train, task.y_train)
                result[kind] = {
                    "cpu": cpu_seconds(client) - before,
                    "candidates": svm.n_candidates_,
                    "violators": sum(step.violators for step in svm.rounds_),
                    "rounds": len(svm.rounds_),
                    "vectors": len(svm.model_.support_),
                    "kernel_values": svm.n_kernel_evaluations_,
                    "error": float(np.mean(svm.predict(task.X_test) != task.y_test)),
                }
            before = cpu_seconds(client)
            early = svm.fit_early(task.X_train, task.y_train)
            cpu, begin = cpu_seconds(client) - before, time.process_time()
            error = float(np.mean(early.predict(task.X_test) != task.y_test))
            predicting = time.process_time() - begin
            run.add(result | {"early": {"cpu": cpu, "error": error, "predicting": predicting}})


def report(data: Data) -> str:
    """Two lines for each set: partitions as they come, and clusters with the early answer."""
    lines = []
    for result in data["results"]:
        for kind in ("given", "kernel_kmeans"):
            found, early = result[kind], result["early"]
            lines.append(
                [
                    f"{result['title']}, {kind}",
                    f"{found['candidates']:,}",
                    f"{found['violators']:,}",
                    f"{found['vectors']:,}",
                    str(found["rounds"]),
                    f"{found['kernel_values'] / 1e9:.2f}",
                    f"{found['cpu']:.1f}",
                    f"{100 * found['error']:.2f}",
                    *(
                        ["", ""]
                        if kind == "given"
                        else [f"{early['cpu']:.1f}", f"{100 * early['error']:.2f}"]
                    ),
                ]
            )
    titles = ["set, partitions", "candidates", "violators", "vectors", "rounds", "10^9 kernel values"]
    titles += ["CPU s", "error %", "early CPU s", "early error %"]
    parts = head("Partitions that are clusters", data)
    parts.append(markdown(titles, lines))
    parts.append(
        f"{CLUSTERS} partitions. Candidates: support vectors of the local models. Early: the SVMs of the\n"
        "clusters alone, each row scored by that of the nearest cluster.\n"
    )
    return "\n".join(parts)
