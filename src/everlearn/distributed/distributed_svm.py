"""DistributedSVM: the exact SVM of rows that are on several machines."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from tqdm.auto import tqdm

from .._base import constraints
from .._base.parts import Plan
from .._base.parts_fit import PartsFit
from ..svm import LASVM
from ._by_class import solve_classes
from ._client import check_asynchronous, client_of
from ._exchange import Cluster
from ._partitions import partition
from ._predictions import predictions, scores
from .early_svm import EarlySVM


@dataclass(frozen=True)
class ExchangeRound:
    """One exchange of a `DistributedSVM` with its partitions.

    Attributes
    ----------
    violators : int
        Rows that violated their optimality condition and were sent to the solver.
    bytes_sent : int
        Bytes sent to workers so far: each message times the number of workers.
    bytes_received : int
        Bytes received from workers so far.
    n_kernel_evaluations : int
        Kernel values computed so far, by the solver and by all workers.
    """

    violators: int
    bytes_sent: int
    bytes_received: int
    n_kernel_evaluations: int


class DistributedSVM:
    """The exact support vector machine of rows on the workers of a Dask cluster.

    A coarse local `LASVM` on an eighth of each partition, but at least 1,000 rows, finds candidates for
    support vectors. The solver, in the process of the client, learns these, and then the other rows in
    chunks that double: of each chunk, partitions send only rows that violate their optimality conditions. At
    the end, every partition checks all its rows against the solution and sends back violators, until none
    violates by more than ``tol``. The result is an ordinary `LASVM`: to ``tol``, the dual and the decisions
    of one that is fitted to all rows on one machine, whatever the partitions are. Only candidates and
    violators travel, and the model.

    For the same partitions and ``random_state`` the result is the same bit for bit, also if workers are lost,
    added or slow. Several classes are learned one-vs-rest.

    Memory: a worker needs its partitions, the solver the support vectors and its cache. Until the fit is
    over, the scheduler holds the models that were sent and, if X is an array or a frame in memory, the rows:
    for large ones pass a Dask collection or files.

    Parameters
    ----------
    learner : LASVM, default=None
        The learner, with its parameters; None is ``LASVM()``. The kernel must be a built-in one. ``n_jobs``
        is the number of threads of one task. ``epochs``, ``selection`` and others that say how a single
        machine passes over rows are not used.
    client : distributed.Client, default=None
        The client of the cluster; None takes the present one.
    n_partitions : int, default=None
        Number of partitions of rows in memory; None is one for each worker. Dask collections and files keep
        theirs. With "kernel_kmeans", the number of clusters; None is as many as there were partitions.
    partition : {"given", "kernel_kmeans"}, default="given"
        "kernel_kmeans" first moves rows between workers, so that each partition is a cluster of kernel
        k-means (divide and conquer): the local models then have more of the support vectors of the whole,
        and `fit_early` can answer with them. The result of `fit` is the same.
    by_class : bool, default=False
        Whether the problem of each class against the rest is solved on a worker, with tasks of its own, and
        not all of them in the process of the client. Worth it if the solver is the bottleneck: classes then
        do not share kernel values. The model has no ``reserve``. With two classes it makes no difference.
    verbose : bool, default=False
        Whether to show progress.

    Attributes
    ----------
    model_ : LASVM
        The fitted learner. Save it, export it, or continue with `partial_fit` on one machine.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_partitions_ : int
        Number of partitions.
    n_candidates_ : int
        Rows that the local models sent.
    rounds_ : list of ExchangeRound
        The exchanges with the partitions; with ``by_class`` those of one class after the other, with the
        bytes and kernel values of all.
    bytes_sent_, bytes_received_ : int
        Bytes of the arrays that were sent to workers, in all, and received from them.
    n_kernel_evaluations_ : int
        Kernel values computed by the solver and by all workers.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from everlearn import LASVM
    >>> from everlearn.datasets import make_banana
    >>> from everlearn.distributed import DistributedSVM
    >>> X, y = make_banana(2000, random_state=0)
    >>> client = Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    >>> svm = DistributedSVM(LASVM(C=10, random_state=0))
    >>> svm = svm.fit(da.from_array(X, chunks=(500, 2)), da.from_array(y, chunks=500))
    >>> central = LASVM(C=10).fit(X, y)
    >>> bool(abs(svm.decision_function(X) - central.decision_function(X)).max() < 0.01)
    True
    >>> client.close()
    """

    model_: LASVM

    def __init__(
        self,
        learner: LASVM | None = None,
        *,
        client: Any = None,
        n_partitions: int | None = None,
        partition: str = "given",
        by_class: bool = False,
        verbose: bool = False,
    ) -> None:
        self.learner = learner
        self.client = client
        self.n_partitions = n_partitions
        self.partition = partition
        self.by_class = by_class
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "DistributedSVM":
        """Solve the SVM of all rows.

        Parameters
        ----------
        X : Dask array or frame, ndarray, sparse matrix, pandas frame, or paths
            The rows. Paths are Parquet files, each of which is a partition: a list, a folder or a pattern.
            Workers read them, so that they must be reachable from there.
        y : Dask array or series, array-like, or str
            The labels; the name of a column if X is a frame or files.
        sample_weight : like y, default=None
            Multiplies C for each row.

        Returns
        -------
        DistributedSVM
            The object itself.
        """
        cluster, random = self._begin(X, y, sample_weight)
        try:
            with tqdm(desc="checking", unit="round", disable=not self.verbose) as bar:
                plan = self._prepare(cluster, random)
                seeds = _seeds(cluster, random)
                if self.by_class and len(plan.classes) > 2:
                    model = self._solve_classes(cluster, seeds, bar)
                else:
                    model = self._solve(cluster, seeds, bar)
                self.n_partitions_ = len(cluster)
        finally:
            cluster.close()
        self.model_ = model
        self.classes_ = model.classes_
        return self

    def _solve(self, cluster: Cluster, seeds: list[int], bar: Any) -> LASVM:
        """Solve here, with checks by the partitions."""
        rounds: list[ExchangeRound] = []

        def note(violators: int) -> None:
            values = local + fit.n_kernel_evaluations
            rounds.append(ExchangeRound(violators, cluster.bytes_sent, cluster.bytes_received, values))
            bar.update()
            bar.set_postfix(violators=violators)

        found, local = cluster.candidates(seeds)
        local += cluster.distances
        fit = PartsFit(cluster.plan, cluster)
        model: LASVM = fit.run(found, note)
        self.rounds_ = rounds
        self.n_candidates_ = sum(len(rows.labels) for rows in found)
        self.bytes_sent_, self.bytes_received_ = cluster.bytes_sent, cluster.bytes_received
        self.n_kernel_evaluations_ = local + fit.n_kernel_evaluations
        return model

    def _solve_classes(self, cluster: Cluster, seeds: list[int], bar: Any) -> LASVM:
        """Solve each class on a worker."""
        model: LASVM
        model, solutions = solve_classes(cluster, seeds, lambda _: bar.update())
        sent = cluster.bytes_sent + sum(solution.sent for solution in solutions)
        received = cluster.bytes_received + sum(solution.received for solution in solutions)
        violators = [count for solution in solutions for count in solution.violators]
        values = cluster.distances + sum(solution.evaluations for solution in solutions)
        self.rounds_ = [ExchangeRound(count, sent, received, values) for count in violators]
        self.n_candidates_ = sum(solution.candidates for solution in solutions)
        self.bytes_sent_, self.bytes_received_ = sent, received
        self.n_kernel_evaluations_ = values
        return model

    def fit_early(self, X: Any, y: Any, sample_weight: Any = None) -> EarlySVM:
        """Answer early, by the SVMs of the clusters alone; needs ``partition="kernel_kmeans"``.

        Each row is then scored by the model of the cluster that it is nearest to. This is an approximation,
        for a part of the time of `fit`; nothing of this object changes.

        Parameters
        ----------
        X : Dask array or frame, ndarray, sparse matrix, pandas frame, or paths
            The rows, as in `fit`.
        y : Dask array or series, array-like, or str
            The labels, as in `fit`.
        sample_weight : like y, default=None
            Multiplies C for each row.

        Returns
        -------
        EarlySVM
            The local models.
        """
        if self.partition != "kernel_kmeans":
            raise ValueError('An early answer needs clusters: set partition="kernel_kmeans".')
        cluster, random = self._begin(X, y, sample_weight)
        try:
            plan = self._prepare(cluster, random)
            models = cluster.early(_seeds(cluster, random))
        finally:
            cluster.close()
        return EarlySVM(plan.classes, cluster.clusters, models)

    def _begin(self, X: Any, y: Any, sample_weight: Any) -> tuple[Cluster, np.random.RandomState]:
        learner = self._checked_learner()
        if y is None:
            raise TypeError("fit needs labels: y is None.")
        client = client_of(self.client)
        check_asynchronous(client)
        sources = partition(client, X, y, sample_weight, self.n_partitions)
        return Cluster(client, sources), check_random_state(learner.random_state)

    def _prepare(self, cluster: Cluster, random: np.random.RandomState) -> Plan:
        learner = self._checked_learner()
        if self.partition == "given":
            return cluster.prepare(learner)
        count = self.n_partitions or len(cluster)
        return cluster.prepare(learner, count, int(random.randint(0, 2**31 - 1 - len(cluster))))

    def _checked_learner(self) -> LASVM:
        learner = LASVM() if self.learner is None else self.learner
        if not isinstance(learner, LASVM):
            raise TypeError(f"learner must be a LASVM, got {type(learner).__name__}.")
        if self.n_partitions is not None and not (
            isinstance(self.n_partitions, int | np.integer) and self.n_partitions >= 1
        ):
            raise ValueError(f"n_partitions must be an integer of at least 1, got {self.n_partitions!r}.")
        if self.partition not in ("given", "kernel_kmeans"):
            raise ValueError(f"partition={self.partition!r} must be one of ['given', 'kernel_kmeans'].")
        constraints.check(learner)
        return learner

    def decision_function(self, X: Any) -> Any:
        """Score rows; those of a Dask collection lazily, on the workers.

        Parameters
        ----------
        X : Dask array or frame, array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        Dask array or ndarray of shape (n_samples,) or (n_samples, n_classes)
            The decision values.
        """
        return scores(self._fitted(), X)

    def predict(self, X: Any) -> Any:
        """Predict the class of rows; those of a Dask collection lazily, on the workers.

        Parameters
        ----------
        X : Dask array or frame, array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        Dask array or ndarray of shape (n_samples,)
            The predicted labels.
        """
        return predictions(self._fitted(), X)

    def _fitted(self) -> LASVM:
        if "model_" not in vars(self):
            raise NotFittedError("This DistributedSVM is not fitted yet: call fit first.")
        return self.model_

    def __repr__(self) -> str:
        return f"DistributedSVM({self.learner!r})"


def _seeds(cluster: Cluster, random: np.random.RandomState) -> list[int]:
    """A seed for each partition."""
    return list(random.randint(0, 2**31 - 1, size=len(cluster)).tolist())
