"""VIRTUAL: active LASVM with virtual rows of the minority class near the boundary.

S. Ertekin, "Learning in Extreme Conditions" (thesis, 2009), chapter 5; S. Ertekin, "Adaptive Oversampling for
Imbalanced Data Classification", ISCIS 2013.
"""

from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._base import checked, constraints
from .._base.docs import complete
from .._base.learner import KernelLearner, LabeledRows
from .._base.machine import Machine
from .._base.parameters import ClassWeight, KernelParameter, Table
from .._base.persist import register
from .._base.validate import Ints
from ._loop import VirtualLoop


@register
@complete
class VIRTUAL(KernelLearner):
    """SVM for imbalanced classes: active selection, and virtual rows of the minority class near the boundary.

    Of some rows drawn from the pool, the one nearest to the boundary is learned, as with
    ``LASVM(selection="active")``. When a row of the minority class becomes a support vector, a virtual row
    between it and one of its nearest neighbors of that class, in feature space, is added to the pool. So
    virtual rows are created near the boundary, and learned only if they are selected.

    More than two classes are learned one-vs-rest, each with its own selection and virtual rows. Virtual rows
    are created for the classes that have fewer rows than all others together.

    Parameters
    ----------
    minority_class : label, default=None
        The minority class. None takes the class with fewer rows; with more than two classes, every class with
        fewer rows than all others together.
    n_neighbors : int, default=5
        Number of nearest neighbors of the minority class, in feature space, from which the other end of a
        virtual row is drawn.
    n_virtual : int, default=1
        Number of virtual rows for each row of the minority class that becomes a support vector; 0 is plain
        active learning.
    pool_size : int, default=59
        Number of rows drawn for each selection. With 59, the best of them is among the best 5 % of all rows
        with a probability of 95 %.
    early_stopping : bool, default=True
        Whether to stop once the number of support vectors has settled.
    n_iter_no_change : int, default=200
        Number of rows over which it must have settled.
    rtol : float, default=0.02
        Settled means that it changes by at most this fraction.
    max_iter : int, default=-1
        Maximum number of rows to learn for each binary problem, including virtual ones, -1 for all; the
        initial rows, five of each class, are always learned.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Row numbers of the support vectors; those from the number of rows in X on are virtual rows.
    minority_class_ : label or ndarray of labels
        The minority class; with more than two classes, those for which virtual rows were made.
    n_virtual_ : int
        Number of virtual rows created.
    n_virtual_support_ : int
        Number of virtual rows that are support vectors.
    n_labels_ : int
        Number of rows of X that were learned.
    stop_reason_ : str or list of str
        Why learning stopped; with more than two classes, for each of them.

    Notes
    -----
    To find neighbors, it uses the labels of rows that have not been learned, as in the thesis: it needs fully
    labeled data and does not save labels.

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

    forgetting: ClassVar[str] = "replay"  # virtual rows combine two rows
    _solver = "lasvm"
    _has_bias = True
    _fitted_attributes = (
        *KernelLearner._fitted_attributes,
        "minority_class_",
        "n_virtual_",
        "n_labels_",
        "stop_reason_",
    )
    _constraints: ClassVar[Table] = {
        "n_neighbors": constraints.integer_from(1),
        "n_virtual": constraints.integer_from(0),
        "pool_size": constraints.integer_from(1),
        "early_stopping": constraints.BOOLEAN,
        "n_iter_no_change": constraints.integer_from(1),
        "rtol": constraints.NOT_NEGATIVE,
        "max_iter": constraints.integer_from(-1),
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
        minority_class: Any = None,
        n_neighbors: int = 5,
        n_virtual: int = 1,
        pool_size: int = 59,
        early_stopping: bool = True,
        n_iter_no_change: int = 200,
        rtol: float = 0.02,
        max_iter: int = -1,
        cache_size: float = 200,
        row_dtype: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self._store(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "VIRTUAL":
        """Learn from scratch.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C for each row; a row of weight 0 is skipped.

        Returns
        -------
        VIRTUAL
            The learner itself.
        """
        constraints.check(self)
        with self._unchanged_on_error():
            if self.kernel == "precomputed":
                raise ValueError(
                    "kernel='precomputed' has no values for virtual rows: use a callable kernel."
                )
            rows, usable = self._take_all(X, y, sample_weight)
            if self.minority_class is not None and self.minority_class not in self.classes_:
                raise ValueError(
                    f"minority_class={self.minority_class!r} is not a label in y: {self.classes_!r}."
                )
            counts = np.bincount(rows.labels[usable], minlength=len(self.classes_))
            if not counts.all():
                raise ValueError(
                    f"No row of the class {self.classes_[np.argmin(counts)].item()!r} has a weight above 0: "
                    "remove the class from y, or give its rows a weight."
                )
            if self.minority_class is not None:
                rare = np.flatnonzero(self.classes_ == self.minority_class)
            elif len(counts) == 2:
                rare = np.array([np.argmin(counts)])
            else:
                rare = np.flatnonzero(2 * counts < counts.sum())
            if len(counts) == 2:
                self._learn_two(rows, usable, int(rare[0]))
                self.minority_class_ = self.classes_[rare[0]]
            else:
                self._learn_each(rows, rare)
                self.minority_class_ = self.classes_[rare]
            self._rows_seen += self.n_virtual_
        return self

    def _learn_two(self, rows: LabeledRows, usable: Ints, rare: int) -> Ints:
        """Learn two classes; returns the row numbers of the rows of X that were learned."""
        self._configure()
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        loop = VirtualLoop(self, self._machine, self._feed, rows, usable, rare, np.random.default_rng(seed))
        self.stop_reason_: str | list[str] = loop.run()
        self._optimize(self._machine.native.finish, "finishing")
        self._warn_if_unsolved("Finishing", stacklevel=3)
        self.n_virtual_ = len(loop.made)
        self.n_labels_ = loop.learned_real
        self._follow_machine()
        return loop.learned_rows()

    def _learn_each(self, rows: LabeledRows, rare: Any) -> None:
        """Learn one-vs-rest, and combine the binary machines.

        A virtual row belongs only to the problem of its class; numbers continue from class to class.
        """
        total = len(rows.ids)
        learned: list[Ints] = []
        parts: list[VIRTUAL] = []
        for number in range(len(self.classes_)):
            part = clone(self).set_params(C=1.0, class_weight=None)  # already included in the costs
            part.set_params(n_virtual=self.n_virtual if number in rare else 0)
            part.random_state = self.random_state  # clone would copy a generator
            part_rows, usable = part._take_all(rows.X, rows.labels == number, rows.costs)
            learned.append(part._learn_two(part_rows, usable, 1))
            parts.append(part)
        before = np.cumsum([0, *(part.n_virtual_ for part in parts)])
        machines = [part._machine for part in parts]
        ids: list[Ints] = []
        labels: list[npt.NDArray[np.int32]] = []
        for number, machine in enumerate(machines):
            own = np.asarray(machine.native.ids)
            virtual = own >= total
            ids.append(np.where(virtual, own + before[number], own))
            labels.append(np.where(virtual, number, rows.labels[np.minimum(own, total - 1)]).astype(np.int32))
        kernel = None
        if self._foreign is not None:
            kept = [part._foreign.rows for part in parts if part._foreign is not None]  # in order of slots
            names, where = np.unique(np.concatenate(ids), return_index=True)
            stack = partial(sparse.vstack, format="csr") if sparse.issparse(rows.X) else np.vstack
            features = stack(kept)[where]
            self._foreign.add(features, names)
            kernel = self._foreign.against(features, names)
        self._machine = Machine.one_vs_rest(machines, ids, labels, kernel)
        self.stop_reason_ = [str(part.stop_reason_) for part in parts]
        self.n_virtual_ = int(before[-1])
        self.n_labels_ = len(np.unique(np.concatenate(learned)))

    @property
    def n_virtual_support_(self) -> int:
        """Number of virtual rows that are support vectors."""
        self._fitted()
        return int(np.sum(self.support_ >= self._rows_seen - self.n_virtual_))

    def _resume(self, state: dict[str, Any], fitted: dict[str, Any]) -> None:
        super()._resume(state, fitted)
        most = self._rows_seen
        for name in ("n_virtual_", "n_labels_"):
            checked.integer(name, fitted[name], most=most)
        if not np.isin(fitted["minority_class_"], self.classes_).all():
            raise ValueError("minority_class_ must be among classes_")
        stopped = (
            fitted["stop_reason_"] if isinstance(fitted["stop_reason_"], list) else [fitted["stop_reason_"]]
        )
        if not all(isinstance(reason, str) for reason in stopped):
            raise ValueError("stop_reason_ must be a string for each binary problem")

    def _solver_parameters(self) -> dict[str, Any]:
        return {"tau": float(self.tol), "delta_max": -1.0, "keep_idle": False, "reserve": 0}
