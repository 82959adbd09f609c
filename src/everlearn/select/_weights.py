"""The weights of the objective of `Exemplars`."""

from collections.abc import Iterable
from typing import Any

from .._base import constraints


def _are_weights(value: Any) -> bool:
    try:
        numbers = list(value)
    except TypeError:
        return False
    return len(numbers) in (3, 4) and all(map(constraints.NOT_NEGATIVE.test, numbers)) and numbers[0] > 0


WEIGHTS = constraints.Constraint("three or four numbers, 0 or above, the first above 0", _are_weights)


Weights = tuple[float, float, float, float]


def four_weights(given: Iterable[float]) -> Weights:
    """Three or four given weights as four; a missing fourth is 0."""
    lam1, lam2, lam3, lam4 = [*map(float, given), 0.0][:4]
    return lam1, lam2, lam3, lam4


def default_weights(chosen: int, rows: int, rows_next: int = 0) -> Weights:
    """Default weights lam1 to lam4: diversity, similarity to labeled rows, density, density of the next rows.

    Dense regions are preferred if few rows are chosen; from half of the rows on it is kernel herding. With
    next rows, the density is the mean of both.
    """
    base = max(1.0, 2 * chosen / max(rows, 1))
    fraction = 0.5 if rows_next else 0.0
    return 1.0, base, (1 - fraction) * base, fraction * base * rows / max(rows_next, 1)
