"""The methods of the never-ending linker that compute all clusters again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.lock import locked
from ..store.linked import LinkedPairs
from ..store.log import Writing
from ._cluster_ids import renamed
from ._linked_state import LinkedState, both_shown
from ._stopping import LOOKS_KEPT, share_moved
from .records import Records

_AGAIN = 0.1  # all clusters are computed again when there are so many more labels than at the last time
_FEWEST_LABELS = 5
_STATISTICS_STEP = 1.25  # statistics are computed again when there are so many times more records
_FEWEST_RECORDS, _MOST_RECORDS = 16, 20_000  # from which they are computed


def statistics_size(n: int) -> int:
    """From how many records, the first ones, statistics are computed if there are n.

    That depends on n alone, so that the features of a pair depend on the records that are there, not on the
    parts in which they came.
    """
    size = float(_FEWEST_RECORDS)
    while size * _STATISTICS_STEP <= min(n, _MOST_RECORDS):
        size *= _STATISTICS_STEP
    return n if n < _FEWEST_RECORDS else _MOST_RECORDS if n >= _MOST_RECORDS else int(size)


class RelinkMethods(LinkedState):
    """Base of `NeverEndingLinker`: all clusters, with the model as it is now."""

    @locked
    def relink(self, *, statistics: bool | None = None) -> None:
        """Fit the model to all answers, and compute all clusters again.

        Answers change the clusters of their records at once, but they also change the model, and so what it
        says about all other pairs. This is called by the other methods when the number of labels has grown by
        a tenth, or the number of records by a quarter, up to 20,000; it takes time in proportion to the
        pairs. The result depends on the records, their order and the answers alone.

        Parameters
        ----------
        statistics : bool, default=None
            Whether to compute again how frequent words are, and the features of all pairs. None does if the
            number of records has grown by a quarter since the last time.
        """
        self._take_up()
        state = self._state
        if not state["n_there"]:
            return
        renewed = self._has_grown() if statistics is None else statistics
        with self._restored_on_error():
            if renewed:
                first = self._linked.first_records(statistics_size(state["n_there"]))
                self._compute_statistics([line[:3] for line in first])
            self._fit_model(renewed)
            pairs, blocks, scores = self._scored(renewed)
            before: dict[int, int | None] = dict(self._linked.all_clusters())
            parts = self._partition(sorted(before), pairs, scores)
            after, changes, state["next_cluster"] = renamed(before, parts, state["next_cluster"])
            moved = {number: new for number, new in after.items() if before[number] != new}
            n_labels = state["n_same"] + state["n_different"]
            if n_labels > state["linked_at"] and self._model is not None:
                look = [state["linked_at"], n_labels, share_moved(before, after)]
                state["looks"] = [*state["looks"], look][-LOOKS_KEPT:]
            state |= {
                "linked_at": n_labels,
                "linked_version": self._learner.model_version,
                "linked_all": True,
            }
            offered = self._offered_of(pairs, scores)
            rows = [(int(a), int(b)) for a, b in zip(offered.left, offered.right, strict=True)]

            def write(writing: Writing) -> None:
                reason = {"because": "model", "labels": n_labels, "records": state["n_there"]}
                self._write_clusters(writing, moved, changes, reason)
                for block in blocks:
                    self._linked.set_features(writing, block)
                if renewed:
                    self._write_statistics(writing)
                self._write_model(writing)
                self._linked.set_rows(writing, [(a, b, f"{a}-{b}") for a, b in rows])
                self._write_state(writing)

            ends = self._linked.records({number for pair in rows for number in pair})
            self._write_offers(offered, ends, write)

    def _scored(self, renewed: bool) -> tuple[LinkedPairs, list[LinkedPairs], NDArray[np.float64]]:
        """All pairs with their mean similarity as the only feature; those with new features; the scores."""
        small, blocks, scores = [], [], [np.zeros(0)]
        for stored in self._linked.all_pairs():
            block = self._with_features(stored) if renewed else stored
            blocks += [block] if renewed else []
            scores.append(self.score(block.features))
            small.append(replace(block, features=block.features.mean(axis=1, keepdims=True)))
        return _all_of(small), blocks, np.concatenate(scores)

    def _offered_of(self, pairs: LinkedPairs, scores: NDArray[np.float64]) -> LinkedPairs:
        """Some pairs to offer as questions, with their features."""
        known = (
            row is not None or same is not None for row, same in zip(pairs.rows, pairs.same, strict=True)
        )
        free = ~np.fromiter(known, dtype=bool, count=len(pairs)) & (pairs.n_keys > 0)
        chosen = pairs.at(self._offered(free, pairs.features.ravel(), scores, 0))
        return self._with_features(chosen) if len(chosen) else chosen

    def _write_offers(self, offered: LinkedPairs, ends: Any, write: Any) -> None:
        """Write a change, and pairs to ask about as rows of the log, in one transaction."""
        if not len(offered):
            self._learner.write(write)
            return
        both = list(zip(offered.left.tolist(), offered.right.tolist(), strict=True))
        shown = [both_shown(ends[a], ends[b]) for a, b in both]
        features = offered.features.astype(np.float64)
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
        labels = self._has_both and more >= max(_FEWEST_LABELS, _AGAIN * state["linked_at"])
        if labels or self._has_both != (self._model is not None) or self._has_grown():
            self.relink()

    def _has_grown(self) -> bool:
        """Whether the statistics are not those of as many records as they should be."""
        return bool(self._state["n_statistics"] != statistics_size(self._state["n_there"]))

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
        np.concatenate([block.n_keys for block in blocks]),
    )
