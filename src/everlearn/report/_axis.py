"""Axes: round ticks, and the mapping of values to coordinates, for all floats."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NOISE = 1e-6  # rounding error by which a score may exceed 1 without extending the axis


@dataclass(frozen=True)
class Axis:
    """Maps the values from `low` to `high` to the coordinates from `start` to `end`.

    Invariant: `place` is between `start` and `end` for every number. Values are divided by the largest of
    them first, so that no difference overflows.
    """

    low: float
    high: float
    start: float
    end: float

    def place(self, values: Floats | float) -> Floats:
        """The coordinates of the values, clipped to the ends of the axis."""
        size = max(abs(self.low), abs(self.high))
        inside = np.clip(np.asarray(values, dtype=np.float64), self.low, self.high)
        if size == 0 or self.high <= self.low:
            return np.full_like(inside, (self.start + self.end) / 2)
        low, high = self.low / size, self.high / size
        part = (inside / size - low) / (high - low)
        return np.asarray(self.start + np.clip(part, 0.0, 1.0) * (self.end - self.start), dtype=np.float64)

    def ticks(self, wanted: int) -> list[float]:
        """Round values between the ends, about as many as wanted; only the ends if no round step exists."""
        step = round_step(self.low, self.high, wanted)
        if step is None:
            return sorted({self.low, self.high})
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return sorted({float(f"{number * step:.12g}") for number in range(first, last + 1)})


def round_step(low: float, high: float, wanted: int) -> float | None:
    """The step (1, 2 or 5 times a power of ten) that divides a range into at most `wanted` parts, or None."""
    raw = (high - low) / wanted
    if not math.isfinite(raw) or raw < 1e-290 or raw <= 1e-12 * max(abs(low), abs(high)):
        return None
    power = 10.0 ** math.floor(math.log10(raw))
    return next((m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= raw * (1 - 1e-9)), 10.0 * power)


def score_range(low: float, high: float) -> tuple[float, float]:
    """Range of an axis of scores: from 0 to 1, so that a small difference looks small; wider if needed."""
    return whole_steps(min(low, 0.0), high if high > 1 + NOISE else 1.0)


def amount_range(low: float, high: float) -> tuple[float, float]:
    """Range of an axis of amounts: from 0 to the first round value above the maximum."""
    low, high = min(low, 0.0), max(high, 0.0)
    return whole_steps(low, high) if low < high else (0.0, 1.0)


def whole_steps(low: float, high: float, wanted: int = 5) -> tuple[float, float]:
    """The range widened to multiples of the step, if there is one."""
    step = round_step(low, high, wanted)
    if step is None:
        return low, high
    wide = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    return wide if all(map(math.isfinite, wide)) else (low, high)


def time_range(values: Floats) -> tuple[float, float]:
    """Range of the axis of rows: from 0, unless the data start late; never empty."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    low = low if low < 0 or high / 4 < low < high else 0.0
    return (low, high) if low < high else (low, low + max(abs(low), 1.0) / 2)
