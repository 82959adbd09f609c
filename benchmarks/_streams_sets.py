"""The streams: five that are reported, in the order in which their rows came, and six to choose settings on.

No setting of any learner was chosen on a reported stream. The development streams are four of River's
generators, each with a drift, and two real sets in the order of their files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

MOST_ROWS = 30_000
DEVELOPMENT_ROWS = 20_000


@dataclass(frozen=True)
class Stream:
    """Rows as they come, unscaled, and their labels 0 and 1, which nobody sees unless they are given."""

    name: str
    X: np.ndarray
    y: np.ndarray

    def cut(self, rows: int) -> Stream:
        return Stream(self.name, self.X[:rows], self.y[:rows])


def _load(name: str) -> Any:
    from everlearn.datasets import load

    return load(name)


def _real(name: str, positive: Any = 1) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
    def make(rows: int) -> tuple[np.ndarray, np.ndarray]:
        data = _load(name)
        X = data.X[:rows]
        return X.toarray() if hasattr(X, "toarray") else X, np.isin(data.y[:rows], positive)

    return make


def _kdd99(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Attacks against normal traffic: counts as logarithms, a column for every protocol and flag.

    The service, 66 columns more, is left out for River's sake, whose time grows with the columns.
    """
    data = _load("kdd99_10pct")
    names = list(data.extras["feature_names"])
    kinds = {name: names.index(name) for name in ("protocol_type", "service", "flag")}
    numbers = np.log1p(np.delete(data.X[:rows], list(kinds.values()), axis=1).astype(np.float64))
    codes = [data.X[:rows, kinds[name]].astype(int) for name in ("protocol_type", "flag")]
    values = [len(data.extras[f"cat_{name}"]) for name in ("protocol_type", "flag")]
    columns = [np.eye(count)[code] for code, count in zip(codes, values, strict=True)]
    return np.hstack([numbers, *columns]), np.asarray(data.extras["is_normal"][:rows]) == 0


REPORTED: dict[str, tuple[str, Callable[[int], tuple[np.ndarray, np.ndarray]]]] = {
    "elec2": ("price of electricity, up or down", _real("elec2")),
    "weather": ("rain or none, 50 years of days", _real("weather_noaa")),
    "sea": ("generated, four concepts one after another, a tenth of the labels wrong", _real("sea")),
    "kdd99": ("attacks or normal traffic, in long blocks", _kdd99),
    "covtype": ("lodgepole pine or another cover, by region", _real("covtype", 2)),
}


def _generated(name: str) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
    """A stream of River's generators; sine and agrawal change their concept half-way."""

    def make(rows: int) -> tuple[np.ndarray, np.ndarray]:
        from river.datasets import synth

        half = rows // 2
        sources: dict[str, Callable[[], list[Iterable[tuple[dict[Any, float], Any]]]]] = {
            "rbf": lambda: [
                synth.RandomRBFDrift(1, 2, n_features=10, change_speed=0.001, n_drift_centroids=25).take(rows)
            ],
            "hyperplane": lambda: [
                synth.Hyperplane(2, n_features=10, n_drift_features=5, mag_change=0.001).take(rows)
            ],
            "sine": lambda: [
                synth.Sine(f, seed=f, has_noise=True).take(n) for f, n in ((0, half), (3, rows - half))
            ],
            "agrawal": lambda: [
                synth.Agrawal(f, seed=f, perturbation=0.05).take(n) for f, n in ((0, half), (2, rows - half))
            ],
        }
        pairs = [pair for part in sources[name]() for pair in islice(part, rows)]
        X = np.array([[float(value) for value in row.values()] for row, _ in pairs])
        return X, np.array([label for _, label in pairs]) == 1

    return make


DEVELOPMENT: dict[str, Callable[[int], tuple[np.ndarray, np.ndarray]]] = {
    **{name: _generated(name) for name in ("rbf", "hyperplane", "sine", "agrawal")},
    "ijcnn1": _real("ijcnn1"),
    "shuttle": _real("shuttle", 1),
}


def reported(name: str, rows: int = MOST_ROWS) -> Stream:
    """One of the five, its first rows."""
    return _stream(name, *REPORTED[name][1](rows))


def development(name: str, rows: int = DEVELOPMENT_ROWS) -> Stream:
    """One of the six."""
    return _stream(name, *DEVELOPMENT[name](rows))


def _stream(name: str, X: Any, y: Any) -> Stream:
    return Stream(name, np.ascontiguousarray(X, dtype=np.float64), np.asarray(y).astype(np.int64))
