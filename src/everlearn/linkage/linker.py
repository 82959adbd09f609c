"""PairwiseLinker: a learned decision about pairs of records, and clusters from it."""

from __future__ import annotations

import warnings
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from .._base import constraints
from ..svm import LASVM
from .answers import Contradiction, contradictions
from .blocking import Blocking, Pairs, default_blocking
from .clustering import average_linkage, connected_components, dbscan
from .features import PairFeatures
from .records import Records, as_records

__all__ = ["Linkage", "PairPredictions", "PairwiseLinker"]

_PAIRS_AT_ONCE = 100_000
CLASSES = np.array([0, 1])


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


class PairwiseLinker:
    """Learn from labeled pairs which records are the same, and cluster records by that.

    Parameters
    ----------
    learner : classifier, default=None
        A classifier with ``decision_function``, and ``partial_fit`` if labels arrive in parts. None is
        ``LASVM(C=10, class_weight={0: 1, 1: 2})``: matches are rare, and a missed one counts twice.
    features : PairFeatures, default=None
        The features of a pair. None is ``PairFeatures()``.
    blocking : Blocking, default=None
        The pairs that are compared. None is `default_blocking` of the records.
    clustering : {"average", "dbscan", "components"}, default="average"
        How records are clustered; see `average_linkage`, `dbscan` and `connected_components`.
    eps : float, default=0.5
        The largest distance within a cluster: 1 / (1 + exp(f)), where f is the decision value. 0.5 is the
        decision boundary. With "dbscan" and "components", less joins fewer records by chains of doubtful
        pairs: 0.3 is a good value.
    min_pts : int, default=2
        For "dbscan", the size of the neighborhood of a core.

    Attributes
    ----------
    contradictions_ : list of Contradiction
        Labels that contradict others, directly or by transitivity. They are learned like all others.

    Examples
    --------
    >>> from everlearn.linkage import Blocking, PairwiseLinker, Pairs, Records
    >>> import numpy as np
    >>> names = ["Ann Lee", "Anne Lee", "Bob Ray", "Bob Rae", "Cy Orr", "Cy Or"]
    >>> people = Records({"name": names, "team": list("aabbcc")})
    >>> pairs = Pairs(np.array([0, 2, 0, 1]), np.array([1, 3, 2, 4]))
    >>> linker = PairwiseLinker(blocking=Blocking("team"))
    >>> linker = linker.fit(people, pairs=pairs, y=[1, 1, 0, 0])
    >>> linker.link().clusters
    array([0, 0, 1, 1, 2, 2])
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "clustering": constraints.one_of("average", "dbscan", "components"),
        "eps": constraints.FRACTION,
        "min_pts": constraints.integer_from(1),
    }

    def __init__(
        self,
        learner: Any = None,
        *,
        features: PairFeatures | None = None,
        blocking: Blocking | None = None,
        clustering: str = "average",
        eps: float = 0.5,
        min_pts: int = 2,
    ) -> None:
        self.learner, self.features, self.blocking = learner, features, blocking
        self.clustering, self.eps, self.min_pts = clustering, eps, min_pts
        self.contradictions_: list[Contradiction] = []
        self._model: Any = None
        self._left: Records | None = None
        self._right: Records | None = None
        self._fitted: PairFeatures | None = None
        self._labels: list[tuple[int, int, bool]] = []

    # -------------------------------------------------------------------------------------------- learning

    def prepare(self, left: Any, right: Any = None) -> PairwiseLinker:
        """Set the records to compare; forgets what was learned.

        Parameters
        ----------
        left : Records or table
            The records, or those of the first table.
        right : Records or table, default=None
            The second table; None compares the records of one table with each other.

        Returns
        -------
        PairwiseLinker
            The linker itself.
        """
        constraints.check(self)
        self._left = as_records(left)
        self._right = None if right is None else as_records(right, self._left.schema)
        self._fitted = self._fresh_features(self._left, self._right)
        self._model, self._labels, self.contradictions_ = self._new_learner(), [], []
        return self

    def fit(self, left: Any, right: Any = None, *, pairs: Pairs, y: ArrayLike) -> PairwiseLinker:
        """Learn from labeled pairs.

        Parameters
        ----------
        left : Records or table
            The records, or those of the first table.
        right : Records or table, default=None
            The second table; None compares the records of one table with each other.
        pairs : Pairs
            The labeled pairs.
        y : array-like of shape (n_pairs,)
            1 or True for a match, 0 or False otherwise; both must occur.

        Returns
        -------
        PairwiseLinker
            The linker itself.
        """
        self.prepare(left, right)
        labels = self._checked(pairs, y)
        if len(np.unique(labels)) < 2:
            raise ValueError(
                f"y has only the label {labels[0] if len(labels) else 'none'}: label matches and other pairs."
            )
        self._model.fit(self.transform(pairs), labels)
        self._note(pairs, labels)
        return self

    def partial_fit(self, pairs: Pairs, y: ArrayLike) -> PairwiseLinker:
        """Learn more labels, of pairs of the records that `fit` or `prepare` was called with.

        Parameters
        ----------
        pairs : Pairs
            The labeled pairs.
        y : array-like of shape (n_pairs,)
            1 or True for a match, 0 or False otherwise.

        Returns
        -------
        PairwiseLinker
            The linker itself.
        """
        labels = self._checked(pairs, y)
        if len(labels):
            self._model.partial_fit(self.transform(pairs), labels, classes=CLASSES)
            if hasattr(self._model, "finish"):
                self._model.finish()
            self._note(pairs, labels)
        return self

    @property
    def model(self) -> Any:
        """The classifier of pairs."""
        if self._model is None:
            raise NotFittedError("PairwiseLinker has no records yet: call fit, or prepare.")
        return self._model

    @property
    def feature_names(self) -> list[str]:
        """The name of each feature of a pair."""
        return [] if self._fitted is None else list(self._fitted.names)

    def records(self) -> tuple[Records, Records | None]:
        """Return the tables that `fit` or `prepare` was called with.

        Returns
        -------
        tuple of (Records, Records or None)
            Both tables.
        """
        if self._left is None:
            raise NotFittedError("PairwiseLinker has no records yet: call fit, or prepare.")
        return self._left, self._right

    def transform(self, pairs: Pairs) -> NDArray[np.float64]:
        """Compute the features of pairs of the records.

        Parameters
        ----------
        pairs : Pairs
            The pairs.

        Returns
        -------
        ndarray of shape (n_pairs, n_features)
            Their features.
        """
        self.records()
        assert self._fitted is not None
        return self._fitted.transform(pairs.left, pairs.right)

    # ------------------------------------------------------------------------------------------ predictions

    def candidates(self) -> Pairs:
        """Select the pairs to compare, by the blocking.

        Returns
        -------
        Pairs
            The pairs.
        """
        left, right = self.records()
        return (self.blocking or default_blocking(left)).pairs(left, right)

    def predict_pairs(self, pairs: Pairs | None = None) -> PairPredictions:
        """Score pairs, in blocks.

        Parameters
        ----------
        pairs : Pairs, default=None
            The pairs; None takes those of the blocking.

        Returns
        -------
        PairPredictions
            The scores.
        """
        pairs = self.candidates() if pairs is None else pairs
        scores = [
            np.asarray(self.model.decision_function(self.transform(pairs[i : i + _PAIRS_AT_ONCE])))
            for i in range(0, len(pairs), _PAIRS_AT_ONCE)
        ]
        return PairPredictions(pairs, np.concatenate([np.zeros(0), *scores]))

    def link(self, left: Any = None, right: Any = None, *, pairs: Pairs | None = None) -> Linkage:
        """Cluster the records.

        Parameters
        ----------
        left : Records or table, default=None
            Other records than those of `fit`; None takes these.
        right : Records or table, default=None
            The second table of other records.
        pairs : Pairs, default=None
            The pairs to compare; None takes those of the blocking.

        Returns
        -------
        Linkage
            The clusters.
        """
        linker = self if left is None else self._for(left, right)
        first, second = linker.records()
        predictions = linker.predict_pairs(pairs)
        offset, n = (0, len(first)) if second is None else (len(first), len(first) + len(second))
        ends = predictions.pairs.left, predictions.pairs.right + offset
        if self.clustering == "dbscan":
            found = dbscan(n, *ends, predictions.distance, eps=self.eps, min_pts=self.min_pts)
        else:
            cluster = average_linkage if self.clustering == "average" else connected_components
            found = cluster(n, *ends, predictions.distance, eps=self.eps)
        return Linkage(first, second, found, predictions)

    def _for(self, left: Any, right: Any) -> PairwiseLinker:
        """A linker with the same model for other records."""
        other = PairwiseLinker(
            self.model,
            features=self.features,
            blocking=self.blocking,
            clustering=self.clustering,
            eps=self.eps,
            min_pts=self.min_pts,
        )
        schema = self.records()[0].schema
        other._left = as_records(left, schema)
        other._right = None if right is None else as_records(right, schema)
        other._fitted = self._fresh_features(other._left, other._right)
        other._model = self.model
        return other

    # --------------------------------------------------------------------------------------------- helpers

    def _new_learner(self) -> Any:
        if self.learner is None:
            return LASVM(C=10, class_weight={0: 1, 1: 2})
        return clone(self.learner)

    def _fresh_features(self, left: Records, right: Records | None) -> PairFeatures:
        features = PairFeatures() if self.features is None else deepcopy(self.features)
        return features.fit(left, right)

    def _checked(self, pairs: Pairs, y: ArrayLike) -> NDArray[np.int64]:
        labels = np.asarray(y)
        if labels.shape != (len(pairs),):
            raise ValueError(f"y must have a label for each of {len(pairs)} pairs, got shape {labels.shape}.")
        if len(labels) and not np.isin(labels, [0, 1]).all():
            raise ValueError(f"y must be 1 or True for a match and 0 or False otherwise, got {labels[:5]!r}.")
        left, right = self.records()
        for name, places, n in (
            ("left", pairs.left, len(left)),
            ("right", pairs.right, len(left if right is None else right)),
        ):
            if len(places) and not (places.min() >= 0 and places.max() < n):
                raise ValueError(f"pairs.{name} has places that are not in the table of {n} records.")
        return labels.astype(np.int64)

    def _note(self, pairs: Pairs, labels: NDArray[np.int64]) -> None:
        """Keep the labels, and say where they contradict each other."""
        left, right = self.records()
        offset = 0 if right is None else len(left)
        ends = zip(
            pairs.left.tolist(), (pairs.right + offset).tolist(), labels.astype(bool).tolist(), strict=True
        )
        self._labels += ends
        before = len(self.contradictions_)
        self.contradictions_ = contradictions(
            [(a, b) for a, b, _ in self._labels], [s for *_, s in self._labels]
        )
        if len(self.contradictions_) > before:
            warnings.warn(
                f"{len(self.contradictions_)} labels contradict others, such as {self.contradictions_[-1]} "
                "(by place in the tables, the second after the first); see contradictions_.",
                UserWarning,
                stacklevel=3,
            )
