"""Events without some rows: what a log says, and what was computed from these rows, as if they never came."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .._base.validate import Rows
from ..read.schema import Schema
from ..store.events import Arrived, Event, Ints, Labeled, Scaled, Withdrawn
from ..store.log import Log
from ..store.rewriting import without_rows
from . import _checks
from ._fold import Fold
from .settings import Settings


def without_single_rows(log: Log, rows: Rows | None) -> dict[int, Event]:
    """Scales whose means are one of these rows, since they were taken from it alone: they say nothing now."""
    if rows is None or sparse.issparse(rows):  # sparse rows are not centered
        return {}
    found: dict[int, Event] = {}
    for seq in log.scales():
        event = log.event(seq)
        assert isinstance(event, Scaled)
        scaled = event.mean != 0  # 0 where a column is not scaled
        if scaled.any() and (rows[:, scaled] == event.mean[scaled]).all(axis=1).any():
            found[seq] = replace(event, mean=np.zeros_like(event.mean), scale=np.ones_like(event.scale))
    return found


class Redaction:
    """Rewrites events, one after the other, while they are folded.

    A scale was taken from rows, and must be taken again if some of them are gone: the first one from the
    first batch, later ones from all rows by then or, if somebody called `rescale`, from those that are kept.

    Parameters
    ----------
    log : Log
        The log as it is.
    settings : Settings
        What the learner is made of.
    numbers : ndarray
        The rows that are to be gone.

    Attributes
    ----------
    changed : dict of int to Event
        The events that differ from those in the log, by their numbers.
    """

    def __init__(self, log: Log, settings: Settings, numbers: Ints) -> None:
        self.log, self.settings, self.numbers = log, settings, numbers
        self.changed: dict[int, Event] = {}
        self._previous: Event | None = None

    def __call__(self, seq: int, event: Event, fold: Fold) -> Event:
        """The event as it will stand in the log; ``fold`` is the state before it."""
        found = without_rows(event, self.numbers)
        if isinstance(event, Scaled):
            found = self._scale(seq, event, fold)
        self._previous = found
        if _differs(event, found):
            self.changed[seq] = found
        return found

    def _scale(self, seq: int, event: Scaled, fold: Fold) -> Scaled:
        columns, previous = self.settings.scale_features, self._previous
        if fold.mean is None or fold.moments.n == 0:
            rows = self._first_rows(seq)
            if rows is None:
                return replace(event, mean=np.zeros_like(event.mean), scale=np.ones_like(event.scale))
            return _checks.scale_of(rows, columns, event.time)
        if isinstance(previous, Arrived) and previous.time == event.time:
            return _checks.scale_by(fold.moments, bool(fold.mean.any()), columns, event.time)
        kept = fold.pool if len(fold.pool) else fold.labeled
        return _checks.scale_of(fold.raw(kept), columns, event.time) if len(kept) else event

    def _first_rows(self, seq: int) -> Rows | None:
        """The rows of the first batch after an event that has some left."""
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
    if isinstance(a, Labeled | Withdrawn) and isinstance(b, Labeled | Withdrawn):
        return len(a.numbers) != len(b.numbers)
    if isinstance(a, Scaled) and isinstance(b, Scaled):
        return not (np.array_equal(a.mean, b.mean) and np.array_equal(a.scale, b.scale))
    return False


# ------------------------------------------------------------------------------------------- category names


def without_categories(log: Log, numbers: Ints, used: set[int], description: Any) -> dict[str, Any] | None:
    """A description of columns without the names of categories that only some rows had.

    Parameters
    ----------
    log : Log
        The log, in which the rows still are.
    numbers : ndarray
        The rows that are to go.
    used : set of int
        The columns that are not 0 in all of them.
    description : dict or None
        The state of a `Schema`, and whatever else stands beside it.

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
        kept = [place for _, place in log.places_without(seq, numbers.tolist())]
        lost -= columns_in_use(event.X[kept]) if kept else set()
    fields = [dict(field) for field in description["fields"]]
    for count, column in enumerate(sorted(lost), 1):
        field, place = names[column]
        categories = list(fields[field]["categories"])
        categories[place] = _free_name(categories, count)
        fields[field]["categories"] = categories
    return {**description, "fields": fields} if lost else None


def _category_columns(description: Any) -> dict[int, tuple[int, int]]:
    """By column, the field and the place of the category that it stands for."""
    try:
        schema = Schema.from_state({key: value for key, value in description.items() if key != "run"})
    except (AttributeError, TypeError, ValueError):  # none, or one in words of the caller's own
        return {}
    found, column = {}, 0
    for number, field in enumerate(schema.fields):
        if field.kind == "categorical" and field.categories is not None:
            for place, name in enumerate(field.categories):
                if name:  # a missing value tells nothing
                    found[column + place] = (number, place)
        column += field.n_columns
    return found


def columns_in_use(X: Rows) -> set[int]:
    """The columns that are not 0 in all rows."""
    columns: Iterable[int] = X.indices[X.data != 0] if sparse.issparse(X) else np.flatnonzero(X.any(axis=0))
    return set(np.unique(np.asarray(columns)).tolist())


def _free_name(taken: list[str], count: int) -> str:
    name = f"(erased {count})"
    while name in taken:
        count += 1
        name = f"(erased {count})"
    return name


def with_categories(description: Any, schema: dict[str, Any]) -> dict[str, Any] | None:
    """An older description with the categories of a newer one, in fields of the same name."""
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
