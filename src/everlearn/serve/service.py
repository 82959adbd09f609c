"""LearningService: one learner for many programs and people, without HTTP."""

from typing import Any

from ._explaining import Explanation
from ._questions import (
    Empty,
    Evidence,
    FieldShown,
    Guess,
    LeaseShown,
    PairShown,
    Questions,
    QuestionShown,
    Unusual,
    Why,
)
from ._results import (
    AnswerIn,
    AnswerResult,
    AnswersGiven,
    History,
    HistoryEntry,
    Inspection,
    Predictions,
    RowIn,
    RowPrediction,
    RowsAdded,
    ServiceEvent,
    ServiceSettings,
    Undone,
    UploadField,
)
from ._start import Starting

__all__ = [
    "AnswerIn",
    "AnswerResult",
    "AnswersGiven",
    "Empty",
    "Evidence",
    "Explanation",
    "FieldShown",
    "Guess",
    "History",
    "HistoryEntry",
    "Inspection",
    "LearningService",
    "LeaseShown",
    "PairShown",
    "Predictions",
    "QuestionShown",
    "Questions",
    "RowIn",
    "RowPrediction",
    "RowsAdded",
    "ServiceEvent",
    "ServiceSettings",
    "Undone",
    "Unusual",
    "UploadField",
    "Why",
]


class LearningService(Starting):
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
    random_state : int, RandomState instance or None, default=None
        The seed of everything random in a project that is set up; the store saves it.

    Examples
    --------
    >>> from everlearn.serve.service import AnswerIn, LearningService, RowIn
    >>> with LearningService(":memory:") as service:
    ...     rows = "amount,shop\\n3,A\\n250,B\\n4,A\\n"
    ...     upload = service.inspect_upload(rows.encode(), "payments.csv").upload
    ...     status = service.set_up(upload, classes=["ok", "fraud"], name="Payments")
    ...     question = service.lease_questions("ada").questions[0]
    ...     given = service.answer("ada", [AnswerIn(question.id, "label", "key 1", "ok")])
    >>> status["rows"], question.why.kind, given.results[0].status
    (3, 'cold_start', 'learned')
    """

    @property
    def setup_needed(self) -> bool:
        """Whether the store is empty, so that only `inspect_upload` and `set_up` work."""
        return self._learner is None

    def __enter__(self) -> "LearningService":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
