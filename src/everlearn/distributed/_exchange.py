"""The parts of a fit as futures of Dask.

Every state of a part is the result of a task whose inputs are results of others. So Dask computes again, on
another worker, what is lost with a worker: the result is the same bit for bit.
"""

import uuid
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from .._base import part_clusters, part_scores, parts
from .._base.learner import LabeledRows
from .._base.part_clusters import Clusters
from .._base.part_scores import ModelChange, PartState, Violators
from .._base.validate import Ints
from ._client import n_workers
from ._partitions import Source, read_part

Found = tuple[PartState, Any]


class TaskNames:
    """Tasks whose names are different in each fit, and tell what they do."""

    def __init__(self) -> None:
        self._name, self._count = uuid.uuid4().hex[:12], 0

    def submit(
        self, client: Any, what: str, function: Callable[..., Any], *columns: Sequence[Any]
    ) -> list[Any]:
        """One task for each line, with an argument from each column."""
        import dask

        self._count += 1
        name = f"everlearn-{what}-{self._name}-{self._count}"
        # Rows from the memory of the client, and models, are large and part of the graph.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "100 GiB"}):
            return [
                client.submit(function, *given, key=f"{name}-{number}", pure=False)
                for number, given in enumerate(zip(*columns, strict=True))
            ]


class Cluster:
    """Partitions on the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
        The client.
    sources : list of Source
        What partitions are read from.
    """

    def __init__(self, client: Any, sources: list[Source]) -> None:
        self.client, self._sources, self._names = client, sources, TaskNames()
        self.bytes_sent = self.bytes_received = 0
        self.distances = 0  # to centers of clusters, as numbers of kernel values
        self.plan: parts.Plan
        self.clusters: Clusters | None = None
        self._plan: Any = None
        self._held: list[Any] = []
        self._rows: list[Any] = []
        self._states: list[Any] = []
        self._divided: list[Any] = []

    def __len__(self) -> int:
        return len(self._rows) or len(self._sources)

    @classmethod
    def of_rows(cls, client: Any, whole: list[Any], plan: parts.Plan, number: int) -> "Cluster":
        """The partitions of the problem of one class, from prepared rows of all classes."""
        cluster = cls(client, [])
        cluster.plan, cluster._plan = plan, cluster.share(plan)
        cluster._rows = cluster.submit("one-class", parts.rows_of_class, whole, [number] * len(whole))
        return cluster

    @property
    def rows(self) -> list[Any]:
        """The prepared rows of each partition, as futures."""
        return self._rows

    def submit(self, what: str, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        """One task for each partition, with an argument from each column."""
        return self._names.submit(self.client, what, function, *columns)

    def share(self, value: Any) -> Any:
        """Make a value known to every worker that needs it.

        It is the result of a task, not scattered data: that is computed again if its worker is lost. Until
        the fit is over, the scheduler holds a copy.
        """
        (future,) = self.submit("share", _same, [value])
        self._held.append(future)
        self.bytes_sent += getattr(value, "nbytes", 0) * n_workers(self.client)
        return future

    def prepare(self, learner: Any, clusters: int | None = None, seed: int = 0) -> parts.Plan:
        """Read all partitions and agree on what they share; with ``clusters``, these are partitions then."""
        count = range(len(self))
        shared = self.share(learner)
        X, y, weights = zip(*self._sources, strict=True)
        raw = self.submit("read", read_part, [shared] * len(self), X, y, weights, count)
        facts = self.client.gather(self.submit("describe", parts.describe_part, raw))
        needed = parts.heads_needed(facts)
        some = [self.client.submit(parts.head_of, raw[k], most, pure=False) for k, most in needed.items()]
        heads = self.client.gather(some)
        self.bytes_received += sum(map(part_scores.bytes_of, heads))
        self.plan = parts.plan_of(learner, facts, heads)
        if clusters is not None:
            raw = self._divide(raw, clusters, seed)
        self._plan = self.share(self.plan)
        self._rows = self.submit("prepare", parts.prepare_part, raw, [self._plan] * len(raw))
        return self.plan

    def _divide(self, raw: list[Any], most: int, seed: int) -> list[Any]:
        """Move rows, so that every partition is a cluster."""
        plan, count = self.plan, len(raw)
        share = min(1.0, part_clusters.SAMPLE / plan.rows)
        seeds = range(seed, seed + count)
        drawn = self.client.gather(
            self.submit("sample", part_clusters.sample_of, raw, [share] * count, seeds)
        )
        self.bytes_received += sum(map(part_scores.bytes_of, drawn))
        sample = part_scores.stack([rows for rows in drawn if rows.shape[0]])
        random = np.random.RandomState(seed)
        self.clusters = Clusters.of(plan.machine().kernel, sample, most, random)
        self.distances = sample.shape[0] * plan.rows
        shared = self.share(self.clusters)
        pieces = self.submit("divide", part_clusters.divide, raw, [shared] * count, plan.first)
        of_cluster = [self.submit("piece", itemgetter(k), pieces) for k in range(len(self.clusters))]
        self._divided = self.submit("unite", part_clusters.unite, of_cluster)
        self.plan = plan.moved(self.client.gather(self.submit("rows", _n_rows, self._divided)))
        return self._divided

    def early(self, seeds: Sequence[int]) -> list[Any]:
        """The model of each partition alone."""
        found = self.client.gather(
            self.submit("early", parts.local_model, self._rows, [self._plan] * len(self), seeds)
        )
        return list(found)

    def names(self, numbers: Ints) -> Ints:
        """The numbers of rows in the order in which they were given."""
        return self._look_up(numbers, self._divided, part_clusters.names_of) if self._divided else numbers

    def labels_of(self, numbers: Ints) -> Ints:
        """The class numbers of rows."""
        return self._look_up(numbers, self._rows, _labels_of)

    def _look_up(self, numbers: Ints, held: list[Any], function: Callable[..., Any]) -> Ints:
        """Ask the partition of each row."""
        first, found = np.array(self.plan.first), np.zeros_like(numbers)
        owner = np.searchsorted(first, numbers, side="right") - 1
        used = np.unique(owner)
        places = [np.flatnonzero(owner == part) for part in used]
        own = [numbers[at] - first[part] for at, part in zip(places, used, strict=True)]
        tasks = self.submit("look-up", function, [held[part] for part in used], own)
        for at, values in zip(places, self.client.gather(tasks), strict=True):
            found[at] = values
        return found

    def candidates(self, seeds: Sequence[int]) -> tuple[list[LabeledRows], int]:
        """Rows of each partition that its local model chooses, and the kernel values that it needed."""
        local = self.submit("local", _local, self._rows, [self._plan] * len(self), self.plan.first, seeds)
        self._states = local
        found = self.client.gather(self.submit("candidates", itemgetter(1), local))
        self.bytes_received += sum(_bytes(rows) for rows, _ in found)
        return [rows for rows, _ in found], sum(count for _, count in found)

    def check_chunk(self, model: ModelChange, limit: float, number: int) -> list[Violators]:
        """Let every partition check the rows of its chunk of this number."""
        return self._advance(_check_chunk, model, limit, number)

    def check(self, model: ModelChange, limit: float, everything: bool) -> list[Violators]:
        """Let every partition check its rows."""
        return self._advance(_check, model, limit, everything)

    def _advance(self, function: Callable[..., Found], model: ModelChange, *how: Any) -> list[Violators]:
        """Bring the state of every partition one step further; what it found."""
        shared, count = self.share(model), len(self)
        given = ([value] * count for value in (shared, self._plan, *how))
        self._states = self.submit("check", function, self._rows, self._states, *given)
        found = self.client.gather(self.submit("found", itemgetter(1), self._states))
        self.bytes_received += sum(answer.nbytes for answer in found)
        return list(found)

    def nearest(self, model: ModelChange, most: int) -> list[tuple[LabeledRows, Any]]:
        """Of every partition, the rows outside of the model that are nearest to the margin."""
        shared, count = self.share(model), len(self)
        tasks = (self._rows, self._states, [shared] * count, [self._plan] * count, [most] * count)
        found = self.client.gather(self.submit("nearest", _nearest, *tasks))
        self.bytes_received += sum(_bytes(rows) + margins.nbytes for rows, margins in found)
        return list(found)

    def close(self) -> None:
        """Let the workers forget everything."""
        for future in (*self._states, *self._rows, *self._held, *self._divided):
            future.release()
        self._states, self._rows, self._held, self._divided, self._sources = [], [], [], [], []


def _bytes(rows: LabeledRows) -> int:
    arrays = (rows.labels, rows.costs, rows.ids)
    return part_scores.bytes_of(rows.X) + sum(array.nbytes for array in arrays)


# ------------------------------------------------------------------------------------------------ on a worker


def _same(value: Any) -> Any:
    return value


def _n_rows(part: parts.Part) -> int:
    return len(part.y)


def _labels_of(rows: LabeledRows, places: Ints) -> npt.NDArray[np.int32]:
    return rows.labels[places]


def _local(rows: LabeledRows, plan: parts.Plan, first: int, seed: int) -> Found:
    random = np.random.RandomState(seed)
    chunks = parts.chunks_of(rows, plan, random)
    places, count = parts.candidates(rows, plan, chunks[0], random)
    columns = 1 if len(plan.classes) == 2 else len(plan.classes)
    state = part_scores.begin_state(rows, first, columns, places, chunks)
    return state, (part_scores.take_rows(rows, places, first), count)


def _check(
    rows: LabeledRows, found: Found, model: ModelChange, plan: parts.Plan, limit: float, everything: bool
) -> Found:
    return part_scores.Check(rows, found[0], model, plan.machine()).run(limit, everything)


def _check_chunk(
    rows: LabeledRows, found: Found, model: ModelChange, plan: parts.Plan, limit: float, number: int
) -> Found:
    return part_scores.Check(rows, found[0], model, plan.machine()).run_chunk(limit, number)


def _nearest(
    rows: LabeledRows, found: Found, model: ModelChange, plan: parts.Plan, most: int
) -> tuple[LabeledRows, np.ndarray[Any, Any]]:
    return part_scores.Check(rows, found[0], model, plan.machine()).nearest(most)
