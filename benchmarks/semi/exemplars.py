"""Which rows to keep of a stream: exemplars or random ones, where the choice can matter.

Two moons under a narrow kernel: a row sees its neighbors only, so that labels reach the far end of a moon
along rows that are kept. Two labels come with the first batch and none later. Between batches the labeled
rows, so many others, and the last batch are held, as `StreamS3VM` does; M is given here, so that both ways of
choosing keep as many.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .methods import partly

GAMMA = 20.0
KEPT = (10, 20, 40, 100)
SEEDS = 20
# rows of a batch, batches, whether the last batch is held as well
SETTINGS = ((200, 2, False), (100, 8, False), (100, 8, True))
KINDS = ("exemplars", "diversity off", "random")
LEVELS = ("all rows kept", "labels kept alone")
DIVERSITY_OFF = (1e-9, 1.0, 1.0)


def _label(X: np.ndarray, known: np.ndarray) -> np.ndarray:
    from everlearn import SubmodS3VM

    options: dict[str, Any] = {"scaling": "none", "positive_fraction": 0.5, "estimator": None}
    return np.asarray(SubmodS3VM(kernel="rbf", gamma=GAMMA, **options).fit(X, known).transduction_)


def _keep(kind: str, X: np.ndarray, known: np.ndarray, M: int, rng: np.random.Generator) -> np.ndarray:
    """Row numbers: all labeled rows, and M others."""
    from everlearn import Exemplars

    if kind == "random":
        rest = np.flatnonzero(np.isnan(known))
        chosen = rng.permutation(rest)[:M]
        return np.sort(np.concatenate([np.flatnonzero(~np.isnan(known)), chosen]))
    weights = DIVERSITY_OFF if kind == "diversity off" else None
    model = Exemplars(M, kernel="rbf", gamma=GAMMA, scaling="none", weights=weights).fit(X, known)
    return np.asarray(model.kept_)


def one_stream(kind: str, M: int, seed: int, rows: int, batches: int, last_batch: bool) -> list[float]:
    """Accuracy on each batch from the second on; without `last_batch` only the summary is held."""
    from everlearn.datasets import make_two_moons

    rng = np.random.default_rng(seed)
    kept_X, kept_y = np.zeros((0, 2)), np.zeros(0)
    before: tuple[np.ndarray, np.ndarray] = kept_X, kept_y
    found = []
    for t in range(batches):
        X, y = make_two_moons(rows, noise=0.1, random_state=1000 * seed + t)
        told = [rng.choice(np.flatnonzero(y == sign)) for sign in (-1, 1)] if t == 0 else []
        known = partly(y.astype(float), np.array(told, dtype=np.int64))
        old_X, old_y = np.vstack([kept_X, before[0]]), np.concatenate([kept_y, before[1]])
        if not last_batch and t and kind != LEVELS[0]:
            old_X, old_y = _summary(kind, old_X, old_y, M, rng)
            kept_X, kept_y, before = old_X, old_y, (old_X[:0], old_y[:0])
        labels = _label(np.vstack([old_X, X]), np.concatenate([old_y, known]))[-rows:]
        if t:
            found.append(float(np.mean(labels == y)))
        if kind == LEVELS[0]:
            kept_X, kept_y = old_X, old_y
        elif last_batch:
            kept_X, kept_y = _summary(kind, old_X, old_y, M, rng) if t else (old_X, old_y)
        before = X, known
    return found


def _summary(
    kind: str, X: np.ndarray, known: np.ndarray, M: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    if kind == LEVELS[1]:
        keep = np.flatnonzero(~np.isnan(known))
    elif not len(known):
        return X, known
    else:
        keep = _keep(kind, X, known, M, rng)
    return X[keep], known[keep]


def run_exemplars(quick: bool) -> dict[str, Any]:
    """Mean accuracy over the batches after the first, a figure for every seed."""
    seeds = 2 if quick else SEEDS
    found: dict[str, Any] = {"seeds": seeds, "gamma": GAMMA, "lines": []}
    for rows, batches, last_batch in SETTINGS:
        for kind in (*LEVELS, *KINDS):
            for M in (0,) if kind in LEVELS else KEPT:
                if rows <= M:
                    continue
                streams = [one_stream(kind, M, seed, rows, batches, last_batch) for seed in range(seeds)]
                line = {"kind": kind, "M": M, "rows": rows, "batches": batches, "last_batch": last_batch}
                found["lines"].append(line | {"accuracy": [float(np.mean(stream)) for stream in streams]})
    return found
