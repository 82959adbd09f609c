"""EarlySVM: an early answer by the SVMs of clusters."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._base.part_clusters import Clusters
from .._base.validate import Array
from ..svm import LASVM
from ._partitions import is_dask, is_paths
from ._predictions import predictions, scores


class EarlySVM:
    """The SVMs of clusters; a row is scored by that of its nearest cluster.

    Made by `DistributedSVM.fit_early`. Scores of different clusters are not on one scale.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The labels.
    clusters : Clusters
        The clusters.
    models : list
        For each cluster a fitted learner, the number of its only class, or None if it has no rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    models_ : list of LASVM or None
        The model of each cluster; None where all rows have one class.
    n_support_ : int
        Number of support vectors of all models.

    Examples
    --------
    >>> from distributed import Client
    >>> from everlearn import LASVM
    >>> from everlearn.datasets import make_banana
    >>> from everlearn.distributed import DistributedSVM
    >>> X, y = make_banana(2000, random_state=0)
    >>> client = Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    >>> learner = LASVM(C=10, gamma=1.0, random_state=0)
    >>> early = DistributedSVM(learner, partition="kernel_kmeans", n_partitions=4).fit_early(X, y)
    >>> len(early.models_), bool((early.predict(X) == y).mean() > 0.95)
    (4, True)
    >>> client.close()
    """

    def __init__(self, classes: Array, clusters: Clusters | None, models: list[Any]) -> None:
        if clusters is None:
            raise ValueError("There are no clusters.")
        self.classes_ = classes
        self.models_ = [model if isinstance(model, LASVM) else None for model in models]
        self.n_support_ = sum(len(model.support_) for model in self.models_ if model is not None)
        self._clusters = clusters
        self._only = [model if isinstance(model, int) else 0 for model in models]

    def decision_function(self, X: Any) -> Any:
        """Score rows; those of a Dask collection lazily, on the workers.

        Parameters
        ----------
        X : Dask array or frame, array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        Dask array or ndarray of shape (n_samples,) or (n_samples, n_classes)
            The decision values; -1 and 1 in a cluster with one class.
        """
        return scores(self, X) if is_dask(X) or is_paths(X) else self._scores(X)

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
        if is_dask(X) or is_paths(X):
            return predictions(self, X)
        values = self._scores(X)
        return self.classes_[values.argmax(axis=1) if values.ndim > 1 else (values > 0).astype(int)]

    def _scores(self, X: Any) -> npt.NDArray[np.float64]:
        rows = X if sparse.issparse(X) else np.asarray(X)
        count = len(self.classes_)
        found = np.zeros((rows.shape[0],) if count == 2 else (rows.shape[0], count))
        nearest = self._clusters.nearest(sparse.csr_matrix(rows) if sparse.issparse(rows) else rows)
        for number, model in enumerate(self.models_):
            at = np.flatnonzero(nearest == number)
            if len(at) == 0:
                continue
            if model is not None:
                found[at] = model.decision_function(X.iloc[at] if hasattr(X, "iloc") else rows[at])
            elif count == 2:
                found[at] = 1.0 if self._only[number] == 1 else -1.0
            else:
                found[at] = np.where(np.arange(count) == self._only[number], 1.0, -1.0)
        return found
