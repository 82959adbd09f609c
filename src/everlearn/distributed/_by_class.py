"""One class against the rest, each solved on a worker: tasks that start tasks of their own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .._base import parts
from .._base.parts_fit import PartsFit, join_classes
from .._base.validate import Ints
from ._exchange import Cluster


@dataclass
class Solution:
    """The problem of one class, solved."""

    model: Any  # the binary learner
    ids: Ints  # of the rows that it keeps, in its order
    candidates: int
    violators: list[int]  # of each round
    evaluations: int
    sent: int
    received: int


def solve_classes(
    cluster: Cluster, seeds: Sequence[int], on_class: Callable[[Solution], None]
) -> tuple[Any, list[Solution]]:
    """Solve the problem of every class on a worker; returns the learner of all classes, and the parts."""
    from distributed import as_completed

    plan, keys = cluster.plan, [future.key for future in cluster.rows]
    count = len(plan.classes)
    plans = cluster.submit("class-plan", parts.Plan.of_class, [plan] * count, range(count))
    futures = cluster.submit("class", _solve, [keys] * count, plans, range(count), [list(seeds)] * count)
    for _, solution in as_completed(futures, with_results=True):
        on_class(solution)
    solutions: list[Solution] = cluster.client.gather(futures)
    labels = [cluster.labels_of(solution.ids) for solution in solutions]
    names = [cluster.names(solution.ids) for solution in solutions]
    return join_classes(plan, [solution.model for solution in solutions], names, labels), solutions


# ------------------------------------------------------------------------------------------------ on a worker


def _solve(keys: list[str], plan: parts.Plan, number: int, seeds: list[int]) -> Solution:
    from distributed import Future, worker_client

    with worker_client() as client:
        whole = [Future(key, client=client) for key in keys]
        cluster = Cluster.of_rows(client, whole, plan, number)
        violators: list[int] = []
        try:
            found, evaluations = cluster.candidates(seeds)
            fit = PartsFit(plan, cluster)
            model = fit.run(found, violators.append)
        finally:
            cluster.close()
    return Solution(
        model=model,
        ids=fit.kept,
        candidates=sum(len(rows.labels) for rows in found),
        violators=violators,
        evaluations=evaluations + fit.n_kernel_evaluations,
        sent=cluster.bytes_sent,
        received=cluster.bytes_received,
    )
