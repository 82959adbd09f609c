"""Rewrite events without some rows, and recompute what was derived from these rows: scales and categories."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .._base.validate import Rows
from ..read.schema import Schema
from ..store.events import Answered, Arrived, Event, Ints, Labeled, Scaled, Withdrawn
from ..store.log import Log
from ..store.rewriting import without_rows
from . import _checks
from ._learner_state import LearnerState
from ._settings import StreamSettings


def without_single_rows(log: Log, rows: Rows | None) -> dict[int, Event]:
    """Neutral replacements for the scales that were set from a single one of these rows, by event number."""
    if rows is None or sparse.issparse(rows):  # sparse rows are not centered
        return {}
    found: dict[int, Event] = {}
    for seq in log.scales():
        event = log.event(seq)
        assert isinstance(event, Scaled)
        scaled = event.mean != 0  # 0 for features that are not scaled
        if scaled.any() and (rows[:, scaled] == event.mean[scaled]).all(axis=1).any():
            found[seq] = replace(event, mean=np.zeros_like(event.mean), scale=np.ones_like(event.scale))
    return found


class Redaction:
    """Rewrites events one after another during a replay.

    Scales are recomputed without the removed rows: the first from the first batch, later ones from all rows
    up to then or, after a call of `rescale`, from the rows in memory.

    Parameters
    ----------
    log : Log
        The log before the erasure.
    settings : StreamSettings
        The settings of the store.
    numbers : ndarray
        The numbers of the rows to remove.

    Attributes
    ----------
    changed : dict of int to Event
        The events that differ from those in the log, by their numbers.
    """

    def __init__(self, log: Log, settings: StreamSettings, numbers: Ints) -> None:
        self.log, self.settings, self.numbers = log, settings, numbers
        self.changed: dict[int, Event] = {}
        self._previous: Event | None = None

    def __call__(self, seq: int, event: Event, state: LearnerState) -> Event:
        """The rewritten event; ``state`` is the state before it."""
        found = without_rows(event, self.numbers)
        if isinstance(event, Scaled):
            found = self._scale(seq, event, state)
        self._previous = found
        if _differs(event, found):
            self.changed[seq] = found
        return found

    def _scale(self, seq: int, event: Scaled, state: LearnerState) -> Scaled:
        columns, previous = self.settings.scale_features, self._previous
        if state.mean is None or state.moments.n == 0:
            rows = self._first_rows(seq)
            if rows is None:
                return replace(event, mean=np.zeros_like(event.mean), scale=np.ones_like(event.scale))
            return _checks.scale_of(rows, columns, event.time)
        if isinstance(previous, Arrived) and previous.time == event.time:
            return _checks.scale_by(state.moments, bool(state.mean.any()), columns, event.time)
        kept = state.pool if len(state.pool) else state.labeled
        return _checks.scale_of(state.raw(kept), columns, event.time) if len(kept) else event

    def _first_rows(self, seq: int) -> Rows | None:
        """The remaining rows of the first batch after an event that has any."""
        for _, event in self.log.read(after=seq):
            if isinstance(event, Arrived):
                left = without_rows(event, self.numbers)
                assert isinstance(left, Arrived)
                if left.X.shape[0]:
                    return left.X
        return None


def _differs(a: Event, b: Event) -> bool:
    if isinstance(a, Arrived) and isinstance(b, Arrived):
        return bool(a.X.shape != b.X.shape)
    if isinstance(a, Labeled | Answered | Withdrawn) and isinstance(b, Labeled | Answered | Withdrawn):
        return len(a.numbers) != len(b.numbers)
    if isinstance(a, Scaled) and isinstance(b, Scaled):
        return not (np.array_equal(a.mean, b.mean) and np.array_equal(a.scale, b.scale))
    return False


# ------------------------------------------------------------------------------------------- category names


def without_categories(log: Log, numbers: Ints, used: set[int], description: Any) -> dict[str, Any] | None:
    """Replace the names of categories that occur only in rows to be removed.

    Parameters
    ----------
    log : Log
        The log, which still contains the rows.
    numbers : ndarray
        The numbers of the rows to remove.
    used : set of int
        The columns that are nonzero in at least one of them.
    description : dict or None
        The state of a `Schema`, possibly with further entries.

    Returns
    -------
    dict or None
        The description with the names replaced; None if there is nothing to replace.
    """
    names = _category_columns(description)
    lost = used & set(names)
    for seq in log.batches():
        if not lost:
            return None
        event = log.event(seq)
        assert isinstance(event, Arrived)
        kept = [position for _, position in log.positions_without(seq, numbers.tolist())]
        lost -= columns_in_use(event.X[kept]) if kept else set()
    fields = [dict(field) for field in description["fields"]]
    for count, column in enumerate(sorted(lost), 1):
        field, place = names[column]
        categories = list(fields[field]["categories"])
        categories[place] = _free_name(categories, count)
        fields[field]["categories"] = categories
    return {**description, "fields": fields} if lost else None


def _category_columns(description: Any) -> dict[int, tuple[int, int]]:
    """For each one-hot column, the positions of its field and its category."""
    try:
        schema = Schema.from_state({key: value for key, value in description.items() if key != "run"})
    except (AttributeError, TypeError, ValueError):  # no schema, or a description in another format
        return {}
    found, column = {}, 0
    for number, field in enumerate(schema.fields):
        if field.kind == "categorical" and field.categories is not None:
            for place, name in enumerate(field.categories):
                if name:  # the category of missing values has no name
                    found[column + place] = (number, place)
        column += field.n_columns
    return found


def columns_in_use(X: Rows) -> set[int]:
    """The columns that are nonzero in at least one row."""
    columns: Iterable[int] = X.indices[X.data != 0] if sparse.issparse(X) else np.flatnonzero(X.any(axis=0))
    return set(np.unique(np.asarray(columns)).tolist())


def _free_name(taken: list[str], count: int) -> str:
    name = f"(erased {count})"
    while name in taken:
        count += 1
        name = f"(erased {count})"
    return name


def with_categories(description: Any, schema: dict[str, Any]) -> dict[str, Any] | None:
    """A description with the categories of a newer schema, for fields of the same name; None if unchanged."""
    if not isinstance(description, dict) or "fields" not in description:
        return None
    newer = {field["name"]: field["categories"] for field in schema["fields"] if field["categories"]}
    if not any(field["name"] in newer for field in description["fields"]):
        return None
    fields = [
        {**field, "categories": newer[field["name"]]} if field["name"] in newer else field
        for field in description["fields"]
    ]
    return {**description, "fields": fields}
