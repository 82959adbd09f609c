"""What the reports of all parts share."""

from __future__ import annotations

from ..harness.report import NONE, fill, head, number
from ..harness.run import Data, Result

_GENERAL = """
CPU time throughout. Every machine on a set has the same RBF kernel and C; `SVC` is scikit-learn's, with a
tolerance of 1e-3 where it is timed. Residuals are computed by NumPy from the coefficients, by definition: the
most by which an optimality condition of the rows kept is violated.
"""


def opening(title: str, data: Data) -> list[str]:
    """Title, machine, and how to read the figures."""
    return [*head(title, data), fill(_GENERAL)]


def named(result: Result) -> str:
    """A set with its parameters."""
    return f"{result['set']} ({result['C']:g}, {result['gamma']:.3g})"


def times(over: float | None, under: float | None) -> str:
    """A ratio."""
    return number(over / under) if over and under else NONE


def tiny(value: float) -> str:
    """An order of magnitude."""
    return f"{value:.0e}"
