"""Ids of rows, and the capability to forget rows by their ids."""

from typing import Any, ClassVar, TypeVar

import numpy as np

from . import constraints
from .learner import KernelLearner
from .validate import Ints

Self = TypeVar("Self", bound="ForgettingLearner")


def check_ids(ids: Any, count: int | None = None) -> Ints:
    """Validate ids: unique integers, one for each of ``count`` rows."""
    given = np.asarray(ids)
    if given.size == 0:
        given = given.astype(np.int64)
    if given.dtype.kind not in "iu" or given.ndim > 1:
        raise TypeError(
            f"ids must be integers in one dimension, got shape {given.shape} and dtype {given.dtype}: map "
            "your own ids to integers."
        )
    if (
        given.size
        and not np.iinfo(np.int64).min < int(given.min()) <= int(given.max()) <= np.iinfo(np.int64).max
    ):
        raise ValueError(f"ids must be signed 64-bit integers, got {given.min()} to {given.max()}.")
    given = np.atleast_1d(given).astype(np.int64)
    if count is not None and len(given) != count:
        raise ValueError(f"ids must have one id for each row: got {len(given)} ids for {count} rows.")
    names, times = np.unique(given, return_counts=True)
    if len(names) < len(given):
        raise ValueError(f"ids must be unique, got {some_ids(names[times > 1])} more than once.")
    return given


def some_ids(ids: Ints) -> str:
    """The first few ids, for a message."""
    return ", ".join(str(row_id) for row_id in ids[:5].tolist()) + (", ..." if len(ids) > 5 else "")


def refuse_missing(owner: Any, missing: Ints) -> None:
    """Raise if ``missing`` has ids, of which ``owner`` keeps no row."""
    if len(missing):
        raise ValueError(
            f"This {type(owner).__name__} keeps no row with the id {some_ids(missing)}: the row was "
            "forgotten or dropped, or never learned."
        )


def refuse_known(owner: Any, ids: Ints, kept: Ints) -> None:
    """Raise if ``owner`` keeps a row with one of the ids of new rows."""
    known = ids[np.isin(ids, kept)]
    if len(known):
        raise ValueError(
            f"Duplicate id {some_ids(known)}: this {type(owner).__name__} keeps a row with it. Forget that "
            "row first, or choose another id."
        )


class ForgettingLearner(KernelLearner):
    """Capability: unlearn rows, with a native solver that has ``forget(ids)``.

    ``forgetting`` says what `forget` guarantees. "exact": the model is, up to rounding, the one that never
    saw the rows. "removal": the rows, their coefficients and everything stored about them are gone, and the
    invariants of the solver hold on the remaining rows; steps that other rows took because of them are not
    undone.
    """

    forgetting: ClassVar[str] = "removal"

    def forget(self: Self, ids: Any) -> Self:
        """Unlearn rows; ``forgetting`` says how completely.

        Parameters
        ----------
        ids : int or array-like of int
            The ids of the rows: running row numbers from 0, unless `ids` were given. If one of the rows is
            not kept, an error is raised and nothing is forgotten.

        Returns
        -------
        object
            The learner itself.
        """
        self._check_fitted()
        constraints.check(self)
        named = self._kept_ids(ids)
        self._configure()
        is_center, capped = self._machine.is_center(named), self._machine.native.capped
        self._unlearn(named)
        self._warn_if_capped(capped)
        if len(named):
            self._after_forgetting()
        if is_center:  # or the row would stay as the point that is subtracted from all others
            self._machine = self._machine.recentered()
            self._configure()
        self._follow_machine()
        return self

    def missing_ids(self, ids: Ints) -> Ints:
        """Find the ids that have no row in memory.

        A dropped row may stay in memory, in a reserve or until the next cleanup. As long as it does, it can
        be forgotten and is not missing, so no trace is left of a missing row.

        Parameters
        ----------
        ids : ndarray of shape (n_ids,)
            The ids.

        Returns
        -------
        ndarray of shape (n_missing,)
            The missing ones.
        """
        return np.asarray(self._machine.native.missing(ids))

    def stored_ids(self) -> Ints:
        """The ids of all rows in memory.

        Returns
        -------
        ndarray of shape (n_rows,)
            The ids, including those of dropped rows that are in a reserve or not cleaned up yet.
        """
        native = self._fitted().native
        return np.concatenate([native.ids, native.reserved_ids])

    def _kept_ids(self, ids: Any) -> Ints:
        """Validate ids of rows that have to be in memory."""
        named = check_ids(ids)
        refuse_missing(self, self.missing_ids(named))
        return named

    def _unlearn(self, ids: Ints) -> None:
        """Let the core forget rows that it keeps."""
        self._machine.native.forget(ids)

    def _after_forgetting(self) -> None:
        """Optimize again, once rows are gone."""


def stored_ids(learner: ForgettingLearner) -> Ints:
    """The ids of all rows that a fitted learner has in memory."""
    return learner.stored_ids()
