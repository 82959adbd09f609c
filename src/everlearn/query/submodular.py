"""Submodular: ask about rows that the model is unsure of and that are unlike each other.

W. Emara, "A Submodular Optimization Framework for Never-Ending Learning" (thesis, 2012), chapter V (ACTV).
"""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length

from .._base import constraints
from .._base.docs import with_kernels
from .._base.kernels import NAMES
from .._base.validate import Rows, label_column, missing_labels
from .._submodular.choice import Choice, Similarities
from .._submodular.geometry import CONSTRAINTS, Geometry, least_similarity
from ._pool import PoolQueryStrategy, Worth, best_first
from ._scores import class_scores, count_rows, margins
from ._strategy import Places

Floats = npt.NDArray[np.float64]


def _are_weights(value: Any) -> bool:
    try:
        numbers = list(value)
    except TypeError:
        return False
    return len(numbers) == 3 and all(map(constraints.NOT_NEGATIVE.test, numbers))


@with_kernels
class Submodular(PoolQueryStrategy):
    """Ask about a batch of rows that the model is unsure of and that are unlike each other.

    Of rows near to the boundary many are alike, and once one of them is labeled the others have little to
    add. When labels come one by one that is no matter, because the model changes in between; a batch is
    chosen at once. Of the rows U those A are asked about, n of them, that maximize::

        F(A) = sum_{j in A} (- lam2 m_j - lam3 sum_{u in U} K_uj) - lam1 sum_{j, u in A} K_uj

    m_j being the margin of a row, as in `Margin`, and K the similarities under a kernel. The row that adds
    most is taken, n times.

    Parameters
    ----------
    weights : tuple of 3 floats, default=None
        lam1, by which rows asked about are to be unlike each other, lam2, by which they are to be near the
        boundary, and lam3, by which they are to lie where rows are rare. None is 1, n / (2 * median margin)
        for similarities of 1 at most, and 0.
    kernel : {"auto", <kernels>}, default="auto"
        The kernel of the similarities, which need not be that of the model. "auto" is "linear" from 50
        features on, otherwise "rbf".
    gamma : {"median", "scale", "auto"} or float, default="median"
        Coefficient of <users of gamma>.
        "median" is 1 / (2 m), where m is the median, over pairs of up to 500 scaled rows, of the distance in
        the exponent of the kernel; for kernels without one it is "scale". "scale" and "auto" are those of
        `SVC`.
    degree : int, default=3
        Degree of <users of degree>.
    coef0 : float, default=0.0
        Constant of <users of coef0>.
    scaling : {"auto", "standard", "unit", "none"}, default="auto"
        What is done to the rows for the sake of similarities, see `Exemplars`; the model gets them as they
        are.
    pool_size : int, default=1000
        How many rows to draw. None looks at all of them, and so does a pool that has no more.
    random_state : int, RandomState instance or None, default=None
        Decides the draw. With an int the answer is a function of it, of the pool, of n and of ``draw``; with
        a generator, of its present state, which stays as it is; with None it differs from call to call.

    Notes
    -----
    The utility of a row is what it would add as the only one asked about. In the thesis there is no model:
    instead of the margin stands how much the labels disagree, the absolute value of sum_i y_i K_ij over
    labeled rows i, and lam2 is 2 n / (number of labels). ``query(..., labeled=(X, y))`` asks in this way;
    with several classes it is the gap between the two largest sums of a class.

    In batches of 20 on four sets this was better than `Margin` for the first two batches on three of them,
    and the same from 100 labels on; the default of lam2 is the best of four tried on these sets. On one of
    them, two bananas, rows asked about at random were better than either for the first batches. Asked one by
    one, rows need not be unlike each other: take `Margin`.

    References
    ----------
    W. Emara, *A Submodular Optimization Framework for Never-Ending Learning: Semi-Supervised, Online, and
    Active Learning*, thesis, 2012, chapter V. The weights are not from there.

    Examples
    --------
    >>> import numpy as np
    >>> from everlearn import LASVM
    >>> from everlearn.datasets import make_banana
    >>> from everlearn.query import Margin, Submodular
    >>> X, y = make_banana(600, random_state=0)
    >>> model = LASVM(C=10, gamma=1, random_state=0).fit(X[:100], y[:100])
    >>> pool = np.repeat(X[100:], 5, axis=0)  # every row five times
    >>> len(np.unique(pool[Margin(pool_size=None).query(model, pool, n=10)], axis=0))
    2
    >>> len(np.unique(pool[Submodular(gamma=10, pool_size=None).query(model, pool, n=10)], axis=0))
    10
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = (
        PoolQueryStrategy._constraints
        | CONSTRAINTS
        | {
            "weights": constraints.NONE | constraints.Constraint("three numbers, 0 or above", _are_weights),
            "kernel": constraints.one_of("auto", *NAMES),
            "pool_size": constraints.NONE | constraints.integer_from(1),
        }
    )

    def __init__(
        self,
        weights: Any = None,
        *,
        kernel: str = "auto",
        gamma: Any = "median",
        degree: int = 3,
        coef0: float = 0.0,
        scaling: str = "auto",
        pool_size: int | None = 1000,
        random_state: Any = None,
    ) -> None:
        self.weights = weights
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.scaling = scaling
        self.pool_size = pool_size
        self.random_state = random_state

    def utilities(self, model: Any, X: Any, labeled: Any = None) -> Worth:
        """How much each row is worth asking about as the only one; nothing is changed.

        Parameters
        ----------
        model : object
            A classifier that has learned something; not looked at if `labeled` is given.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows, as the model takes them.
        labeled : tuple of (X, y), default=None
            Labeled rows, by which to judge instead of by the model.

        Returns
        -------
        ndarray of shape (n_samples,)
            The larger, the more worth asking.
        """
        constraints.check(self)
        return self._alone(self._problem(model, X, 1, labeled))

    def query(self, model: Any, X: Any, n: int | None = 1, *, labeled: Any = None, draw: int = 0) -> Places:
        """Which rows of a pool to ask about; nothing is changed, the generator included.

        Parameters
        ----------
        model : object
            A classifier that has learned something; not looked at if `labeled` is given.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The pool, as the model takes it.
        n : int, default=1
            At most so many rows. None is all that are drawn.
        labeled : tuple of (X, y), default=None
            Labeled rows, by which to judge instead of by the model.
        draw : int, default=0
            Number of the draw. With a seed the same number draws the same rows again, another one others: a
            loop counts it up. Without a seed every call draws others anyway.

        Returns
        -------
        ndarray of shape (n_asked,)
            Row numbers, ascending.
        """
        places = self._drawn(X, n, draw)
        worth = self._in_batch(model, self._rows(X, n, places), n, labeled)
        return np.sort(places[best_first(worth)[:n]])

    def _size(self, n: int | None) -> int | None:
        return None if self.pool_size is None else int(self.pool_size)

    def _worth(self, model: Any, X: Any) -> Worth:
        return self._alone(self._problem(model, X, 1, None))

    def _judged(self, model: Any, X: Any, n: int | None) -> Worth:
        return self._in_batch(model, X, n, None)

    def _alone(self, problem: Choice) -> Worth:
        return np.asarray(problem.w + problem.q * problem.K.diagonal)

    def _in_batch(self, model: Any, X: Any, n: int | None, labeled: Any) -> Worth:
        """What each row adds to the batch when it is taken, or would add to the whole batch if it is not.

        So the rows of the batch are those of the highest worth. Gains fall from row to row where no
        similarity is below 0; elsewhere they are levelled for this.
        """
        rows = count_rows(X)
        k = rows if n is None else min(int(n), rows)
        problem = self._problem(model, X, max(k, 1), labeled)
        if k == 0:
            return self._alone(problem)
        path = problem.greedy(k)
        taken = np.zeros(rows)
        taken[path.order] = 1.0
        worth = problem.slope(taken) + problem.q * problem.K.diagonal
        gains = np.minimum.accumulate(path.gains)
        worth = np.minimum(worth, np.nextafter(gains[-1], -np.inf))
        worth[path.order] = gains
        return np.asarray(worth)

    def _problem(self, model: Any, X: Any, n: int, labeled: Any) -> Choice:
        """Which n rows?"""
        unsure, votes = (None, 0) if labeled is not None else (margins(class_scores(model, X)), 0)
        rows = _numbers(X)
        with np.errstate(over="ignore", invalid="ignore"):
            geometry = Geometry.of(rows, self)
            scaled = geometry.scaled(rows)
            K = geometry.similarities(scaled)
            if unsure is None:
                unsure, votes = _disagreement(geometry, scaled, labeled)
            apart, near, dense = self._weights(K, unsure, votes, n)
            w = 0.0 - near * unsure
            if dense > 0:
                w = w - dense * K.times(np.ones(len(K)))
            finite = np.isfinite(w).all() and np.isfinite(K.diagonal).all()
        if not finite:
            raise ValueError("Similarities of rows overflow: scale the features (scaling='standard').")
        return Choice(K, w, -apart, -2 * apart * least_similarity(K))

    def _weights(self, K: Similarities, unsure: Floats, votes: int, n: int) -> tuple[float, float, float]:
        if self.weights is not None:
            apart, near, dense = (float(weight) for weight in self.weights)
            return apart, near, dense
        if votes:
            return 1.0, 2.0 * n / votes, 0.0
        usual = float(np.median(unsure))
        return 1.0, 0.5 * n * float(K.diagonal.mean()) / usual if usual > 0 else 1.0, 0.0


def _numbers(X: Any) -> Rows:
    """Rows between which there are similarities."""
    try:
        return check_array(X, accept_sparse="csr", dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Submodular compares rows with each other, which must be numbers: {error}"
        ) from error


def _disagreement(geometry: Geometry, rows: Rows, labeled: Any) -> tuple[Floats, int]:
    """By how much the class to which a row is most similar is ahead of the next, and the number of labels."""
    if not isinstance(labeled, tuple | list) or len(labeled) != 2:
        raise ValueError(f"labeled must be a tuple of rows and labels, got {labeled!r}.")
    X, y = _numbers(labeled[0]), label_column(labeled[1])
    check_consistent_length(X, y)
    if X.shape[1] != rows.shape[1]:
        raise ValueError(f"The labeled rows have {X.shape[1]} features, those of the pool {rows.shape[1]}.")
    known = ~missing_labels(y)
    if not known.any():
        raise ValueError("labeled has no label.")
    classes, numbers = np.unique(np.asarray(y[known].tolist()), return_inverse=True)
    of_class = np.eye(max(2, len(classes)))[numbers]
    sums = geometry.similarities(geometry.scaled(X[np.flatnonzero(known)])).times(of_class, rows)
    return margins(np.asarray(sums)), int(known.sum())
