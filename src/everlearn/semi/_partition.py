"""Partition of rows into several classes: the problem, greedy, ascent, swaps, and the exact optimum.

Sets A_c of given sizes maximize ::

    W = C Cs sum_c sum_{j in A_c} s_c(j) + Cs^2/4 sum_c sum_{j, j' in A_c} K_jj'

with s_c(j) the score of row j from the labels of class c. `_transduce` derives the objective.
"""

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from .._submodular.choice import Floats, Ints, Path, Similarities

Numbers = npt.NDArray[np.int64]


class Partition:
    """The problem of assigning rows to classes of given sizes.

    Parameters
    ----------
    K : Similarities
        The similarities of the n rows.
    s : ndarray of shape (n, n_classes)
        The score of each row from the labels of each class.
    sizes : ndarray of shape (n_classes,)
        Number of rows of each class; they sum to n.
    C, Cs : float
        Weights of the labels and of the clusters.
    """

    def __init__(self, K: Similarities, s: Floats, sizes: Ints, C: float, Cs: float) -> None:
        self.K, self.s, self.sizes = K, s, np.asarray(sizes)
        self.linear, self.q = C * Cs * s, Cs**2 / 4

    def look(self, labels: Numbers) -> tuple[Floats, float]:
        """The derivatives of W with respect to the memberships, and W."""
        sums, at = self.K.times(np.eye(len(self.sizes))[labels]), np.arange(len(labels))
        value = self.linear[at, labels].sum() + self.q * sums[at, labels].sum()
        return self.linear + 2 * self.q * sums, float(value)

    def value(self, labels: Numbers) -> float:
        """W of a labeling."""
        return self.look(labels)[1]

    def greedy(self, highest: float) -> tuple[Numbers, Path]:
        """Select the row and the class with the largest gain, n times; ``highest`` bounds similarities."""
        base = self.linear + self.q * self.K.diagonal[:, np.newaxis]
        path = self.K.greedy(base, 2 * self.q, 2 * self.q * highest, self.sizes.tolist())
        labels = np.zeros(len(self.s), dtype=np.int64)
        labels[path.order] = path.groups
        return labels, path

    def ascend(self, labels: Numbers) -> Numbers:
        """Reassign all rows by their slopes, as long as W increases."""
        slope, value = self.look(labels)
        while True:
            new = assign(slope, self.sizes)
            slope, risen = self.look(new)
            if not risen > value:
                return labels
            labels, value = new, risen

    def swap(self, labels: Numbers) -> Numbers:
        """Swap two rows of different classes, best swap first, as long as W increases; for small n.

        A swap of i in class a and j in class b changes W by (slope_ib - slope_ia) + (slope_ja - slope_jb)
        + 2 q (K_ii + K_jj - 2 K_ij). The last term is at most `reach`, so only rows for which the sum can be
        positive are compared.
        """
        labels, own, every = labels.copy(), self.K.diagonal, np.arange(len(labels))
        reach = 4 * self.q * (own.max(initial=0) - self.K.least)
        slope, _ = self.look(labels)
        while True:
            least_rise = 1e-12 * (1 + np.abs(slope).max(initial=0))
            best, pair = least_rise, None
            for a in range(len(self.sizes)):
                for b in range(a + 1, len(self.sizes)):
                    i, j = np.flatnonzero(labels == a), np.flatnonzero(labels == b)
                    if not (len(i) and len(j)):
                        continue
                    up, down = slope[i, b] - slope[i, a], slope[j, a] - slope[j, b]
                    near, far = up + down.max() + reach > best, down + up.max() + reach > best
                    i, j, up, down = i[near], j[far], up[near], down[far]
                    if not (len(i) and len(j)):
                        continue
                    apart = own[i][:, np.newaxis] + own[j] - 2 * self.K.block(i, j)
                    rise = up[:, np.newaxis] + down + 2 * self.q * apart
                    at = np.unravel_index(np.argmax(rise), rise.shape)
                    if rise[at] > best:
                        best, pair = float(rise[at]), (int(i[at[0]]), int(j[at[1]]))
            if pair is None:
                return labels
            (a, b), columns = labels[list(pair)], self.K.block(every, np.array(pair))
            change = 2 * self.q * (columns[:, 1] - columns[:, 0])
            slope[:, a] += change
            slope[:, b] -= change
            labels[list(pair)] = b, a


def best_partition(
    problem: Partition, starts: int, random: np.random.Generator, highest: float
) -> tuple[Numbers, int]:
    """Ascend from several starts, then swap. Returns the first best labeling, and evaluations."""
    n, sizes = len(problem.s), problem.sizes
    shares = np.tile(sizes / n, (n, 1))
    level = problem.linear + 2 * problem.q * problem.K.times(shares)
    greedy, path = problem.greedy(highest)
    labelings = [assign(level, sizes), assign(problem.s, sizes), greedy]
    seats = np.repeat(np.arange(len(sizes)), sizes)
    labelings += [random.permutation(seats) for _ in range(starts)]
    ends = {labels.tobytes(): labels for labels in map(problem.ascend, labelings)}
    return max(map(problem.swap, ends.values()), key=problem.value), path.evaluations


def exact_partition(problem: Partition) -> Numbers:
    """The globally optimal labeling, by a mixed-integer program.

    p_ic is 1 if row i is in class c. z_ijc = p_ic p_jc is 1 if both i and j are, with the gain 2 q K_ij. For
    integer p, max(0, p_ic + p_jc - 1) <= z_ijc <= min(p_ic, p_jc) suffices. The class sizes add
    sum_j z_ijc = (size_c - 1) p_ic, without which the search takes a hundred times as long.
    """
    n, Q = problem.s.shape
    i, j = np.triu_indices(n, 1)
    K = problem.K.block(np.arange(n), np.arange(n))[i, j]
    pairs, ones = np.arange(len(i)), np.ones(len(i))
    classes = sparse.eye(Q)
    first, second = (
        sparse.kron(sparse.csr_matrix((ones, (pairs, side)), shape=(len(i), n)), classes) for side in (i, j)
    )
    both = sparse.eye(len(i) * Q)
    within = sparse.vstack(  # each at most 0
        [sparse.hstack([-first, both]), sparse.hstack([-second, both])], format="csr"
    )
    joint = sparse.hstack([first + second, -both], format="csr")  # at most 1
    one_class = sparse.kron(sparse.eye(n), np.ones((1, Q)))
    sized = sparse.kron(np.ones((1, n)), classes)
    rooms = sparse.kron(sparse.eye(n), sparse.diags(problem.sizes - 1.0))
    equal = sparse.bmat([[one_class, None], [sized, None], [-rooms, (first + second).T]], format="csr")
    wanted = np.r_[np.ones(n), problem.sizes, np.zeros(n * Q)]
    gains = np.r_[problem.linear.ravel(), np.repeat(2 * problem.q * K, Q)]
    found = milp(
        -gains / max(np.abs(gains).max(initial=0), 1e-300),
        integrality=np.r_[np.ones(n * Q), np.zeros(len(i) * Q)],
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(within, ub=0),
            LinearConstraint(joint, ub=1),
            LinearConstraint(equal, wanted, wanted),
        ],
        options={"mip_rel_gap": 0.0},
    )
    if found.x is None:
        raise RuntimeError(f"The mixed-integer program found no solution: {found.message}")
    return np.asarray(found.x[: n * Q].reshape(n, Q).argmax(axis=1), dtype=np.int64)


def assign(scores: Floats, sizes: Ints) -> Numbers:
    """Assign rows to classes of given sizes by their scores: greedy by regret.

    Every row is assigned to its best open class. If a class gets too many rows, it keeps those that would
    lose most in another class and is closed; the other rows are assigned again.
    """
    n = len(scores)
    labels, room = np.full(n, -1, dtype=np.int64), np.array(sizes)
    opened = room > 0
    while (free := np.flatnonzero(labels < 0)).size:
        open_scores = np.where(opened, scores[free], -np.inf)
        best = open_scores.argmax(axis=1)
        crowded = opened & (np.bincount(best, minlength=len(room)) > room)
        if not crowded.any():
            labels[free] = best
            break
        ranked = np.sort(open_scores, axis=1)
        regret = ranked[:, -1] - ranked[:, -2]
        for c in np.flatnonzero(crowded):
            here = np.flatnonzero(best == c)
            stay = here[np.argsort(-regret[here], kind="stable")[: room[c]]]
            labels[free[stay]] = c
        opened &= ~crowded
    return labels
