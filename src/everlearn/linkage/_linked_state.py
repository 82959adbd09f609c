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

from ..store.events import Ints
from ..store.linked import LinkedPairs
from ..store.log import Writing
from . import _describe
from ._cluster_ids import Change, renamed
from ._constrained import cluster_records
from ._pair_learner import SAME, PairLearner
from ._statistics import FieldStatistics
from .answers import PairAnswers
from .blocking import Blocking
from .features import PairFeatures
from .records import Records

NOTE = "linkage"  # a note of stores whose rows are pairs of records
TRANSITIVE = "(follows from other answers)"  # who gives answers that follow from others
STATISTICS_FROM = 20_000  # the maximum number of records from which statistics are computed
_PAIRS_AT_ONCE = 100_000
_FEWEST_OFFERS, _MOST_OFFERS = 50, 500
_STATE, _STATISTICS = "linkage", "statistics"
_NEW: dict[str, Any] = {
    "schema": None,
    "blocking": None,
    "features": None,
    "n_records": 0,  # that have arrived
    "next_cluster": 0,
    "seen": 0,  # the last event that is known here
    "n_same": 0,
    "n_different": 0,
    "linked_at": 0,  # labels when all clusters were last computed
    "linked_version": 0,  # the model then
    "n_statistics": 0,  # records when the statistics were computed
    "erasing": [],  # rows of forgotten records that are still in the log
}


class LinkedState:
    """Base of `NeverEndingLinker`: pairs, distances, clusters, and changes of them."""

    def __init__(self, learner: PairLearner, settings: Mapping[str, Any]) -> None:
        self._lock = RLock()
        self._learner, self._linked = learner, learner.linked
        self._settings = {**_NEW, **settings}
        self._state: dict[str, Any] = {}
        self._statistics: dict[str, FieldStatistics] = {}
        self._answers: PairAnswers | None = None
        self._restore()

    def _restore(self) -> None:
        """Read the state from the database."""
        kept = self._linked.state(_STATE)
        self._state = dict(self._settings if kept is None else kept)
        found = self._linked.state(_STATISTICS) or {}
        self._statistics = {name: FieldStatistics.from_state(state) for name, state in found.items()}
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

    def _pairs(self, left: Ints, right: Ints, order: list[int], records: Records) -> LinkedPairs:
        """New pairs of records that have these numbers, with their features."""
        features = self._features().fit(records, statistics=self._statistics)
        places = np.array(order, dtype=np.int64)
        ends = [np.searchsorted(places, side) for side in (left, right)]
        rows = features.transform(*ends).astype(np.float32)
        return LinkedPairs(left, right, rows, [None] * len(left), [None] * len(left))

    def _compute_statistics(self, records: Records) -> None:
        """Statistics of records, of some of them if they are many."""
        n = len(records)
        places = np.unique(np.linspace(0, n - 1, min(n, STATISTICS_FROM)).astype(np.intp))
        values = {name: records.values(name) for name in records.schema}
        columns = {name: [cells[place] for place in places] for name, cells in values.items()}
        some = _describe.made_records([records.ids[place] for place in places], columns, records.schema)
        self._statistics = self._features().fit(some).statistics()

    # ------------------------------------------------------------------------------------------- distances

    @property
    def _has_model(self) -> bool:
        """Whether both classes have labels: a model of one class would take all pairs for that one."""
        return bool(self._state["n_same"] > 0 and self._state["n_different"] > 0)

    def _scores(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Decision values, above 0 for a match; without a model a large negative number."""
        if not self._has_model or not len(features):
            return np.full(len(features), -np.inf)
        parts = [
            self._learner.decision_function(features[i : i + _PAIRS_AT_ONCE].astype(np.float64))
            for i in range(0, len(features), _PAIRS_AT_ONCE)
        ]
        if any(part is None for part in parts):
            return np.full(len(features), -np.inf)
        return np.concatenate(parts)

    # -------------------------------------------------------------------------------------------- clusters

    def _partition(
        self, numbers: list[int], pairs: LinkedPairs, scores: NDArray[np.float64]
    ) -> dict[int, int]:
        """The cluster of each record by any number: of these records, from the pairs among them."""
        places = np.array(numbers, dtype=np.int64)
        left, right = (np.searchsorted(places, side) for side in (pairs.left, pairs.right))
        answers = [
            (int(left[at]), int(right[at]), same) for at, same in enumerate(pairs.same) if same is not None
        ]
        labels = cluster_records(
            len(numbers),
            left,
            right,
            0.5 * (1 - np.tanh(scores / 2)),
            answers,
            clustering=self._state["clustering"],
            eps=self._state["eps"],
            min_pts=self._state["min_pts"],
        )
        return dict(zip(numbers, labels.tolist(), strict=True))

    def _again(
        self, touched: Iterable[int], fresh: list[int], pairs: LinkedPairs, without: Iterable[int] = ()
    ) -> tuple[dict[int, int], list[Change]]:
        """Clusters of the records that share one with a touched record, and of new ones; what changes.

        ``pairs`` are new, or have new labels; the others are those in the database.
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
        pairs = joined_pairs(known, pairs_at(pairs, inside))
        parts = self._partition(sorted(before), pairs, self._scores(pairs.features))
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

    # --------------------------------------------------------------------------------------------- answers

    def _take_up(self) -> None:
        """Take up answers that were added to the log, here or by others."""
        lost = False
        for row, label in self._learner.answered_after(self._state["seen"]).items():
            left, _, right = row.partition("-")
            found = self._linked.pair(int(left), int(right))
            same = None if label is None else label == SAME
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
        pairs = self._linked.labeled_pairs()
        rows = [row for row in pairs.rows if row is not None]
        given = self._learner.answers(rows) if rows else {}
        implied = {row for row, answers in given.items() if {answer.by for answer in answers} == {TRANSITIVE}}
        people = _answers_of(pairs_at(pairs, [at for at, row in enumerate(pairs.rows) if row not in implied]))
        ends = zip(pairs.left.tolist(), pairs.right.tolist(), pairs.rows, pairs.same, strict=True)
        gone = [row for a, b, row, same in ends if row in implied and people.implied(a, b) is not same]
        if gone:
            self._learner.withdraw(gone, by=TRANSITIVE)
            for row in gone:
                left, _, right = str(row).partition("-")
                self._take(self._linked.pair(int(left), int(right)), None)

    def _known(self) -> PairAnswers:
        """All answers, those that say "same" first."""
        if self._answers is None:
            self._answers = _answers_of(self._linked.labeled_pairs())
        return self._answers

    # ---------------------------------------------------------------------------------------------- offers

    def _offered(self, pairs: LinkedPairs, scores: NDArray[np.float64], n_records: int) -> list[int]:
        """Places of pairs that the learner may ask about: they become rows of its log.

        Without a model, from similar pairs to dissimilar ones, with more of the similar ones, because matches
        are rare. With one, pairs near the boundary, and of the others some that are taken for matches.
        """
        free = [at for at, row in enumerate(pairs.rows) if row is None and pairs.same[at] is None]
        n = min(len(free), max(_FEWEST_OFFERS, min(_MOST_OFFERS, n_records // 10)))
        if n == len(free):
            return free
        places = np.array(free, dtype=np.intp)
        order = places[np.argsort(-pairs.features[places].mean(axis=1), kind="stable")]
        ladder = order[np.unique((np.linspace(0, 1, n) ** 3 * (len(order) - 1)).astype(np.intp))]
        if not self._has_model:
            return sorted(ladder.tolist())
        near = places[np.argsort(np.abs(scores[places]), kind="stable")[: n // 2]]
        matches = places[scores[places] > 0]
        random = np.random.default_rng([self._state["n_records"], len(pairs), int(places[-1])])
        drawn = random.permutation(matches)[: n // 4]
        return sorted(
            {*near.tolist(), *drawn.tolist(), *ladder[:: max(1, len(ladder) // max(n // 4, 1))].tolist()}
        )


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


def pairs_at(pairs: LinkedPairs, places: list[int]) -> LinkedPairs:
    """Some of the pairs."""
    rows, same = [pairs.rows[at] for at in places], [pairs.same[at] for at in places]
    return LinkedPairs(pairs.left[places], pairs.right[places], pairs.features[places], rows, same)


def joined_pairs(first: LinkedPairs, second: LinkedPairs) -> LinkedPairs:
    """Pairs of both; a pair of both is that of the second."""
    ends = set(zip(second.left.tolist(), second.right.tolist(), strict=True))
    both = zip(first.left.tolist(), first.right.tolist(), strict=True)
    first = pairs_at(first, [at for at, pair in enumerate(both) if pair not in ends])
    if not len(first) or not len(second):
        return first if len(first) else second
    return LinkedPairs(
        np.concatenate([first.left, second.left]),
        np.concatenate([first.right, second.right]),
        np.concatenate([first.features, second.features]),
        first.rows + second.rows,
        first.same + second.same,
    )
