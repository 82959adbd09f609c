"""The streams on which the defaults of `AdaptiveSVM`, `query.Auto` and `NeverEndingLearner` were chosen."""

from __future__ import annotations

import numpy as np

from .data import THIRD, Source, Stream, Table, generated, real, stream_of


def _blobs(rows: int) -> Table:
    """A rare class of two Gaussians that move to and fro among four of the frequent class."""
    rng = np.random.default_rng(3)
    y = (rng.random(rows) < 0.05).astype(int)
    often, rare = rng.normal(size=(4, 6)) * 2, rng.normal(size=(2, 6)) * 2
    direction = rng.normal(size=(2, 6))[0]
    X = often[rng.integers(4, size=rows)] + rng.normal(size=(rows, 6))
    where = np.flatnonzero(y)
    moved = 1.5 * np.sin(2 * np.pi * where / rows)[:, None] * direction
    X[where] = rare[rng.integers(2, size=len(where))] + moved + rng.normal(size=(len(where), 6)) * 0.7
    return X, y


def _checker(rows: int) -> Table:
    """A checkerboard that turns by half a circle."""
    X = np.random.default_rng(5).uniform(-1, 1, size=(rows, 2))
    angle = np.arange(rows) / rows * np.pi
    across = X[:, 0] * np.cos(angle) - X[:, 1] * np.sin(angle)
    along = X[:, 0] * np.sin(angle) + X[:, 1] * np.cos(angle)
    return X, ((np.floor(across * 1.5) + np.floor(along * 1.5)) % 2).astype(int)


CHOSEN_ON: dict[str, Source] = {
    "hyperplane": Source(
        "generated, a plane that turns",
        generated(
            lambda synth: [(synth.Hyperplane(2, n_features=10, n_drift_features=5, mag_change=0.002), 1)]
        ),
    ),
    "rbfdrift4": Source(
        "generated, Gaussians of four classes that move",
        generated(
            lambda synth: [
                (
                    synth.RandomRBFDrift(
                        1, 2, n_classes=4, n_features=10, change_speed=0.001, n_drift_centroids=25
                    ),
                    1,
                )
            ]
        ),
    ),
    "rbf3": Source(
        "generated, Gaussians of three classes",
        generated(lambda synth: [(synth.RandomRBF(7, 8, n_classes=3, n_features=8, n_centroids=30), 1)]),
    ),
    "sine": Source(
        "generated, four concepts",
        generated(lambda synth: [(synth.Sine(f, seed=f + 1, has_noise=True), 0.25) for f in (0, 2, 1, 3)]),
    ),
    "agrawal": Source(
        "generated, three rules for loans",
        generated(
            lambda synth: [(synth.Agrawal(f, seed=f + 1, perturbation=0.05), THIRD) for f in (0, 2, 6)]
        ),
    ),
    "led": Source(
        "generated, digits on a display whose columns change places",
        generated(
            lambda synth: [
                (
                    synth.LEDDrift(
                        seed=seed, noise_percentage=0.1, irrelevant_features=True, n_drift_features=moved
                    ),
                    0.5,
                )
                for seed, moved in ((1, 0), (2, 5))
            ]
        ),
    ),
    "mixed": Source(
        "generated, a concept and its opposite",
        generated(lambda synth: [(synth.Mixed(f, seed=f + 1), 0.5) for f in (0, 1)]),
    ),
    "ijcnn1": Source("misfiring engines, in the order of the file", real("ijcnn1")),
    "shuttle": Source("valves of a shuttle; shuffled", real("shuttle", shuffled=True)),
    "letter": Source("letters; shuffled", real("letter", shuffled=True)),
    "codrna": Source("coding RNA; shuffled", real("cod_rna", shuffled=True)),
    "blobs": Source("generated, a rare class that moves", _blobs),
    "satimage": Source("satellite images; shuffled", real("satimage", shuffled=True)),
    "a9a": Source("census; shuffled", real("a9a", shuffled=True)),
    "checker": Source("generated, a checkerboard that turns", _checker),
}


def development(name: str, rows: int) -> Stream:
    """One of the streams that settings were chosen on, its first rows."""
    return stream_of(name, CHOSEN_ON[name], rows)
