"""The data of a report: plain mappings and sequences, so that any training loop can provide them.

Everything but the title is optional: the report leaves out what is missing. Wherever a number is expected,
None and NaN mean "not known": a gap in a curve, a dash in a table. Sequences are lists or arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

Column = Sequence[Any]


class Totals(TypedDict, total=False):
    """Totals at the end of the stream.

    ===================  =====================================================================================
    "rows"               rows that have arrived
    "labels"             labels that are known, asked for or given
    "asked"              questions asked so far
    "open_questions"     questions without an answer
    "budget"             maximum number of questions; None without a limit
    "support_vectors"    support vectors of the model
    "memory_mb"          resident memory of the process, in megabytes
    "seconds"            time spent, in seconds
    "rows_per_second"    rows divided by seconds
    "drift_alarms"       alarms of the drift detector
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
    """The stream over time, in columns of equal length with one entry for each batch.

    =====================  ===================================================================================
    "rows"                 rows that had arrived after the batch, the x-axis of every curve (required)
    "labels"               labels known at that time
    "asked"                questions asked until then
    "support_vectors"      support vectors of the model
    "memory_mb"            resident memory, in megabytes
    "seconds"              time spent until then, in seconds
    "accuracy", "g_means", "mcc", "auc"
                           scores over the latest labeled rows, each predicted before it was learned
    "fading_accuracy", ...
                           the same four, over all rows with a weight that fades with age
    "no_change_accuracy", ...
                           the same four of the baseline that repeats the previous label
    "majority_accuracy", ...
                           the same four of the baseline that predicts the most frequent class
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
    "rows"          rows that had arrived at each estimate (required)
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
    """Another learner on the same stream, for comparison: its name, its "rows" and any of the scores."""

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
    "kind"          "strategy": the query strategy chose the row; "audit": it was drawn at random to
                    evaluate the learner; "cold_start": asked before there was a model
    "reason"        why it was asked, in words
    "utility"       utility by the query strategy
    "predicted"     what the learner predicted when it asked
    "label"         the answer; None while there is none
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
    """Confusion matrix between two rows of the stream: counts as `matrix[true][predicted]`."""

    row_from: int
    row_to: int
    matrix: Sequence[Sequence[float]]


class RandomRows(TypedDict):
    """The confusion matrix of scored rows that the learner did not choose.

    ==============  ==========================================================================================
    "matrix"        counts as `matrix[true][predicted]`, in the order of the classes
    "drawn"         "audit": questions about rows drawn at random; "given": labels that came unasked
    ==============  ==========================================================================================
    """

    matrix: Sequence[Sequence[float]]
    drawn: str


class FieldInfluence(TypedDict, total=False):
    """How much the predictions depend on a field, measured by permutation or from coefficients.

    ==============  ==========================================================================================
    "field"         its name
    "change"        change of the decision values if the field is shuffled, relative to shuffled rows
    "flips"         fraction of the predictions that change
    "toward"        the class that higher values speak for; None if there is none
    ==============  ==========================================================================================
    """

    field: str
    change: float
    flips: float
    toward: str | None


class RowInfluence(TypedDict, total=False):
    """How much the predictions depend on one labeled row.

    ==============  ==========================================================================================
    "id"            of the row
    "label"         its label
    "predicted"     what the learner predicts for it now
    "change"        change of the decision values if the row is forgotten, relative to shuffled rows
    "flips"         fraction of the predictions that change
    ==============  ==========================================================================================
    """

    id: Any
    label: Any
    predicted: Any
    change: float
    flips: float


class Influence(TypedDict, total=False):
    """What drives the predictions, the strongest first.

    ==============  ==========================================================================================
    "sample"        number of recent rows on which the change was measured
    "fields"        list of `FieldInfluence`
    "rows"          list of `RowInfluence`
    ==============  ==========================================================================================
    """

    sample: int
    fields: Sequence[FieldInfluence]
    rows: Sequence[RowInfluence]


class _Titled(TypedDict):
    title: str


class ReportData(_Titled, total=False):
    """All that a report shows; only the title is required.

    =============  ===========================================================================================
    "title"        heading of the page
    "created"      when the data were collected, an ISO date
    "learner"      the learner as text
    "source"       where the rows come from
    "store"        where the log is kept
    "classes"      the class labels, in the order of the confusion matrices
    "window"       number of scored rows behind the last value of the curves, for the captions
    "totals"       see `Totals`
    "curves"       see `Curves`
    "audit"        see `Audit`
    "peers"        list of `Peer`
    "drift"        list of `DriftAlarm`
    "questions"    list of `QuestionEntry`, in the order in which they were asked
    "confusion"    list of `Confusion`, in the order of time
    "random_rows"  see `RandomRows`
    "influence"    see `Influence`
    "previous"     the `everlearn.report.key_figures` of the last report, to show what has changed
    "features"     the schema of the rows, as text
    "notes"        warnings, shown on top
    =============  ===========================================================================================
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
    random_rows: RandomRows
    influence: Influence
    previous: Mapping[str, Any] | None
    features: str | None
    notes: Sequence[str]
