"""Exemplars: a small representative subset of unlabeled rows.

W. Emara, "A Submodular Optimization Framework for Never-Ending Learning" (thesis, 2012), chapter IV (EXMP).
"""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_consistent_length

from .._base import checked, constraints
from .._base.docs import with_kernels
from .._base.estimator import Estimator
from .._base.forget import check_ids, refuse_missing
from .._base.kernels import Linear
from .._base.parameters import Table
from .._base.persist import register
from .._base.validate import Rows, check_rows, label_column, missing_labels
from .._submodular.choice import Choice, Similarities, StoredSimilarities
from .._submodular.geometry import CONSTRAINTS, Geometry, all_pairs, least_similarity
from ._convex import ascend
from ._weights import WEIGHTS, default_weights, four_weights

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

_MAX_STORED = 5000  # rows whose similarities method="qp" stores as a matrix (200 MB)


@register
@with_kernels
class Exemplars(Estimator):
    """Choose representative rows: near labeled rows, in dense regions, different from each other.

    Of the unlabeled rows U it chooses a subset E of given size that maximizes::

        F(E) = sum_{j in E} (lam2 sum_{i labeled} K_ij + lam3 sum_{u in U} K_uj) - lam1 sum_{j, u in E} K_uj

    where K are similarities under a kernel. With lam2 = 0 and lam3 = 2 * n_exemplars / n this is kernel
    herding: the mean of E in the feature space of the kernel is as near as possible to that of U. With the
    default weights, rows in dense regions are preferred if few rows are chosen, and it is herding if half of
    the rows or more are chosen. Rows with a label are always kept. An n x n matrix is formed only by "qp"
    with a kernel that is not linear.

    Selecting rows is not a transformation of features, so there is no ``transform``: use `select` on the
    rows, their labels and other arrays.

    Parameters
    ----------
    n_exemplars : int, default=100
        Number of rows to choose; all if there are fewer.
    method : {"greedy", "qp"}, default="greedy"
        "greedy" repeatedly adds the row with the largest gain. "qp" solves the continuous relaxation, which
        is convex for a positive semi-definite kernel, takes the rows with the largest values, or the result
        of "greedy" if that is better, and computes an upper bound, `bound_`; for at most 5,000 rows unless
        the kernel is linear.
    kernel : {"auto", <kernels>, "precomputed"}, default="auto"
        The kernel. "auto" is "linear" with 50 features or more, otherwise "rbf". With "precomputed" X is the
        symmetric matrix of similarities.
        <formulas>
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
        How rows are scaled first. "standard" scales columns to mean 0 and standard deviation 1; "unit" scales
        rows to length 1. "auto" does both, with exceptions: only "standard" under kernels of differences of
        rows, and nothing under kernels that ignore the lengths of rows. The columns of sparse rows with 50
        features or more are not scaled; then "auto" is "unit".
    weights : tuple of 3 or 4 floats, default=None
        lam1, lam2, lam3 and, for `X_next`, lam4. None is lam1 = 1, lam2 = lam3 = max(1, 2 * n_exemplars / n).
    n_components : int, default=None
        Number of features of a Nystroem approximation of the kernel, with landmarks drawn with a fixed seed.
        Similarities are then approximate, with the cost of a linear kernel on that many features. None is
        exact.
    n_jobs : int, default=None
        Number of threads; None means 1, -1 all processors. The result does not depend on it.
    verbose : bool or int, default=False
        Whether to show progress.

    Attributes
    ----------
    indices_ : ndarray of shape (n_chosen,)
        Row numbers of the rows chosen among those without a label, in the order in which "greedy" took them,
        or with "qp" by descending value. With "greedy", the first k of them are those that would be chosen
        for n_exemplars=k with the same weights.
    kept_ : ndarray of shape (n_kept,)
        Row numbers of the labeled rows and of those chosen, ascending.
    objective_ : float
        F of the rows chosen; NaN once some of them have been forgotten.
    bound_ : float or None
        With "qp": an upper bound on F for this number of rows, valid whatever the accuracy of the solver.
        None once rows have been forgotten.
    weights_ : tuple of 4 floats
        The weights used.
    n_evaluations_ : int
        Number of gains computed; a gradient counts once for each row.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

    References
    ----------
    W. Emara, *A Submodular Optimization Framework for Never-Ending Learning: Semi-Supervised, Online, and
    Active Learning*, thesis, 2012, chapter IV. The weights are not from there.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from everlearn import Exemplars
    >>> X, y = load_digits(return_X_y=True)
    >>> few = Exemplars(n_exemplars=50, weights=(1, 0, 2 * 50 / len(X))).fit(X)  # herding
    >>> len(set(y[few.indices_]))  # every digit is there
    10
    >>> few.select(X).shape
    (50, 64)
    >>> partly = np.where(np.arange(len(y)) < 5, y, np.nan)  # five labels: those rows are kept in any case
    >>> Exemplars(n_exemplars=20).fit(X, partly).kept_[:5]
    array([0, 1, 2, 3, 4])
    """

    forgetting: ClassVar[str] = "removal"
    _constraints: ClassVar[Table] = CONSTRAINTS | {
        "n_exemplars": constraints.integer_from(0),
        "method": constraints.one_of("greedy", "qp"),
        "weights": constraints.NONE | WEIGHTS,
        "n_components": constraints.NONE | constraints.integer_from(1),
    }
    _mark_of_fit = "kept_"
    _fitted_attributes: ClassVar[tuple[str, ...]] = (
        "indices_",
        "kept_",
        "objective_",
        "bound_",
        "weights_",
        "n_evaluations_",
        "n_features_in_",
        "feature_names_in_",
        "_n_rows",
    )

    def __init__(
        self,
        n_exemplars: int = 100,
        *,
        method: str = "greedy",
        kernel: str = "auto",
        gamma: Any = "median",
        degree: int = 3,
        coef0: float = 0.0,
        scaling: str = "auto",
        weights: Any = None,
        n_components: int | None = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self._store(locals())

    def fit(self, X: Any, y: Any = None, X_next: Any = None) -> "Exemplars":
        """Choose rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), default=None
            The labels; None or NaN for unlabeled rows. Only whether a row is labeled matters, not its label.
            None means that all rows are unlabeled.
        X_next : array-like or sparse matrix of shape (n_next, n_features), default=None
            Rows that the chosen rows should also represent, such as the next batch of a stream. With a
            precomputed kernel their similarities to X.

        Returns
        -------
        Exemplars
            The selector itself.
        """
        constraints.check(self)
        with self._unchanged_on_error():
            return self._fit(X, y, X_next)

    def _fit(self, X: Any, y: Any, X_next: Any) -> "Exemplars":
        X = check_rows(self, X, reset=True)
        labeled = np.zeros(X.shape[0], dtype=np.bool_)
        if y is not None:
            y = label_column(y)
            check_consistent_length(X, y)
            labeled = ~missing_labels(y)
        if X_next is not None:
            X_next = check_rows(self, X_next, reset=False, ensure_min_samples=0)
            X_next = X_next if X_next.shape[0] else None
        U, L = np.flatnonzero(~labeled), np.flatnonzero(labeled)
        M = min(int(self.n_exemplars), len(U))
        if self.weights is None:
            self.weights_ = default_weights(M, len(U), 0 if X_next is None else X_next.shape[0])
        else:
            self.weights_ = four_weights(self.weights)
        choice = self._choice(X, U, L, X_next)
        chosen = self._solve(choice, M)
        self.indices_ = U[chosen]
        self.kept_ = np.sort(np.concatenate([L, self.indices_]))
        self.objective_ = choice.value(chosen) if M else 0.0
        self._n_rows = X.shape[0]
        return self

    def _choice(self, X: Rows, U: Places, L: Places, X_next: Rows) -> Choice:
        """The problem of selecting rows of U."""
        apart, near, dense, ahead = self.weights_
        K: Similarities
        if self.kernel == "precomputed":
            matrix = _square(X)
            K = StoredSimilarities(matrix[np.ix_(U, U)])
            labels = matrix[np.ix_(L, U)].sum(axis=0)
            coming = np.zeros(len(U)) if X_next is None else _dense(X_next)[:, U].sum(axis=0)
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                geometry = Geometry.of(X, self)
                rows = geometry.scaled(X)
                after = None if X_next is None else geometry.scaled(X_next)
                if self.n_components is not None and not geometry.is_linear:
                    landmarks = geometry.landmarks(rows, int(self.n_components))
                    rows = geometry.features(rows, landmarks)
                    after = None if after is None else geometry.features(after, landmarks)
                    geometry = Geometry.plain(Linear())
                K = geometry.similarities(rows[U], self.n_jobs, bool(self.verbose))
                labels = _sums(geometry.similarities(rows[L], self.n_jobs), rows[U])
                coming = np.zeros(len(U))
                if after is not None:
                    coming = _sums(geometry.similarities(after, self.n_jobs), rows[U])
        with np.errstate(over="ignore", invalid="ignore"):
            w = near * labels + ahead * coming
            if dense > 0 and len(U):
                w = w + dense * K.times(np.ones(len(U)))
            finite = np.isfinite(w).all() and np.isfinite(K.diagonal).all()
        if not finite:
            raise ValueError("Similarities of rows overflow: scale the features (scaling='standard').")
        return Choice(K, w, -apart, 0.0)

    def _solve(self, choice: Choice, M: int) -> Places:
        """The chosen rows, in order; sets `bound_` and `n_evaluations_`."""
        n = len(choice.w)
        self.bound_: float | None = None
        self.n_evaluations_ = 0
        if self.method == "qp":
            if n == 0:
                self.bound_ = 0.0
                return np.zeros(0, dtype=np.intp)
            if not choice.K.is_linear:
                choice = Choice(self._stored(choice.K), choice.w, choice.q, 0.0)
            found = ascend(choice, M, bool(self.verbose))
            self.bound_ = found.value + found.room
            self.n_evaluations_ = found.gradients * n
            # Equal fractions do not tell which rows to select; then greedy is better.
            sets = [np.argsort(-found.p, kind="stable")[:M], self._greedy(choice, M)]
            return max(sets, key=choice.value)
        return self._greedy(choice, M)

    def _greedy(self, choice: Choice, M: int) -> Places:
        if M == 0:
            return np.zeros(0, dtype=np.intp)
        if not isinstance(choice.K, StoredSimilarities):  # a stored matrix needs no bound
            choice.h = 2 * choice.q * least_similarity(choice.K)
        path = choice.greedy(M)
        self.n_evaluations_ += path.evaluations
        return path.order.astype(np.intp)

    def _stored(self, K: Similarities) -> StoredSimilarities:
        """The matrix, which must be positive semi-definite for the problem to be convex."""
        n = len(K)
        if n > _MAX_STORED:
            raise ValueError(
                f"method='qp' stores the similarities of at most {_MAX_STORED} unlabeled rows, but there are "
                f"{n}: use method='greedy', kernel='linear' or n_components."
            )
        stored = StoredSimilarities(all_pairs(K))
        if not K.definite:
            try:
                np.linalg.cholesky(stored.K + 1e-9 * max(1e-300, float(np.abs(stored.K).max())) * np.eye(n))
            except np.linalg.LinAlgError as error:
                raise ValueError(
                    f"The kernel {self.kernel!r} is not positive semi-definite on these rows, as "
                    "method='qp' requires: use method='greedy'."
                ) from error
        return stored

    def select(self, *arrays: Any) -> Any:
        """Select the kept rows from arrays that have one entry for each row of `fit`.

        Parameters
        ----------
        arrays : array-likes, data frames or sparse matrices of n_samples rows
            The rows, their labels, weights or ids.

        Returns
        -------
        object or tuple
            The rows `kept_` of each array, in row order; not a tuple if there is only one array.
        """
        self._check_fitted()
        for array in arrays:
            if _num_samples(array) != self._n_rows:
                raise ValueError(
                    f"select needs arrays with the {self._n_rows} rows of fit, got {_num_samples(array)}."
                )
        found = tuple(
            _safe_indexing(array.tocsr() if sparse.issparse(array) else array, self.kept_) for array in arrays
        )
        return found[0] if len(found) == 1 else found

    def forget(self, ids: Any) -> "Exemplars":
        """Remove rows from the kept ones. Only row numbers are stored, no rows.

        The other rows stay chosen and keep their numbers. To replace the removed rows, call `fit` again.

        Parameters
        ----------
        ids : int or array-like of int
            Row numbers, all in `kept_`; otherwise an error is raised and nothing changes.

        Returns
        -------
        Exemplars
            The selector itself.
        """
        self._check_fitted()
        named = check_ids(ids)
        refuse_missing(self, np.setdiff1d(named, self.kept_))
        if len(named):
            self.kept_ = np.setdiff1d(self.kept_, named)
            self.indices_ = self.indices_[~np.isin(self.indices_, named)]
            self.objective_, self.bound_ = float("nan"), None
        return self

    def fit_select(self, X: Any, y: Any = None, X_next: Any = None) -> Any:
        """Choose rows and return them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), default=None
            The labels; None or NaN for unlabeled rows.
        X_next : array-like or sparse matrix of shape (n_next, n_features), default=None
            Rows that the chosen rows should also represent.

        Returns
        -------
        object or tuple
            The kept rows, and their labels if y is given.
        """
        self.fit(X, y, X_next)
        return self.select(X) if y is None else self.select(X, y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _resume(self, state: dict[str, Any], fitted: dict[str, Any]) -> None:
        most = checked.integer("_n_rows", fitted["_n_rows"]) - 1
        kept = checked.integers("kept_", fitted["kept_"], (None,), most=most)
        chosen = checked.integers("indices_", fitted["indices_"], (None,), most=most)
        if (np.diff(kept) <= 0).any() or not np.isin(chosen, kept).all():
            raise ValueError("kept_ must be ascending and contain indices_")
        if fitted["objective_"] == fitted["objective_"]:  # NaN once rows were forgotten
            checked.number("objective_", fitted["objective_"])
        checked.integer("n_evaluations_", fitted["n_evaluations_"])
        if fitted["bound_"] is not None:
            checked.number("bound_", fitted["bound_"], finite=False)
        for weight in checked.items("weights_", fitted["weights_"], 4):
            checked.number("weights_", weight)
        super()._resume(state, fitted)


def _sums(K: Similarities, rows: Rows) -> Floats:
    """For each row, the sum of its similarities to all rows of K."""
    return K.times(np.ones(len(K)), rows) if len(K) else np.zeros(rows.shape[0])


def _dense(X: Rows) -> Floats:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def _square(X: Rows) -> Floats:
    """A checked precomputed kernel matrix."""
    matrix = _dense(X)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"A precomputed kernel must be a square matrix, got shape {matrix.shape}.")
    if not np.allclose(matrix, matrix.T, rtol=1e-7, atol=1e-9 * max(1e-300, float(np.abs(matrix).max()))):
        raise ValueError("A precomputed kernel must be symmetric.")
    return matrix
