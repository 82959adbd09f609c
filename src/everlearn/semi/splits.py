"""Splits into labeled and unlabeled rows on which supervised learning is worst.

W. Emara, thesis (2012), section III.4.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.svm import SVC
from sklearn.utils import check_random_state, indexable
from sklearn.utils.validation import column_or_1d

Ints = npt.NDArray[np.int64]

_MAX_TRIES = 10_000


class PessimisticSplit:
    """Of many random splits into labeled and unlabeled rows, those that are hardest for supervised learning.

    A classifier learns from the labeled rows alone; the splits on which it is least accurate on the others
    come first. With few labels, random splits differ so much that averages over all of them say little about
    whether unlabeled rows help where supervised learning fails. Results on these splits say nothing about the
    average split.

    Parameters
    ----------
    n_labeled : int
        Number of labeled rows in a split; each class has at least one.
    n_draws : int, default=100
        Number of random splits to choose from.
    n_splits : int, default=10
        Number of splits to keep.
    estimator : classifier, default=None
        The supervised classifier. None is a linear `SVC`.
    random_state : int, RandomState instance or None, default=None
        Random generator for the splits.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from everlearn.semi import PessimisticSplit
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> splitter = PessimisticSplit(4, n_draws=20, n_splits=2, random_state=0)
    >>> [(len(labeled), len(unlabeled)) for labeled, unlabeled in splitter.split(scale(X), y)]
    [(4, 565), (4, 565)]
    """

    def __init__(
        self,
        n_labeled: int,
        n_draws: int = 100,
        n_splits: int = 10,
        estimator: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_labeled = n_labeled
        self.n_draws = n_draws
        self.n_splits = n_splits
        self.estimator = estimator
        self.random_state = random_state

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[Ints, Ints]]:
        """Yield the row numbers of labeled and of unlabeled rows, the hardest split first.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            All labels.
        groups : object, default=None
            Ignored; there because scikit-learn passes it.

        Yields
        ------
        labeled, unlabeled : ndarray, ndarray
            Row numbers, ascending.
        """
        if not 0 < self.n_splits <= self.n_draws:
            raise ValueError(
                f"n_splits={self.n_splits} must be at least 1 and at most n_draws={self.n_draws}."
            )
        X, y = indexable(X, y)
        if hasattr(X, "tocsr"):
            X = X.tocsr()
        X = X if hasattr(X, "shape") and not hasattr(X, "columns") else np.asarray(X)
        classes, numbers = np.unique(column_or_1d(y), return_inverse=True)
        if not max(2, len(classes)) <= self.n_labeled < len(numbers) or len(classes) < 2:
            raise ValueError(
                f"n_labeled={self.n_labeled} of {len(numbers)} rows must leave an unlabeled row and allow "
                f"one labeled row of each class; y has {len(classes)} classes, and at least 2 are needed."
            )
        random = check_random_state(self.random_state)
        model = SVC(kernel="linear") if self.estimator is None else self.estimator
        splits = []
        for _ in range(self.n_draws):
            labeled = self._draw(numbers, len(classes), random)
            unlabeled = np.setdiff1d(np.arange(len(numbers)), labeled)
            fitted = clone(model).fit(X[labeled], numbers[labeled])
            right = np.mean(fitted.predict(X[unlabeled]) == numbers[unlabeled])
            splits.append((float(right), labeled, unlabeled))
        for _, labeled, unlabeled in sorted(splits, key=lambda split: split[0])[: self.n_splits]:
            yield labeled, unlabeled

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X, y, groups : default=None, None, None
            Ignored; there because scikit-learn passes them.

        Returns
        -------
        int
            ``n_splits``.
        """
        return self.n_splits

    def _draw(self, numbers: Ints, classes: int, random: np.random.RandomState) -> Ints:
        """Random rows, drawn again until every class is among them."""
        for _ in range(_MAX_TRIES):
            rows: Ints = np.sort(random.permutation(len(numbers))[: self.n_labeled])
            if len(np.unique(numbers[rows])) == classes:
                return rows
        raise ValueError(
            f"None of {_MAX_TRIES} random draws of n_labeled={self.n_labeled} rows had all classes, because "
            "the rarest class is too rare: increase n_labeled, or drop the class."
        )
