"""The state of a never-ending linkage, and how clusters follow from pairs and answers.

Records, keys, pairs and clusters are in the database of the learner's log. Each change of them is one
transaction, together with the events that it adds to the log and with the number of the last event that it
knows of. So a process that is killed leaves the state before or after a change; what others have added to the
log meanwhile, such as answers from a labeling page, is taken up when the linkage is used next.
"""

from __future__ import annotations

import contextlib
import time as clock
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .._base import persist
from ..query.stopping import StoppingRule
from ..store.events import Ints
from ..store.linked import LinkedPairs
from ..store.log import Writing
from . import _describe
from ._cluster_ids import Change, renamed
from ._constrained import cluster_records
from ._pair_learner import DIFFERENT, SAME, PairLearner
from ._statistics import FieldStatistics
from ._stopping import resumed, told
from .answers import PairAnswers
from .blocking import Blocking
from .features import PairFeatures
from .records import Records

NOTE = "linkage"  # a note of stores whose rows are pairs of records
TRANSITIVE = "(follows from other answers)"  # who gives answers that follow from others
_PAIRS_AT_ONCE = 100_000
_FEWEST_OFFERS, _MOST_OFFERS = 50, 500
_STATE, _STATISTICS, _MODEL = "linkage", "statistics", "model"
_NEW: dict[str, Any] = {
    "schema": None,
    "blocking": None,
    "features": None,
    "model": None,  # the classifier of the clusters, described, if it is not that of the log
    "n_records": 0,  # that have arrived
    "n_there": 0,  # that were not forgotten
    "next_cluster": 0,
    "seen": 0,  # the last event that is known here
    "n_same": 0,
    "n_different": 0,
    "linked_at": 0,  # labels when all clusters were last computed
    "linked_version": 0,  # the model of the learner then
    "linked_all": True,  # whether no record came or went since then
    "n_statistics": 0,  # the records from which the statistics were computed, the first ones
    "last_statistics": -1,  # the number of the last of them
    "looks": [],  # how much labels changed the clusters: see _stopping.py
    "told": 0,  # answers of which the stopping rule was told
    "rule": None,  # what the stopping rule recorded
    "erasing": [],  # rows of forgotten records that are still in the log
}


class LinkedState:
    """Base of `NeverEndingLinker`: pairs, distances, clusters, and changes of them."""

    def __init__(
        self, learner: PairLearner, settings: Mapping[str, Any], stopping: StoppingRule | None = None
    ) -> None:
        self._lock = RLock()
        self._rule = stopping
        self._learner, self._linked = learner, learner.linked
        self._settings = {**_NEW, **settings}
        self._state: dict[str, Any] = {}
        self._statistics: dict[str, FieldStatistics] = {}
        self._model: Any = None
        self._answers: PairAnswers | None = None
        self._unknown: set[str] = set()  # open questions that somebody could not answer
        self._restore()

    def _restore(self) -> None:
        """Read the state from the database."""
        kept = self._linked.state(_STATE)
        self._state = dict(self._settings) if kept is None else {**_NEW, **kept}
        self._rule = resumed(self._rule, self._state["rule"])
        found = self._linked.state(_STATISTICS) or {}
        self._statistics = {name: FieldStatistics.from_state(state) for name, state in found.items()}
        model = (self._linked.state(_MODEL) or {}).get(_MODEL)
        self._model = None if model is None else persist.revive(model)
        self._answers = None

    @contextlib.contextmanager
    def _restored_on_error(self) -> Iterator[None]:
        """Around a change: if it fails, the state is what the database has."""
        try:
            yield
        except BaseException:
            self._restore()
            raise

    # ---------------------------------------------------------------------------------- records and features

    def _blocking(self) -> Blocking:
        return _describe.blocking_from_state(self._state["blocking"])

    def _features(self) -> PairFeatures:
        return _describe.features_from_state(self._state["features"])

    def _some_records(self, numbers: Iterable[int]) -> tuple[list[int], Records]:
        """Records by number, in order."""
        found = self._linked.records(numbers)
        order = sorted(found)
        return order, self._as_records([found[number] for number in order])

    def _as_records(self, found: list[tuple[Any, dict[str, str]]]) -> Records:
        schema = self._state["schema"]
        columns = {name: [record.get(name, "") for _, record in found] for name in schema}
        return _describe.made_records([given for given, _ in found], columns, schema)

    def _pairs(
        self, left: Ints, right: Ints, n_keys: Ints, order: list[int], records: Records
    ) -> LinkedPairs:
        """New pairs of records that have these numbers, with their features."""
        features = self._features().fit(records, statistics=self._statistics)
        places = np.array(order, dtype=np.int64)
        ends = [np.searchsorted(places, side) for side in (left, right)]
        rows = features.transform(*ends).astype(np.float32)
        return LinkedPairs(left, right, rows, [None] * len(left), [None] * len(left), n_keys)

    def _with_features(self, pairs: LinkedPairs) -> LinkedPairs:
        """Pairs with the features that they have by the statistics of now."""
        order, records = self._some_records({*pairs.left.tolist(), *pairs.right.tolist()})
        fresh = self._pairs(pairs.left, pairs.right, pairs.n_keys, order, records)
        return replace(pairs, features=fresh.features)

    def _compute_statistics(self, first: list[tuple[int, Any, dict[str, str]]]) -> None:
        """Compute the statistics of the first records: number, id and fields of each."""
        records = self._as_records([(given, fields) for _, given, fields in first])
        self._statistics = self._features().fit(records).statistics()
        self._state |= {"n_statistics": len(first), "last_statistics": first[-1][0]}

    # ------------------------------------------------------------------------------------------- distances

    @property
    def _has_both(self) -> bool:
        """Whether both classes have labels: a model of one class would take all pairs for that one."""
        return bool(self._state["n_same"] > 0 and self._state["n_different"] > 0)

    def _fit_model(self, renewed: bool) -> None:
        """Fit the model of the clusters to all answers.

        The learner of the log has learned pairs as they were when they were asked about; words have become
        more or less frequent since. This model depends on the records and the answers that are there, and on
        nothing else: not on their order, nor on what was forgotten or withdrawn.
        """
        self._model = None
        if self._has_both:
            pairs, _ = self._answered()
            features = pairs.features if not renewed else self._with_features(pairs).features
            labels = np.array([SAME if same else DIFFERENT for same in pairs.same])
            own = self._state["model"]
            pattern = clone(self._learner.untrained) if own is None else persist.revive(own)
            self._model = pattern.fit(features.astype(np.float64), labels)

    def score(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Get the decision values of pairs.

        Parameters
        ----------
        features : array-like of shape (n_pairs, n_features)
            The features of the pairs.

        Returns
        -------
        ndarray of shape (n_pairs,)
            The values, above 0 for a match; -inf as long as there is no model.
        """
        if self._model is None or not len(features):
            return np.full(len(features), -np.inf)
        parts = [
            self._model.decision_function(features[i : i + _PAIRS_AT_ONCE].astype(np.float64))
            for i in range(0, len(features), _PAIRS_AT_ONCE)
        ]
        return np.concatenate(parts)

    # -------------------------------------------------------------------------------------------- clusters

    def _partition(
        self, numbers: list[int], pairs: LinkedPairs, scores: NDArray[np.float64], side: int = 0
    ) -> dict[int, int]:
        """The cluster of each record by any number: of these records, from the pairs among them.

        ``side`` is the table of those that are not in the database yet, if there are two.
        """
        places = np.array(numbers, dtype=np.int64)
        left, right = (np.searchsorted(places, side) for side in (pairs.left, pairs.right))
        labeled = [at for at, same in enumerate(pairs.same) if same is not None]
        # Pairs without a common key are there because somebody spoke of them: they have no distance.
        compared = np.flatnonzero(pairs.n_keys > 0)
        labels = cluster_records(
            len(numbers),
            left[compared],
            right[compared],
            distances(scores[compared]),
            [(int(left[at]), int(right[at]), bool(pairs.same[at])) for at in labeled],
            clustering=self._state["clustering"],
            eps=self._state["eps"],
            min_pts=self._state["min_pts"],
            tables=self._tables_of(numbers, side),
        )
        return dict(zip(numbers, labels.tolist(), strict=True))

    def _tables_of(self, numbers: list[int], side: int) -> list[int] | None:
        """The table of each record; None if there is only one table."""
        if not self._state["two_tables"]:
            return None
        known = self._linked.sides_of(numbers)
        return [known.get(number, side) for number in numbers]

    def _again(
        self,
        touched: Iterable[int],
        fresh: list[int],
        pairs: LinkedPairs,
        without: Iterable[int] = (),
        side: int = 0,
    ) -> tuple[dict[int, int], list[Change]]:
        """Clusters of the records that share one with a touched record, and of new ones; what changes.

        ``pairs`` are new, or have new labels; the others are those in the database. ``side`` is the table of
        new records.
        """
        gone = set(without)
        before: dict[int, int | None] = dict(
            self._linked.in_clusters(set(self._linked.clusters_of(touched).values()))
        )
        before = {number: old for number, old in before.items() if number not in gone}
        known = self._linked.pairs_among(before)
        before |= dict.fromkeys(fresh)
        inside = [
            at for at, b in enumerate(pairs.right.tolist()) if int(pairs.left[at]) in before and b in before
        ]
        pairs = joined_pairs(known, pairs.at(inside))
        parts = self._partition(sorted(before), pairs, self.score(pairs.features), side)
        after, changes, self._state["next_cluster"] = renamed(before, parts, self._state["next_cluster"])
        return {number: new for number, new in after.items() if before[number] != new}, changes

    def _write_clusters(
        self, writing: Writing, clusters: Mapping[int, int], changes: Iterable[Change], reason: dict[str, Any]
    ) -> None:
        self._linked.set_clusters(writing, clusters)
        self._linked.add_to_journal(writing, clock.time(), [(*change, reason) for change in changes])

    def _write_state(self, writing: Writing, seen: int | None = None) -> None:
        if not self._state["seen"]:
            writing.set_notes({NOTE: True})
        self._state["seen"] = writing.last if seen is None else seen
        self._linked.set_state(writing, _STATE, self._state)

    def _write_statistics(self, writing: Writing) -> None:
        found = {name: statistics.state() for name, statistics in self._statistics.items()}
        self._linked.set_state(writing, _STATISTICS, found)

    def _write_model(self, writing: Writing) -> None:
        described = None if self._model is None else persist.describe(self._model)
        self._linked.set_state(writing, _MODEL, {_MODEL: described})

    # --------------------------------------------------------------------------------------------- answers

    def _take_up(self) -> None:
        """Take up answers that were added to the log, here or by others."""
        lost = False
        for row, label in self._learner.answered_after(self._state["seen"]).items():
            left, _, right = row.partition("-")
            found = self._linked.pair(int(left), int(right))
            same = None if label is None else label == SAME
            if same is not None:
                self._unknown.discard(row)
            if len(found) and found.same[0] is not same:
                self._take(found, same)
                lost = lost or found.same[0] is not None
        if lost:
            self._withdraw_implied()
        if self._learner.sequence > self._state["seen"]:
            self._learner.write(self._write_state)

    def _take(self, pair: LinkedPairs, same: bool | None) -> None:
        """Take the label of a pair, None for a label that was withdrawn."""
        a, b, was = int(pair.left[0]), int(pair.right[0]), pair.same[0]
        seen = self._state["seen"]
        for name, label in (("n_same", True), ("n_different", False)):
            self._state[name] += (same is label) - (was is label)
        self._answers = None
        if same is not None and self._rule is not None:
            self._state["told"] += 1
            told(self._rule, self._state["told"], self._model, self.score(pair.features)[0])
            self._state["rule"] = self._rule.get_state()
        clusters, changes = self._again([a, b], [], replace(pair, same=[same]))
        reason: dict[str, Any] = {"because": "withdrawn" if same is None else "answer", "left": a, "right": b}
        reason["same"] = was if same is None else same

        def write(writing: Writing) -> None:
            self._linked.set_labels(writing, [(a, b, same)])
            self._write_clusters(writing, clusters, changes, reason)
            self._write_state(writing, seen)  # other answers may be waiting

        with self._restored_on_error():
            self._learner.write(write)

    def _withdraw_implied(self) -> None:
        """Withdraw labels that followed from answers which are no longer there."""
        people, implied = self._answered()
        known = _answers_of(people)
        ends = zip(implied.left.tolist(), implied.right.tolist(), implied.rows, implied.same, strict=True)
        gone = [row for a, b, row, same in ends if known.implied(a, b) is not same]
        if gone:
            self._learner.withdraw(gone, by=TRANSITIVE)
            for row in gone:
                left, _, right = str(row).partition("-")
                self._take(self._linked.pair(int(left), int(right)), None)

    def _answered(self) -> tuple[LinkedPairs, LinkedPairs]:
        """The pairs that people answered, and those whose labels follow from these answers."""
        pairs = self._linked.labeled_pairs()
        rows = [row for row in pairs.rows if row is not None]
        given = self._learner.answers(rows) if rows else {}
        implied = {row for row, answers in given.items() if {answer.by for answer in answers} == {TRANSITIVE}}
        follows = np.array([row in implied for row in pairs.rows], dtype=bool)
        return pairs.at(np.flatnonzero(~follows)), pairs.at(np.flatnonzero(follows))

    def _known(self) -> PairAnswers:
        """All answers, those that say "same" first."""
        if self._answers is None:
            self._answers = _answers_of(self._linked.labeled_pairs())
        return self._answers

    # ---------------------------------------------------------------------------------------------- offers

    def _offered(
        self, free: NDArray[np.bool_], similarity: Any, scores: NDArray[np.float64], n_records: int
    ) -> list[int]:
        """Places of pairs that the learner may ask about: they become rows of its log.

        ``free`` pairs are neither in the log nor labeled. Without a model, from similar pairs to dissimilar
        ones, with more of the similar ones, because matches are rare. With one, pairs near the boundary, and
        of the others some that are taken for matches.
        """
        places = np.flatnonzero(free)
        n = min(len(places), max(_FEWEST_OFFERS, min(_MOST_OFFERS, n_records // 10)))
        if n == len(places):
            return [int(place) for place in places]
        order = places[np.argsort(-similarity[places], kind="stable")]
        ladder = order[np.unique((np.linspace(0, 1, n) ** 3 * (len(order) - 1)).astype(np.intp))]
        if self._model is None:
            return sorted(ladder.tolist())
        near = places[np.argsort(np.abs(scores[places]), kind="stable")[: n // 2]]
        matches = places[scores[places] > 0]
        random = np.random.default_rng([self._state["n_records"], len(free), int(places[-1])])
        drawn = random.permutation(matches)[: n // 4]
        return sorted(
            {*near.tolist(), *drawn.tolist(), *ladder[:: max(1, len(ladder) // max(n // 4, 1))].tolist()}
        )


def distances(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (1 + exp(f)) of decision values f."""
    return np.asarray(0.5 * (1 - np.tanh(scores / 2)))


def _answers_of(pairs: LinkedPairs) -> PairAnswers:
    """The labels of pairs, those that say "same" first."""
    answers = PairAnswers()
    for wanted in (True, False):
        for a, b, same in zip(pairs.left.tolist(), pairs.right.tolist(), pairs.same, strict=True):
            if same is wanted:
                answers.add(a, b, wanted)
    return answers


def both_shown(left: tuple[Any, dict[str, str]], right: tuple[Any, dict[str, str]]) -> dict[str, Any]:
    """Two records as one, with fields such as left_name and right_name."""
    found: dict[str, Any] = {}
    for side, (given, record) in (("left", left), ("right", right)):
        found |= {f"{side}_id": given} | {f"{side}_{name}": value for name, value in record.items()}
    return found


def joined_pairs(first: LinkedPairs, second: LinkedPairs) -> LinkedPairs:
    """Pairs of both; a pair of both is that of the second."""
    ends = set(zip(second.left.tolist(), second.right.tolist(), strict=True))
    both = zip(first.left.tolist(), first.right.tolist(), strict=True)
    first = first.at([at for at, pair in enumerate(both) if pair not in ends])
    if not len(first) or not len(second):
        return first if len(first) else second
    return LinkedPairs(
        np.concatenate([first.left, second.left]),
        np.concatenate([first.right, second.right]),
        np.concatenate([first.features, second.features]),
        first.rows + second.rows,
        first.same + second.same,
        np.concatenate([first.n_keys, second.n_keys]),
    )
