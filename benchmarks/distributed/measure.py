"""One data set on one machine and on a cluster of processes."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from distributed import Client, LocalCluster
from everlearn import LASVM
from everlearn.distributed import DistributedSVM

from ..harness.data import Task
from ..harness.machine import say


@contextmanager
def cluster(workers: int) -> Iterator[Client]:
    """Workers in processes of their own, one thread each."""
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
        ) as local,
        Client(local) as client,
    ):
        yield client


def cpu_seconds(client: Client) -> float:
    """Processor time of this process and of all workers."""
    return time.process_time() + sum(client.run(time.process_time).values())


def dual(model: LASVM) -> float:
    """The dual objective of a binary model."""
    alpha = model.dual_coef_[0]
    scores = model.decision_function(model.support_vectors_) - model.intercept_[0]
    return float(np.abs(alpha).sum() - alpha @ scores / 2)


def same_bits(one: LASVM, other: LASVM) -> bool:
    """Whether two models are the same bit for bit."""
    names = ("support_", "dual_coef_", "intercept_")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def compare(client: Client, task: Task, partitions: int, repeat: bool = False) -> dict[str, Any]:
    """Fit both; what they cost and how far they are from each other, and whether a second fit is the same."""
    learner = LASVM(task.C, gamma=task.gamma, cache_size=1000, random_state=0)
    say(f"{task.title}: {len(task.y_train)} rows, {partitions} partitions")
    before = cpu_seconds(client)
    begin = time.perf_counter()
    svm = DistributedSVM(learner, client=client, n_partitions=partitions, verbose=True)
    svm.fit(task.X_train, task.y_train)
    result: dict[str, Any] = task.describe() | {
        "partitions": partitions,
        "cluster_cpu": cpu_seconds(client) - before,
        "cluster_wall": time.perf_counter() - begin,
        "candidates": svm.n_candidates_,
        "support": len(svm.model_.support_),
        "rounds": len(svm.rounds_),
        "violators": [step.violators for step in svm.rounds_],
        "sent": svm.bytes_sent_,
        "received": svm.bytes_received_,
        "kernel_values": svm.n_kernel_evaluations_,
        "kernel_values_by_round": [step.n_kernel_evaluations for step in svm.rounds_],
        "error": float(np.mean(svm.predict(task.X_test) != task.y_test)),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    result["same_bits"] = None
    if repeat:
        again = DistributedSVM(learner, client=client, n_partitions=partitions)
        result["same_bits"] = same_bits(svm.model_, again.fit(task.X_train, task.y_train).model_)
    begun = time.process_time()
    say(f"{task.title}: one machine")
    central = learner.fit(task.X_train, task.y_train)
    result["one_cpu"] = time.process_time() - begun
    X = np.vstack([task.X_train, task.X_test]) if not task.sparse else task.X_test
    equal = np.mean(central.predict(X) == svm.predict(X))
    best = dual(central)
    return result | {
        "one_kernel_values": central.n_kernel_evaluations_,
        "ratio": svm.n_kernel_evaluations_ / central.n_kernel_evaluations_,
        "dual": (dual(svm.model_) - best) / best,
        "equal": float(equal),
        "one_error": float(np.mean(central.predict(task.X_test) != task.y_test)),
        "one_support": len(central.support_),
        "one_rounds": central.n_rounds_,
    }
