"""Questions as people see them: the fields of a row, why it is asked, and what speaks for and against."""

import re
from collections.abc import Mapping
from typing import Any

from ..read import Schema
from ..read.records import flat_record
from ..stream import NeverEndingLearner
from ..stream.row_fields import MISSING, paired_names, row_fields
from ._questions import Evidence, FieldShown, Guess, PairShown, Unusual, Why

_KINDS = {
    "numeric": "number",
    "categorical": "category",
    "boolean": "category",
    "text": "text",
    "embed": "text",
    "time": "date",
}
_SERIES = range(8, 513)  # lengths of lists of numbers that are drawn as a curve
_LONG = 40  # characters from which on a text without a kind of its own is prose
_SIMILAR = 0.5  # kernel value from which on a row is "like" another one
_MAX_SUMMARY = 120
_IMAGE = re.compile(r"(?i)(data:image/|\S+\.(?:png|jpe?g|gif|webp|bmp|svg|avif)(?:[?#]\S*)?$)")
_URL = re.compile(r"(?i)https?://\S+$")
_TEXTS = {
    "audit": "random check: drawn at random, to measure the accuracy without bias",
    "overlap": "asked of several people: {n} of {wanted} answers so far",
    "disagreement": "asked again: {labels}",
    "suspect": "labeled {label}, but the model disagrees (margin {value:.2f})",
}


def guess(learner: NeverEndingLearner, row: Any) -> Guess | None:
    """The predicted label of a row and its probability; None without a model."""
    return guesses(learner, row)[0]


def guesses(learner: NeverEndingLearner, rows: Any) -> list[Guess | None]:
    """The predicted label of each row and its probability; None without a model."""
    labels, shares = learner.predict_with_shares(rows)
    return [
        None if label is None else Guess(label, None if shares is None else round(shares[at][label], 4))
        for at, label in enumerate(labels)
    ]


# ----------------------------------------------------------------------------------------------- the row


def fields_shown(
    learner: NeverEndingLearner, row: Any, schema: Schema | None, record: Mapping[str, Any] | None
) -> list[FieldShown]:
    """The fields of a row in the order of the schema, without id and label."""
    found = flat_record(record) if record else {}
    shown = row_fields(learner, row, schema, found)
    fields = {} if schema is None else {field.name: field for field in schema.fields}
    order = {name: at for at, name in enumerate(fields)}
    result = []
    for field in sorted(shown, key=lambda field: order.get(field.name, len(order))):
        known, value = fields.get(field.name), found.get(field.name)
        kind = _kind("ignore" if known is None else known.kind, value, field.value)
        unusual = Unusual(field.remark, field.percentile) if field.remark else None
        unit = known.unit or None if known is not None and kind == "number" else None
        result.append(FieldShown(field.name, kind, _plain(value, field.value), field.value, unit, unusual))
    return result


def _kind(kind: str, value: Any, text: str) -> str:
    if isinstance(value, str) and _IMAGE.match(value.strip()):
        return "image"
    if isinstance(value, str) and _URL.match(value.strip()):
        return "link"
    if isinstance(value, list):
        numbers = bool(value) and all(isinstance(item, int | float) for item in value)
        return "series" if numbers and len(value) in _SERIES else "vector"
    if kind in _KINDS:
        return _KINDS[kind]
    if kind == "vector":
        return "vector"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number"
    return "text" if len(text) > _LONG else "category"


def _plain(value: Any, text: str) -> Any:
    return text if value is None else value


def pair_shown(fields: list[FieldShown]) -> PairShown | None:
    """The fields as two records, if at least half of them come in pairs such as left_name and right_name."""
    by_name = {field.name: field for field in fields}
    pairs = paired_names(list(by_name))
    if not pairs:
        return None
    names = [name for name, _, _ in pairs]
    left, right = ([by_name[pair[side]] for pair in pairs] for side in (1, 2))
    ends = zip(names, left, right, strict=True)
    apart = [name for name, a, b in ends if a.text.strip() != b.text.strip()]
    return PairShown(_renamed(left, names), _renamed(right, names), apart)


def _renamed(fields: list[FieldShown], names: list[str]) -> list[FieldShown]:
    return [
        FieldShown(name, field.kind, field.value, field.text, field.unit, field.unusual, field.highlights)
        for field, name in zip(fields, names, strict=True)
    ]


def summary(fields: list[FieldShown]) -> str:
    """The first fields of a row in one line, texts before the others."""
    said = [field for field in fields if field.kind != "vector" and field.text not in ("", MISSING)]
    said.sort(key=lambda field: field.kind != "text")
    parts = [_in_short(field, first=not at) for at, field in enumerate(said)]
    text = " · ".join(parts)
    return text if len(text) <= _MAX_SUMMARY else f"{text[: _MAX_SUMMARY - 1]}…"


def _in_short(field: FieldShown, *, first: bool) -> str:
    """A field and its value; a text that comes first needs no name, and a picture is not spelled out."""
    if field.kind == "image":
        return f"{field.name}: (picture)"
    return field.text if first and field.kind == "text" else f"{field.name}: {field.text}"


def evidence(learner: NeverEndingLearner, row: Any, schema: Schema | None, n: int = 3) -> list[Evidence]:
    """The support vectors that speak most for and against the predicted class."""
    found = learner.support_for(row, n)
    records = learner.records_of([support.id for support in found]) if found else {}
    shown = []
    for support in found:
        fields = fields_shown(learner, learner.rows([support.id]), schema, records.get(support.id))
        share = round(support.share, 4)
        if share == 0:
            continue
        shown.append(Evidence(support.id, support.label, support.speaks, support.of, share, summary(fields)))
    return shown


# --------------------------------------------------------------------------------------------------- why


def why_asked(learner: NeverEndingLearner, question: Any, rank: int) -> Why:
    """Why the learner asks about a row, from the reason that it gave."""
    row = learner.rows([question.id])
    utility = None if question.utility != question.utility else float(question.utility)
    if question.kind == "audit":
        return Why("random", _TEXTS["audit"], rank, utility)
    like_it = max(0, learner.count_near(row, _SIMILAR) - 1)
    others = f"{like_it:,} unlabeled row{'' if like_it == 1 else 's'} like it"
    if question.kind == "cold_start":
        if question.reason.startswith("far"):
            return Why("cold_start", f"no label near here yet: {others}", rank, utility, None, like_it)
        return Why(
            "cold_start",
            f"one of the first labels, {question.reason}; {others}",
            rank,
            utility,
            None,
            like_it,
        )
    between = _between(learner, row)
    return Why("uncertain", f"{question.reason}; {others}", rank, utility, between, like_it)


def _between(learner: NeverEndingLearner, row: Any) -> list[Any] | None:
    """The two classes with the largest decision values."""
    scores = learner.decision_function(row)
    if scores is None:
        return None
    classes = learner.learner_.classes_.tolist()
    if len(classes) == 2:
        return list(classes)
    order = sorted(range(len(classes)), key=lambda at: -float(scores[0][at]))
    return [classes[at] for at in order[:2]]


def why_overlap(n: int, wanted: int, rank: int) -> Why:
    """Why a row that has an answer is asked about again: several answers are wanted."""
    return Why("overlap", _TEXTS["overlap"].format(n=n, wanted=wanted), rank)


def why_disagreement(votes: Mapping[str, Any], rank: int) -> Why:
    """Why a row on which people disagree is asked about again; names are not told."""
    labels = list(votes.values())
    people = "two people disagree" if len(labels) == 2 else f"{len(labels)} people disagree"
    return Why(
        "disagreement",
        _TEXTS["disagreement"].format(labels=people),
        rank,
        between=list(dict.fromkeys(labels)),
    )


def why_suspect(label: Any, value: float, rank: int) -> Why:
    """Why a labeled row is asked about again: the model contradicts its label."""
    return Why("suspect", _TEXTS["suspect"].format(label=label, value=value), rank, utility=-value)
