"""Significance tests over paired results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

MIN_PAIRS = 6  # the signed-rank test cannot reject at 0.05 with fewer


def signed_rank(
    differences: Sequence[float] | np.ndarray, digits: int = 9, min_pairs: int = MIN_PAIRS
) -> float | None:
    """Wilcoxon's two-sided p-value over the pairs that differ, None where there are too few."""
    from scipy.stats import wilcoxon

    moved = np.round(differences, digits)
    moved = moved[moved != 0]
    return float(wilcoxon(moved).pvalue) if len(moved) >= min_pairs else None


def holm(values: Sequence[float]) -> np.ndarray:
    """p-values adjusted for their number by Holm's method."""
    order = np.argsort(values)
    steps = np.asarray(values)[order] * (len(values) - np.arange(len(values)))
    found = np.empty(len(values))
    found[order] = np.minimum(1, np.maximum.accumulate(steps))
    return found
