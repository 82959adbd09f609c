"""Text as columns: words and character 4-grams, hashed and weighted by inverse document frequency.

Words fill the first half of the columns and 4-grams within words the second. The weight of a column is
(1 + ln n) idf^0.75, where n is how often it occurs in the text, and idf = ln((1 + N) / (1 + d)) + 1, if d of
the N texts of the first rows have it. Of the exponents, 0.5 is best for a hundred labels and 1 for many; 0.75
is close to the best of both. Each half is scaled to the same length, and the row to length 1.

The document frequencies are those of the first rows for good: weights that change would change rows that a
kernel machine has stored. Columns that fewer than 10 of these texts have count as new (d = 0). So frequencies
take little space, and hardly say what is in a single text.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize

_HALF = 2**16
COLUMNS = 2 * _HALF
_FEWEST_TEXTS = 10
_IDF_POWER = 0.75


def encode(texts: Sequence[str], frequencies: str) -> Any:
    """Rows of length 1 as a CSR matrix; texts without words or letters are rows of zeros."""
    weights = _weights(frequencies)
    halves = []
    for number, counts in enumerate(_counts(texts)):
        counts.data = 1.0 + np.log(counts.data)
        counts.data *= weights[number * _HALF + counts.indices]
        halves.append(normalize(counts, copy=False))
    return normalize(sparse.csr_matrix(sparse.hstack(halves, format="csr")), copy=False)


def frequencies_of(texts: Sequence[str]) -> str:
    """The document frequencies of texts, as a string for a schema."""
    if not texts:
        return ""
    found = np.concatenate([np.bincount(half.indices, minlength=_HALF) for half in _counts(texts)])
    columns = np.flatnonzero(found >= _FEWEST_TEXTS)
    numbers = np.concatenate([[len(texts)], columns, found[columns]])
    return base64.b85encode(zlib.compress(numbers.astype("<i4").tobytes(), 9)).decode()


def check_frequencies(frequencies: str) -> None:
    """Raise a ValueError if a string is not one of `frequencies_of`."""
    _weights(frequencies)


@lru_cache(maxsize=8)
def _weights(frequencies: str) -> npt.NDArray[np.float64]:
    """The factor of each column; 1 without frequencies."""
    if not frequencies:
        return np.ones(COLUMNS)
    try:
        numbers = np.frombuffer(zlib.decompress(base64.b85decode(frequencies)), dtype="<i4")
        n_texts, (columns, counts) = int(numbers[0]), numbers[1:].reshape(2, -1)
        if n_texts < 0 or (columns.size and not 0 <= columns.min() <= columns.max() < COLUMNS):
            raise ValueError("columns out of range")
        if counts.size and not 0 < counts.min() <= counts.max() <= n_texts:
            raise ValueError("counts out of range")
    except (ValueError, IndexError, zlib.error, binascii.Error) as error:
        raise ValueError(f"Damaged document frequencies ({error}): infer the schema again.") from None
    per_column = np.zeros(COLUMNS)
    per_column[columns] = counts
    return np.asarray((np.log((1 + n_texts) / (1 + per_column)) + 1.0) ** _IDF_POWER)


def _counts(texts: Sequence[str]) -> list[Any]:
    """How often each word and each 4-gram occurs."""
    return [vectorizer.transform(texts) for vectorizer in _vectorizers()]


@lru_cache(maxsize=1)
def _vectorizers() -> tuple[Any, Any]:
    common = {"n_features": _HALF, "alternate_sign": False, "norm": None, "dtype": np.float64}
    return HashingVectorizer(**common), HashingVectorizer(**common, analyzer="char_wb", ngram_range=(4, 4))
