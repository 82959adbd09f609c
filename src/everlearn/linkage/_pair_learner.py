"""The never-ending learner whose rows are pairs of records, and what is written with its events."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from .._base.lock import locked
from ..errors import StoreError
from ..read import Schema
from ..read.schema import Field
from ..store import scrub
from ..store.events import Answered, Labeled, Withdrawn
from ..store.linked import LinkedRecords
from ..store.log import Writing
from ..stream import NeverEndingLearner

DIFFERENT, SAME = "different", "same"


class PairLearner(NeverEndingLearner):
    """A never-ending learner of pairs; in its database are the records, too."""

    _also: Callable[[Writing], None] | None = None

    @property
    def linked(self) -> LinkedRecords:
        """The records, in the database of the log."""
        self._check_open()
        return LinkedRecords(self._log)

    @property
    def untrained(self) -> Any:
        """The classifier with its parameters, without what it has learned."""
        return self._settings.learner

    @contextlib.contextmanager
    def also(self, write: Callable[[Writing], None]) -> Iterator[None]:
        """The next transaction, within the block, also writes this."""
        self._also = write
        try:
            yield
        finally:
            self._also = None

    @locked
    def write(self, write: Callable[[Writing], None]) -> None:
        """Write to the database in a transaction without an event."""
        with self.also(write):
            self._commit([])

    def _commit(self, events: Any, notes: Any = None, beside: Any = None) -> Any:
        also, self._also = self._also, None

        def both(writing: Writing, effects: Any) -> None:
            if beside is not None:
                beside(writing, effects)
            if also is not None:
                also(writing)

        return super()._commit(events, notes, both)

    @locked
    def answered_after(self, sequence: int) -> dict[str, Any]:
        """The rows whose answers may have changed after an event, with their labels now."""
        numbers: dict[int, None] = {}
        for _, event in self._log.read_any(sequence):
            if isinstance(event, Labeled | Answered | Withdrawn):
                numbers |= dict.fromkeys(event.numbers.tolist())
        ids = []
        for number in numbers:
            with contextlib.suppress(StoreError):  # erased since
                ids += self._log.ids_of([number])
        return {str(row): label for row, label in self.labels_of(ids).items()} if ids else {}

    @locked
    def scrub(self) -> None:
        """Overwrite what was deleted."""
        self._check_open()
        scrub.scrub(self._log)


def schema_of(names: list[str]) -> dict[str, Any]:
    """The schema of rows with these features."""
    return Schema([Field(name, "numeric") for name in names]).state()
