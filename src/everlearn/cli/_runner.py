"""The loop of `everlearn run`: from a source into a store, batch by batch, until the end or an interrupt."""

import contextlib
import inspect
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

import numpy as np

from ..errors import StoreError
from ..read import Schema, Source
from ..read.sources import OFFSETS_NOTE, BadRow
from ..select import Exemplars
from ..semi import StreamS3VM
from ..store.discard import discard_if_untouched, remove_files
from ..stream import NeverEndingLearner
from ..stream.default_learner import learner_for
from ..stream.exchange import Exchange
from ._errors import message_of
from ._interrupt import Interrupt
from ._oracle import Oracle
from ._remedies import too_many_bad
from ._run_record import RUN_NOTE, RunRecord, SourceIdentity
from ._source_spec import SourceSpec, stored_schema


@dataclass
class Runner:
    """An open store, and a source of which all rows that are in the store have been skipped."""

    learner: NeverEndingLearner
    source: Source
    oracle: Oracle | None
    skipped: int
    note: str
    limit: int | None = None
    skip_duplicates: bool = False
    max_bad_fraction: float = 1.0
    n_duplicates: int = 0
    exchange: Exchange | None = None

    def __post_init__(self) -> None:
        self._n_rows = int(self.learner.status()["rows"])
        self._n_before = self.skipped  # rows of the source before the current batch

    @property
    def schema(self) -> Schema:
        """The schema of the source."""
        assert self.source.schema is not None  # checked by `begin`
        return self.source.schema

    def run(self, interrupt: Interrupt, progress: Any) -> None:
        """Learn until the source ends; after an interrupt, `Interrupt.asked` is set."""
        with contextlib.suppress(KeyboardInterrupt):
            self._run(interrupt, progress)

    def _run(self, interrupt: Interrupt, progress: Any) -> None:
        learner, oracle = self.learner, self.oracle
        if oracle is not None:
            oracle.answer(learner)  # questions left open by an interrupted run
        self.source.on_wait(self._while_waiting)
        for batch in self._batches(interrupt):
            first = self._n_rows
            if self.skip_duplicates and batch.ids is not None:
                batch = self._without_duplicates(batch)
            if len(batch):
                self._step(batch)
            if oracle is not None:
                oracle.see(first, [None] * len(batch) if batch.y is None else batch.y)
                oracle.answer(learner)
            if self.exchange is not None:
                self.exchange.take()
            progress.update(self)
            self._check_bad()
            if interrupt.asked:
                return
        self._check_bad()

    def _check_bad(self) -> None:
        source = self.source
        check_bad(source, source.bad, source.quarantined, source.n_rows, self.max_bad_fraction)

    def _while_waiting(self) -> None:
        """While no message arrives: learn answers."""
        if self.exchange is not None:
            self.exchange.take()

    def _step(self, batch: Any) -> None:
        labels = None if self.oracle is not None else batch.y
        live = self.source.is_live
        # Messages may be gone when a row is to be shown: rows are kept as they were sent.
        records = [self.source.fields_of(raw) for raw in batch.raw] if live else None
        try:
            out = self.learner.step(
                batch.X,
                labels,
                ids=batch.ids,
                time=time_of(batch.time),
                notes=self.source.notes,
                records=records,
            )
        except ValueError as error:
            if live:
                first, last = batch.messages[0].place, batch.messages[-1].place
                raise ValueError(
                    f"{message_of(error)} The row is in the messages {first} to {last} of "
                    f"{self.source.name}; the {self._n_rows:,} rows before them are stored."
                ) from error
            raise ValueError(
                f"{message_of(error)} The row is in the batch of {self.source.name} that starts in line "
                f"{batch.first_line}; the {self._n_rows:,} rows before it are stored. Correct or remove "
                f"the row, and resume with --skip-rows {self._n_before}."
            ) from error
        self._n_rows += len(batch)
        if self.exchange is not None:
            self.exchange.publish(out.questions)

    def _without_duplicates(self, batch: Any) -> Any:
        """The rows of a batch whose ids are not in the store."""
        known = set(self.learner.known_ids(batch.ids.tolist()))
        self.n_duplicates += len(known)
        return rows_of(batch, np.array([name not in known for name in batch.ids], dtype=bool))

    def _batches(self, interrupt: Interrupt) -> Iterator[Any]:
        """Batches up to the limit; while a pipe is silent, an interrupt stops at once."""
        left = None if self.limit is None else max(0, self.limit - self.skipped)
        while left is None or left > 0:
            with interrupt.at_once(self.source.bytes_total is None):
                batch = next(self.source, None)
            if batch is None:
                return
            self._n_before = self.source.n_rows - len(batch)
            if left is not None and self.source.is_live:
                left -= len(batch)  # a whole one: the offsets are those behind it
            elif left is not None:
                batch = _first_rows(batch, left)
                left -= len(batch)
            yield batch

    def finish(self, identity: SourceIdentity) -> None:
        """Note that the source was read to its end."""
        record = RunRecord.from_notes(self.learner.notes)
        record.set_done(identity)
        self.learner.set_schema(self.schema.state(), notes={RUN_NOTE: record.as_notes()} | self.source.notes)


@dataclass(frozen=True)
class Plan:
    """The options of `everlearn run`.

    ``settings`` are the given settings of `NeverEndingLearner.open`, as text and numbers.
    """

    store: str
    source: SourceSpec
    learner: Any = None
    drift: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    oracle: str | None = None
    label_delay: int = 0
    skip_rows: int | None = None
    limit: int | None = None
    skip_duplicates: bool = False
    max_bad_fraction: float = 0.2
    snapshot_every: int | None = None
    snapshot_events: int | None = None
    questions_to: str | None = None
    answers_from: str | None = None

    @property
    def opening(self) -> dict[str, Any]:
        """The options for opening the store that are not settings of it."""
        every = {"snapshot_every": self.snapshot_every, "snapshot_events": self.snapshot_events}
        return {name: value for name, value in every.items() if value is not None}


class TooManyBadRows(ValueError):
    """More rows are bad than `Plan.max_bad_fraction` allows."""


def check_bad(source: Source, bad: list[BadRow], n_bad: int, n_good: int, limit: float) -> None:
    """Raise an error if too many rows are bad."""
    if n_bad > limit * (n_bad + n_good):
        raise TooManyBadRows(too_many_bad(source, bad, n_bad, n_bad + n_good, limit))


def open_store(plan: Plan) -> NeverEndingLearner | None:
    """The store of a plan; None if it does not exist, or if nothing has been learned in it."""
    discard_if_untouched(plan.store, RUN_NOTE)
    try:
        return NeverEndingLearner.open(plan.store, plan.learner, create=False, **plan.opening)
    except StoreError as error:
        if error.code != "no_store":
            raise
        return None


def begin(plan: Plan, learner: NeverEndingLearner | None) -> Runner:
    """Open the source; create the store, if there is none yet; skip rows that it has.

    Nothing is created before the first rows have been read, and found good enough. If something else is
    wrong, a new store is removed again.
    """
    created = learner is None
    with contextlib.ExitStack() as opened:
        schema = None if learner is None else stored_schema(learner.status()["schema"])
        offsets = None if learner is None else learner.notes.get(OFFSETS_NOTE)
        source = opened.enter_context(plan.source.open(schema, offsets))
        if source.schema is None:
            raise ValueError(source.message)
        n_good, bad = source.preview()
        check_bad(source, bad, len(bad), n_good, plan.max_bad_fraction)
        if not source.schema.n_features:
            raise ValueError(
                f"{source.name} has no field that can be learned from: see `everlearn schema`, and choose "
                "the kinds of fields with --kind."
            )
        label = source.schema.name_of("label")
        if plan.oracle is not None and label != plan.oracle:
            raise ValueError(
                f"--oracle {plan.oracle!r} must be the label field, which is {label!r} in {source.name}."
            )
        if learner is None:
            learner = _create(plan, source.schema)
        try:
            runner = _resume(plan, learner, source, source.schema)
        except BaseException:
            if created:
                learner.close()
                remove_files(plan.store)
            raise
        opened.pop_all()  # the caller closes it
        return runner


def creation_of(plan: Plan, schema: Schema) -> tuple[Any, dict[str, Any]]:
    """The learner of a new store, and its settings."""
    settings = dict(plan.settings) | {"drift": plan.drift}
    if settings.get("query_strategy") == "none":
        settings["query_strategy"] = None
    if "classes" in settings:
        settings["classes"] = _labels(settings["classes"], schema)
    for name, make in (("semi_supervised", StreamS3VM), ("exemplars", Exemplars)):
        if name in settings:
            settings[name] = make() if settings[name] else None
    learner = plan.learner
    if learner is None:
        learner = learner_for(schema, settings.get("memory_rows"))
    return learner, settings | {"scale_features": schema.scale_features} | plan.opening


def _create(plan: Plan, schema: Schema) -> NeverEndingLearner:
    existed = os.path.exists(plan.store)
    learner, settings = creation_of(plan, schema)
    try:
        return NeverEndingLearner.open(plan.store, learner, **settings)
    except (TypeError, ValueError):  # a setting that is wrong
        if not existed:
            remove_files(plan.store)
        raise


def _labels(names: Iterable[str], schema: Schema) -> list[Any]:
    """Labels given as text, in the type that the labels of the source have."""
    if schema.name_of("label") is None or schema.label_type != "int":
        return list(names)
    try:
        return [int(name) for name in names]
    except ValueError:
        raise ValueError(
            f"--class {next(name for name in names if not name.lstrip('-').isdigit())!r} is no integer, but "
            "the labels of the source are: use --label-type string."
        ) from None


def _resume(plan: Plan, learner: NeverEndingLearner, source: Source, schema: Schema) -> Runner:
    """Note the source in the store, and skip the rows of the source that the store has."""
    status, identity = learner.status(), plan.source.identity(source)
    record = RunRecord.from_notes(learner.notes)
    if record.sources:
        check_settings(record.settings, plan.settings, status["store"])
    elif status["events"] and plan.settings:
        raise ValueError(
            f"{status['store']} was not created by `everlearn run`, and its settings cannot be changed: "
            f"leave out {', '.join(map(_option_of, plan.settings))}."
        )
    else:
        record.settings = dict(plan.settings)
    ranges = [] if source.is_live else record.rows_from(identity, status["rows"])
    n_stored = sum(end - start for start, end in ranges)
    skipped = n_stored if plan.skip_rows is None else plan.skip_rows
    changed = not ranges and record.has_name(identity)
    note = "" if ranges and not skipped else _note(source.name, status["rows"], skipped, changed)
    if source.is_live:
        note = _live_note(source.name, status["rows"], OFFSETS_NOTE in learner.notes)
    record.add_source(identity, status["rows"], plan.source.reading_options)
    if plan.source.quarantine is not None:
        record.add_quarantine(plan.source.quarantine)
    learner.set_schema(schema.state(), notes={RUN_NOTE: record.as_notes()})
    oracle = None if plan.oracle is None else Oracle(plan.label_delay)
    if skipped:
        if oracle is not None:
            _show_skipped(oracle, plan.source, source, schema, ranges if skipped == n_stored else [])
        source.skip_rows(skipped)
    return Runner(
        learner, source, oracle, skipped, note, plan.limit, plan.skip_duplicates, plan.max_bad_fraction
    )


def _live_note(name: str, n_rows: int, goes_on: bool) -> str:
    """What to print about a topic or a stream."""
    where = f"Going on behind the last message of {name} that is in the store"
    first = where if goes_on else f"Reading {name} from its oldest message on"
    return f"{first}. The store has {n_rows:,} rows. Ctrl-C stops."


def _note(name: str, n_rows: int, skipped: int, changed: bool) -> str:
    """What to print about rows that are in the store."""
    if skipped:
        return f"Resuming after {skipped:,} rows of {name} that are already in the store."
    if not n_rows:
        return ""
    if changed:
        return f"{name} has changed since it was last read: all its rows are new."
    return (
        f"The store has {n_rows:,} rows from other sources: all rows of {name} are new "
        "(use --skip-rows N if some are not)."
    )


def check_settings(stored: Mapping[str, Any], given: Mapping[str, Any], store: str) -> None:
    """Settings cannot be changed: raise an error instead of ignoring an option."""
    defaults = inspect.signature(NeverEndingLearner.open).parameters
    for key, value in given.items():
        was = stored.get(key, defaults[key].default)
        if value != was:
            raise ValueError(
                f"{store} was created with {_option_of(key)} {was}, not {value}, and settings cannot be "
                "changed: leave out the option, or create a new store."
            )


def _option_of(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def _show_skipped(
    oracle: Oracle, spec: SourceSpec, source: Source, schema: Schema, ranges: list[tuple[int, int]]
) -> None:
    """Show the oracle the labels of rows that will be skipped: open questions may be about them."""
    if source.bytes_total is None or not ranges:
        raise ValueError(
            "With --oracle, only rows that the store has from this file can be skipped: the labels of other "
            "rows are not known."
        )
    numbers = chain.from_iterable(range(start, end) for start, end in ranges)
    with spec.reopen(schema) as labels:
        for batch in labels:
            here = list(islice(numbers, len(batch)))
            _show_ranges(oracle, here, [None] * len(batch) if batch.y is None else batch.y)
            if len(here) < len(batch):
                return


def _show_ranges(oracle: Oracle, numbers: list[int], labels: Any) -> None:
    """Pass labels to the oracle by contiguous row numbers; rows of another source may lie between them."""
    start = 0
    for at in range(1, len(numbers) + 1):
        if at == len(numbers) or numbers[at] != numbers[at - 1] + 1:
            oracle.see(numbers[start], labels[start:at])
            start = at


def _first_rows(batch: Any, count: int) -> Any:
    return batch if len(batch) <= count else rows_of(batch, np.arange(len(batch)) < count)


def rows_of(batch: Any, keep: Any) -> Any:
    """The rows of a batch selected by a mask; their raw text is needed only if they are messages."""
    return replace(
        batch,
        ids=None if batch.ids is None else batch.ids[keep],
        X=batch.X[np.flatnonzero(keep)],
        y=None if batch.y is None else batch.y[keep],
        time=batch.time[keep],
        raw=[text for text, kept in zip(batch.raw, keep, strict=True) if kept] if batch.messages else (),
        messages=[message for message, kept in zip(batch.messages, keep, strict=False) if kept],
    )


def how_to_resume(source: Source) -> str:
    """What to print after an interrupt."""
    if source.bytes_total is None and not source.is_live:
        return "Stopped. To resume, pipe in the following rows."
    return "Stopped. To resume, run the same command again."


def time_of(times: Any) -> float | None:
    """The last known time in a batch."""
    known = times[np.isfinite(times)]
    return float(known[-1]) if len(known) else None
