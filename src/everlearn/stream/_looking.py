"""The side of the never-ending learner that looks: predictions and where it stands; nothing is changed."""

import copy
import os
from typing import Any

import numpy as np

from .._base.validate import Array
from ..store.backup import backup_log
from ..store.lookup import Id
from . import _checks
from ._folding import Folding
from ._history import report_of
from ._lock import locked
from ._memory import resident_mb


class Looking(Folding):
    """Base of `NeverEndingLearner`: what can be asked of it without an event."""

    @locked
    def predict(self, X: Any) -> Array:
        """Predict rows by the present learner; nothing is changed.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The labels; None as long as two classes have not been seen.
        """
        rows = self._fold.scaled(_checks.rows(X, self._n_features()))
        return np.array(self._fold.judge(rows)[0], dtype=object)

    @locked
    def decision_function(self, X: Any) -> Any:
        """Score rows by the present learner; nothing is changed.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray or None
            The decision values.
        """
        return self._fold.judge(self._fold.scaled(_checks.rows(X, self._n_features())))[1]

    @locked
    def predict_proba(self, X: Any) -> Any:
        """Calibrated probabilities of rows by the present learner; nothing is changed.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes) or None
            They sum to 1 in each row; None as long as two classes have not been seen. The calibration
            follows the stream: it is fitted to decision values from before their label was known.
        """
        return self._fold.shares(self.decision_function(X))

    @locked
    def predict_set(self, X: Any) -> list[list[Any]] | None:
        """The classes that may be true, with the promised ``coverage``; nothing is changed.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        list of list or None
            The classes of each row; None as long as two classes have not been seen.
        """
        if self._settings.coverage is None:
            raise ValueError(
                "Prediction sets need a coverage: create the store with, for example, coverage=0.9."
            )
        shares = self.predict_proba(X)
        return (
            None
            if shares is None
            else self._fold.probabilities.sets(shares, self._fold.learner.classes_.tolist())
        )

    @locked
    def rows(self, ids: Any) -> Any:
        """Rows as they came, by their ids; nothing is changed.

        Parameters
        ----------
        ids : array-like of int or str
            The ids, one at least.

        Returns
        -------
        ndarray or CSR matrix of shape (n_ids, n_features)
            The rows, not scaled.
        """
        self._check_open()
        return self._log.rows_of(self._log.numbers_of(_checks.ids(ids)))

    @locked
    def known_ids(self, ids: Any) -> list[Id]:
        """Which of some ids cannot be used for new rows, as a row has come under them.

        Parameters
        ----------
        ids : array-like of int or str
            The ids.

        Returns
        -------
        list of int or str
            Those under which a row has come, also if it was erased since.
        """
        self._check_open()
        return self._log.known(_checks.ids(ids))

    @property
    @locked
    def notes(self) -> dict[str, Any]:
        """What a program that feeds the store has noted in it, by name: see the parameter of `step`.

        Notes are values that JSON can hold. They are written in the same transaction as a batch or a schema,
        and replace those of the same name; None removes one. The learner does not use them: keep in them, for
        example, how far a source has been read. `erase` does not search them for rows.
        """
        self._check_open()
        return self._log.notes()

    @locked
    def status(self) -> dict[str, Any]:
        """Where it stands.

        Returns
        -------
        dict
            Counts of rows, labels, questions and support vectors, scores, drift alarms, what is kept.
        """
        self._check_open()
        fold = self._fold
        return {
            "store": str(self._log.place),
            "learner": repr(self._settings.learner),
            "events": self._log.last,
            "rows": fold.n_rows,
            "labels": fold.n_labels,
            "withdrawn": fold.n_withdrawn,
            "erased": fold.n_erased,
            "failures": fold.n_failures,
            "classes": list(fold.classes),
            "asked": fold.asking.n_asked,
            "open_questions": len(fold.asking.open),
            "budget": self._settings.label_budget,
            "support_vectors": fold.n_support,
            "kept_rows": len(fold.pool) + len(fold.labeled),
            "memory_mb": resident_mb(),
            "scores": fold.scores.scores(),
            "audit": fold.audit.scores()["window"],
            "coverage": fold.probabilities.coverage,
            "drift_alarms": list(fold.alarms),
            "scaled": fold.mean is not None,
            "schema": copy.deepcopy(fold.schema),
        }

    @locked
    def report_data(self, /, **about: Any) -> dict[str, Any]:
        """All that a report shows: curves, questions, alarms, confusion over time.

        Parameters
        ----------
        about : dict
            What is to be said besides, such as a title.

        Returns
        -------
        dict
            As `everlearn.report.write_report` takes it.
        """
        return report_of(self._fold, self._settings, self._log, self.status(), self._named, about)

    @locked
    def backup(self, destination: str | os.PathLike[str], *, overwrite: bool = False) -> dict[str, int]:
        """Copy the store, as `everlearn.store.backup` does; nothing is changed.

        Parameters
        ----------
        destination : str or path-like
            Where the copy is made: a file, or the URL of a database without a store.
        overwrite : bool, default=False
            Whether a file that exists is replaced.

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
        """The present learner, fitted; None as long as two classes have not been seen. Do not change it.

        It is the live object: other threads that call `step` or `label` change it.
        """
        return self._fold.learner

    @property
    @locked
    def mean_(self) -> Any:
        """What is subtracted from each feature; None without scaling."""
        return self._fold.mean

    @property
    @locked
    def scale_(self) -> Any:
        """What each feature is divided by; None without scaling."""
        return self._fold.scale
