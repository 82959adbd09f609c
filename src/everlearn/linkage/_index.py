"""Keys of new records, and the records with which they are compared: the work of their blocks only.

Which pairs are compared depends on the records that are there, not on how they came: a key that too many
records share gives no pair at all, as in `Blocking`. So a block that outgrows the limit loses its pairs, and
a block that shrinks below it, because records were forgotten, gets them back. Each pair counts its keys.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._statistics import hashes_of
from .blocking import Blocking
from .records import Records

Ints = NDArray[np.int64]
Members = Callable[[Ints, int | None], tuple[Ints, Ints, Ints]]  # keys, and how many records of each at most


@dataclass(frozen=True)
class KeyEntries:
    """Keys of records: a hash for each, the number of its record, and the kind and text of the key."""

    hashes: Ints
    numbers: Ints
    kinds: NDArray[np.intp]
    texts: list[str]


@dataclass(frozen=True)
class NewPairs:
    """Pairs that new records bring, with the number of their keys; and blocks that are too large now."""

    left: Ints
    right: Ints
    n_keys: Ints
    outgrown: list[list[int]]


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


def new_pairs(blocking: Blocking, entries: KeyEntries, side: int | None, members: Members) -> NewPairs:
    """The pairs of new records with each other and with earlier ones.

    ``members`` returns the earlier records that have some keys. ``side`` is the table of the new records if
    there are two: then records of one table are not compared with each other.
    """
    limit = blocking.max_block_size
    dropping = np.array([key.drops_large for key in blocking.keys], dtype=bool)[entries.kinds]
    # Of a block that is refused or dropped when it is too large, so many records tell that it is.
    bounded = dropping | (blocking.large_blocks == "refuse")
    found = [
        members(np.unique(entries.hashes[bounded]), limit + 1),
        members(np.unique(entries.hashes[~bounded]), None),
    ]
    old_keys, old_numbers, old_sides = (np.concatenate(columns) for columns in zip(*found, strict=True))
    keys = np.concatenate([old_keys, entries.hashes])
    numbers = np.concatenate([old_numbers, entries.numbers])
    sides = np.concatenate([old_sides, np.full(len(entries.hashes), side or 0)])
    place = np.concatenate([np.full(len(old_keys), -1), np.arange(len(entries.hashes))])
    left, right = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    outgrown = []
    for block in _blocks(keys, numbers):
        n_old = int((place[block] < 0).sum())
        if n_old == len(block):
            continue
        at = int(place[block[-1]])  # of a new record, whose number is larger
        if len(block) <= limit:
            first, second = np.triu_indices(len(block), 1)
            new = second >= n_old
            first, second = first[new], second[new]
        elif dropping[at]:
            outgrown += [numbers[block[:n_old]].tolist()] if 1 < n_old <= limit else []
            continue
        else:
            first, second = _of_large(blocking, entries, at, len(block), n_old)
        if side is not None:
            across = sides[block[first]] != sides[block[second]]
            first, second = first[across], second[across]
        left.append(numbers[block[first]])
        right.append(numbers[block[second]])
    codes, n_keys = np.unique((np.concatenate(left) << 32) | np.concatenate(right), return_counts=True)
    return NewPairs(codes >> 32, codes & 0xFFFFFFFF, n_keys.astype(np.int64), outgrown)


def shrunk_blocks(
    blocking: Blocking, entries: KeyEntries, gone: set[int], members: Members
) -> list[dict[int, int]]:
    """Blocks that are no longer too large without some records: the numbers of the others with their sides.

    ``entries`` are the keys of the records to forget, which ``members`` still returns.
    """
    limit = blocking.max_block_size
    dropping = np.array([key.drops_large for key in blocking.keys], dtype=bool)[entries.kinds]
    keys, numbers, sides = members(np.unique(entries.hashes[dropping]), limit + 1 + len(gone))
    found = []
    for block in _blocks(keys, numbers):
        kept = [at for at in block.tolist() if int(numbers[at]) not in gone]
        if len(kept) <= limit < len(block):
            found.append({int(numbers[at]): int(sides[at]) for at in kept})
    return found


def pairs_of_blocks(blocks: list[dict[int, int]], two_tables: bool) -> tuple[Ints, Ints, Ints]:
    """The pairs of blocks, and of how many blocks each is."""
    codes = [
        (a << 32) | b
        for block in blocks
        for at, a in enumerate(sorted(block))
        for b in sorted(block)[at + 1 :]
        if not two_tables or block[a] != block[b]
    ]
    distinct, counts = np.unique(np.array(codes, dtype=np.int64), return_counts=True)
    return distinct >> 32, distinct & 0xFFFFFFFF, counts.astype(np.int64)


def _blocks(keys: Ints, numbers: Ints) -> Iterator[NDArray[np.intp]]:
    """The places of each block of at least two entries with one key, in the order of their numbers."""
    order = np.lexsort((numbers, keys))
    starts = np.flatnonzero(np.concatenate([[True], np.diff(keys[order]) != 0])) if len(order) else order
    sizes = np.diff(np.append(starts, len(order)))
    for start, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
        yield order[start : start + size]


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
