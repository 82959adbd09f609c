"""The two streams: generated, non-linear, one row in seventeen of the rare class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from everlearn.datasets import make_twonorm, make_waveform

RATIO = 16  # rows of the frequent class for each of the rare one
TITLES = {
    "agree": "two `make_twonorm` of 10 features side by side, +1 where their signs agree, 20 features",
    "waveform": "`make_waveform(binary=True)`, one wave pattern against two, 21 features",
}


@dataclass(frozen=True)
class Stream:
    """Rows in the order in which they come, and the same ones as River takes them."""

    name: str
    X: np.ndarray
    y: np.ndarray  # -1 and 1

    def dicts(self) -> tuple[list[dict[int, float]], list[bool]]:
        return [dict(enumerate(row)) for row in self.X.tolist()], (self.y == 1).tolist()


def draw(name: str, rows: int, seed: Any) -> tuple[np.ndarray, np.ndarray]:
    """Standardized rows and their labels."""
    X, y = _generate(name, rows, seed)
    center, width = _scale(name)
    return (X - center) / width, y


def draw_stream(name: str, rows: int, seed: Any) -> Stream:
    """A draw with its name."""
    return Stream(name, *draw(name, rows, seed))


def _generate(name: str, rows: int, seed: Any) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    if name == "waveform":
        return make_waveform(rows, binary=True, imbalance_ratio=RATIO, random_state=rng)
    first, sign = make_twonorm(rows, n_features=10, random_state=rng)
    second, y = make_twonorm(rows, n_features=10, imbalance_ratio=RATIO, random_state=rng)
    second *= sign[:, None]  # of the class sign * y now: the same as the first half's if y is 1
    return np.hstack([first, second]), y


@cache
def _scale(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean and SD of a draw that is used for nothing else."""
    X, _ = _generate(name, 20_000, [0, 2])
    return X.mean(axis=0), X.std(axis=0)
