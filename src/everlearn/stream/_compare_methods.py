"""The methods of the never-ending learner that compare rows: unusual values, similar rows, evidence."""

from dataclasses import replace
from typing import Any

import numpy as np

from .._base.lock import locked
from ..store.lookup import Id
from . import _checks
from ._compare import (
    LEFT_OUT,
    OUTLIER,
    FeatureRanks,
    LabelMargins,
    SimilarRow,
    SupportFor,
    count_near,
    feature_ranks,
    near_rows,
    similar_labeled,
    support_for,
)
from ._read_methods import ReadMethods
from .random_checks import (
    BaselinePoint,
    RandomBaseline,
    RandomCheck,
    SelectedCheck,
    SelectedRows,
    answered_checks,
)


class CompareMethods(ReadMethods):
    """Base of `NeverEndingLearner`: comparisons of rows, which change nothing."""

    @locked
    def feature_ranks(self, X: Any, columns: Any) -> FeatureRanks:
        """Compare a row with the rows in memory, to find unusual values.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (1, n_features)
            The row.
        columns : array-like of int
            The features to compare.

        Returns
        -------
        FeatureRanks
            The fractions of rows with a smaller value and with the same value (``below``, ``equal``), for
            each column; and the number of rows compared (``n_rows``).
        """
        row = self._state.scaled(_checks.rows(X, self._n_features()))
        return feature_ranks(self._state, row, np.asarray(columns, dtype=np.intp))

    @locked
    def similar_rows(self, X: Any, n: int = 3) -> list[SimilarRow]:
        """Find the labeled rows in memory that are most similar to a row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (1, n_features)
            The row.
        n : int, default=3
            The maximum number of rows.

        Returns
        -------
        list of SimilarRow
            The most similar first: ``id``, ``number``, ``label`` and ``distance``.
        """
        row = self._state.scaled(_checks.rows(X, self._n_features()))
        found = similar_labeled(self._state, row, _checks.count(n))
        names = self._log.ids_of([similar.number for similar in found]) if found else []
        return [replace(similar, id=name) for similar, name in zip(found, names, strict=True)]

    @locked
    def near_rows(self, X: Any, similarity: float) -> list[Id]:
        """Find the unlabeled rows in memory that are near-duplicates of a row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (1, n_features)
            The row.
        similarity : float
            The least kernel value, at most 1: exp(-d^2 / n_features) of the scaled rows, or the cosine of
            sparse ones.

        Returns
        -------
        list of int or str
            Their ids, the most similar first; the row itself is among them if it is in memory.
        """
        row = self._state.scaled(_checks.rows(X, self._n_features()))
        numbers = near_rows(self._state, row, similarity)
        return self._log.ids_of(numbers) if numbers else []

    @locked
    def count_near(self, X: Any, similarity: float) -> int:
        """Count the rows that `near_rows` finds, which is faster.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (1, n_features)
            The row.
        similarity : float
            The least kernel value.

        Returns
        -------
        int
            The number of unlabeled rows in memory that are this similar, with the row itself.
        """
        row = self._state.scaled(_checks.rows(X, self._n_features()))
        return count_near(self._state, row, similarity)

    @locked
    def support_for(self, X: Any, n: int = 3) -> list[SupportFor]:
        """Find the support vectors that contribute most to the prediction of a row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (1, n_features)
            The row.
        n : int, default=3
            The maximum number of support vectors for, and of those against the predicted class.

        Returns
        -------
        list of SupportFor
            Those for the class, strongest first, then those against it: ``id``, ``label``, ``of`` (the
            class), ``speaks`` ("for" or "against") and ``share`` of all contributions. Empty without a model,
            and for learners that are no expansion of kernel values.
        """
        row = self._state.scaled(_checks.rows(X, self._n_features()))
        found = support_for(self._state, row, _checks.count(n))
        there = dict(zip((f.number for f in found), self._log.ids_of([f.number for f in found]), strict=True))
        return [replace(support, id=there[support.number]) for support in found]

    def suspected_mistakes(
        self, *, outlier: float = OUTLIER, left_out: float = LEFT_OUT
    ) -> list[tuple[Id, float]]:
        """Find the labeled rows in memory whose label the model contradicts.

        A label y with y f(x) < -1 lies where the ramp loss is flat: it is treated as an outlier. Of the other
        labels that are contradicted most, each is left out once: it is suspected if y f(x) < -0.5 for a model
        that has forgotten it. Other threads do not wait meanwhile.

        Parameters
        ----------
        outlier : float, default=-1.0
            The largest y f(x) of an outlier.
        left_out : float, default=-0.5
            The largest y f(x) for a model that has forgotten the row.

        Returns
        -------
        list of tuple of (id, float)
            The ids and y f(x), the most suspicious first. With more than two classes, y f(x) is half the
            difference to the largest other decision value.
        """
        with self._lock:
            self._check_open()
            found = LabelMargins(self._state)
        suspects = found.suspects(outlier, left_out)
        with self._lock:
            names = self._log.ids_of([number for number, _ in suspects]) if suspects else []
        return [(name, value) for name, (_, value) in zip(names, suspects, strict=True)]

    @locked
    def random_checks(self) -> list[RandomCheck]:
        """Get the rows that were drawn at random and labeled, with what the model predicted for them.

        Returns
        -------
        list of RandomCheck
            In the order of the answers, the last 2,000: ``labels`` that the model had learned, ``label``,
            ``predicted`` just before the label was learned, ``right``, the ``share`` of the rows from which
            the row was drawn, and its ``id``. Checks without a model are left out.
        """
        self._check_open()
        found = answered_checks(self._state)
        names = self._log.ids_of([question.number for question in found]) if found else []
        return [
            RandomCheck(q.answered_labels or 0, q.label, q.predicted_last, q.share or 0.0, name)
            for q, name in zip(found, names, strict=True)
        ]

    def selected_checks(self, n: int = 40) -> list[SelectedCheck]:
        """Predict labeled rows that the query strategy selected by copies of the learner that forget them.

        The strategy selects rows that are difficult, and random rows are drawn from what it has left. Where
        it has taken a notable part of all rows, `random_checks` alone are too easy. Other threads do not wait
        meanwhile.

        Parameters
        ----------
        n : int, default=40
            The maximum number of rows.

        Returns
        -------
        list of SelectedCheck
            The ``id``, ``label`` and prediction of each. Learners that cannot forget rows predict them as
            they are.
        """
        with self._lock:
            self._check_open()
            chosen = SelectedRows(self._state, _checks.count(n))
            names = self._log.ids_of(chosen.numbers) if chosen.numbers else []
        return [
            SelectedCheck(name, label, predicted)
            for name, (label, predicted) in zip(names, chosen.predictions(), strict=True)
        ]

    def random_baseline(self) -> list[BaselinePoint]:
        """Train a learner of the same kind on the random checks alone, and test it on the later ones.

        Its learning curve shows what the query strategy is worth: both are tested on rows drawn at random.
        It has no more labels than there are checks. Other threads do not wait meanwhile.

        Returns
        -------
        list of BaselinePoint
            After 10, 15, 20, ... checks: ``labels``, ``tested`` later checks, ``right`` predictions of them.
        """
        with self._lock:
            self._check_open()
            found = RandomBaseline(self._state)
        return found.points()
