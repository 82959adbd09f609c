"""LASVM: an SVM learnt one row at a time.

A. Bordes, S. Ertekin, J. Weston, L. Bottou, "Fast Kernel Classifiers with Online and Active Learning",
JMLR 6 (2005); S. Ertekin, "Learning in Extreme Conditions" (thesis, 2009), chapter 3.
"""

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted
from tqdm.auto import tqdm

from .. import _params
from .._learner import ROWS_PER_CALL, Ints, KernelLearner, LabelledRows
from .._persist import register
from .._validate import Array, as_block, check_rows_and_labels, encode_labels
from ._selection import AUTO_MOST, pick

_SEEDS_PER_CLASS = 5
_ROUNDS_PER_CALL = 8
_MOST_FINISHING_STEPS = (
    1_000_000  # and a hundred for each row: far more than a problem that can converge needs
)


@register
class LASVM(KernelLearner):
    """Support vector machine learnt online, one row at a time.

    Each row is compared with the most violating row kept so far, then one step is made on the most violating
    pair of all, and rows that cannot matter any more are dropped. One pass with a finishing step comes close
    to the exact SVM; several passes reach it. Several classes are learnt one against the rest on shared
    rows.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violated margin.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        The kernel. A callable ``kernel(X, Y)`` returns the matrix of values; it and "precomputed" go through
        a slower door that keeps the kernel matrix of the kept rows in memory.
    degree : int, default=3
        Degree of the "poly" kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid". "scale" is 1 / (n_features * X.var()), "auto" is
        1 / n_features; `partial_fit` computes it from its first block and keeps it.
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    tol : float, default=1e-3
        How much a pair may violate the optimality conditions.
    class_weight : dict or "balanced", default=None
        Multiplies C for the rows of a class. "balanced" needs `fit`, which sees all rows.
    epochs : int, default=1
        Passes over the rows in `fit`.
    finishing : bool, default=True
        Whether `fit` ends with `finish`.
    delta_max : float, default=None
        Repeat the second step of each row until no pair violates by more than this. None makes one step.
    selection : {"random", "gradient", "active", "autoactive"}, default="random"
        How `fit` chooses the next row among those drawn from the rows not seen yet: the drawn row itself, the
        worst classified one, the one nearest to the boundary, or that among as many as it takes to draw five
        within the margin. The seeds apart, only "gradient" looks at labels of rows it does not take.
    pool_size : int, default=50
        Rows drawn for each choice by "gradient" and "active".
    max_iter : int, default=-1
        Rows that `fit` takes, -1 for all; the seeds, five of each class, are always taken. With "active" it
        is the number of labels used, not counting those looked at to find seeds of a rare class.
    cache_size : float, default=200
        Limit of the kernel cache, in megabytes.
    n_jobs : int, default=None
        Threads for kernel blocks, finishing and decisions; None is one, -1 all. The result does not depend
        on it.
    random_state : int, RandomState instance or None, default=None
        Decides the order of the rows in `fit`.
    verbose : bool or int, default=False
        Whether to show progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X had names that are strings.
    support_ : ndarray of shape (n_SV,)
        Row numbers of the support vectors.
    support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
        The support vectors.
    dual_coef_ : ndarray of shape (1, n_SV) or (n_classes, n_SV)
        Their signed coefficients.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The biases.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    n_kernel_evaluations_ : int
        Kernel values computed.
    n_iter_ : int
        Rows taken in.

    Examples
    --------
    >>> from everlearn import LASVM
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(1000, random_state=0)
    >>> clf = LASVM(C=10, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.95
    True

    Online, block by block; `finish` any time:

    >>> clf = LASVM(C=10)
    >>> for block in range(0, 1000, 100):
    ...     clf = clf.partial_fit(X[block : block + 100], y[block : block + 100], classes=[-1, 1])
    >>> clf.finish().n_iter_
    1000
    """

    _constraints: ClassVar[dict[str, _params.Constraint]] = KernelLearner._constraints | {
        "epochs": _params.integer_from(1),
        "finishing": _params.BOOLEAN,
        "delta_max": _params.NONE | _params.NOT_NEGATIVE,
        "selection": _params.one_of("random", "gradient", "active", "autoactive"),
        "pool_size": _params.integer_from(1),
        "max_iter": _params.integer_from(-1),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str | Callable[..., Any] = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        class_weight: dict[Any, float] | str | None = None,
        epochs: int = 1,
        finishing: bool = True,
        delta_max: float | None = None,
        selection: str = "random",
        pool_size: int = 50,
        max_iter: int = -1,
        cache_size: float = 200,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.class_weight = class_weight
        self.epochs = epochs
        self.finishing = finishing
        self.delta_max = delta_max
        self.selection = selection
        self.pool_size = pool_size
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LASVM":
        """Learn from scratch: passes over the rows in random order, then `finish`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C for each row; a row of weight 0 is left out.

        Returns
        -------
        LASVM
            The learner itself.
        """
        _params.check(self)
        with self._unchanged_on_error():
            X, y = check_rows_and_labels(self, X, y, reset=True)
            check_classification_targets(y)
            classes, labels = np.unique(y, return_inverse=True)
            if len(classes) < 2:
                raise ValueError(
                    f"The number of classes has to be greater than one; y has 1 class, {classes[0]!r}. A "
                    "stream that begins with one class can be learnt with partial_fit(..., classes=...)."
                )
            if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
                raise ValueError(f"A precomputed kernel must be a square matrix, got shape {X.shape}.")
            self._start(X, classes)
            rows = self._accept(X, y, labels.astype(np.int32), sample_weight)
            usable = np.flatnonzero(rows.costs > 0)
            if len(np.unique(rows.labels[usable])) < 2:
                raise ValueError("Only rows of one class have a weight above 0: nothing can be told apart.")
            random = check_random_state(self.random_state)
        self._configure()
        self._pass_over(rows, usable, random)
        return self.finish() if self.finishing else self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> "LASVM":
        """Learn more rows, in the order given, each once.

        Rows that come before a second class has appeared are kept and learnt when it does.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come; needed in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C for each row; a row of weight 0 is left out.

        Returns
        -------
        LASVM
            The learner itself.
        """
        _params.check(self)
        if self.class_weight == "balanced":
            raise ValueError(
                'class_weight="balanced" needs all labels at once: use fit, or give partial_fit a dict.'
            )
        first = not hasattr(self, "_machine")
        with self._unchanged_on_error():
            known = self._check_classes(classes, first)
            X, y = check_rows_and_labels(self, X, y, reset=first)
            labels = encode_labels(y, known)
            if first:
                self._start(X, known)
            left_out = sample_weight is not None and np.shape(sample_weight) == y.shape
            left_out = left_out and not np.any(sample_weight)  # scikit-learn refuses weights that are all 0
            rows = self._accept(X, y, labels, None if left_out else sample_weight)
        if left_out:
            return self
        self._configure()
        native = self._machine.native
        before = native.iterations
        try:
            self._feed(native.learn, rows, np.flatnonzero(rows.costs > 0))
        except BaseException:
            if native.iterations == before:  # nothing was learnt: the row numbers are free again
                self._rows_seen -= len(rows.ids)
            raise
        return self

    def finish(self) -> "LASVM":
        """Optimise on the rows kept until no pair violates by more than ``tol``, then drop what is idle.

        Returns
        -------
        LASVM
            The learner itself.
        """
        check_is_fitted(self)
        _params.check(self)
        self._configure()
        native = self._machine.native
        last = native.finishing_steps + _MOST_FINISHING_STEPS + 100 * native.size
        with tqdm(desc="finishing", unit="round", disable=not self.verbose) as bar:
            while not native.finish(_ROUNDS_PER_CALL) and native.finishing_steps < last:
                bar.update(_ROUNDS_PER_CALL)
                bar.set_postfix(violation=f"{self._violation():.2g}")
        if self._foreign is not None:
            self._foreign.keep(native.ids)
        violation = self._violation()
        if violation > self.tol:
            warnings.warn(
                f"Finishing stopped at a violation of {violation:.2g}, above tol={self.tol:g}: more steps "
                "would hardly change the objective. Scale the features, or choose a larger tol or a smaller "
                "C; the kernel may also not be positive definite.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _violation(self) -> float:
        delta = self._machine.native.delta
        return float(np.max(delta, where=np.isfinite(delta), initial=0.0))

    # ------------------------------------------------------------------------------------------------ passes

    def _check_classes(self, classes: Any, first: bool) -> Array:
        if first and classes is None:
            raise ValueError(
                "classes must be given in the first call of partial_fit: all labels that will come."
            )
        if classes is None:
            return np.asarray(self.classes_)
        named = unique_labels(classes)
        if first and len(named) < 2:
            raise ValueError(f"classes must name at least two classes, got {named!r}.")
        if not first and not np.array_equal(named, self.classes_):
            raise ValueError(
                f"classes={classes!r} differs from the classes of the first call, {self.classes_!r}."
            )
        return np.asarray(named)

    def _pass_over(self, rows: LabelledRows, usable: npt.NDArray[np.intp], random: Any) -> None:
        """Seeds of each class first, then the epochs."""
        native = self._machine.native
        native.seed_generator(random.randint(1, 2**63 - 1, size=4, dtype=np.int64).astype(np.uint64))
        order = random.permutation(usable).astype(np.int64)
        of_class = [np.flatnonzero(rows.labels[order] == number) for number in range(len(self.classes_))]
        seeds = np.sort(np.concatenate([places[:_SEEDS_PER_CLASS] for places in of_class]))
        left = len(order) * self.epochs if self.max_iter < 0 else self.max_iter
        with tqdm(total=left, desc="learning", unit="row", disable=not self.verbose) as bar:
            self._feed(native.seed, rows, order[seeds])
            left -= len(seeds)
            bar.update(len(seeds))
            order = np.delete(order, seeds)
            for epoch in range(self.epochs):
                if epoch > 0:
                    order = random.permutation(usable).astype(np.int64)
                order = order[: max(left, 0)] if self.selection == "random" else order
                taken = min(max(left, 0), len(order))
                for start in range(0, taken, ROWS_PER_CALL):
                    count = min(ROWS_PER_CALL, taken - start)
                    if self.selection == "random":
                        self._feed(native.learn, rows, order[start : start + count])
                    else:
                        order = self._learn_selected(rows, order, count, random)
                    bar.update(count)
                left -= taken

    def _learn_selected(self, rows: LabelledRows, remaining: Ints, count: int, random: Any) -> Ints:
        """Take ``count`` rows by the selection rule; returns those that remain."""
        native, foreign = self._machine.native, self._foreign
        if foreign is None:
            return native.learn_selected(
                *rows.for_core(), remaining, self.selection, int(self.pool_size), count
            )
        pool = AUTO_MOST if self.selection == "autoactive" else self.pool_size
        for _ in range(count):
            places = random.choice(len(remaining), size=min(pool, len(remaining)), replace=False)
            drawn = remaining[places]
            scores = native.decide(as_block(foreign.against(rows.X[drawn], native.ids)), 1)
            best = pick(self.selection, scores, rows.labels[drawn], native.delta)
            self._feed(native.learn, rows, drawn[best : best + 1])
            remaining = np.delete(remaining, places[best])
        return remaining
