"""The never-ending learner whose rows are pairs of records, and what is written with its events."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from sklearn.base import clone

from .._base import persist
from .._base.lock import locked
from ..errors import StoreError
from ..read import Schema
from ..read.schema import Field
from ..store import scrub
from ..store.events import Answered, Labeled, Withdrawn
from ..store.linked import LinkedRecords
from ..store.log import Writing
from ..stream import NeverEndingLearner
from ..svm import IDSVM
from ._defaults import MATCH_WEIGHT, PAIR_LEARNER

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


def _default_learner() -> IDSVM:
    return IDSVM(**PAIR_LEARNER, class_weight={DIFFERENT: 1, SAME: MATCH_WEIGHT})


def both_learners(learner: Any, seed: int) -> tuple[Any, dict[str, Any] | None]:
    """The learner of the log, which selects questions, and the described one of clusters if it is another.

    The log learns one answer at a time, and so cannot have a learner that is fitted to all of them at once.
    None is the learner of the store, or the default one of a new store.
    """
    if learner is None or isinstance(learner, type) or hasattr(learner, "partial_fit"):
        return learner, None
    words = (
        f"learner={learner!r} cannot be kept in a store: use a learner of everlearn, or `ActiveLinker`, "
        "which needs no store."
    )
    if not (hasattr(learner, "fit") and hasattr(learner, "decision_function")):
        raise TypeError(words)
    model = clone(learner)
    if "random_state" in model.get_params(deep=False) and model.random_state is None:
        model.set_params(random_state=seed)  # the same answers give the same clusters
    try:
        return _default_learner(), persist.describe(model)
    except TypeError as error:
        raise TypeError(words) from error


def open_pairs(store: str | os.PathLike[str], learner: Any, create: bool, **settings: Any) -> PairLearner:
    """Open the learner of pairs in a store, or create it. None is the learner that the store has."""
    try:
        pairs = PairLearner.open(store, learner, create=False)
    except StoreError as error:
        if not create or error.code != "no_store":
            raise
        new = _default_learner() if learner is None else learner
        fixed: dict[str, Any] = {"scaling": "none", "label_rate": 0.0, "audit": 0.0}
        pairs = PairLearner.open(store, new, classes=[DIFFERENT, SAME], **fixed, **settings)
    assert isinstance(pairs, PairLearner)
    return pairs
