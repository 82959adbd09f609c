"""Rows as they stand in the file from which they were learned, for people who are asked about them."""

from collections.abc import Iterable
from typing import Any

from ._sources import Reading, rows_of_source, stored_run, stored_schema


class RawRows:
    """Finds rows in a file, by their ids or, where the stream has none, by how many came before.

    Parameters
    ----------
    path : str or None
        The file; None finds nothing.
    status : dict
        That of the store.
    """

    def __init__(self, path: str | None, status: dict[str, Any]) -> None:
        self._path = path
        if path is None:
            return
        schema = stored_schema(status["schema"])
        if schema is None:
            raise ValueError("The store does not say what its columns are: leave --source out.")
        self._schema = schema
        self._has_ids = schema.name_of("id") is not None
        self._spans = rows_of_source(stored_run(status["schema"]), path, status["rows"])
        if not self._has_ids and not self._spans:
            raise ValueError(f"{path} is not a file that the store has rows of: leave --source out.")

    def find(self, questions: Iterable[Any]) -> dict[int, str]:
        """What is written there, by the numbers of the rows."""
        if self._path is None:
            return {}
        asked = list(questions)
        if self._has_ids:
            wanted = {question.id: question.number for question in asked}
        else:
            wanted = {self._place(question.number): question.number for question in asked}
        found: dict[int, str] = {}
        n_rows = 0
        with Reading(self._path, unknown_fields="ignore").open(self._schema) as source:
            for batch in source:
                names = range(n_rows, n_rows + len(batch)) if batch.ids is None else batch.ids
                n_rows += len(batch)
                for at, name in enumerate(names):
                    if name in wanted:
                        found[wanted[name]] = batch.raw[at]
                if len(found) == len(wanted):
                    break
        return found

    def _place(self, number: int) -> int | None:
        """Which row of the file has this number in the store."""
        before = 0
        for start, end in self._spans:
            if start <= number < end:
                return before + number - start
            before += end - start
        return None
