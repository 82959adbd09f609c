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
    """A learner over a durable log: rows and labels in, predictions and questions out, for ever.

    Make one with `open`. Every batch, label and withdrawal is an event in the log, and is durable before a
    call returns. The state of the learner is a fold over these events: a snapshot of it is written now and
    then, and opening takes the newest one and folds the events behind it. So a process that is killed loses
    nothing, and goes on bit for bit as if it had not been.

    All methods may be called from several threads: they run one after the other. One process writes to a
    store; others open it with ``read_only=True`` and see the events that were there when they did.

    Parameters
    ----------
    log : Log
        The log, open.
    settings : Settings
        What the learner is made of.
    snapshot_every : int
        A snapshot is written every so many rows.

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
        """Make a store, or go on with one; settings count when it is made, and are kept in it.

        Parameters
        ----------
        store : str or path-like
            A file, which is made if it is not there; the URL of a PostgreSQL database; or ":memory:".
        learner : classifier, default=None
            A learner of everlearn with ``partial_fit``. None is ``AdaptiveSVM()`` for a new store and
            whatever a store has.
        query_strategy : query strategy, "auto", "margin", "random" or None, default="auto"
            What chooses the rows to ask about, among those that came last. "auto" is ``query.Auto()``,
            "margin" is ``query.Margin(pool_size=200)``; None never asks.
        semi_supervised : StreamS3VM, default=None
            Labels each batch with the help of its unlabeled rows; then these are its predictions.
        exemplars : Exemplars, default=None
            Chooses the unlabeled rows that are kept. None draws them, newer ones more often.
        drift : DriftDetector or str, default=None
            Detects concept drift by the learner's errors, with a policy for what to do then; or the name of a
            detector such as "adwin", which restarts the learner on the last labels. The default learner
            follows drift without a detector, as its experts with short memories take over.
        memory_rows : int, default=5000
            How many unlabeled rows are kept to ask about, and how many labeled ones to begin anew with.
        label_rate : float, default=0.01
            Questions for each row, in the long run.
        label_budget : int, default=None
            Questions in all; None sets no limit.
        audit : float, default=0.1
            The share of questions that is drawn at random, for an estimate of quality without bias.
        cold_start_labels : int, default=10
            The query strategy chooses once there are so many labels, whether asked for or not. Until then
            every second question is drawn at random, and the others are far from all labeled rows.
        classes : array-like, default=None
            Labels that may come. They need not be named: a class is known from its first label on.
        scaling : {"standard", "none"}, default="standard"
            Whether columns are brought to mean 0 and standard deviation 1: as the first batch has them, then
            as all rows have them whenever these have doubled, up to 10,000 rows; and then fixed. Each time
            is an event, after which the learner begins anew with the labeled rows that are kept. Columns of
            sparse rows are divided only if their standard deviation is above 1, so that word frequencies
            stay as they are.
        scale_features : array-like of bool, default=None
            To which columns that applies; None is all.
        window : int, default=1000
            Labels over which scores are taken.
        coverage : float, default=None
            The share of rows whose prediction set is to hold their class, such as 0.9. It is kept to under
            concept drift (adaptive conformal inference). None makes no sets.
        snapshot_every : int, default=50_000
            A snapshot is written every so many rows.
        retention : {"all", "needed"}, default="all"
            What becomes of rows after a snapshot. "all" keeps them in the log. "needed" drops those that are
            neither in memory nor asked about: then the log cannot be replayed, and labels from before the
            last snapshot are withdrawn only with learners that forget.
        max_age : str, default=None
            The age that rows may reach, as a number with a unit, s, m, h, d or w: "30d". Older ones leave the
            log, the model and the bytes of the file, within a hundredth of that age; their ids may come
            again. Age is counted in the time of the stream, from the ``time`` of a batch to the newest one.
            None keeps rows of any age. The log cannot be replayed from before the last rows that expired.
        random_state : int, RandomState instance or None, default=None
            Decides all that is drawn; what a new store has drawn is kept in it.
        read_only : bool, default=False
            Whether to read only: others may write meanwhile.
        create : bool, default=True
            Whether to make a store where there is none. With False, or with ``read_only``, that is a
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
        """What if another learner had been there from the start: fold a log anew, into another store.

        Parameters
        ----------
        store : str or path-like
            The store whose log is read; it stays as it is.
        learner : classifier, default=None
            The other learner; None is the same one.
        into : str or path-like, default=":memory:"
            Where the other store is made.

        Returns
        -------
        NeverEndingLearner
            The other learner, open.
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
        """Take in a batch: predict it, learn the labels that come with it, choose what to ask about.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,), default=None
            Their labels, None or NaN where there is none. They are learned after the rows were predicted.
        ids : array-like of int or str, default=None
            A name for each row, by which labels come later; none may come twice. None numbers rows from 0.
        time : float, default=None
            When it happened, in seconds since 1970; None is now. A clock that goes back is taken as it is.
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
        """Give labels to rows that came before; where one had another label, the last one counts.

        Parameters
        ----------
        ids : array-like of int or str
            The rows.
        y : array-like
            Their labels.
        by : str, default=""
            Who says so.
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
        """Take labels back: the learner becomes what it would be had they never been given.

        Parameters
        ----------
        ids : array-like of int or str
            The rows, which have a label.
        by : str, default=""
            Who says so.
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
        """Questions to be answered now: those open, and if they are fewer, more from the rows that are kept.

        Parameters
        ----------
        n : int, default=1
            How many, at most.

        Returns
        -------
        list of Question
            The questions, the newest first. Asking for more than are open is an event, within the budget.
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
        """Write a snapshot, and let others open the store."""
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
