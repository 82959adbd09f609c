"""Transduction: labels for unlabeled rows, as class numbers, for two classes and for more.

W. Emara, thesis (2012), chapter III. With l labeled rows L, n unlabeled ones U, and y = -1, +1, the k
positives A maximize ::

    D(A) = C Cs sum_{j in A} s_j - Cs^2/2 sum_{j in A, j' in U \\ A} K_jj',      s_j = sum_{i in L} y_i K_ij

the scores from the labels minus the similarities that are cut: `Choice` with q = Cs^2/2 and w_j = C Cs s_j -
Cs^2/2 sum_{j' in U} K_jj'. For more classes, U is partitioned into sets A_c of given sizes that maximize ::

    W = C Cs sum_c sum_{j in A_c} s_c(j) + Cs^2/4 sum_c sum_{j, j' in A_c} K_jj'

with s_c(j) the mean (or the sum) of K_ij over the labeled rows of class c. For two classes and sums, W equals
D up to a constant.
"""

from dataclasses import dataclass

import numpy as np

from .._submodular.choice import Choice, Floats, Ints, Similarities, largest
from ._partition import Numbers, Partition, assign
from ._space import OVERFLOW

TWO_SIDED_UP_TO = 20_000


@dataclass(frozen=True)
class Transduction:
    """Class numbers of the unlabeled rows, with scores and objective.

    Parameters
    ----------
    numbers : ndarray of shape (n,)
        The class numbers.
    alone : ndarray of shape (n,)
        The class numbers by similarity to the labeled rows alone.
    scores : ndarray of shape (n,) or (n, n_classes)
        Derivative of the objective with respect to each row's membership.
    objective : float
        D or W.
    evaluations : int
        Number of gains that greedy computed.
    """

    numbers: Numbers
    alone: Numbers
    scores: Floats
    objective: float
    evaluations: int


def count_positives(share: float, n: int) -> int:
    """share * n, rounded half up; for shares between 0 and 1 each class gets at least one row, if n > 1."""
    k = int(np.floor(share * n + 0.5))
    return int(np.clip(k, 1, n - 1)) if 0 < share < 1 and n > 1 else int(np.clip(k, 0, n))


def class_sizes(shares: Floats, n: int) -> Ints:
    """Class sizes that sum to n: the largest remainders are rounded up, ties in class order."""
    wanted = n * shares / shares.sum()
    sizes = np.floor(wanted).astype(np.int64)
    sizes[np.argsort(sizes - wanted, kind="stable")[: n - sizes.sum()]] += 1
    return np.asarray(sizes)


def signed(numbers: Numbers, balance: bool) -> Floats:
    """-1 and +1 of two classes; with ``balance`` weighted so that both classes have the same influence."""
    y = np.where(numbers > 0, 1.0, -1.0)
    if not balance:
        return y
    counts = np.bincount(numbers, minlength=2)
    return np.asarray(y * len(y) / (2 * np.maximum(counts, 1)[numbers]))


# --------------------------------------------------------------------------------------------- two classes


def check_finite(s: Floats, t: Floats, C: float, Cs: float, highest: float) -> None:
    """Raise a ValueError if sums of similarities overflow: row sums t, and scores s from the labels."""
    if not np.isfinite(C * Cs * np.abs(s).sum() + Cs**2 * (np.abs(t).sum() + highest)):
        raise ValueError(OVERFLOW)


def choice_of_positives(K: Similarities, s: Floats, C: float, Cs: float, highest: float) -> Choice:
    """The problem of two classes."""
    with np.errstate(over="ignore", invalid="ignore"):
        t = K.times(np.ones(len(K)))
        check_finite(s, t, C, Cs, highest)
    return Choice(K, C * Cs * s - Cs**2 / 2 * t, Cs**2 / 2, Cs**2 * highest)


def two_classes(
    K: Similarities, s: Floats, k: int, C: float, Cs: float, highest: float, solver: str
) -> Transduction:
    """Find the k positives among rows, given their scores from the labels."""
    choice = choice_of_positives(K, s, C, Cs, highest)
    alone, evaluations = largest(s, k), 0
    if not 0 < k < len(K) or Cs == 0:
        found = alone
    elif solver == "greedy":
        path = choice.greedy(k)
        found, evaluations = np.sort(path.order), path.evaluations
    elif solver == "two-sided":
        found, evaluations = choice.two_sided(k)
    else:
        found = choice.linearize(alone, k)
    return finish_two(choice, found, alone, evaluations)


def finish_two(choice: Choice, found: Ints, alone: Ints, evaluations: int) -> Transduction:
    """The result for a set of positives."""
    p = indicator(found, len(choice.w))
    return Transduction(
        p.astype(np.int64),
        indicator(alone, len(choice.w)).astype(np.int64),
        choice.slope(p),
        choice.value(found),
        evaluations,
    )


def indicator(rows: Ints, n: int) -> Floats:
    """1 for these rows, 0 for the others."""
    p = np.zeros(n)
    p[rows] = 1
    return p


# -------------------------------------------------------------------------------------------- many classes


def members(numbers: Numbers, classes: int, means: bool) -> Floats:
    """Weights of the labels in the scores of each class: 1, or with ``means`` a total of 1 per class."""
    weights = np.eye(classes)[numbers]
    return np.asarray(weights / np.maximum(weights.sum(axis=0), 1) if means else weights)


def partition_of_rows(
    K: Similarities, s: Floats, sizes: Ints, C: float, Cs: float, highest: float
) -> Partition:
    """The problem of several classes."""
    with np.errstate(over="ignore", invalid="ignore"):
        check_finite(s, K.times(np.ones(len(K))), C, Cs, highest)
    return Partition(K, s, sizes, C, Cs)


def many_classes(
    K: Similarities, s: Floats, sizes: Ints, C: float, Cs: float, highest: float, solver: str
) -> Transduction:
    """Assign rows to classes of given sizes, given their scores from the labels of each class."""
    problem, alone = partition_of_rows(K, s, sizes, C, Cs, highest), assign(s, sizes)
    labels, evaluations = alone, 0
    if solver != "fast" and Cs > 0:
        labels, path = problem.greedy(highest)
        evaluations = path.evaluations
    if solver != "greedy" and Cs > 0:
        labels = problem.ascend(labels)
    return finish_many(problem, labels, alone, evaluations)


def finish_many(problem: Partition, labels: Numbers, alone: Numbers, evaluations: int) -> Transduction:
    """The result for a labeling."""
    slope, value = problem.look(labels)
    return Transduction(labels, alone, slope, value, evaluations)
