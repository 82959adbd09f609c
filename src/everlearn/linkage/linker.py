"""PairwiseLinker: a learned decision about pairs of records, and clusters from it."""

from __future__ import annotations

import warnings
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from .._base import constraints, persist
from ..svm import LASVM
from . import _describe, _saved_linker
from ._constrained import cluster_records
from ._defaults import MATCH_WEIGHT, PAIR_LEARNER
from ._pair_labels import checked_labels, contradicting, labels_from_state, pairs_of_labels
from ._refitted import Refitted
from ._results import Linkage, PairPredictions
from ._two_tables import both_tables
from .answers import Contradiction
from .blocking import Blocking, Pairs, check_blocking, default_blocking
from .features import PairFeatures
from .records import Records, as_records

__all__ = ["Linkage", "PairPredictions", "PairwiseLinker"]

_PAIRS_AT_ONCE = 100_000
CLASSES = np.array([0, 1])


@persist.register
class PairwiseLinker:
    """Learn from labeled pairs which records are the same, and cluster records by that.

    Parameters
    ----------
    learner : classifier, default=None
        A classifier with ``decision_function`` or ``predict_proba``. None is ``LASVM(C=10,
        kernel="laplacian", gamma="auto", class_weight={0: 1, 1: 2})``: matches are rare, and a missed one
        counts twice. One without ``partial_fit``, such as `VIRTUAL`, is fitted again on all labels.
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
        check_blocking(self.blocking)
        self._left, self._right = both_tables(left, right)
        for name, records in (("left", self._left), ("right", self._right)):
            if records is not None and not (len(records) and records.schema):
                raise ValueError(f"{name} has no {'records' if not len(records) else 'fields to compare'}.")
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
        labels = checked_labels(pairs, y, *self.records())
        if len(np.unique(labels)) < 2:
            raise ValueError(
                f"y has only the label {labels[0] if len(labels) else 'none'}: label matches and other pairs."
            )
        self._model.fit(self.transform(pairs), labels)
        self._note(pairs, labels)
        return self

    def partial_fit(self, pairs: Pairs, y: ArrayLike) -> PairwiseLinker:
        """Learn more labels, of pairs of the records that `fit` or `prepare` was called with.

        A learner without ``partial_fit``, such as `VIRTUAL`, is fitted again on all labels.

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
        labels = checked_labels(pairs, y, *self.records())
        if len(labels):
            self._note(pairs, labels)
            self._model.partial_fit(self.transform(pairs), labels, classes=CLASSES)
            if hasattr(self._model, "finish"):
                self._model.finish()
        return self

    @property
    def model(self) -> Any:
        """The classifier of pairs; a learner without ``partial_fit`` has one around it."""
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
        """Cluster the records: those of labeled pairs are together or apart as the labels say.

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
        return linker.cluster(linker.predict_pairs(pairs))

    def cluster(self, predictions: PairPredictions) -> Linkage:
        """Cluster the records by scores of pairs.

        Parameters
        ----------
        predictions : PairPredictions
            The scores.

        Returns
        -------
        Linkage
            The clusters.
        """
        left, right = self.records()
        offset, n = (0, len(left)) if right is None else (len(left), len(left) + len(right))
        ends = predictions.pairs.left, predictions.pairs.right + offset
        found = cluster_records(
            n,
            *ends,
            predictions.distance,
            self._labels,
            clustering=self.clustering,
            eps=self.eps,
            min_pts=self.min_pts,
            tables=None if right is None else np.arange(n) >= offset,
        )
        return Linkage(left, right, found, predictions)

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
            return LASVM(**PAIR_LEARNER, class_weight={0: 1, 1: MATCH_WEIGHT})
        learner = clone(self.learner)
        return learner if hasattr(learner, "partial_fit") else Refitted(learner)

    def _fresh_features(self, left: Records, right: Records | None) -> PairFeatures:
        features = PairFeatures() if self.features is None else deepcopy(self.features)
        return features.fit(left, right)

    def _note(self, pairs: Pairs, labels: NDArray[np.int64]) -> None:
        """Keep the labels, and say where they contradict each other."""
        left, right = self.records()
        offset = 0 if right is None else len(left)
        ends = zip(
            pairs.left.tolist(), (pairs.right + offset).tolist(), labels.astype(bool).tolist(), strict=True
        )
        self._labels += ends
        before = len(self.contradictions_)
        self.contradictions_ = contradicting(self._labels)
        if len(self.contradictions_) > before:
            warnings.warn(
                f"{len(self.contradictions_)} labels contradict others, such as {self.contradictions_[-1]} "
                "(by place in the tables, the second after the first); see contradictions_.",
                UserWarning,
                stacklevel=3,
            )

    # --------------------------------------------------------------------------------------- saving, loading

    def _get_state(self) -> dict[str, Any]:
        """The parameters, the records, the labels and the model, for `everlearn.save`."""
        given = _saved_linker.parameters_state(self.learner, self.features, self.blocking)
        given |= {"clustering": self.clustering, "eps": self.eps, "min_pts": self.min_pts}
        if self._left is None:
            return {"params": given}
        return {
            "params": given,
            "left": _describe.records_state(self._left),
            "right": None if self._right is None else _describe.records_state(self._right),
            "labels": [list(label) for label in self._labels],
            "model": persist.describe(_plain(self.model)),
        }

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> PairwiseLinker:
        """The linker that `_get_state` described."""
        given = _saved_linker.parameters_from_state(state["params"])
        linker = cls(given.pop("learner"), **given)
        if "left" in state:
            right = state["right"]
            linker.prepare(
                _describe.records_from_state(state["left"]),
                None if right is None else _describe.records_from_state(right),
            )
            linker._resume(state)
        return linker

    def _resume(self, state: dict[str, Any]) -> None:
        """Take over the model and the labels of a saved state."""
        model, plain = persist.revive(state["model"]), _plain(self._model)
        if type(model) is not type(plain):
            raise ValueError(f"the model is a {type(model).__name__}, not a {type(plain).__name__}")
        left, right = self.records()
        offset = 0 if right is None else len(left)
        self._labels = labels_from_state(state["labels"], len(left) + (0 if right is None else len(right)))
        if isinstance(self._model, Refitted):
            pairs, labels = pairs_of_labels(self._labels, offset)
            self._model.resume(model, self.transform(pairs), labels)
        else:
            self._model = model
        self.contradictions_ = contradicting(self._labels)


def _plain(model: Any) -> Any:
    """The classifier itself."""
    if isinstance(model, Refitted):
        return model.learner if model.fitted is None else model.fitted
    return model
