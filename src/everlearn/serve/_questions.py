"""A question as it is shown to a person: plain values, with the names of the JSON."""

from dataclasses import dataclass, field
from typing import Any

from ..store.lookup import Id


@dataclass(frozen=True)
class LeaseShown:
    """A lease as the person who holds it sees it.

    Attributes
    ----------
    id : str
        Its id.
    token : str
        The secret of this claim: whoever renews, releases or answers shows it.
    expires_in : float
        Seconds until it expires.
    """

    id: str
    token: str
    expires_in: float


@dataclass(frozen=True)
class Why:
    """Why a row is asked about.

    Attributes
    ----------
    kind : {"random", "cold_start", "uncertain", "overlap", "disagreement", "suspect"}
        The kind of the reason.
    text : str
        The reason as a sentence, with its numbers.
    rank : int
        The place of the question in its queue, from 1; this is not a confidence.
    utility : float or None
        The utility according to the query strategy, if it selected the row.
    between : list of label, or None
        The two classes between which the row lies.
    like_it : int or None
        The number of unlabeled rows in memory that are similar to it.
    """

    kind: str
    text: str
    rank: int
    utility: float | None = None
    between: list[Any] | None = None
    like_it: int | None = None


@dataclass(frozen=True)
class Unusual:
    """What is unusual about a value: as text, and the fraction of rows (in percent) below it, if a number."""

    text: str
    percentile: float | None = None


@dataclass(frozen=True)
class FieldShown:
    """A field of a row, to be shown to a person.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"text", "number", "category", "date", "link", "image", "vector", "pair", "series"}
        How to show it.
    value : object
        Its value: JSON.
    text : str
        The value as text.
    unit : str or None
        The unit of a number.
    unusual : Unusual or None
        What is unusual about it.
    highlights : list of (start, end, weight)
        The parts of ``text`` that speak most for (positive) or against (negative) the predicted class.
    """

    name: str
    kind: str
    value: Any
    text: str
    unit: str | None = None
    unusual: Unusual | None = None
    highlights: list[tuple[int, int, float]] = field(default_factory=list)


@dataclass(frozen=True)
class PairShown:
    """Two records side by side, and the names of the fields in which they differ."""

    left: list[FieldShown]
    right: list[FieldShown]
    differs: list[str]


@dataclass(frozen=True)
class Evidence:
    """A labeled row that contributes much to the decision about another row.

    Attributes
    ----------
    id : int or str
        Its id.
    label : label
        Its label.
    speaks : {"for", "against"}
        Whether it speaks for or against the class ``of``.
    of : label
        The class.
    share : float
        Its share of all contributions, between 0 and 1.
    summary : str
        Its first fields, as text.
    """

    id: Id
    label: Any
    speaks: str
    of: Any
    share: float
    summary: str


@dataclass(frozen=True)
class Guess:
    """A predicted label, and its probability if it is known."""

    label: Any
    confidence: float | None


@dataclass(frozen=True)
class QuestionShown:
    """A question that is leased to a person.

    Attributes
    ----------
    id : int or str
        The id of the row.
    lease : LeaseShown
        The lease.
    why : Why
        Why it is asked.
    fields : list of FieldShown
        The row.
    pair : PairShown or None
        The row as two records side by side, if its fields come in pairs.
    evidence : list of Evidence
        The support vectors that speak most for and against; empty while the project is blind.
    prediction : Guess or None
        The prediction; None while the project is blind.
    duplicates : list of int or str
        The ids of the rows that the answer labels, too.
    """

    id: Id
    lease: LeaseShown
    why: Why
    fields: list[FieldShown]
    pair: PairShown | None = None
    evidence: list[Evidence] = field(default_factory=list)
    prediction: Guess | None = None
    duplicates: list[Id] = field(default_factory=list)


@dataclass(frozen=True)
class Empty:
    """Why there is no question.

    Attributes
    ----------
    reason : {"no_rows", "all_leased", "budget_spent", "all_answered", "no_strategy"}
        The reason.
    message : str
        The reason as a sentence.
    retry_after : float or None
        Seconds after which it makes sense to ask again; None if something must happen first.
    """

    reason: str
    message: str
    retry_after: float | None = None


@dataclass(frozen=True)
class Questions:
    """The result of `LearningService.lease_questions`; ``empty`` is None unless there are no questions."""

    questions: list[QuestionShown]
    empty: Empty | None = None
