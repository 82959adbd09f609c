"""The loop that takes a model through a stream and asks for labels on the way."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import get_tags

from .._base.online import OnlineLearner
from ._scores import count_rows, has_learned
from ._strategy import Places, QueryStrategy

# How many groups of rows may be judged ahead, and how many rows are learned in a call where every row is
# asked about.
_MOST_AHEAD = 64
_ROWS_PER_CALL = 256
_FIRST_ROWS = 1000  # from which a learner of ours takes what depends on features alone

Ask = Callable[[Places, Any], npt.NDArray[Any]]


class _Nothing:
    """A model that has learned nothing: f = 0 everywhere."""

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        return np.zeros(count_rows(X))


def learn_stream(
    model: Any, query_strategy: QueryStrategy, X: Any, oracle: Any, *, classes: Any = None
) -> Places:
    """Go through a stream of rows, ask for the labels that a query strategy wants, and learn them.

    The query strategy judges the rows with the model as it is when they come,
    `query_strategy.rows_per_question` rows at a time: what is asked about is labeled by the oracle and
    learned by ``model.partial_fit`` before the next rows are judged. A model that has learned nothing yet
    has f = 0, so that the first rows are asked about.

    Parameters
    ----------
    model : object
        A classifier with ``partial_fit`` and, unless the strategy does not look at it,
        ``decision_function``. It goes on from what it has learned.
    query_strategy : All, RampRegion or RecentMargin
        The query strategy.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows, in the order of the stream.
    oracle : array-like of shape (n_samples,) or callable
        The labels of the stream, of which only those asked for are read; or a function
        ``oracle(numbers, rows)`` that gets the row numbers and the rows asked about and returns their labels.
    classes : array-like of shape (n_classes,), default=None
        All labels that will ever come. If the model has learned nothing yet, None takes those that occur in
        the array of labels; with a function as oracle they must be given.

    Returns
    -------
    ndarray of shape (n_asked,)
        Numbers of the rows asked about, ascending.

    Notes
    -----
    Each row asked about makes a call of ``partial_fit``. Learners of everlearn that have learned nothing yet
    take what depends on features alone, such as ``gamma="scale"``, from the first 1,000 rows of the stream,
    whether asked about or not; other models take it from the first row they learn. Where every row is asked
    about, learners of everlearn get many rows in a call: they learn them one after the other anyway, while
    other models may shuffle or average the rows of a call.

    Examples
    --------
    >>> from everlearn import LASVM
    >>> from everlearn.datasets import make_banana
    >>> from everlearn.query import RampRegion, learn_stream
    >>> X, y = make_banana(2000, random_state=0)
    >>> model = LASVM(C=10, gamma=1)
    >>> asked = learn_stream(model, RampRegion(), X[:1000], y[:1000])
    >>> len(asked) < 300
    True
    >>> model.finish().score(X[1000:], y[1000:]) > 0.95
    True
    """
    if (
        isinstance(query_strategy, type)
        or not hasattr(query_strategy, "query")
        or not hasattr(query_strategy, "rows_per_question")
    ):
        raise TypeError(
            "query_strategy must be one of everlearn.query for a stream, such as RampRegion(), not one for a "
            f"pool, got {query_strategy!r}."
        )
    if isinstance(model, type) or not hasattr(model, "partial_fit"):
        raise TypeError(
            f"model must be an instance with partial_fit, by which it learns more rows, such as LASVM() or "
            f"SGDClassifier(), got {model!r}."
        )
    X = _sliceable(X)
    total = count_rows(X)
    ask = _ask_function(oracle) if callable(oracle) else _ask_array(oracle, total)
    every_row = getattr(query_strategy, "asks_every_row", False)
    if not every_row and _is_pairwise(model):
        raise ValueError(
            "A precomputed kernel has a column for every row learned; where not every row of a stream is "
            "learned, the columns of X are others: pass the kernel as a callable."
        )
    learner = _Learner(model, X, ask, _first_classes(model, oracle, classes))
    if every_row:
        return _learn_every_row(learner, total)
    return _learn_asked_rows(learner, query_strategy, total)


class _Learner:
    """The side of the loop that learns: fetches labels, learns rows, notes which."""

    def __init__(self, model: Any, X: Any, ask: Ask, classes: Any) -> None:
        self.model, self.X, self.ask = model, X, ask
        self.classes = classes  # for the first call only
        self.has_learned = has_learned(model)
        self.asked: list[Places] = []

    def rows(self, start: int, stop: int) -> Any:
        """Consecutive rows of the stream."""
        return _take(self.X, slice(start, stop))

    def learn(self, numbers: Places) -> None:
        """Ask for the labels of some rows, in ascending order, and learn them in one call."""
        consecutive = numbers[-1] - numbers[0] == len(numbers) - 1
        rows = _take(self.X, slice(numbers[0], numbers[-1] + 1) if consecutive else numbers)
        labels = self.ask(numbers, rows)
        if self.classes is None:
            self.model.partial_fit(rows, labels)
        elif self.has_learned or not isinstance(self.model, OnlineLearner):
            self.model.partial_fit(rows, labels, classes=self.classes)
        else:
            with self.model._unchanged_on_error():
                # A row that cannot be learned is refused when its turn comes.
                with suppress(ValueError):
                    self.model._prepare(self.rows(0, _FIRST_ROWS), self.classes)
                self.model.partial_fit(rows, labels, classes=self.classes)
        self.classes = None
        self.has_learned = self.has_learned or has_learned(self.model)
        self.asked.append(numbers)


def _learn_every_row(learner: _Learner, total: int) -> Places:
    """Learn all rows, many in a call if the model learns the rows of a call in order, each on its own."""
    rows_per_call = _ROWS_PER_CALL if isinstance(learner.model, OnlineLearner) else 1
    for start in range(0, total, rows_per_call):
        learner.learn(np.arange(start, min(start + rows_per_call, total)))
    return np.concatenate(learner.asked)


def _learn_asked_rows(learner: _Learner, query_strategy: QueryStrategy, total: int) -> Places:
    """Judge rows and learn those asked about.

    Problem: a call that judges one row costs nearly what one that judges many does, and most rows may not be
    asked about. So rows are judged ahead. Invariant: an answer is used only if the model has not changed
    since, that is, up to the first group of rows of which some are asked about; the rows behind it are judged
    again. The way ahead doubles as long as nothing is asked about and is halved when something is, so that
    little is judged in vain. A row that cannot be judged is no reason to stop before its turn.
    """
    size, ahead, start = query_strategy.rows_per_question, 1, 0
    nothing = _Nothing()
    while start < total:
        stop = min(start + ahead * size, total)
        try:
            model = learner.model if learner.has_learned else nothing
            chosen = query_strategy.query(model, learner.rows(start, stop))
        except ValueError:
            if ahead == 1:
                raise
            ahead = 1
            continue
        if len(chosen) == 0:
            start, ahead = stop, min(2 * ahead, _MOST_AHEAD)
            continue
        end = (int(chosen[0]) // size + 1) * size  # of the first group that is asked about
        learner.learn(start + chosen[chosen < end])
        start, ahead = start + end, max(ahead // 2, 1)
    return np.concatenate([np.zeros(0, dtype=np.intp), *learner.asked])


# ---------------------------------------------------------------------------------------------- what is given


def _sliceable(X: Any) -> Any:
    """X as something that `_take` can cut: data frames stay what they are, for the sake of their names."""
    if sparse.issparse(X):
        return X.tocsr()
    if hasattr(X, "shape") and hasattr(X, "__getitem__"):
        return X
    return np.asarray(X)


def _take(X: Any, which: slice | Places) -> Any:
    return X.iloc[which] if hasattr(X, "iloc") else X[which]


def _is_pairwise(model: Any) -> bool:
    return hasattr(model, "__sklearn_tags__") and bool(get_tags(model).input_tags.pairwise)


def _first_classes(model: Any, oracle: Any, classes: Any) -> Any:
    """What the first call of ``partial_fit`` gets as classes, None for nothing."""
    if classes is not None or has_learned(model):
        return classes
    if callable(oracle):
        raise ValueError(
            "classes must be given, all labels that will come: the oracle is a function and the model has "
            "learned nothing yet."
        )
    labels = np.asarray(oracle)
    try:
        known = np.unique(labels)
        missing = bool((known != known).any())  # NaN differs from itself
    except TypeError:  # labels that cannot be ordered, None among strings
        missing = True
    if missing:
        raise ValueError(
            "The classes cannot be read from oracle, which has missing labels or labels of several kinds: "
            "name them with classes=..."
        )
    return known


def _ask_array(oracle: Any, total: int) -> Ask:
    """Answers from an array of the labels of all rows."""
    labels = np.asarray(oracle)
    if labels.ndim != 1 or len(labels) != total:
        raise ValueError(
            f"oracle must be a function or hold one label for each of the {total} rows of X, got shape "
            f"{labels.shape}."
        )
    return lambda numbers, rows: labels[numbers]


def _ask_function(oracle: Callable[[Places, Any], Any]) -> Ask:
    """Answers from a function, of which there must be as many as questions."""

    def ask(numbers: Places, rows: Any) -> npt.NDArray[Any]:
        labels = np.asarray(oracle(numbers, rows))
        if labels.shape != numbers.shape:
            raise ValueError(
                f"oracle must return one label for each row it is asked about: asked about {len(numbers)}, "
                f"it returned shape {labels.shape}."
            )
        return labels

    return ask
