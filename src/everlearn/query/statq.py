"""StatQSVM: an SVM learned from chunks that are drawn at random by their margins.

P. Mitra, C. A. Murthy, S. K. Pal, "A Probabilistic Active Support Vector Learning Algorithm", IEEE
Transactions on Pattern Analysis and Machine Intelligence 26 (2004).
"""

import math
from typing import Any, ClassVar

import numpy as np

from .._base import constraints
from .._base.persist import register
from ..metrics.support_sets import support_confidence
from ._chunk_learner import FRACTION, ChunkLearner, ChunkRun, Places

_LEAST_CHANCE = 0.2  # of a row inside the margin, when robust
_MOST_OUTSIDE = 0.995  # share of the rows examined in a step, when robust
_LEAST_WIDTH = 0.1  # of the smooth probability: at full confidence rows right at the boundary must still do


@register
class StatQSVM(ChunkLearner):
    """Support vector machine learned by statistical queries.

    Begins with an SVM on a random chunk. Each step visits the other rows in random order, reads their labels,
    and takes a row with probability c if its margin y f(x) is at most 1, otherwise with probability 1 - c,
    until a chunk is full. Then it trains on the support vectors and the chunk. The confidence c measures how
    evenly the classes are mixed around the support vectors, among a random fraction of the rows, whose labels
    are all read. The more evenly, the more rows are taken from inside the margin.

    As published (``robust=False``) the algorithm has two provable flaws. Rows with a margin above 1 change
    nothing and only cost labels. And if c is 0, which is common at the start, only such rows are taken, and
    nothing changes any more. The robust variant fixes the second flaw. On the data of the paper both variants
    read more labels than `QuerySVM` and were not more accurate; they are here for comparison. If labels cost
    anything, use `QuerySVM` or ``LASVM(selection="active")``. ``StatQSVM(sampling="smooth", keep="all",
    confidence_fraction=None)`` reads few labels, too, and trains once for each chunk instead of once for each
    row.

    More than two classes are learned one-vs-rest if the estimator does so, as everlearn's do: the margin of a
    row is then its smallest margin in all of these binary problems.

    Parameters
    ----------
    estimator : classifier, default=None
        The SVM that is trained on each chunk. It must have `support_` and `decision_function`, like the SVMs
        of everlearn and scikit-learn. None is a linear `LASVM` with C = 1 and enough epochs to be exact. Set
        class costs as its `class_weight`. If its `random_state` is None, it is seeded from this one's.
    chunk_size : int, default=None
        Number of rows added in a step. None is the square root of the number of rows, at least 10.
    max_iter : int, default=50
        Maximum number of steps after the first SVM, -1 for no limit. The other stopping criteria may never be
        met.
    threshold : float, default=0.9
        The fit stops when the value of `criterion` is above this; not used by the robust variant.
    criterion : {"confidence*outside", "outside"}, default="confidence*outside"
        Two readings of the published stopping criterion: the fraction of the chunk with a margin above 1,
        times the confidence or alone. Not used by the robust variant.
    robust : bool, default=True
        Whether to compute the confidence from an even number of neighbors, the nearest to the square root of
        their number; to take rows inside the margin with a probability of at least 0.2; and to stop as soon
        as more than 99.5 % of the rows examined in a step have a margin above 1.
    sampling : {"step", "smooth"}, default="step"
        How the probability of taking a row depends on its margin. "step" is as published. "smooth" is
        exp(-|f(x)| / w), which needs no label, so that only labels of rows that are taken are read. The width
        w = max(1 - c, 0.1) decreases as the confidence rises. The robust variant then stops as soon as more
        than 99.5 % of the rows visited in a step have an |f(x)| above 1.
    keep : {"support", "all"}, default="support"
        Whether to train on the support vectors and the chunk, or on all rows taken so far.
    confidence_fraction : float, default=0.1
        Fraction of the rows among which the confidence is measured; their labels are read as well. None uses
        the rows examined so far, whose labels are known anyway.
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
    confidence_ : float
        The confidence c at these support vectors, between 0 and 1.
    used_ : ndarray of shape (n_used_,)
        Row numbers of the rows that were ever part of a training set.
    examined_ : ndarray of shape (n_examined_,)
        Row numbers of the rows whose label was read to train or to compute a margin.
    confidence_rows_ : ndarray of shape (n_test,)
        Row numbers of the rows among which the confidence is measured.
    n_used_ : int
        Number of rows used: what the paper counts as queried.
    n_examined_ : int
        Number of rows examined.
    n_labels_ : int
        Distinct labels read in all: those of rows examined and those of `confidence_rows_`.
    n_iter_ : int
        Number of SVMs trained.
    stop_reason_ : str
        Why the fit ended.
    history_ : list of dict
        One for the first SVM and one for each step: "step"; "confidence" of the SVM before the step (None for
        the first); "queried", the rows in the chunk; "n_outside_margin", those of them with a margin above 1;
        "walked", the rows visited; "used", "examined" and "n_support" after the step.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

    Examples
    --------
    >>> from everlearn.datasets import make_twonorm
    >>> from everlearn import StatQSVM
    >>> X, y = make_twonorm(2000, random_state=0)
    >>> clf = StatQSVM(max_iter=10, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.93
    True
    >>> clf.n_used_ < clf.n_examined_ < clf.n_labels_ < 2000
    True
    >>> clf.stop_reason_
    'step limit'
    """

    _fitted_attributes = (*ChunkLearner._fitted_attributes, "confidence_", "confidence_rows_")
    _constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "threshold": constraints.NOT_NEGATIVE,
        "criterion": constraints.one_of("confidence*outside", "outside"),
        "robust": constraints.BOOLEAN,
        "sampling": constraints.one_of("step", "smooth"),
        "keep": constraints.one_of("support", "all"),
        "confidence_fraction": constraints.NONE | FRACTION,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        chunk_size: int | None = None,
        max_iter: int = 50,
        threshold: float = 0.9,
        criterion: str = "confidence*outside",
        robust: bool = True,
        sampling: str = "step",
        keep: str = "support",
        confidence_fraction: float | None = 0.1,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.chunk_size = chunk_size
        self.max_iter = max_iter
        self.threshold = threshold
        self.criterion = criterion
        self.robust = robust
        self.sampling = sampling
        self.keep = keep
        self.confidence_fraction = confidence_fraction
        self.random_state = random_state

    @property
    def n_labels_(self) -> int:
        """Distinct labels read in all."""
        return len(np.union1d(self.examined_, self.confidence_rows_))

    def _begin(self, X: Any, y: Any) -> ChunkRun:
        run = super()._begin(X, y)
        if self.confidence_fraction is not None:
            rows = len(run.y)
            self.confidence_rows_ = np.sort(
                run.random.permutation(rows)[: max(1, round(self.confidence_fraction * rows))]
            )
        return run

    def _run(self, run: ChunkRun) -> str:
        run.record(confidence=None, queried=0, n_outside_margin=0, walked=0)
        self.n_iter_ = 1
        self.confidence_ = self._confidence(run)
        while self.n_iter_ != self.max_iter + 1:
            kept = run.support if self.keep == "support" else np.flatnonzero(run.used)
            sampling = SamplingPass(run, kept, self.confidence_, self.robust, self.sampling == "smooth")
            reason = self._reason_in_pass(sampling)
            queried = outside = 0
            if reason is None or self.sampling == "step":  # "smooth" has read no label up to here
                queried, outside = len(sampling.taken), sampling.ask(run)
                reason = reason or self._reason_in_chunk(outside, queried)
            if reason is None:
                run.solve(np.union1d(kept, sampling.taken))
                self.n_iter_ += 1
            run.record(
                confidence=self.confidence_, queried=queried, n_outside_margin=outside, walked=sampling.walked
            )
            if reason is not None:
                return reason
            self.confidence_ = self._confidence(run)
        return "step limit"

    def _confidence(self, run: ChunkRun) -> float:
        if self.confidence_fraction is None:
            self.confidence_rows_ = np.flatnonzero(run.examined)
        k = even_root(len(self.confidence_rows_)) if self.robust else None
        near, labels = run.X[self.confidence_rows_], run.labels[self.confidence_rows_]
        return support_confidence(run.X[run.support], near, labels, k)

    def _reason_in_pass(self, sampling: "SamplingPass") -> str | None:
        if len(sampling.taken) == 0:
            return "nothing left to query"
        done = self.robust and sampling.walked_outside / sampling.walked > _MOST_OUTSIDE
        return "nearly all rows lie outside the margin" if done else None

    def _reason_in_chunk(self, outside: int, queried: int) -> str | None:
        share = outside / queried * (self.confidence_ if self.criterion == "confidence*outside" else 1)
        return "threshold exceeded" if not self.robust and share > self.threshold else None


class SamplingPass:
    """One pass over the rows that are not kept, in random order, until a chunk is full.

    Attributes
    ----------
    taken : ndarray
        The rows taken, in the order of the sampling.
    walked, walked_outside : int
        How many rows were examined, and those of them with a margin above 1; "smooth" reads no labels on
        its way, and |f| stands for the margin.
    """

    def __init__(self, run: ChunkRun, kept: Places, confidence: float, robust: bool, smooth: bool) -> None:
        chance = max(confidence, _LEAST_CHANCE) if robust else confidence
        width = max(1 - confidence, _LEAST_WIDTH)
        order = run.random.permutation(run.others(kept))
        numbers = run.random.random_sample(len(order))
        taken, values = [np.zeros(0, dtype=np.intp)], []
        self.walked = self.walked_outside = 0
        missing, step = run.chunk, 4 * run.chunk
        while missing > 0 and self.walked < len(order):
            rows = order[self.walked : self.walked + step]
            scores = run.scores(rows)
            if smooth:
                reach = np.abs(scores).min(axis=1)
                chances = np.exp(-reach / width)
            else:
                reach = run.margins(rows, scores)
                chances = np.where(reach <= 1, chance, 1 - chance)
            hits = np.flatnonzero(numbers[self.walked : self.walked + len(rows)] < chances)[:missing]
            missing -= len(hits)
            came = len(rows) if missing else int(hits[-1]) + 1
            run.examined[rows[:0] if smooth else rows[:came]] = True
            taken.append(rows[hits])
            values.append(scores[hits])
            self.walked_outside += int((reach[:came] > 1).sum())
            self.walked += came
            step *= 2
        self.taken: Places = np.concatenate(taken)
        self._values = values

    def ask(self, run: ChunkRun) -> int:
        """Read the labels of the rows taken; returns how many of them have a margin above 1."""
        run.examined[self.taken] = True
        if len(self.taken) == 0:
            return 0
        return int((run.margins(self.taken, np.concatenate(self._values)) > 1).sum())


def even_root(rows: int) -> int:
    """The even number nearest to a square root, of two the lower; within 1 and the number itself."""
    even = 2 * math.ceil(math.sqrt(rows) / 2 - 0.5)
    return min(max(even, 2), rows)
