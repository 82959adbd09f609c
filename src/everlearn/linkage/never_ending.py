"""NeverEndingLinker: records arrive without end, are linked, and can be taken back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from .._base import constraints
from .._base.lock import locked
from ..errors import InputError
from ..store.log import Writing
from ..store.lookup import Id, some
from ..svm import IDSVM
from . import _describe
from ._answer_methods import AnswerMethods
from ._index import key_entries, new_pairs
from ._linked_state import pairs_at
from ._pair_learner import DIFFERENT, SAME, PairLearner, schema_of
from ._results import AddedRecords, ClusterChange, reason_in_words
from .blocking import Blocking, default_blocking
from .features import PairFeatures
from .linker import PairwiseLinker
from .records import Records, has_ids

__all__ = ["AddedRecords", "ClusterChange", "NeverEndingLinker"]


class NeverEndingLinker(AnswerMethods):
    """Link records that arrive without end; every answer, and every record, can be taken back.

    Create one with `open`. New records are compared with those that share a key, attached to clusters, and
    may merge clusters. Clusters have ids that last, and each merge and split is in the journal with its
    reason. Pairs that are worth a question are rows of a `NeverEndingLearner`, whose log is the store: so
    `everlearn ask`, `everlearn serve` and everything else that asks people works on the same file.

    Everything is durable before a call returns. A process that is killed loses nothing.

    Parameters
    ----------
    learner : PairLearner
        The learner of pairs, open.
    settings : mapping
        The settings of a new store.

    Examples
    --------
    >>> from everlearn.linkage import NeverEndingLinker
    >>> with NeverEndingLinker.open(":memory:", {"name": "name", "city": "category"}) as linker:
    ...     _ = linker.add([{"id": 1, "name": "Ann Lee", "city": "Rome"}, {"id": 2, "name": "Bo Ray"}])
    ...     _ = linker.add([{"id": 3, "name": "Anne Lee", "city": "Rome"}, {"id": 4, "name": "Bo Orr"}])
    ...     linker.answer(1, 3, True)
    ...     linker.answer(2, 4, False)
    ...     linker.clusters()
    {1: 0, 2: 1, 3: 0, 4: 3}
    """

    def __init__(self, learner: PairLearner, settings: Mapping[str, Any]) -> None:
        super().__init__(learner, settings)
        if self._state["erasing"]:  # a forgetting was interrupted
            self._erase_rows()

    @classmethod
    def open(
        cls,
        store: str | os.PathLike[str],
        schema: Mapping[str, str | None] | None = None,
        *,
        learner: Any = None,
        blocking: Blocking | None = None,
        features: PairFeatures | None = None,
        clustering: str = "average",
        eps: float = 0.5,
        min_pts: int = 2,
        query_strategy: Any = "auto",
        label_budget: int | None = None,
        random_state: int = 0,
        create: bool = True,
    ) -> NeverEndingLinker:
        """Open a store, or create it; the settings of an existing store are those it was created with.

        Parameters
        ----------
        store : str or path-like
            A file, which is created if it does not exist; the URL of a PostgreSQL database; or ":memory:".
        schema : dict of str to str, default=None
            The fields to compare and their kinds, as in `Records`; None infers them from the first records.
        learner : classifier, default=None
            A learner of everlearn with ``partial_fit``, for the labels "different" and "same". None is
            ``IDSVM(C=10, class_weight={"different": 1, "same": 2})``, which forgets exactly.
        blocking : Blocking, default=None
            The pairs that are compared. None is `default_blocking` of the first records.
        features : PairFeatures, default=None
            The features of a pair; None is ``PairFeatures(rivals=False)``. Features that depend on other
            records cannot be used.
        clustering : {"average", "dbscan", "components"}, default="average"
            How records are clustered, as in `PairwiseLinker`.
        eps : float, default=0.5
            The largest distance within a cluster, as in `PairwiseLinker`.
        min_pts : int, default=2
            For "dbscan", the size of the neighborhood of a core.
        query_strategy : query strategy, "auto", "margin" or "random", default="auto"
            Selects the pairs to ask about, as in `NeverEndingLearner`.
        label_budget : int, default=None
            The maximum number of questions; None for no limit.
        random_state : int, default=0
            The seed of everything random.
        create : bool, default=True
            Whether to create a store that does not exist.

        Returns
        -------
        NeverEndingLinker
            The linker, a context manager that closes its store.
        """
        constraints.check(PairwiseLinker(clustering=clustering, eps=eps, min_pts=min_pts))
        features = PairFeatures(rivals=False) if features is None else features
        if features.preset != "default" or features.rivals:
            raise ValueError(
                f"features={features!r} depend on all records, which never all are there: use "
                "PairFeatures(rivals=False)."
            )
        settings = {
            "schema": None if schema is None else dict(schema),
            "blocking": None if blocking is None else _describe.blocking_state(blocking),
            "features": _describe.features_state(features),
            "clustering": clustering,
            "eps": float(eps),
            "min_pts": int(min_pts),
        }
        pairs = PairLearner.open(
            store,
            (IDSVM(C=10, class_weight={DIFFERENT: 1, SAME: 2}) if learner is None else learner)
            if create
            else None,
            query_strategy=query_strategy,
            label_budget=label_budget,
            classes=[DIFFERENT, SAME],
            scaling="none",
            label_rate=0.0,
            audit=0.0,
            random_state=random_state,
            create=create,
        )
        assert isinstance(pairs, PairLearner)
        try:
            made = cls(pairs, settings)
            made._check_settings(settings, given=schema is not None or blocking is not None)
        except BaseException:
            pairs.close()
            raise
        return made

    def _check_settings(self, settings: Mapping[str, Any], given: bool) -> None:
        """Refuse a store of something else, and settings that are not those of the store."""
        if self._learner.n_rows and not self._state["n_records"]:
            raise InputError(
                f"{self._learner.status()['store']} has rows that are no pairs of records.",
                code="not_linkage",
                remedy="Use a new store.",
            )
        if not given or not self._state["n_records"]:
            return
        for name in ("schema", "blocking"):
            wanted, kept = settings[name], self._state[name]
            if name == "schema" and wanted is not None:
                wanted = {field: kind or kept.get(field) for field, kind in wanted.items()}
            if wanted is not None and wanted != kept:
                raise InputError(
                    f"{name}={wanted!r} is not that of the store, {kept!r}.",
                    code="other_settings",
                    remedy=f"Leave out {name}, or use a new store.",
                )

    # --------------------------------------------------------------------------------------------- records

    @locked
    def add(self, data: Any, *, id: str | None = None, duplicates: str = "error") -> AddedRecords:
        """Add records, and attach them to clusters.

        The work depends on the records that share a key with a new one, not on how many there are.

        Parameters
        ----------
        data : Records or table
            The records: pandas, polars, Arrow, a dict of columns, or dicts.
        id : str, default=None
            The column with the ids, which must be new and distinct; None takes a column called "id". Without
            one, records are numbered on from 0.
        duplicates : {"error", "skip"}, default="error"
            What to do with records whose id is known.

        Returns
        -------
        AddedRecords
            Their ids and clusters.
        """
        if duplicates not in ("error", "skip"):
            raise ValueError(f"duplicates must be 'error' or 'skip', got {duplicates!r}.")
        self._follow()
        if hasattr(data, "__len__") and len(data) == 0:
            return AddedRecords([], [], 0)
        first = int(self._state["n_records"])
        records = data if isinstance(data, Records) else Records(data, self._state["schema"], id=id)
        numbered = not isinstance(data, Records) and not has_ids(data, id)
        ids = [first + at for at in range(len(records))] if numbered else list(records.ids)
        known = self._linked.numbers_of(ids)
        if known and duplicates == "error":
            raise InputError(
                f"Duplicate id {some(list(known))}: these records are in the store.",
                code="duplicate_id",
                remedy="Leave them out, or pass duplicates='skip'.",
            )
        kept = [at for at, given in enumerate(ids) if given not in known]
        if not kept:
            return AddedRecords([], [], 0)
        with self._restored_on_error():
            return self._add([ids[at] for at in kept], [records[at] for at in kept], records)

    def _add(self, ids: list[Id], fields: list[dict[str, str]], records: Records) -> AddedRecords:
        state, first = self._state, int(self._state["n_records"])
        if not first:
            state["schema"] = dict(records.schema)
            if state["blocking"] is None:
                state["blocking"] = _describe.blocking_state(default_blocking(records))
        fresh = self._as_records(list(zip(ids, fields, strict=True)))
        new = list(range(first, first + len(ids)))
        if not first:
            self._compute_statistics(fresh)
            state["n_statistics"] = len(ids)
        blocking = self._blocking()
        entries = key_entries(blocking, fresh, np.array(new, dtype=np.int64))
        left, right, keep = new_pairs(blocking, entries, self._linked.members)
        earlier = np.unique(left[left < first]).tolist()
        found = self._linked.records(earlier)
        found |= dict(zip(new, zip(ids, fields, strict=True), strict=True))
        order = sorted(found)
        pairs = self._pairs(left, right, order, self._as_records([found[number] for number in order]))
        scores = self._scores(pairs.features)
        near = 0.5 * (1 - np.tanh(scores / 2)) <= state["eps"]
        touched = np.unique(left[near & (left < first)]).tolist()
        clusters, changes = self._again(touched, new, pairs)
        offered = self._offered(pairs, scores, len(ids))
        for at in offered:
            pairs.rows[at] = f"{left[at]}-{right[at]}"
        state["n_records"] = first + len(ids)

        def write(writing: Writing) -> None:
            lines = zip(new, ids, fields, (clusters[number] for number in new), strict=True)
            self._linked.add_records(writing, lines)
            self._linked.add_keys(writing, entries.hashes[keep], entries.numbers[keep])
            self._linked.add_pairs(writing, pairs)
            others = {number: cluster for number, cluster in clusters.items() if number < first}
            self._write_clusters(writing, others, changes, {"because": "records", "first": first})
            if not first:
                self._write_statistics(writing)
            self._write_state(writing)

        if not first and offered:
            self._learner.set_schema(schema_of(self._feature_names(fresh)))
        self._write_offers(pairs, offered, found, write)
        self._follow()
        clusters = self._linked.clusters_of(new)
        return AddedRecords(ids, [clusters[number] for number in new], len(pairs))

    @locked
    def forget(self, ids: Iterable[Id]) -> None:
        """Forget records: remove them, their pairs and the labels of these from the store and the model.

        Clusters that they held together are split. How frequent words are is computed again without them.

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
        entries = key_entries(self._blocking(), records, np.array(order, dtype=np.int64))
        rows: list[str] = []
        for number in gone:
            pairs = self._linked.pairs_with(number)
            rows += [row for row in pairs.rows if row is not None]
        with self._restored_on_error():
            clusters, changes = self._again(gone, [], pairs_at(pairs, []), without=gone)
            self._state["erasing"] = sorted(set(rows))
            self._answers = None

            def write(writing: Writing) -> None:
                self._linked.remove(writing, gone, entries.hashes, entries.numbers)
                self._write_clusters(writing, clusters, changes, {"because": "forgotten"})
                self._write_state(writing)

            self._learner.write(write)
        self._erase_rows()
        self.relink(statistics=True)

    # --------------------------------------------------------------------------------------------- clusters

    @locked
    def link(self) -> dict[Id, int]:
        """Bring all clusters up to date with the model, and get them.

        Returns
        -------
        dict of id to int
            The cluster of each record.
        """
        self._follow()
        if self._state["linked_version"] != self._learner.model_version:
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
            "up_to_date": counts["linked_version"] == self._learner.model_version,
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
        texts = list(names)
        numbers = {
            text: int(text) for text in texts if text.lstrip("-").isascii() and text.lstrip("-").isdigit()
        }
        known = self._linked.numbers_of([*texts, *numbers.values()])
        return [text if text in known or numbers.get(text) not in known else numbers[text] for text in texts]

    @property
    def learner(self) -> PairLearner:
        """The `NeverEndingLearner` whose rows are pairs."""
        return self._learner

    @locked
    def close(self) -> None:
        """Write a snapshot and close the store, so that other processes can open it."""
        self._learner.close()

    def __enter__(self) -> NeverEndingLinker:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
