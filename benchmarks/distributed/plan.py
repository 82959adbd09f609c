"""What a row costs, and what that makes of 10^9 rows on 1,000 workers: measured, then extrapolated."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from everlearn import LASVM
from everlearn.distributed import DistributedSVM

from ..harness.data import Task, covtype_task
from ..harness.machine import say
from ..harness.report import head, markdown
from ..harness.run import Data, Run
from .dislib import kdd99
from .measure import cluster, cpu_seconds

SIZES = {"kdd99": (30_000, 120_000, 480_000), "covtype": (12_500, 25_000, 50_000)}
ROWS, WORKERS, LINK = 1e9, 1000, 1.25e9  # bytes a second: 10 Gbit/s


def run_part(run: Run) -> None:
    """Fit both problems at three sizes."""
    settings = run.settings
    wanted = run.missing(run.chosen([f"{name} {rows}" for name, sizes in SIZES.items() for rows in sizes]))
    tasks: dict[str, Task] = {}
    with cluster(settings["workers"]) as client:
        for each in wanted:
            name, rows = each.split()[0], int(each.split()[1])
            if name not in tasks:
                tasks[name] = kdd99() if name == "kdd99" else covtype_task(100_000)
            task = tasks[name].head(min(rows, settings["rows"] or rows))
            say(each)
            learner = LASVM(task.C, gamma=task.gamma, cache_size=1000, random_state=0)
            before, here = cpu_seconds(client), time.process_time()
            svm = DistributedSVM(learner, client=client, n_partitions=settings["partitions"])
            svm.fit(task.X_train, task.y_train)
            here = time.process_time() - here
            model = svm.model_
            run.add(
                task.describe()
                | {
                    "set": each,
                    "solver_cpu": here,
                    "worker_cpu": cpu_seconds(client) - before - here,
                    "vectors": len(model.support_),
                    "candidates": svm.n_candidates_,
                    "rounds": len(svm.rounds_),
                    "sent": svm.bytes_sent_ / settings["workers"],
                    "received": svm.bytes_received_,
                    "solver_values": model.n_kernel_evaluations_,
                    "worker_values": svm.n_kernel_evaluations_ - model.n_kernel_evaluations_,
                }
            )


def _power(results: list[dict[str, Any]], field: str) -> tuple[float, float]:
    """The exponent with which a field grows with the rows, and its value for all rows."""
    rows, values = (np.log([float(result[name]) for result in results]) for name in ("rows", field))
    exponent, offset = np.polyfit(rows, values, 1)
    return float(exponent), float(np.exp(offset + exponent * np.log(ROWS)))


def _quantity(value: float, unit: str) -> str:
    text = f"{value:.1e}" if value >= 1e5 else f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
    return f"{text} {unit}".strip()


def report(data: Data) -> str:
    """The measured costs, then the plan."""
    measured = [
        [
            result["set"].split()[0],
            f"{result['rows']:,}",
            f"{result['vectors']:,}",
            f"{result['candidates']:,}",
            str(result["rounds"]),
            f"{1e6 * result['worker_cpu'] / result['rows']:.0f}",
            f"{result['solver_cpu']:.1f}",
            f"{result['sent'] / 1e6:.1f}",
            f"{result['received'] / 1e6:.1f}",
        ]
        for result in data["results"]
    ]
    titles = ["set", "rows", "vectors", "candidates", "rounds", "worker CPU, microseconds a row"]
    titles += ["solver CPU s", "MB sent to each worker", "MB received"]
    parts = head("What a row costs", data)
    parts.append(markdown(titles, measured))
    lines = []
    for name in SIZES:
        results = [result for result in data["results"] if result["set"].startswith(name)]
        if len(results) < 2:
            continue
        growth, vectors = _power(results, "vectors")
        last = results[-1]
        # Rows are scored against vectors; the solver computes values among the rows that it has.
        per_pair = last["worker_values"] / (last["rows"] * last["vectors"])
        seconds = last["worker_cpu"] / last["worker_values"]
        work = ROWS * vectors * per_pair * seconds / WORKERS
        solving = last["solver_cpu"] * (vectors / last["vectors"]) ** 2
        # Every vector travels: to the solver once, and to each worker.
        sent, received = (last[name] * vectors / last["vectors"] for name in ("sent", "received"))
        network = (sent * WORKERS + received) / LINK
        steps = {"the workers": work, "the solver": solving, "its network": network}
        lines.append(
            [
                name,
                f"{growth:.2f}",
                _quantity(vectors, ""),
                _quantity(work, "s"),
                _quantity(solving, "s"),
                _quantity(sent / 1e6, "MB"),
                _quantity(received / 1e6, "MB"),
                _quantity(network, "s"),
                max(steps, key=steps.__getitem__),
            ]
        )
    titles = ["10^9 rows like", "exponent of vectors", "vectors", "workers' time", "solver's time"]
    titles += ["sent to each worker", "received", "time of messages", "bottleneck"]
    parts.append(markdown(titles, lines))
    parts.append(
        f"{WORKERS:,} workers of one core; the solver has a link of 10 Gbit/s and sends each message to\n"
        "every worker itself. Vectors grow with the rows by the power law of these sizes, bytes sent and\n"
        "received with the vectors, values that workers compute with rows x vectors, the solver's with the\n"
        "square of the vectors.\n"
    )
    return "\n".join(parts)
