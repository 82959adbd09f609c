"""Learners that take rows one at a time: `fit` in random order, `partial_fit` in the order given."""

import warnings
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from tqdm.auto import tqdm

from . import constraints
from .learner import ROWS_PER_CALL, Ints, KernelLearner, LabeledRows
from .validate import Array, Rows, check_classes, check_rows, check_rows_and_labels, encode_labels

Self = TypeVar("Self", bound="StreamLearner")
Online = TypeVar("Online", bound="OnlineLearner")
Finishing = TypeVar("Finishing", bound="FinishingLearner")


class StreamLearner(KernelLearner):
    """Base of learners that see each row when it comes; a subclass names its solver and its parameters."""

    def partial_fit(self: Self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, in the order given, each once.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come; needed in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C, or the step of a learner without C, for each row; a row of weight 0 is left out.

        Returns
        -------
        object
            The learner itself.
        """
        return self._learn_more(X, y, classes, sample_weight, None)

    def _learn_more(self: Self, X: Any, y: Any, classes: Any, sample_weight: Any, ids: Ints | None) -> Self:
        """Learn more rows; their ids are the running row numbers unless others are given."""
        constraints.check(self)
        first = not hasattr(self, "_machine")
        with self._unchanged_on_error():
            self._solver_parameters()
            known = check_classes(classes, None if first else self.classes_)
            X, y = check_rows_and_labels(self, X, y, reset=first)
            labels = encode_labels(y, known)
            if first:
                self._start(X, known)
            counts = self._label_counts
            left_out = sample_weight is not None and np.shape(sample_weight) == y.shape
            left_out = left_out and not np.any(sample_weight)  # scikit-learn refuses weights that are all 0
            rows = self._accept(X, y, labels, None if left_out else sample_weight, ids)
        if left_out:
            self._label_counts = counts
            return self
        self._take_in(rows, counts)
        return self

    def _learn_validated(self, X: Rows, y: Array, sample_weight: Any = None) -> Ints:
        """Learn more rows, validated already as the parameters are; returns their ids."""
        counts = self._label_counts
        with self._unchanged_on_error():
            labels = encode_labels(y, self.classes_)
            rows = self._accept(X, y, labels, sample_weight)
        self._take_in(rows, counts)
        return rows.ids

    @property
    def _last_id(self) -> int:
        """Running number of the row that came last, its id unless it was given another one."""
        return int(self._rows_seen) - 1

    def _take_in(self, rows: LabeledRows, counts: Ints) -> None:
        """Learn accepted rows; ``counts`` is what the label counts go back to if nothing is learned."""
        self._configure()
        native = self._machine.native
        before, capped = native.iterations, native.capped
        try:
            self._feed(native.learn, rows, np.flatnonzero(rows.costs > 0))
        except BaseException:
            if native.iterations == before:  # nothing was learned: the row numbers are free again
                self._rows_seen -= len(rows.ids)
                self._label_counts = counts
            raise
        self._warn_if_capped(capped)

    def _prepare(self, X: Any, classes: Any) -> None:
        """Fix what depends on the first rows, without learning any of them."""
        constraints.check(self)
        with self._unchanged_on_error():
            known = check_classes(classes, None)
            self._start(check_rows(self, X, reset=True), known)

    def _warn_if_capped(self, before: int) -> None:
        """Say that rows had more steps than a row may have, if there are more of them than before."""
        count = self._machine.native.capped - before
        if count > 0:
            warnings.warn(
                f"Optimizing was cut short {count} times, where a row took too many steps: the model is "
                "further from its optimum than it should be. Scale the features, or choose a smaller C.",
                ConvergenceWarning,
                stacklevel=3,
            )


class OnlineLearner(StreamLearner):
    """Base of learners that `fit` in passes over the rows, each in an order of its own."""

    _constraints: ClassVar[dict[str, constraints.Constraint]] = StreamLearner._constraints | {
        "epochs": constraints.integer_from(1)
    }

    def fit(self: Online, X: Any, y: Any, sample_weight: Any = None) -> Online:
        """Learn from scratch: passes over the rows in random order.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C, or the step of a learner without C, for each row; a row of weight 0 is left out.

        Returns
        -------
        object
            The learner itself.
        """
        constraints.check(self)
        with self._unchanged_on_error():
            self._solver_parameters()  # refuses what does not go together
            rows, usable = self._take_all(X, y, sample_weight)
            random = check_random_state(self.random_state)
        self._configure()
        self._pass_over(rows, usable, random)
        self._warn_if_capped(0)
        self._conclude()
        return self

    def _pass_over(self, rows: LabeledRows, usable: Ints, random: Any) -> None:
        """The epochs, each in an order of its own."""
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

    def _conclude(self) -> None:
        """What `fit` does after the last row."""


class FinishingLearner(OnlineLearner):
    """An online learner that can optimize on the rows it has kept."""

    _constraints: ClassVar[dict[str, constraints.Constraint]] = OnlineLearner._constraints | {
        "finishing": constraints.BOOLEAN
    }

    def finish(self: Finishing) -> Finishing:
        """Optimize on the rows kept until none violates by more than ``tol``.

        Rows that are no support vectors then are dropped, as far as the learner drops rows at all.

        Returns
        -------
        object
            The learner itself.
        """
        if not hasattr(self, "_machine"):  # the check alone costs more than finishing after one row
            check_is_fitted(self)
        constraints.check(self)
        self._configure()
        self._optimize(self._machine.native.finish, "finishing")
        self._warn_if_unsolved("Finishing", stacklevel=2)
        self._drop_idle()
        if self._foreign is not None:
            self._foreign.keep(self._machine.native.ids)
        return self

    def _conclude(self) -> None:
        if self.finishing:
            self.finish()

    def _drop_idle(self) -> None:
        """Drop rows that are of no use once the optimum is reached."""
