"""NeverEndingLearner: online learning from an endless stream, with active learning and crash recovery."""

import contextlib
import copy
import os
import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._base.lock import one_writer
from ..errors import InputError, StoreError
from ..store.beside import Request, add_records, add_requests, copy_beside
from ..store.events import Arrived, Described
from ..store.log import Log, Writing
from ..store.lookup import Id, some
from . import _checks
from ._learner_state import EventResult
from ._log_backed import EventWithIds
from ._question_methods import QuestionMethods
from ._settings import make_settings, with_learner
from .outcome import Outcome

_SNAPSHOT_ROWS = 50_000


class NeverEndingLearner(QuestionMethods):
    """Learn from an endless stream: rows and labels in, predictions and questions out.

    Create one with `open`. Every batch, label and withdrawal is an event in a log, and is durable before the
    call returns. The state of the learner is a function of these events alone. Snapshots of it are written at
    intervals; opening a store loads the newest one and replays the events after it. So a process that is
    killed loses nothing, and continues bit for bit as if it had not been interrupted.

    All methods are thread-safe: calls run one after another. One process writes to a store; others open it
    with ``read_only=True`` and see the events up to the moment of opening.

    Parameters
    ----------
    log : Log
        The open log.
    settings : StreamSettings
        The settings of the store.
    snapshot_every : int
        The number of rows between snapshots.
    snapshot_events : int, default=None
        The number of events between snapshots.

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
        snapshot_events: int | None = None,
        retention: str = "all",
        max_age: str | None = None,
        random_state: Any = None,
        read_only: bool = False,
        create: bool = True,
    ) -> "NeverEndingLearner":
        """Open a store, or create it; the settings of an existing store are those it was created with.

        Parameters
        ----------
        store : str or path-like
            A file, which is created if it does not exist; the URL of a PostgreSQL database; or ":memory:".
        learner : classifier, default=None
            An everlearn learner with ``partial_fit``. None uses ``AdaptiveSVM()`` for a new store, and the
            learner of an existing one.
        query_strategy : query strategy, "auto", "margin", "random" or None, default="auto"
            Selects the rows to ask about, among the most recent ones. "auto" is ``query.Auto()``, "margin"
            is ``query.Margin(pool_size=200)``; None never asks. A strategy that needs labels, such as
            ``query.Gradient()``, cannot be used.
        semi_supervised : StreamS3VM, default=None
            Predicts each batch with the help of its unlabeled rows.
        exemplars : Exemplars, default=None
            Selects the unlabeled rows to keep. None samples them at random, favoring recent ones.
        drift : DriftDetector or str, default=None
            Detects concept drift from the learner's errors, and sets the policy after an alarm. The name of
            a detector, such as "adwin", restarts the learner on the last labels. The default learner adapts
            to drift without a detector: its experts with short memories take over.
        memory_rows : int, default=5000
            The maximum number of unlabeled rows kept for questions, and of labeled rows kept for retraining.
        label_rate : float, default=0.01
            The number of questions per row, in the long run.
        label_budget : int, default=None
            The maximum number of questions in total; None for no limit.
        audit : float, default=0.1
            The fraction of questions about rows drawn at random, for an unbiased estimate of accuracy.
        cold_start_labels : int, default=10
            The query strategy selects once this many labels are known, asked for or not. Until then, every
            second question is about a random row, and the others are about rows far from all labeled ones.
        classes : array-like, default=None
            The possible labels. None learns them from the stream: a class is known from its first label on.
        scaling : {"standard", "none"}, default="standard"
            Whether features are scaled to mean 0 and standard deviation 1. The scale is computed from the
            first batch, and again from all rows each time their number has doubled; after 10,000 rows it is
            fixed. Each change is an event that retrains the learner on the labeled rows in memory. Features
            of sparse rows are not centered, and divided only if their standard deviation is above 1, so that
            word frequencies stay as they are.
        scale_features : array-like of bool, default=None
            The features to scale; None for all.
        window : int, default=1000
            The number of last labels over which scores are computed.
        coverage : float, default=None
            The fraction of rows whose prediction set must contain the true class, such as 0.9. It holds under
            concept drift, too (adaptive conformal inference). None makes no prediction sets.
        snapshot_every : int, default=50_000
            The number of rows between snapshots.
        snapshot_events : int, default=None
            The least number of batches and answers between snapshots; None for 1,000. Unless the learner
            forgets exactly, `withdraw` replays the log from a snapshot: with few events between them it is
            faster. Below 1,000, one is taken only if the events since took ten times as long as a snapshot.
        retention : {"all", "needed"}, default="all"
            Which rows stay in the log after a snapshot. "needed" drops rows that are neither in memory nor in
            an open question. Then the log cannot be replayed, and labels from before the last snapshot can
            be withdrawn only from learners that forget exactly.
        max_age : str, default=None
            The maximum age of rows, a number with the unit s, m, h, d or w, such as "30d". Older rows are
            removed from the log, the model and the bytes of the file, at most 1 % of that age late; their ids
            may be used again. Age is measured in stream time: from the ``time`` of a batch to the newest one.
            The log cannot be replayed from before the last expiry. None keeps rows of any age.
        random_state : int, RandomState instance or None, default=None
            The seed of everything random; a new store saves it.
        read_only : bool, default=False
            Whether to open for reading only, also while another process writes.
        create : bool, default=True
            Whether to create a store that does not exist. If False, or with ``read_only``, a missing store
            is a `StoreError` with the code "no_store".

        Returns
        -------
        NeverEndingLearner
            The learner, a context manager that closes its store.
        """
        _checks.positive("snapshot_every", snapshot_every)
        _checks.positive("snapshot_events", 1000 if snapshot_events is None else snapshot_events)
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
                return cls(log, kept, snapshot_every, snapshot_events)
        except BaseException:
            log.close()
            raise

    @classmethod
    def replay(
        cls, store: str | os.PathLike[str], learner: Any = None, *, into: str | os.PathLike[str] = ":memory:"
    ) -> "NeverEndingLearner":
        """Replay a log into a new store, with another learner if one is given.

        Parameters
        ----------
        store : str or path-like
            The store to replay; it is not changed.
        learner : classifier, default=None
            The other learner; None for the same one.
        into : str or path-like, default=":memory:"
            The new store.

        Returns
        -------
        NeverEndingLearner
            The learner of the new store, open.
        """
        with contextlib.closing(Log(store, read_only=True)) as source, source.one_moment():
            settings = _checks.read_settings(source, required=True)
            assert settings is not None
            if source.meta("complete_from"):
                raise StoreError(f"{source.database} has dropped rows and cannot be replayed.")
            if learner is not None:
                settings = with_learner(settings, learner)
            log = Log(into)
            try:
                if log.last:
                    raise StoreError(f"{log.database} is not empty: replay into a new store.")
                _checks.write_settings(log, settings)
                other = cls(log, settings, _SNAPSHOT_ROWS)
                for _, event in source.read():
                    ids = source.ids_of(event.numbers) if isinstance(event, Arrived) else None
                    other._record(event, ids)
                log.copy_tombstones(source)
                copy_beside(source, log)
                other._commit([], source.notes())
            except BaseException:
                log.close()
                raise
        return other

    # -------------------------------------------------------------------------------------------- the stream

    @one_writer
    def step(
        self,
        X: Any,
        y: Any = None,
        *,
        ids: Any = None,
        time: float | None = None,
        notes: Mapping[str, Any] | None = None,
        records: Any = None,
        requests: Sequence[Request] = (),
    ) -> Outcome:
        """Process a batch: predict it, learn its labels, select the rows to ask about.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,), default=None
            The labels, None or NaN where unknown. They are learned after the rows are predicted.
        ids : array-like of int or str, default=None
            A unique id for each row, by which it can be labeled later. None numbers the rows from 0.
        time : float, default=None
            The time of the batch, in seconds since 1970; None for now. Times need not increase.
        notes : mapping, default=None
            Values to store in the same transaction; see `notes`.
        records : sequence, default=None
            The rows as they were sent, JSON values or None, one for each row. They are kept to be shown, see
            `records_of`, and are removed with the rows.
        requests : sequence of Request, default=()
            The requests that these rows came with; they are kept with their outcomes in the same transaction.

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
                f"Duplicate id {some(known)}: ids must be unique, including those of erased rows.",
                code="duplicate_id",
                remedy="Leave out these rows; known_ids(ids) returns the ids that are in the store.",
            )
        now = _checks.now(time)
        self._expiry.check(now)
        if (limit := self._expiry.limit(now)) is not None:
            self._expire(limit, now)
        arrived: EventWithIds = Arrived(self._log.n_rows, rows, places, labels, now), names
        before, behind = self._first_scale(rows, now), self._next_scale(rows, now)
        events, outcomes = [*before, arrived, *behind], []

        def beside(writing: Writing, effects: list[EventResult]) -> None:
            outcomes.append(self._outcome(effects[len(before)], names))
            if records is not None:
                add_records(writing, numbered, records)
            version = self._version_after(events, writing.last - len(events))
            add_requests(writing, requests, outcomes[0], version, writing.last - len(behind))

        self._commit(events, notes, beside)
        self._expiry.note(now)
        return outcomes[0]

    def _outcome(self, effect: EventResult, names: list[Id]) -> Outcome:
        """The result of a batch whose rows have these ids and are not yet in the index."""
        first = self._log.n_rows
        earlier = {q.number: q for q in self._with_ids([q for q in effect.questions if q.number < first])}
        questions = [
            earlier[q.number] if q.number < first else replace(q, id=names[q.number - first])
            for q in effect.questions
        ]
        return Outcome(
            names,
            np.array(effect.predictions, dtype=object),
            effect.scores,
            effect.probabilities,
            effect.sets,
            questions,
            effect.drift,
            effect.measured,
        )

    @one_writer
    def rescale(self) -> None:
        """Recompute the feature scale from the unlabeled rows in memory, and retrain the learner."""
        self._check_open()
        kept = self._state.pool if len(self._state.pool) else self._state.labeled
        if self._state.mean is None or len(kept) == 0:
            raise ValueError("rescale needs rows in memory and scaling='standard'.")
        self._record(_checks.scale_of(self._state.raw(kept), self._settings.scale_features, clock.time()))

    @one_writer
    def set_scale(self, mean: Any, scale: Any) -> None:
        """Scale features as (x - mean) / scale; before the first row of a store with scaling="none".

        Parameters
        ----------
        mean : array-like of shape (n_features,)
            What is subtracted from each feature.
        scale : array-like of shape (n_features,)
            What each feature is divided by.
        """
        self._check_open()
        if self._settings.scaling != "none":
            raise ValueError("set_scale needs a store with scaling='none'; this one sets its scale itself.")
        if self._log.n_rows:
            raise ValueError(f"set_scale must come before the first row; there are {self._log.n_rows:,}.")
        self._record(_checks.given_scale(mean, scale, self._n_features(), clock.time()))

    @one_writer
    def set_schema(self, schema: dict[str, Any], *, notes: Mapping[str, Any] | None = None) -> None:
        """Store a description of the features, such as the state of a `Schema`, as an event.

        Parameters
        ----------
        schema : dict
            The description: strings, numbers, lists and dicts.
        notes : mapping, default=None
            Values to store in the same transaction; see `notes`.
        """
        self._check_open()
        changed = schema != self._state.schema
        events: list[EventWithIds] = (
            [(Described(copy.deepcopy(schema), clock.time()), None)] if changed else []
        )
        if events or notes:
            self._commit(events, notes)
