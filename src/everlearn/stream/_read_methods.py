"""The methods of the never-ending learner that change nothing: predictions, status, report data."""

import copy
import os
from typing import Any

import numpy as np

from .._base.lock import locked
from .._base.validate import Array
from .._html import escaped, table
from ..errors import StoreError
from ..store.backup import backup_log
from . import _checks
from ._influence import influence_of
from ._lookup_methods import LookupMethods
from ._process_memory import resident_mb
from ._report_data import report_data_of


class ReadMethods(LookupMethods):
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
