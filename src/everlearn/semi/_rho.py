"""Choice of rho, the weight of clusters, by cross-validation.

A large rho helps if classes are clusters; otherwise it does harm, more so with more labels. So each candidate
predicts held-out labels, together with a sample of the unlabeled rows. With few labels the choice is
unreliable. Ties go to the largest rho.
"""

from collections.abc import Callable

import numpy as np
from sklearn.model_selection import StratifiedKFold

from .._submodular.choice import Floats, Ints
from ._space import Space
from ._transduce import Transduction, class_sizes

RHOS = (1.0, 0.3, 0.1, 0.0)
_MAX_ROWS, _MAX_LABELS = 500, 500  # sample sizes of unlabeled and labeled rows
_FOLDS, _MIN_PREDICTIONS = 5, 90  # folds are repeated until there are this many predictions
_MAX_REPEATS = 3

Solve = Callable[[str, float], Transduction]
Problem = Callable[[Space, Ints, Ints, Ints, Ints], Solve]


def choose_rho(
    space: Space,
    L: Ints,
    numbers: Ints,
    U: Ints,
    shares: Floats,
    problem: Problem,
    random: np.random.RandomState,
) -> float:
    """The rho that predicts held-out labels best; the largest if a class has fewer than two labels.

    Parameters
    ----------
    space : Space
        The rows.
    L, numbers : ndarray of shape (l,)
        Labeled rows and their class numbers.
    U : ndarray of shape (n,)
        Unlabeled rows.
    shares : ndarray of shape (n_classes,)
        Fraction of each class among the unlabeled rows.
    problem : callable
        ``problem(space, L, numbers, U, sizes)`` returns ``solve(solver, rho)``, which labels U.
    random : RandomState
        Random generator for samples and folds.

    Returns
    -------
    float
        One of `RHOS`.
    """
    if len(U) == 0:
        return RHOS[0]
    if len(L) > _MAX_LABELS:
        some = np.sort(random.permutation(len(L))[:_MAX_LABELS])
        L, numbers = L[some], numbers[some]
    counts = np.bincount(numbers, minlength=len(shares))
    folds = min(_FOLDS, int(counts[counts > 0].min()))
    if folds < 2 or np.count_nonzero(counts) < 2:
        return RHOS[0]
    rows = U if len(U) <= _MAX_ROWS else np.sort(random.permutation(U)[:_MAX_ROWS])
    near = Space(space.matrix(np.concatenate([L, rows])), None)
    unlabeled = np.arange(len(L), len(L) + len(rows))
    hits = np.zeros(len(RHOS))
    for _ in range(int(np.clip(-(-_MIN_PREDICTIONS // len(L)), 1, _MAX_REPEATS))):
        split = StratifiedKFold(folds, shuffle=True, random_state=random.randint(2**31 - 1))
        for shown, hidden in split.split(numbers, numbers):
            wanted = np.concatenate([hidden, unlabeled])
            sizes = class_sizes(shares, len(wanted))
            solve = problem(near, shown, numbers[shown], wanted, sizes)
            for i, rho in enumerate(RHOS):
                found = solve("fast", rho).numbers[: len(hidden)]
                hits[i] += np.count_nonzero(found == numbers[hidden])
    return RHOS[int(np.argmax(hits))]
