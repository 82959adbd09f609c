"""The methods of the never-ending learner that remove rows from the log, the model and every file."""

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from .._base import persist
from .._base.lock import locked, one_writer
from .._base.validate import Rows
from ..errors import InputError, StoreError
from ..read.quarantine import check_records, erase_records
from ..store import removal, scrub
from ..store.certificate import Certificate
from ..store.events import Erased, Event, Ints
from ..store.lookup import Id, id_key
from ..store.rewriting import without_rows
from ..store.tombstones import SALT, digest, new_salt
from . import _checks
from ._compare_methods import CompareMethods
from ._learner_state import LearnerState
from ._redaction import (
    Redaction,
    columns_in_use,
    with_categories,
    without_categories,
    without_single_rows,
)
from ._replay import replay_without
from ._unlearning import drop_rows

_PROBES = 1000  # rows on which two models are compared
_METHODS = ("auto", "replay", "forget")
_NOTES = [
    "Not covered: source files, and backups, reports and exported models made before.",
    "Aggregates over many rows remain: counts of rows and questions, the medians of the schema.",
]
_NOTHING: dict[str, Any] = {
    "labels": 0,
    "questions": 0,
    "categories": 0,
    "events": 0,
    "snapshots": 0,
    "method": "none",
    "model_difference": {},
    "scrubbed": True,
}
_FORGET_NOTE = "The feature means, feature scales and scores over all rows were not recomputed."


@dataclass
class _Plan:
    """The result of unlearning rows, before it is written."""

    state: LearnerState
    changed: dict[int, Event]  # the rewritten events by their numbers
    first: int  # snapshots from this event on contain the rows
    method: str


class EraseMethods(CompareMethods):
    """Base of `NeverEndingLearner`: erasure on request and expiry by age."""

    @one_writer
    @locked
    def erase(
        self,
        ids: Any,
        *,
        by: str = "",
        time: float | None = None,
        method: str = "auto",
        verify: bool = True,
        quarantine: Sequence[str | os.PathLike[str]] = (),
        missing: str = "error",
    ) -> Certificate:
        """Erase rows: remove their values, labels, ids and questions from log, snapshots and model.

        No bytes of them remain in the files of the store: free pages and the write-ahead log are overwritten,
        too. The log keeps a tombstone for each row, with a salted hash of its id, so that the numbers of the
        other rows do not change and the row is refused if it arrives again. If the process is killed, either
        everything or nothing is erased; bytes not yet overwritten are overwritten when the store is opened
        next.

        Parameters
        ----------
        ids : array-like of int or str
            The ids of the rows, labeled or not.
        by : str, default=""
            Who requested it.
        time : float, default=None
            The time, in seconds since 1970; None for now.
        method : {"auto", "replay", "forget"}, default="auto"
            How the model unlearns the rows. "replay" replays the log without them: the model is bit for bit
            the one that never saw them. "forget" lets a learner that forgets exactly, such as `IDSVM`, forget
            them, and retrains any other on the labeled rows in memory; aggregates over all rows, such as the
            feature scale, remain. "auto" is "replay" if the log still has all rows, otherwise "forget".
        verify : bool, default=True
            Whether to replay the log once more after the erasure and compare the models. This takes as long
            as a replay.
        quarantine : sequence of path-like, default=()
            Quarantine files of `open_source` from which rejected rows with these ids are removed.
        missing : {"error", "ignore"}, default="error"
            What to do about ids without a row in the store: unknown, expired, or erased before. "ignore"
            looks for them in the quarantine files only.

        Returns
        -------
        Certificate
            What was erased, and how far the model is from one that never saw it.
        """
        self._check_open()
        if method not in _METHODS:
            raise ValueError(f"method must be one of {', '.join(map(repr, _METHODS))}, got {method!r}.")
        if missing not in ("error", "ignore"):
            raise ValueError(f"missing must be 'error' or 'ignore', got {missing!r}.")
        names = _checks.ids(ids)
        if not names:
            raise ValueError("ids must contain at least one id, got none.")
        if self._log.read_only:
            raise StoreError(f"{self._log.database} was opened with read_only=True.")
        there = self._log.in_index(names) if missing == "ignore" else names
        numbers = np.sort(self._log.numbers_of(there))
        event = Erased(numbers, str(by), _checks.now(time))
        when = _iso(event.time)
        for path in quarantine:  # fail before anything is erased
            check_records(path)
        salt = self._log.meta(SALT) or new_salt()
        found = self._erase(event, there, salt, method, verify) if there else _NOTHING
        n_records = sum(erase_records(path, names) for path in quarantine)
        by_forgetting = [_FORGET_NOTE] if found["method"] == "forget" else []
        return Certificate(
            store=str(self._log.database),
            time=when,
            by=event.by,
            everlearn_version=version("everlearn"),
            salt=salt,
            id_hashes=[digest(id_key(name), salt) for name in names],
            rows=len(numbers),
            quarantined=n_records,
            notes=[*_NOTES, *by_forgetting, *scrub.notes(self._log)],
            **found,
        )

    def _erase(self, event: Erased, ids: list[Id], salt: str, method: str, verify: bool) -> dict[str, Any]:
        """Erase rows; returns entries of the certificate."""
        self._snapshots.wait()
        before, numbers = self._state, event.numbers
        rows = self._log.values_of(numbers)
        n_labels = self._log.count_marks(numbers)
        n_questions = int(np.isin(before.questions.numbers(), numbers).sum())
        plan = self._plan(event, method)
        used = set() if rows is None else columns_in_use(rows)
        schema = without_categories(self._log, numbers, used, before.schema)
        if schema is not None:
            plan.state.schema = schema
        n_snapshots = removal.erase(
            self._log,
            removal.Erasure(
                event,
                ids,
                salt,
                plan.changed,
                plan.first,
                plan.state.packed(),
                # A log that has dropped rows can be opened from its snapshots only: now from the new one.
                incomplete=plan.method != "replay" and bool(self._log.meta("complete_from")),
                change_schema=None if schema is None else partial(with_categories, schema=schema),
                gone_classes=[label for label in before.classes if label not in plan.state.classes],
            ),
        )
        self._state = plan.state
        self._snapshots.restart(self._state, self._log.last)
        self._model_version = self._log.last
        try:
            scrubbed = scrub.scrub(self._log)
        except StoreError as exc:  # the rows are gone; their bytes are overwritten at the next opening
            warnings.warn(
                f"{exc} The rows are erased, but their bytes are not yet overwritten: open the store again.",
                stacklevel=5,
            )
            scrubbed = False
        return {
            "labels": n_labels,
            "questions": n_questions,
            "categories": _n_changed(before.schema, schema),
            "events": len(plan.changed),
            "snapshots": n_snapshots,
            "method": plan.method,
            "model_difference": self._distance(before, plan) if verify else {},
            "scrubbed": scrubbed,
        }

    @one_writer
    @locked
    def expire(self, time: float | None = None) -> int:
        """Remove all rows older than ``max_age`` now, for a stream without new batches.

        Parameters
        ----------
        time : float, default=None
            The time from which ages are measured, in seconds since 1970; None for now.

        Returns
        -------
        int
            The number of rows removed.
        """
        self._check_open()
        if self._settings.max_age is None:
            raise InputError(
                "This store has no max_age: it keeps rows of any age.",
                code="no_max_age",
                remedy="Create a store with max_age='30d', for example.",
            )
        now = _checks.now(time)
        self._expiry.check(now)
        limit = self._expiry.limit(now, exact=True)
        return 0 if limit is None else self._expire(limit, now)

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
        self._check_open()
        return self._log.find_ids(names)

    # ------------------------------------------------------------------------------------------------ private

    def _plan(self, erased: Erased, method: str) -> _Plan:
        """The state without the rows, and the events to rewrite."""
        numbers, log = erased.numbers, self._log
        events = log.arrived_in(numbers)
        first = min(events) - 1  # the event that sets the first scale precedes the batch it comes from
        complete = log.meta("complete_from") or 0
        if method != "forget":
            try:
                state, changed = self._replayed_without(numbers, first)
                state.apply(erased, log.rows_of)
                return _Plan(state, changed, first, "replay")
            except StoreError:
                if method == "replay" or not complete:
                    raise
        state = LearnerState.from_state(persist.unpack(self._state.packed()), self._settings)
        drop_rows(state, numbers, len(log.labeled_at(numbers, log.last + 1)))
        state.apply(erased, log.rows_of)
        changed = {}
        for seq in sorted(events | log.marked_in(numbers)):
            changed[seq] = without_rows(log.event(seq), numbers)
        changed |= without_single_rows(log, log.values_of(numbers))
        return _Plan(state, changed, first, "forget")

    def _replayed_without(self, numbers: Ints, first: int) -> tuple[LearnerState, dict[int, Event]]:
        log, gone = self._log, set(numbers.tolist())
        lives = [life for life in log.replaced(log.last) if life[0] not in gone]
        redaction = Redaction(log, self._settings, numbers)
        state, _, _ = replay_without(
            log,
            self._settings,
            lives,
            log.last + 1,
            self._state.forgets,
            before=first,
            rewritten=redaction,
        )
        return state, redaction.changed

    def _distance(self, before: LearnerState, plan: _Plan) -> dict[str, Any]:
        """Compare the model with one replayed from the log as it is now."""
        kept = self._state.pool if len(self._state.pool) else self._state.labeled
        rows = self._state.raw(kept)
        probes = rows[-_PROBES:] if len(kept) else None
        found: dict[str, Any] = {
            "compared_with": None,
            "bit_equal": None,
            "max_difference": None,
            "max_difference_before": _apart(self._state, before, probes),
            "n_rows": 0 if probes is None else int(probes.shape[0]),
        }
        log = self._log
        try:
            lives = log.replaced(log.last)
            other, _, _ = replay_without(
                log, self._settings, lives, log.last + 1, self._state.forgets, before=plan.first
            )
        except StoreError:
            return found
        found["compared_with"] = "a replay of the log as it is now on disk, from before the rows arrived"
        found["bit_equal"] = persist.pack(other.state()) == self._state.packed()
        found["max_difference"] = _apart(self._state, other, probes)
        return found


def _iso(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError):
        raise ValueError(f"time must be in seconds since 1970, got {seconds!r}: not a valid date.") from None


def _apart(a: LearnerState, b: LearnerState, X: Rows) -> float | None:
    """The largest difference of decision values; None if a model is missing or the classes differ."""
    if X is None or a.learner is None or b.learner is None:
        return None
    if a.learner.classes_.tolist() != b.learner.classes_.tolist():
        return None
    return float(np.abs(a.predict_scored(a.scaled(X))[1] - b.predict_scored(b.scaled(X))[1]).max(initial=0.0))


def _n_changed(before: dict[str, Any] | None, after: dict[str, Any] | None) -> int:
    """The number of renamed categories."""
    if before is None or after is None:
        return 0
    pairs = zip(before["fields"], after["fields"], strict=True)
    return sum(
        a != b
        for old, new in pairs
        for a, b in zip(old["categories"] or (), new["categories"] or (), strict=True)
    )
