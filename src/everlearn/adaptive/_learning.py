"""The base of `AdaptiveSVM`: stores rows, trains experts, combines their votes, and manages the state."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import fields
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import unique_labels

from .._base import checked, constraints
from .._base.decision import Decision
from .._base.estimator import Estimator, ScoringClassifier
from .._base.forget import check_ids, refuse_known
from .._base.learner import balanced_weights
from .._base.validate import Array, Rows, check_rows
from ..calibration import OnlineCalibrator
from . import _describe
from ._committee import Committee
from ._decision import VoteParts, vote_decision
from ._foreign import own
from ._rows import Codes, LabeledRows
from ._scaler import Scaler
from ._voters import LearningSet, Scale, VoterParts, smoothed
from .experts import Expert, resolve

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Self = TypeVar("Self", bound="CommitteeLearner")

_MIN_PROBABILITY = 1e-12  # lower bound before the logarithm


class CommitteeLearner(ScoringClassifier, Estimator):
    """Base of `AdaptiveSVM`: a store of labeled rows, a committee of experts on it, and a calibrator.

    Invariant: every SVM of the committee is trained on the last rows of the store, as many as its window has.
    """

    _mark_of_fit = "_committee"
    _fitted_attributes: ClassVar[tuple[str, ...]] = (
        "classes_",
        "n_features_in_",
        "feature_names_in_",
        "_capacity",
        "_max_rows",
        "_rows_seen",
        "_next_id",
        "_seed",
        "_counts",
        "_numbers",
    )

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Roll back a learning call after an error, including all mutable parts.

        SVMs are restored bit for bit if the call did not change them, otherwise up to their tolerance: they
        forget the rows of the call, and relearn the rows that the call made them forget.
        """
        if not hasattr(self, "_committee"):
            with self._unchanged_on_error():
                yield
            return
        committee, memento = self._committee, self._committee.memento()
        parts = {name: copy(getattr(self, name)) for name in ("_rows", "_scaler", "_calibrator")}
        try:
            with self._unchanged_on_error():
                yield
        except BaseException:
            self.__dict__.update(parts)
            committee.go_back(memento, self._kept)
            raise

    def _check(self) -> tuple[Expert, ...]:
        """Check the parameters; `experts` and `scaling` cannot change after the first call."""
        constraints.check(self)
        if isinstance(self.class_weight, Mapping):
            _check_class_weight(self.class_weight)
        experts = resolve(self.experts)
        if hasattr(self, "_committee"):
            for name, now in (("experts", experts), ("scaling", self.scaling)):
                if now != self._begun_with[name]:
                    raise ValueError(
                        f"{name} cannot change during a stream, got {getattr(self, name)!r}: restore its "
                        "value, call fit, or use a new learner."
                    )
        return experts

    def _fitted(self) -> Committee:
        self._check_fitted()
        return self._committee

    def _begin(self, classes: Array, experts: tuple[Expert, ...], capacity: int | None = None) -> None:
        """Initialize an empty learner."""
        self._begun_with = {"experts": experts, "scaling": self.scaling}
        self.classes_, self._max_rows = classes, int(self.max_rows)
        self._capacity = self._max_rows if capacity is None else capacity
        self._numbers = np.arange(len(classes))  # codes of the classes; new classes do not change them
        self._counts = np.zeros(len(classes), dtype=np.int64)
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._rows, self._scaler = LabeledRows(), Scaler(self.scaling)
        self._calibrator = OnlineCalibrator("temperature")
        self._rows_seen = self._next_id = 0
        self._committee = Committee(tuple(map(own, experts)), len(classes), self._seed)

    def prepare(self: Self, X: Any, classes: Any) -> Self:
        """Initialize without labels: set the classes, the scaling and the kernel widths.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows that are representative of the stream.
        classes : array-like of shape (n_classes,)
            The labels seen so far.

        Returns
        -------
        object
            The learner itself.
        """
        with self._all_or_nothing():
            self.__dict__.pop("_committee", None)
            experts = self._check()
            named = unique_labels(classes)
            rows = double(check_rows(self, X, reset=True))
            self._begin(named, experts)
            self._scaler.fit(rows)
            self._scaler.check(rows)
            self._committee.scale = Scale.of(self._scaler.transform(rows))
        return self

    def retrain(self: Self, X: Any, y: Array, like: "CommitteeLearner | None") -> Self:
        """Learn rows after `prepare`, and take over the expert weights of another learner.

        A stream calls it when the scale has changed or a class is new. The rows are the same, so the losses
        of the experts remain valid.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : ndarray of shape (n_samples,)
            The labels.
        like : AdaptiveSVM or None
            The previous learner. It is ignored if it is None or has other experts.

        Returns
        -------
        object
            The learner itself.
        """
        if like is None or [e.name for e in like.experts_] != [e.name for e in self.experts_]:
            return self.partial_fit(X, y)  # type: ignore[no-any-return]
        with self._all_or_nothing():
            rows = double(check_rows(self, X, reset=False))
            self._scaler.check(rows)
            labels = np.searchsorted(self.classes_, y).astype(np.int32)
            self._take_in(rows, labels, np.ones(len(y)), np.arange(len(y), dtype=np.int64))
            self._next_id = len(y)
            vote = self._committee.vote
            vote.costs = like._committee.vote.costs.copy()
            vote.counts = vote.counts + np.bincount(labels, minlength=len(self.classes_))
            old = dict(zip(like.classes_.tolist(), like._numbers.tolist(), strict=True))
            fresh, numbers = len(old), self._numbers.copy()
            for place, label in enumerate(self.classes_.tolist()):
                numbers[place] = old.get(label, fresh)
                fresh += label not in old
            self._numbers, self._calibrator = numbers, deepcopy(like._calibrator)
            self._rebuild()
        return self

    def _named(self, y: Array, classes: Any) -> Array:
        """All classes after a call: the previous ones, those in ``classes`` and those in ``y``."""
        parts = [np.unique(y)]
        if classes is None and hasattr(self, "_committee") and np.isin(parts[0], self.classes_).all():
            return self.classes_
        if classes is not None:
            parts.append(np.asarray(unique_labels(classes)))
            if hasattr(self, "_committee") and np.setdiff1d(self.classes_, parts[-1]).size:
                raise ValueError(
                    f"classes={classes!r} lacks some of the known classes {self.classes_!r}: include them, "
                    "or omit classes."
                )
            if unknown := np.setdiff1d(parts[0], parts[-1]).tolist():
                raise ValueError(f"y has labels that are not in classes={classes!r}: {unknown!r}.")
        if hasattr(self, "_committee"):
            parts.append(self.classes_)
        return np.asarray(unique_labels(*parts))

    def _new_ids(self, count: int, ids: Any) -> Ints:
        if ids is None:
            first = getattr(self, "_next_id", 0)
            if first + count > np.iinfo(np.int64).max:
                raise ValueError(
                    f"ids=None continues the running row number, but the largest id is {first - 1} and the "
                    "next ones exceed 64 bits: give ids for these rows, too."
                )
            return np.arange(first, first + count, dtype=np.int64)
        named = check_ids(ids, count)
        if hasattr(self, "_rows"):
            refuse_known(self, named, self._rows.ids)
        return named

    def _grow(self, named: Array) -> None:
        """Add classes, and retrain all experts on the stored rows."""
        places = np.searchsorted(named, self.classes_)
        numbers = np.full(len(named), -1)
        numbers[places] = self._numbers
        numbers[numbers < 0] = np.arange(len(self.classes_), len(named))
        counts = np.zeros(len(named), dtype=np.int64)
        counts[places] = self._counts
        self.classes_, self._numbers, self._counts = named, numbers, counts
        self._rows.labels = places[self._rows.labels].astype(np.int32)
        self._committee.n_classes = len(named)
        self._committee.vote.grow(places, len(named))
        self._rebuild()

    def _learn(self, X: Rows, labels: Codes, weights: Floats, ids: Ints) -> None:
        """Update the losses of the experts with a few rows, then learn the rows."""
        committee = self._committee
        given = None
        self._scaler.check(X)
        if committee.ready:
            votes = committee.given(self._scaler.transform(X))
            given = votes[:, np.arange(len(labels)), labels]
            pooled = np.tensordot(self.weights_, votes, 1)
            self._calibrator.update(vote_scores(pooled), self._numbers[labels], classes=self._numbers)
        committee.vote.update(given, labels, weights, self.fading_factor)
        self._take_in(X, labels, weights, ids)
        if self._scaler.due(len(self._rows)):
            self._scaler.fit(self._rows.X, fix=False)
            committee.scale = None
        if not committee.ready or committee.scale is None:
            self._rebuild()
        else:
            costs = self._costs(labels, weights)
            committee.learn(LearningSet.of(self._scaler.transform(X), labels, costs, ids), self._kept())

    def _take_in(self, X: Rows, labels: Codes, weights: Floats, ids: Ints) -> None:
        self._counts = self._counts + np.bincount(labels, minlength=len(self.classes_))
        self._rows_seen += len(labels)
        self._rows.add(X, labels, weights, ids)
        self._rows.trim(self._capacity)

    def _rebuild(self) -> None:
        """Retrain all experts on the stored rows, if there are two classes."""
        if np.count_nonzero(self._counts) >= 2:
            self._committee.rebuild(self._kept(), self._committee.scale)

    def _kept(self) -> LearningSet:
        """The stored rows, scaled, with the factors of C."""
        rows, scaler = self._rows, self._scaler
        costs = self._costs(rows.labels, rows.weights)
        return LearningSet(lambda places: scaler.transform(rows.X[places]), rows.labels, costs, rows.ids)

    def _costs(self, labels: Codes, weights: Floats) -> Floats:
        """Factors of C: sample weight times class weight."""
        if self.class_weight is None:
            return weights
        if isinstance(self.class_weight, str):
            factors = balanced_weights(self._counts)
        else:  # may contain classes that have not appeared yet
            named = dict(self.class_weight)
            factors = np.array([float(named.get(label, 1.0)) for label in self.classes_.tolist()])
        return np.asarray(weights * factors[labels])

    def _votes(self, X: Any) -> Floats:
        """The weighted vote on rows, of shape (n_rows, n_classes)."""
        self._check_fitted()
        X = check_rows(self, X, reset=False)
        if not self._committee.ready:
            return smoothed(self._counts, X.shape[0])
        X = double(X)
        self._scaler.check(X)
        scaled = self._scaler.transform(X)
        return np.asarray(np.tensordot(self.weights_, self._committee.given(scaled), 1))

    def describe_decision(self) -> Decision:
        """Describe the decision function as data, for export.

        Returns
        -------
        Decision
            The weighted vote of the experts.
        """
        return vote_decision(type(self).__name__, self._vote_parts(), self.classes_, self.n_features_in_)

    def contributions(self, X: Any) -> tuple[Ints, Floats]:
        """Compute what each support vector contributes to the decision about a row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (1, n_features)
            The row.

        Returns
        -------
        tuple of (ndarray of shape (n_SV,), ndarray of shape (n_SV, n_classes))
            The ids of the rows that are support vectors of at least one SVM expert, and the sums over the
            experts of weight * alpha * K; the columns for two classes are -f and f.
        """
        committee, row = self._fitted(), self._scaler.transform(double(X))
        totals: dict[int, Floats] = {}
        for weight, voter in zip(self.weights_.tolist(), committee.voters, strict=True):
            parts = voter.parts()
            if parts.logits is None or not len(parts.ids):
                continue
            z = row if parts.factors is None else row * parts.factors
            rows, center = parts.logits.rows, parts.logits.center
            if not sparse.issparse(rows) and len(center):
                rows, z = rows - center, z - center
            values = parts.logits.kernel.values(rows, z).ravel()
            found = weight * values[:, np.newaxis] * parts.logits.weights
            if found.shape[1] == 1:
                found = np.hstack([-found, found])
            for name, value in zip(parts.ids.tolist(), found, strict=True):
                totals[name] = totals.get(name, 0.0) + value
        ids = np.array(sorted(totals), dtype=np.int64)
        return ids, np.array([totals[name] for name in ids.tolist()]).reshape(len(ids), len(self.classes_))

    def _vote_parts(self) -> VoteParts:
        """`_votes` as data."""
        committee, scaler = self._fitted(), self._scaler
        if not committee.ready:
            frequencies = VoterParts(probabilities=smoothed(self._counts, 1)[0])
            return VoteParts(None, None, ["class frequencies"], np.ones(1), [frequencies], _MIN_PROBABILITY)
        names = [expert.name for expert in committee.experts]
        voters = [voter.parts() for voter in committee.voters]
        return VoteParts(scaler.mean, scaler.scale, names, self.weights_, voters, _MIN_PROBABILITY)

    # -------------------------------------------------------------------------------------------------- state

    def _get_state(self) -> dict[str, Any]:
        if not isinstance(self.experts, str):
            resolve(self.experts)  # checks them
        return super()._get_state()

    @classmethod
    def _as_data(cls, value: Any) -> Any:
        if isinstance(value, list | tuple):  # the experts
            return [_item_state(item) for item in value]
        return super()._as_data(value)

    @classmethod
    def _from_data(cls, value: Any) -> Any:
        if isinstance(value, list):
            return [_item_from(entry) for entry in value]
        return super()._from_data(value)

    def _parts(self) -> dict[str, Any]:
        return {
            "scaling": self._begun_with["scaling"],
            "changed": resolve(self.experts) != self._begun_with["experts"],
            "experts": [_expert_state(expert) for expert in self._committee.experts],
            "committee": self._committee.state(),
            "rows": self._rows.state(),
            "scaler": self._scaler.state(),
            "calibrator": self._calibrator.state(),
        }

    def _resume(self, state: dict[str, Any], fitted: dict[str, Any]) -> None:
        k, width = len(checked.classes("classes_", fitted["classes_"])), checked.features(fitted)
        for name in ("_capacity", "_max_rows", "_rows_seen"):
            checked.integer(name, fitted[name])
        checked.integer("_next_id", fitted["_next_id"], least=-(2**63), most=2**63)
        checked.integer("_seed", fitted["_seed"], most=2**31)
        checked.integers("_counts", fitted["_counts"], (k,))
        if len(np.unique(checked.integers("_numbers", fitted["_numbers"], (k,)))) < k:
            raise ValueError("_numbers must be distinct")
        super()._resume(state, fitted)
        entries = checked.items("experts", state["experts"])
        experts = tuple(_expert_from(checked.table("expert", entry)) for entry in entries)
        changed = checked.flag("changed", state["changed"])
        given = () if changed else resolve(self.experts)  # changed experts still raise an error
        self._begun_with = {"experts": given, "scaling": state["scaling"]}
        parts = {
            name: checked.table(name, state[name]) for name in ("rows", "scaler", "calibrator", "committee")
        }
        self._rows = LabeledRows.from_state(parts["rows"], k, width)
        self._scaler = Scaler.from_state(parts["scaler"], width)
        self._calibrator = OnlineCalibrator.from_state(parts["calibrator"])
        self._committee = Committee.from_state(parts["committee"], experts, k, width, self._seed)


def vote_scores(votes: Floats) -> Floats:
    """Votes as decision values, log(p) / 2, one column for each class."""
    return np.log(np.maximum(votes, _MIN_PROBABILITY)) / 2


def double(X: Rows) -> Rows:
    """Rows in double precision, without a copy if possible."""
    return X if X.dtype == np.float64 else X.astype(np.float64)


def _check_class_weight(class_weight: Mapping[Any, Any]) -> None:
    for label, weight in class_weight.items():
        if not constraints.NOT_NEGATIVE.test(weight):
            raise ValueError(
                f"class_weight must map each label to {constraints.NOT_NEGATIVE.accepts}, got {weight!r} for "
                f"{label!r}."
            )


def _expert_state(expert: Expert) -> dict[str, Any]:
    entry = {field.name: getattr(expert, field.name) for field in fields(expert)}
    return entry | {"estimator": None if expert.estimator is None else _describe.describe(expert.estimator)}


def _expert_from(entry: dict[str, Any]) -> Expert:
    estimator = None if entry["estimator"] is None else _describe.revive(entry["estimator"])
    expert = Expert(**(entry | {"estimator": estimator}))
    expert.check()
    return expert


def _item_state(item: Any) -> Any:
    """The state of an item of the parameter ``experts``: "auto", an Expert, or a classifier."""
    if isinstance(item, Expert | str):
        return item if isinstance(item, str) else _expert_state(item)
    return {"bare": _describe.describe(item)}


def _item_from(entry: Any) -> Any:
    if isinstance(entry, str):
        return entry
    return _describe.revive(entry["bare"]) if "bare" in entry else _expert_from(entry)
