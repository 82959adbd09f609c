"""What linkers return: questions, scores of pairs, records with their clusters, changes of clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._keys import Key
from .blocking import Pairs
from .records import Records


@dataclass(frozen=True)
class PairQuestion:
    """A question about a pair: whether the two records are the same.

    Attributes
    ----------
    id : int or str
        Of the pair: its number among the candidates, or the id of its row in a store. `tell` takes it.
    left : dict of str to str
        The fields of the first record.
    right : dict of str to str
        The fields of the second record.
    differs : list of str
        The fields that are not equal.
    reason : str
        Why it is asked.
    left_id : object
        The id of the first record.
    right_id : object
        The id of the second record.
    """

    id: Any
    left: dict[str, str]
    right: dict[str, str]
    differs: list[str]
    reason: str
    left_id: Any = None
    right_id: Any = None


@dataclass(frozen=True)
class PairPredictions:
    """Predictions for pairs.

    Attributes
    ----------
    pairs : Pairs
        The pairs.
    score : ndarray of shape (n_pairs,)
        The decision values f; above 0 for a match.
    """

    pairs: Pairs
    score: NDArray[np.float64]

    @property
    def distance(self) -> NDArray[np.float64]:
        """The distances 1 / (1 + exp(f)); 0.5 on the decision boundary."""
        return 0.5 * (1 - np.tanh(self.score / 2))

    @property
    def match(self) -> NDArray[np.bool_]:
        """Whether each pair is taken for a match."""
        return self.score > 0


@dataclass(frozen=True)
class Linkage:
    """Records with their clusters.

    Attributes
    ----------
    left : Records
        The records, or those of the first table.
    right : Records or None
        The second table.
    clusters : ndarray of shape (n_records,)
        The cluster of each record, of the first table and then of the second.
    predictions : PairPredictions
        The pairs that were compared.
    """

    left: Records
    right: Records | None
    clusters: NDArray[np.intp]
    predictions: PairPredictions

    @property
    def left_clusters(self) -> NDArray[np.intp]:
        """The cluster of each record of the first table."""
        return self.clusters[: len(self.left)]

    @property
    def right_clusters(self) -> NDArray[np.intp]:
        """The cluster of each record of the second table; empty if there is none."""
        return self.clusters[len(self.left) :]

    @property
    def matches(self) -> list[tuple[Any, Any]]:
        """The ids of compared pairs whose records are in one cluster."""
        pairs, right = self.predictions.pairs, self.left if self.right is None else self.right
        offset = 0 if self.right is None else len(self.left)
        together = np.flatnonzero(self.clusters[pairs.left] == self.clusters[pairs.right + offset])
        return [(self.left.ids[pairs.left[i]], right.ids[pairs.right[i]]) for i in together]

    def __repr__(self) -> str:
        n = len(np.unique(self.clusters))
        return f"<Linkage: {len(self.clusters):,} records in {n:,} clusters>"


@dataclass(frozen=True)
class AddedRecords:
    """What became of new records.

    Attributes
    ----------
    ids : list
        Their ids.
    clusters : list of int
        Their clusters.
    pairs : int
        The number of pairs that were compared.
    """

    ids: list[Any]
    clusters: list[int]
    pairs: int


@dataclass(frozen=True)
class Survey:
    """What new records would be, if they were added.

    Attributes
    ----------
    records : int
        Their number, without those that are skipped.
    key : Key or None
        The key of the largest block, of those that must not be too large; None if there is none.
    text : str
        What the records of that block share.
    size : int
        The number of its records.
    limit : int
        The number of records that it may have.
    """

    records: int
    key: Key | None = None
    text: str = ""
    size: int = 0
    limit: int = 0


@dataclass(frozen=True)
class ClusterChange:
    """A change of clusters, in the journal.

    Attributes
    ----------
    number : int
        Its number, from 1.
    time : float
        When, in seconds since 1970.
    kind : {"merge", "split", "regroup"}
        "regroup" if several clusters became several others.
    before : list of int
        The clusters that had the records before.
    after : list of int
        The clusters that have them now.
    reason : str
        Why.
    """

    number: int
    time: float
    kind: str
    before: list[int]
    after: list[int]
    reason: str


def reason_in_words(reason: Mapping[str, Any], names: Mapping[int, Any]) -> str:
    """The reason of a change."""
    because = reason["because"]
    if because == "records":
        return "new records"
    if because == "forgotten":
        return "records were forgotten"
    if because == "model":
        return f"new model: {reason['labels']} labels, {reason['records']:,} records"
    left, right = (names.get(reason[end], "(forgotten)") for end in ("left", "right"))
    words = f"{left} {'=' if reason['same'] else '≠'} {right}"
    return f"answer {words}" if because == "answer" else f"answer {words} was withdrawn"
