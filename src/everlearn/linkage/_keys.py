"""Keys of records: records that share a key are compared. And pairs of records from shared keys."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ._dates import date_form
from ._similarities import TokenTable
from ._text import normalized, soundex, token_grams, tokens
from .features import thesis_key
from .records import Records

Places = NDArray[np.intp]

_LAST_DIGITS = 7  # of a telephone number, those that are written with and without the codes before them


@dataclass(frozen=True)
class Key:
    """A way to make keys of the values of a field.

    Attributes
    ----------
    field : str
        The field.
    """

    field: str
    # Whether a key of very many records says nothing, as a frequent word does, and is dropped without a word.
    drops_large: ClassVar[bool] = False

    def keys(self, value: str) -> list[str]:
        """Make the keys of a value.

        Parameters
        ----------
        value : str
            The value, not empty.

        Returns
        -------
        list of str
            Its keys.
        """
        return self._make(value)

    def _make(self, value: str) -> list[str]:
        raise NotImplementedError

    def keys_of_values(self, values: Sequence[str]) -> Iterable[Iterable[str]]:
        """Make the keys of each value; an empty one has none.

        Parameters
        ----------
        values : sequence of str
            The values.

        Returns
        -------
        iterable of iterable of str
            The keys of each.
        """
        return (self.keys(value) if value else () for value in values)

    def keys_of(self, records: Records) -> tuple[Places, list[str]]:
        """Make the keys of all records; a missing value has none.

        Parameters
        ----------
        records : Records
            The records.

        Returns
        -------
        tuple of (ndarray, list of str)
            Places of records and a key of each; a record with several keys occurs several times.
        """
        values, codes = records.distinct(self.field)
        made = [sorted(set(keys)) for keys in self.keys_of_values(values)]
        counts = np.array([len(made[code]) for code in codes], dtype=np.intp)
        return np.repeat(np.arange(len(codes)), counts), [key for code in codes for key in made[code]]


@dataclass(frozen=True)
class Exact(Key):
    """Compare records whose values are equal but for case, accents and white space.

    Attributes
    ----------
    field : str
        The field.

    Examples
    --------
    >>> from everlearn.linkage import Exact
    >>> Exact("city").keys(" ROME ")
    ['rome']
    """

    def _make(self, value: str) -> list[str]:
        return [normalized(value)]


@dataclass(frozen=True)
class Prefix(Key):
    """Compare records whose values begin with the same characters.

    Attributes
    ----------
    field : str
        The field.
    length : int
        The number of characters, 4 by default.
    """

    length: int = 4

    def _make(self, value: str) -> list[str]:
        return [normalized(value)[: self.length]]


@dataclass(frozen=True)
class Phonetic(Key):
    """Compare records with a word that sounds alike: the Soundex code of each word of the value.

    Attributes
    ----------
    field : str
        The field.
    """

    def _make(self, value: str) -> list[str]:
        return [soundex(token) for token in tokens(value)]


@dataclass(frozen=True)
class Value(Key):
    """Compare records whose values are equal, however they are written.

    Case, accents, spaces and punctuation make no difference, nor does the form of a date; of a number of
    more than seven digits, such as a telephone number, the last seven count. Values of more records than a
    block may have are dropped.

    Attributes
    ----------
    field : str
        The field.

    Examples
    --------
    >>> from everlearn.linkage import Value
    >>> Value("born").keys("7 March 1999"), Value("phone").keys("+39 (06) 555-1234")
    (['19990307'], ['5551234'])
    """

    drops_large: ClassVar[bool] = True

    def _make(self, value: str) -> list[str]:
        if day := date_form(value):
            return [day]
        joined = "".join(tokens(value))
        return [joined[-_LAST_DIGITS:] if joined.isdigit() else joined] if joined else []


@dataclass(frozen=True)
class Tokens(Key):
    """Compare records with a common word; words of more records than a block may have are dropped.

    Attributes
    ----------
    field : str
        The field.
    """

    drops_large: ClassVar[bool] = True

    def _make(self, value: str) -> list[str]:
        return tokens(value)


@dataclass(frozen=True)
class AuthorName(Key):
    """Compare names with the same last name and first initial, as in Ertekin's thesis.

    Tokens are runs of a-z and 0-9: names in other scripts have no key.

    Attributes
    ----------
    field : str
        The field, "name" by default.
    """

    field: str = "name"

    def _make(self, value: str) -> list[str]:
        found = thesis_key(value)
        return [found] if found else []


_PRIME = (1 << 31) - 1
_VALUES_AT_ONCE = 50_000


@dataclass(frozen=True)
class MinHash(Key):
    """Compare records with similar sets of 3-grams: locality-sensitive hashing of MinHash signatures.

    Two values with Jaccard similarity s share a key with probability 1 - (1 - s^rows)^bands.

    Attributes
    ----------
    field : str
        The field.
    bands : int
        The number of keys of a record, 16 by default.
    rows : int
        The number of hash values in a key, 4 by default: more make keys rarer.
    seed : int
        Seed of the hash functions, 0 by default.
    """

    bands: int = 16
    rows: int = 4
    seed: int = 0
    drops_large: ClassVar[bool] = True

    def _make(self, value: str) -> list[str]:
        return next(iter(self.keys_of_values([value])))

    def keys_of_values(self, values: Sequence[str]) -> Iterator[list[str]]:
        """Make the keys of each value; one without letters and digits has none.

        Parameters
        ----------
        values : sequence of str
            The values.

        Returns
        -------
        iterator of list of str
            A key for each band.
        """
        for start in range(0, len(values), _VALUES_AT_ONCE):
            lists = [tokens(value) for value in values[start : start + _VALUES_AT_ONCE]]
            uses = np.ones(len(lists), dtype=np.intp)
            found = TokenTable.of(lists, uses).pieces(token_grams)
            filled = np.flatnonzero(found.set_sizes)
            signatures = np.zeros((len(lists), self.bands, self.rows), dtype=np.int64)
            hashes = np.array([hash_of_text(gram) for gram in found.vocabulary], dtype=np.int64)
            starts = found.counts.indptr[filled]
            for place, (a, b) in enumerate(
                zip(*hash_functions(self.seed, self.bands * self.rows), strict=True)
            ):
                hashed = ((a * hashes + b) % _PRIME)[found.counts.indices]
                smallest = np.minimum.reduceat(hashed, starts) if len(filled) else hashed
                signatures[filled, place // self.rows, place % self.rows] = smallest
            for bands, size in zip(signatures, found.set_sizes, strict=True):
                yield [f"{band}:{row.tobytes().hex()}" for band, row in enumerate(bands)] if size else []


@lru_cache
def hash_functions(seed: int, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Coefficients a and b of n functions (a x + b) mod p."""
    a, b = np.random.default_rng(seed).integers(1, _PRIME, size=(2, n, 1), dtype=np.int64)
    return a, b


@lru_cache(maxsize=100_000)
def hash_of_text(text: str) -> int:
    """A number below a prime for a text."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=4).digest(), "little") % _PRIME


class Blocks:
    """Records of one or two tables in order of their keys, and the pairs within blocks of equal keys."""

    def __init__(
        self, left: tuple[Places, Sequence[str]], right: tuple[Places, Sequence[str]] | None
    ) -> None:
        known: dict[str, int] = {}
        self.two = right is not None
        sides = [left] if right is None else [left, right]
        numbers = [
            np.array([known.setdefault(k, len(known)) for k in keys], dtype=np.intp) for _, keys in sides
        ]
        self.keys = list(known)
        orders = [np.argsort(number, kind="stable") for number in numbers]
        self.places = [side[0][order] for side, order in zip(sides, orders, strict=True)]
        self.blocks = [number[order] for number, order in zip(numbers, orders, strict=True)]
        self.sizes = [np.bincount(number, minlength=len(known)) for number in numbers]

    def block_sizes(self) -> Places:
        """The number of records of both tables in each block."""
        return np.sum(self.sizes, axis=0) if self.keys else np.zeros(0, dtype=np.intp)

    def n_pairs(self) -> Places:
        """The number of pairs of each block."""
        first = self.sizes[0]
        return first * self.sizes[1] if self.two else first * (first - 1) // 2

    def pairs(self, keep: NDArray[np.bool_]) -> tuple[Places, Places]:
        """All pairs of the blocks to keep; repeated if two records share several keys."""
        starts = np.cumsum(self.sizes[-1]) - self.sizes[-1]
        entries = np.flatnonzero(keep[self.blocks[0]])
        block = self.blocks[0][entries]
        if self.two:
            begin, count = starts[block], self.sizes[1][block]
        else:  # each record with those after it
            begin, count = entries + 1, starts[block] + self.sizes[0][block] - entries - 1
        return self._partners(entries, begin, count)

    def sampled_pairs(self, block: int, most: int, rng: np.random.Generator) -> tuple[Places, Places]:
        """About ``most`` pairs of a block, drawn at random."""
        sides = [p[b == block] for p, b in zip(self.places, self.blocks, strict=True)]
        left, right = sides[0], sides[-1]
        first, second = rng.integers(len(left), size=most), rng.integers(len(right), size=most)
        keep = first != second if not self.two else np.ones(most, dtype=bool)
        return left[first[keep]], right[second[keep]]

    def _partners(self, entries: Places, begin: Places, count: Places) -> tuple[Places, Places]:
        line = np.repeat(np.arange(len(entries)), count)
        offset = np.arange(len(line)) - np.repeat(np.cumsum(count) - count, count)
        return self.places[0][entries[line]], self.places[-1][begin[line] + offset]
