"""NeverEndingLearner: a learner that reads a stream for ever, asks, and survives being killed."""

import contextlib
import copy
import os
import time as clock
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import InputError, StoreError
from ..store.events import Arrived, Asked, Described, Ints, Labeled, Withdrawn
from ..store.log import Log
from ..store.lookup import Id, some
from . import _checks
from ._asking import Question
from ._erasing import Erasing
from ._folding import Happening
from ._lock import locked
from .outcome import Outcome
from .settings import make_settings, with_learner

_SNAPSHOT_ROWS = 50_000


class NeverEndingLearner(Erasing):
    """Online and active learning on an endless stream, over a durable log.

    Create one with `open`. Every batch, label and withdrawal is an event in the log, durable before the call
    returns. The state of the learner is a fold over these events. Snapshots of it are written from time to
    time; opening a store loads the newest one and replays the events after it. So a killed process loses
    nothing, and continues bit for bit.

    All methods may be called from several threads: they run one after the other. One process writes to a
    store; others open it with ``read_only=True`` and see the events up to that moment.

    Parameters
    ----------
    log : Log
        The log, open.
    settings : Settings
        The settings of the learner.
    snapshot_every : int
        Number of rows between two snapshots.

    Examples
    --------
    >>> from everlearn import LASVM, NeverEndingLearner
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(2000, random_state=0)
    >>> with NeverEndingLearner.open(":memory:", LASVM(C=10), label_rate=0.05, random_state=0) as learner:
    ...     for start in range(0, 2000, 200):
    ...         out = learner.step(X[start : start + 200])
    ...         asked = [question.id for question in out.questions]
    ...         learner.label(asked, [y[number] for number in asked])
    ...     status, right = learner.status(), learner.predict(X) == y
    >>> status["rows"], status["labels"], status["open_questions"], bool(right.mean() > 0.9)
    (2000, 100, 0, True)
    """

    @classmethod
    def open(
        cls,
        store: str | os.PathLike[str],
        learner: Any = None,
        *,
        query_strategy: Any = "auto",
        semi_supervised: Any = None,
        exemplars: Any = None,
        drift: Any = None,
        memory_rows: int = 5000,
        label_rate: float = 0.01,
        label_budget: int | None = None,
        audit: float = 0.1,
        cold_start_labels: int = 10,
        classes: Any = None,
        scaling: str = "standard",
        scale_features: Any = None,
        window: int = 1000,
        coverage: float | None = None,
        snapshot_every: int = _SNAPSHOT_ROWS,
        retention: str = "all",
        max_age: str | None = None,
        random_state: Any = None,
        read_only: bool = False,
        create: bool = True,
    ) -> "NeverEndingLearner":
        """Open a store, or create it; settings are stored when it is created, and then fixed.

        Parameters
        ----------
        store : str or path-like
            A file, created if it does not exist; the URL of a PostgreSQL database; or ":memory:".
        learner : classifier, default=None
            A learner of everlearn with ``partial_fit``. None is ``AdaptiveSVM()`` for a new store, and the
            stored learner for an existing one.
        query_strategy : query strategy, "auto", "margin", "random" or None, default="auto"
            Selects rows to ask about, among the most recent ones. "auto" is ``query.Auto()``, "margin" is
            ``query.Margin(pool_size=200)``; None never asks.
        semi_supervised : StreamS3VM, default=None
            Labels each batch with the help of its unlabeled rows; these labels are then the predictions.
        exemplars : Exemplars, default=None
            Chooses the unlabeled rows that are kept. None draws them at random, recent ones more often.
        drift : DriftDetector or str, default=None
            Detects concept drift from the learner's errors, and defines what to do then; or the name of a
            detector such as "adwin", which restarts the learner on the last labels. The default learner
            follows drift without a detector, because its experts with short memories take over.
        memory_rows : int, default=5000
            Maximum number of unlabeled rows kept for questions, and of labeled rows kept for retraining.
        label_rate : float, default=0.01
            Questions per row, in the long run.
        label_budget : int, default=None
            Maximum number of questions; None is no limit.
        audit : float, default=0.1
            The fraction of questions about random rows, for an unbiased estimate of quality.
        cold_start_labels : int, default=10
            Number of labels, asked for or not, before the query strategy is used. Until then, questions
            alternate between random rows and rows far from all labeled ones.
        classes : array-like, default=None
            Labels that may occur. Optional: a class is known from its first label on.
        scaling : {"standard", "none"}, default="standard"
            Whether features are standardized to mean 0 and standard deviation 1: by the first batch, then by
            all rows each time their number has doubled, up to 10,000 rows; after that the scale is fixed.
            Each change is an event, after which the learner is retrained on the labeled rows kept. Features
            of sparse rows are only divided, and only if their standard deviation is above 1, so that word
            frequencies stay unchanged.
        scale_features : array-like of bool, default=None
            The features to which this applies; None is all.
        window : int, default=1000
            Number of recent labels over which scores are computed.
        coverage : float, default=None
            The fraction of rows whose prediction set contains their class, such as 0.9, also under concept
            drift (adaptive conformal inference). None makes no prediction sets.
        snapshot_every : int, default=50_000
            Number of rows between two snapshots.
        retention : {"all", "needed"}, default="all"
            "all" keeps all rows in the log. "needed" drops, after a snapshot, rows that are neither in memory
            nor asked about: then the log cannot be replayed, and labels from before the last snapshot can be
            withdrawn only with learners that forget exactly.
        max_age : str, default=None
            Maximum age of rows, a number with a unit s, m, h, d or w: "30d". Older rows are removed from the
            log, the model and the bytes of the file, within a hundredth of that age; their ids may be used
            again. Age is counted in stream time, from the ``time`` of a batch to the newest one. None is no
            limit. The log cannot be replayed from before the last expired rows.
        random_state : int, RandomState instance or None, default=None
            Seed of all random choices, stored in a new store.
        read_only : bool, default=False
            Whether to open the store for reading, also while another process writes.
        create : bool, default=True
            Whether to create a store that does not exist. With False, or with ``read_only``, that is a
            `StoreError` with the code "no_store".

        Returns
        -------
        NeverEndingLearner
            The learner, a context manager which closes its store.
        """
        _checks.positive("snapshot_every", snapshot_every)
        log = Log(store, read_only=read_only, create=create)
        try:
            with log.one_moment() if read_only else contextlib.nullcontext():
                kept = _checks.read_settings(log, required=read_only or not create)
                if kept is None:
                    kept = make_settings(
                        learner,
                        query_strategy=query_strategy,
                        semi_supervised=semi_supervised,
                        exemplars=exemplars,
                        drift=drift,
                        memory_rows=memory_rows,
                        label_rate=label_rate,
                        label_budget=label_budget,
                        audit=audit,
                        cold_start_labels=cold_start_labels,
                        classes=classes,
                        scaling=scaling,
                        scale_features=scale_features,
                        window=window,
                        coverage=coverage,
                        retention=retention,
                        max_age=max_age,
                        random_state=random_state,
                    )
                    _checks.write_settings(log, kept)
                elif learner is not None:
                    _checks.same_learner(log, kept, learner)
                return cls(log, kept, snapshot_every)
        except BaseException:
            log.close()
            raise

    @classmethod
    def replay(
        cls, store: str | os.PathLike[str], learner: Any = None, *, into: str | os.PathLike[str] = ":memory:"
    ) -> "NeverEndingLearner":
        """Replay a log with another learner, into another store.

        Parameters
        ----------
        store : str or path-like
            The store whose log is read; it is not changed.
        learner : classifier, default=None
            The learner; None is that of the store.
        into : str or path-like, default=":memory:"
            The new store.

        Returns
        -------
        NeverEndingLearner
            The new learner, open.
        """
        with contextlib.closing(Log(store, read_only=True)) as source, source.one_moment():
            settings = _checks.read_settings(source, required=True)
            assert settings is not None
            if source.meta("complete_from"):
                raise StoreError(f"{source.place} has dropped rows, and cannot be replayed.")
            if learner is not None:
                settings = with_learner(settings, learner)
            log = Log(into)
            try:
                if log.last:
                    raise StoreError(f"{log.place} is not empty: replay into a store that is.")
                _checks.write_settings(log, settings)
                other = cls(log, settings, _SNAPSHOT_ROWS)
                for _, event in source.read():
                    ids = source.ids_of(event.numbers) if isinstance(event, Arrived) else None
                    other._happen(event, ids)
                log.copy_tombstones(source)
                other._commit([], source.notes())
            except BaseException:
                log.close()
                raise
        return other

    # -------------------------------------------------------------------------------------------- the stream

    @locked
    def step(
        self,
        X: Any,
        y: Any = None,
        *,
        ids: Any = None,
        time: float | None = None,
        notes: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """Process a batch: predict it, learn its labels, select questions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,), default=None
            Their labels, None or NaN if unknown. They are learned after the rows were predicted.
        ids : array-like of int or str, default=None
            Unique ids of the rows, for labels that arrive later. None numbers rows from 0.
        time : float, default=None
            The time of the batch, in seconds since 1970; None is now. It may be earlier than that of the last
            batch.
        notes : mapping, default=None
            Values to keep with the batch, in the same transaction: see `notes`.

        Returns
        -------
        Outcome
            Predictions, questions and scores.
        """
        rows = _checks.rows(X, self._n_features())
        places, labels = self._labels(y, rows.shape[0])
        numbered = range(self._log.n_rows, self._log.n_rows + rows.shape[0])
        names: list[Id] = list(numbered) if ids is None else _checks.ids(ids, rows.shape[0])
        if known := self._log.known(names):
            raise InputError(
                f"Duplicate id {some(known)}: ids must be unique, also among rows that were erased.",
                code="duplicate_id",
                remedy="Leave these rows out: known_ids tells which ids the store has.",
            )
        now = _checks.now(time)
        self._expiry.check(now)
        if (limit := self._expiry.limit(now)) is not None:
            self._expire(limit, now)
        arrived: Happening = Arrived(self._log.n_rows, rows, places, labels, now), names
        before, behind = self._first_scale(rows, now), self._next_scale(rows, now)
        effect = self._commit([*before, arrived, *behind], notes)[len(before)]
        self._expiry.note(now)
        return Outcome(
            names,
            np.array(effect.predictions, dtype=object),
            effect.scores,
            effect.probabilities,
            effect.sets,
            self._named(effect.questions),
            effect.measures,
            effect.drift,
        )

    @locked
    def label(self, ids: Any, y: Any, *, by: str = "", time: float | None = None) -> None:
        """Add labels to earlier rows; the last label of a row counts.

        Parameters
        ----------
        ids : array-like of int or str
            The rows.
        y : array-like
            Their labels.
        by : str, default=""
            Who gives the labels.
        time : float, default=None
            When; None is now.
        """
        self._check_open()
        names = _checks.ids(ids)
        places, labels = self._labels(y, len(names))
        if len(places) < len(names):
            raise ValueError(f"A label is missing, for the row {names[_first_gap(places)]!r}: give it later.")
        if names:
            now = _checks.now(time)
            self._happen(Labeled(self._log.numbers_of(names), labels, str(by), now))

    @locked
    def withdraw(self, ids: Any, *, by: str = "", time: float | None = None) -> None:
        """Withdraw labels: the learner becomes the one that never saw them.

        Parameters
        ----------
        ids : array-like of int or str
            The ids of labeled rows.
        by : str, default=""
            Who withdraws them.
        time : float, default=None
            When; None is now.
        """
        self._check_open()
        names = _checks.ids(ids)
        numbers = self._log.numbers_of(names)
        labeled = self._log.labeled_at(numbers, self._log.last + 1)
        without = [
            name for name, number in zip(names, numbers.tolist(), strict=True) if number not in labeled
        ]
        if without:
            raise ValueError(f"The row {some(without)} has no label that could be withdrawn.")
        if names:
            self._happen(Withdrawn(numbers, str(by), _checks.now(time)))

    @locked
    def ask(self, n: int = 1) -> list[Question]:
        """Return open questions; if there are too few, select more from the unlabeled rows kept.

        Parameters
        ----------
        n : int, default=1
            Maximum number of questions.

        Returns
        -------
        list of Question
            The questions, newest first. Selecting more is an event, within the budget.
        """
        self._check_open()
        count = _checks.count(n)
        asking = self._fold.asking
        more = (
            asking.within_budget(count - len(asking.open)) > 0 and self._settings.query_strategy is not None
        )
        if more and len(self._fold.pool) > 0 and not self._log.read_only:
            self._happen(Asked(count, clock.time()))
        newest = list(self._fold.asking.open.values())[::-1][:count]
        return self._named(newest)

    @locked
    def rescale(self) -> None:
        """Fix the scale of columns by rows kept to ask about, mostly recent ones; the learner begins anew."""
        self._check_open()
        kept = self._fold.pool if len(self._fold.pool) else self._fold.labeled
        if self._fold.mean is None or len(kept) == 0:
            raise ValueError("There is nothing to scale by: no row is kept, or scaling is 'none'.")
        self._happen(_checks.scale_of(self._fold.raw(kept), self._settings.scale_features, clock.time()))

    @locked
    def expire(self, time: float | None = None) -> int:
        """Drop all rows that are older than ``max_age`` now, for a stream that has come to rest.

        Parameters
        ----------
        time : float, default=None
            From when ages are counted, in seconds since 1970; None is now.

        Returns
        -------
        int
            How many rows were dropped.
        """
        self._check_open()
        if self._settings.max_age is None:
            raise InputError(
                "This store keeps rows of any age.",
                code="no_max_age",
                remedy="Make a store with max_age='30d', for example.",
            )
        now = _checks.now(time)
        self._expiry.check(now)
        limit = self._expiry.limit(now, exact=True)
        return 0 if limit is None else self._expire(limit, now)

    @locked
    def set_schema(self, schema: dict[str, Any], *, notes: Mapping[str, Any] | None = None) -> None:
        """Store a description of the columns, such as the state of a `Schema`; it is an event of its own.

        Parameters
        ----------
        schema : dict
            Names, numbers, lists and dicts.
        notes : mapping, default=None
            Values to keep with it, in the same transaction: see `notes`.
        """
        self._check_open()
        changed = schema != self._fold.schema
        events: list[Happening] = [(Described(copy.deepcopy(schema), clock.time()), None)] if changed else []
        if events or notes:
            self._commit(events, notes)

    # ------------------------------------------------------------------------------------------------ closing

    @locked
    def close(self) -> None:
        """Write a snapshot and release the store."""
        if self._log is None:
            return
        try:
            if not self._log.read_only:
                self._snapshots.finish(self._fold)
        finally:
            self._log.close()
            self._log = None  # type: ignore[assignment]

    def __enter__(self) -> "NeverEndingLearner":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def _first_gap(places: Ints) -> int:
    """The first number that is not among ascending ones."""
    return next((i for i, place in enumerate(places.tolist()) if place != i), len(places))
