"""How two values of a field are compared, by the kind of the field.

A comparison takes a `FieldValues` and the codes of two lists of its values, none of them missing, and returns
similarities from 0 to 1, a row for each feature: its name, or names separated by spaces, is its key below.
What it needs of a value is computed once for each distinct value, when first used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._dates import date_form, parse_date
from ._kinds import parse_number
from ._similarities import (
    Codes,
    Similarities,
    TokenTable,
    closest,
    containments,
    jaccards,
    joined,
    row_products,
    soft_tfidf,
)
from ._statistics import FieldStatistics
from ._strings import edit_similarities, jaro_winkler_similarities
from ._text import ascii_tokens, first_letter, normalized, number_form, token_grams, tokens

_UNKNOWN = 0.5  # the similarity of texts without numbers, by their numbers


class FieldValues:
    """The distinct values of a field with whatever comparisons derive from them."""

    def __init__(self, values: list[str], uses: Codes) -> None:
        self.values, self.uses = values, uses
        self.missing = np.array([not value for value in values], dtype=bool)
        self.seen_together: Any = None  # see `_count_together` in features.py
        self.statistics: FieldStatistics | None = None  # of other records; None: of these values
        self._frequencies: dict[str, tuple[list[str], Similarities]] = {}  # of each table that was used

    def __len__(self) -> int:
        return len(self.missing)

    @property
    def known_uses(self) -> Codes:
        """How many records have each value; 0 for a missing one."""
        return np.where(self.missing, 0, self.uses)

    def noted(self, name: str, table: TokenTable) -> TokenTable:
        """The table with the idf of the statistics if there are any; otherwise its frequencies are kept."""
        if self.statistics is not None:
            table.idf = self.statistics.idf(name, table.vocabulary)
        else:
            self._frequencies[name] = table.vocabulary, table.frequency
        return table

    def as_statistics(self) -> FieldStatistics:
        """The statistics of these values, as far as comparisons have used them."""
        spread = self.spread if "numbers" in vars(self) else None
        together = None if self.seen_together is None else (self.values, self.seen_together)
        return FieldStatistics.of(float(self.known_uses.sum()), self._frequencies, spread, together)

    @cached_property
    def normalized(self) -> list[str]:
        return [normalized(value) for value in self.values]

    @cached_property
    def forms(self) -> Codes:
        """The same number for values of one normal form."""
        known: dict[str, int] = {}
        return np.array([known.setdefault(value, len(known)) for value in self.normalized], dtype=np.intp)

    @cached_property
    def lowered(self) -> list[str]:
        return [value.lower() for value in self.values]

    @cached_property
    def sorted_tokens(self) -> list[str]:
        counts, vocabulary = self.tokens.counts, self.tokens.vocabulary
        words = [vocabulary[i] for i in np.repeat(counts.indices, counts.data.astype(int))]
        sizes = np.asarray(counts.sum(axis=1)).ravel().astype(int)
        ends = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        return [" ".join(words[i:j]) for i, j in pairwise(ends)]

    @cached_property
    def locals(self) -> list[str]:
        """The parts of email addresses before the @."""
        return [value.partition("@")[0] for value in self.normalized]

    @cached_property
    def tokens(self) -> TokenTable:
        return self.noted("tokens", TokenTable.of(map(tokens, self.values), self.known_uses))

    @cached_property
    def ascii_tokens(self) -> TokenTable:
        return self.noted("ascii_tokens", TokenTable.of(map(ascii_tokens, self.values), self.known_uses))

    @cached_property
    def initials(self) -> TokenTable:
        return self.noted("initials", self.tokens.pieces(first_letter))

    @cached_property
    def number_tokens(self) -> TokenTable:
        return self.noted("numbers", self.tokens.pieces(number_form))

    @cached_property
    def weights(self) -> Any:
        return self.tokens.weights()

    @cached_property
    def gram_weights(self) -> Any:
        return self.noted("grams", self.tokens.pieces(token_grams)).weights()

    @cached_property
    def numbers(self) -> Similarities:
        return _parsed(self.values, parse_number)

    @cached_property
    def spread(self) -> float:
        """The width of the middle half of the numbers."""
        if self.statistics is not None and self.statistics.spread is not None:
            return self.statistics.spread
        return _spread(self.numbers)

    @cached_property
    def together(self) -> tuple[Any, Similarities] | None:
        """How often two values were seen in records that agree elsewhere, and each with any."""
        if self.statistics is not None:
            return self.statistics.together(self.values)
        if self.seen_together is None:
            return None
        return self.seen_together, np.asarray(self.seen_together.sum(axis=1)).ravel()

    @cached_property
    def days(self) -> Similarities:
        return _parsed(self.values, parse_date)


class DateValues(FieldValues):
    """Dates, which are the same in any form."""

    @cached_property
    def normalized(self) -> list[str]:
        return [date_form(value) or normalized(value) for value in self.values]


class RecordValues(FieldValues):
    """All fields of a record as one text, a value for each record; `sides` are the records of both tables."""

    def __init__(
        self, fields: list[FieldValues], codes: list[Codes], sides: tuple[Codes, Codes], n: int
    ) -> None:
        super().__init__([], np.ones(n, dtype=np.intp))
        self.missing = np.ones(n, dtype=bool)
        for field, code in zip(fields, codes, strict=True):
            self.missing &= field.missing[code]
        self.fields, self.codes, self.sides = fields, codes, sides

    @cached_property
    def tokens(self) -> TokenTable:
        tables = [field.tokens for field in self.fields]
        return self.noted("tokens", joined(tables, self.codes, self.known_uses))

    @cached_property
    def closest(self) -> tuple[Any, Similarities]:
        """Weights, and the largest cosine of each record with any other."""
        return closest(self.weights, *self.sides)


def _parsed(values: list[str], parse: Callable[[str], float | None]) -> Similarities:
    found = (parse(value) for value in values)
    return np.array([np.nan if number is None else number for number in found], dtype=np.float64)


def _strings(compare: Callable[..., Similarities], form: str) -> Comparison:
    def similarities(field: FieldValues, a: Codes, b: Codes) -> Similarities:
        values = getattr(field, form)
        return compare([values[i] for i in a], [values[i] for i in b])

    return similarities


def _equal(field: FieldValues, a: Codes, b: Codes) -> Similarities:
    forms = field.forms
    return np.asarray(forms[a] == forms[b], dtype=np.float64)


def _goes_with(field: FieldValues, a: Codes, b: Codes) -> Similarities:
    """How often two values were seen in records that agree elsewhere, n(a, b) / sqrt(n(a) n(b)).

    Where neither value was seen in such records: whether they are equal.
    """
    equal = _equal(field, a, b)
    if field.together is None:
        return equal
    counts, total = field.together
    known = (total[a] > 0) & (total[b] > 0)
    found = np.asarray(counts[a, b]).ravel() / np.sqrt(np.where(known, total[a] * total[b], 1))
    return np.where(known, np.minimum(found, 1.0), equal)


def _length(field: FieldValues, a: Codes, b: Codes) -> Similarities:
    """The smaller number of words over the larger."""
    sizes = np.asarray(field.tokens.counts.sum(axis=1)).ravel()
    larger = np.maximum(sizes[a], sizes[b])
    return np.where(larger > 0, np.minimum(sizes[a], sizes[b]) / np.maximum(larger, 1), 1.0)


def _cosine(field: FieldValues, a: Codes, b: Codes) -> Similarities:
    return np.minimum(row_products(field.weights, a, b), 1.0)


def _gram_cosine(field: FieldValues, a: Codes, b: Codes) -> Similarities:
    return np.minimum(row_products(field.gram_weights, a, b), 1.0)


def _rivals(field: FieldValues, a: Codes, b: Codes) -> Similarities:
    """The cosine over that of each record with its closest record: 1 where there is no closer one.

    Two papers called "Editorial" are similar; but not a match if each has a still more similar partner. The
    smaller ratio of the two records, and the larger one.
    """
    assert isinstance(field, RecordValues)
    weights, best = field.closest
    cosine = row_products(weights, a, b)
    ratios = [np.where(best[c] > 0, cosine / np.where(best[c] > 0, best[c], 1), 1.0) for c in (a, b)]
    return np.minimum([np.minimum(*ratios), np.maximum(*ratios)], 1.0)


def _soft(field: FieldValues, a: Codes, b: Codes) -> Similarities:
    return soft_tfidf(field.tokens, a, b, field.weights)


def _jaccard(field: FieldValues, a: Codes, b: Codes) -> Similarities:
    return jaccards(field.tokens, a, b)


def _ascii_jaccard(field: FieldValues, a: Codes, b: Codes) -> Similarities:
    return jaccards(field.ascii_tokens, a, b)


def _containment(field: FieldValues, a: Codes, b: Codes) -> Similarities:
    return containments(field.tokens, a, b)


def _initials(field: FieldValues, a: Codes, b: Codes) -> Similarities:
    sets, sizes = field.initials.sets, field.initials.set_sizes
    smaller = np.minimum(sizes[a], sizes[b])
    return np.where(smaller > 0, row_products(sets, a, b) / np.maximum(smaller, 1), 0.0)


def _number_tokens(field: FieldValues, a: Codes, b: Codes) -> Similarities:
    sizes = field.number_tokens.set_sizes
    known = (sizes[a] > 0) & (sizes[b] > 0)
    return np.where(known, jaccards(field.number_tokens, a, b), _UNKNOWN)


def _ratio(field: FieldValues, a: Codes, b: Codes) -> Similarities:
    """1 - |x - y| / max(|x|, |y|), 0 where that is negative or a value is no number."""
    x, y = field.numbers[a], field.numbers[b]
    larger = np.maximum(np.abs(x), np.abs(y))
    distance = np.abs(x - y) / np.where(larger > 0, larger, 1)
    return np.clip(1 - np.nan_to_num(distance, nan=1.0), 0, 1)


def _closeness(form: str, width: float | None) -> Comparison:
    """1 / (1 + |x - y| / width); without a width, that of the middle half of the values."""

    def similarities(field: FieldValues, a: Codes, b: Codes) -> Similarities:
        values: NDArray[np.float64] = getattr(field, form)
        scale = width or field.spread
        return np.nan_to_num(1 / (1 + np.abs(values[a] - values[b]) / scale), nan=0.0)

    return similarities


def _spread(values: Similarities) -> float:
    known = values[np.isfinite(values)]
    low, high = np.quantile(known, [0.25, 0.75]) if len(known) else (0.0, 1.0)
    return float(high - low) or 1.0


Comparison = Callable[[FieldValues, Codes, Codes], Similarities]

EDIT = _strings(edit_similarities, "normalized")
LOWER_EDIT = _strings(edit_similarities, "lowered")
ASCII_JACCARD = _ascii_jaccard

# The features of each kind, in their order.
COMPARISONS: dict[str, dict[str, Comparison]] = {
    "name": {
        "soft_tfidf": _soft,
        "jaro_winkler": _strings(jaro_winkler_similarities, "sorted_tokens"),
        "grams": _gram_cosine,
        "initials": _initials,
        "length": _length,
    },
    "text": {
        "tfidf": _cosine,
        "soft_tfidf": _soft,
        "grams": _gram_cosine,
        "containment": _containment,
        "numbers": _number_tokens,
    },
    "address": {
        "soft_tfidf": _soft,
        "jaccard": _jaccard,
        "grams": _gram_cosine,
        "numbers": _number_tokens,
    },
    "email": {"edit": EDIT, "local": _strings(jaro_winkler_similarities, "locals")},
    "url": {"edit": EDIT, "jaccard": _jaccard},
    "date": {"equal": _equal, "edit": EDIT, "closeness": _closeness("days", 365.25)},
    "number": {"equal": _equal, "ratio": _ratio, "closeness": _closeness("numbers", None)},
    "category": {"equal": _equal, "edit": EDIT, "goes_with": _goes_with},
}
# All fields of a record as one text: a value may be in the wrong field.
RECORD: dict[str, Comparison] = {"tfidf": _cosine, "grams": _gram_cosine, "containment": _containment}
RIVALS: dict[str, Comparison] = {"closest_of_both closest_of_one": _rivals}
