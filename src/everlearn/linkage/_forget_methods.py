"""The methods of the never-ending linker that forget records."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .._base.lock import locked
from ..errors import InputError
from ..store.linked import LinkedPairs
from ..store.log import Writing
from ..store.lookup import Id, some
from ._index import key_entries, pairs_of_blocks, shrunk_blocks
from ._read_methods import ReadMethods


class ForgetMethods(ReadMethods):
    """Base of `NeverEndingLinker`: what is forgotten."""

    @locked
    def forget(self, ids: Iterable[Id]) -> None:
        """Forget records: remove them, their pairs and the labels of these from the store and the model.

        Clusters that they held together are split, and a key that is no longer too frequent gives pairs
        again. Clusters and model are then those of a store that never had these records.

        Parameters
        ----------
        ids : iterable of int or str
            The ids of the records.
        """
        self._follow()
        names = list(ids)
        found = self._linked.numbers_of(names)
        if unknown := [name for name in names if name not in found]:
            raise InputError(f"No record with the id {some(unknown)} in the store.", code="unknown_id")
        gone = sorted(found.values())
        if not gone:
            return
        order, records = self._some_records(gone)
        blocking = self._blocking()
        entries = key_entries(blocking, records, np.array(order, dtype=np.int64))
        blocks = shrunk_blocks(blocking, entries, set(gone), self._linked.members)
        rows = {row for number in gone for row in self._linked.pairs_with(number).rows if row is not None}
        with self._restored_on_error():
            state, back = self._state, self._pairs_back(blocks)
            clusters, changes = self._again(gone, [], LinkedPairs.of([]), without=gone)
            state |= {"erasing": sorted(rows), "linked_all": False, "n_there": state["n_there"] - len(gone)}
            self._answers = self._model = None
            if gone[0] <= state["last_statistics"]:  # they are counted in the statistics
                self._statistics, state["n_statistics"] = {}, 0
                state["last_statistics"] = -1

            def write(writing: Writing) -> None:
                self._linked.remove(writing, gone, entries.hashes, entries.numbers)
                for block in blocks:
                    self._linked.count_key(writing, list(block), 1)
                self._linked.add_pairs(writing, back)
                self._write_clusters(writing, clusters, changes, {"because": "forgotten"})
                self._write_statistics(writing)
                self._write_model(writing)
                self._write_state(writing)

            self._learner.write(write)
        self._erase()

    def _pairs_back(self, blocks: list[dict[int, int]]) -> LinkedPairs:
        """The pairs of blocks that are not in the store."""
        left, right, n_keys = pairs_of_blocks(blocks, self._state["two_tables"])
        known = self._linked.pairs_among(number for block in blocks for number in block)
        missing = ~np.isin((left << 32) | right, (known.left << 32) | known.right)
        if not missing.any():
            return LinkedPairs.of([])
        ends = left[missing], right[missing]
        order, records = self._some_records({*ends[0].tolist(), *ends[1].tolist()})
        return self._pairs(*ends, n_keys[missing], order, records)

    def _erase(self) -> None:
        """Erase the rows of forgotten records from the log, and compute model and clusters without them."""
        self._erase_rows()
        self.relink()
