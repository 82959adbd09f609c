"""DistributedS3VM: labels for the unlabeled rows of a table on several machines."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .._base.validate import Array, check_rows
from ..semi import SubmodS3VM
from ..semi.shards import Map, ShardLabeling, is_labeled
from ._client import check_asynchronous, client_of
from ._exchange import TaskNames
from ._partitions import partition, read_pair, stack_rows

Floats = npt.NDArray[np.float64]


class DistributedS3VM:
    """Label the unlabeled rows of a table on the workers of a Dask cluster.

    `SubmodS3VM` with ``solver="fast"``. With a linear kernel or with Nystroem features (``n_components``), a
    step of the search needs two sums over all rows, which the partitions add up: one vector of features for
    each class, and one number for each row and class. So labels and objective are those of one machine, for
    the same scaling and fractions. These are computed from all labeled rows and a sample of the others.

    The process of the client needs a few numbers for each row, and the labeled rows. For a classifier, fit
    `DistributedSVM` to ``transduction_``.

    Parameters
    ----------
    learner : SubmodS3VM, default=None
        The parameters; None is ``SubmodS3VM()``. ``estimator`` is not used.
    sample : int, default=5000
        Number of unlabeled rows from which scaling, features, fractions and ``rho`` are computed, unless
        they are given.
    client : distributed.Client, default=None
        The client of the cluster; None takes the present one.
    n_partitions : int, default=None
        Number of partitions of rows in memory; None is one for each worker.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    transduction_ : ndarray of shape (n_samples,)
        The labels of all rows, given and found.
    supervised_transduction_ : ndarray of shape (n_samples,)
        Those by the labeled rows alone.
    objective_ : float
        The objective of the labels found, comparable with ``SubmodS3VM.objective_``.
    rho_, positive_fraction_
        As in `SubmodS3VM`.
    bytes_sent_, bytes_received_ : int
        Bytes of the arrays that were sent to workers, and received from them.

    Examples
    --------
    >>> import numpy as np
    >>> from distributed import Client
    >>> from sklearn.datasets import load_digits
    >>> from everlearn.distributed import DistributedS3VM
    >>> X, digit = load_digits(n_class=2, return_X_y=True)
    >>> y = np.where(np.arange(len(X)) < 4, digit, np.nan)  # four labels
    >>> client = Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    >>> found = DistributedS3VM(n_partitions=3).fit(X, y)
    >>> bool(np.mean(found.transduction_ == digit) > 0.98)
    True
    >>> client.close()
    """

    def __init__(
        self,
        learner: SubmodS3VM | None = None,
        *,
        sample: int = 5000,
        client: Any = None,
        n_partitions: int | None = None,
    ) -> None:
        self.learner = learner
        self.sample = sample
        self.client = client
        self.n_partitions = n_partitions

    def fit(self, X: Any, y: Any) -> "DistributedS3VM":
        """Label the unlabeled rows.

        Parameters
        ----------
        X : Dask array or frame, ndarray, sparse matrix, pandas frame, or paths
            The rows, as in `DistributedSVM.fit`.
        y : like X, or str
            The labels, None, NaN or ``unlabeled`` where unknown; the name of a column if X is a frame or
            files.

        Returns
        -------
        DistributedS3VM
            The object itself.
        """
        learner = SubmodS3VM() if self.learner is None else self.learner
        if not (isinstance(self.sample, int | np.integer) and self.sample >= 1):
            raise ValueError(f"sample must be an integer of at least 1, got {self.sample!r}.")
        if y is None:
            raise TypeError("fit needs labels: y is None.")
        client = client_of(self.client)
        check_asynchronous(client)
        sources = partition(client, X, y, None, self.n_partitions)
        shards = _Shards(client, sources, getattr(learner, "unlabeled", None))
        rows, labels, known = shards.some(int(self.sample))
        labeling = ShardLabeling.of(learner, rows, labels)
        few = labeling.few
        highest = shards.compute(labeling.map)
        Z = labeling.map.features(rows[known])
        y_known = labels[known].astype(few.classes_.dtype)
        found = labeling.solve(shards, shards.n_unlabeled, highest, Z, y_known)
        self.classes_, self.rho_, self.positive_fraction_ = few.classes_, few.rho_, few.positive_fraction_
        self.objective_ = found.objective
        self.transduction_ = shards.filled(few.classes_[found.numbers], y_known)
        self.supervised_transduction_ = shards.filled(few.classes_[found.alone], y_known)
        self.bytes_sent_, self.bytes_received_ = shards.bytes_sent, shards.bytes_received
        return self


class _Shards:
    """The rows on the workers."""

    def __init__(self, client: Any, sources: list[Any], unlabeled: Any) -> None:
        self._client, self._names, count = client, TaskNames(), len(sources)
        columns = ([source.X for source in sources], [source.y for source in sources])
        self._parts = self._submit("rows", _read, *columns, [unlabeled] * count, range(count))
        self._known = client.gather(self._submit("known", _known, self._parts))
        if sum(map(len, self._known)) == 0:
            raise ValueError("There are no rows: all partitions are empty.")
        counts = [np.count_nonzero(~known) for known in self._known]
        self._ends = np.cumsum([0, *counts])
        self.n_unlabeled = int(self._ends[-1])
        self.bytes_sent = 0
        self.bytes_received = sum(known.nbytes for known in self._known)
        self._features: list[Any] = []

    def some(self, most: int) -> tuple[Any, Array, npt.NDArray[np.bool_]]:
        """All labeled rows and up to ``most`` others, in order; their labels, and which are known."""
        share, count = min(1.0, most / max(1, self.n_unlabeled)), len(self._parts)
        drawn = self._client.gather(self._submit("some", _some, self._parts, [share] * count, range(count)))
        filled = [part for part in drawn if len(part[1])]
        rows = stack_rows([part[0] for part in filled], np.arange(sum(len(part[1]) for part in filled)))
        labels = np.concatenate([part[1] for part in filled])
        known = np.concatenate([part[2] for part in filled])
        self.bytes_received += int(rows.shape[0]) * int(rows.shape[1]) * 8
        return check_rows(SubmodS3VM(), rows, reset=True), labels, known

    def compute(self, to_features: Map) -> float:
        """Compute the features of the unlabeled rows; returns their largest squared length."""
        (shared,) = self._submit("map", _same, [to_features])
        self._features = self._submit("features", _features, self._parts, [shared] * len(self._parts))
        return float(max(self._client.gather(self._submit("longest", _longest, self._features))))

    def sums(self, weights: Floats) -> Floats:
        """Sums of all features, weighted."""
        own = [weights[a:b] for a, b in zip(self._ends[:-1], self._ends[1:], strict=True)]
        self.bytes_sent += weights.nbytes
        found = self._client.gather(self._submit("sums", _sums, self._features, own))
        self.bytes_received += sum(part.nbytes for part in found)
        return np.asarray(sum(found))  # one of no rows is broadcast

    def project(self, columns: Floats) -> Floats:
        """Features of each row times columns."""
        (shared,) = self._submit("columns", _same, [columns])
        self.bytes_sent += columns.nbytes * len(self._features)
        found = self._client.gather(
            self._submit("project", _project, self._features, [shared] * len(self._features))
        )
        self.bytes_received += sum(part.nbytes for part in found)
        return np.concatenate(found)

    def filled(self, unlabeled: Array, labeled: Array) -> Array:
        """Labels of all rows, from those of unlabeled and of labeled ones."""
        known = np.concatenate(self._known)
        everything = np.empty(len(known), dtype=labeled.dtype)
        everything[known], everything[~known] = labeled, unlabeled
        return everything

    def _submit(self, what: str, function: Any, *columns: Any) -> list[Any]:
        return self._names.submit(self._client, what, function, *columns)


# ------------------------------------------------------------------------------------------------ on a worker

Read = tuple[Any, Any, npt.NDArray[np.bool_]]


def _same(value: Any) -> Any:
    return value


def _read(X: Any, y: Any, unlabeled: Any, number: int) -> Read:
    rows, labels = read_pair(X, y, number)
    labels = np.asarray(labels)
    return rows, labels, is_labeled(labels, unlabeled) if len(labels) else np.zeros(0, dtype=bool)


def _known(part: Read) -> npt.NDArray[np.bool_]:
    return part[2]


def _at(X: Any, places: Any) -> Any:
    return X.iloc[places] if hasattr(X, "iloc") else X[places]


def _some(part: Read, share: float, number: int) -> Read:
    X, y, known = part
    others = np.flatnonzero(~known)
    drawn = np.random.RandomState(number).permutation(others)[: int(np.ceil(share * len(others)))]
    places = np.sort(np.concatenate([np.flatnonzero(known), drawn]))
    return _at(X, places), y[places], known[places]


def _features(part: Read, to_features: Map) -> Any:
    X, _, known = part
    rows = _at(X, np.flatnonzero(~known))
    return to_features.features(rows) if rows.shape[0] else None


def _longest(Z: Any) -> float:
    if Z is None:
        return 0.0
    squares = Z.multiply(Z).sum(axis=1) if hasattr(Z, "multiply") else np.einsum("ij,ij->i", Z, Z)
    return float(squares.max())


def _sums(Z: Any, weights: Floats) -> Any:
    return np.zeros((1, weights.shape[1])) if Z is None else np.asarray(Z.T @ weights)


def _project(Z: Any, columns: Floats) -> Any:
    return np.zeros((0, columns.shape[1])) if Z is None else np.asarray(Z @ columns)
