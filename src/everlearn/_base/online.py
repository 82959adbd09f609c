"""Capabilities of learners that see one row at a time: `partial_fit`, `fit` in random order, `finish`."""

from contextlib import nullcontext
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from tqdm.auto import tqdm

from . import constraints
from .forget import check_ids, refuse_known
from .learner import ROWS_PER_CALL, KernelLearner, LabeledRows
from .validate import (
    Array,
    Ints,
    Rows,
    check_classes,
    check_rows,
    check_rows_and_labels,
    encode_labels,
    row_weights,
    single_label,
)

_NUMBERING = Lock()  # held while row numbers are given out, never while rows are learned

Stream = TypeVar("Stream", bound="StreamLearner")
Online = TypeVar("Online", bound="OnlineLearner")
Finishing = TypeVar("Finishing", bound="FinishingLearner")


class StreamLearner(KernelLearner):
    """Capability: learn from a stream, where rows may have ids."""

    def partial_fit(
        self: Stream, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, ids: Any = None
    ) -> Stream:
        """Learn more rows, in the order given, each once.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that the stream can have; required in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C, or the step of a learner without C, for each row; a row of weight 0 is skipped.
        ids : array-like of int of shape (n_samples,), default=None
            Ids of the rows, for `forget` and `support_`; None continues the running row number. An id that
            the learner keeps a row of is refused.

        Returns
        -------
        object
            The learner itself.
        """
        if classes is None and sample_weight is None and ids is None and self._learn_one(X, y):
            return self
        constraints.check(self)
        self._learn_more(X, y, classes, sample_weight, ids)
        return self

    def _learn_one(self, X: Any, y: Any) -> bool:
        """Learn a single dense row; False, and nothing changes, if `_learn_more` has to look at it."""
        row = self._single_row(X)
        if row is None or not (self._is_configured() and self._takes_single_rows()):
            return False
        code = single_label(y, self.classes_)
        if code is None:
            return False
        native = self._machine.native
        learned, capped = native.iterations, native.capped
        row_id = self._count_one(code)
        try:
            known = not native.learn_one(row, code, float(self.C), row_id)
        except BaseException:
            if native.iterations == learned:
                self._count_one(code, times=-1)
            raise
        if known:  # a row with this id is in memory, or was dropped a moment ago
            self._count_one(code, times=-1)
            return False
        self._warn_if_capped(capped, stacklevel=4)
        return True

    def _takes_single_rows(self) -> bool:
        """Whether a valid row of weight 1 needs nothing that `_learn_one` does not do."""
        return self.class_weight is None and self.kernel != "precomputed"

    def _count_one(self, code: int, times: int = 1) -> int:
        """Count a row of a class, as `_count` does; returns its running number."""
        with _NUMBERING:
            number = int(self._rows_seen)
            counts = self._label_counts.copy()
            counts[code] += times
            self._rows_seen, self._label_counts = number + times, counts
        return number

    def _learn_more(self, X: Any, y: Any, classes: Any, sample_weight: Any, ids: Any) -> None:
        first = not hasattr(self, "_machine")
        # After an error in the first call there is no model; Ctrl-C keeps the rows learned until then.
        # Later calls bind no attribute before the rows are accepted.
        restored = self._unchanged_on_error if first else nullcontext
        with restored(Exception):
            with restored():
                self._solver_parameters()  # refuses values that exclude each other
                known = check_classes(classes, None if first else self.classes_)
                X, y = check_rows_and_labels(self, X, y, reset=first)
                labels = encode_labels(y, known)
                if first:
                    self._start(X, known)
                rows = self._number(X, labels, row_weights(sample_weight, X, all_zero=True), ids)
            self._learn(rows)

    def _number(
        self,
        X: Rows,
        labels: npt.NDArray[np.int32],
        weights: npt.NDArray[np.float64],
        ids: Any = None,
    ) -> LabeledRows:
        """Accept rows and count them in one step, so that no thread gets the row numbers of another."""
        with _NUMBERING:
            rows = self._accept(X, labels, weights, ids)
            self._count(rows)
        native = self._machine.native
        if len(native.missing(rows.ids)) < len(rows.ids):
            try:
                refuse_known(self, rows.ids, native.kept_ids)
            except BaseException:
                self._uncount(rows)
                raise
        return rows

    def _accept(
        self,
        X: Rows,
        labels: npt.NDArray[np.int32],
        weights: npt.NDArray[np.float64],
        ids: Any = None,
    ) -> LabeledRows:
        return super()._accept(X, labels, weights, None if ids is None else check_ids(ids, len(labels)))

    def _uncount(self, rows: LabeledRows) -> None:
        with _NUMBERING:
            self._count(rows, times=-1)

    def _learn(self, rows: LabeledRows) -> None:
        """Learn rows that were counted. If an error stops the first of them, none is counted."""
        usable = np.flatnonzero(rows.costs > 0)
        if len(usable) == 0 and not rows.counts.any():
            return
        native = self._machine.native
        learned, capped = native.iterations, native.capped
        try:
            native.drop_lingering(rows.ids)  # the core must not take a dropped row for a new one with its id
            self._configure()
            self._feed(native.learn, rows, usable)
        except BaseException:
            if native.iterations == learned:
                self._uncount(rows)
            raise
        self._warn_if_capped(capped, stacklevel=5)

    # ---------------------------------------------------------------------------------- for loops over rows

    def prepare(self: Stream, X: Any, classes: Any) -> Stream:
        """Begin without learning: fix the classes and what depends on features alone, such as gamma="scale".

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows like those that will come.
        classes : array-like of shape (n_classes,)
            All labels that the stream can have.

        Returns
        -------
        object
            The learner itself.
        """
        constraints.check(self)
        with self._unchanged_on_error():
            known = check_classes(classes, None)
            self._start(check_rows(self, X, reset=True), known)
        return self

    def takes_validated_rows(self) -> bool:
        """Whether `learn_validated` and `score_validated` do what `partial_fit` and `decision_function` do.

        Returns
        -------
        bool
            False if a subclass, or the object, has methods of its own in their place.
        """
        kind = type(self)
        return (
            kind.partial_fit is StreamLearner.partial_fit
            and kind._learn_more is StreamLearner._learn_more
            and kind.decision_function is KernelLearner.decision_function
            and not {"partial_fit", "decision_function"} & vars(self).keys()
        )

    def learn_validated(self, X: Rows, y: Array, sample_weight: Any = None) -> Ints:
        """Learn more rows from `validate_rows`; validating one row costs more than learning it.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : ndarray of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            As for `partial_fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The ids of the rows.
        """
        labels = encode_labels(y, self.classes_)
        rows = self._number(X, labels, row_weights(sample_weight, X))
        self._learn(rows)
        return rows.ids

    @property
    def last_id(self) -> int:
        """The running number of the last row: its id, unless it came with another."""
        return int(self._rows_seen) - 1


class OnlineLearner(KernelLearner):
    """Capability: `fit` in passes over the rows, each in random order."""

    def fit(self: Online, X: Any, y: Any, sample_weight: Any = None) -> Online:
        """Learn from scratch, in passes over the rows in random order.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C, or the step of a learner without C, for each row; a row of weight 0 is skipped.

        Returns
        -------
        object
            The learner itself.
        """
        constraints.check(self)
        with self._unchanged_on_error(Exception):  # Ctrl-C keeps the rows learned until then
            with self._unchanged_on_error():
                self._solver_parameters()  # refuses values that exclude each other
                rows, usable = self._take_all(X, y, sample_weight)
                random = check_random_state(self.random_state)
            self._configure()
            learned = self._pass_over(rows, usable, random)
            self._warn_if_capped(0)
            self._conclude(rows, learned)
        return self

    def _pass_over(self, rows: LabeledRows, usable: Ints, random: Any) -> Ints:
        """The epochs, each in another order; returns the numbers of the rows learned."""
        native = self._machine.native
        with tqdm(
            total=len(usable) * self.epochs, desc="learning", unit="row", disable=not self.verbose
        ) as bar:
            for _ in range(self.epochs):
                order = random.permutation(usable).astype(np.int64)
                for start in range(0, len(order), ROWS_PER_CALL):
                    turn = order[start : start + ROWS_PER_CALL]
                    self._feed(native.learn, rows, turn)
                    bar.update(len(turn))
                    bar.set_postfix(kept=native.size)
        return usable

    def _conclude(self, rows: LabeledRows, learned: Ints) -> None:
        """The end of `fit`, after the last row."""


class FinishingLearner(KernelLearner):
    """Capability: optimize on the rows kept, at any time or at the end of `fit`."""

    def finish(self: Finishing) -> Finishing:
        """Optimize on the rows kept until no violation is larger than ``tol``.

        A learner that drops rows then drops those that are not support vectors.

        Returns
        -------
        object
            The learner itself.
        """
        self._check_fitted()
        constraints.check(self)
        self._configure()
        self._finish_stream("finishing")
        self._warn_if_unsolved("Finishing", stacklevel=2)
        self._drop_idle()
        self._follow_machine()
        return self

    def _finish_stream(self, title: str) -> None:
        """Find the optimum over the rows in memory."""
        self._optimize(self._machine.native.finish, title)

    def _conclude(self, rows: LabeledRows, learned: Ints) -> None:
        if self.finishing is not None:
            self._finish_fit(rows, learned)
            self._warn_if_unsolved("Finishing", stacklevel=3)
        self._drop_idle()
        self._follow_machine()

    def _finish_fit(self, rows: LabeledRows, learned: Ints) -> None:
        """Find the optimum over the rows kept."""
        self._optimize(self._machine.native.finish, "finishing")

    def _drop_idle(self) -> None:
        """Drop rows that are not support vectors, as far as the learner drops rows at all."""
