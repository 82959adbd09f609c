"""What comparisons know of all records: how frequent words are, how far numbers spread, what goes with what.

Features of few records are computed with the statistics of many. Words are kept as hashes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Hashes = NDArray[np.uint64]
Numbers = NDArray[np.float64]


@lru_cache(maxsize=1_000_000)
def hash_of(text: str) -> int:
    """64 bits of a text."""
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
    )


def hashes_of(texts: Iterable[str]) -> Hashes:
    """64 bits of each text."""
    return np.array([hash_of(text) for text in texts], dtype=np.uint64)


class FieldStatistics:
    """The statistics of a field.

    Parameters
    ----------
    n : float
        The number of records with a value.
    frequencies : mapping of str to (ndarray, ndarray)
        For each tokenizer, the hashes of tokens in order, and the number of records that have each.
    spread : float or None
        The interquartile range of numbers.
    together : tuple of (ndarray, csr_matrix) or None
        The hashes of values in order, and how often two of them occur in records that agree elsewhere.
    """

    def __init__(
        self,
        n: float,
        frequencies: Mapping[str, tuple[Hashes, Numbers]],
        spread: float | None = None,
        together: tuple[Hashes, Any] | None = None,
    ) -> None:
        self.n, self.frequencies, self.spread, self._together = n, dict(frequencies), spread, together

    @classmethod
    def of(
        cls, n: float, tables: Mapping[str, tuple[list[str], Numbers]], spread: float | None, together: Any
    ) -> FieldStatistics:
        """From the tokens of each table with their frequencies, and values with how often two go together."""
        frequencies = {}
        for name, (vocabulary, counts) in tables.items():
            hashes = hashes_of(vocabulary)
            order = np.argsort(hashes, kind="stable")
            frequencies[name] = hashes[order], counts[order]
        if together is not None:
            values, matrix = together
            hashes = hashes_of(values)
            order = np.argsort(hashes, kind="stable")
            together = hashes[order], sparse.csr_matrix(matrix)[order][:, order]
        return cls(n, frequencies, spread, together)

    def idf(self, tokenizer: str, vocabulary: list[str]) -> Numbers:
        """log(1 + N / df) of tokens; those that were not seen have df = 1."""
        hashes, counts = self.frequencies[tokenizer]
        frequency = np.ones(len(vocabulary))
        place, known = _places(hashes, hashes_of(vocabulary))
        frequency[known] = np.maximum(counts[place[known]], 1)
        return np.asarray(np.log(1 + max(self.n, 1) / frequency))

    def together(self, values: list[str]) -> tuple[Any, Numbers]:
        """How often two of these values were seen together, and how often each with any value."""
        n = len(values)
        if self._together is None:
            return sparse.csr_matrix((n, n)), np.zeros(n)
        hashes, counts = self._together
        place, known = _places(hashes, hashes_of(values))
        rows = np.flatnonzero(known)
        pick = sparse.csr_matrix((np.ones(len(rows)), (rows, place[rows])), shape=(n, len(hashes)))
        totals = np.asarray(counts.sum(axis=1)).ravel()
        return (pick @ counts @ pick.T).tocsr(), np.asarray(pick @ totals)

    def state(self) -> dict[str, Any]:
        """As plain data, for `from_state`."""
        together = None if self._together is None else list(self._together)
        frequencies = {name: list(found) for name, found in self.frequencies.items()}
        return {"n": float(self.n), "frequencies": frequencies, "spread": self.spread, "together": together}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> FieldStatistics:
        """The statistics that `state` described."""
        frequencies = {name: tuple(found) for name, found in state["frequencies"].items()}
        together = state["together"]
        return cls(state["n"], frequencies, state["spread"], None if together is None else tuple(together))


def _places(known: Hashes, wanted: Hashes) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The place of each wanted hash among known ones in order, and whether it is there."""
    if not len(known):
        return np.zeros(len(wanted), dtype=np.intp), np.zeros(len(wanted), dtype=bool)
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return place, known[place] == wanted
