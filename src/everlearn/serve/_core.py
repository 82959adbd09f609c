"""The base of `LearningService`: the store, the writer, and the requests that write."""

import contextlib
import hashlib
import json
import os
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from threading import Condition, RLock, Thread
from typing import Any

from ..errors import InputError, StoreError
from ..read import Schema
from ..store.log import Log
from ..store.lookup import Id
from ..stream import NeverEndingLearner
from ..stream.random_checks import BaselinePoint
from ._curve import NOT_YET
from ._leases import Leases
from ._questions import FieldShown
from ._results import ServiceSettings
from ._votes import Votes
from ._writer import Writer

SETTINGS_NOTE = "service"  # the settings of the service, among the notes of the store
CLASSES_NOTE = "classes"  # the classes that were named when the project was set up
_BLOCK_ROWS = 1000  # rows that are learned at once
SNAPSHOT_EVENTS = 25  # between snapshots: so many events are replayed to undo the last answer
_KEEP_REQUESTS = 30 * 86400.0  # seconds for which a key is remembered
_LABEL_CHARS = 1000
_RATE_SECONDS = 10.0  # over which rows per second are counted


class ServiceCore:
    """The store of a service and its writer; the methods that write."""

    def __init__(
        self,
        store: str | os.PathLike[str],
        settings: ServiceSettings | None = None,
        *,
        queue_length: int = 1000,
        clock: Callable[[], float] = time.monotonic,
        random_state: Any = None,
    ) -> None:
        self._store, self._clock, self._random_state = store, clock, random_state
        self._lock, self._noting, self._changed = RLock(), RLock(), Condition()
        self._notes_kept: dict[str, Any] | None = None  # what `notes` returns, once it was read
        self._schema_kept: tuple[Schema | None] | None = None
        self._shown: OrderedDict[Id, list[FieldShown]] = OrderedDict()  # the fields of rows, last shown last
        self._listeners: list[Callable[[int], None]] = []
        self._learner: NeverEndingLearner | None = None
        self._log: Log | None = None  # of a store that has no learner yet
        self._votes = Votes()
        self._skips: tuple[int, set[tuple[Id, str]]] = 0, set()  # who skipped what since this model version
        self._settled: dict[Id, Any] = {}  # the label of a suspect that a person has confirmed
        self._arrivals: deque[tuple[float, int]] = deque()
        self._swept = 0.0
        self._suspecting = RLock()
        self._suspects_of: tuple[int, list[tuple[Id, float]]] = (
            -1,
            [],
        )  # suspected mistakes of a model version
        self._uploads: dict[str, Any] = {}  # files for `set_up`, by token
        self._slow: tuple[float, dict[str, Any]] = (
            0.0,
            {},
        )  # the slow part of the status, and when it was made
        self._measuring, self._closing = RLock(), False
        self._measured: tuple[int, dict[str, Any]] = -1, NOT_YET  # the event it is of, and what was found
        self._measurer: Thread | None = None
        self._measure_after = 0.0
        self._random_baseline: tuple[int, list[BaselinePoint]] = 0, []  # the checks it had; its curve
        self._open_store()
        kept = self.notes().get(SETTINGS_NOTE)
        self.settings = settings or (ServiceSettings() if kept is None else ServiceSettings(**kept))
        check_settings(self.settings)
        self._leases = Leases(self.settings.lease_seconds, clock)
        self._votes.want(self.settings.overlap_answers, self.settings.overlap_fraction)
        if settings is not None and asdict(settings) != kept:
            self.set_notes({SETTINGS_NOTE: asdict(settings)})
        handlers: dict[str, Callable[[list[Any]], Sequence[Any]]] = {
            "rows": self._write_rows,
            "answers": self._write_answers,
            "call": lambda calls: [_outcome_of(call) for call in calls],
        }
        self._writer = Writer(handlers, queue_length, _BLOCK_ROWS, self._after_commit)

    # ---------------------------------------------------------------------------------------- the store

    def _open_store(self) -> None:
        with contextlib.suppress(StoreError) if self._is_new() else contextlib.nullcontext():
            self._learner = NeverEndingLearner.open(
                self._store, create=False, snapshot_events=SNAPSHOT_EVENTS
            )
        if self._learner is None:
            self._log = Log(self._store)
        else:
            self._read_answers(self._learner)

    def _is_new(self) -> bool:
        """Whether the store does not exist, or has no learner yet."""
        try:
            with contextlib.closing(Log(self._store, read_only=True)) as log:
                return log.meta("settings") is None
        except StoreError as error:
            if error.code != "no_store":
                raise
            return True

    def _read_answers(self, learner: NeverEndingLearner) -> None:
        """Rebuild what is known about answers from the store."""
        for part in learner.answers_that_count():
            for row, answer in part:
                self._note_answer(row, str(answer.by), answer.kind, answer.label, answer.time, answer.about)

    def _note_answer(
        self, row: Id, by: str, kind: str, label: Any, at: float, about: Mapping[str, Any]
    ) -> None:
        self._votes.give(row, by, kind, label, at)
        if kind == "skip":
            self._note_skip(row, by, int(about.get("given_at", 0)))
        if about.get("why") == "suspect" and kind == "label":
            self._settled[row] = label

    def _note_skip(self, row: Id, by: str, version: int) -> None:
        """Note that a person skipped a row; those who skipped rows of an earlier model see them again."""
        if version > self._skips[0]:
            self._skips = version, set()
        if version == self._skips[0]:
            self._skips[1].add((row, by))

    def _skipped(self) -> set[tuple[Id, str]]:
        """Rows, and who skipped them, that do not come back before the model has changed."""
        version, rows = self._skips
        return rows.copy() if version == self.learner.model_version else set()

    @property
    def learner(self) -> NeverEndingLearner:
        """The learner; an `InputError` with the code "setup_needed" while there is none."""
        if self._learner is None:
            raise InputError(
                "The store has no learner yet.",
                code="setup_needed",
                remedy="Upload a file with rows first, and set it up.",
            )
        return self._learner

    def _schema(self) -> Schema | None:
        """The schema of the store; it does not change while the service runs."""
        if self._schema_kept is None:
            state = self.learner.schema
            try:
                self._schema_kept = (Schema.from_state(state) if state else None,)
            except (TypeError, ValueError):  # a description in another form
                self._schema_kept = (None,)
        return self._schema_kept[0]

    def check_store(self) -> None:
        """Read from the store; a `StoreError` if that is not possible."""
        if self._learner is not None:
            self._learner.check_store()
        elif self._log is not None:
            self._log.check()

    def notes(self) -> dict[str, Any]:
        """Get values that were stored by name with `set_notes`, such as the hashes of tokens.

        Returns
        -------
        dict
            The values.
        """
        found = self._notes_kept
        if found is None:
            with self._noting:
                opened: Any = self._log if self._learner is None else self._learner
                found = self._notes_kept = opened.notes() if self._learner is None else opened.notes
        return dict(found)

    def set_notes(self, notes: Mapping[str, Any]) -> None:
        """Store JSON values by name, durably. Works for an empty store, too.

        Parameters
        ----------
        notes : mapping
            The values; None deletes one.
        """
        with self._noting:
            known = self.notes() | dict(notes)
            if self._learner is not None:
                self._learner.set_notes(notes)
            else:
                assert self._log is not None
                with self._log.writing() as writing:
                    writing.set_notes(notes)
            self._notes_kept = {name: value for name, value in known.items() if value is not None}

    def change_settings(self, settings: ServiceSettings) -> None:
        """Change how people are asked, durably.

        Parameters
        ----------
        settings : ServiceSettings
            The settings.
        """
        check_settings(settings)
        self.set_notes({SETTINGS_NOTE: asdict(settings)})
        self.settings, self._leases.seconds = settings, settings.lease_seconds
        self._votes.want(settings.overlap_answers, settings.overlap_fraction)

    def classes(self) -> list[Any]:
        """Get the classes: those that were named, and those that were learned.

        Returns
        -------
        list of label
            The classes.
        """
        known = [] if self._learner is None else self._learner.classes
        named = [label for label in self.notes().get(CLASSES_NOTE) or [] if label not in known]
        return sorted([*known, *named], key=lambda label: (str(type(label)), label))

    def find_id(self, text: Id) -> Id:
        """Find the id of a row that was given as text.

        Parameters
        ----------
        text : int or str
            The id, or the id as text.

        Returns
        -------
        int or str
            The id as it is in the store. Without such a row it is an `InputError` with the code
            "unknown_id".
        """
        learner = self.learner
        found = text if not isinstance(text, str) else learner.find_ids([text])[0]
        if isinstance(found, bool) or not isinstance(found, int | str) or not learner.with_rows([found]):
            raise InputError(
                f"No row with the id {text!r} in the store.",
                code="unknown_id",
                remedy="Ids of rows are in the results of adding them, and in questions.",
            )
        return found

    # -------------------------------------------------------------------------------------------- events

    @property
    def sequence(self) -> int:
        """The number of the last event in the log."""
        return 0 if self._learner is None else self._learner.sequence

    def _after_commit(self) -> None:
        with self._changed:
            self._changed.notify_all()
        for listener in list(self._listeners):
            with contextlib.suppress(Exception):  # a listener must not stop the writer
                listener(self.sequence)
        if self._learner is not None and time.monotonic() - self._swept > 3600:
            self._swept = time.monotonic()
            self._learner.forget_requests(time.time() - _KEEP_REQUESTS)

    def _count_arrivals(self, n_rows: int) -> None:
        """Note that rows have arrived; what is older than `_RATE_SECONDS` is dropped."""
        now = self._clock()
        with self._lock:
            if n_rows:
                self._arrivals.append((now, n_rows))
            while self._arrivals and self._arrivals[0][0] < now - _RATE_SECONDS:
                self._arrivals.popleft()

    def _rows_per_second(self) -> float:
        self._count_arrivals(0)
        with self._lock:
            return round(sum(n for _, n in self._arrivals) / _RATE_SECONDS, 2)

    def wait_for_event(self, sequence: int, timeout: float) -> bool:
        """Wait until there are events after one.

        Parameters
        ----------
        sequence : int
            The number of the last event that is known.
        timeout : float
            The maximum number of seconds.

        Returns
        -------
        bool
            Whether there are.
        """
        with self._changed:
            return self._changed.wait_for(lambda: self.sequence > sequence, timeout)

    def listen(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """Call a function with the sequence after each commit, in the writer's thread; it must not block.

        Parameters
        ----------
        callback : callable
            The function.

        Returns
        -------
        callable
            Ends it.
        """
        self._listeners.append(callback)
        return lambda: self._listeners.remove(callback)

    def _write_rows(self, contents: list[Any]) -> list[Any]:
        raise NotImplementedError

    def _write_answers(self, contents: list[Any]) -> list[Any]:
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------- closing

    def close(self) -> None:
        """Finish what is waiting, write a snapshot and close the store."""
        self._writer.close()
        for opened in (self._learner, self._log):
            if opened is not None:
                opened.close()


def check_settings(settings: ServiceSettings) -> None:
    """Refuse settings that make no sense."""
    for name, good, accepts in (
        ("overlap_answers", settings.overlap_answers >= 1, "at least 1"),
        ("overlap_fraction", 0 <= settings.overlap_fraction <= 1, "between 0 and 1"),
        ("duplicate_similarity", 0 < settings.duplicate_similarity <= 1, "above 0, at most 1"),
        ("lease_seconds", settings.lease_seconds > 0, "positive"),
    ):
        if not good:
            raise InputError(
                f"{name} must be {accepts}, got {getattr(settings, name)!r}.", code="bad_setting"
            )


def digest_of(content: Any) -> str:
    """A digest of a request, by which a repeated one is recognized."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def as_label(given: Any, classes: list[Any], schema: Schema | None) -> Any:
    """A label in the type that the labels of the store have."""
    if isinstance(given, str) and ("\0" in given or len(given) > _LABEL_CHARS):
        raise InputError(
            f"A label must have at most {_LABEL_CHARS:,} characters and no character 0, got {given[:50]!r}.",
            code="bad_label",
        )
    for label in classes:
        if type(label) is type(given) and label == given:
            return label
    alike = [label for label in classes if str(label) == str(given)]
    if len(alike) == 1:
        return alike[0]
    wants_int = (
        isinstance(classes[0], int)
        if classes
        else (schema is not None and schema.label_type == "int" and schema.name_of("label") is not None)
    )
    if isinstance(given, bool) or not isinstance(given, int | str):
        raise InputError(f"A label must be a string or an integer, got {given!r}.", code="bad_label")
    if not wants_int:
        return str(given)
    try:
        return int(given)
    except ValueError:
        raise InputError(f"{given!r} is not a class: classes are integers.", code="bad_label") from None


def _outcome_of(call: Callable[[], Any]) -> Any:
    """The result of a call, or the exception that it raised: others in the same group are not concerned."""
    try:
        return call()
    except Exception as error:
        return error
