"""The methods of the never-ending linker that compute all clusters again."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.lock import locked
from ..store.linked import LinkedPairs
from ..store.log import Writing
from ._cluster_ids import renamed
from ._linked_state import STATISTICS_FROM, LinkedState, both_shown
from .records import Records

_AGAIN = 0.1  # all clusters are computed again when there are so many more labels than at the last time
_FEWEST_LABELS = 5


class RelinkMethods(LinkedState):
    """Base of `NeverEndingLinker`: all clusters, with the model as it is now."""

    @locked
    def relink(self, *, statistics: bool | None = None) -> None:
        """Compute all clusters again, with the model as it is now.

        Answers change the clusters of their records at once, but they also change the model, and so what it
        says about all other pairs. This is called by the other methods when the number of labels has grown by
        a tenth, or when the number of records has doubled; it takes time in proportion to the pairs.

        Parameters
        ----------
        statistics : bool, default=None
            Whether to compute again how frequent words are, and the features of all pairs. None does if the
            number of records has doubled since the last time.
        """
        self._take_up()
        state = self._state
        if not state["n_records"]:
            return
        if statistics is None:
            statistics = self._has_doubled()
        with self._restored_on_error():
            found = [*self._linked.all_pairs()]
            if statistics:
                found = self._with_new_features(found)
            pairs = _all_of(found)
            before: dict[int, int | None] = dict(self._linked.all_clusters())
            scores = self._scores(pairs.features)
            parts = self._partition(sorted(before), pairs, scores)
            after, changes, state["next_cluster"] = renamed(before, parts, state["next_cluster"])
            moved = {number: new for number, new in after.items() if before[number] != new}
            n_labels = state["n_same"] + state["n_different"]
            state |= {"linked_at": n_labels, "linked_version": self._learner.model_version}
            offered = self._offered(pairs, scores, 0)
            rows = [(int(pairs.left[at]), int(pairs.right[at])) for at in offered]

            def write(writing: Writing) -> None:
                reason = {"because": "model", "labels": n_labels, "records": state["n_records"]}
                self._write_clusters(writing, moved, changes, reason)
                if statistics:
                    for block in found:
                        self._linked.set_features(writing, block)
                    self._write_statistics(writing)
                self._linked.set_rows(writing, [(a, b, f"{a}-{b}") for a, b in rows])
                self._write_state(writing)

            ends = self._linked.records({number for pair in rows for number in pair})
            self._write_offers(pairs, offered, ends, write)

    def _with_new_features(self, blocks: list[LinkedPairs]) -> list[LinkedPairs]:
        """Pairs with the features that they have by statistics of all records."""
        everything = [(given, fields) for _, given, fields, _ in self._linked.all_records()]
        self._compute_statistics(self._as_records(everything))
        self._state["n_statistics"] = len(everything)
        made = []
        for block in blocks:
            order, records = self._some_records({*block.left.tolist(), *block.right.tolist()})
            fresh = self._pairs(block.left, block.right, order, records)
            made.append(LinkedPairs(block.left, block.right, fresh.features, block.rows, block.same))
        return made

    def _write_offers(self, pairs: LinkedPairs, offered: list[int], ends: Any, write: Any) -> None:
        """Write a change, and the pairs to ask about as rows of the log, in one transaction."""
        if not offered:
            self._learner.write(write)
            return
        both = [(int(pairs.left[at]), int(pairs.right[at])) for at in offered]
        shown = [both_shown(ends[a], ends[b]) for a, b in both]
        features = pairs.features[offered].astype(np.float64)
        with self._learner.also(write):
            self._learner.step(features, ids=[f"{a}-{b}" for a, b in both], records=shown)

    def _follow(self) -> None:
        """Take up answers, and compute all clusters again if it is time.

        Every method begins with this, so that the same calls lead to the same state, whether or not the
        process was killed between them.
        """
        self._take_up()
        state = self._state
        n_labels = state["n_same"] + state["n_different"]
        more = abs(n_labels - state["linked_at"])
        labels = self._has_model and more >= max(_FEWEST_LABELS, _AGAIN * state["linked_at"])
        if labels or (state["n_records"] and self._has_doubled()):
            self.relink()

    def _has_doubled(self) -> bool:
        """Whether there are twice as many records as when the statistics were computed; at most so often."""
        known = self._state["n_statistics"]
        return bool(known < STATISTICS_FROM and self._state["n_records"] >= 2 * known)

    def _erase_rows(self) -> None:
        """Erase the rows of forgotten records from the log and from the model."""
        rows = self._learner.with_rows(self._state["erasing"]) if self._state["erasing"] else []
        if rows:
            self._learner.erase(rows, verify=False)
        else:
            self._learner.scrub()
        with self._restored_on_error():
            self._state["erasing"] = []
            labeled = self._linked.labeled_pairs().same
            self._state["n_same"] = sum(same is True for same in labeled)
            self._state["n_different"] = sum(same is False for same in labeled)
            self._learner.write(self._write_state)
        self._withdraw_implied()

    def _feature_names(self, records: Records) -> list[str]:
        return list(self._features().fit(records, statistics=self._statistics).names)


def _all_of(blocks: list[LinkedPairs]) -> LinkedPairs:
    if not blocks:
        return LinkedPairs.of([])
    return LinkedPairs(
        np.concatenate([block.left for block in blocks]),
        np.concatenate([block.right for block in blocks]),
        np.concatenate([block.features for block in blocks]),
        [row for block in blocks for row in block.rows],
        [same for block in blocks for same in block.same],
    )
