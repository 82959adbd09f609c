"""Rows as they are in the source file, to show to the person who answers."""

from collections.abc import Iterable
from typing import Any

from ..stream import NeverEndingLearner
from ._run_record import RunRecord, SourceIdentity
from ._source_spec import SourceSpec, stored_schema


class SourceRows:
    """Finds rows in a source file, by their ids or, without ids, by their position.

    Parameters
    ----------
    path : str or None
        The file; None finds nothing.
    learner : NeverEndingLearner
        The open store.
    """

    def __init__(self, path: str | None, learner: NeverEndingLearner) -> None:
        self._path = path
        if path is None:
            return
        status = learner.status()
        schema = stored_schema(status["schema"])
        if schema is None:
            raise ValueError("The store has no schema: leave out --source.")
        self._schema = schema
        self._has_ids = schema.name_of("id") is not None
        self._ranges = RunRecord.from_notes(learner.notes).rows_from(
            SourceIdentity.of_path(path), status["rows"]
        )
        if not self._has_ids and not self._ranges:
            raise ValueError(f"The store has no rows from {path}: leave out --source.")

    def find(self, questions: Iterable[Any]) -> dict[int, str]:
        """The text of the rows that are asked about, by row number."""
        if self._path is None:
            return {}
        asked = list(questions)
        if self._has_ids:
            wanted = {question.id: question.number for question in asked}
        else:
            wanted = {self._position(question.number): question.number for question in asked}
        found: dict[int, str] = {}
        n_rows = 0
        with SourceSpec(self._path, unknown_fields="ignore").open(self._schema) as source:
            for batch in source:
                names = range(n_rows, n_rows + len(batch)) if batch.ids is None else batch.ids
                n_rows += len(batch)
                for at, name in enumerate(names):
                    if name in wanted:
                        found[wanted[name]] = batch.raw[at]
                if len(found) == len(wanted):
                    break
        return found

    def _position(self, number: int) -> int | None:
        """The position in the file of a row with this number in the store."""
        before = 0
        for start, end in self._ranges:
            if start <= number < end:
                return before + number - start
            before += end - start
        return None
