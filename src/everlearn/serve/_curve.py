"""The learning curve on rows drawn at random, and whether more labels are worth it."""

import math
from collections.abc import Sequence
from typing import Any

from ..evaluate.intervals import wilson
from ..stream.random_checks import BaselinePoint, RandomCheck

_LEAST_WINDOW, _MAX_WINDOW = 30, 500  # checks that one point of the curve is measured on
_FIRST = 5  # checks before the curve begins
_MAX_POINTS = 200
_FEW = 30  # checks, fewer say little about the future
_EXPONENTS = [k / 20 for k in range(21)]  # of the error, which falls as a power of the number of labels
STOP_GAIN = 0.01  # accuracy that 100 labels must be able to bring
STOP_QUANTILE = 0.9


def window(n: int) -> int:
    """The number of last checks that measure the accuracy now: the later half, at least 30, at most 500.

    A model that learns is better than it was at its first checks; on too few checks nothing is measured.
    """
    return min(n, max(_LEAST_WINDOW, n // 2), _MAX_WINDOW)


def curve(checks: Sequence[RandomCheck]) -> list[dict[str, Any]]:
    """The accuracy over the number of labels, with its interval."""
    total, sums = 0, [0]
    for check in checks:
        total += check.right
        sums.append(total)
    ends = range(len(checks), _FIRST - 1, -max(1, math.ceil(len(checks) / _MAX_POINTS)))
    found = []
    for end in reversed(ends):
        n = window(end)
        found.append(_point(checks[end - 1].labels + 1, sums[end] - sums[end - n], n))
    return found


def baseline(points: Sequence[BaselinePoint]) -> list[dict[str, Any]]:
    """The accuracy of a learner that was fed random rows alone, over the number of its labels."""
    return [_point(point.labels, point.right, point.tested) for point in points]


def _point(labels: int, right: int, n: int) -> dict[str, Any]:
    low, high = (float(bound) for bound in wilson(right / n, n))
    value = {"value": round(right / n, 4), "low": round(low, 4), "high": round(high, 4)}
    return {"labels": labels, **value, "n": n}


def accuracy(points: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The last point of the curve; None if there is none."""
    return {name: points[-1][name] for name in ("value", "low", "high", "n")} if points else None


def stopping(checks: Sequence[RandomCheck], labels: int) -> dict[str, Any]:
    """Whether more labels are worth it, and what 100 more are expected to bring."""
    if len(checks) < _FEW:
        return {
            "stop": False,
            "text": f"{len(checks)} of {_FEW} random checks that are needed to say when to stop.",
            "expected_gain_100": None,
            "largest_gain_100": None,
        }
    expected, largest = expected_gain(checks, max(1, labels), 100)
    stop = largest < STOP_GAIN
    text = f"100 more labels should add {_points(expected)}, at most {_points(largest)} (90 % sure)."
    return {
        "stop": stop,
        "text": f"{text} You can stop." if stop else text,
        "expected_gain_100": round(expected, 5),
        "largest_gain_100": round(largest, 5),
    }


def _points(gain: float) -> str:
    text = f"{100 * gain:.1f}"
    return f"{text} point" if text == "1.0" else f"{text} points"


def expected_gain(checks: Sequence[RandomCheck], labels: int, more: int) -> tuple[float, float]:
    """The accuracy that ``more`` labels add: its mean, and its 90 % quantile.

    The model: after n labels, a random row is predicted incorrectly with probability a n^-b. All exponents b
    between 0 and 1 are equally likely before the checks are seen; for each, a is the one that explains the
    number of errors best, and the errors are taken as a Poisson process.
    """
    times = [max(1, check.labels) for check in checks]
    wrong = [time for time, check in zip(times, checks, strict=True) if not check.right]
    weights, gains = [], []
    for b in _EXPONENTS:
        shape = sum(time**-b for time in times)
        a = (len(wrong) + 0.5) / shape
        weights.append(len(wrong) * math.log(a) - b * sum(map(math.log, wrong)) - a * shape)
        gains.append(a * (labels**-b - (labels + more) ** -b))
    best = max(weights)
    weights = [math.exp(weight - best) for weight in weights]
    total = sum(weights)
    mean = sum(weight * gain for weight, gain in zip(weights, gains, strict=True)) / total
    seen, largest = 0.0, 0.0
    for gain, weight in sorted(zip(gains, weights, strict=True)):
        seen, largest = seen + weight, gain
        if seen >= STOP_QUANTILE * total:
            break
    return mean, largest
