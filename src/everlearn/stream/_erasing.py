"""The side of the never-ending learner that erases: rows leave the log, the model and every file."""

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
from .._base.validate import Rows
from ..errors import StoreError
from ..read.quarantine import check_records, erase_records
from ..store import removal, scrub
from ..store.certificate import Certificate
from ..store.events import Erased, Event, Ints
from ..store.lookup import Id, id_key
from ..store.rewriting import without_rows
from ..store.tombstones import SALT, digest, new_salt
from . import _checks
from ._fold import Fold
from ._lock import locked
from ._looking import Looking
from ._redact import (
    Redaction,
    columns_in_use,
    with_categories,
    without_categories,
    without_single_rows,
)
from ._replay import fold_living
from ._unlearning import drop_rows

_PROBES = 1000  # rows by which two models are compared
_METHODS = ("auto", "replay", "forget")
_NOTES = [
    "Not covered: the source files, backups, reports and exported models that were made before.",
    "What is counted over many rows stays: numbers of rows and questions, the medians of the schema.",
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
_FORGET_NOTE = "Means, scales and scores computed over all rows were not recomputed."


@dataclass
class _Plan:
    """What is to become of a store."""

    fold: Fold
    changed: dict[int, Event]  # events by their numbers
    first: int  # the snapshots from this event on know the rows
    method: str


class Erasing(Looking):
    """Base of `NeverEndingLearner`: rows that must not be there any more."""

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
        """Erase rows: their values, labels, ids and questions leave the log, the snapshots and the model.

        Nothing of them is left in the bytes of the files of the store: free pages and the write-ahead log are
        overwritten, too. The log keeps a tombstone for each row, with a salted hash of its id, so that the
        numbers of the other rows stay and the row is refused if it comes again. A process that is killed
        meanwhile has erased everything or nothing; bytes that were still to be overwritten are overwritten
        when the store is opened next.

        Parameters
        ----------
        ids : array-like of int or str
            The rows, with labels or without.
        by : str, default=""
            Who erases them.
        time : float, default=None
            When, in seconds since 1970; None is now.
        method : {"auto", "replay", "forget"}, default="auto"
            How the model unlearns the rows. "replay" folds the log again without them: the model is, bit for
            bit, what a log that never had them makes of the others. "forget" lets an exact learner such as
            `IDSVM` forget them, and makes any other learn the kept labeled rows again; what is counted over
            all rows, such as the scale of columns, stays. "auto" is "replay" where the log still has all
            rows.
        verify : bool, default=True
            Whether to fold the log once more, as it stands after the erasure, and compare the models. It
            takes as long as a replay.
        quarantine : sequence of path-like, default=()
            Quarantine files of `open_source` from which bad rows with these ids are removed.
        missing : {"error", "ignore"}, default="error"
            What to do about ids of which no row is in the store, as they never came, expired or were erased
            before. "ignore" looks for them in the quarantine files only.

        Returns
        -------
        Certificate
            What was erased, and the distance to a model that never saw it.
        """
        self._check_open()
        if method not in _METHODS:
            raise ValueError(f"method must be one of {', '.join(map(repr, _METHODS))}, got {method!r}.")
        if missing not in ("error", "ignore"):
            raise ValueError(f"missing must be 'raise' or 'ignore', got {missing!r}.")
        names = _checks.ids(ids)
        if not names:
            raise ValueError("ids must name a row, got none.")
        if self._log.read_only:
            raise StoreError(f"{self._log.place} was opened with read_only=True.")
        there = self._log.in_index(names) if missing == "ignore" else names
        numbers = np.sort(self._log.numbers_of(there))
        event = Erased(numbers, str(by), _checks.now(time))
        when = _iso(event.time)
        for path in quarantine:  # what fails must fail before anything is erased
            check_records(path)
        salt = self._log.meta(SALT) or new_salt()
        found = self._erase(event, there, salt, method, verify) if there else _NOTHING
        n_records = sum(erase_records(path, names) for path in quarantine)
        by_forgetting = [_FORGET_NOTE] if found["method"] == "forget" else []
        return Certificate(
            store=str(self._log.place),
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
        """Erase rows; what the certificate says of it."""
        self._snapshots.wait()
        before, numbers = self._fold, event.numbers
        rows = self._log.values_of(numbers)
        n_labels = self._log.count_marks(numbers)
        n_questions = int(np.isin(before.asking.numbers(), numbers).sum())
        plan = self._plan(event, method)
        used = set() if rows is None else columns_in_use(rows)
        schema = without_categories(self._log, numbers, used, before.schema)
        if schema is not None:
            plan.fold.schema = schema
        n_snapshots = removal.erase(
            self._log,
            removal.Erasure(
                event,
                ids,
                salt,
                plan.changed,
                plan.first,
                persist.pack(plan.fold.state()),
                # A log that has dropped rows stands on its snapshots: from now on on the one just written.
                incomplete=plan.method != "replay" and bool(self._log.meta("complete_from")),
                change_schema=None if schema is None else partial(with_categories, schema=schema),
            ),
        )
        self._fold = plan.fold
        self._snapshots.restart(self._fold, self._log.last)
        try:
            scrubbed = scrub.scrub(self._log)
        except StoreError as exc:  # the rows are gone; their bytes are overwritten at the next opening
            warnings.warn(f"{exc} Bytes of erased rows are still to be overwritten.", stacklevel=5)
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

    @locked
    def find_ids(self, names: Iterable[str]) -> list[Id]:
        """The ids of rows by how they are written, such as on a command line.

        Parameters
        ----------
        names : iterable of str
            Ids as text; "17" is the string or the integer, whichever came.

        Returns
        -------
        list of int or str
            The ids. What never came is returned as it is; an error says so where it is used.
        """
        self._check_open()
        return self._log.find_ids(names)

    # ------------------------------------------------------------------------------------------------ private

    def _plan(self, erased: Erased, method: str) -> _Plan:
        """The state without the rows, and the events that are to be rewritten."""
        numbers, log = erased.numbers, self._log
        came_in = log.came_in(numbers)
        first = min(came_in) - 1  # the first scale stands right before the rows that it was taken from
        complete = log.meta("complete_from") or 0
        if method != "forget":
            try:
                fold, changed = self._folded_without(numbers, first)
                fold.apply(erased, log.rows_of)
                return _Plan(fold, changed, first, "replay")
            except StoreError:
                if method == "replay" or not complete:
                    raise
        fold = Fold.from_state(persist.unpack(persist.pack(self._fold.state())), self._settings)
        drop_rows(fold, numbers, len(log.labeled_at(numbers, log.last + 1)))
        fold.apply(erased, log.rows_of)
        changed = {}
        for seq in sorted(came_in | log.marked_in(numbers)):
            changed[seq] = without_rows(log.event(seq), numbers)
        changed |= without_single_rows(log, log.values_of(numbers))
        return _Plan(fold, changed, first, "forget")

    def _folded_without(self, numbers: Ints, first: int) -> tuple[Fold, dict[int, Event]]:
        log, gone = self._log, set(numbers.tolist())
        lives = [life for life in log.replaced(log.last) if life[0] not in gone]
        redaction = Redaction(log, self._settings, numbers)
        fold, _, _ = fold_living(
            log,
            self._settings,
            lives,
            log.last + 1,
            self._fold.forgets,
            before=first,
            rewritten=redaction,
        )
        return fold, redaction.changed

    def _distance(self, before: Fold, plan: _Plan) -> dict[str, Any]:
        """Compare the model with one that is folded from the log as it stands now."""
        kept = self._fold.pool if len(self._fold.pool) else self._fold.labeled
        rows = self._fold.raw(kept)
        probes = rows[-_PROBES:] if len(kept) else None
        found: dict[str, Any] = {
            "compared_with": None,
            "bit_equal": None,
            "max_difference": None,
            "max_difference_before": _apart(self._fold, before, probes),
            "n_rows": 0 if probes is None else int(probes.shape[0]),
        }
        log = self._log
        try:
            lives = log.replaced(log.last)
            other, _, _ = fold_living(
                log, self._settings, lives, log.last + 1, self._fold.forgets, before=plan.first
            )
        except StoreError:
            return found
        found["compared_with"] = "the fold over the log as it is now on disk, from before the rows came"
        found["bit_equal"] = persist.pack(other.state()) == persist.pack(self._fold.state())
        found["max_difference"] = _apart(self._fold, other, probes)
        return found


def _iso(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError):
        raise ValueError(f"time must be in seconds since 1970, got {seconds!r}, which is no date.") from None


def _apart(a: Fold, b: Fold, X: Rows) -> float | None:
    """The largest difference of decision values; None where one of the models has none, or other classes."""
    if X is None or a.learner is None or b.learner is None:
        return None
    if a.learner.classes_.tolist() != b.learner.classes_.tolist():
        return None
    return float(np.abs(a.judge(a.scaled(X))[1] - b.judge(b.scaled(X))[1]).max(initial=0.0))


def _n_changed(before: dict[str, Any] | None, after: dict[str, Any] | None) -> int:
    """How many categories have another name."""
    if before is None or after is None:
        return 0
    pairs = zip(before["fields"], after["fields"], strict=True)
    return sum(
        a != b
        for old, new in pairs
        for a, b in zip(old["categories"] or (), new["categories"] or (), strict=True)
    )
