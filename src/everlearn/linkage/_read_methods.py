"""The methods of the never-ending linker that read: clusters, records, the journal, counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .._base.lock import locked
from ..store.lookup import Id, ids_of_texts
from ._answer_methods import AnswerMethods
from ._results import ClusterChange, reason_in_words


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
