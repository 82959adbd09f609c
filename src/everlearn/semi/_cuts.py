"""Selection of rows as a quadratic program: a thorough search for hundreds of rows, exact for a few.

maximize w'p + q p'Kp over 0 <= p <= 1, sum p = k, with q > 0. For K positive semi-definite the objective is
convex, so a vector of zeros and ones attains the maximum. Solvers of convex programs do not apply, because
they minimize convex functions.
"""

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from .._submodular.choice import Choice, Ints, largest


def best_cut(choice: Choice, k: int, starts: int, random: np.random.Generator) -> tuple[Ints, int]:
    """Linearize from several starts, then swap. Returns the first best set, and evaluations."""
    n = len(choice.w)
    path = choice.greedy(k)
    sets = [largest(choice.slope(np.full(n, k / n)), k), largest(choice.w, k), np.sort(path.order)]
    sets += [np.sort(random.permutation(n)[:k]) for _ in range(starts)]
    ends = {rows.tobytes(): rows for rows in (choice.linearize(rows, k) for rows in sets)}
    return max((choice.swap(rows) for rows in ends.values()), key=choice.value), path.evaluations


def exact_cut(choice: Choice, k: int) -> Ints:
    """The global optimum, by a mixed-integer program.

    With t_j the sum of K over row j, F = sum_j (w_j + q t_j) p_j - q sum_{i<j} K_ij z_ij, where z_ij is 1 if
    exactly one of i and j is selected. If K >= 0, the constraint z_ij >= |p_i - p_j| suffices. Adding a
    constant to K makes it non-negative and changes F only by a constant for given k.
    """
    n = len(choice.w)
    K = choice.K.block(np.arange(n), np.arange(n))
    i, j = np.triu_indices(n, 1)
    pairs, ones = np.arange(len(i)), np.ones(len(i))
    cost = choice.q * (K[i, j] - K[i, j].min(initial=0))
    part = sparse.csr_matrix((np.r_[ones, -ones], (np.r_[pairs, pairs], np.r_[i, j])), shape=(len(i), n))
    apart = sparse.vstack([part, -part])  # p_i - p_j - z_ij <= 0 and p_j - p_i - z_ij <= 0
    conditions = sparse.hstack([apart, -sparse.vstack([sparse.eye(len(i))] * 2)], format="csr")
    total = sparse.csr_matrix(np.r_[np.ones(n), np.zeros(len(i))])
    linear = choice.w + choice.q * choice.K.times(np.ones(n))
    scale = max(np.abs(linear).max(), cost.max(initial=0), 1e-300)
    found = milp(
        np.r_[-linear, cost] / scale,
        integrality=np.r_[np.ones(n), np.zeros(len(i))],
        bounds=Bounds(0, 1),
        constraints=[LinearConstraint(conditions, ub=0), LinearConstraint(total, k, k)],
        options={"mip_rel_gap": 0.0},
    )
    if found.x is None:
        raise RuntimeError(f"The mixed-integer program found no solution: {found.message}")
    return largest(found.x[:n], k)
