"""What a loop refuses before it asks for anything: labels are expensive."""

import hashlib
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import get_scorer

from ._pool import RANDOM_STATE, PoolQueryStrategy
from ._rows import is_pairwise, take
from .stopping import StoppingRule

_DIGESTED_ROWS = 64


def check_loop(learner: Any, batch_size: int) -> None:
    """Refuse a model, a query strategy or a stopping rule that would fail after the first labels."""
    check_model(learner.estimator, "estimator")
    if is_pairwise(learner.estimator):
        raise ValueError(
            "kernel='precomputed' needs a column for every learned row, and few rows of a pool are learned: "
            "pass the kernel as a callable."
        )
    strategy, stopping = learner.query_strategy, learner.stopping
    check_strategy(strategy, "query_strategy")
    if isinstance(strategy, PoolQueryStrategy):
        strategy.check_batch_size(batch_size, "batch_size")
    if stopping is not None and not isinstance(stopping, StoppingRule):
        raise TypeError(
            "stopping must be None or a StoppingRule of query.stopping, such as LabelBudget(), got "
            f"{stopping!r}."
        )
    if stopping is not None and not learner.history and clone(stopping).get_state() != stopping.get_state():
        raise ValueError(f"{stopping!r} was used by another loop: call its reset, or pass a new one.")
    if not RANDOM_STATE.test(learner.random_state):
        raise ValueError(f"random_state must be {RANDOM_STATE.accepts}, got {learner.random_state!r}.")


def check_model(model: Any, name: str) -> None:
    """Refuse what cannot learn incrementally."""
    if isinstance(model, type) or not hasattr(model, "partial_fit"):
        raise TypeError(
            f"{name} must be an instance with partial_fit, such as LASVM() or SGDClassifier(), got {model!r}."
        )


def check_strategy(strategy: Any, name: str, others: str = "") -> None:
    """Refuse what is not a query strategy, or needs the labels that are to be asked for."""
    if isinstance(strategy, str | type) or not hasattr(strategy, "query"):
        raise TypeError(f"{name} must be a query strategy such as Margin(){others}, got {strategy!r}.")
    if getattr(strategy, "needs_labels", False):
        raise ValueError(
            f"{name}={strategy!r} needs the labels of the rows that it selects from: use Margin() instead."
        )


def check_scorer(test: Any, scoring: Any) -> Any:
    """The scorer as a function of model, rows and labels; a name is one of scikit-learn's."""
    if test is not None and (not isinstance(test, tuple | list) or len(test) != 2):
        raise ValueError(f"test must be a tuple of rows and labels, got {test!r}.")
    if isinstance(scoring, str):
        return get_scorer(scoring)
    if scoring is not None and not callable(scoring):
        raise TypeError(
            f"scoring must be None, a function or the name of a scorer of scikit-learn, got {scoring!r}."
        )
    return scoring


def check_numbers(X: Any) -> None:
    """Refuse a pool with rows that no model can learn."""
    values = X.data if sparse.issparse(X) else X
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f" or np.isfinite(values).all():
        return
    rows = np.unique(X.nonzero()[0][~np.isfinite(X.data)]) if sparse.issparse(X) else None
    row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0]) if rows is None else int(rows[0])
    raise ValueError(f"X has NaN or infinity, first in row {row}: remove such rows, or impute values.")


def digest(X: Any, n_rows: int) -> str:
    """A hash that identifies a pool, from a fixed selection of its rows."""
    places = np.unique(np.linspace(0, n_rows - 1, min(n_rows, _DIGESTED_ROWS)).astype(np.intp))
    rows = take(X, places)
    values = np.asarray(rows.toarray() if sparse.issparse(rows) else rows)
    content = repr(values.tolist()).encode() if values.dtype.kind not in "biuf" else values.tobytes()
    return hashlib.blake2b(content, digest_size=8).hexdigest()
