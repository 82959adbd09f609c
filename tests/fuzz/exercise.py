"""Load a file and use what it holds: no error but the right one, and never the end of the process."""

import os
import warnings
from contextlib import suppress

import numpy as np
from scipy import sparse

from everlearn import load, save
from everlearn.errors import CoreError, FileFormatError

# What an object may answer whose numbers are not those it has learned. No other error, and no crash.
ALLOWED = (ValueError, FloatingPointError, CoreError)
_MOST_WIDTH = 5000


def outcome(path):
    """ "refused" or "loaded"; whatever else happens is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            thing = load(path)
        except FileFormatError as exc:
            if isinstance(exc.__cause__, MemoryError):
                raise MemoryError("a file takes memory out of proportion") from exc
            return "refused"
        _use(thing, path)
        return "loaded"


def _use(thing, path):
    for step in _steps(thing):
        with suppress(*ALLOWED):
            step()
    copy = f"{os.fspath(path)}.copy"
    try:
        save(thing, copy)
    except ALLOWED:
        return
    with suppress(FileFormatError):  # the numbers may have overflowed meanwhile
        load(copy)


def _steps(thing):
    """Calls of all kinds, in an order in which they are made."""
    yield from (lambda name=name: getattr(thing, name, None) for name in _properties(thing))
    if hasattr(thing, "predict_set"):
        yield lambda: thing.predict_set(np.zeros((2, len(thing.classes))))
        yield lambda: thing.update(np.zeros((3, len(thing.classes))), thing.classes[:1].repeat(3))
        yield lambda: thing.update(np.array([1.0, -1.0]), [0, 1])
    elif hasattr(thing, "update"):
        yield lambda: thing.predict_proba(np.zeros((2, len(thing.classes))))
        yield lambda: thing.update(np.zeros((len(thing.classes),) * 2), thing.classes)
        yield lambda: thing.update(np.linspace(-1, 1, 60), np.arange(60) % 2)
    elif hasattr(thing, "select"):
        rows = getattr(thing, "_n_rows", 3)
        yield lambda: thing.select(np.zeros((min(int(rows), 10_000), 2)))
    elif hasattr(thing, "classes_") and hasattr(thing, "n_features_in_"):
        yield from _steps_of_a_classifier(thing)


def _steps_of_a_classifier(thing):
    width = int(thing.n_features_in_)
    if width > _MOST_WIDTH:
        return
    random = np.random.default_rng(0)
    X = random.normal(size=(2 * len(thing.classes_) + 2, width))
    if getattr(thing, "kernel", "") == "precomputed":
        X = np.abs(X)
    y = np.concatenate([thing.classes_, thing.classes_, thing.classes_[-1:], thing.classes_[:1]])
    yield lambda: thing.predict(X)
    yield lambda: thing.decision_function(X)
    yield lambda: thing.predict(sparse.csr_matrix(X))
    if hasattr(thing, "predict_proba"):
        yield lambda: thing.predict_proba(X)
    if hasattr(thing, "partial_fit"):
        yield lambda: thing.partial_fit(X, y)
        yield lambda: thing.partial_fit(X[::-1].copy(), y)
        yield lambda: thing.decision_function(X)
    if hasattr(thing, "forget"):
        yield lambda: thing.forget(_some_ids(thing)[:1])
        yield lambda: thing.forget(_some_ids(thing)[-3:])
    if hasattr(thing, "partial_fit"):
        yield lambda: thing.partial_fit(X, y)
    if hasattr(thing, "finish"):
        yield lambda: thing.finish()
    yield lambda: thing.decision_function(X)


def _some_ids(thing):
    if hasattr(thing, "_machine"):
        return thing._machine.native.ids
    return thing.ids_ if hasattr(thing, "ids_") else np.arange(5)


def _properties(thing):
    kinds = type(thing).__mro__
    names = {name for kind in kinds for name, value in vars(kind).items() if isinstance(value, property)}
    return sorted(name for name in names if not name.startswith("_"))
