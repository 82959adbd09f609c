"""Learners that unlearn: rows by the ids under which they came, and taking some of them back."""

from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from . import constraints
from .learner import Ints, KernelLearner, LabeledRows
from .online import StreamLearner
from .validate import Array, Rows

Self = TypeVar("Self", bound="ForgettingLearner")
Naming = TypeVar("Naming", bound="NamingLearner")


def check_ids(ids: Any, count: int | None = None) -> Ints:
    """Validate ids: integers, none of them twice, and as many as there are rows."""
    given = np.asarray(ids)
    if given.size == 0:
        given = given.astype(np.int64)
    if given.dtype.kind not in "iu" or given.ndim > 1:
        raise TypeError(
            f"ids must be integers in one dimension, got shape {given.shape} and dtype {given.dtype}: keep a "
            "table from names of your own to numbers."
        )
    if (
        given.size
        and not np.iinfo(np.int64).min < int(given.min()) <= int(given.max()) <= np.iinfo(np.int64).max
    ):
        raise ValueError(f"ids must fit in 64 bits with a sign, got {given.min()} and {given.max()}.")
    given = np.atleast_1d(given).astype(np.int64)
    if count is not None and len(given) != count:
        raise ValueError(f"ids must name every row: got {len(given)} ids for {count} rows.")
    names, times = np.unique(given, return_counts=True)
    if len(names) < len(given):
        raise ValueError(f"ids must name a row once; {some_ids(names[times > 1])} is there more than once.")
    return given


def some_ids(ids: Ints) -> str:
    """The first few of many ids."""
    return ", ".join(str(row_id) for row_id in ids[:5].tolist()) + (", ..." if len(ids) > 5 else "")


def refuse_missing(owner: Any, missing: Ints) -> None:
    """Raise if there are ids to be forgotten of which ``owner`` keeps no row."""
    if len(missing):
        raise ValueError(
            f"This {type(owner).__name__} keeps no row with the id {some_ids(missing)}: it has been "
            "forgotten or dropped, or it never came."
        )


def refuse_known(owner: Any, ids: Ints, kept: Ints) -> None:
    """Raise if ``owner`` keeps a row under one of the ids of new rows."""
    known = ids[np.isin(ids, kept)]
    if len(known):
        raise ValueError(
            f"This {type(owner).__name__} keeps a row with the id {some_ids(known)} already: forget it "
            "first, or give the new row another id."
        )


def stored_ids(learner: KernelLearner) -> Ints:
    """The ids of the rows that a fitted learner keeps."""
    return np.asarray(learner._machine.native.ids)


class ForgettingLearner(KernelLearner):
    """Base of learners whose native solver has ``forget(ids)``.

    ``forgetting`` says what `forget` promises. "exact": the model is, to rounding, the one that never saw the
    rows. "removal": the rows, their coefficients and everything stored about them are gone, and the
    invariants of the solver hold on the rows that are left; steps that other rows took because of them are
    not undone.
    """

    forgetting: ClassVar[str] = "removal"

    def forget(self: Self, ids: Any) -> Self:
        """Unlearn rows: the model becomes one that has not seen them, as far as the learner promises.

        Parameters
        ----------
        ids : int or array-like of int
            The ids of the rows: the running row numbers, from 0, unless others were given. If one of them is
            not kept, nothing is forgotten.

        Returns
        -------
        object
            The learner itself.
        """
        check_is_fitted(self)
        constraints.check(self)
        named = self._kept_ids(ids)
        self._configure()
        is_center = self._machine.is_center(named)
        self._unlearn(named)
        if is_center:  # or the row would stay as the point that is subtracted from all others
            self._machine = self._machine.recentered()
            self._configure()
        if self._foreign is not None:
            self._foreign.keep(self._machine.native.ids)
        return self

    def _kept_ids(self, ids: Any) -> Ints:
        """Validate ids of rows that are to be kept by the learner now."""
        named = check_ids(ids)
        refuse_missing(self, self._missing(named))
        return named

    def _missing(self, ids: Ints) -> Ints:
        """Those of some ids of which nothing is stored.

        A row that the learner has dropped may stay in its slot until the next sweep. It can be forgotten as
        long as it does, so that an id that is refused here is one of which no trace is left.
        """
        return np.asarray(self._machine.native.missing(ids))

    def _unlearn(self, ids: Ints) -> None:
        """Let the core forget rows that it keeps."""
        self._machine.native.forget(ids)


class NamingLearner(ForgettingLearner, StreamLearner):
    """Base of learners whose rows may come with ids of the caller's."""

    def partial_fit(
        self: Naming, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, ids: Any = None
    ) -> Naming:
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
            Multiplies C for each row; a row of weight 0 is left out.
        ids : array-like of int of shape (n_samples,), default=None
            Names by which rows can be forgotten, and what `support_` holds; None continues the running row
            number. The id of a row that is kept is refused.

        Returns
        -------
        object
            The learner itself.
        """
        return self._learn_more(X, y, classes, sample_weight, ids)

    def _accept(
        self,
        X: Rows,
        y: Array,
        labels: npt.NDArray[np.int32],
        sample_weight: Any,
        ids: Ints | None = None,
    ) -> LabeledRows:
        named = None if ids is None else check_ids(ids, len(labels))
        rows = super()._accept(X, y, labels, sample_weight, named)
        native = self._machine.native
        if len(native.missing(rows.ids)) < len(rows.ids):
            refuse_known(self, rows.ids, native.kept_ids)
        return rows

    def _take_in(self, rows: LabeledRows, counts: Ints) -> None:
        self._machine.native.drop_lingering(
            rows.ids
        )  # or a dropped row would be taken for the new one of the same id
        super()._take_in(rows, counts)
