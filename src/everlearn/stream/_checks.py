"""The border of the store: what comes in is checked before anything is folded or written."""

import json
import time as clock
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from .._base import persist
from .._base.validate import Array, Rows, missing_labels
from ..errors import StoreError
from ..store.events import Floats, Ints, Scaled, as_labels
from ..store.log import Log
from ..store.lookup import Id, id_key, some
from ._moments import Moments
from .settings import Settings, check_learner

_LARGEST = 1e150  # of a feature: squares of larger ones overflow


def rows(X: Any, n_features: int | None) -> Rows:
    """Rows as float64, dense or CSR, finite, with as many features as all others."""
    checked = check_array(
        X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=0, input_name="X", order="C"
    )
    if n_features is not None and checked.shape[1] != n_features:
        raise ValueError(f"X has {checked.shape[1]} features, and the rows before it have {n_features}.")
    values = checked.data if sparse.issparse(checked) else checked
    if values.size and float(np.abs(values).max()) > _LARGEST:
        raise ValueError(f"X has a value of {np.abs(values).max():.3g}, whose square overflows.")
    return sparse.csr_matrix(checked) if sparse.issparse(checked) else np.array(checked, copy=True)


def labels(y: Any, n_rows: int, classes: list[Any], named: bool) -> tuple[Ints, Array]:
    """Which rows have labels, and these: all integers, all strings or all bools."""
    if y is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    given = np.asarray(y, dtype=object) if not isinstance(y, np.ndarray) else y
    if given.ndim != 1 or len(given) != n_rows:
        raise ValueError(
            f"y must have one label, or None, for each of {n_rows} rows, got shape {given.shape}."
        )
    places = np.flatnonzero(~missing_labels(given))
    found = [_label(value) for value in given[places].tolist()]
    kinds = {type(value) for value in [*found, *classes]}
    if len(kinds) > 1:
        raise ValueError(
            f"Labels are all integers, all strings or all bools, got {some([*found, *classes])} together."
        )
    if named and (unknown := [value for value in found if value not in classes]):
        raise ValueError(f"y has labels that are not in classes={classes!r}: {some(unknown)}.")
    return places, as_labels(found)


def _label(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and plain.is_integer():
        return int(plain)  # a column with gaps comes as floats
    if not isinstance(plain, bool | int | str):
        raise ValueError(f"A label is an integer, a string or a bool, got {value!r}.")
    if isinstance(plain, str) and plain.endswith("\0"):  # NumPy's strings would lose it
        raise ValueError(f"A label that is a string must not end with a zero character, got {value!r}.")
    if isinstance(plain, int) and not -(2**63) <= plain < 2**63:
        raise ValueError(f"A label that is an integer has 64 bits at most, got {value!r}: make it a string.")
    return plain


def ids(given: Any, n_rows: int | None = None) -> list[Id]:
    """Ids: integers or strings, none of them twice, as many as there are rows."""
    values = [given] if isinstance(given, str | int | np.integer) else list(given)
    found = [value.item() if isinstance(value, np.generic) else value for value in values]
    keys = [id_key(value) for value in found]
    if n_rows is not None and len(found) != n_rows:
        raise ValueError(f"ids must name every row: got {len(found)} ids for {n_rows} rows.")
    if len(set(keys)) < len(keys):
        twice = sorted({key for key in keys if keys.count(key) > 1})
        raise ValueError(
            f"ids must name a row once; {some([json.loads(key) for key in twice])} is there twice."
        )
    return found


def count(n: Any) -> int:
    """A number of questions."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise ValueError(f"n must be an integer of at least 0, got {n!r}.")
    return int(n)


def now(time: float | None) -> float:
    """A time in seconds since 1970; None is now."""
    if time is None:
        return clock.time()
    if not np.isfinite(time):
        raise ValueError(f"time must be a finite number of seconds, got {time!r}.")
    return float(time)


def positive(name: str, value: Any) -> None:
    """Refuse what is not an integer from 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {value!r}.")


def scale_of(X: Rows, columns: Array | None, time: float) -> Scaled:
    """The scale of rows, of which at least one is given."""
    moments = Moments()
    moments.add(X)
    return scale_by(moments, not sparse.issparse(X), columns, time)


def scale_by(moments: Moments, centered: bool, columns: Array | None, time: float) -> Scaled:
    """Mean and standard deviation of features; constant columns are not divided.

    Columns of sparse rows are not centered, and only divided if their standard deviation is above 1: word
    frequencies and indicators stay as they are, since a rare word would dominate all others if it were
    brought to standard deviation 1.
    """
    mean: Floats = moments.mean if centered else np.zeros_like(moments.mean)
    scale = moments.scale if centered else np.maximum(moments.scale, 1.0)
    scale = np.where(scale > 1e-12 * (1 + np.abs(mean)), scale, 1.0)
    if columns is not None:
        if len(columns) != len(mean):
            raise ValueError(f"scale_features has {len(columns)} entries, and X has {len(mean)} features.")
        mean, scale = np.where(columns, mean, 0.0), np.where(columns, scale, 1.0)
    return Scaled(np.asarray(mean, dtype=np.float64), np.asarray(scale, dtype=np.float64), time)


# -------------------------------------------------------------------------------------------------- settings


def read_settings(log: Log, required: bool = False) -> Settings | None:
    """The settings with which a store was made; None, or an error, if it has no learner yet."""
    kept = log.meta("settings")
    if kept is None and required:
        raise StoreError(f"{log.place} has no learner yet.", code="no_store")
    return None if kept is None else Settings.from_state(persist.unpack(bytes.fromhex(kept)))


def write_settings(log: Log, settings: Settings) -> None:
    """Keep settings in the store."""
    log.set_meta(settings=persist.pack(settings.state()).hex())


def same_learner(log: Log, settings: Settings, learner: Any) -> None:
    """Refuse to go on with another learner than the one a store was made with."""
    check_learner(learner)
    mine, theirs = (_params(thing) for thing in (learner, settings.learner))
    if type(learner) is not type(settings.learner) or mine != theirs:
        raise StoreError(
            f"{log.place} was made with {settings.learner!r}, not with {learner!r}.",
            code="other_learner",
            remedy="Open it without a learner, or try another one with NeverEndingLearner.replay.",
        )


def _params(learner: Any) -> str:
    params = learner.get_params(deep=False)
    params.pop("random_state", None)  # where none was given one was drawn
    return repr(sorted(params.items()))
