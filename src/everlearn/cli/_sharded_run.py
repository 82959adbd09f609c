"""`everlearn run` with shards: the rows of a topic, each into the store that its key selects."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..broker import Message, oldest
from ..read import Schema, Source
from ..read.sources import OFFSETS_NOTE
from ..stream import NeverEndingLearner, ShardedLearner
from ..stream.sharded import is_sharded
from ._console import console, error_console
from ._errors import interrupted
from ._interrupt import Interrupt
from ._live import one_consumer
from ._progress import Progress, Silent
from ._run_record import RUN_NOTE, RunRecord, SourceIdentity
from ._runner import Plan, check_bad, check_settings, creation_of, how_to_resume, rows_of, time_of
from ._source_spec import bad_rows_message, duplicates_message, stored_schema
from ._tables import print_schema, print_shards

_NOTE_EVERY = 20  # batches after which shards without rows get the offsets, too


@dataclass(frozen=True)
class Sharding:
    """The number of shards, the field of the key (None: that of the message), the one to feed (None: all)."""

    shards: int | None
    by: str | None
    only: int | None


def learn_shards(plan: Plan, sharding: Sharding, quiet: bool) -> None:
    """Run a plan on a folder of shards until the source ends or the user stops it."""
    if not plan.source.is_broker:
        raise ValueError(
            "--shards is for Kafka topics and Redis streams; in Python, see ShardedLearner.step."
        )
    if plan.questions_to is not None or plan.answers_from is not None:
        raise ValueError("--questions-to and --answers-from are for one store, not for shards.")
    progress = Silent() if quiet else Progress(error_console())
    stopping = "Stopping after this batch. Press Ctrl-C again to stop immediately."
    with Interrupt(lambda: progress.print(stopping)) as interrupt, contextlib.ExitStack() as opened:
        with interrupt.at_once(), one_consumer(plan.source):
            learner, source = _begin(plan, sharding, opened)
        if not quiet and source.schema is not None:
            print_schema(source.schema, error_console(), source)
        feed = _Feed(learner, source, plan)
        with contextlib.suppress(KeyboardInterrupt):
            feed.run(interrupt)
        if not interrupt.asked:
            feed.note()
        progress.print(bad_rows_message(source, plan.source.quarantine))
        progress.print(duplicates_message(feed.n_duplicates, source))
        if not quiet:
            print_shards(learner.status(), console())
    if interrupt.error is not None:
        error_console().print(how_to_resume(source))
        raise interrupted(interrupt.error)


def _begin(plan: Plan, sharding: Sharding, opened: contextlib.ExitStack) -> tuple[ShardedLearner, Source]:
    """Open the shards, or create them once the first messages are there; and the source."""
    learner: ShardedLearner | None = None
    if is_sharded(plan.store):
        learner = opened.enter_context(_open(plan, sharding, None))
    known = None if learner is None else learner.agree("key", None)
    _check_key(plan, sharding, known)
    schema = None if learner is None else stored_schema(learner.agree("schema", None))
    offsets = None if learner is None else oldest([_offsets_of(found) for found in learner.learners.values()])
    source = opened.enter_context(plan.source.open(schema, offsets))
    if source.schema is None:
        raise ValueError(source.message)
    n_good, bad = source.preview()
    check_bad(source, bad, len(bad), n_good, plan.max_bad_fraction)
    if learner is None:
        learner = opened.enter_context(_open(plan, sharding, source.schema))
    _check_key(plan, sharding, learner.agree("key", {"field": sharding.by}))
    agreed = stored_schema(learner.agree("schema", source.schema.state()))
    if agreed != source.schema:  # another process was faster
        source.close()
        source = opened.enter_context(plan.source.open(agreed, offsets))
    assert agreed is not None
    for found in learner.learners.values():
        _describe(plan, found, source.name, agreed)
    return learner, source


def _check_key(plan: Plan, sharding: Sharding, known: Mapping[str, Any] | None) -> None:
    """The key of a folder cannot be changed; a Redis entry has none of its own."""
    field = sharding.by if known is None else known["field"]
    if sharding.by not in (None, field):
        raise ValueError(f"{plan.store} is split by {field!r}, not by {sharding.by!r}: leave out --shard-by.")
    if field is None and not plan.source.path.lower().startswith("kafka:"):
        raise ValueError("Redis entries have no key: name the field that is the key with --shard-by.")


def _describe(plan: Plan, learner: NeverEndingLearner, source: str, schema: Schema) -> None:
    """Note source, settings and schema in a shard, so that it can be used as a store of its own."""
    record = RunRecord.from_notes(learner.notes)
    if not record.sources:
        record.settings = dict(plan.settings)
    check_settings(record.settings, plan.settings, learner.status()["store"])
    record.add_source(SourceIdentity(source, None), learner.n_rows)
    if plan.source.quarantine is not None:
        record.add_quarantine(plan.source.quarantine)
    learner.set_schema(schema.state(), notes={RUN_NOTE: record.as_notes()})


def _open(plan: Plan, sharding: Sharding, schema: Schema | None) -> ShardedLearner:
    """The shards; new ones need the schema."""
    only = None if sharding.only is None else [sharding.only]
    learner, settings = plan.learner, dict(plan.opening)
    if schema is not None:
        learner, settings = creation_of(plan, schema)
    return ShardedLearner.open(plan.store, learner, shards=sharding.shards, only=only, **settings)


def _offsets_of(learner: NeverEndingLearner) -> Mapping[str, Any] | None:
    found: Mapping[str, Any] | None = learner.notes.get(OFFSETS_NOTE)
    return found


class _Feed:
    """Feeds shards from a source; rows that a shard has already are left out."""

    def __init__(self, learner: ShardedLearner, source: Source, plan: Plan) -> None:
        self._learner, self._source, self._plan = learner, source, plan
        self.n_duplicates = 0
        self._by = learner.agree("key", None)["field"]
        self._offsets = {shard: _offsets_of(found) for shard, found in learner.learners.items()}

    def run(self, interrupt: Interrupt) -> None:
        """Learn until the source ends or is interrupted."""
        n_rows = n_batches = 0
        source = self._source
        while self._plan.limit is None or n_rows < self._plan.limit:
            with interrupt.at_once():
                batch = next(source, None)
            if batch is None:
                return
            n_rows += self._step(batch)
            n_batches += 1
            if n_batches % _NOTE_EVERY == 0:
                self.note()
            check_bad(source, source.bad, source.quarantined, source.n_rows, self._plan.max_bad_fraction)
            if interrupt.asked:
                return

    def note(self) -> None:
        """Store the offsets in all shards."""
        self._learner.note(shard_notes=self._notes())

    def _notes(self) -> dict[int, dict[str, Any]]:
        """The offsets for each shard: those that were ahead stay there until the others have caught up."""
        return {shard: self._source.notes_beyond(known) for shard, known in self._offsets.items()}

    def _step(self, batch: Any) -> int:
        """Learn a batch; the number of rows."""
        records = [self._source.fields_of(raw) for raw in batch.raw]
        keys = [self._key(record, message) for record, message in zip(records, batch.messages, strict=True)]
        self._source.reject(batch, [at for at, key in enumerate(keys) if not key], "no key")
        places = self._learner.shard_of(keys)
        keep = np.array(
            [
                bool(key) and self._is_new(int(shard), message)
                for key, shard, message in zip(keys, places, batch.messages, strict=True)
            ],
            dtype=bool,
        )
        if self._plan.skip_duplicates and batch.ids is not None:
            keep &= self._is_unknown(batch.ids, places, keep)
        rows = rows_of(batch, keep)
        at = np.flatnonzero(keep)
        if len(rows):
            self._learner.step(
                rows.X,
                rows.y,
                keys=[keys[i] for i in at],
                ids=rows.ids,
                time=time_of(rows.time),
                shard_notes=self._notes(),
                records=[records[i] for i in at],
            )
        return len(rows)

    def _is_unknown(self, ids: Any, places: Any, keep: Any) -> Any:
        """Whether the shard of a row does not have its id."""
        unknown = np.ones(len(ids), dtype=bool)
        for shard, learner in self._learner.learners.items():
            at = np.flatnonzero(keep & (places == shard))
            known = set(learner.known_ids(ids[at].tolist()))
            unknown[at] = [name not in known for name in ids[at]]
        self.n_duplicates += int((~unknown).sum())
        return unknown

    def _key(self, record: Mapping[str, Any], message: Message) -> str:
        found = message.key if self._by is None else record.get(self._by)
        return "" if found is None else str(found)

    def _is_new(self, shard: int, message: Message) -> bool:
        """Whether the row belongs to a shard that is fed here, and is not in it yet."""
        return shard in self._offsets and self._source.is_after(message, self._offsets[shard])
