"""The methods of the never-ending learner that look something up: rows, answers, notes, events, counts."""

import copy
from itertools import islice
from typing import Any

import numpy as np

from .._base.lock import locked
from ..store.events import Event
from ..store.lookup import Id
from . import _checks
from ._log_backed import LogBacked
from .answers import Answer, answers_of, majority


class LookupMethods(LogBacked):
    """Base of `NeverEndingLearner`: looks up rows, answers, notes, events and counts."""

    @locked
    def labels_of(self, ids: Any) -> dict[Id, Any]:
        """Get the labels that are learned for rows; see `answers`.

        Parameters
        ----------
        ids : array-like of int or str
            The ids of rows.

        Returns
        -------
        dict of id to label
            The labels; None for rows without one.
        """
        return {name: majority(found) for name, found in self.answers(ids).items()}

    @locked
    def rows(self, ids: Any) -> Any:
        """Get rows by their ids.

        Parameters
        ----------
        ids : array-like of int or str
            The ids, at least one.

        Returns
        -------
        ndarray or CSR matrix of shape (n_ids, n_features)
            The rows as they arrived, not scaled.
        """
        self._check_open()
        return self._log.rows_of(self._log.numbers_of(_checks.ids(ids)))

    @locked
    def rows_by_number(self, numbers: Any) -> Any:
        """Get rows by their numbers in the stream.

        Parameters
        ----------
        numbers : array-like of int
            The numbers, at least one.

        Returns
        -------
        ndarray or CSR matrix of shape (n_numbers, n_features)
            The rows as they arrived, not scaled.
        """
        self._check_open()
        return self._log.rows_of(np.asarray(numbers, dtype=np.int64))

    @locked
    def with_rows(self, ids: Any) -> list[Id]:
        """Find the ids that have a row in the store.

        Parameters
        ----------
        ids : array-like of int or str
            The ids.

        Returns
        -------
        list of int or str
            Those of them that have a row, which was not erased.
        """
        self._check_open()
        return self._log.in_index(_checks.ids(ids))

    @locked
    def answers(self, ids: Any) -> dict[Id, list[Answer]]:
        """Get the answers for rows that count towards their labels.

        Parameters
        ----------
        ids : array-like of int or str
            The ids of rows.

        Returns
        -------
        dict of id to list of Answer
            The answers of each row in the order in which they were given: ``label``, ``by``, ``weight`` and
            ``time``. The label with the largest total weight is learned.
        """
        self._check_open()
        names = _checks.ids(ids)
        numbers = self._log.numbers_of(names)
        found = answers_of(self._log, numbers)
        return {name: found[number] for name, number in zip(names, numbers.tolist(), strict=True)}

    @locked
    def disagreements(self) -> dict[Id, list[Answer]]:
        """Get the rows whose annotators disagree.

        Returns
        -------
        dict of id to list of Answer
            The answers of each such row; see `answers`.
        """
        self._check_open()
        numbers = self._log.answered_often()
        found = answers_of(self._log, np.array(numbers, dtype=np.int64))
        split = [number for number in numbers if len({answer.label for answer in found[number]}) > 1]
        names = self._log.ids_of(split)
        return {name: found[number] for name, number in zip(names, split, strict=True)}

    @locked
    def known_ids(self, ids: Any) -> list[Id]:
        """Find the ids that are already taken and cannot be used for new rows.

        Parameters
        ----------
        ids : array-like of int or str
            The ids.

        Returns
        -------
        list of int or str
            Those of them that belong to a row in the store or to an erased one.
        """
        self._check_open()
        return self._log.known(_checks.ids(ids))

    @property
    @locked
    def notes(self) -> dict[str, Any]:
        """Values that the caller has stored by name, with the parameter ``notes`` of `step`.

        Notes are JSON values. They are written in the same transaction as a batch or a schema, and replace
        earlier ones of the same name; None deletes one. The learner does not use them. They can record, for
        example, how far a source has been read. `erase` does not search them.
        """
        self._check_open()
        return self._log.notes()

    @property
    @locked
    def n_rows(self) -> int:
        """The number of rows that have arrived."""
        return self._state.n_rows

    @property
    @locked
    def n_labels(self) -> int:
        """The number of labels that were learned."""
        return self._state.n_labels

    @property
    @locked
    def drift_alarms(self) -> list[dict[str, Any]]:
        """The drift alarms, oldest first."""
        return [dict(alarm) for alarm in self._state.alarms]

    @locked
    def curves(self) -> dict[str, list[float]]:
        """Get the history of the stream: rows, labels, scores and random checks, as columns of equal length.

        Returns
        -------
        dict of str to list
            The columns.
        """
        self._check_open()
        return self._state.curves()

    @locked
    def question_counts(self) -> dict[str, Any]:
        """Count the questions.

        Returns
        -------
        dict
            How many were "asked" and are "open", and the label "budget", None without one.
        """
        queue = self._state.questions
        return {"asked": queue.n_asked, "open": len(queue.open), "budget": self._settings.label_budget}

    @locked
    def events(self, after: int, limit: int = 100) -> list[tuple[int, Event]]:
        """Get events of the log, with their numbers.

        Parameters
        ----------
        after : int
            The number of the event after which to begin.
        limit : int, default=100
            The maximum number of events.

        Returns
        -------
        list of tuple of (int, Event)
            The events, in order.
        """
        self._check_open()
        return list(islice(self._log.read_any(after), limit))

    @locked
    def has_values(self, row: Id) -> bool:
        """Whether the values of a row are still in the store; they may have been dropped (``retention``).

        Parameters
        ----------
        row : int or str
            The id of the row.

        Returns
        -------
        bool
            Whether they are.
        """
        self._check_open()
        return self._log.values_of(self._log.numbers_of([row])) is not None

    def check_store(self) -> None:
        """Read from the store; a `StoreError` if that is not possible. It does not wait for other threads."""
        self._check_open()
        self._log.check()

    @property
    def asks(self) -> bool:
        """Whether there is a query strategy."""
        return self._settings.query_strategy is not None

    @property
    @locked
    def can_ask(self) -> bool:
        """Whether there is a query strategy, and label budget for another question."""
        return self.asks and self._state.questions.within_budget(1) > 0

    @property
    def sequence(self) -> int:
        """The number of the last event in the log."""
        self._check_open()
        return self._log.last

    @property
    @locked
    def classes(self) -> list[Any]:
        """The classes that are known, in the order of decision values and probabilities."""
        return list(self._state.classes)

    @property
    @locked
    def schema(self) -> dict[str, Any] | None:
        """The description of the features; see `set_schema`."""
        return copy.deepcopy(self._state.schema)
