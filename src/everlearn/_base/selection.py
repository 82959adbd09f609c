"""Active selection: which of some candidates to learn next, and when more rows bring nothing new.

`pick` is what the core does natively, for kernels that the core cannot compute.

S. Ertekin, "Learning in Extreme Conditions" (thesis, 2009), chapters 3 to 5.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

MAX_DRAWN, MIN_IN_MARGIN = 100, 5  # "autoactive" draws until 5 candidates are in the margin, at most 100


def support_settled(counts: Sequence[int], window: int, rtol: float) -> bool:
    """Whether the number of support vectors has settled, the stopping rule for active selection.

    Parameters
    ----------
    counts : sequence of int
        Number of support vectors after each row learned, the last one last.
    window : int
        Rows over which the number must have settled.
    rtol : float
        Allowed difference between the largest and the smallest of the last window + 1 counts, relative to the
        last one.
    """
    if len(counts) <= window:
        return False
    last = counts[-window - 1 :]
    return max(last) - min(last) <= rtol * last[-1]


def pick(
    selection: str,
    scores: npt.NDArray[np.float64],
    labels: npt.NDArray[np.int32],
    delta: npt.NDArray[np.float64],
) -> int:
    """Return the index of the selected candidate; the first one wins ties.

    Parameters
    ----------
    selection : {"gradient", "active", "autoactive"}
        Smallest margin of the true class, smallest distance to the boundary, or that among the first
        candidates of which five lie in the margin.
    scores : ndarray of shape (n_candidates, n_columns)
        Decision values, one column for two classes.
    labels : ndarray of shape (n_candidates,)
        Class numbers; read by "gradient" only.
    delta : ndarray of shape (n_columns,)
        Largest violation of each column.
    """
    if selection == "autoactive":
        inside = (np.abs(scores) < 1 + delta / 2).any(axis=1)
        enough = np.flatnonzero(np.cumsum(inside) == MIN_IN_MARGIN)
        scores = scores[: enough[0] + 1] if len(enough) else scores
    places = np.arange(len(scores))
    if scores.shape[1] == 1:
        f = scores[:, 0]
        utility = np.where(labels == 1, f, -f) if selection == "gradient" else np.abs(f)
    else:
        own = labels if selection == "gradient" else scores.argmax(axis=1)
        others = scores.copy()
        others[places, own] = -np.inf
        utility = scores[places, own] - others.max(axis=1)
    return int(np.argmin(utility))
