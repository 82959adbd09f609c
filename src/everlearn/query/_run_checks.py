"""What a loop refuses before it asks for anything: labels are dear."""

import hashlib
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import get_scorer

from ._pool import RANDOM_STATE, PoolQueryStrategy
from .gradient import Gradient
from .stopping._rule import StoppingRule
from .stream import _is_pairwise, _take

_DIGESTED_ROWS = 64


def check_loop(learner: Any, batch_size: int) -> None:
    """Refuse a model, a query strategy or a stopping rule that would fail after the first labels."""
    model, query, stopping = learner.estimator, learner.query_strategy, learner.stopping
    if isinstance(model, type) or not hasattr(model, "partial_fit"):
        raise TypeError(
            f"model must be an instance with partial_fit, by which it learns more rows, such as LASVM() or "
            f"SGDClassifier(), got {model!r}."
        )
    if _is_pairwise(model):
        raise ValueError(
            "A precomputed kernel has a column for every row learned, and few rows of a pool are learned: "
            "pass the kernel as a callable."
        )
    if isinstance(query, type) or not hasattr(query, "query"):
        raise TypeError(f"query_strategy must be a query strategy such as Margin(), got {query!r}.")
    if isinstance(query, Gradient):
        raise ValueError("Gradient needs the labels of the rows that it looks at: take Margin() instead.")
    if isinstance(query, PoolQueryStrategy) and query._size_name is not None:
        size = query._size(batch_size)
        if size is not None and size < batch_size:
            raise ValueError(
                f"batch_size={batch_size} rows cannot be taken from {query._size_name}={size} drawn: set "
                f"{query._size_name} of {type(query).__name__} to {batch_size} or above."
            )
    if stopping is not None and not isinstance(stopping, StoppingRule):
        raise TypeError(
            f"stopping must be None or a rule of query.stopping, such as LabelBudget(), got {stopping!r}."
        )
    if stopping is not None and not learner.history and clone(stopping).get_state() != stopping.get_state():
        raise ValueError(
            f"{stopping!r} has been told of the labels of another loop: call its reset, or take a new one."
        )
    if not RANDOM_STATE.test(learner.random_state):
        raise ValueError(f"random_state must be {RANDOM_STATE.accepts}, got {learner.random_state!r}.")


def check_scorer(test: Any, scorer: Any) -> Any:
    """The scorer as a function of model, rows and labels; a name is one of scikit-learn's."""
    if test is not None and (not isinstance(test, tuple | list) or len(test) != 2):
        raise ValueError(f"test must be a tuple of rows and labels, got {test!r}.")
    if isinstance(scorer, str):
        return get_scorer(scorer)
    if scorer is not None and not callable(scorer):
        raise TypeError(f"scoring must be None, a function or a name known to scikit-learn, got {scorer!r}.")
    return scorer


def check_numbers(X: Any) -> None:
    """Refuse a pool with rows that no model could learn."""
    values = X.data if sparse.issparse(X) else X
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f" or np.isfinite(values).all():
        return
    rows = np.unique(X.nonzero()[0][~np.isfinite(X.data)]) if sparse.issparse(X) else None
    row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0]) if rows is None else int(rows[0])
    raise ValueError(f"X has NaN or infinity, first in row {row}: nothing could be learned from such rows.")


def digest(X: Any, total: int) -> str:
    """What tells a pool from another of the same shape: a hash of some of its rows, always the same ones."""
    places = np.unique(np.linspace(0, total - 1, min(total, _DIGESTED_ROWS)).astype(np.intp))
    rows = _take(X, places)
    values = np.asarray(rows.toarray() if sparse.issparse(rows) else rows)
    content = repr(values.tolist()).encode() if values.dtype.kind not in "biuf" else values.tobytes()
    return hashlib.blake2b(content, digest_size=8).hexdigest()
