"""Field: one field of a stream, and the float64 columns that it is encoded as.

==================  ====================================================================================
numeric             the value. A missing value becomes the median of the first rows. If the first rows
                    had missing values, a second column is 1 where the value is missing.
boolean             1 for yes and 0 for no; a second column is 1 for anything else, and for missing values
vector              a list of numbers, all of the same length, such as an embedding: a column for each
categorical         one-hot: a column for each category of the first rows, and one for all others
categorical, many   hashed (MurmurHash3): one of 2^10 columns is 1
embed               text as a unit vector of 256 columns, by wordllama (extra ``embed``)
text                words and character 4-grams, hashed to 2^17 columns, weighted by TF-IDF with the document
                    frequencies of the first rows, of length 1
==================  ====================================================================================

The encoding is stateless: it depends on the row and on the schema alone. Rows that a kernel machine has
stored therefore never change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.feature_extraction import FeatureHasher

from . import _cells, _embed, _text, _times, _vectors
from ._numbers import DECIMALS, NumberForm

KINDS = ("numeric", "boolean", "categorical", "text", "embed", "vector", "id", "label", "time", "ignore")
MAX_CATEGORIES = 50
HASHED_COLUMNS = 2**10
UNNAMED = "unnamed_"  # prefix of the name, followed by a number, of a CSV field without a name


@dataclass(frozen=True)
class Field:
    """One field of a stream.

    Attributes
    ----------
    name : str
        Its name in the CSV header, or its JSON key.
    kind : {"numeric", "boolean", "categorical", "text", "embed", "vector", "id", "label", "time", "ignore"}
        Its role.
    inferred : bool, default=False
        Whether the kind was inferred from the first rows instead of given.
    note : str, default=""
        A remark for the schema table.
    median : float, default=0.0
        Numeric: replaces missing values.
    missing : bool, default=False
        Numeric: whether a second column marks missing values.
    categories : tuple of str, default=()
        Categorical: the categories with a column of their own, most frequent first; "" stands for a missing
        value. None means that the field is hashed.
    decimal : {".", ","}, default="."
        Numeric: the decimal separator.
    thousands : {"", ",", ".", " ", "'"}, default=""
        Numeric: the thousands separator; "" for none.
    unit : str, default=""
        Numeric: the currency of all values, such as "€" or "USD", or "%"; "" for plain numbers.
    time_format : str, default=""
        Time: a format of `datetime.datetime.strptime`; "ms", "us" or "ns" for such ticks since 1970. "" reads
        ISO 8601 and seconds since 1970.
    length : int, default=0
        Vector: the number of its columns.
    unit_length : bool, default=False
        Vector: whether the vectors of the first rows had length 1, as many embeddings have.
    frequencies : str, default=""
        Text: the document frequencies of the first rows, packed; "" for none.
    """

    name: str
    kind: str
    inferred: bool = False
    note: str = ""
    median: float = 0.0
    missing: bool = False
    categories: tuple[str, ...] | None = ()
    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    time_format: str = ""
    length: int = 0
    unit_length: bool = False
    frequencies: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"Field {self.name!r} has kind={self.kind!r}; it must be one of {list(KINDS)}.")
        if self.decimal not in DECIMALS or self.thousands not in ("", ",", ".", " ", "'"):
            raise ValueError(
                f"Field {self.name!r} has decimal={self.decimal!r} and thousands={self.thousands!r}: decimal "
                'must be "." or ",", and thousands one of "", ",", ".", " ", "\'".'
            )
        if self.decimal == self.thousands:
            raise ValueError(
                f"Field {self.name!r} has decimal and thousands {self.decimal!r}: choose another."
            )
        if self.time_format:
            _times.check_format(self.time_format)
        if self.frequencies:
            try:
                _text.check_frequencies(self.frequencies)
            except ValueError as error:
                raise ValueError(f"Field {self.name!r}: {error}") from None

    @property
    def number_form(self) -> NumberForm:
        """Numeric: how its values are written."""
        return NumberForm(self.decimal, self.thousands, self.unit)

    @property
    def is_hashed(self) -> bool:
        """Whether the field is hashed, so that its columns are almost all zeros."""
        return self.kind == "text" or (self.kind == "categorical" and self.categories is None)

    @property
    def has_unit_length(self) -> bool:
        """Whether its columns are a vector of length 1."""
        return self.kind == "text" or self.unit_length

    @property
    def n_columns(self) -> int:
        """The number of its columns; 0 if the field is not a feature."""
        if self.kind == "numeric":
            return 1 + self.missing
        if self.kind == "boolean":
            return 2
        if self.kind == "embed":
            return _embed.LENGTH
        if self.kind == "vector":
            return self.length
        if self.kind == "categorical":
            return HASHED_COLUMNS if self.categories is None else len(self.categories) + 1
        return _text.COLUMNS if self.kind == "text" else 0

    @property
    def column_names(self) -> list[str]:
        """The names of its columns."""
        if self.kind == "numeric":
            return [self.name, f"{self.name} (missing)"] if self.missing else [self.name]
        if self.kind == "boolean":
            return [self.name, f"{self.name} (neither)"]
        if self.kind in ("vector", "embed"):
            return [f"{self.name}[{column}]" for column in range(self.n_columns)]
        if self.kind == "categorical" and self.categories is not None:
            return [f"{self.name}={category or '(missing)'}" for category in [*self.categories, "(other)"]]
        return [f"{self.name}#{column}" for column in range(self.n_columns)]

    def encode(self, cells: Any) -> tuple[Any, _cells.BadCells]:
        """Encode the cells of a block.

        Parameters
        ----------
        cells : sequence
            The cells of this field.

        Returns
        -------
        tuple of (ndarray or csr_matrix, dict)
            The columns, and for each bad row the reason.
        """
        if self.kind == "numeric":
            values, bad = self.number_form.parse_column(cells)
            gaps = np.isnan(values)
            if gaps.any():
                values[gaps] = self.median
            return (np.column_stack([values, gaps]) if self.missing else values[:, None]), bad
        if self.kind == "boolean":
            return _cells.booleans(cells)
        if self.kind == "vector":
            return _vectors.vectors(cells, self.length)
        texts, bad = _cells.strings(cells)
        if self.kind == "embed":
            return _embed.embed(texts), bad
        if self.kind == "text":
            return _text.encode(texts, self.frequencies), bad
        if self.categories is None:
            return _hasher().transform([text] for text in texts), bad
        column = {category: number for number, category in enumerate(self.categories)}
        other = len(column)
        one_hot = np.zeros((len(texts), other + 1))
        one_hot[np.arange(len(texts)), [column.get(text, other) for text in texts]] = 1.0
        return one_hot, bad


def duplicates(names: Iterable[str]) -> list[str]:
    """The names that occur more than once, sorted."""
    return sorted(name for name, times in Counter(names).items() if times > 1)


@lru_cache(maxsize=1)
def _hasher() -> Any:
    return FeatureHasher(
        n_features=HASHED_COLUMNS, input_type="string", alternate_sign=False, dtype=np.float64
    )
