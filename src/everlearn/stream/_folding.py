"""The side of the never-ending learner that folds and writes: an event is done as a whole, or not at all."""

import time as clock
from collections.abc import Mapping
from dataclasses import replace
from threading import RLock
from typing import Any, TypeAlias

from .._base.validate import Array, Rows
from ..errors import StoreError
from ..store import removal, scrub
from ..store.events import Event, Ints
from ..store.log import Log
from ..store.lookup import Id
from . import _checks
from ._asking import Question, numbers_of
from ._expiring import Expiry, expire
from ._fold import Effect
from ._memory import resident_mb
from ._moments import Moments
from ._replay import recover, recover_behind, step
from ._snapshots import Snapshots
from .settings import Settings, seconds_of

Happening: TypeAlias = tuple[Event, list[Id] | None]  # an event, and the ids of its rows if it has any

_KEEP_SNAPSHOTS = 3
_SCALE_ROWS = 10_000  # until which the scale follows the stream


class Folding:
    """Base of `NeverEndingLearner`: a log, a state, and how both change together."""

    def __init__(self, log: Log, settings: Settings, snapshot_every: int) -> None:
        self._lock = RLock()
        self._log, self._settings = log, settings
        self._snapshots = Snapshots(log, snapshot_every, _KEEP_SNAPSHOTS, settings.retention == "needed")
        self._fold, rows, seq = recover_behind(log, settings)
        self._spoilt = False
        self._snapshots.begin(rows, seq)
        self._expiry = Expiry(log, seconds_of(settings.max_age))
        if not log.read_only and log.meta(scrub.PENDING):  # an erasure was cut short, or a reader in the way
            scrub.scrub(log)

    # ----------------------------------------------------------------------------------------------- the fold

    def _happen(self, event: Event, ids: list[Id] | None = None) -> Effect:
        return self._commit([(event, ids)])[0]

    def _commit(self, events: list[Happening], notes: Mapping[str, Any] | None = None) -> list[Effect]:
        """Fold events and write them and notes in one transaction: all of it is done, or nothing is.

        The fold comes first, since a batch on which a learner fails must not stand in the log, where it would
        fail again at every opening. If anything fails the state is read back from the log.
        """
        self._check_open()
        effects = []
        try:
            with self._log.writing() as writing:
                for event, ids in events:
                    start = clock.perf_counter()
                    self._fold, effect = step(self._log, self._fold, event, writing.last + 1)
                    writing.add(event, ids, clock.perf_counter() - start, resident_mb())
                    effects.append(effect)
                writing.set_notes(notes or {})
        except BaseException:
            self._spoilt = True
            self._check_open()
            raise
        self._snapshots.consider(self._fold, self._log.last)
        return effects

    def _expire(self, limit: float, time: float) -> int:
        """Drop the rows that came before a time; how many."""
        self._check_open()
        self._snapshots.wait()
        event, batches = removal.arrived_before(self._log, limit, time)
        try:
            expire(self._log, self._fold, event, batches)
        except BaseException:
            self._spoilt = True
            self._check_open()
            raise
        self._snapshots.restart(self._fold, self._log.last)
        self._expiry.refresh()
        scrub.scrub(self._log, vacuum=False)
        return len(event.numbers)

    # ------------------------------------------------------------------------------------------------ private

    def _check_open(self) -> None:
        if self._log is None:
            raise StoreError("The store is closed.")
        if self._spoilt:  # a call has failed: what it left behind is not looked at
            self._fold = recover(self._log, self._settings)
            self._spoilt = False

    def _n_features(self) -> int | None:
        self._check_open()
        kept = next((k for k in (self._fold.pool, self._fold.labeled) if k.X is not None), None)
        return None if kept is None else int(kept.X.shape[1])

    def _first_scale(self, rows: Rows, time: float) -> list[Happening]:
        """The scale by which the first batch is seen, or the first one after all rows were erased."""
        scaled = self._fold.mean is not None and self._fold.moments.n > 0
        if self._settings.scaling == "none" or scaled or rows.shape[0] == 0:
            return []
        return [(_checks.scale_of(rows, self._settings.scale_features, time), None)]

    def _next_scale(self, rows: Rows, time: float) -> list[Happening]:
        """A new scale behind a batch with which rows have doubled, as long as it follows the stream."""
        fold, settings = self._fold, self._settings
        if settings.scaling == "none" or fold.mean is None or fold.scaled_at >= _SCALE_ROWS:
            return []
        if fold.moments.n == 0:  # all rows were erased: the first scale is that of this batch
            return []
        if fold.n_rows + rows.shape[0] < 2 * fold.scaled_at:
            return []
        moments = Moments.from_state(fold.moments.state())
        moments.add(rows)
        centered = bool(fold.mean.any())  # rows that came sparse are not
        return [(_checks.scale_by(moments, centered, settings.scale_features, time), None)]

    def _named(self, questions: list[Question]) -> list[Question]:
        names = self._log.ids_of(numbers_of(questions).tolist()) if questions else []
        return [replace(question, id=name) for question, name in zip(questions, names, strict=True)]

    def _labels(self, y: Any, n_rows: int) -> tuple[Ints, Array]:
        return _checks.labels(y, n_rows, self._fold.classes, self._settings.classes is not None)
