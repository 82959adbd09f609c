"""The streams that are reported: rows in the order in which they come, and their classes.

No setting of any learner was chosen on one of these: `development.py` has the streams on which the defaults
of everlearn were chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..harness.data import load

Table = tuple[np.ndarray, np.ndarray]
Make = Callable[[int], Table]


@dataclass(frozen=True)
class Stream:
    """Rows as they come, unscaled, and their classes 0, 1, ..., hidden unless they are given."""

    name: str
    X: np.ndarray
    y: np.ndarray

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1

    def cut(self, rows: int) -> Stream:
        """The first rows."""
        return Stream(self.name, self.X[:rows], self.y[:rows])


class Source(NamedTuple):
    """What a stream is about, a function that makes its first rows, and every how many rows one is taken."""

    what: str
    make: Make
    every: int = 1


def stream_of(name: str, source: Source, rows: int) -> Stream:
    """The first rows of a source, with classes numbered from 0."""
    X, y = source.make(rows * source.every)
    X, y = X[:: source.every][:rows], np.asarray(y)[:: source.every][:rows]
    codes = np.unique(y, return_inverse=True)[1]
    return Stream(name, np.ascontiguousarray(X, dtype=np.float64), codes.astype(np.int64))


def real(name: str, positive: Any = None, shuffled: bool = False, first: int = 0) -> Make:
    """A set in the order of its file or shuffled; with `positive`, one class against the others."""

    def make(rows: int) -> Table:
        data = load(name)
        which = np.arange(first, data.X.shape[0])
        if shuffled:
            which = np.random.default_rng(0).permutation(which)
        which = which[:rows]
        X, y = data.X[which], data.y[which]
        return X.toarray() if hasattr(X, "toarray") else X, y if positive is None else np.isin(y, positive)

    return make


def _kdd99(rows: int) -> Table:
    """Attacks against normal traffic: counts as logarithms, a column for every protocol and flag.

    The service, 66 columns more, is left out for River's sake, whose time grows with the columns.
    """
    data = load("kdd99_10pct")
    names = list(data.extras["feature_names"])
    kinds = {name: names.index(name) for name in ("protocol_type", "service", "flag")}
    numbers = np.log1p(np.delete(data.X[:rows], list(kinds.values()), axis=1).astype(np.float64))
    codes = [data.X[:rows, kinds[name]].astype(int) for name in ("protocol_type", "flag")]
    values = [len(data.extras[f"cat_{name}"]) for name in ("protocol_type", "flag")]
    columns = [np.eye(count)[code] for code, count in zip(codes, values, strict=True)]
    return np.hstack([numbers, *columns]), np.asarray(data.extras["is_normal"][:rows]) == 0


Pairs = Iterable[tuple[dict[Any, Any], Any]]


def _table(pairs: Pairs) -> Table:
    """Rows of River as arrays; strings become the numbers of their sorted values."""
    rows, labels = zip(*pairs, strict=True)
    columns = []
    for name in rows[0]:
        values = [row[name] for row in rows]
        if any(isinstance(value, str) for value in values):
            columns.append(np.unique(values, return_inverse=True)[1].astype(np.float64))
        else:
            columns.append(np.array(values, dtype=np.float64))
    return np.column_stack(columns), np.array(labels)


def generated(parts: Callable[[Any], list[tuple[Pairs, float]]]) -> Make:
    """Generators of River one after another, each for a share of the rows."""

    def make(rows: int) -> Table:
        from river.datasets import synth

        pairs: list[tuple[dict[Any, Any], Any]] = []
        for source, share in parts(synth):
            pairs += islice(source, int(np.ceil(share * rows)))
        return _table(pairs[:rows])

    return make


def _wheel(name: str) -> Make:
    """A data set that comes with River."""

    def make(rows: int) -> Table:
        from river import datasets

        return _table(islice(getattr(datasets, name)(), rows))

    return make


THIRD = 1 / 3
REPORTED: dict[str, Source] = {
    "elec2": Source("price of electricity, up or down", real("elec2", 1)),
    "weather": Source("rain or none, day by day", real("weather_noaa", 1)),
    "sea": Source(
        "generated, four concepts, a tenth of the labels wrong; every fifth row", real("sea", 1), every=5
    ),
    "kdd99": Source("attacks or normal traffic, in long blocks; every tenth row", _kdd99, every=10),
    "covtype": Source("lodgepole pine or another cover", real("covtype", 2)),
    "covtype7": Source("forest cover by region, rows from 300,000 on", real("covtype", first=300_000)),
    "phishing": Source("web sites, from River", _wheel("Phishing")),
    "bananas": Source("two curved clusters, from River", _wheel("Bananas")),
    "segments": Source("patches of images, from River", _wheel("ImageSegments")),
    "waveform": Source(
        "generated, 19 of 40 columns are noise",
        generated(lambda synth: [(synth.Waveform(11, has_noise=True), 1)]),
    ),
    "stagger": Source(
        "generated, three Boolean concepts one after another",
        generated(lambda synth: [(synth.STAGGER(f, seed=f + 1), THIRD) for f in (0, 1, 2)]),
    ),
    "randomtree": Source(
        "generated by a random decision tree",
        generated(lambda synth: [(synth.RandomTree(5, 6, n_classes=3), 1)]),
    ),
    "rbffast": Source(
        "generated, all 50 Gaussians move fast",
        generated(
            lambda synth: [
                (
                    synth.RandomRBFDrift(
                        3, 4, n_classes=2, n_features=20, change_speed=0.01, n_drift_centroids=50
                    ),
                    1,
                )
            ]
        ),
    ),
    "agrawalgrad": Source(
        "generated, rules for loans that change gradually",
        generated(
            lambda synth: [
                (
                    synth.ConceptDriftStream(
                        synth.Agrawal(3, seed=3), synth.Agrawal(5, seed=5), seed=1, position=5000, width=2000
                    ),
                    1,
                )
            ]
        ),
    ),
    "pendigits": Source("written digits, paths of a pen", real("pendigits")),
    "usps": Source("written digits, images", real("usps")),
    "poker": Source("poker hands; shuffled", real("poker", shuffled=True)),
}


def reported(name: str, rows: int) -> Stream:
    """One of the reported streams, its first rows."""
    return stream_of(name, REPORTED[name], rows)
