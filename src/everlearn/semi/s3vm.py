"""SubmodS3VM and QPS3VM: labels for unlabeled rows by a cut of given size.

W. Emara, "A Submodular Optimization Framework for Never-Ending Learning" (thesis, 2012), chapter III.
"""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from .._base import constraints
from .._base.device import DEVICES
from .._base.parameters import Table
from .._base.persist import register
from .._submodular.choice import Ints, StoredSimilarities, largest
from ._cuts import best_cut, exact_cut
from ._docs import documented
from ._partition import Partition, assign, best_partition, exact_partition
from ._space import Space
from ._transduce import (
    TWO_SIDED_UP_TO,
    Transduction,
    choice_of_positives,
    finish_many,
    finish_two,
    partition_of_rows,
)
from ._transductive import TransductiveLearner

_MAX_ROWS, _MAX_EXACT = 5000, 20


@register
@documented
class SubmodS3VM(TransductiveLearner):
    """Semi-supervised SVM: labels unlabeled rows by a few labels and by the clusters of the rows.

    A given number of the unlabeled rows becomes positive: rows similar to positive labeled rows, such that as
    little similarity as possible is cut between positives and negatives. Rows are chosen greedily with lazy
    evaluation, without forming a kernel matrix. With a linear kernel, time and memory grow with the entries
    of X. A classifier for new rows is then trained on all labels.

    Parameters
    ----------
    solver : {"auto", "greedy", "two-sided", "fast"}, default="auto"
        "greedy" selects the positives one by one. "two-sided" also selects the negatives one by one, refines
        both results, and keeps the better; with more than two classes it is greedy, refined. "fast" refines
        the labeling by similarity to the labels alone. "auto" is "two-sided" up to 20,000 unlabeled rows and
        "fast" above.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where sums of similarities are computed: "cuda" is a GPU, for dense rows and the linear kernel. It
        pays for millions of rows; greedy selection stays on the CPU. "auto" is the CPU where there is none.

    Notes
    -----
    The class fractions matter most: pass ``positive_fraction`` if you know it. Unlabeled rows do not always
    help: compare `transduction_` with `supervised_transduction_`, the result of the SVM on the labels alone
    with the same fractions, and check `rho_`, which is 0 if clusters did not help. With ten labels or fewer,
    the choice of ``rho`` is unreliable.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from everlearn import SubmodS3VM
    >>> X, digit = load_digits(n_class=2, return_X_y=True)
    >>> y = np.where(np.arange(len(X)) < 4, digit, np.nan)  # four labels
    >>> clf = SubmodS3VM(random_state=0).fit(X, y)
    >>> bool(np.mean(clf.transduction_ == digit) > 0.98), bool(clf.score(X, digit) > 0.98)
    (True, True)
    >>> abs(clf.positive_fraction_ - 0.5) < 0.05, clf.fraction_reliable_
    (True, True)
    """

    _constraints: ClassVar[Table] = {
        "solver": constraints.one_of("auto", "greedy", "two-sided", "fast"),
        "device": constraints.one_of(*DEVICES),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        rho: float | str = "auto",
        label_scores: str = "svm",
        kernel: str = "auto",
        gamma: str | float = "median",
        degree: int = 3,
        coef0: float = 0.0,
        scaling: str = "auto",
        solver: str = "auto",
        positive_fraction: float | dict[Any, float] | None = None,
        balance_classes: bool | str = "auto",
        n_components: int | None = None,
        unlabeled: Any = None,
        estimator: Any = "auto",
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self._store(locals())

    def _transduce(
        self, space: Space, L: Ints, numbers: Ints, U: Ints, sizes: Ints, rho: float
    ) -> Transduction:
        solver = self.solver
        if solver == "auto":
            solver = "two-sided" if len(U) <= TWO_SIDED_UP_TO else "fast"
        return self._problem(space, L, numbers, U, sizes)(solver, rho)


@register
@documented
class QPS3VM(TransductiveLearner):
    """Semi-supervised learner for few rows: `SubmodS3VM` with a more thorough search.

    The labels of unlabeled rows maximize a convex quadratic function for a given number of positives, so the
    optimum is an integral labeling, and there are many local optima. From several starts, rows are relabeled
    by the slope of the objective, then exchanged in pairs while the objective rises; the best result is kept.
    It stores the kernel matrix of at most 5,000 unlabeled rows. With more than two classes, the objective is
    that of `SubmodS3VM`: rows are reassigned by the slopes of all classes, then exchanged in pairs.

    Parameters
    ----------
    n_init : int, default=5
        Number of random starts, in addition to equal fractions, the largest linear terms, and greedy.
    exact : bool, default=False
        Whether to find the global optimum by a mixed-integer program; for at most 20 unlabeled rows.

    Examples
    --------
    >>> import numpy as np
    >>> from everlearn import QPS3VM
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, target = load_breast_cancer(return_X_y=True)
    >>> name = np.where(target == 1, "benign", "malignant")
    >>> y = np.where(np.arange(569) % 60 == 0, name, "?")  # ten labels
    >>> clf = QPS3VM(unlabeled="?", positive_fraction={"benign": 0.63, "malignant": 0.37}).fit(X, y)
    >>> bool(np.mean(clf.transduction_ == name) > 0.9)
    True
    """

    _constraints: ClassVar[Table] = {
        "n_init": constraints.integer_from(0),
        "exact": constraints.BOOLEAN,
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        rho: float | str = "auto",
        label_scores: str = "svm",
        kernel: str = "auto",
        gamma: str | float = "median",
        degree: int = 3,
        coef0: float = 0.0,
        scaling: str = "auto",
        n_init: int = 5,
        exact: bool = False,
        positive_fraction: float | dict[Any, float] | None = None,
        balance_classes: bool | str = "auto",
        n_components: int | None = None,
        unlabeled: Any = None,
        estimator: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self._store(locals())

    def _refuse(self, unlabeled: int) -> None:
        most = _MAX_EXACT if self.exact else _MAX_ROWS
        if unlabeled > most:
            raise ValueError(
                f"QPS3VM with exact={self.exact} labels at most {most} rows, but {unlabeled} are unlabeled. "
                + ("Set exact=False, or use" if self.exact else "Use")
                + " SubmodS3VM, which has no such limit."
            )

    def _transduce(
        self, space: Space, L: Ints, numbers: Ints, U: Ints, sizes: Ints, rho: float
    ) -> Transduction:
        n, Q = len(U), len(sizes)
        K, s = StoredSimilarities(space.matrix(U)), self._label_scores(space, U, L, numbers, Q)
        Cs, highest = self._weight(rho, len(L), n, Q), K.highest
        random = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        if Q > 2:
            return self._share_rows(partition_of_rows(K, s, sizes, 1.0, Cs, highest), highest, random)
        choice, k = choice_of_positives(K, s, 1.0, Cs, highest), int(sizes[1])
        alone, evaluations = largest(s, k), 0
        if not 0 < k < n or rho == 0:
            found = alone
        elif self.exact:
            found = exact_cut(choice, k)
        else:
            found, evaluations = best_cut(choice, k, int(self.n_init), random)
        return finish_two(choice, found, alone, evaluations)

    def _share_rows(self, problem: Partition, highest: float, random: np.random.Generator) -> Transduction:
        """Label rows of more than two classes."""
        alone, evaluations = assign(problem.s, problem.sizes), 0
        if problem.q == 0:
            found = alone
        elif self.exact:
            found = exact_partition(problem)
        else:
            found, evaluations = best_partition(problem, int(self.n_init), random, highest)
        return finish_many(problem, found, alone, evaluations)
