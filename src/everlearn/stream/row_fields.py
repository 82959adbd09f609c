"""A row as its fields and values, for a person: from its source if that can be read, or from the store."""

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from ..read import Schema
from ..read.schema import Field
from .learner import NeverEndingLearner

MISSING = "(missing)"
NOT_KEPT = "(not kept in the store: use --source FILE)"
_MAX_VECTOR = 4  # numbers shown of a vector
_MAX_COLUMNS = 30  # shown of a row without a schema
_FEW_ROWS = 50  # too few to call a value unusual
_FAR, _RARE = 0.01, 0.02  # fractions of rows
_SIDES = (("left_", "right_"), ("left.", "right."), ("a_", "b_"), ("a.", "b."), ("l_", "r_"))
_ENDS = (("_left", "_right"), ("_l", "_r"), ("_a", "_b"), ("_1", "_2"))
_URL = re.compile(r"https?://\S+", re.IGNORECASE)
_IMAGE = re.compile(r".+\.(?:png|jpe?g|gif|webp|bmp|tiff?|svg|heic|avif)", re.IGNORECASE)


Remarks: TypeAlias = Mapping[str, tuple[str, float | None]]  # and the percentage of rows below a number


@dataclass(frozen=True)
class ShownField:
    """A field of a row as text.

    Attributes
    ----------
    name : str
        Its name.
    value : str
        Its value.
    remark : str, default=""
        What is unusual about it; "" for nothing.
    link : str, default=""
        The address of a web page or an image; "" for none.
    percentile : float, default=None
        The percentage of rows with a smaller value, if it is an unusual number.
    """

    name: str
    value: str
    remark: str = ""
    link: str = ""
    percentile: float | None = None


def row_fields(
    learner: NeverEndingLearner, row: Any, schema: Schema | None, found: Mapping[str, Any], folder: str = ""
) -> list[ShownField]:
    """The fields of a row.

    Parameters
    ----------
    learner : NeverEndingLearner
        The open store.
    row : ndarray or CSR matrix of shape (1, n_features)
        The encoded row.
    schema : Schema or None
        The schema of the store.
    found : mapping of str to object
        The values in the source; empty if the row was not found there.
    folder : str, default=""
        The folder of the source, to which names of images are relative.

    Returns
    -------
    list of ShownField
        The fields in their order, without the id and the label.
    """
    if schema is None or schema.n_features != row.shape[1] or schema.n_sparse is not None:
        return _columns(row, schema)
    stored = _stored_values(row, schema)
    remarks = _remarks(learner, row, schema)
    if not found:
        return [_shown(name, value, remarks) for name, value in stored.items()]
    hidden = {schema.name_of("id"), schema.name_of("label")}
    return [
        _shown(name, text, remarks, _link(text, folder))
        for name, text in ((name, as_text(value)) for name, value in found.items() if name not in hidden)
    ]


def paired_names(names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Find the names that come in pairs, such as left_name and right_name: then a row is two records.

    Parameters
    ----------
    names : sequence of str
        The names of all fields.

    Returns
    -------
    list of tuple of (str, str, str)
        What both have in common, the first and the second name; empty unless half of the fields are in pairs.
    """
    known = set(names)
    for ends, is_prefix in ((_SIDES, True), (_ENDS, False)):
        for one, other in ends:
            cut = [(name.removeprefix(one) if is_prefix else name.removesuffix(one), name) for name in names]
            both = [
                (bare, name, other + bare if is_prefix else bare + other)
                for bare, name in cut
                if bare and bare != name
            ]
            both = [pair for pair in both if pair[2] in known]
            if both and 4 * len(both) >= len(names):
                return both
    return []


def _shown(name: str, text: str, remarks: Remarks, link: str = "") -> ShownField:
    remark, percentile = remarks.get(name, ("", None))
    return ShownField(name, text, remark, link, percentile)


def as_text(value: Any) -> str:
    """A value of a source as text."""
    if value is None or value == "":
        return MISSING
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and value and all(isinstance(item, int | float) for item in value):
        return _vector(value)
    return str(value)


def _link(text: str, folder: str) -> str:
    """The address in a value; that of a file if it is the name of an image that exists."""
    if _URL.fullmatch(text):
        return text
    if len(text) < 1000 and _IMAGE.fullmatch(text):
        path = os.path.join(folder, text)
        if os.path.isfile(path):
            return Path(path).resolve().as_uri()
    return ""


def _vector(values: Any) -> str:
    shown = ", ".join(f"{value:.3g}" for value in values[:_MAX_VECTOR])
    return f"[{shown}, ...] ({len(values):,} numbers)" if len(values) > _MAX_VECTOR else f"[{shown}]"


# --------------------------------------------------------------------------------------- from the store alone


def _features(schema: Schema) -> list[tuple[Field, int]]:
    """The fields that are encoded, each with its first column."""
    found, start = [], 0
    for field in schema.fields:
        if field.n_columns:
            found.append((field, start))
            start += field.n_columns
    return found


def _stored_values(row: Any, schema: Schema) -> dict[str, str]:
    return {
        field.name: _stored_value(field, row[:, start : start + field.n_columns])
        for field, start in _features(schema)
    }


def _stored_value(field: Field, cells: Any) -> str:
    if field.is_hashed or field.kind == "embed":
        return NOT_KEPT
    values = (cells.toarray() if sparse.issparse(cells) else np.asarray(cells)).ravel().tolist()
    if field.kind == "vector":
        return _vector(values)
    if field.kind == "boolean":
        return MISSING if values[1] else ("yes" if values[0] else "no")
    if field.kind == "categorical":
        name = [*(field.categories or ()), "(other)"][int(np.argmax(values))]
        return name or MISSING
    if field.missing and values[1]:
        return MISSING
    return f"{values[0]:.10g}" + (f" {field.unit}" if field.unit else "")


def _columns(row: Any, schema: Schema | None) -> list[ShownField]:
    """The nonzero columns of a row without named fields."""
    row = sparse.csr_matrix(row)
    row.eliminate_zeros()
    names = schema.feature_names if schema is not None and schema.n_features == row.shape[1] else None
    pairs = list(zip(row.indices.tolist(), row.data.tolist(), strict=True))
    found = [
        ShownField(f"x{at}" if names is None else names[at], f"{value:.6g}")
        for at, value in pairs[:_MAX_COLUMNS]
    ]
    more, zeros = len(pairs) - len(found), row.shape[1] - len(pairs)
    rest = [f"{more:,} more"] if more else []
    rest += [f"{zeros:,} {'is' if zeros == 1 else 'are'} 0"] if zeros else []
    return [*found, ShownField("(others)", ", ".join(rest))] if rest else found


# -------------------------------------------------------------------------------------------------- unusual


def _remarks(learner: NeverEndingLearner, row: Any, schema: Schema) -> Remarks:
    """What is unusual about the fields of a row, compared with the rows in memory, by name."""
    asked: list[tuple[Field, str, int]] = []
    for field, start in _features(schema):
        cells = row[:, start : start + field.n_columns]
        if field.is_hashed or field.kind in ("vector", "embed"):
            continue
        values = (cells.toarray() if sparse.issparse(cells) else np.asarray(cells)).ravel()
        if field.kind == "numeric":
            gap = field.missing and bool(values[1])
            asked.append((field, "missing" if gap else "number", start + gap))
        elif field.kind == "boolean":
            asked.append((field, "missing" if values[1] else "value", start + bool(values[1])))
        else:
            at = int(np.argmax(values))
            asked.append((field, "new" if at == len(values) - 1 else "value", start + at))
    if not asked:
        return {}
    ranks = learner.feature_ranks(row, [column for _, _, column in asked])
    if ranks.n_rows < _FEW_ROWS:
        return {}
    found = {}
    for (field, what, _), below, equal in zip(asked, ranks.below, ranks.equal, strict=True):
        remark = _remark(what, float(below), float(equal), ranks.n_rows)
        if remark:
            found[field.name] = remark, round(100 * float(below), 2) if what == "number" else None
    return found


def _remark(what: str, below: float, equal: float, n_rows: int) -> str:
    if what == "number":
        above = 1 - below - equal
        one = 1.5 / n_rows  # the row itself may be in memory
        if above + equal <= max(_FAR, one) and equal < _FAR + one:
            return (
                "the highest so far" if above + equal <= one else f"higher than {_percent(below)} % of rows"
            )
        if below + equal <= max(_FAR, one) and equal < _FAR + one:
            return "the lowest so far" if below + equal <= one else f"lower than {_percent(above)} % of rows"
        return ""
    if equal > _RARE:
        return ""
    if what == "missing":
        return "rarely missing"
    seen = max(1, round(equal * n_rows))
    return f"rare: {seen:,} of {n_rows:,} rows" if what == "value" else "new: not among the first rows"


def _percent(fraction: float) -> str:
    """A fraction in percent, rounded down: never 100 if there are others."""
    return f"{math.floor(1000 * fraction) / 10:g}"
