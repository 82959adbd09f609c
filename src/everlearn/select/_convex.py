"""The convex relaxation of selecting diverse rows, with an upper bound on the optimum.

    maximize  f(p) = w'p + q p'Kp      subject to  0 <= p <= 1,  sum p = k;      q < 0, K psd: f is concave

Sets of k rows are the 0/1 vectors among these p, so the maximum is an upper bound of F for every set. It is
solved by accelerated projected gradients. At any p the linear model of f lies above f, and its maximum is
found by sorting. So

    room(p) = (sum of the k largest slopes) - slope'p,        f(p) <= max f <= f(p) + room(p)

is the Frank-Wolfe gap, and the bound holds even if the iteration stops early.
"""

from dataclasses import dataclass

import numpy as np
from tqdm.auto import tqdm

from .._submodular.choice import Choice, Floats, StoredSimilarities

_TOL = 1e-7
_MAX_STEPS = 3000
_POWER_STEPS = 20


@dataclass(frozen=True)
class Fractions:
    """A solution: p, its value f(p), the Frank-Wolfe gap, and the number of gradients computed."""

    p: Floats
    value: float
    room: float
    gradients: int


def project(v: Floats, k: int) -> Floats:
    """Project v onto {0 <= p <= 1, sum p = k}: clip(v - shift, 0, 1) with the shift for which the sum is k.

    The sum decreases with the shift and is linear between neighboring values of v - 1 and v. The interval is
    found by bisection.
    """

    def above(shift: float) -> float:
        return float(np.clip(v - shift, 0, 1).sum() - k)

    corners = np.sort(np.concatenate([v - 1, v]))
    left, right = 0, len(corners) - 1
    while right - left > 1:
        middle = (left + right) // 2
        left, right = (middle, right) if above(corners[middle]) >= 0 else (left, middle)
    high, low = above(corners[left]), above(corners[right])
    share = high / (high - low) if high > low else 0.0
    return np.asarray(np.clip(v - corners[left] - share * (corners[right] - corners[left]), 0, 1))


def _largest_eigenvalue(choice: Choice) -> float:
    """The largest eigenvalue of K, from below; `ascend` tolerates a slightly low estimate."""
    n = len(choice.w)
    v = 1.0 + np.random.RandomState(0).random_sample(n)
    for _ in range(_POWER_STEPS):
        v /= np.linalg.norm(v)
        image = choice.K.times(v)
        value = float(np.linalg.norm(image))
        if value == 0:
            break
        v = image
    return value


def _product(choice: Choice, p: Floats) -> Floats:
    """K p; for a stored matrix only the rows with nonzero p are read, which soon are few."""
    shares = np.flatnonzero(p)
    if isinstance(choice.K, StoredSimilarities) and 4 * len(shares) < len(p):
        return np.asarray(p[shares] @ choice.K.K[shares])
    return choice.K.times(p)


def ascend(choice: Choice, k: int, verbose: bool = False) -> Fractions:
    """Maximize f from equal fractions until the gap is negligible, or until f no longer increases."""
    n = len(choice.w)

    def look(p: Floats) -> tuple[float, Floats]:
        """f and its gradient."""
        sums = _product(choice, p)
        return float(choice.w @ p + choice.q * (p @ sums)), choice.w + 2 * choice.q * sums

    def room(p: Floats, slope: Floats) -> float:
        return float(np.partition(slope, n - k)[n - k :].sum() - slope @ p)

    p = np.full(n, k / n)
    value, slope = look(p)
    if k in (0, n):
        return Fractions(p, value, 0.0, 1)
    step = 1 / max(2 * abs(choice.q) * 1.1 * _largest_eigenvalue(choice), 1e-300)
    gradients, speed = 1 + _POWER_STEPS, 1.0
    ahead, slope_ahead, short = p, slope, 0
    with tqdm(desc="convex", unit="step", disable=not verbose) as bar:
        for _ in range(_MAX_STEPS):
            if room(p, slope) <= _TOL * (1 + abs(value)) or short > 3:
                break
            new = project(ahead + step * slope_ahead, k)
            new_value, new_slope = look(new)
            gradients += 1
            if new_value < value:  # restart from p without momentum
                new = project(p + step * slope, k)
                new_value, new_slope = look(new)
                gradients, speed = gradients + 1, 1.0
                short = short + 1 if new_value <= value else 0  # only rounding errors are left
            faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
            pull = (speed - 1) / faster
            # The gradient is affine in p, so extrapolating it costs no product.
            ahead, slope_ahead = new + pull * (new - p), new_slope + pull * (new_slope - slope)
            p, value, slope, speed = new, new_value, new_slope, faster
            bar.update()
    return Fractions(p, value, max(0.0, room(p, slope)), gradients)
