"""Plain twins of the calibrators and of adaptive conformal inference: one row, one class at a time.

The logits are fitted by a general-purpose optimizer, isotonic regression is the textbook algorithm of pooling
adjacent violators on all rows plus the new one, and the conformal quantile is found by counting.
"""

import math

import numpy as np
from scipy.optimize import minimize


def logit_features(value, saturates):
    return [value, math.tanh(value)] if saturates else [value]


def logit_proba(row, classes, shared, biases, slopes, saturates):
    """`row`: scores by class; classes that are not in it have no probability."""
    logits = {
        k: sum(a * f for a, f in zip(shared, logit_features(row[k], saturates), strict=True))
        + biases[k]
        + slopes[k] * row[k]
        for k in classes
        if k in row
    }
    top = max(logits.values())
    total = sum(math.exp(z - top) for z in logits.values())
    return {k: math.exp(z - top) / total for k, z in logits.items()}


def logit_fit(rows, labels, weights, classes, saturates, per_class, ridges=(1.0, 20.0, 5.0), prior=1.5):
    """Shared slopes, biases and slopes of the classes that minimize the penalized negative log-likelihood."""
    n, k = (2 if saturates else 1), len(classes)
    mean = prior / n
    n_own = (k if per_class else 0) + (k if per_class and k > 2 else 0)

    def unpack(point):
        own = [*point[n:], *[0.0] * (2 * k - n_own)]
        return (
            point[:n],
            dict(zip(classes, own[:k], strict=True)),
            dict(zip(classes, own[k : 2 * k], strict=True)),
        )

    def loss(point):
        shared, biases, slopes = unpack(point)
        total = 0.5 * ridges[0] * sum((a - mean) ** 2 for a in shared)
        total += 0.5 * ridges[1] * sum(b * b for b in biases.values())
        total += 0.5 * ridges[2] * sum(b * b for b in slopes.values())
        for row, label, weight in zip(rows, labels, weights, strict=True):
            total -= weight * math.log(logit_proba(row, classes, shared, biases, slopes, saturates)[label])
        return total

    start = [mean] * n + [0.0] * n_own
    bounds = [(0, None)] * n + [(None, None)] * n_own
    found = minimize(loss, start, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-9})
    return unpack(found.x)


def isotonic(values, targets, weights):
    """Pool adjacent violators; equal values are pooled first. Returns the fit by value."""
    blocks = []
    for value in sorted(set(values)):
        here = [(t, w) for v, t, w in zip(values, targets, weights, strict=True) if v == value]
        blocks.append([sum(t * w for t, w in here), sum(w for _, w in here), [value]])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            hits, mass, members = blocks.pop()
            blocks[-1][0] += hits
            blocks[-1][1] += mass
            blocks[-1][2] += members
    return {value: hits / mass for hits, mass, members in blocks for value in members}


def venn_abers(values, positive, weights, new):
    """The probability of a new score, which is one of the values: isotonic regression with either label."""
    fits = [
        isotonic([*values, new], [*map(float, positive), label], [*weights, 1.0])[new] for label in (0.0, 1.0)
    ]
    return fits[1] / (1 - fits[0] + fits[1])


class PlainConformal:
    def __init__(self, alpha, gamma, window):
        self.alpha, self.gamma, self.window = alpha, gamma, window
        self.level, self.values, self.hits = alpha, [], []

    def threshold(self):
        if self.level >= 1:
            return math.inf
        kept = self.values[-self.window :]
        below = sorted(kept)[: max(math.floor(self.level * (len(kept) + 1)), 0)]
        return below[-1] if self.level > 0 and below else -math.inf

    def update(self, value):
        hit = value >= self.threshold()
        self.hits.append(hit)
        self.level += self.gamma * (self.alpha - (not hit))
        self.values.append(value)


def brier(proba, codes):
    return float(np.mean(np.sum((proba - np.eye(proba.shape[1])[codes]) ** 2, axis=1)))
