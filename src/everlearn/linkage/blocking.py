"""Blocking: which pairs of records are compared at all."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import constraints
from ._keys import AuthorName, Blocks, Exact, Key, MinHash, Phonetic, Prefix, Tokens, Value
from ._text import tokens
from ._word_pairs import WordPairs
from .records import Records

__all__ = [
    "AuthorName",
    "Blocking",
    "BlockingReport",
    "Exact",
    "Key",
    "MinHash",
    "Pairs",
    "Phonetic",
    "Prefix",
    "Tokens",
    "Value",
    "WordPairs",
    "default_blocking",
]

_LARGEST, _SMALLEST = 100, 20  # records of the largest block of the default blocking
_MANY_RECORDS = 20_000  # with more, blocks are smaller
_LONG_TEXT, _SAMPLE = 20, 1_000  # words of a text so long that each of it would bring hundreds of pairs


@dataclass(frozen=True)
class Pairs:
    """Pairs of records, by their places in the tables.

    Attributes
    ----------
    left : ndarray of shape (n_pairs,)
        The place of the first record of each pair.
    right : ndarray of shape (n_pairs,)
        The place of the second record; with one table it is larger than the first.
    """

    left: NDArray[np.intp]
    right: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.left)

    def __getitem__(self, places: Any) -> Pairs:
        """Some of the pairs, as NumPy selects them."""
        return Pairs(np.atleast_1d(self.left[places]), np.atleast_1d(self.right[places]))


@dataclass(frozen=True)
class BlockingReport:
    """What a blocking does.

    Attributes
    ----------
    pairs : int
        Number of pairs to compare.
    all_pairs : int
        Number of all possible pairs.
    reduction : float
        The fraction of all pairs that are not compared.
    recall : float or None
        The fraction of true pairs that are compared; None if the truth was not given.
    by_key : dict of str to int
        Pairs of each key alone.
    largest_block : int
        Records in the largest block that is compared.
    notes : list of str
        Blocks that were dropped or sampled, in words.
    """

    pairs: int
    all_pairs: int
    reduction: float
    recall: float | None
    by_key: dict[str, int]
    largest_block: int
    notes: list[str] = field(default_factory=list)


class Blocking:
    """Select the pairs of records to compare: those that share at least one key.

    Parameters
    ----------
    keys : Key or str
        One or more of `Exact`, `Prefix`, `Phonetic`, `Value`, `Tokens`, `MinHash` and `WordPairs`; a str is
        an `Exact` key of the field of that name. Pairs are the union over all keys. An empty value has no
        key, so it is compared by none.
    max_block_size : int, default=2000
        The most records that may share a key.
    large_blocks : {"refuse", "sample"}, default="refuse"
        What to do with a larger block: an error that names it, or a random sample of its pairs, as many as
        a block of ``max_block_size`` records has, with a warning. Keys of `Value`, `Tokens`, `MinHash` and
        `WordPairs` that are more frequent are dropped in either case; the report says how many.
    random_state : int, default=0
        Seed of the sample.

    Examples
    --------
    >>> from everlearn.linkage import Blocking, Prefix, Records
    >>> cities = Records({"city": ["Rome", "rome", "Romford", "Oslo"]})
    >>> pairs = Blocking(Prefix("city", 3)).pairs(cities)
    >>> list(zip(pairs.left.tolist(), pairs.right.tolist()))
    [(0, 1), (0, 2), (1, 2)]
    """

    _constraints = {  # noqa: RUF012
        "max_block_size": constraints.integer_from(2),
        "large_blocks": constraints.one_of("refuse", "sample"),
        "random_state": constraints.integer_from(0),
    }

    def __init__(
        self,
        *keys: Key | str,
        max_block_size: int = 2000,
        large_blocks: str = "refuse",
        random_state: int = 0,
    ) -> None:
        self.keys = tuple(Exact(key) if isinstance(key, str) else key for key in keys)
        self.max_block_size, self.large_blocks, self.random_state = max_block_size, large_blocks, random_state

    def __repr__(self) -> str:
        return f"Blocking({', '.join(map(repr, self.keys))}, max_block_size={self.max_block_size})"

    def pairs(self, left: Records, right: Records | None = None) -> Pairs:
        """Select the pairs.

        Parameters
        ----------
        left : Records
            The records, or those of the first table.
        right : Records, default=None
            The second table; None compares the records of one table with each other.

        Returns
        -------
        Pairs
            The pairs, each once, in order.
        """
        return self._union(left, right)[0]

    def report(self, left: Records, right: Records | None = None, truth: Iterable[Any] | None = None) -> Any:
        """Select the pairs and say how many there are and, given the truth, how many matches are among them.

        Parameters
        ----------
        left : Records
            The records, or those of the first table.
        right : Records, default=None
            The second table.
        truth : iterable of pairs of ids, default=None
            The true pairs: two ids each.

        Returns
        -------
        BlockingReport
            Number of pairs, reduction and recall.
        """
        found, by_key, largest, notes = self._union(left, right, quiet=True)
        n, m = len(left), len(left) if right is None else len(right)
        everything = n * (n - 1) // 2 if right is None else n * m
        recall = None
        if truth is not None:
            true = {
                _ordered(left.place_of(a), (left if right is None else right).place_of(b), right is None)
                for a, b in truth
            }
            codes = np.array([a * m + b for a, b in true], dtype=np.int64)
            hit = np.isin(codes, found.left.astype(np.int64) * m + found.right)
            recall = float(hit.mean()) if len(codes) else 1.0
        reduction = 1 - len(found) / everything if everything else 0.0
        return BlockingReport(len(found), everything, reduction, recall, by_key, largest, notes)

    def _union(
        self, left: Records, right: Records | None, quiet: bool = False
    ) -> tuple[Pairs, dict[str, int], int, list[str]]:
        constraints.check(self)
        if not self.keys:
            raise ValueError("Blocking needs at least one key, such as Blocking(Tokens('title')).")
        width = max(len(left) if right is None else len(right), 1)
        codes, largest = [np.zeros(0, dtype=np.int64)], 0
        by_key: dict[str, int] = {}
        notes: list[str] = []
        for key in self.keys:
            blocks = Blocks(key.keys_of(left), None if right is None else key.keys_of(right))
            found, size, note = self._of_key(key, blocks, quiet)
            first, second = found if right is not None else (np.minimum(*found), np.maximum(*found))
            unique = np.unique(first.astype(np.int64) * width + second)
            codes.append(unique)
            by_key[repr(key)] = len(unique)
            largest, notes = max(largest, size), notes + note
        union = np.unique(np.concatenate(codes))
        first, second = (side.astype(np.intp) for side in np.divmod(union, width))
        return Pairs(first, second), by_key, largest, notes

    def _of_key(
        self, key: Key, blocks: Blocks, quiet: bool
    ) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], int, list[str]]:
        """The pairs of one key, the size of its largest block, and what was left out, in words."""
        sizes = blocks.block_sizes()
        large = np.flatnonzero((sizes > self.max_block_size) & (blocks.n_pairs() > 0))
        kept = sizes <= self.max_block_size
        largest = int(sizes[kept & (blocks.n_pairs() > 0)].max(initial=0))
        left, right = blocks.pairs(kept)
        if not len(large):
            return (left, right), largest, []
        worst = large[np.argmax(sizes[large])]
        words = f"{key!r} gives {sizes[worst]:,} records the key {blocks.keys[worst]!r}"
        more = "" if len(large) == 1 else f", and {len(large) - 1:,} other blocks are too large"
        limit = f"max_block_size={self.max_block_size:,}"
        if key.drops_large:
            note = (
                f"{key!r}: dropped {len(large):,} keys that more than {self.max_block_size:,} records share"
            )
            return (left, right), largest, [note]
        if self.large_blocks == "refuse":
            raise ValueError(
                f"{words}, more than {limit}{more}: use a finer key, raise max_block_size, or pass "
                "large_blocks='sample' to compare a random sample of such pairs."
            )
        rng = np.random.default_rng(self.random_state)
        most = self.max_block_size * (self.max_block_size - 1) // 2
        samples = [blocks.sampled_pairs(int(block), most, rng) for block in large]
        note = f"{words}, more than {limit}{more}: {most:,} random pairs of each are compared"
        if not quiet:
            warnings.warn(note, UserWarning, stacklevel=4)
        first = np.concatenate([left, *(a for a, _ in samples)])
        return (first, np.concatenate([right, *(b for _, b in samples)])), self.max_block_size, [note]


def check_blocking(blocking: Any) -> None:
    """Refuse what is no blocking."""
    if not isinstance(blocking, Blocking | None):
        raise TypeError(f"blocking must be a Blocking, such as Blocking('city'), got {blocking!r}.")


def default_blocking(records: Records, n_records: int | None = None) -> Blocking:
    """Make a blocking for any table: records that share a rare word, two words, or many 3-grams.

    Parameters
    ----------
    records : Records
        The records, whose schema it is made for.
    n_records : int, default=None
        How many records there will be, if these are only the first of them.

    Returns
    -------
    Blocking
        `Tokens` and `MinHash` of names, texts and addresses, `Tokens` and `Value` of other fields but
        numbers, and `WordPairs` of the record. Texts of more than 20 words in the mean have no `Tokens`. Keys
        of more than 100 records are dropped; of fewer, down to 20, in a table of more than 20,000 records, so
        that the number of pairs stays bearable.
    """
    keys: list[Key] = []
    for name, kind in records.schema.items():
        if kind != "number" and not (kind == "text" and _mean_words(records, name) > _LONG_TEXT):
            keys.append(Tokens(name))
        if kind in ("name", "text", "address"):
            keys.append(MinHash(name, bands=8, rows=3))
        elif kind != "number":
            keys.append(Value(name))
    if not keys:
        keys = [Tokens(name) for name in records.schema]
    n = max(len(records), n_records or 0, 1)
    largest = int(_LARGEST * min(1.0, (_MANY_RECORDS / n) ** 0.5))
    return Blocking(*keys, WordPairs(), max_block_size=max(largest, _SMALLEST))


def _mean_words(records: Records, field: str) -> float:
    """The mean number of words of a value of a field, of some of them."""
    values = [value for value in records.distinct(field)[0] if value]
    some = values[:: max(1, len(values) // _SAMPLE)]
    return sum(len(tokens(value)) for value in some) / max(len(some), 1)


def _ordered(a: int, b: int, one_table: bool) -> tuple[int, int]:
    return (min(a, b), max(a, b)) if one_table else (a, b)
