"""LearningService: one learner for many programs and people, without HTTP."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Condition, RLock
from typing import Any

from ..store.log import Log
from ..store.lookup import Id
from ..stream import NeverEndingLearner
from ._leases import Leases
from ._results import (
    AnswerIn,
    AnswersGiven,
    History,
    Inspection,
    Predictions,
    Questions,
    RowIn,
    RowsAdded,
    ServiceEvent,
    ServiceSettings,
    Undone,
)

__all__ = ["LearningService"]


class LearningService:
    """One learner for many programs and people; thread-safe.

    Every method corresponds to one request of the HTTP interface, and takes and returns plain dataclasses. A
    method that writes returns once its events are durable. One thread writes: what arrives while it works
    becomes the next block. If too much is waiting, a `BusyError` is raised, and nothing is written.

    Parameters
    ----------
    store : str or path-like
        A file or a database URL; it may be empty, or not exist yet: see `set_up`.
    settings : ServiceSettings, default=None
        How people are asked. None takes those of the store, or the defaults; they are saved in the store.
    queue_length : int, default=1000
        The maximum number of requests that wait to be written.
    clock : callable, default=time.monotonic
        The clock of leases.
    """

    def __init__(
        self,
        store: str | os.PathLike[str],
        settings: ServiceSettings | None = None,
        *,
        queue_length: int = 1000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self.settings = settings or ServiceSettings()
        self._leases = Leases(self.settings.lease_seconds, clock)
        self._lock, self._changed = RLock(), Condition()
        self._learner: NeverEndingLearner | None = None
        self._log: Log | None = None

    # ---------------------------------------------------------------- programs

    def add_rows(self, rows: Sequence[RowIn], *, by: str = "", key: str | None = None) -> RowsAdded:
        """Add rows: they are predicted, their labels are learned, some become questions; all or none.

        Parameters
        ----------
        rows : sequence of RowIn
            The rows.
        by : str, default=""
            Who sends them; keys of different senders do not collide.
        key : str, default=None
            The idempotency key. The same key with the same rows returns the first result, with other rows it
            is an `InputError` with the code "key_reused".

        Returns
        -------
        RowsAdded
            The predictions, made before a label of the block was learned.
        """
        raise NotImplementedError

    def predict(self, rows: Sequence[RowIn]) -> Predictions:
        """Predict rows without storing them.

        Parameters
        ----------
        rows : sequence of RowIn
            The rows; labels are ignored.

        Returns
        -------
        Predictions
            The predictions.
        """
        raise NotImplementedError

    # ---------------------------------------------------------------- people

    def lease_questions(
        self, by: str, n: int = 1, *, queue: str = "asked", exclude: Sequence[Id | str] = ()
    ) -> Questions:
        """Lease questions to a person.

        Parameters
        ----------
        by : str
            The person.
        n : int, default=1
            The maximum number of questions.
        queue : {"asked", "disagreements", "suspects"}, default="asked"
            The questions of the learner and of overlap; rows on which people disagree; rows whose label the
            model contradicts.
        exclude : sequence of int or str, default=()
            Ids of rows that the person has already; ids as text are understood.

        Returns
        -------
        Questions
            The questions or, if there are none, why and until when.
        """
        raise NotImplementedError

    def renew(self, lease_id: str, token: str) -> float:
        """Renew a lease.

        Parameters
        ----------
        lease_id, token : str
            The lease.

        Returns
        -------
        float
            Seconds until it expires. A lease that has ended is an `InputError` with the code "lease_gone".
        """
        return self._leases.left(self._leases.renew(lease_id, token))

    def release(self, leases: Sequence[tuple[str, str]]) -> int:
        """Release leases, so that others are asked.

        Parameters
        ----------
        leases : sequence of (str, str)
            Ids and tokens; those that have ended are ignored.

        Returns
        -------
        int
            How many were in force.
        """
        return sum(self._leases.release(lease_id, token) for lease_id, token in leases)

    def answer(self, by: str, answers: Sequence[AnswerIn]) -> AnswersGiven:
        """Give answers: labels are learned; all or none.

        Parameters
        ----------
        by : str
            The person.
        answers : sequence of AnswerIn
            The answers, each with its key.

        Returns
        -------
        AnswersGiven
            What became of each answer. A late or unknown lease is no error.
        """
        raise NotImplementedError

    def undo(self, row: Id | str, by: str, *, key: str | None = None) -> Undone:
        """Take back the answer of a person: the model becomes the one that never saw it.

        Parameters
        ----------
        row : int or str
            The id of the row; an id as text is understood.
        by : str
            The person whose answer it is.
        key : str, default=None
            The idempotency key.

        Returns
        -------
        Undone
            How many answers are left for the row. No answer is an `InputError` with the code "no_answer".
        """
        raise NotImplementedError

    def history(self, *, by: str | None = None, q: str = "", offset: int = 0, limit: int = 50) -> History:
        """Find the answers that count now, newest first.

        Parameters
        ----------
        by : str, default=None
            Whose answers; None for all.
        q : str, default=""
            Text to look for in ids, labels, comments and rows; case does not matter.
        offset, limit : int
            The part to return.

        Returns
        -------
        History
            The entries, and how many there are in all.
        """
        raise NotImplementedError

    # ---------------------------------------------------------------- everybody

    def status(self) -> dict[str, Any]:
        """Summarize the learner, the people and the questions.

        Returns
        -------
        dict
            As ``GET /v1/status`` returns it, without "me".
        """
        raise NotImplementedError

    @property
    def sequence(self) -> int:
        """The number of the last event in the log."""
        raise NotImplementedError

    @property
    def setup_needed(self) -> bool:
        """Whether the store is empty, so that only `inspect_upload` and `set_up` work."""
        return self._learner is None

    def events_after(self, sequence: int, limit: int = 100) -> list[ServiceEvent]:
        """What happened after an event.

        Parameters
        ----------
        sequence : int
            The number of the last event that is known.
        limit : int, default=100
            The maximum number of events of the log to look at.

        Returns
        -------
        list of ServiceEvent
            In order. Events that concern nobody, such as a new scale, are left out; if nothing else happened,
            one event "status" carries the newest sequence.
        """
        raise NotImplementedError

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
        raise NotImplementedError

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
        raise NotImplementedError

    def report_html(self) -> str:
        """The report as HTML.

        Returns
        -------
        str
            One page, complete in itself.
        """
        raise NotImplementedError

    def export_labels(self, format: str = "csv") -> tuple[bytes, str]:
        """The answers that count now, with who, when, why asked, and the version of the model.

        Parameters
        ----------
        format : {"csv", "parquet", "jsonl"}, default="csv"
            The format.

        Returns
        -------
        tuple of (bytes, str)
            The content and its media type.
        """
        raise NotImplementedError

    def import_labels(
        self, content: bytes, *, by: str, format: str = "csv", key: str | None = None
    ) -> AnswersGiven:
        """Learn labels from a table with the columns id and label, and optionally by, kind and comment.

        Parameters
        ----------
        content : bytes
            The table; all of it is learned, or nothing.
        by : str
            The person, for rows without one.
        format : {"csv", "jsonl"}, default="csv"
            Its format.
        key : str, default=None
            The idempotency key.

        Returns
        -------
        AnswersGiven
            What became of each label.
        """
        raise NotImplementedError

    def export_model(self) -> bytes:
        """The current model as ONNX.

        Returns
        -------
        bytes
            The content of the file. Without a model it is an `InputError` with the code "no_model".
        """
        raise NotImplementedError

    # ---------------------------------------------------------------- beginning

    def inspect_upload(self, content: bytes, name: str) -> Inspection:
        """Look at a file with rows, and say what each field is taken for; only for an empty store.

        Parameters
        ----------
        content : bytes
            The file.
        name : str
            Its name, whose ending may tell the format.

        Returns
        -------
        Inspection
            The fields, and the id of the upload for `set_up`.
        """
        raise NotImplementedError

    def set_up(
        self,
        upload: str,
        *,
        kinds: Mapping[str, str] | None = None,
        label_column: str | None = None,
        classes: Sequence[Any] = (),
        name: str | None = None,
    ) -> dict[str, Any]:
        """Create the learner of an empty store, and add the rows of an upload.

        Parameters
        ----------
        upload : str
            The id from `inspect_upload`.
        kinds : mapping of str to str, default=None
            The kinds of fields; those of fields that are not named are inferred.
        label_column : str, default=None
            The field that holds labels; None for no such field.
        classes : sequence of label, default=()
            The names of the classes; new ones may come later. Empty: they are learned from the labels.
        name : str, default=None
            The name of the project.

        Returns
        -------
        dict
            See `status`.
        """
        raise NotImplementedError

    # ---------------------------------------------------------------- administration

    def notes(self) -> dict[str, Any]:
        """Values that were stored by name with `set_notes`, such as the hashes of tokens."""
        raise NotImplementedError

    def set_notes(self, notes: Mapping[str, Any]) -> None:
        """Store JSON values by name, durably; None deletes one. Works for an empty store, too.

        Parameters
        ----------
        notes : mapping
            The values.
        """
        raise NotImplementedError

    def change_settings(self, settings: ServiceSettings) -> None:
        """Change how people are asked, durably.

        Parameters
        ----------
        settings : ServiceSettings
            The settings.
        """
        raise NotImplementedError

    def find_id(self, text: Id | str) -> Id:
        """The id of a row that was given as text; an `InputError` with the code "unknown_id" without a row.

        Parameters
        ----------
        text : int or str
            The id, or the id as text.

        Returns
        -------
        int or str
            The id as it is in the store.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Finish what is waiting, write a snapshot and close the store."""
        raise NotImplementedError

    def __enter__(self) -> "LearningService":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
