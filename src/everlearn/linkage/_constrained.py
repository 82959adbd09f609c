"""Clusters that respect answers: records that are the same are together, records that are not are apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .answers import PairAnswers
from .clustering import clusters_by

Labels = NDArray[np.intp]


def cluster_records(
    n: int,
    left: Any,
    right: Any,
    distance: Any,
    answers: list[tuple[int, int, bool]],
    *,
    clustering: str,
    eps: float,
    min_pts: int,
    tables: Any = None,
) -> Labels:
    """Cluster records by the distances of pairs and by answers about some of them.

    Pairs whose answer is known, or follows from others, have the distance 0 or 1. Then clusters are joined
    that have records known to be the same, and a cluster that has records known to differ is built again
    from its pairs, the nearest first, without joining what differs. Of answers that contradict each other,
    those that say "same" count.
    """
    left, right = np.asarray(left, dtype=np.intp), np.asarray(right, dtype=np.intp)
    distance = np.array(distance, dtype=np.float64)
    known = {(min(a, b), max(a, b)): same for a, b, same in answers}
    if known:
        closed = PairAnswers()
        for wanted in (True, False):
            for (a, b), same in known.items():
                if same is wanted:
                    closed.add(a, b, same)
        answered = np.zeros(n, dtype=bool)
        answered[[end for pair in known for end in pair]] = True
        for at in np.flatnonzero(answered[left] & answered[right]).tolist():
            if (same_by := closed.implied(int(left[at]), int(right[at]))) is not None:
                distance[at] = 0.0 if same_by else 1.0
    labels = clusters_by(clustering, n, left, right, distance, eps=eps, min_pts=min_pts, tables=tables)
    return _with_answers(labels, left, right, distance, known, eps) if known else labels


def _with_answers(
    labels: Labels,
    left: Labels,
    right: Labels,
    distance: NDArray[np.float64],
    known: dict[tuple[int, int], bool],
    eps: float,
) -> Labels:
    matches = [pair for pair, same in known.items() if same]
    labels = _joined(labels, matches)
    groups = PairAnswers()
    for a, b in matches:
        groups.add(a, b, True)
    apart = [pair for pair, same in known.items() if not same and groups.implied(*pair) is None]
    broken = {int(labels[a]) for a, b in apart if labels[a] == labels[b]}
    for cluster in sorted(broken):
        members = np.flatnonzero(labels == cluster)
        inside = np.flatnonzero((labels[left] == cluster) & (labels[right] == cluster) & (distance <= eps))
        order = inside[np.argsort(distance[inside], kind="stable")]
        rebuilt = _built(
            members.tolist(),
            [pair for pair in matches if labels[pair[0]] == cluster],
            [pair for pair in apart if labels[pair[0]] == labels[pair[1]] == cluster],
            list(zip(left[order].tolist(), right[order].tolist(), strict=True)),
        )
        first = int(labels.max()) + 1
        for record, part in rebuilt.items():
            labels[record] = first + part
    return _in_order(labels)


def _joined(labels: Labels, matches: list[tuple[int, int]]) -> Labels:
    """Clusters joined where they have records that match."""
    groups = PairAnswers()
    for a, b in matches:
        groups.add(int(labels[a]), int(labels[b]), True)
    names = {cluster: groups.group_of(cluster) for cluster in np.unique(labels).tolist()}
    return np.array([names[cluster] for cluster in labels.tolist()], dtype=np.intp)


def _built(
    members: list[int],
    matches: list[tuple[int, int]],
    apart: list[tuple[int, int]],
    near: list[tuple[int, int]],
) -> dict[int, int]:
    """A number of a part for each record: matches joined, then near pairs unless that joins what is apart."""
    answers = PairAnswers()
    for pairs, same in ((matches, True), (apart, False), (near, True)):
        for a, b in pairs:
            if answers.implied(a, b) is None:
                answers.add(a, b, same)
    roots: dict[int, int] = {}
    return {record: roots.setdefault(answers.group_of(record), len(roots)) for record in members}


def _in_order(labels: Labels) -> Labels:
    """Numbers from 0 in the order of the first record of each cluster."""
    known: dict[int, int] = {}
    return np.array([known.setdefault(label, len(known)) for label in labels.tolist()], dtype=np.intp)
