"""Pairs whose answer would merge or split large clusters: an option of `ActiveLinker`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.intp]
_KEPT = 1_000  # pairs of a ranking
_FEWEST, _AGAIN = 3, 10  # labels after which it is made again: at least so many, or one in so many


class ClusterQuestions:
    """A ranking of pairs by what their answers would change.

    The answer to a pair within a cluster may split it, that to a pair of two clusters may merge them. A pair
    is worth its uncertainty, 1 on the decision boundary and 0 where the model is sure, times the logarithm of
    the pairs of records that would be joined or parted.
    """

    def __init__(self) -> None:
        self._next: list[int] = []  # the best one last
        self._made_at: int | None = None

    def is_due(self, n_labels: int) -> bool:
        """Whether there are enough more labels for another ranking."""
        if self._made_at is None or not self._next:
            return True
        return n_labels - self._made_at >= max(_FEWEST, n_labels // _AGAIN)

    def rank(
        self, left: Places, right: Places, clusters: Places, distance: NDArray[np.float64], n_labels: int
    ) -> None:
        """Rank pairs of records with these clusters."""
        sizes = np.bincount(clusters)
        one, other = clusters[left], clusters[right]
        changed = np.where(one == other, sizes[one] ** 2 / 4, sizes[one] * sizes[other])
        worth = (1 - np.abs(2 * distance - 1)) * np.log2(1 + changed)
        order = np.argsort(-worth, kind="stable")[:_KEPT]
        self._next, self._made_at = order[::-1].tolist(), n_labels

    def take(self) -> int | None:
        """The best pair that was not yet taken; None if there is none."""
        return self._next.pop() if self._next else None
