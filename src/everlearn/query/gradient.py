"""Gradient: take the row that the model gets most wrong, of a few drawn at random.

S. Ertekin, "Learning in Extreme Conditions" (thesis, 2009), chapter 3.
"""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._base import constraints
from ._pool import PoolQueryStrategy, Worth, best_first
from ._scores import class_scores, count_rows
from ._strategy import Places


class Gradient(PoolQueryStrategy):
    """Take the rows that the model gets most wrong, of a few drawn at random; their labels must be known.

    The smaller y f(x), the larger is the gradient of a row and the more a step with it gains. So this is a
    strategy for choosing what to learn from rows that have labels, not what to ask about: it reads the
    labels of all rows it draws. On rows whose labels are partly wrong it prefers the wrong ones.

    Parameters
    ----------
    pool_size : int, default=50
        How many rows to draw. None looks at all of them, and so does a pool that has no more.
    random_state : int, RandomState instance or None, default=None
        Decides the draw. With an int the answer is a function of it, of the pool, of n and of ``draw``; with
        a generator, of its present state, which stays as it is; with None it differs from call to call.

    Notes
    -----
    The utility of a row is -y f(x), with more than two classes the highest score of the others minus that of
    its own class. A model without ``decision_function`` is judged by its ``predict_proba`` in the same way.
    Of equal rows the first drawn is taken, in a full search the first of the pool.

    References
    ----------
    S. Ertekin, *Learning in Extreme Conditions: Online and Active Learning with Massive, Imbalanced and Noisy
    Data*, thesis, 2009.

    Examples
    --------
    >>> from everlearn import LASVM
    >>> from everlearn.datasets import make_banana
    >>> from everlearn.query import Gradient
    >>> X, y = make_banana(1000, random_state=0)
    >>> model = LASVM(C=10, gamma=1, random_state=0).fit(X[:100], y[:100])
    >>> chosen = Gradient(pool_size=None).query(model, X[100:], y=y[100:])
    >>> bool(model.predict(X[100:])[chosen] == y[100:][chosen])  # it is wrong
    False
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = PoolQueryStrategy._constraints | {
        "pool_size": constraints.NONE | constraints.integer_from(1)
    }

    def __init__(self, pool_size: int | None = 50, random_state: Any = None) -> None:
        self.pool_size = pool_size
        self.random_state = random_state

    def utilities(self, model: Any, X: Any, y: Any = None) -> Worth:
        """How much each row is worth learning; nothing is changed.

        Parameters
        ----------
        model : object
            A classifier that has learned something and has a ``decision_function`` or a ``predict_proba``.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows, as the model takes them.
        y : array-like of shape (n_samples,), default=None
            Their labels, which this query strategy cannot do without.

        Returns
        -------
        ndarray of shape (n_samples,)
            The larger, the more worth learning.
        """
        constraints.check(self)
        return _wrongness(model, X, _labels(y, count_rows(X)))

    def query(self, model: Any, X: Any, n: int | None = 1, *, y: Any = None, draw: int = 0) -> Places:
        """Which rows of a pool to learn; nothing is changed, the generator included.

        Parameters
        ----------
        model : object
            A classifier that has learned something and has a ``decision_function`` or a ``predict_proba``.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The pool, as the model takes it.
        n : int, default=1
            At most so many rows, those of the highest utilities among the drawn; of equal ones those drawn
            first. None is all that are drawn.
        y : array-like of shape (n_samples,), default=None
            The labels of the pool, which this query strategy cannot do without. Only those of drawn rows are
            read.
        draw : int, default=0
            Number of the draw. With a seed the same number draws the same rows again, another one others: a
            loop counts it up. Without a seed every call draws others anyway.

        Returns
        -------
        ndarray of shape (n_chosen,)
            Row numbers, ascending.
        """
        places = self._drawn(X, n, draw)
        labels = _labels(y, count_rows(X))[places]
        worth = _wrongness(model, self._rows(X, n, places), labels)
        return np.sort(places[best_first(worth)[:n]])

    def _size(self, n: int | None) -> int | None:
        return None if self.pool_size is None else int(self.pool_size)

    def _worth(self, model: Any, X: Any) -> Worth:
        return self.utilities(model, X)


def _labels(y: Any, rows: int) -> npt.NDArray[Any]:
    """One label for each row."""
    if y is None:
        raise ValueError(
            "Gradient needs the labels of the rows it chooses from: pass them as y=..., or take Margin, "
            "which needs none."
        )
    labels = np.asarray(y)
    if labels.shape != (rows,):
        raise ValueError(f"y must hold one label for each of the {rows} rows of X, got shape {labels.shape}.")
    return labels


def _wrongness(model: Any, X: Any, labels: npt.NDArray[Any]) -> Worth:
    """Minus the margin of the true class."""
    scores = class_scores(model, X)
    if not hasattr(model, "classes_"):
        raise TypeError(
            f"{type(model).__name__} has no classes_, so that it is not known which score belongs to which "
            "label."
        )
    known = np.asarray(model.classes_)
    own = labels[:, np.newaxis] == known
    unknown = ~own.any(axis=1)
    if unknown.any():
        label = labels[unknown].tolist()[0]
        raise ValueError(
            f"y has the label {label!r}, which the model does not know: it knows {known.tolist()!r}."
        )
    if scores.shape[1] == 1:
        sign = np.where(own[:, -1], 1.0, -1.0)
        return 0.0 - sign * scores[:, 0]
    others = np.where(own, -np.inf, scores).max(axis=1)
    return np.asarray(others - scores[own])
