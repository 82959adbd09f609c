"""Ids of clusters that last: after a change most records keep the cluster that they had."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

Change = tuple[str, list[int], list[int]]  # kind, clusters before, clusters after


def renamed(
    before: Mapping[int, int | None], parts: Mapping[int, int], next_id: int
) -> tuple[dict[int, int], list[Change], int]:
    """Ids for new clusters of records, and what has changed.

    Parameters
    ----------
    before : mapping of int to int or None
        The cluster of each record; None for a new record.
    parts : mapping of int to int
        The new cluster of each record, by any number.
    next_id : int
        The first id that was never used.

    Returns
    -------
    tuple of (dict, list, int)
        The id of the cluster of each record; merges and splits; and the first id that was never used.

    Notes
    -----
    A new cluster takes the id of the cluster from which it has most records, unless another one has more of
    these; of equal ones the oldest. Ids are not used twice.
    """
    shares: Counter[tuple[int, int]] = Counter()
    firsts: dict[int, int] = {}
    for record in sorted(parts):
        firsts.setdefault(parts[record], record)
        old = before[record]
        if old is not None:
            shares[parts[record], old] += 1
    names: dict[int, int] = {}
    taken: set[int] = set()
    for (part, old), _ in sorted(shares.items(), key=lambda item: (-item[1], item[0][1], firsts[item[0][0]])):
        if part not in names and old not in taken:
            names[part] = old
            taken.add(old)
    for part in sorted(firsts, key=firsts.__getitem__):
        if part not in names:
            names[part], next_id = next_id, next_id + 1
    return {record: names[part] for record, part in parts.items()}, _changes(shares, names), next_id


def _changes(shares: Mapping[tuple[int, int], int], names: Mapping[int, int]) -> list[Change]:
    """Clusters before and after that share records, where these are not one and the same."""
    after: dict[int, set[int]] = {}
    before: dict[int, set[int]] = {}
    for part, old in shares:
        after.setdefault(old, set()).add(part)
        before.setdefault(part, set()).add(old)
    found, seen = [], set()
    for start in sorted(after):
        if start in seen:
            continue
        olds, news, queue = {start}, set(), [start]
        while queue:
            for part in after[queue.pop()]:
                news.add(part)
                queue += before[part] - olds
                olds |= before[part]
        seen |= olds
        if len(olds) > 1 or len(news) > 1:
            kind = "merge" if len(news) == 1 else "split" if len(olds) == 1 else "regroup"
            found.append((kind, sorted(olds), sorted(names[part] for part in news)))
    return found
