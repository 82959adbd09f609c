"""Rows as they are in their sources, to show to the person who answers."""

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from ..broker import is_broker
from ..errors import EverlearnError
from ..read import Schema
from ..stream import NeverEndingLearner
from ._errors import message_of
from ._run_record import RunRecord, SourceIdentity
from ._source_spec import SourceSpec, stored_schema


class SourceRows:
    """Finds rows in the sources that `everlearn run` has read, by their ids or, without ids, by position.

    Parameters
    ----------
    path : str or None
        The file to look in. None looks in the sources that the store remembers, as far as they still exist.
    learner : NeverEndingLearner
        The open store.
    waiting : callable, default=contextlib.nullcontext
        Returns a context in which a source is read, such as one in which Ctrl-C is raised at once.

    Attributes
    ----------
    problems : list of str
        Why sources could not be read.
    """

    def __init__(
        self,
        path: str | None,
        learner: NeverEndingLearner,
        waiting: Callable[[], AbstractContextManager[Any]] = contextlib.nullcontext,
    ) -> None:
        status, record = learner.status(), RunRecord.from_notes(learner.notes)
        self.problems: list[str] = []
        self._learner, self._waiting = learner, waiting
        self._schema: Schema | None = None
        self._given = path is not None
        self._places: list[_Place] = []
        self._found: dict[int, tuple[dict[str, Any], str]] = {}
        if path is None and not record.sources:
            return
        schema = stored_schema(status["schema"])
        if schema is None:
            raise ValueError("The store has no schema: leave out --source.")
        self._schema, self._has_ids = schema, schema.name_of("id") is not None
        if path is None:
            self._places = _remembered(record, status["rows"])
            return
        identity = SourceIdentity.of_path(path)
        ranges = record.rows_from(identity, status["rows"])
        options: dict[str, Any] = next(
            (known.get("options", {}) for known in record.sources if identity.is_same(known)), {}
        )
        if not self._has_ids and not ranges:
            raise ValueError(f"The store has no rows from {path}: leave out --source.")
        self._places = [_Place(path, options, [(0, status["rows"])] if self._has_ids else ranges)]

    def find(self, rows: Iterable[Any]) -> None:
        """Look for rows (with the attributes ``id`` and ``number``), so that `fields_of` knows them."""
        for place in self._places:
            asked = [
                row
                for row in rows
                if row.number not in self._found and place.position(row.number) is not None
            ]
            if asked:
                try:
                    with self._waiting():
                        self._read(place, asked)
                except (ValueError, TypeError, OSError, ImportError, EverlearnError) as error:
                    if self._given:
                        raise
                    self.problems.append(f"{place.name} cannot be read: {message_of(error)}")

    def fields_of(self, number: int) -> tuple[dict[str, Any], str]:
        """The fields of a row as they are in its source, and the folder of the source; empty if not found."""
        return self._found.get(number, ({}, ""))

    def _read(self, place: "_Place", rows: list[Any]) -> None:
        wanted: dict[Any, int]
        if self._has_ids:
            wanted = {str(row.id): row.number for row in rows}
        else:
            wanted = {place.position(row.number): row.number for row in rows}
        left, n_rows = len(wanted), 0
        with place.spec().open(self._schema) as source:
            for batch in source:
                names: Any = range(n_rows, n_rows + len(batch)) if batch.ids is None else batch.ids
                n_rows += len(batch)
                for at, name in enumerate(names):
                    if name in wanted and (self._has_ids or self._is_row(wanted[name], batch.X[at : at + 1])):
                        self._found[wanted[name]] = source.fields_of(batch.raw[at]), place.folder
                        left -= 1
                if left <= 0:
                    return

    def _is_row(self, number: int, row: Any) -> bool:
        """Whether this is the row in the store: a file may have changed since it was read."""
        stored = self._learner.rows_by_number([number])
        return bool(stored.shape == row.shape and abs(stored - row).max() == 0)


class _Place:
    """A source, and the rows of the store that come from it."""

    def __init__(self, name: str, options: Mapping[str, Any], ranges: list[tuple[int, int]]) -> None:
        self.name, self.options, self.ranges = name, options, ranges
        self.folder = name if os.path.isdir(name) else os.path.dirname(os.path.realpath(name))

    def spec(self) -> SourceSpec:
        return SourceSpec(self.name, unknown_fields="ignore", **self.options)

    def position(self, number: int) -> int | None:
        """The position in the source of a row with this number in the store; None if it is from another."""
        before = 0
        for start, end in self.ranges:
            if start <= number < end:
                return before + number - start
            before += end - start
        return None


def _remembered(record: RunRecord, n_rows: int) -> list[_Place]:
    """The sources in the notes that can be opened again; a pipe cannot."""
    starts = [known["first_row"] for known in record.sources]
    ranges: dict[str, list[tuple[int, int]]] = {}
    options: dict[str, Mapping[str, Any]] = {}
    for known, start, end in zip(record.sources, starts, [*starts, n_rows][1:], strict=True):
        if known["name"] != "standard input" and not is_broker(known["name"]):
            key = repr((known["name"], known.get("options")))
            ranges.setdefault(key, []).append((start, end))
            options[key] = {"name": known["name"], "options": known.get("options", {})}
    return [_Place(options[key]["name"], options[key]["options"], found) for key, found in ranges.items()]
