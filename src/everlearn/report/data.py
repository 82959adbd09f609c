"""ReportData: what a report is told. Plain mappings and sequences, so that any loop can tell one.

Everything but the title is optional, and what is left out leaves no trace on the page. Wherever a number is
expected, None and NaN mean "not known": a gap in a curve, a dash in a table. Sequences are lists or arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from . import _text

Column = Sequence[Any]

MEASURES = ("g_means", "accuracy", "mcc", "auc")
"""The scores in the order in which a report prefers them: the first that is known is the headline."""


class Totals(TypedDict, total=False):
    """Where the learner stands at the end of the data.

    ===================  =====================================================================================
    "rows"               rows that have arrived
    "labels"             labels that are known, asked for or given
    "asked"              questions asked so far
    "open_questions"     questions that still wait for their answer
    "budget"             questions that may be asked in all, None without a limit
    "support_vectors"    rows that the decision rule is made of
    "memory_mb"          memory that the learner holds, in megabytes
    "seconds"            time spent, in seconds
    "rows_per_second"    speed over the whole data
    "drift_alarms"       how often the drift detector has raised its hand
    "quarantined"        rows set aside because they could not be read or did not fit
    ===================  =====================================================================================
    """

    rows: int | None
    labels: int | None
    asked: int | None
    open_questions: int | None
    budget: int | None
    support_vectors: int | None
    memory_mb: float | None
    seconds: float | None
    rows_per_second: float | None
    drift_alarms: int | None
    quarantined: int | None


class Curves(TypedDict, total=False):
    """The course of the stream in columns of equal length, one entry for each batch.

    =====================  ===================================================================================
    "rows"                 rows that had arrived after the batch: the time axis of every curve, and required
    "labels"               labels known by then
    "asked"                questions asked by then
    "support_vectors"      size of the decision rule
    "memory_mb"            memory held, in megabytes
    "seconds"              time spent by then, in seconds
    "accuracy", "g_means", "mcc", "auc"
                           scores over the latest labeled rows, each row judged before it was learned
    "fading_accuracy", ...
                           the same four, over all rows with a weight that fades with age
    "no_change_accuracy", ...
                           the same four of the baseline that repeats the label before
    "majority_accuracy", ...
                           the same four of the baseline that always names the most frequent class
    =====================  ===================================================================================
    """

    rows: Column
    labels: Column
    asked: Column
    support_vectors: Column
    memory_mb: Column
    seconds: Column
    accuracy: Column
    g_means: Column
    mcc: Column
    auc: Column
    fading_accuracy: Column
    fading_g_means: Column
    fading_mcc: Column
    fading_auc: Column
    no_change_accuracy: Column
    no_change_g_means: Column
    no_change_mcc: Column
    no_change_auc: Column
    majority_accuracy: Column
    majority_g_means: Column
    majority_mcc: Column
    majority_auc: Column


class Audit(TypedDict, total=False):
    """The accuracy estimated from rows asked at random, in columns of equal length.

    ==============  ==========================================================================================
    "rows"          rows that had arrived at each estimate, required
    "accuracy"      the estimate
    "lower"         lower confidence bound
    "upper"         upper confidence bound
    "confidence"    level of the two bounds, one number such as 0.95
    ==============  ==========================================================================================
    """

    rows: Column
    accuracy: Column
    lower: Column
    upper: Column
    confidence: float


class Peer(TypedDict, total=False):
    """Another learner on the same stream, drawn beside: its name, its "rows" and any of the scores."""

    name: str
    rows: Column
    accuracy: Column
    g_means: Column
    mcc: Column
    auc: Column


class DriftAlarm(TypedDict, total=False):
    """One alarm of the drift detector: at which row, when, what was done about it, and a remark."""

    row: int
    time: str | None
    policy: str | None
    note: str | None


class QuestionEntry(TypedDict, total=False):
    """One question that was asked.

    ==============  ==========================================================================================
    "id"            of the row asked about
    "asked_row"     rows that had arrived when it was asked
    "kind"          "strategy" if the query strategy chose the row, "audit" if it was drawn at random
    "reason"        why the rule asked, in words
    "utility"       what the rule thought the label worth
    "predicted"     what the learner believed when it asked
    "label"         the answer, None as long as there is none
    "answered_row"  rows that had arrived when it was answered
    ==============  ==========================================================================================
    """

    id: Any
    asked_row: int
    kind: str
    reason: str | None
    utility: float | None
    predicted: Any
    label: Any
    answered_row: int | None


class Confusion(TypedDict):
    """Who was taken for whom between two rows of the stream: `matrix[true][predicted]` counts."""

    row_from: int
    row_to: int
    matrix: Sequence[Sequence[int]]


class _Titled(TypedDict):
    title: str


class ReportData(_Titled, total=False):
    """All that a report can tell; only the title is required.

    ============  ============================================================================================
    "title"       heading of the page
    "created"     when the data was told, an ISO date
    "learner"     the learner as it prints itself
    "source"      where the rows come from
    "store"       where the log is kept
    "classes"     the class labels, in the order of the confusion matrices
    "window"      labeled rows that a score looks back on, for the captions
    "totals"      see `Totals`
    "curves"       see `Curves`
    "audit"       see `Audit`
    "peers"       list of `Peer`
    "drift"       list of `DriftAlarm`
    "questions"   list of `QuestionEntry`, in the order in which they were asked
    "confusion"   list of `Confusion`, in the order of time
    "features"    the schema of the rows, as text
    "notes"       cautions, sentences shown on top
    ============  ============================================================================================
    """

    created: str | None
    learner: str | None
    source: str | None
    store: str | None
    classes: Sequence[Any] | None
    window: int | None
    totals: Totals
    curves: Curves
    audit: Audit
    peers: Sequence[Peer]
    drift: Sequence[DriftAlarm]
    questions: Sequence[QuestionEntry]
    confusion: Sequence[Confusion]
    features: str | None
    notes: Sequence[str]


def check(data: Mapping[str, Any]) -> None:
    """Refuse a data that would be told wrongly: misspelled parts, unequal columns, crooked matrices."""
    if not isinstance(data, Mapping):
        raise TypeError(
            f"data must be a mapping such as everlearn.report.ReportData, got {type(data).__name__}"
        )
    if not isinstance(data.get("title"), str) or not data["title"].strip():
        raise ValueError(f"data['title'] must be a text to put on top, got {data.get('title')!r}")
    _known("data", data, ReportData)
    _known("data['totals']", data.get("totals") or {}, Totals)
    for part, kind in (("drift", DriftAlarm), ("questions", QuestionEntry), ("confusion", Confusion)):
        for place, item in enumerate(_text.items(data.get(part))):
            _known(f"data['{part}'][{place}]", item, kind)
    _columns("data['curves']", data.get("curves"), Curves)
    _columns("data['audit']", data.get("audit"), Audit)
    for place, peer in enumerate(_text.items(data.get("peers"))):
        _columns(f"data['peers'][{place}]", peer, Peer)
    classes = data.get("classes")
    sizes = set() if classes is None or not len(_text.items(data.get("confusion"))) else {len(classes)}
    for place, period in enumerate(_text.items(data.get("confusion"))):
        matrix = period["matrix"]
        sizes |= {len(matrix), *map(len, matrix)}
        if len(sizes) > 1:
            raise ValueError(
                f"data['confusion'][{place}]['matrix'] must have a row and a column for each "
                f"class, as many in every period as there are classes; got lengths {sorted(sizes)}"
            )


def _known(where: str, part: Mapping[str, Any], kind: Any) -> None:
    if unknown := sorted(map(str, set(part) - set(kind.__annotations__))):
        known = ", ".join(sorted(kind.__annotations__))
        raise ValueError(f"{where} has the unknown entry {unknown[0]!r}; a report knows of {known}")


def _columns(where: str, part: Mapping[str, Any] | None, kind: Any) -> None:
    if not part:
        return
    _known(where, part, kind)
    columns = {key: values for key, values in part.items() if key not in ("name", "confidence")}
    if columns and "rows" not in columns:
        raise ValueError(f"{where} must have the column 'rows', the time axis of the others")
    for key, values in columns.items():
        if len(values) != len(columns["rows"]):
            raise ValueError(
                f"{where}[{key!r}] must be as long as its column 'rows', got {len(values)} and "
                f"{len(columns['rows'])}; put None where a value is not known"
            )
