"""How far to trust clusters: rho by labels that are left out.

Where classes are clusters a large rho is right, elsewhere it does harm, the more so the more labels there are
that know better. So labels are hidden in turn, found by each rho in question together with a sample of the
unlabeled rows, and compared. With few labels that decides little; of equals the largest is taken.
"""

from collections.abc import Callable

import numpy as np
from sklearn.model_selection import StratifiedKFold

from .._submodular.choice import Floats, Ints
from ._space import Space
from ._transduce import Transduction, class_sizes

RHOS = (1.0, 0.3, 0.1, 0.0)
_ROWS, _LABELS = 500, 500  # that are looked at
_FOLDS, _ENOUGH = 5, 90  # folds, and how many answers are wanted at least, within reason
_MOST_REPEATS = 3

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
    """The rho under which hidden labels are found best; the largest while a class has fewer than two labels.

    Parameters
    ----------
    space : Space
        The rows.
    L, numbers : ndarray of shape (l,)
        Labeled rows and their class numbers.
    U : ndarray of shape (n,)
        The others.
    shares : ndarray of shape (n_classes,)
        The share of each class among them.
    problem : callable
        ``problem(space, L, numbers, U, sizes)``, which returns ``solve(solver, rho)``, which labels U.
    random : RandomState
        Decides samples and folds.

    Returns
    -------
    float
        One of `RHOS`.
    """
    if len(U) == 0:
        return RHOS[0]
    if len(L) > _LABELS:
        some = np.sort(random.permutation(len(L))[:_LABELS])
        L, numbers = L[some], numbers[some]
    counts = np.bincount(numbers, minlength=len(shares))
    folds = min(_FOLDS, int(counts[counts > 0].min()))
    if folds < 2 or np.count_nonzero(counts) < 2:
        return RHOS[0]
    rows = U if len(U) <= _ROWS else np.sort(random.permutation(U)[:_ROWS])
    near = Space(space.matrix(np.concatenate([L, rows])), None)
    unlabeled = np.arange(len(L), len(L) + len(rows))
    hits = np.zeros(len(RHOS))
    for _ in range(int(np.clip(-(-_ENOUGH // len(L)), 1, _MOST_REPEATS))):
        split = StratifiedKFold(folds, shuffle=True, random_state=random.randint(2**31 - 1))
        for shown, hidden in split.split(numbers, numbers):
            wanted = np.concatenate([hidden, unlabeled])
            sizes = class_sizes(shares, len(wanted))
            solve = problem(near, shown, numbers[shown], wanted, sizes)
            for i, rho in enumerate(RHOS):
                found = solve("fast", rho).numbers[: len(hidden)]
                hits[i] += np.count_nonzero(found == numbers[hidden])
    return RHOS[int(np.argmax(hits))]
