"""NeverEndingLinker: records arrive without end, are linked, and can be taken back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._base import constraints, persist
from .._base.lock import locked
from ..errors import InputError
from ..query.stopping import StoppingRule
from ..store.log import Writing
from ..store.lookup import Id, some
from . import _describe
from ._forget_methods import ForgetMethods
from ._index import key_entries, new_pairs
from ._linked_state import distances
from ._pair_learner import PairLearner, both_learners, open_pairs, schema_of
from ._relink_methods import statistics_size
from ._results import AddedRecords, ClusterChange
from .blocking import Blocking, check_blocking, default_blocking
from .features import PairFeatures
from .linker import PairwiseLinker
from .records import Records, check_kinds, has_ids, without_repeats

__all__ = ["AddedRecords", "ClusterChange", "NeverEndingLinker"]


class NeverEndingLinker(ForgetMethods):
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
    stopping : StoppingRule, default=None
        When to stop asking.

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

    _expected: int | None = None  # records, for the default blocking

    def __init__(
        self, learner: PairLearner, settings: Mapping[str, Any], stopping: StoppingRule | None = None
    ) -> None:
        super().__init__(learner, settings, stopping)
        if self._state["erasing"]:  # a forgetting was interrupted
            self._erase()

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
        two_tables: bool = False,
        query_strategy: Any = "auto",
        label_budget: int | None = None,
        stopping: StoppingRule | None = None,
        expected_records: int | None = None,
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
            A learner of everlearn, for the labels "different" and "same". None is
            ``IDSVM(C=10, kernel="laplacian", gamma="auto", class_weight={"different": 1, "same": 2})``, which
            forgets exactly. One without ``partial_fit``, such as `VIRTUAL`, is fitted to all answers each
            time all clusters are computed again, and decides about these; questions are then selected by
            the default learner. A store that exists has its own: None takes that, and another is refused.
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
        two_tables : bool, default=False
            Whether records belong to one of two tables, "left" and "right" in `add`, and only records of
            different tables are compared.
        query_strategy : query strategy, "auto", "margin" or "random", default="auto"
            Selects the pairs to ask about, as in `NeverEndingLearner`.
        label_budget : int, default=None
            The maximum number of questions; None for no limit.
        stopping : StoppingRule, default=None
            When to stop asking, see `query.stopping`: it is told the margin of the pair and the number of
            support vectors. The store keeps what it was told, not the rule: pass it each time. None never
            stops; `verdict` says when more answers are of no use.
        expected_records : int, default=None
            About how many records there will be, for the default blocking: with more than 20,000, blocks are
            smaller, so that the number of pairs stays bearable. None expects no more than the first ones.
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
        check_kinds({} if schema is None else schema)
        check_blocking(blocking)
        features = PairFeatures(rivals=False) if features is None else features
        if features.preset != "default" or features.rivals:
            raise ValueError(
                f"features={features!r} depend on all records, which never all are there: use "
                "PairFeatures(rivals=False)."
            )
        asking, model = both_learners(learner, random_state)
        settings = {
            "model": model,
            "schema": None if schema is None else dict(schema),
            "blocking": None if blocking is None else _describe.blocking_state(blocking),
            "features": _describe.features_state(features),
            "clustering": clustering,
            "eps": float(eps),
            "min_pts": int(min_pts),
            "two_tables": bool(two_tables),
        }
        pairs = open_pairs(
            store,
            asking,
            create,
            query_strategy=query_strategy,
            label_budget=label_budget,
            random_state=random_state,
        )
        try:
            made = cls(pairs, settings, stopping)
            made._expected = expected_records
            made._check_settings(settings)
            if learner is not None:
                made._check_model(learner, model)
        except BaseException:
            pairs.close()
            raise
        return made

    def _check_settings(self, settings: Mapping[str, Any]) -> None:
        """Refuse a store of something else, and settings that are not those of the store."""
        if self._learner.n_rows and not self._state["n_records"]:
            raise InputError(
                f"{self._learner.status()['store']} has rows that are no pairs of records.",
                code="not_linkage",
                remedy="Use a new store.",
            )
        if not self._state["n_records"]:
            return
        for name in ("schema", "blocking", "two_tables"):
            wanted, kept = settings[name], self._state[name]
            if name == "schema" and wanted is not None:
                wanted = {field: kind or kept.get(field) for field, kind in wanted.items()}
            if wanted and wanted != kept:  # a store that is opened again has its own
                raise InputError(
                    f"{name}={wanted!r} is not that of the store, {kept!r}.",
                    code="other_settings",
                    remedy=f"Leave out {name}, or use a new store.",
                )

    def _check_model(self, learner: Any, model: dict[str, Any] | None) -> None:
        """Refuse a learner that is not the one that decides about the clusters of the store."""
        kept = self._state["model"]
        if model != kept:
            own = self._learner.untrained if kept is None else persist.revive(kept)
            raise InputError(
                f"learner={learner!r} is not that of the store, {own!r}.",
                code="other_settings",
                remedy="Leave out learner, or use a new store.",
            )

    # --------------------------------------------------------------------------------------------- records

    @locked
    def add(
        self,
        data: Any,
        *,
        id: str | bool | None = None,
        table: str | None = None,
        columns: Mapping[str, str] | None = None,
        duplicates: str = "error",
    ) -> AddedRecords:
        """Add records, and attach them to clusters.

        The work depends on the records that share a key with a new one, not on how many there are.

        Parameters
        ----------
        data : Records or table
            The records: pandas, polars, Arrow, a dict of columns, or dicts.
        id : str or False, default=None
            The column with the ids, which must be new and distinct, also from those of another table; None
            takes a column called "id". Without one, or with False, records are numbered on from 0.
        table : {"left", "right"}, default=None
            Their table, in a store of two tables.
        columns : dict of str to str, default=None
            For columns that have other names than the fields of the store: the names of both. Case, spaces
            and underscores make no difference.
        duplicates : {"error", "skip"}, default="error"
            What to do with records whose id is known, or that an earlier one of these records has.

        Returns
        -------
        AddedRecords
            Their ids and clusters.
        """
        if duplicates not in ("error", "skip"):
            raise ValueError(f"duplicates must be 'error' or 'skip', got {duplicates!r}.")
        side = self._side(table)
        self._follow()
        if hasattr(data, "__len__") and len(data) == 0:
            return AddedRecords([], [], 0)
        first = int(self._state["n_records"])
        schema = self._state["schema"]
        if isinstance(data, Records):
            records = data
        else:
            data = without_repeats(data, id) if duplicates == "skip" else data
            records = Records(self._renamed(data, columns), schema, id=id)
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
            return self._add([ids[at] for at in kept], [records[at] for at in kept], records, side)

    def _add(
        self, ids: list[Id], fields: list[dict[str, str]], records: Records, side: int | None
    ) -> AddedRecords:
        state, first = self._state, int(self._state["n_records"])
        if not first:
            state["schema"] = dict(records.schema)
            if state["blocking"] is None:
                state["blocking"] = _describe.blocking_state(default_blocking(records, self._expected))
        fresh = self._as_records(list(zip(ids, fields, strict=True)))
        new = list(range(first, first + len(ids)))
        lines = list(zip(new, ids, fields, strict=True))
        begins = not state["n_there"]
        if begins:
            self._compute_statistics(lines[: statistics_size(len(ids))])
        blocking = self._blocking()
        entries = key_entries(blocking, fresh, np.array(new, dtype=np.int64))
        found = new_pairs(blocking, entries, side, self._linked.members)
        ends = self._linked.records(np.unique(found.left[found.left < first]).tolist())
        ends |= {number: (given, record) for number, given, record in lines}
        order = sorted(ends)
        compared = self._as_records([ends[number] for number in order])
        pairs = self._pairs(found.left, found.right, found.n_keys, order, compared)
        scores = self.score(pairs.features)
        near = distances(scores) <= state["eps"]
        touched = np.unique(pairs.left[near & (pairs.left < first)]).tolist()
        clusters, changes = self._again(touched, new, pairs, side=side or 0)
        similarity = pairs.features.mean(axis=1) if len(pairs) else np.zeros(0)
        offered = self._offered(np.ones(len(pairs), dtype=bool), similarity, scores, len(ids))
        for at in offered:
            pairs.rows[at] = f"{pairs.left[at]}-{pairs.right[at]}"
        state["n_records"] = first + len(ids)
        state["n_there"] += len(ids)
        state["linked_all"] = False

        def write(writing: Writing) -> None:
            made = [(number, given, record, clusters[number]) for number, given, record in lines]
            self._linked.add_records(writing, made, side or 0)
            self._linked.add_keys(writing, entries.hashes, entries.numbers, side or 0)
            for members in found.outgrown:
                self._linked.count_key(writing, members, -1)
            self._linked.add_pairs(writing, pairs)
            others = {number: cluster for number, cluster in clusters.items() if number < first}
            self._write_clusters(writing, others, changes, {"because": "records", "first": first})
            if begins:
                self._write_statistics(writing)
            self._write_state(writing)

        if self._learner.schema is None and offered:
            self._learner.set_schema(schema_of(self._feature_names(fresh)))
        self._write_offers(pairs.at(offered), ends, write)
        self._follow()
        clusters = self._linked.clusters_of(new)
        return AddedRecords(ids, [clusters[number] for number in new], len(pairs))

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
