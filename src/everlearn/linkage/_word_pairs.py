"""WordPairs: records that have two words in common, anywhere in their fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ._keys import Key, Places, hash_functions, hash_of_text
from ._similarities import TokenTable
from ._text import normalized, tokens
from .records import Records

_WHOLE = ("date", "email", "url", "number")  # kinds of fields whose value is one word
_PRIME = (1 << 31) - 1


@dataclass(frozen=True)
class WordPairs(Key):
    """Compare records that have two words in common, in whatever fields.

    Where every word is frequent, as names and cities are in a large table, two of them together are not. Of
    the words of a record, some pairs are drawn by MinHash, so that two records with many common words draw
    a common pair; longer words, which are rarer, are drawn more often. Pairs of words of more records than a
    block may have are dropped.

    Attributes
    ----------
    field : str
        The field; "", the default, for all fields of the record.
    draws : int
        The number of pairs of words that are drawn, 16 by default.
    seed : int
        Seed of the hash functions, 0 by default.

    Examples
    --------
    >>> from everlearn.linkage import Blocking, Records, WordPairs
    >>> people = Records([{"name": "Ann Lee", "city": "Rome"}, {"name": "Lee, A.", "city": "Rome, Italy"}])
    >>> len(Blocking(WordPairs()).pairs(people))
    1
    """

    field: str = ""
    draws: int = 16
    seed: int = 0
    drops_large: ClassVar[bool] = True

    def _make(self, value: str) -> list[str]:
        return self._drawn([tokens(value)])[0]

    def keys_of(self, records: Records) -> tuple[Places, list[str]]:
        """Make the keys of all records.

        Parameters
        ----------
        records : Records
            The records.

        Returns
        -------
        tuple of (ndarray, list of str)
            Places of records and a key of each; a record with several keys occurs several times.
        """
        words: list[list[str]] = [[] for _ in range(len(records))]
        for name in [self.field] if self.field else records.schema:
            values, codes = records.distinct(name)
            whole = records.schema[name] in _WHOLE
            found = [[normalized(value)] if whole and value else tokens(value) for value in values]
            for place, code in enumerate(codes.tolist()):
                words[place] += found[code]
        made = self._drawn(words)
        counts = np.array([len(keys) for keys in made], dtype=np.intp)
        return np.repeat(np.arange(len(made)), counts), [key for keys in made for key in keys]

    def _drawn(self, words: Sequence[list[str]]) -> list[list[str]]:
        """The pairs of words that are drawn of each list."""
        table = TokenTable.of(words, np.ones(len(words), dtype=np.intp))
        filled = np.flatnonzero(table.set_sizes > 1)
        if not len(filled):
            return [[] for _ in words]
        counts = table.counts[filled]
        drawn = np.stack([order[least] for order, least in self._least(table.vocabulary, counts)])
        first, second = drawn[: self.draws], drawn[self.draws :]
        low, high = np.minimum(first, second), np.maximum(first, second)
        found: list[list[str]] = [[] for _ in words]
        for place, a, b in zip(filled.tolist(), low.T.tolist(), high.T.tolist(), strict=True):
            pairs = {(x, y) for x, y in zip(a, b, strict=True) if x != y}
            found[place] = sorted(f"{table.vocabulary[x]} {table.vocabulary[y]}" for x, y in pairs)
        return found

    def _least(
        self, vocabulary: list[str], counts: object
    ) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """For each hash function, the words in the order of their values, and the first of each record."""
        hashes = np.array([hash_of_text(word) for word in vocabulary], dtype=np.int64)
        lengths = np.array([len(word) for word in vocabulary], dtype=np.float64)
        indices, indptr = counts.indices, counts.indptr  # type: ignore[attr-defined]
        found = []
        for a, b in zip(*hash_functions(self.seed, 2 * self.draws), strict=True):
            uniform = ((a * hashes + b) % _PRIME + 0.5) / _PRIME
            order = np.argsort(-np.log(uniform) / lengths, kind="stable")
            rank = np.empty(len(order), dtype=np.intp)
            rank[order] = np.arange(len(order))
            found.append((order, np.minimum.reduceat(rank[indices], indptr[:-1])))
        return found
