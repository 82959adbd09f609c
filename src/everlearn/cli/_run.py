"""The run: from a source into a store, batch by batch, until the source ends or somebody says stop."""

import contextlib
import inspect
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

import numpy as np

from ..errors import InputError, StoreError
from ..read import Schema, Source
from ..stream import NeverEndingLearner
from . import _sources
from ._interrupt import Interrupt
from ._oracle import Oracle
from ._sources import Reading


@dataclass
class Run:
    """A store and a source that is to be learned, with all rows that the store has of it behind."""

    learner: NeverEndingLearner
    source: Source
    oracle: Oracle | None
    skipped: int
    note: str
    limit: int | None = None
    skip_known: bool = False
    n_known: int = 0

    def __post_init__(self) -> None:
        self._n_rows = int(self.learner.status()["rows"])
        self._n_before = self.skipped  # rows of the source before the batch at hand

    @property
    def schema(self) -> Schema:
        """What the fields of the source are."""
        assert self.source.schema is not None  # else there would be no run
        return self.source.schema

    def go(self, interrupt: Interrupt, shown: Any) -> None:
        """Learn, and show how it goes; whoever interrupts it finds `Interrupt.asked` set."""
        with contextlib.suppress(KeyboardInterrupt):
            self._go(interrupt, shown)

    def _go(self, interrupt: Interrupt, shown: Any) -> None:
        learner, oracle = self.learner, self.oracle
        if oracle is not None:
            oracle.answer(learner)  # what an interrupted run has left behind
        for batch in self._batches(interrupt):
            first = self._n_rows
            if self.skip_known and batch.ids is not None:
                batch = self._unknown(batch)
            if len(batch):
                self._step(batch)
            if oracle is not None:
                oracle.see(first, [None] * len(batch) if batch.y is None else batch.y)
                oracle.answer(learner)
            shown.update(self)
            if interrupt.asked:
                return

    def _step(self, batch: Any) -> None:
        labels = None if self.oracle is not None else batch.y
        try:
            self.learner.step(batch.X, labels, ids=batch.ids, time=_time_of(batch.time))
        except ValueError as error:
            problem, code = getattr(error, "problem", str(error)), getattr(error, "code", None)
            raise InputError(
                f"{problem} It is in the block of {self.source.name} that begins in line {batch.first_line}; "
                f"the {self._n_rows:,} rows before it are stored. Correct or remove the row, and go on with "
                f"--skip-rows {self._n_before}.",
                code=code,
            ) from error
        self._n_rows += len(batch)

    def _unknown(self, batch: Any) -> Any:
        """The rows of a batch that the store does not have yet, by their ids."""
        known = set(self.learner._log.known(batch.ids.tolist()))
        self.n_known += len(known)
        return _rows_of(batch, np.array([name not in known for name in batch.ids], dtype=bool))

    def _batches(self, interrupt: Interrupt) -> Iterator[Any]:
        """Batches, the last one cut at the limit; a pipe may be left while it is silent."""
        left = None if self.limit is None else max(0, self.limit - self.skipped)
        while left is None or left > 0:
            with interrupt.at_once(self.source.bytes_total is None):
                batch = next(self.source, None)
            if batch is None:
                return
            self._n_before = self.source.n_rows - len(batch)
            if left is not None:
                batch = _first_rows(batch, left)
                left -= len(batch)
            yield batch

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        self.source.close()
        self.learner.close()


@dataclass(frozen=True)
class Plan:
    """What the command line wants.

    ``settings`` are those of `NeverEndingLearner.open` that were said, as words and numbers.
    """

    store: str
    reading: Reading
    learner: Any = None
    drift: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    oracle: str | None = None
    delay: int = 0
    skip_rows: int | None = None
    limit: int | None = None
    skip_known: bool = False


def begin(plan: Plan) -> Run:
    """Open the source and the store, compare what is said with what the store remembers, and skip."""
    source = plan.reading.open(_sources.stored_schema(_peek(plan.store)))
    try:
        if source.schema is None:
            raise ValueError(source.message)
        label = source.schema.name_of("label")
        if plan.oracle is not None and label != plan.oracle:
            raise ValueError(
                f"The label of {source.name} is {label!r}, not {plan.oracle!r}, and the oracle answers with "
                "the label: name the same field."
            )
        options = dict(plan.settings) | {"drift": plan.drift}
        if options.get("query_strategy") == "none":
            options["query_strategy"] = None
        options["scale_features"] = source.schema.scale_features
        held = NeverEndingLearner.open(plan.store, plan.learner, **options)
    except BaseException:
        source.close()
        raise
    try:
        return _join(plan, held, source)
    except BaseException:
        source.close()
        held.close()
        raise


def _join(plan: Plan, held: NeverEndingLearner, source: Source) -> Run:
    """Bring the source to where the store is, and have the store remember it."""
    status, path = held.status(), plan.reading.path
    run = _sources.stored_run(status["schema"])
    if run["sources"]:
        _same_settings(run["settings"], plan.settings, status["store"])
    elif status["events"] and plan.settings:
        raise ValueError(
            f"{status['store']} was not made by `everlearn run`, and its settings are fixed: leave out "
            f"{', '.join(map(_option_of, plan.settings))}."
        )
    else:
        run["settings"] = dict(plan.settings)
    spans = _sources.rows_of_source(run, path, status["rows"])
    done = sum(end - start for start, end in spans)
    skipped = done if plan.skip_rows is None else plan.skip_rows
    last = run["sources"][-1] if run["sources"] else None
    if last is None or not _sources.is_same(last, path):
        if last is not None and last["first_row"] == status["rows"]:
            run["sources"].pop()  # nothing had come of it
        run["sources"].append(_sources.identity(path) | {"first_row": status["rows"]})
    if plan.reading.quarantine is not None:
        path_of_bad = os.path.realpath(plan.reading.quarantine)
        run["quarantines"] = list(dict.fromkeys([*run["quarantines"], path_of_bad]))
    assert source.schema is not None
    held.set_schema(_sources.description_of(source.schema, run))
    person = None if plan.oracle is None else Oracle(plan.delay)
    if skipped:
        if person is not None:
            _remember(person, plan.reading, source, spans if skipped == done else [])
        source.skip_rows(skipped)
    note = _note(source, status["rows"], skipped, spans, run)
    return Run(held, source, person, skipped, note, plan.limit, plan.skip_known)


def _note(source: Source, n_rows: int, skipped: int, spans: list[Any], run: Mapping[str, Any]) -> str:
    """What to say about rows that the store has already."""
    if skipped:
        return f"{skipped:,} rows of {source.name} are in the store already: going on after them."
    if not n_rows or spans:
        return ""
    if _sources.is_namesake(run, source.name):
        return f"{source.name} begins otherwise than the file of this name read before: all its rows are new."
    return (
        f"The store has {n_rows:,} rows from elsewhere: all rows of {source.name} are taken as new "
        "(--skip-rows N passes over those that are not)."
    )


def _peek(store: str) -> Any:
    """What a store says of its columns, if there is one; what is wrong with it shows when it is opened."""
    if store == ":memory:" or ("://" not in store and not os.path.exists(store)):
        return None
    try:
        with NeverEndingLearner.open(store, read_only=True) as held:
            return held.status()["schema"]
    except StoreError:
        return None


def _same_settings(kept: Mapping[str, Any], said: Mapping[str, Any], place: str) -> None:
    """Refuse what cannot be changed, rather than ignore it."""
    defaults = inspect.signature(NeverEndingLearner.open).parameters
    for key, value in said.items():
        was = kept.get(key, defaults[key].default)
        if value != was:
            raise ValueError(
                f"{place} was made with {_option_of(key)} {was}, not {value}: settings are fixed when a "
                "store is made. Leave the option out, or begin a new store."
            )


def _option_of(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def _remember(person: Oracle, reading: Reading, source: Source, spans: list[tuple[int, int]]) -> None:
    """Read the rows that will be skipped once more, for their labels: open questions may be about them."""
    if source.bytes_total is None or not spans:
        raise ValueError(
            "With --oracle only rows that the store has of this very file can be skipped: the labels of "
            "others are not known."
        )
    numbers = chain.from_iterable(range(start, end) for start, end in spans)
    assert source.schema is not None
    with reading.again(source.schema) as labels:
        for batch in labels:
            here = list(islice(numbers, len(batch)))
            _see_runs(person, here, [None] * len(batch) if batch.y is None else batch.y)
            if len(here) < len(batch):
                return


def _see_runs(person: Oracle, numbers: list[int], labels: Any) -> None:
    """Show the labels of rows whose numbers may have a gap, where another source came between."""
    start = 0
    for at in range(1, len(numbers) + 1):
        if at == len(numbers) or numbers[at] != numbers[at - 1] + 1:
            person.see(numbers[start], labels[start:at])
            start = at


def _first_rows(batch: Any, count: int) -> Any:
    return batch if len(batch) <= count else _rows_of(batch, np.arange(len(batch)) < count)


def _rows_of(batch: Any, keep: Any) -> Any:
    """Those rows of a batch that a mask says; what was written there is of no use here."""
    return replace(
        batch,
        ids=None if batch.ids is None else batch.ids[keep],
        X=batch.X[np.flatnonzero(keep)],
        y=None if batch.y is None else batch.y[keep],
        time=batch.time[keep],
        raw=(),
    )


def how_to_go_on(source: Source) -> str:
    """What to do after an interruption."""
    if source.bytes_total is None:
        return "Stopped. To go on, pipe in the rows that follow."
    return "Stopped. To go on from here, run the same command again."


def _time_of(times: Any) -> float | None:
    """When the last row of a batch happened that says so."""
    said = times[np.isfinite(times)]
    return float(said[-1]) if len(said) else None
