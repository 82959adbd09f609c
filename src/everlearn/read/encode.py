"""From the fields of a schema to columns of float64: each field has a fixed run of columns, in schema order.

==================  ====================================================================================
numeric             the value; the warm-up median where it is missing, and, if the warm-up had missing
                    values, a second column that is 1 there
categorical         a column for each category of the warm-up and one for all others, one of them 1
categorical, many   one of 2^10 columns is 1, chosen by a hash (MurmurHash3)
text                scikit-learn's `HashingVectorizer`: words to 2^16 columns, rows of length 1
==================  ====================================================================================

Nothing here learns: what a row becomes depends on the row and the schema alone, so that the rows which a
kernel machine keeps do not move under it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer

from . import _cells

if TYPE_CHECKING:
    from .schema import Field

MAX_CATEGORIES = 50
HASHED_COLUMNS = 2**10
TEXT_COLUMNS = 2**16


def column_names(field: Field) -> list[str]:
    """The names of the columns of a field."""
    if field.kind == "numeric":
        return [field.name, f"{field.name} (missing)"] if field.missing else [field.name]
    if field.kind == "categorical" and field.categories is not None:
        return [f"{field.name}={category or '(missing)'}" for category in [*field.categories, "(other)"]]
    return [f"{field.name}#{column}" for column in range(n_columns(field))]


def n_columns(field: Field) -> int:
    """How many columns a field has; 0 for what is not a feature."""
    if field.kind == "numeric":
        return 1 + field.missing
    if field.kind == "categorical":
        return HASHED_COLUMNS if field.categories is None else len(field.categories) + 1
    return TEXT_COLUMNS if field.kind == "text" else 0


def is_sparse(field: Field) -> bool:
    """Whether a field is hashed, so that its rows are nearly all zeros."""
    return field.kind == "text" or (field.kind == "categorical" and field.categories is None)


def columns_of(field: Field, cells: Any) -> tuple[Any, _cells.Bad]:
    """The columns of a field for a block of cells, dense or CSR, and the bad cells by row."""
    if field.kind == "numeric":
        values, bad = _cells.numbers(cells)
        gaps = np.isnan(values)
        if gaps.any():
            values[gaps] = field.median
        return (np.column_stack([values, gaps]) if field.missing else values[:, None]), bad
    texts, bad = _cells.strings(cells)
    if field.kind == "text":
        return _vectorizer().transform(texts), bad
    if field.categories is None:
        return _hasher().transform([text] for text in texts), bad
    column = {category: number for number, category in enumerate(field.categories)}
    other = len(column)
    one_hot = np.zeros((len(texts), other + 1))
    one_hot[np.arange(len(texts)), [column.get(text, other) for text in texts]] = 1.0
    return one_hot, bad


def rows_of(parts: list[Any], n_rows: int) -> Any:
    """The columns of all fields side by side: CSR if any of them is, else dense."""
    if any(sparse.issparse(part) for part in parts):
        rows = sparse.csr_matrix(sparse.hstack([sparse.csr_matrix(part) for part in parts], format="csr"))
        rows.sort_indices()
        return rows
    return np.hstack(parts) if parts else np.empty((n_rows, 0))


@lru_cache(maxsize=1)
def _vectorizer() -> Any:
    return HashingVectorizer(n_features=TEXT_COLUMNS, alternate_sign=False, norm="l2", dtype=np.float64)


@lru_cache(maxsize=1)
def _hasher() -> Any:
    return FeatureHasher(
        n_features=HASHED_COLUMNS, input_type="string", alternate_sign=False, dtype=np.float64
    )
