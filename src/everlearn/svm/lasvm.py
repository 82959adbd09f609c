"""LASVM: an SVM that learns one row at a time.

A. Bordes, S. Ertekin, J. Weston, L. Bottou, "Fast Kernel Classifiers with Online and Active Learning",
JMLR 6 (2005); S. Ertekin, "Learning in Extreme Conditions" (thesis, 2009), chapter 3.
"""

from collections import deque
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from tqdm.auto import tqdm

from .._base import checked, constraints
from .._base.device import DEVICES
from .._base.device_learner import DeviceLearner
from .._base.docs import complete
from .._base.exact import FEW_ROWS, ExactLearner, RowScores
from .._base.forget import ForgettingLearner
from .._base.learner import ROWS_PER_CALL, KernelLearner, LabeledRows
from .._base.online import OnlineLearner, StreamLearner
from .._base.parameters import ClassWeight, KernelParameter, Table
from .._base.persist import register
from .._base.selection import MAX_DRAWN, pick, support_settled
from .._base.validate import Ints, as_block

_SEEDS_PER_CLASS = 5
_UNLABELED_RULES = ("active", "autoactive")  # choose rows without looking at their labels


@register
@complete
class LASVM(DeviceLearner, ExactLearner, OnlineLearner, StreamLearner, ForgettingLearner):
    """Support vector machine learned online, one row at a time.

    Each new row makes a step together with the most violating row kept so far, then the most violating pair
    of all makes a step, and rows that cannot matter any more are dropped. `fit` finds the exact SVM of all
    rows: to ``tol``, the decision function and the dual objective of scikit-learn's `SVC`. It learns the
    first 4,000 rows one by one, the others in chunks that double in size: of a chunk, only rows that violate
    their optimality conditions. In the end it checks all rows and learns those that are missing. A stream
    does not come back: after `partial_fit`, `finish` solves the SVM of the rows kept and of those in the
    ``reserve``. That is the exact SVM as long as the reserve holds every dropped row, and close to it
    afterwards. Multiclass is one-vs-rest on shared rows. Rows that arrive before a second class are kept and
    learned when it appears.

    Forgetting: `forget` leaves the SVM, to ``tol``, of the rows still kept and of those in the reserve,
    whether the model was finished before or not. It is the model that never saw the forgotten rows, unless
    rows that it needs were dropped from the reserve; `IDSVM` keeps all. A class without rows counts as not
    seen.

    Parameters
    ----------
    finishing : {"all", "kept"} or None, default="all"
        How `fit` ends. "all" solves the SVM of all rows learned. "kept" passes over the rows one by one and
        solves the SVM of the rows kept; with one epoch this is the algorithm of the paper. None ends with the
        last row. If ``epochs``, ``delta_max``, ``selection`` or ``max_iter`` is not the default, "all" begins
        with such a pass, too.
    reserve : int, default=1000
        Number of rows outside of the model that stay in memory: those nearest to the margin when `fit` ended,
        or when `partial_fit` dropped them. Each takes the memory of its features. `finish` and `forget` take
        those back that the model needs after all. 0 keeps none; a callable kernel and "precomputed" have no
        reserve.
    delta_max : float, default=None
        Repeat the second step of each row until the largest violation is at most this. None makes one step.
    selection : {"random", "gradient", "active", "autoactive"}, default="random"
        How `fit` chooses the next row among those drawn from the rows not seen yet: the drawn row itself, the
        worst classified one, the one nearest to the boundary, or that among as many as it takes to draw five
        within the margin. The seeds apart, only "gradient" looks at labels of rows it does not take.
    pool_size : int, default=50
        Number of rows drawn for each selection by "gradient" and "active".
    max_iter : int, default=-1
        Number of rows that `fit` learns, -1 for all; the initial rows, five of each class, are always
        learned. With "active" it is the number of labels used, not counting those read to find initial rows
        of a rare class.
    early_stopping : bool, default=False
        Whether `fit` stops once the number of support vectors has settled, which needs ``selection="active"``
        or ``"autoactive"``. These take the rows near the boundary first; when their supply is used up,
        further rows hardly add support vectors. ``n_iter_`` is then the number of labels used.
    n_iter_no_change : int, default=200
        Rows over which the number of support vectors must have settled.
    rtol : float, default=0.02
        Settled means that the largest and the smallest number of support vectors over these rows differ by at
        most this fraction of the last one. 0 allows no change at all, which noisy data rarely reach.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where `fit` solves the SVM. "cuda" solves it on a GPU, without a pass over the rows one by one; the
        model then continues on the CPU: `partial_fit`, `forget` and `finish` work as ever. It needs a build
        with CUDA, ``finishing="all"`` and ``selection="random"``. "auto" takes the CPU, with a warning that
        says why, where "cuda" raises a `DeviceError`. With either, large batches are also predicted on the
        GPU, if there is one.

    Attributes
    ----------
    n_rounds_ : int
        Rounds in which the last `fit` learned rows that it had left out; 0 unless ``finishing="all"``.

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

    Active selection with early stopping reads few of the labels:

    >>> X, y = make_banana(5000, random_state=0)
    >>> clf = LASVM(C=10, selection="active", early_stopping=True, random_state=0).fit(X, y)
    >>> clf.n_iter_ < 1500, clf.score(X, y) > 0.95
    (True, True)
    """

    _solver = "lasvm"
    _has_bias = True
    _fitted_attributes = (*KernelLearner._fitted_attributes, "_keeps_rows", "n_rounds_")
    _keeps_rows = False
    _constraints: ClassVar[Table] = ExactLearner.EXACT | {
        "delta_max": constraints.NONE | constraints.NOT_NEGATIVE,
        "selection": constraints.one_of("random", "gradient", "active", "autoactive"),
        "pool_size": constraints.integer_from(1),
        "max_iter": constraints.integer_from(-1),
        "early_stopping": constraints.BOOLEAN,
        "n_iter_no_change": constraints.integer_from(1),
        "rtol": constraints.NOT_NEGATIVE,
        "device": constraints.one_of(*DEVICES),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: KernelParameter = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        class_weight: ClassWeight = None,
        epochs: int = 1,
        finishing: str | None = "all",
        reserve: int = 1000,
        delta_max: float | None = None,
        selection: str = "random",
        pool_size: int = 50,
        max_iter: int = -1,
        early_stopping: bool = False,
        n_iter_no_change: int = 200,
        rtol: float = 0.02,
        cache_size: float = 200,
        row_dtype: str | None = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self._store(locals())

    def _solver_parameters(self) -> dict[str, Any]:
        if self.early_stopping and self.selection not in _UNLABELED_RULES:
            raise ValueError(
                f"early_stopping=True needs selection='active' or 'autoactive', got {self.selection!r}: with "
                "others the number of support vectors settles late or never. Choose one of these, or "
                "limit the rows with max_iter."
            )
        return {
            "tau": float(self.tol),
            "delta_max": -1.0 if self.delta_max is None else float(self.delta_max),
            "keep_idle": self._keeps_rows,
            "reserve": self._reserve_size(),
        }

    def keep_all_rows(self) -> None:
        """Keep rows that are not support vectors, from now on.

        Where labels are expensive, a loop that asks for them calls this: such rows may become support vectors
        later, and `finish` is then the SVM of all rows learned.
        """
        self._keeps_rows = True

    def violations(self) -> npt.NDArray[np.float64]:
        """The largest violation of the optimality conditions in each binary problem.

        Returns
        -------
        ndarray of shape (1,) or (n_classes,)
            The violations; infinite while all rows are of one class.
        """
        return np.asarray(self._of_machine("delta"))

    def _resume(self, state: dict[str, Any], fitted: dict[str, Any]) -> None:
        checked.flag("_keeps_rows", fitted.get("_keeps_rows", False))
        super()._resume(state, fitted)

    def _after_forgetting(self) -> None:
        self._finish_stream("forgetting")
        self._warn_if_unsolved("Forgetting", stacklevel=3)

    # ------------------------------------------------------------------------------------------------ passes

    def _finish_fit(self, rows: LabeledRows, learned: Ints) -> None:
        if not self._solved_on_device:
            super()._finish_fit(rows, learned)

    def _learn_again(self, rows: LabeledRows, scores: RowScores | None, which: Ints) -> None:
        """Many rows join without a step of their own: optimizing follows, and makes better ones."""
        if len(which) < FEW_ROWS:
            super()._learn_again(rows, scores, which)
            return
        kept = np.isin(rows.ids[which], self._machine.native.ids)
        self._join(rows, which[~kept], scores)
        super()._learn_again(rows, scores, which[kept])

    def _solves_all_rows(self) -> bool:
        """Whether only the solution matters: no parameter asks for a pass over the rows one by one."""
        a_pass = (self.epochs, self.delta_max, self.selection, self.max_iter) != (1, None, "random", -1)
        return self.finishing == "all" and not a_pass and not self._keeps_rows

    def _pass_over(self, rows: LabeledRows, usable: Ints, random: Any) -> Ints:
        """Seeds of each class first, then the epochs; returns the numbers of the rows learned."""
        self._machine.seed(random)
        if self._solved_on_device and self._solve_on_device(rows, usable):
            return usable
        native = self._machine.native
        order = random.permutation(usable).astype(np.int64)
        of_class = [np.flatnonzero(rows.labels[order] == number) for number in range(len(self.classes_))]
        seeds = np.sort(np.concatenate([places[:_SEEDS_PER_CLASS] for places in of_class]))
        left = len(order) * self.epochs if self.max_iter < 0 else self.max_iter
        rows_per_call = 1 if self.early_stopping else ROWS_PER_CALL
        counts: deque[int] = deque(maxlen=int(self.n_iter_no_change) + 1)
        if self._solves_all_rows():
            self._learn_in_chunks(rows, order, seeds)
            return usable
        learned = np.zeros(len(rows.labels), dtype=bool)
        with tqdm(total=left, desc="learning", unit="row", disable=not self.verbose) as bar:
            self._feed(native.seed, rows, order[seeds])
            learned[order[seeds]] = True
            left -= len(seeds)
            bar.update(len(seeds))
            order = np.delete(order, seeds)
            for epoch in range(self.epochs):
                if epoch > 0:
                    order = random.permutation(usable).astype(np.int64)
                order = order[: max(left, 0)] if self.selection == "random" else order
                taken = min(max(left, 0), len(order))
                for start in range(0, taken, rows_per_call):
                    count = min(rows_per_call, taken - start)
                    if self.selection == "random":
                        self._feed(native.learn, rows, order[start : start + count])
                    else:
                        order = self._learn_selected(rows, order, count, random)
                    bar.update(count)
                    if self.early_stopping:
                        counts.append(len(self._machine.support()))
                        if support_settled(list(counts), int(self.n_iter_no_change), float(self.rtol)):
                            learned[np.setdiff1d(usable, order)] = True
                            return np.flatnonzero(learned)
                learned[order if self.selection == "random" else np.setdiff1d(usable, order)] = True
                left -= taken
        return np.flatnonzero(learned)

    def _learn_selected(self, rows: LabeledRows, remaining: Ints, count: int, random: Any) -> Ints:
        """Take ``count`` rows by ``selection``; returns those that remain, and may reorder its input."""
        native, foreign = self._machine.native, self._foreign
        if foreign is None:
            pool = int(self.pool_size)
            left = native.learn_selected(*rows.for_core(), remaining, self.selection, pool, count)
            return remaining[:left]
        pool = MAX_DRAWN if self.selection == "autoactive" else self.pool_size
        for _ in range(count):
            places = random.choice(len(remaining), size=min(pool, len(remaining)), replace=False)
            drawn = remaining[places]
            scores = native.decide(as_block(foreign.against(rows.X[drawn], native.ids)), 1)
            best = pick(self.selection, scores, rows.labels[drawn], native.delta)
            self._feed(native.learn, rows, drawn[best : best + 1])
            remaining = np.delete(remaining, places[best])
        return remaining
