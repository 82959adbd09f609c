"""Plain NumPy learning of SVMs by chunks: the slow twin of StatQSVM, IncrSVM and QuerySVM.

P. Mitra, C. A. Murthy, S. K. Pal, "A Probabilistic Active Support Vector Learning Algorithm" (2004).

``solve(X, y, rows)`` trains an exact machine: its support vectors S, and f. Labels are -1 and +1. ``random``
draws, in this order, the rows of T, the first chunk, and for each step the walk and a number for each row.
The loops yield after each machine: S, f, the rows used and examined; statq also c, p_nm and |Q| of the step.
"""

import numpy as np
from sklearn.svm import SVC


def svc(X, y, rows):
    machine = SVC(kernel="linear", tol=1e-9).fit(X[rows], y[rows])
    return rows[machine.support_], machine.decision_function


def confidence(S, T, y_T, k=None):  # equation (6)
    k = min(max(1, round(np.sqrt(len(S)))) if k is None else k, len(T))
    near = [np.argsort([np.sum((s - t) ** 2) for t in T], kind="stable")[:k] for s in S]
    return 2 / (len(S) * k) * sum(min(np.sum(y_T[i] == 1), np.sum(y_T[i] == -1)) for i in near)


def distance(A, B):  # equation (7)
    there = [min(np.sqrt(np.sum((a - b) ** 2)) for b in B) for a in A]
    back = [min(np.sqrt(np.sum((a - b) ** 2)) for a in A) for b in B]
    return np.mean(there) + np.mean(back) + max(*there, *back)


def even_root(m):
    return min(range(2, m + 1, 2), key=lambda k: (abs(k - np.sqrt(m)), k), default=1)  # of two the lower


def first_chunk(y, p, random):
    """Draw p random rows, again until both classes occur; return them and all rows looked at."""
    Q, read = np.zeros(0, int), set()
    while len(set(y[Q])) < 2:
        Q = random.permutation(len(y))[:p]
        read |= set(Q)
    return np.sort(Q), read


def statq(X, y, p, steps, random, solve=svc, stopping="c*p", threshold=0.9, robust=True, share=0.1):
    T = np.sort(random.permutation(len(y))[: max(1, round(share * len(y)))])
    rows, examined = first_chunk(y, p, random)
    used, c, Q, p_nm = set(), None, rows, 0
    for step in range(steps + 1):
        used |= set(Q)
        S, f = solve(X, y, rows)
        yield S, f, set(used), set(examined), c, p_nm, len(Q) if step else 0
        c = confidence(X[S], X[T], y[T], even_root(len(T)) if robust else None)
        chance = max(c, 0.2) if robust else c
        walk = random.permutation(np.setdiff1d(np.arange(len(y)), S))
        Q, margins, p_nm = [], [], 0
        for row, number in zip(walk, random.random_sample(len(walk)), strict=True):
            if len(Q) == p or step == steps:
                break
            examined.add(row)
            margins.append(m := y[row] * f(X[row : row + 1])[0])
            if number < (chance if m <= 1 else 1 - chance):
                Q, p_nm = [*Q, row], p_nm + (m > 1)
        measure = {"c*p": c * p_nm, "p": p_nm}[stopping] / max(1, len(Q)) > threshold
        if step < steps and (not Q or (np.mean(np.array(margins) > 1) > 0.995 if robust else measure)):
            yield S, f, set(used), set(examined), c, p_nm, len(Q)
            return
        rows = np.union1d(S, Q).astype(int)


def incr(X, y, p, steps, random, solve=svc):
    Q, examined = first_chunk(y, p, random)
    rest, S, used = random.permutation(np.setdiff1d(np.arange(len(y)), Q)), [], set()
    for chunk in [Q, *(rest[i : i + p] for i in range(0, len(rest), p))][: steps + 1]:
        used |= set(chunk)
        rows = np.union1d(S, chunk).astype(int)
        S, f = solve(X, y, rows)
        yield S, f, set(used), examined | used


def query(X, y, p, steps, random, solve=svc, keep="all"):
    rows, examined = first_chunk(y, p, random)
    used = set(rows)
    for step in range(steps + 1):
        S, f = solve(X, y, rows)
        rest = np.setdiff1d(np.arange(len(y)), list(used))
        yield S, f, set(used), examined | used
        if step == steps or len(rest) == 0 or np.min(size := np.abs(f(X[rest]))) >= 1:
            return
        used.add(new := rest[np.argmin(size)])
        rows = np.union1d(rows if keep == "all" else S, new)
