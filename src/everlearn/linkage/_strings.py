"""Edit and Jaro-Winkler similarities of many pairs of strings at once.

Edit distances come from rapidfuzz where it is installed (extra "linkage"): the same numbers, about fifty
times faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    from rapidfuzz import process as _process
    from rapidfuzz.distance import Levenshtein as _levenshtein
except ImportError:  # `edit_distance` below
    _process = _levenshtein = None  # type: ignore[assignment]

Similarities = NDArray[np.float64]

_PAIRS_AT_ONCE = 4096  # so that the letters of a block stay in the processor's cache


def edit_distance(a: str, b: str) -> int:
    """Insertions, deletions and substitutions that turn one string into the other."""
    if len(a) < len(b):
        a, b = b, a
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (letter != other))
    return row[-1]


def edit_similarities(left: Sequence[str], right: Sequence[str]) -> Similarities:
    """1 - edit distance / longer length, of each pair; 1 for two empty strings."""
    if _process is not None and len(left):
        found: Any = _process.cpdist(left, right, scorer=_levenshtein.distance, dtype=np.int64)
    else:
        found = np.array([edit_distance(a, b) for a, b in zip(left, right, strict=True)], dtype=np.int64)
    longest = np.maximum(_lengths(left), _lengths(right))
    return 1.0 - np.asarray(found, dtype=np.float64) / np.maximum(longest, 1)


def jaro_winkler_similarities(left: Sequence[str], right: Sequence[str]) -> Similarities:
    """J + 0.1 p (1 - J) of each pair, p the length of the common prefix, at most 4.

    J is Jaro's similarity. Its transpositions are half the number of positions at which the two sequences of
    matched letters differ, not rounded.
    """
    lengths = _lengths(left), _lengths(right)
    similarities = np.empty(len(left))
    order = np.argsort(np.maximum(*lengths), kind="stable")  # strings of similar lengths share a block
    for start in range(0, len(order), _PAIRS_AT_ONCE):
        places = order[start : start + _PAIRS_AT_ONCE]
        similarities[places] = _jaro_winkler_block(
            [left[i] for i in places], [right[i] for i in places], *(length[places] for length in lengths)
        )
    return similarities


def _jaro_winkler_block(
    left: list[str], right: list[str], n_left: NDArray[np.int64], n_right: NDArray[np.int64]
) -> Similarities:
    a, b = _letters(left), _letters(right)
    window = np.maximum(np.maximum(n_left, n_right) // 2 - 1, 0)
    widest, n = int(window.max()), len(left)
    taken_a, taken_b = np.zeros(a.shape, dtype=bool), np.zeros(b.shape, dtype=bool)
    for i in range(len(a)):
        free = i < n_left
        for j in range(max(0, i - widest), min(len(b), i + widest + 1)):
            match = free & ~taken_b[j] & (a[i] == b[j]) & (abs(i - j) <= window) & (j < n_right)
            taken_b[j] |= match
            taken_a[i] |= match
            free &= ~match
    m = taken_a.sum(axis=0)
    size = int(m.max()) if n else 0
    differing = (_matched(a, taken_a, size) != _matched(b, taken_b, size)).sum(axis=0)
    some, ones = m > 0, np.maximum(m, 1)
    jaro = np.where(
        some, (m / np.maximum(n_left, 1) + m / np.maximum(n_right, 1) + (m - differing / 2) / ones) / 3, 0.0
    )
    prefix = np.zeros(n)
    same = np.ones(n, dtype=bool)
    for k in range(min(4, len(a), len(b))):
        same &= (a[k] == b[k]) & (k < n_left) & (k < n_right)
        prefix += same
    jaro[np.array([x == y for x, y in zip(left, right, strict=True)])] = 1.0
    found: Similarities = jaro + 0.1 * prefix * (1 - jaro)
    return found


def _letters(values: list[str]) -> NDArray[np.uint32]:
    """Code points, one string a column."""
    longest = max(map(len, values))
    if longest == 0:
        return np.zeros((0, len(values)), dtype=np.uint32)
    # A zero at the end is cut off by NumPy's strings; it is told from padding by the length of the string.
    text = np.array(values, dtype=f"U{longest}")
    return np.ascontiguousarray(text.view(np.uint32).reshape(len(values), longest).T)


def _matched(letters: NDArray[np.uint32], taken: NDArray[np.bool_], size: int) -> NDArray[np.uint32]:
    """The matched letters of each column moved to its top."""
    top = np.zeros((size, letters.shape[1]), dtype=np.uint32)
    rows, columns = np.nonzero(taken)
    top[taken.cumsum(axis=0)[rows, columns] - 1, columns] = letters[rows, columns]
    return top


def _lengths(values: Sequence[str]) -> NDArray[np.int64]:
    return np.fromiter(map(len, values), dtype=np.int64, count=len(values))
