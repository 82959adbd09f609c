"""Stream-based active learning: one pass over a stream that asks for labels on the way."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from .._base.estimator import unchanged_on_error
from .._base.online import OnlineLearner
from ._rows import FIRST_ROWS, Places, count_rows, is_pairwise, sliceable, take
from ._run_checks import check_model
from ._scores import Unfitted, has_learned
from ._strategy import StreamQueryStrategy

_MAX_LOOKAHEAD = 64  # groups of rows that are scored ahead
_ROWS_PER_CALL = 256  # that are learned in a call where every row is asked about

Ask = Callable[[Places, Any], npt.NDArray[Any]]


def learn_stream(
    model: Any, query_strategy: StreamQueryStrategy, X: Any, oracle: Any, *, classes: Any = None
) -> Places:
    """Pass over a stream, ask for the labels that a query strategy selects, and learn them.

    The rows are taken in groups of `query_strategy.rows_per_question`. The strategy selects from a group with
    the current model; the oracle labels the selected rows, and ``model.partial_fit`` learns them before the
    next group. An unfitted model counts as f = 0, so that the first rows are asked about.

    Parameters
    ----------
    model : object
        A classifier with ``partial_fit`` and, unless the strategy does not use it, ``decision_function``. If
        it is fitted, it continues from there.
    query_strategy : All, RampRegion or RecentMargin
        The query strategy.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows, in the order of the stream.
    oracle : array-like of shape (n_samples,) or callable
        The labels of the stream, of which only those asked for are read; or a function
        ``oracle(numbers, rows)`` that gets row numbers and rows and returns their labels.
    classes : array-like of shape (n_classes,), default=None
        All labels that can occur. For an unfitted model None takes those of the array of labels; if the
        oracle is a function, they are required.

    Returns
    -------
    ndarray of shape (n_asked,)
        Numbers of the rows asked about, ascending.

    Notes
    -----
    Each row asked about is a call of ``partial_fit``. What everlearn's learners derive from features alone,
    such as ``gamma="scale"``, is derived from the first 1,000 rows of the stream if the model is not fitted,
    whether they are asked about or not; other models derive it from the first row that they learn. If every
    row is asked about, everlearn's learners get many rows in a call, which they learn one after the other;
    other models get one, because they may shuffle or average the rows of a call.

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
    if isinstance(query_strategy, type) or not all(
        hasattr(query_strategy, name) for name in ("query", "rows_per_question")
    ):
        raise TypeError(
            "query_strategy must be a query strategy for streams, such as RampRegion(), not one for pools, "
            f"got {query_strategy!r}."
        )
    check_model(model, "model")
    X = sliceable(X)
    n_rows = count_rows(X)
    ask = _ask_function(oracle) if callable(oracle) else _ask_array(oracle, n_rows)
    every_row = getattr(query_strategy, "asks_every_row", False)
    if not every_row and is_pairwise(model):
        raise ValueError(
            "kernel='precomputed' needs a column for every learned row, and the columns of X are all rows of "
            "the stream: pass the kernel as a callable, or ask about every row."
        )
    learner = _Learner(model, X, ask, _first_classes(model, oracle, classes))
    if every_row:
        return _learn_every_row(learner, n_rows)
    return _learn_selected_rows(learner, query_strategy, n_rows)


class _Learner:
    """The learning side of the pass: gets labels, learns rows, records which."""

    def __init__(self, model: Any, X: Any, ask: Ask, classes: Any) -> None:
        self.model, self.X, self.ask = model, X, ask
        self.classes = classes  # for the first call only
        self.has_learned = has_learned(model)
        self.asked: list[Places] = []

    def rows(self, start: int, stop: int) -> Any:
        """Consecutive rows of the stream."""
        return take(self.X, slice(start, stop))

    def learn(self, numbers: Places) -> None:
        """Ask for the labels of some rows, in ascending order, and learn them in one call."""
        consecutive = numbers[-1] - numbers[0] == len(numbers) - 1
        rows = take(self.X, slice(numbers[0], numbers[-1] + 1) if consecutive else numbers)
        labels = self.ask(numbers, rows)
        if self.classes is None:
            self.model.partial_fit(rows, labels)
        elif self.has_learned or not isinstance(self.model, OnlineLearner):
            self.model.partial_fit(rows, labels, classes=self.classes)
        else:
            with unchanged_on_error(self.model):
                # A row that cannot be learned is refused when it is asked about.
                with suppress(ValueError):
                    self.model.prepare(self.rows(0, FIRST_ROWS), self.classes)
                self.model.partial_fit(rows, labels, classes=self.classes)
        self.classes = None
        self.has_learned = self.has_learned or has_learned(self.model)
        self.asked.append(numbers)


def _learn_every_row(learner: _Learner, n_rows: int) -> Places:
    """Learn all rows, many in a call if the model learns the rows of a call one after the other."""
    rows_per_call = _ROWS_PER_CALL if isinstance(learner.model, OnlineLearner) else 1
    for start in range(0, n_rows, rows_per_call):
        learner.learn(np.arange(start, min(start + rows_per_call, n_rows)))
    return np.concatenate(learner.asked)


def _learn_selected_rows(learner: _Learner, strategy: StreamQueryStrategy, n_rows: int) -> Places:
    """Learn the rows that the strategy selects.

    Problem: a call for one group of rows costs nearly as much as a call for many, and most groups may not be
    asked about. So several groups are passed at once. Invariant: a selection is used only if the model has
    not changed since, that is, up to the first group with a selected row; the groups after it are passed
    again. The lookahead doubles while nothing is selected and is halved when something is, so that little is
    scored in vain. A row that cannot be scored raises only when it is its turn.
    """
    size, lookahead, start = strategy.rows_per_question, 1, 0
    unfitted = Unfitted()
    while start < n_rows:
        stop = min(start + lookahead * size, n_rows)
        try:
            selected = strategy.query(
                learner.model if learner.has_learned else unfitted, learner.rows(start, stop)
            )
        except ValueError:
            if lookahead == 1:
                raise
            lookahead = 1
            continue
        if len(selected) == 0:
            start, lookahead = stop, min(2 * lookahead, _MAX_LOOKAHEAD)
            continue
        end = (int(selected[0]) // size + 1) * size  # of the first group with a selected row
        learner.learn(start + selected[selected < end])
        start, lookahead = start + end, max(lookahead // 2, 1)
    return np.concatenate([np.zeros(0, dtype=np.intp), *learner.asked])


# ---------------------------------------------------------------------------------------------------- inputs


def _first_classes(model: Any, oracle: Any, classes: Any) -> Any:
    """The classes for the first call of ``partial_fit``; None for none."""
    if classes is not None or has_learned(model):
        return classes
    if callable(oracle):
        raise ValueError(
            "classes is required, with all labels that can occur: the oracle is a function and the model is "
            "not fitted."
        )
    labels = np.asarray(oracle)
    try:
        known = np.unique(labels)
        missing = bool((known != known).any())  # NaN differs from itself
    except TypeError:  # labels that cannot be ordered, None among strings
        missing = True
    if missing:
        raise ValueError(
            "The classes cannot be read from oracle, which has missing labels or labels of several types: "
            "pass classes=..."
        )
    return known


def _ask_array(oracle: Any, n_rows: int) -> Ask:
    """Answers from an array with the labels of all rows."""
    labels = np.asarray(oracle)
    if labels.ndim != 1 or len(labels) != n_rows:
        raise ValueError(
            f"oracle must be a function, or one label for each of the {n_rows} rows of X, got shape "
            f"{labels.shape}."
        )
    return lambda numbers, rows: labels[numbers]


def _ask_function(oracle: Callable[[Places, Any], Any]) -> Ask:
    """Answers from a function, one for each row."""

    def ask(numbers: Places, rows: Any) -> npt.NDArray[Any]:
        labels = np.asarray(oracle(numbers, rows))
        if labels.shape != numbers.shape:
            raise ValueError(
                f"oracle must return one label for each row: it got {len(numbers)} rows and returned shape "
                f"{labels.shape}."
            )
        return labels

    return ask
