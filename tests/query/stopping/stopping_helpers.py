"""Events for stopping rules, and their verdicts after each."""

import numpy as np
import pytest
from sklearn.base import clone

from everlearn.query.stopping import Progress


def verdicts(rule, events):
    """The verdict after each event."""
    found = []
    for event in events:
        rule.update(event)
        found.append(rule.verdict())
    return found


def stops(rule, events):
    return [verdict.stop for verdict in verdicts(rule, events)]


def refused(words, rule):
    with pytest.raises(ValueError, match=words):
        rule.verdict()
    with pytest.raises(ValueError, match=words):
        rule.update(Progress(1, n_support=1, margin=1.0, score=1.0))


def events(count, seed=0):
    """What a loop might tell."""
    rng = np.random.default_rng(seed)
    return [
        Progress(
            labels,
            n_support=int(rng.integers(40, 44)),
            margin=float(rng.uniform(0, 2)),
            free_margin=None if rng.random() < 0.3 else float(rng.uniform(0.9, 1.1)),
            score=float(0.9 - 1 / (labels + 1) + 0.02 * rng.standard_normal()),
            estimate=float(rng.random() < 0.8),
            outside_margin=float(rng.uniform(0.5, 1)),
            examined_outside_margin=float(rng.uniform(0.98, 1)),
            confidence=float(rng.uniform(0.8, 1)),
        )
        for labels in range(1, count + 1)
    ]


def told(rule, count=12, seed=0):
    rule = clone(rule)
    for event in events(count, seed):
        rule.update(event)
    return rule
