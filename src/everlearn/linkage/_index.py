"""Keys of new records, and the records with which they are compared: the work of their blocks only."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._statistics import hashes_of
from .blocking import Blocking
from .records import Records

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class KeyEntries:
    """Keys of records: a hash for each, the number of its record, and the kind and text of the key."""

    hashes: Ints
    numbers: Ints
    kinds: NDArray[np.intp]
    texts: list[str]


def key_entries(blocking: Blocking, records: Records, numbers: Ints) -> KeyEntries:
    """The keys of records, which have these numbers."""
    hashes, owners, kinds, texts = [], [], [], []
    for kind, key in enumerate(blocking.keys):
        places, found = key.keys_of(records)
        hashes.append(hashes_of(f"{kind}\0{text}" for text in found).view(np.int64))
        owners.append(numbers[places])
        kinds.append(np.full(len(found), kind, dtype=np.intp))
        texts += found
    none = np.zeros(0, dtype=np.int64)
    return KeyEntries(
        np.concatenate([none, *hashes]),
        np.concatenate([none, *owners]),
        np.concatenate([np.zeros(0, dtype=np.intp), *kinds]),
        texts,
    )


def new_pairs(
    blocking: Blocking, entries: KeyEntries, members: Callable[[Ints], tuple[Ints, Ints]]
) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """The pairs of new records with each other and with earlier ones, and which keys to keep.

    ``members`` returns the earlier records that have some keys. A key of too many records is treated as the
    blocking says; of one that is dropped, no more records are kept than are needed to know that.
    """
    old_keys, old_numbers = members(np.unique(entries.hashes))
    keys = np.concatenate([old_keys, entries.hashes])
    numbers = np.concatenate([old_numbers, entries.numbers])
    place = np.concatenate([np.full(len(old_keys), -1), np.arange(len(entries.hashes))])
    order = np.lexsort((numbers, keys))  # earlier records have smaller numbers
    starts = np.flatnonzero(np.concatenate([[True], np.diff(keys[order]) != 0])) if len(order) else order
    sizes = np.diff(np.append(starts, len(order)))
    keep = np.ones(len(entries.hashes), dtype=bool)
    left, right = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for start, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
        block = order[start : start + size]
        fresh = place[block] >= 0
        if not fresh.any():
            continue
        found, n_old = numbers[block], int(size - fresh.sum())
        limit = blocking.max_block_size
        if size <= limit:
            first, second = np.triu_indices(size, 1)
            new = second >= n_old
            left.append(found[first[new]])
            right.append(found[second[new]])
        elif blocking.keys[entries.kinds[place[block[-1]]]].drops_large:
            keep[place[block[max(n_old, limit + 1) :]]] = False
        else:
            first, second = _of_large(blocking, entries, int(place[block[-1]]), size, n_old)
            left.append(found[first])
            right.append(found[second])
    codes = np.unique((np.concatenate(left) << 32) | np.concatenate(right))
    return codes >> 32, codes & 0xFFFFFFFF, keep


def _of_large(
    blocking: Blocking, entries: KeyEntries, at: int, size: int, n_old: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Random pairs of a block that is too large, or an error."""
    limit = blocking.max_block_size
    key, text = blocking.keys[entries.kinds[at]], entries.texts[at]
    words = f"{key!r} gives {size:,} records the key {text!r}, more than max_block_size={limit:,}"
    if blocking.large_blocks == "refuse":
        raise ValueError(
            f"{words}: use a finer key, raise max_block_size, or pass large_blocks='sample' to compare each "
            "new record with a random sample of them."
        )
    warnings.warn(
        f"{words}: each new record is compared with {limit // 2:,} of them", UserWarning, stacklevel=5
    )
    rng = np.random.default_rng([blocking.random_state, int(entries.numbers[at])])
    second = np.repeat(np.arange(max(n_old, 1), size), limit // 2)
    return rng.integers(second), second
