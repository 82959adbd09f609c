"""VIRTUAL: active LASVM that makes rows of the rare class where they can matter.

S. Ertekin, "Learning in Extreme Conditions" (thesis, 2009), chapter 5; S. Ertekin, "Adaptive Oversampling for
Imbalanced Data Classification", ISCIS 2013.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import check_random_state
from sklearn.utils.extmath import row_norms
from tqdm.auto import tqdm

from .. import _params
from .._docs import complete
from .._learner import Ints, KernelLearner, LabelledRows
from .._persist import register
from .._validate import Rows, as_block

_SEEDS_PER_CLASS = 5


@register
@complete
class VIRTUAL(KernelLearner):
    """Support vector machine for a rare class: asks for the rows that matter, and makes new ones beside them.

    Of some rows drawn from the pool, the one nearest to the boundary is learnt, as with
    ``LASVM(selection="active")``. When a row of the rare class becomes a support vector, a new row between it
    and one of its nearest neighbours of that class, in the space of the kernel, joins the pool. So rows are
    made where the boundary is, and learnt only if they turn out to matter. Two classes only.

    Parameters
    ----------
    positive : label, default=None
        The rare class. None takes the one with fewer rows.
    n_neighbors : int, default=5
        How many of the nearest rows of the rare class may be the other end.
    n_virtual : int, default=1
        Rows made for each row of the rare class that becomes a support vector; 0 is active learning alone.
    pool_size : int, default=59
        Rows drawn for each choice: with 59, the best of them is among the best 5 % of all with a probability
        of 95 %.
    early_stopping : bool, default=True
        Whether to stop when the number of support vectors hardly changes any more.
    window : int, default=200
        Rows over which it must hardly change.
    rtol : float, default=0.02
        What hardly means: by at most this share.
    max_iter : int, default=-1
        Rows to learn at most, virtual ones included, -1 for all; the seeds, five of each class, are always
        learnt.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Row numbers of the support vectors; those from the number of rows in X on are virtual rows.
    positive_ : label
        The rare class.
    n_virtual_ : int
        Virtual rows made.
    n_virtual_support_ : int
        How many of them are support vectors.
    n_labels_ : int
        Rows of X that were learnt.
    stopped_ : str
        Why learning stopped.

    Notes
    -----
    To find neighbours, labels of rows that have not been learnt are read, as in the thesis: this is a way to
    learn from a labelled set, not one to save labels.

    Examples
    --------
    >>> from everlearn import VIRTUAL
    >>> from everlearn.datasets import make_waveform
    >>> from everlearn.metrics import g_means
    >>> X, y = make_waveform(2000, random_state=0)
    >>> one = y == y.min()  # a third of the rows
    >>> clf = VIRTUAL(gamma=0.05, random_state=0).fit(X, one)
    >>> bool(g_means(one, clf.predict(X)) > 0.85), clf.n_virtual_ > 0
    (True, True)
    """

    _solver = "lasvm"
    _has_bias = True
    _known = (*KernelLearner._known, "positive_", "n_virtual_", "n_labels_", "stopped_")
    _constraints: ClassVar[dict[str, _params.Constraint]] = KernelLearner._constraints | {
        "n_neighbors": _params.integer_from(1),
        "n_virtual": _params.integer_from(0),
        "pool_size": _params.integer_from(1),
        "early_stopping": _params.BOOLEAN,
        "window": _params.integer_from(1),
        "rtol": _params.NOT_NEGATIVE,
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
        positive: Any = None,
        n_neighbors: int = 5,
        n_virtual: int = 1,
        pool_size: int = 59,
        early_stopping: bool = True,
        window: int = 200,
        rtol: float = 0.02,
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
        self.positive = positive
        self.n_neighbors = n_neighbors
        self.n_virtual = n_virtual
        self.pool_size = pool_size
        self.early_stopping = early_stopping
        self.window = window
        self.rtol = rtol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "VIRTUAL":
        """Learn from scratch.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels, of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C for each row; a row of weight 0 is left out.

        Returns
        -------
        VIRTUAL
            The learner itself.
        """
        _params.check(self)
        with self._unchanged_on_error():
            if self.kernel == "precomputed":
                raise ValueError(
                    "kernel='precomputed' has no values for rows that are yet to be made: pass a callable."
                )
            rows, usable = self._take_all(X, y, sample_weight)
            if len(self.classes_) != 2:
                raise ValueError(
                    f"Only binary classification is supported. The type of the target is multiclass: y has "
                    f"{len(self.classes_)} classes. Learn each against the rest, for example with "
                    "OneVsRestClassifier."
                )
            counts = np.bincount(rows.labels[usable], minlength=2)
            known = self.positive is None or self.positive in self.classes_
            if not known:
                raise ValueError(f"positive={self.positive!r} is none of the classes {self.classes_!r}.")
            rare = int(
                np.argmin(counts) if self.positive is None else np.argmax(self.classes_ == self.positive)
            )
            self.positive_ = self.classes_[rare]
            self._configure()
            loop = _Loop(self, rows, usable, rare, np.random.default_rng(_seed(self.random_state)))
            self.stopped_ = loop.run()
            self._optimise(self._machine.native.finish, "finishing")
            self._warn_if_unsolved("Finishing", stacklevel=2)
            self.n_virtual_ = len(loop.made)
            self.n_labels_ = loop.learnt_real
            self._rows_seen += self.n_virtual_
            if self._foreign is not None:
                self._foreign.keep(self._machine.native.ids)
        return self

    @property
    def n_virtual_support_(self) -> int:
        """Virtual rows that are support vectors."""
        self._fitted()
        return int(np.sum(self.support_ >= self._rows_seen - self.n_virtual_))

    def _solver_parameters(self) -> dict[str, Any]:
        return {"tau": float(self.tol), "delta_max": -1.0, "keeps": False}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _seed(random_state: Any) -> int:
    return int(check_random_state(random_state).randint(2**31 - 1))


class _Loop:
    """One run over the pool. Rows of X have their row numbers, virtual rows those that follow.

    Invariants: a row is learnt at most once; every virtual row lies between a real support vector of the rare
    class and one of its nearest real neighbours of that class; virtual rows make no others.
    """

    def __init__(
        self, learner: VIRTUAL, rows: LabelledRows, usable: Ints, rare: int, random: np.random.Generator
    ) -> None:
        self.learner, self.rows, self.random = learner, rows, random
        self.rare = rare
        self.positives = usable[rows.labels[usable] == rare]
        self.made: list[Rows] = []
        self.costs: list[float] = []
        self.learnt = self.learnt_real = 0
        order = random.permutation(usable).astype(np.int64)
        first = [np.flatnonzero(rows.labels[order] == number)[:_SEEDS_PER_CLASS] for number in (0, 1)]
        places = np.sort(np.concatenate(first))
        self.seeds = order[places]
        self.pool: list[int] = np.delete(order, places).tolist()
        self.may_spawn = [int(row) for row in self.seeds if rows.labels[row] == rare]
        self.native = learner._machine.native

    def run(self) -> str:
        """Learn until the pool is empty or there is reason to stop, which is returned in words."""
        learner = self.learner
        learner._feed(self.native.seed, self.rows, self.seeds)
        self.learnt = self.learnt_real = len(self.seeds)
        last: deque[int] = deque(maxlen=learner.window + 1)
        with tqdm(total=len(self.pool), desc="learning", unit="row", disable=not learner.verbose) as bar:
            while self.pool:
                if 0 <= learner.max_iter <= self.learnt:
                    return f"max_iter={learner.max_iter}: {self.learnt} rows were learnt"
                self.learn(self.choose())
                self.spawn_seeds()
                bar.update()
                bar.total = len(self.pool) + bar.n
                last.append(int(np.count_nonzero(self.native.alpha)))
                spread = max(last) - min(last)
                if (
                    learner.early_stopping
                    and len(last) > learner.window
                    and spread <= learner.rtol * last[-1]
                ):
                    return (
                        f"the number of support vectors, {last[-1]}, changed by {spread} over the last "
                        f"{learner.window} rows"
                    )
        return "every row was learnt"

    def choose(self) -> int:
        """Take the row nearest to the boundary, among those drawn, out of the pool."""
        places = self.random.choice(
            len(self.pool), min(self.learner.pool_size, len(self.pool)), replace=False
        )
        numbers = [self.pool[place] for place in places]
        distance = np.abs(self.scores(self.features(np.array(numbers))))
        best = int(places[np.argmin(distance)])
        chosen, self.pool[best] = self.pool[best], self.pool[-1]
        self.pool.pop()
        return int(chosen)

    def features(self, numbers: Ints) -> Rows:
        """Rows of X and virtual rows by their numbers, in order."""
        total = len(self.rows.ids)
        virtual = numbers >= total
        if not virtual.any():
            return self.rows.X[numbers]
        stack = sparse.vstack if sparse.issparse(self.rows.X) else np.vstack
        parts = stack([self.rows.X[numbers[~virtual]], *(self.made[n - total] for n in numbers[virtual])])
        back = np.empty(len(numbers), dtype=np.intp)
        back[np.concatenate([np.flatnonzero(~virtual), np.flatnonzero(virtual)])] = np.arange(len(numbers))
        return sparse.csr_matrix(parts)[back] if sparse.issparse(parts) else parts[back]

    def scores(self, X: Rows) -> npt.NDArray[np.float64]:
        foreign = self.learner._foreign
        X = X if foreign is None else foreign.against(X, self.native.ids)
        return np.asarray(self.native.decide(as_block(X), 1)[:, 0])

    def learn(self, number: int) -> None:
        """PROCESS and REPROCESS; a real row of the rare class that is a support vector then makes others."""
        total = len(self.rows.ids)
        self.learnt += 1
        if number < total:
            self.learner._feed(self.native.learn, self.rows, np.array([number]))
            self.learnt_real += 1
            if self.rows.labels[number] == self.rare and number in self.support():
                self.make(number)
            return
        made = number - total
        one = LabelledRows(
            self.made[made],
            np.array([self.rare], dtype=np.int32),
            np.array([self.costs[made]]),
            np.array([number], dtype=np.int64),
        )
        self.learner._feed(self.native.learn, one, np.zeros(1, dtype=np.int64))

    def support(self) -> Ints:
        """Numbers of the support vectors."""
        return np.asarray(self.native.ids[self.native.alpha[0] != 0])

    def spawn_seeds(self) -> None:
        """Seeds are kept before they matter: they may become support vectors later."""
        if self.may_spawn:
            for row in np.intersect1d(self.may_spawn, self.support()):
                self.make(int(row))
                self.may_spawn.remove(int(row))

    def make(self, row: int) -> None:
        """Put virtual rows between a row and some of its neighbours into the pool."""
        others = self.positives[self.positives != row]
        if len(others) == 0 or self.learner.n_virtual == 0:
            return
        near = others[np.argsort(self.distances(row, others), kind="stable")[: self.learner.n_neighbors]]
        for _ in range(self.learner.n_virtual):
            other, share = int(self.random.choice(near)), self.random.random()
            X = self.rows.X
            self.pool.append(len(self.rows.ids) + len(self.made))
            self.made.append((share * X[[row]] + (1 - share) * X[[other]]).astype(X.dtype))
            self.costs.append(float(self.rows.costs[row]))

    def distances(self, row: int, others: Ints) -> npt.NDArray[np.float64]:
        """Squared distances in the space of the kernel, K(q, q) + K(m, m) - 2 K(q, m)."""
        X, learner = self.rows.X, self.learner
        spec = learner._machine.spec
        if learner._foreign is not None:
            own = np.array([float(np.asarray(learner.kernel(X[[m]], X[[m]]))[0, 0]) for m in others])  # type: ignore[operator]
            return np.asarray(own - 2 * np.asarray(learner.kernel(X[[row]], X[others]))[0])  # type: ignore[operator]
        options = {"gamma": spec["gamma"], "degree": spec["degree"], "coef0": spec["coef0"]}
        values = pairwise_kernels(X[[row]], X[others], metric=spec["kernel"], filter_params=True, **options)[
            0
        ]
        if spec["kernel"] == "rbf":
            return np.asarray(-values)
        squares = row_norms(X[others], squared=True)
        own = {
            "linear": squares,
            "poly": (spec["gamma"] * squares + spec["coef0"]) ** spec["degree"],
            "sigmoid": np.tanh(spec["gamma"] * squares + spec["coef0"]),
        }[spec["kernel"]]
        return np.asarray(own - 2 * values)
