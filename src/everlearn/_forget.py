"""Learners that unlearn: rows by the ids under which they came, and taking some of them back."""

from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _params
from ._learner import Ints, KernelLearner
from ._machine import Machine

Self = TypeVar("Self", bound="ForgettingLearner")


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
        raise ValueError(f"ids must name a row once; {_some(names[times > 1])} is there more than once.")
    return given


def _some(ids: Ints) -> str:
    """The first few of many ids."""
    return ", ".join(str(row_id) for row_id in ids[:5].tolist()) + (", ..." if len(ids) > 5 else "")


def refuse_kept(ids: Ints, machine: Machine) -> None:
    """Refuse ids that are in use."""
    if len(missing := machine.native.missing(ids)) < len(ids):
        known = np.setdiff1d(ids, missing)
        raise ValueError(
            f"A row with the id {_some(known)} is kept already: forget it first, or give new rows other ids."
        )


class ForgettingLearner(KernelLearner):
    """Base of learners whose native solver has ``forget(ids)``."""

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
        _params.check(self)
        named = self._kept_ids(ids)
        self._configure()
        self._unlearn(named)
        if self._foreign is not None:
            self._foreign.keep(self._machine.native.ids)
        return self

    def _kept_ids(self, ids: Any) -> Ints:
        """Validate ids of rows that are to be kept by the learner now."""
        named = check_ids(ids)
        missing = self._machine.native.missing(named)
        if len(missing):
            raise ValueError(
                f"This {type(self).__name__} keeps no row with the id {_some(missing)}: it has been "
                "forgotten or dropped, or it never came."
            )
        return named

    def _unlearn(self, ids: Ints) -> None:
        """Let the core forget rows that it keeps."""
        self._machine.native.forget(ids)
