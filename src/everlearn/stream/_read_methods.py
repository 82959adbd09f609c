"""The methods of the never-ending learner that change nothing: predictions, status, report data."""

import copy
import os
from itertools import islice
from typing import Any

import numpy as np

from .._base.lock import locked
from .._base.validate import Array
from .._html import escaped, table
from ..errors import StoreError
from ..store.backup import backup_log
from ..store.events import Event
from ..store.lookup import Id
from . import _checks
from ._influence import influence_of
from ._log_backed import LogBacked
from ._process_memory import resident_mb
from ._report_data import report_data_of
from .answers import Answer, answers_of, majority


class ReadMethods(LogBacked):
    """Base of `NeverEndingLearner`: the methods that add no event."""

    @locked
    def predict(self, X: Any) -> Array:
        """Predict rows with the current model, without adding them to the stream.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The labels; None until two classes are known.
        """
        rows = self._state.scaled(_checks.rows(X, self._n_features()))
        return np.array(self._state.predict_scored(rows)[0], dtype=object)

    @locked
    def decision_function(self, X: Any) -> Any:
        """Compute the decision values of rows with the current model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray or None
            The decision values; None until two classes are known.
        """
        return self._state.predict_scored(self._state.scaled(_checks.rows(X, self._n_features())))[1]

    @locked
    def predict_proba(self, X: Any) -> Any:
        """Compute calibrated class probabilities of rows with the current model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes) or None
            The probabilities, which sum to 1 in each row; None until two classes are known. The calibration
            is updated along the stream, from decision values computed before the label was known.
        """
        return self._state.shares(self.decision_function(X))

    @locked
    def predict_with_shares(self, X: Any) -> tuple[list[Any], list[dict[Any, float]] | None]:
        """Predict rows with the current model: labels and probabilities, as of one moment.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        tuple of (list, list of dict or None)
            The labels, None until two classes are known; and the probability of each class.
        """
        rows = self._state.scaled(_checks.rows(X, self._n_features()))
        labels, scores = self._state.predict_scored(rows)
        shares = self._state.shares(scores)
        if shares is None:
            return list(labels), None
        classes = self._state.learner.classes_.tolist()
        return list(labels), [dict(zip(classes, line, strict=True)) for line in shares.tolist()]

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
    def predict_set(self, X: Any) -> list[list[Any]] | None:
        """Compute the prediction sets of rows, which contain the true class with probability ``coverage``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        list of list or None
            The classes in the set of each row; None until two classes are known.
        """
        if self._settings.coverage is None:
            raise ValueError(
                "Prediction sets need a coverage: create the store with coverage=0.9, for example."
            )
        shares = self.predict_proba(X)
        return (
            None
            if shares is None
            else self._state.probabilities.sets(shares, self._state.learner.classes_.tolist())
        )

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

    @locked
    def status(self) -> dict[str, Any]:
        """Summarize the state of the learner.

        Returns
        -------
        dict
            Counts of rows, labels, questions and support vectors; scores; drift alarms; memory use; schema.
        """
        self._check_open()
        state = self._state
        return {
            "store": str(self._log.database),
            "learner": repr(self._settings.learner),
            "events": self._log.last,
            "rows": state.n_rows,
            "labels": state.n_labels,
            "withdrawn": state.n_withdrawn,
            "erased": state.n_erased,
            "failures": state.n_failures,
            "classes": list(state.classes),
            "asked": state.questions.n_asked,
            "open_questions": len(state.questions.open),
            "budget": self._settings.label_budget,
            "support_vectors": state.n_support,
            "kept_rows": len(state.pool) + len(state.labeled),
            "memory_mb": resident_mb(),
            "scores": state.scores.scores(),
            "audit": state.audit.scores()["window"],
            "coverage": state.probabilities.coverage,
            "drift_alarms": list(state.alarms),
            "scaled": state.mean is not None,
            "schema": copy.deepcopy(state.schema),
        }

    def _repr_html_(self) -> str:
        """The status as a table, for notebooks."""
        try:
            status = self.status()
        except StoreError as error:
            return f"<p>{escaped(error)}</p>"
        audit, window = status["audit"], status["scores"]["window"]
        budget = "" if status["budget"] is None else f" of {status['budget']:,}"
        lines = [
            ("store", status["store"]),
            ("learner", status["learner"]),
            ("rows", f"{status['rows']:,}"),
            ("labels", f"{status['labels']:,}"),
            ("classes", ", ".join(map(str, status["classes"][:10]))),
            ("questions", f"{status['asked']:,}{budget} asked, {status['open_questions']:,} open"),
            ("drift alarms", f"{len(status['drift_alarms']):,}"),
        ]
        for name, scores in (("accuracy, last labels", window), ("accuracy, random rows", audit)):
            if scores.get("n"):
                lines.append((name, f"{scores['accuracy']:.3f} of {scores['n']:,.0f}"))
        return table(lines)

    @locked
    def report_data(self, /, **about: Any) -> dict[str, Any]:
        """Collect the data of a report: curves, questions, drift alarms, confusion matrices over time.

        Parameters
        ----------
        about : dict
            Further entries, such as a title.

        Returns
        -------
        dict
            The data, for `everlearn.report.write_report`.
        """
        return report_data_of(self._state, self._settings, self._log, self.status(), self._with_ids, about)

    @locked
    def influence(self) -> dict[str, Any]:
        """Find what drives the predictions: the fields, and the labeled rows that matter most.

        Returns
        -------
        dict
            Empty without a model. Otherwise "sample" is the number of recent rows it was measured on;
            "fields" has for each field of a row "change", "flips" and "toward"; "rows" has the "id",
            "label", "predicted", "change" and "flips" of up to 10 labeled rows, if the learner can forget
            rows. The strongest come first.

        Notes
        -----
        A field is measured by permutation: its values are shuffled between rows. A row is measured by a copy
        of the learner that forgets it. "change" is the root mean square of the change of the decision values,
        relative to that between different rows; "flips" is the fraction of predictions that change;
        "toward" is the class that higher values speak for, if there are two classes and the direction is
        clear.
        """
        self._check_open()
        found = influence_of(self._state)
        rows = found.get("rows", [])
        ids = self._log.ids_of([row["number"] for row in rows]) if rows else []
        named = [{"id": name} | row for name, row in zip(ids, rows, strict=True)]
        return (
            found | {"rows": [{key: value for key, value in row.items() if key != "number"} for row in named]}
            if found
            else {}
        )

    @locked
    def backup(self, destination: str | os.PathLike[str], *, overwrite: bool = False) -> dict[str, int]:
        """Copy the store, as `everlearn.store.backup` does.

        Parameters
        ----------
        destination : str or path-like
            The copy: a file, or the URL of a database without a store.
        overwrite : bool, default=False
            Whether to replace an existing file.

        Returns
        -------
        dict
            Counts of events, rows, labels and snapshots in the copy.
        """
        self._check_open()
        return backup_log(self._log, destination, overwrite=overwrite)

    @property
    @locked
    def learner_(self) -> Any:
        """The fitted learner; None until two classes are known. Do not modify it.

        It is the live object: `step` and `label` change it, also when other threads call them.
        """
        return self._state.learner

    @property
    @locked
    def mean_(self) -> Any:
        """The value subtracted from each feature; None without scaling."""
        return self._state.mean

    @property
    @locked
    def scale_(self) -> Any:
        """The value each feature is divided by; None without scaling."""
        return self._state.scale
