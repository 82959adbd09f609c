"""Helpers of the generators: parameter checks, random generators, and random labels."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray

RandomState = int | np.random.Generator | np.random.RandomState | None
Rows = tuple[NDArray[np.float64], NDArray[np.int64]]


def checked_inputs(
    n_samples: int, random_state: RandomState, noise: float = 0.0
) -> tuple[int, np.random.Generator, float]:
    """Check `n_samples` and `noise`; turn `random_state` into a `numpy.random.Generator`."""
    n = count("n_samples", n_samples, 1)
    noise = number("noise", noise, 0.0, np.finfo(np.float64).max, "finite and not negative")
    if isinstance(random_state, np.random.RandomState):
        return n, np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32)), noise
    if random_state is None or isinstance(random_state, np.random.Generator):
        return n, np.random.default_rng(random_state), noise
    return n, np.random.default_rng(count("random_state", random_state, 0)), noise


def draw_signs(
    rng: np.random.Generator, n: int, imbalance_ratio: float | None, positive_fraction: float = 0.5
) -> NDArray[np.int64]:
    """Labels +1 and -1: drawn independently, or an exact number of positives at random positions."""
    if imbalance_ratio is None:
        return np.where(rng.random(n) < positive_fraction, 1, -1)
    largest = np.finfo(np.float64).max
    ratio = number("imbalance_ratio", imbalance_ratio, np.nextafter(0, 1), largest, "positive and finite")
    if n < 2:
        raise ValueError(
            f"imbalance_ratio needs a row of each class, got n_samples={n}; set n_samples to 2 or more"
        )
    n_positive = min(max(round(n / (1 + ratio)), 1), n - 1)
    return rng.permutation(np.where(np.arange(n) < n_positive, 1, -1))


def draw_by_part(
    rng: np.random.Generator, n: int, part_labels: NDArray[np.int64], imbalance_ratio: float | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw the part of space and the label of each row, given the label (+1 or -1) of every part."""
    y = draw_signs(rng, n, imbalance_ratio, positive_fraction=float(np.mean(part_labels == 1)))
    positive, negative = np.flatnonzero(part_labels == 1), np.flatnonzero(part_labels == -1)
    return np.where(y == 1, rng.choice(positive, size=n), rng.choice(negative, size=n)), y


def mislabel(
    rng: np.random.Generator, y: NDArray[np.int64], label_noise: float, classes: list[int]
) -> NDArray[np.int64]:
    """Replace the labels of an exact fraction of the rows by another class, all others equally likely."""
    fraction = number("label_noise", label_noise, 0.0, 1.0, "a fraction between 0 and 1")
    wrong = rng.choice(len(y), size=round(fraction * len(y)), replace=False)
    shifted = np.searchsorted(classes, y[wrong]) + rng.integers(1, len(classes), size=len(wrong))
    labels = y.astype(np.int64)
    labels[wrong] = np.array(classes)[shifted % len(classes)]
    return labels


def count(name: str, value: int, minimum: int) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got {value!r} of type {type(value).__name__}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")
    return int(value)


def number(name: str, value: float, low: float, high: float, requirement: str) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}")
    if not low <= value <= high:
        raise ValueError(f"{name} must be {requirement}, got {value}")
    return float(value)
