"""What the methods of `LearningService` take and return: plain values, with the names of the JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..store.lookup import Id
from ._questions import Guess


@dataclass(frozen=True)
class RowIn:
    """A row that is sent to the service.

    Attributes
    ----------
    fields : mapping of str to object
        Its values by the names of the fields: JSON values.
    id : int or str, default=None
        Its id; None takes the id field of the schema, or numbers the row.
    label : label, default=None
        Its label, if it is known; None takes the label field of the schema, if the row has it.
    time : float, default=None
        Its time, in seconds since 1970; None takes the time field of the schema, or the present.
    """

    fields: Mapping[str, Any]
    id: Id | None = None
    label: Any = None
    time: float | None = None


@dataclass(frozen=True)
class RowPrediction:
    """The prediction of a row, made before it was learned.

    Attributes
    ----------
    id : int, str or None
        The id of the row; None for a row that is not stored and came without one.
    label : label or None
        The predicted label; None until two classes are known.
    probabilities : dict of str to float, or None
        The calibrated probability of each class; None until two classes are known.
    asked : bool
        Whether the row became a question.
    """

    id: Id | None
    label: Any
    probabilities: dict[str, float] | None
    asked: bool = False


@dataclass(frozen=True)
class RowsAdded:
    """The result of `LearningService.add_rows`; the rows are durable by then."""

    sequence: int
    model_version: int
    replayed: bool
    predictions: list[RowPrediction]


@dataclass(frozen=True)
class Predictions:
    """The result of `LearningService.predict`."""

    model_version: int
    predictions: list[RowPrediction]


@dataclass(frozen=True)
class AnswerIn:
    """An answer of a person.

    Attributes
    ----------
    id : int or str
        The id of the row.
    kind : {"label", "skip", "unsure"}
        What kind of answer it is.
    key : str
        The key made by the client: the same key is answered once.
    label : label, default=None
        The label, if the kind is "label".
    lease_id, lease_token : str, default=None
        The lease, if there is one; a late or unknown lease is no error.
    comment : str, default=""
        A remark.
    wrong_field : str, default=""
        The field that is wrong.
    """

    id: Id
    kind: str
    key: str
    label: Any = None
    lease_id: str | None = None
    lease_token: str | None = None
    comment: str = ""
    wrong_field: str = ""


@dataclass(frozen=True)
class AnswerResult:
    """What became of an answer.

    Attributes
    ----------
    id : int or str
        The id of the row.
    status : {"learned", "vote", "skipped", "unsure", "replayed"}
        "learned": it is the label that is learned; "vote": it is kept beside a label that has more weight.
    learned_label : label or None
        The label that is learned now.
    prediction_before : Guess or None
        The prediction before the answer.
    changed_model : bool
        Whether the answer changed the model.
    """

    id: Id
    status: str
    learned_label: Any = None
    prediction_before: Guess | None = None
    changed_model: bool = False


@dataclass(frozen=True)
class AnswersGiven:
    """The result of `LearningService.answer`; the answers are durable by then."""

    sequence: int
    model_version: int
    results: list[AnswerResult]


@dataclass(frozen=True)
class Undone:
    """The result of `LearningService.undo`."""

    id: Id
    sequence: int
    model_version: int
    answers_left: int
    replayed: bool = False


@dataclass(frozen=True)
class HistoryEntry:
    """An answer that was given.

    Attributes
    ----------
    id : int or str
        The id of the row.
    kind : {"label", "skip", "unsure"}
        The kind of the answer.
    label : label or None
        The label.
    by : str
        Who gave it.
    at : float
        When, in seconds since 1970.
    comment : str
        The remark.
    wrong_field : str
        The field that is wrong.
    why : str
        Why the row was asked about.
    model_version : int
        The version of the model that asked.
    learned_label : label or None
        The label that is learned for the row now.
    summary : str
        The first fields of the row, as text.
    """

    id: Id
    kind: str
    label: Any
    by: str
    at: float
    comment: str
    wrong_field: str
    why: str
    model_version: int
    learned_label: Any
    summary: str


@dataclass(frozen=True)
class History:
    """A part of the answers that count now, newest first, and how many there are in all."""

    entries: list[HistoryEntry]
    total: int


@dataclass(frozen=True)
class ServiceEvent:
    """Something that happened, for those who listen.

    Attributes
    ----------
    sequence : int
        The number of its event in the log.
    event : {"rows", "labels", "withdrawn", "asked", "drift", "status"}
        What happened.
    data : dict
        More about it: JSON.
    """

    sequence: int
    event: str
    data: dict[str, Any]


@dataclass(frozen=True)
class UploadField:
    """A field of an uploaded file: what it was taken for, an example, what else it could be, and a remark."""

    name: str
    kind: str
    example: str
    choices: list[str]
    note: str = ""


@dataclass(frozen=True)
class Inspection:
    """What an uploaded file was taken for.

    Attributes
    ----------
    upload : str
        The id of the upload, for `LearningService.set_up`.
    fields : list of UploadField
        Its fields.
    rows_seen : int
        The number of rows that were looked at.
    label_column : str or None
        The field that holds labels, if there is one.
    messages : list of str
        Remarks, such as bad rows.
    classes : list of label
        The labels that were seen.
    """

    upload: str
    fields: list[UploadField]
    rows_seen: int
    label_column: str | None
    messages: list[str]
    classes: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class ServiceSettings:
    """How people are asked; can be changed while the service runs.

    Attributes
    ----------
    name : str
        The name of the project.
    blind : bool
        Whether the prediction is hidden until a question is answered.
    overlap_answers : int
        The number of answers for rows that are asked several people.
    overlap_fraction : float
        The fraction of questions that are asked several people.
    group_duplicates : bool
        Whether near-duplicates are leased and labeled together.
    duplicate_similarity : float
        The kernel value from which on rows are near-duplicates.
    lease_seconds : float
        How long a question is leased.
    """

    name: str = ""
    blind: bool = True
    overlap_answers: int = 1
    overlap_fraction: float = 0.0
    group_duplicates: bool = False
    duplicate_similarity: float = 0.98
    lease_seconds: float = 90.0
