"""Gradient: of a few labeled rows drawn at random, select those that the model gets most wrong.

S. Ertekin, "Learning in Extreme Conditions" (thesis, 2009), chapter 3.
"""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._base import constraints
from ._pool import PoolQueryStrategy, best_first
from ._rows import Places, count_rows
from ._scores import class_scores
from ._strategy import Utilities


class Gradient(PoolQueryStrategy):
    """Select the rows that the model gets most wrong, of a few drawn at random; needs their labels.

    The smaller y f(x), the larger the gradient of a row and the gain of an update with it. So this strategy
    selects what to learn from labeled rows, not what to ask about: it reads the labels of all rows that it
    draws. With label noise it prefers the wrong labels.

    Parameters
    ----------
    pool_size : int, default=50
        How many rows to draw. With None, or in a pool that is not larger, all rows are scored.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw. With an int, the selection is a function of it, the pool, n and ``draw``; with a
        generator, of its current state, which is not advanced; with None it differs from call to call.

    Notes
    -----
    The utility of a row is -y f(x); with more than two classes it is the highest score of the other classes
    minus that of its own. For a model without ``decision_function``, ``predict_proba`` is used in the same
    way. In case of ties the row drawn first is selected, in a full search the first of the pool.

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
    >>> bool(model.predict(X[100:])[chosen] == y[100:][chosen])  # the model is wrong about it
    False
    """

    needs_labels: ClassVar[bool] = True
    _constraints: ClassVar[dict[str, constraints.Constraint]] = PoolQueryStrategy._constraints | {
        "pool_size": constraints.NONE | constraints.integer_from(1)
    }

    def __init__(self, pool_size: int | None = 50, random_state: Any = None) -> None:
        self.pool_size = pool_size
        self.random_state = random_state

    def utilities(self, model: Any, X: Any, y: Any = None) -> Utilities:
        """Compute how much the model could learn from each row; changes nothing.

        Parameters
        ----------
        model : object
            A fitted classifier with a ``decision_function`` or a ``predict_proba``.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows, as the model takes them.
        y : array-like of shape (n_samples,), default=None
            Their labels; required.

        Returns
        -------
        ndarray of shape (n_samples,)
            The utilities; higher is better.
        """
        constraints.check(self)
        return _errors(model, X, _checked_labels(y, count_rows(X)))

    def query(self, model: Any, X: Any, n: int | None = 1, *, y: Any = None, draw: int = 0) -> Places:
        """Select rows of a pool to learn; changes nothing, not even the generator.

        Parameters
        ----------
        model : object
            A fitted classifier with a ``decision_function`` or a ``predict_proba``.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The pool, as the model takes it.
        n : int, default=1
            The maximum number of rows. Of the rows drawn, those with the highest utilities are selected; in
            case of ties those drawn first. None selects all that are drawn.
        y : array-like of shape (n_samples,), default=None
            The labels of the pool; required. Only those of drawn rows are read.
        draw : int, default=0
            The number of the draw. With a seed, the same number draws the same rows and another number draws
            others: a loop counts it up. Without a seed every call draws other rows anyway.

        Returns
        -------
        ndarray of shape (n_selected,)
            Row numbers, ascending.
        """
        places = self.draw_rows(X, n, draw)
        labels = _checked_labels(y, count_rows(X))[places]
        utilities = _errors(model, self._rows(X, n, places), labels)
        return np.sort(places[best_first(utilities)[:n]])

    def _utilities(self, model: Any, X: Any) -> Utilities:
        return self.utilities(model, X)


def _checked_labels(y: Any, n_rows: int) -> npt.NDArray[Any]:
    """One label for each row."""
    if y is None:
        raise ValueError(
            "Gradient needs the labels of the rows that it selects from: pass them as y=..., or use Margin, "
            "which needs none."
        )
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"y must contain one label for each of the {n_rows} rows of X, got shape {labels.shape}."
        )
    return labels


def _errors(model: Any, X: Any, labels: npt.NDArray[Any]) -> Utilities:
    """Minus the margin of the true class."""
    scores = class_scores(model, X)
    if not hasattr(model, "classes_"):
        raise TypeError(
            f"{type(model).__name__} has no classes_: it is unknown which score belongs to which label."
        )
    known = np.asarray(model.classes_)
    own = labels[:, np.newaxis] == known
    unknown = ~own.any(axis=1)
    if unknown.any():
        label = labels[unknown].tolist()[0]
        raise ValueError(
            f"y has the label {label!r}, which is not one of the model's classes {known.tolist()!r}."
        )
    if scores.shape[1] == 1:
        sign = np.where(own[:, -1], 1.0, -1.0)
        return 0.0 - sign * scores[:, 0]
    others = np.where(own, -np.inf, scores).max(axis=1)
    return np.asarray(others - scores[own])
