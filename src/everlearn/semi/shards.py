"""SubmodS3VM on rows in several shards: the same search for labels, with sums over shards.

The solver "fast" needs similarities only in products of their matrix with vectors. With a linear kernel, or
with Nystroem features, such a product is Z (Z' w): each shard sums its features, weighted, and multiplies the
sum over all shards with its features. So the labels are those of one machine.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from .._base.kernels import Linear
from .._base.validate import Rows, check_rows, label_column
from .._submodular.choice import Floats, StoredSimilarities
from .._submodular.geometry import Geometry
from ._label_scores import label_weights, on_one_scale
from ._labels import unknown_labels
from ._space import Space
from ._transduce import Transduction, class_sizes, count_positives, many_classes, members, signed, two_classes
from .s3vm import SubmodS3VM


@dataclass(frozen=True)
class Map:
    """From rows to features whose inner products are the similarities.

    Attributes
    ----------
    geometry : Geometry
        The scaling.
    nystroem : Nystroem or None
        The map from there to features.
    """

    geometry: Geometry
    nystroem: Any

    def features(self, X: Rows) -> Rows:
        """Compute the features of rows.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_components)
            The features.
        """
        Z = self.geometry.scaled(check_rows(SubmodS3VM(), X, reset=True))
        return Z if self.nystroem is None else self.nystroem.transform(Z)


class Products(Protocol):
    """Products with the features of the unlabeled rows of all shards, which are numbered in their order."""

    def sums(self, weights: Floats) -> Floats:
        """Sum the features of all rows with weights of shape (n_unlabeled, n_columns)."""

    def project(self, columns: Floats) -> Floats:
        """Multiply the features of each row with columns of shape (n_components, n_columns)."""


class _Similarities(StoredSimilarities):
    """What the solver "fast" asks of similarities, by products."""

    def __init__(self, products: Products, n: int, highest: float) -> None:
        self._products, self._n, self._highest = products, n, highest

    def __len__(self) -> int:
        return self._n

    @property
    def highest(self) -> float:
        return self._highest

    def times(self, weights: Floats, rows: Rows = None) -> Floats:
        columns = np.ascontiguousarray(weights.reshape(self._n, -1))
        return self._products.project(self._products.sums(columns)).reshape(weights.shape)


@dataclass
class ShardLabeling:
    """The problem that all shards share, solved by products.

    Attributes
    ----------
    few : SubmodS3VM
        The learner, fitted to the labeled rows and to a sample of the others.
    map : Map
        The map to features.
    """

    few: SubmodS3VM
    map: Map

    @classmethod
    def of(cls, learner: SubmodS3VM, X: Rows, y: Any) -> "ShardLabeling":
        """Fix what shards share: scaling, features, class fractions and rho, from some of the rows.

        Parameters
        ----------
        learner : SubmodS3VM
            The parameters.
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            All labeled rows, and a sample of the unlabeled ones.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        ShardLabeling
            The problem.
        """
        if not isinstance(learner, SubmodS3VM):
            raise TypeError(f"learner must be a SubmodS3VM, got {type(learner).__name__}.")
        if learner.kernel == "precomputed":
            raise ValueError("Shards need rows, and kernel='precomputed' has none.")
        if learner.solver not in ("auto", "fast"):
            raise ValueError(f'Shards need solver="fast" or "auto", got {learner.solver!r}.')
        few = clone(learner).set_params(solver="fast", estimator=None).fit(X, y)
        if few._nystroem is None and not few._geometry.is_linear:
            raise ValueError(
                f'Shards need kernel="linear" or features: set n_components, such as 500, for the kernel '
                f'"{few._geometry.kernel.name}".'
            )
        return cls(few, Map(few._geometry, few._nystroem))

    def solve(self, products: Products, n: int, highest: float, Z: Rows, y: Any) -> Transduction:
        """Label the unlabeled rows of all shards.

        Parameters
        ----------
        products : Products
            Products with their features.
        n : int
            Their number.
        highest : float
            The largest squared length of their features.
        Z : ndarray or CSR matrix of shape (n_labeled, n_components)
            Features of the labeled rows.
        y : array-like of shape (n_labeled,)
            Their labels.

        Returns
        -------
        Transduction
            Class numbers, slopes and the objective, as of one machine.
        """
        few = self.few
        numbers, Q = np.searchsorted(few.classes_, y), len(few.classes_)
        if n == 0 or Q == 1:
            same = np.zeros(n, dtype=np.int64)
            return Transduction(same, same, np.zeros((n,) if Q <= 2 else (n, Q)), 0.0, 0)
        balanced, L = few._balances(Q), np.arange(len(numbers))
        weights = signed(numbers, balanced) if Q == 2 else members(numbers, Q, balanced)
        space = Space(Z, Linear())
        both = label_weights(space, L, weights, few.label_scores, float(few.C))
        s = on_one_scale(products.project(np.asarray(Z.T @ both)), weights)
        K, Cs = _Similarities(products, n, highest), few._weight(few.rho_, len(L), n, Q)
        with np.errstate(over="ignore", invalid="ignore"):  # overflows raise a ValueError
            if Q == 2:
                k = count_positives(float(few._shares[1]), n)
                found = two_classes(K, s, k, 1.0, Cs, highest, "fast")
            else:
                found = many_classes(K, s, class_sizes(few._shares, n), 1.0, Cs, highest, "fast")
        squared = float(few.C) ** 2  # both weights are proportional to C
        scores = found.scores * squared
        return Transduction(found.numbers, found.alone, scores, found.objective * squared, 0)


def is_labeled(y: Any, unlabeled: Any) -> npt.NDArray[np.bool_]:
    """Which rows of a shard have a label.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The labels.
    unlabeled : object
        What stands for a missing label, beside None and NaN.

    Returns
    -------
    ndarray of bool of shape (n_samples,)
        Whether each is a label.
    """
    return ~unknown_labels(label_column(y), unlabeled)
