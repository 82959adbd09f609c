"""The methods of the never-ending linker that read: clusters, records, the journal, counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from .._base.lock import locked
from ..store.lookup import Id, ids_of_texts
from ._answer_methods import AnswerMethods
from ._results import ClusterChange, Survey, reason_in_words
from ._statistics import hashes_of
from ._two_tables import with_names_of
from .records import Records, columns_of, has_ids, id_column, without_repeats


class ReadMethods(AnswerMethods):
    """Base of `NeverEndingLinker`: what is in the store."""

    @locked
    def link(self) -> dict[Id, int]:
        """Bring all clusters up to date, and get them.

        They depend on the records, their order and the answers alone: not on the parts in which these came,
        nor on what was forgotten or withdrawn.

        Returns
        -------
        dict of id to int
            The cluster of each record.
        """
        self._follow()
        if not self._up_to_date:
            self.relink()
        return self.clusters()

    @locked
    def clusters(self) -> dict[Id, int]:
        """Get the cluster of each record, as it is in the store.

        Returns
        -------
        dict of id to int
            The cluster of each record, in the order of their arrival.
        """
        self._follow()
        return {given: cluster for _, given, _, cluster in self._linked.all_records()}

    @locked
    def records(self) -> Iterator[tuple[Id, dict[str, str], int]]:
        """Get all records.

        Returns
        -------
        iterator of tuple of (id, dict, int)
            Id, fields and cluster of each record, in the order of their arrival.
        """
        self._follow()
        return ((given, fields, cluster) for _, given, fields, cluster in self._linked.all_records())

    @locked
    def journal(self, after: int = 0) -> list[ClusterChange]:
        """Get the merges and splits of clusters, with their reasons.

        Parameters
        ----------
        after : int, default=0
            The number of the change after which to begin.

        Returns
        -------
        list of ClusterChange
            The changes, in order.
        """
        self._follow()
        lines = list(self._linked.journal(after))
        wanted = {line.reason[end] for line in lines for end in ("left", "right") if end in line.reason}
        names = {number: given for number, (given, _) in self._linked.records(wanted).items()}
        return [
            ClusterChange(
                line.place, line.time, line.kind, line.before, line.after, reason_in_words(line.reason, names)
            )
            for line in lines
        ]

    @locked
    def status(self) -> dict[str, Any]:
        """Summarize the linkage.

        Returns
        -------
        dict
            Counts of records, clusters, pairs of records that were offered as questions, labels and open
            questions; schema; and whether clusters wait for `relink`.
        """
        self._follow()
        counts, learner = self._state, self._learner.status()
        clusters = self._linked.all_clusters()
        return {
            "store": learner["store"],
            "records": len(clusters),
            "clusters": len(set(clusters.values())),
            "same": counts["n_same"],
            "different": counts["n_different"],
            "rows": learner["rows"],
            "open_questions": learner["open_questions"],
            "schema": counts["schema"],
            "up_to_date": self._up_to_date,
            "two_tables": bool(counts["two_tables"]),
        }

    @locked
    def survey(
        self,
        parts: Iterable[Any],
        *,
        id: str | bool | None = None,
        table: str | None = None,
        columns: Mapping[str, str] | None = None,
        duplicates: str = "error",
    ) -> Survey:
        """Read records that `add` will be given, without adding them, and find the largest block.

        Parameters
        ----------
        parts : iterable of tables
            The records, some at a time.
        id : str or False, default=None
            As in `add`.
        table : {"left", "right"}, default=None
            As in `add`.
        columns : dict of str to str, default=None
            As in `add`.
        duplicates : {"error", "skip"}, default="error"
            As in `add`.

        Returns
        -------
        Survey
            Their number, and the block that would be the largest, with the records that are in the store.
        """
        self._side(table)
        self._follow()
        blocking = None if self._state["blocking"] is None else self._blocking()
        refused = {}  # the keys that too many records must not share, by their number
        if blocking is not None and blocking.large_blocks == "refuse":
            refused = {kind: key for kind, key in enumerate(blocking.keys) if not key.drops_large}
        sizes: Counter[tuple[int, str]] = Counter()
        n_records, seen = 0, set[Any]()
        for part in parts:
            data = without_repeats(part, id) if duplicates == "skip" else part
            named = self._renamed(data, columns)
            fields = self._state["schema"] or [name for name in named if name != id_column(named, id)]
            records = Records(named, dict.fromkeys(fields, "text"), id=id)
            skipped = set()
            if duplicates == "skip" and has_ids(data, id):
                known = seen | set(self._linked.numbers_of(records.ids))
                skipped = {at for at, given in enumerate(records.ids) if given in known}
                seen.update(records.ids)
            n_records += len(records) - len(skipped)
            for kind, key in refused.items():
                found = zip(*key.keys_of(records), strict=True)
                sizes.update((kind, text) for at, text in found if int(at) not in skipped)
        if blocking is None or not sizes:
            return Survey(n_records)
        if max(sizes.values()) + self._state["n_there"] > blocking.max_block_size:
            hashes = hashes_of(f"{kind}\0{text}" for kind, text in sizes).view(np.int64)
            stored = Counter(self._linked.members(hashes, blocking.max_block_size)[0].tolist())
            for block, key_hash in zip(list(sizes), hashes.tolist(), strict=True):
                sizes[block] += stored[key_hash]
        (kind, text), size = max(sizes.items(), key=itemgetter(1))
        return Survey(n_records, refused[kind], text, size, blocking.max_block_size)

    def _renamed(self, data: Any, columns: Mapping[str, str] | None) -> dict[str, Sequence[Any]]:
        """The columns of new records, with the names that the store has."""
        # The first records have names of their own.
        fields = list(self._state["schema"] or (columns or {}).values())
        return with_names_of(fields, data, columns) if fields else columns_of(data)

    def _side(self, table: str | None) -> int | None:
        """The number of a table; None in a store of one."""
        if not self._state["two_tables"]:
            if table is not None:
                raise ValueError(
                    f"table={table!r}, but the store links the records of one table: create a store with "
                    "two_tables=True."
                )
            return None
        if table not in ("left", "right"):
            raise ValueError(f"table must be 'left' or 'right' in a store of two tables, got {table!r}.")
        return int(table == "right")

    @locked
    def find_ids(self, names: Iterable[str]) -> list[Id]:
        """Convert ids that are given as text, such as on a command line.

        Parameters
        ----------
        names : iterable of str
            Ids as text; "17" is the string or the integer, whichever is in the store.

        Returns
        -------
        list of int or str
            The ids. Unknown ones are returned as strings.
        """
        written = list(names)
        found = ids_of_texts(written, lambda ids: self._linked.numbers_of(ids).keys())
        return [found[name] for name in written]

    @property
    def _up_to_date(self) -> bool:
        """Whether no record and no answer came or went since all clusters were computed."""
        state = self._state
        return bool(state["linked_all"] and state["linked_version"] == self._learner.model_version)
