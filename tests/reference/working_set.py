"""The working-set method of the CUDA backend in plain NumPy: the same rounds, in double precision."""

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

SET = 1024
SHARE = 0.2


def kernel_matrix(X, kernel, gamma, coef0, degree):
    options = {"rbf": {"gamma": gamma}, "sigmoid": {"gamma": gamma, "coef0": coef0}}
    options["poly"] = options["sigmoid"] | {"degree": degree}
    options["laplacian"] = options["rbf"]
    X = np.asarray(X, dtype=np.float64)
    return pairwise_kernels(X, metric="polynomial" if kernel == "poly" else kernel, **options.get(kernel, {}))


def choose(g, may_rise, may_fall, free_before, tau, size):
    """The steepest of both sides in turn, then free rows of the last set, then the next steepest."""
    high, low = g[may_rise].max(), g[may_fall].min()
    rising = [s for s in np.lexsort((np.arange(len(g)), -g)) if may_rise[s] and g[s] > low + tau][: size // 2]
    falling = [s for s in np.lexsort((np.arange(len(g)), g)) if may_fall[s] and g[s] < high - tau][
        : size // 2
    ]

    def in_turn(first, last):
        for k in range(first, last):
            yield from rising[k : k + 1]
            yield from falling[k : k + 1]

    chosen = [*in_turn(0, size // 4), *free_before, *in_turn(size // 4, size // 2)]
    return np.array(list(dict.fromkeys(chosen))[:size], dtype=np.int64), high - low


def pair_steps(K, g, alpha, lower, upper, tolerance, max_steps=100 * SET):
    """Steps on the steepest row that may rise and the partner with the largest gain."""
    for _ in range(max_steps):
        may_rise, may_fall = alpha < upper, alpha > lower
        if not may_rise.any() or not may_fall.any():
            break
        i = int(np.argmax(np.where(may_rise, g, -np.inf)))
        if g[i] - g[may_fall].min() <= tolerance:
            break
        slope = g[i] - g
        curvature = np.maximum(K[i, i] + K.diagonal() - 2 * K[i], 1e-7)
        j = int(np.argmax(np.where(may_fall & (slope > 0), slope**2 / curvature, -np.inf)))
        length = min(slope[j] / curvature[j], upper[i] - alpha[i], alpha[j] - lower[j])
        alpha[i] = upper[i] if length == upper[i] - alpha[i] else alpha[i] + length
        alpha[j] = lower[j] if length == alpha[j] - lower[j] else alpha[j] - length
        g -= length * (K[i] - K[j])


def solve(rows, edge, kernel, gamma, coef0, degree, tol, cache_bytes=0, size=SET):
    """All binary problems: their coefficients and gradients, one line each."""
    K = kernel_matrix(rows, kernel, gamma, coef0, degree)
    alpha, g = np.zeros_like(edge), np.sign(edge)
    rounds = 0
    for p in range(len(edge)):
        lower, upper, last = np.minimum(edge[p], 0), np.maximum(edge[p], 0), np.zeros(0, dtype=np.int64)
        while True:
            free = [s for s in last if lower[s] < alpha[p, s] < upper[s]]
            chosen, violation = choose(g[p], alpha[p] < upper, alpha[p] > lower, free, tol, size)
            if violation <= tol:
                break
            a, local = alpha[p, chosen].copy(), g[p, chosen].copy()
            tolerance = max(tol / 2, SHARE * violation)
            pair_steps(K[np.ix_(chosen, chosen)], local, a, lower[chosen], upper[chosen], tolerance)
            g[p] -= (a - alpha[p, chosen]) @ K[chosen]
            alpha[p, chosen] = a
            last = chosen
            rounds += 1
    return {"alpha": alpha, "g": g, "violation": [tol], "rounds": rounds, "steps": 0, "refreshes": 0}
