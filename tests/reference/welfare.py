"""Plain NumPy labels of more than two classes by submodular welfare: the slow twin of SubmodS3VM with them.

Partition the unlabeled rows into A_1, …, A_Q of given sizes so as to maximize

    W = C*²/4 Σ_c Σ_{j,j'∈A_c} K_jj' + C C* Σ_c Σ_{j∈A_c} s_c(j)

where s_c(j) is the mean (or, to compare with two classes, the sum) of K_ij over the labeled rows i of class
c. Labels are 0, …, Q − 1, and −1 where unknown.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment


def label_sums(K_LU, y_L, Q, means=True):
    """s_c(j), a row for each class; a class without a label scores 0."""
    members = np.array([y_L == c for c in range(Q)], float)
    return members @ K_LU / (np.maximum(members.sum(1, keepdims=True), 1) if means else 1.0)


def class_sizes(y_L, Q, n):
    """n rows shared out by the frequencies of the labels, each plus one; largest remainders first."""
    wanted = n * (np.bincount(y_L, minlength=Q) + 1) / (len(y_L) + Q)
    sizes = np.floor(wanted).astype(int)
    sizes[np.argsort(sizes - wanted, kind="stable")[: n - sizes.sum()]] += 1
    return sizes


def welfare_value(K, s, labels, C, Cs):
    same = labels[:, None] == labels
    return float(Cs**2 / 4 * np.sum(np.asarray(K)[same]) + C * Cs * np.sum(s[labels, np.arange(len(labels))]))


def welfare_greedy(K, s, sizes, C, Cs):
    """Assign the pair of row and class of the largest gain, n times; ties: lowest row, then lowest class.

    The gains are those of the submodular class values W_c + const |A_c| − C*²/4 d |A_c|², d ≥ K. The last
    term differs from class to class, and without it the first class to grow attracts every row.
    """
    K, room = np.asarray(K, float), np.array(sizes)
    n, Q, d = len(K), len(room), np.max(K, initial=0)
    labels, gains = np.full(n, -1), C * Cs * np.asarray(s, float).T + Cs**2 / 4 * K.diagonal()[:, None]
    for _ in range(n):
        free = np.where((labels < 0)[:, None] & (room > 0), gains, -np.inf)
        j, c = np.unravel_index(np.argmax(free), (n, Q))
        labels[j] = c
        room[c] -= 1
        gains[:, c] += Cs**2 / 2 * (K[:, j] - d)
    return labels


def welfare_linearize(K, s, labels, sizes, C, Cs):
    """Assign all rows anew by their slopes under the sizes (a transport problem), while W rises."""
    K, seats = np.asarray(K, float), np.repeat(np.arange(len(sizes)), sizes)
    while True:
        slope = C * Cs * s + Cs**2 / 2 * np.array([K @ (labels == c) for c in range(len(sizes))])
        new = seats[linear_sum_assignment(slope[seats].T, maximize=True)[1]]
        if welfare_value(K, s, new, C, Cs) <= welfare_value(K, s, labels, C, Cs):
            return labels
        labels = new


def transduce_classes(K, y, Q, sizes=None, C=1.0, rho=1.0, refine=True):
    """All labels: the given ones, and a class for every other row; all stay unknown if no label is given."""
    K, y = np.asarray(K, float), np.array(y)
    L, U = np.flatnonzero(y >= 0), np.flatnonzero(y < 0)
    if not len(L) or not len(U):
        return y
    sizes = class_sizes(y[L], Q, len(U)) if sizes is None else np.asarray(sizes)
    inner, s, Cs = K[np.ix_(U, U)], label_sums(K[np.ix_(L, U)], y[L], Q), rho * C * 2 * Q / len(U)
    found = welfare_greedy(inner, s, sizes, C, Cs)
    y[U] = welfare_linearize(inner, s, found, sizes, C, Cs) if refine else found
    return y
