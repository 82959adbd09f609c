"""Input checks: everything a caller passes is checked before the state or the log changes."""

import json
import time as clock
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from .._base import persist
from .._base.validate import Array, Rows, is_plain_array, missing_labels
from ..errors import StoreError
from ..store.events import Floats, Ints, Scaled, as_labels
from ..store.log import Log
from ..store.lookup import Id, id_key, some
from ._running_moments import RunningMoments
from ._settings import StreamSettings, check_learner

_LARGEST = 1e150  # the square of a larger value overflows


def rows(X: Any, n_features: int | None) -> Rows:
    """Rows as float64, dense or CSR, finite, with the same number of features as all others."""
    if is_plain_array(X, n_features, _LARGEST) and X.dtype == np.float64:
        return X.copy()
    checked = check_array(
        X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=0, input_name="X", order="C"
    )
    if n_features is not None and checked.shape[1] != n_features:
        raise ValueError(f"X has {checked.shape[1]} features, but earlier rows have {n_features} features.")
    values = checked.data if sparse.issparse(checked) else checked
    if values.size and float(np.abs(values).max()) > _LARGEST:
        raise ValueError(
            f"X has a value of {np.abs(values).max():.3g}, whose square overflows: rescale the features."
        )
    return sparse.csr_matrix(checked) if sparse.issparse(checked) else np.array(checked, copy=True)


def labels(y: Any, n_rows: int, classes: list[Any], named: bool) -> tuple[Ints, Array]:
    """The positions of the labeled rows, and the labels: all integers, all strings or all bools."""
    if y is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    if type(y) is np.ndarray and y.shape == (1,) == (n_rows,) and y.dtype == np.int64:
        label = y.item()
        if all(type(value) is int for value in classes) and (label in classes or not named):
            return np.zeros(1, dtype=np.int64), y.copy()
    given = np.asarray(y, dtype=object) if not isinstance(y, np.ndarray) else y
    if given.ndim != 1 or len(given) != n_rows:
        raise ValueError(f"y must have a label or None for each of {n_rows} rows, got shape {given.shape}.")
    places = np.flatnonzero(~missing_labels(given))
    found = [_label(value) for value in given[places].tolist()]
    if len({type(value) for value in [*found, *classes]}) > 1:
        raise ValueError(
            f"Labels must be all integers, all strings or all bools, got a mix: {some([*found, *classes])}."
        )
    if named and (unknown := [value for value in found if value not in classes]):
        raise ValueError(f"y has labels that are not in classes={classes!r}: {some(unknown)}.")
    return places, as_labels(found)


def _label(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and plain.is_integer():
        return int(plain)  # integer labels with NaN for unknown ones arrive as floats
    if not isinstance(plain, bool | int | str):
        raise ValueError(f"Labels must be integers, strings or bools, got {value!r}.")
    if isinstance(plain, str) and plain.endswith("\0"):  # NumPy strings would lose it
        raise ValueError(f"String labels must not end with a null character, got {value!r}.")
    if isinstance(plain, int) and not -(2**63) <= plain < 2**63:
        raise ValueError(f"Integer labels must fit in 64 bits, got {value!r}: use strings instead.")
    return plain


def annotators(ids: list[Id], by: Any, weight: Any) -> tuple[list[str], list[float]]:
    """The annotator and the weight of each answer; an annotator has one answer for a row."""
    who = [by] * len(ids) if isinstance(by, str) else [str(name) for name in by]
    weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), len(ids)).tolist() if len(ids) else []
    if len(who) != len(ids):
        raise ValueError(f"by must be one name, or one for each label, got {len(who)} for {len(ids)} labels.")
    if wrong := [value for value in weights if not 0 < value < np.inf]:
        raise ValueError(f"weight must be positive and finite, got {wrong[0]!r}.")
    pairs = [(id_key(name), person) for name, person in zip(ids, who, strict=True)]
    if len(set(pairs)) < len(pairs):
        twice = sorted({json.loads(key) for key, person in pairs if pairs.count((key, person)) > 1})
        raise ValueError(f"ids must be unique for each annotator, got {some(twice)} more than once.")
    return who, weights


def kinds(given: list[str]) -> None:
    """Check the kinds of answers."""
    if wrong := [kind for kind in given if kind not in ("label", "skip", "unsure")]:
        raise ValueError(f"kind must be 'label', 'skip' or 'unsure', got {wrong[0]!r}.")


def ids(given: Any, n_rows: int | None = None, unique: bool = True) -> list[Id]:
    """The ids as a list: integers or strings, one for each row, unless told otherwise unique."""
    values = [given] if isinstance(given, str | int | np.integer) else list(given)
    found = [value.item() if isinstance(value, np.generic) else value for value in values]
    keys = [id_key(value) for value in found]
    if n_rows is not None and len(found) != n_rows:
        raise ValueError(f"ids must have one id for each row, got {len(found)} ids for {n_rows} rows.")
    if unique and len(set(keys)) < len(keys):
        twice = sorted({key for key in keys if keys.count(key) > 1})
        raise ValueError(
            f"ids must be unique, got {some([json.loads(key) for key in twice])} more than once."
        )
    return found


def count(n: Any) -> int:
    """Check a number of questions."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise ValueError(f"n must be an integer from 0, got {n!r}.")
    return int(n)


def now(time: float | None) -> float:
    """A time in seconds since 1970; now for None."""
    if time is None:
        return clock.time()
    if not np.isfinite(time):
        raise ValueError(f"time must be a finite number of seconds, got {time!r}.")
    return float(time)


def positive(name: str, value: Any) -> None:
    """Check a positive integer."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be an integer from 1, got {value!r}.")


def scale_of(X: Rows, columns: Array | None, time: float) -> Scaled:
    """The event that sets the scale from these rows, at least one."""
    moments = RunningMoments()
    moments.add(X)
    return scale_by(moments, not sparse.issparse(X), columns, time)


def given_scale(mean: Any, scale: Any, n_features: int | None, time: float) -> Scaled:
    """The event that sets a scale that is given."""
    found = [np.asarray(values, dtype=np.float64) for values in (mean, scale)]
    shape = found[0].shape if n_features is None else (n_features,)
    if len(shape) != 1 or any(values.shape != shape or not np.isfinite(values).all() for values in found):
        raise ValueError(f"mean and scale must be finite numbers of the shape {shape}.")
    if not (found[1] > 0).all():
        raise ValueError("scale must be positive.")
    return Scaled(found[0], found[1], time)


def scale_by(moments: RunningMoments, centered: bool, columns: Array | None, time: float) -> Scaled:
    """The event that sets the scale to the mean and standard deviation; constant features are not divided.

    Features of sparse rows are not centered, and divided only if their standard deviation is above 1: scaled
    to standard deviation 1, a rare word would dominate all others.
    """
    mean: Floats = moments.mean if centered else np.zeros_like(moments.mean)
    scale = moments.scale if centered else np.maximum(moments.scale, 1.0)
    scale = np.where(scale > 1e-12 * (1 + np.abs(mean)), scale, 1.0)
    if columns is not None:
        if len(columns) != len(mean):
            raise ValueError(f"scale_features has {len(columns)} entries, but X has {len(mean)} features.")
        mean, scale = np.where(columns, mean, 0.0), np.where(columns, scale, 1.0)
    return Scaled(np.asarray(mean, dtype=np.float64), np.asarray(scale, dtype=np.float64), time)


# -------------------------------------------------------------------------------------------------- settings


def read_settings(log: Log, required: bool = False) -> StreamSettings | None:
    """The settings of a store; if it has none yet, None, or an error if they are required."""
    kept = log.meta("settings")
    if kept is None and required:
        raise StoreError(f"{log.database} has no learner yet: open it for writing first.", code="no_store")
    return None if kept is None else StreamSettings.from_state(persist.unpack(bytes.fromhex(kept)))


def write_settings(log: Log, settings: StreamSettings) -> None:
    """Save settings in a store."""
    log.set_meta(settings=persist.pack(settings.state()).hex())


def same_learner(log: Log, settings: StreamSettings, learner: Any) -> None:
    """Refuse a learner other than the one the store was created with."""
    check_learner(learner)
    mine, theirs = (_params(estimator) for estimator in (learner, settings.learner))
    if type(learner) is not type(settings.learner) or mine != theirs:
        raise StoreError(
            f"{log.database} was created with learner={settings.learner!r}, got {learner!r}.",
            code="other_learner",
            remedy="Open it without learner, or replay it with another one: NeverEndingLearner.replay.",
        )


def _params(learner: Any) -> str:
    params = learner.get_params(deep=False)
    params.pop("random_state", None)  # a seed was drawn if none was given
    return repr(sorted(params.items()))
