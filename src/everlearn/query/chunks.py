"""IncrSVM and QuerySVM: SVMs learned from disjoint random chunks, or from one row near the boundary each.

N. A. Syed, H. Liu, K. K. Sung, "A Study of Support Vectors on Model Independent Example Selection" (KDD
1999); C. Campbell, N. Cristianini, A. Smola, "Query Learning with Large Margin Classifiers" (ICML 2000); both
as P. Mitra, C. A. Murthy, S. K. Pal compare them in "A Probabilistic Active Support Vector Learning
Algorithm", IEEE Transactions on Pattern Analysis and Machine Intelligence 26 (2004).
"""

from typing import Any, ClassVar

import numpy as np

from .._base import constraints
from .._base.persist import register
from ._chunk_learner import ChunkLearner, ChunkRun


@register
class IncrSVM(ChunkLearner):
    """Support vector machine learned from one random chunk after the other.

    Trains on the first chunk, then on the support vectors and the next chunk, and so on. No chunk is seen
    twice: a row that is not a support vector after a step never returns. Every label is used.

    Parameters
    ----------
    estimator : classifier, default=None
        The SVM that is trained on each chunk. It must have `support_` and `decision_function`, like the SVMs
        of everlearn and scikit-learn. None is a linear `LASVM` with C = 1 and enough epochs to be exact. Set
        class costs as its `class_weight`. If its `random_state` is None, it is seeded from this one's.
    chunk_size : int, default=None
        Number of rows added in a step. None is the square root of the number of rows, at least 10.
    max_iter : int, default=-1
        Maximum number of steps after the first SVM, -1 for as many as there are chunks.
    random_state : int, RandomState instance or None, default=None
        Determines which rows are drawn.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    estimator_ : classifier
        The last SVM.
    support_ : ndarray of shape (n_SV,)
        Row numbers of its support vectors, ascending.
    used_ : ndarray of shape (n_used_,)
        Row numbers of the rows that were ever part of a training set.
    examined_ : ndarray of shape (n_examined_,)
        Row numbers of the rows whose label was read: those, and any that were drawn for a first chunk which
        then lacked a class.
    n_used_ : int
        Number of rows used.
    n_examined_ : int
        Number of labels read.
    n_iter_ : int
        Number of SVMs trained.
    stop_reason_ : str
        Why the fit ended.
    history_ : list of dict
        One for each SVM: "step", and "used", "examined" and "n_support" after it.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

    Examples
    --------
    >>> from everlearn.datasets import make_twonorm
    >>> from everlearn import IncrSVM
    >>> X, y = make_twonorm(2000, random_state=0)
    >>> clf = IncrSVM(chunk_size=50, max_iter=10, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.93
    True
    >>> clf.n_used_
    550
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        chunk_size: int | None = None,
        max_iter: int = -1,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.chunk_size = chunk_size
        self.max_iter = max_iter
        self.random_state = random_state

    def _run(self, run: ChunkRun) -> str:
        run.record()
        self.n_iter_ = 1
        rest = run.random.permutation(run.others(np.flatnonzero(run.used)))
        for start in range(0, len(rest), run.chunk):
            if self.n_iter_ == self.max_iter + 1:
                return "step limit"
            run.solve(np.union1d(run.support, rest[start : start + run.chunk]))
            run.record()
            self.n_iter_ += 1
        return "no rows left"


@register
class QuerySVM(ChunkLearner):
    """Support vector machine that asks for the row nearest to its boundary, one at a time.

    Begins with an SVM on a random chunk. Each step scores all rows that were not used yet, asks for the label
    of the one with the smallest |f(x)| and retrains. It stops when no row is left inside the margin. Scoring
    every row in every step is slow on large data: `LASVM` with ``selection="active"`` scores a few drawn at
    random and does not retrain. With several classes, the distance of a row is that to its nearest
    one-vs-rest boundary.

    Parameters
    ----------
    estimator : classifier, default=None
        The SVM that is trained in each step. It must have `support_` and `decision_function`, like the SVMs
        of everlearn and scikit-learn. None is a linear `LASVM` with C = 1 and enough epochs to be exact. Set
        class costs as its `class_weight`. If its `random_state` is None, it is seeded from this one's.
    chunk_size : int, default=None
        Number of rows for the first SVM. None is the square root of the number of rows, at least 10.
    max_iter : int, default=250
        Maximum number of rows asked about, -1 for no limit.
    keep : {"all", "support"}, default="all"
        Whether to train on all rows asked about so far, or on the support vectors and the new row. The latter
        forgets: on noisy data its accuracy fluctuates and may end much lower.
    random_state : int, RandomState instance or None, default=None
        Determines which rows are drawn first.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    estimator_ : classifier
        The last SVM.
    support_ : ndarray of shape (n_SV,)
        Row numbers of its support vectors, ascending.
    used_ : ndarray of shape (n_used_,)
        Row numbers of the rows that were ever part of a training set.
    examined_ : ndarray of shape (n_examined_,)
        Row numbers of the rows whose label was read: those, and any that were drawn for a first chunk which
        then lacked a class.
    n_used_ : int
        Number of rows used.
    n_examined_ : int
        Number of labels read.
    n_iter_ : int
        Number of SVMs trained.
    stop_reason_ : str
        Why the fit ended.
    history_ : list of dict
        One for each SVM: "step", "row" that was asked about and its "distance" |f(x)| (None for the first
        SVM), and "used", "examined" and "n_support" after it.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

    Examples
    --------
    >>> from everlearn.datasets import make_twonorm
    >>> from everlearn import QuerySVM
    >>> X, y = make_twonorm(2000, random_state=0)
    >>> clf = QuerySVM(max_iter=100, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.95
    True
    >>> clf.n_examined_
    145
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "keep": constraints.one_of("all", "support"),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        chunk_size: int | None = None,
        max_iter: int = 250,
        keep: str = "all",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.chunk_size = chunk_size
        self.max_iter = max_iter
        self.keep = keep
        self.random_state = random_state

    def _run(self, run: ChunkRun) -> str:
        run.record(row=None, distance=None)
        self.n_iter_ = 1
        while self.n_iter_ != self.max_iter + 1:
            used = np.flatnonzero(run.used)
            rest = run.others(used)
            if len(rest) == 0:
                return "no rows left"
            distances = np.abs(run.scores(rest)).min(axis=1)
            nearest = int(distances.argmin())
            if distances[nearest] >= 1:
                return "no row left inside the margin"
            run.solve(np.union1d(used if self.keep == "all" else run.support, rest[nearest]))
            run.record(row=int(rest[nearest]), distance=float(distances[nearest]))
            self.n_iter_ += 1
        return "step limit"
