"""Merging learners on a budget: the mean of their decision functions, within the budget.

Models of different rows of one stream estimate the same function, and their mean, weighted by the rows that
each has seen, is the usual way to put them together (R. McDonald, K. Hall, G. Mann, "Distributed Training
Strategies for the Structured Perceptron", NAACL 2010). If the mean needs more rows than the budget allows, it
is projected: of all functions on the rows that stay, the one nearest to it in the feature space is taken.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve, solve_triangular

from .machine import Machine
from .merging import RowUnion, begin, problem_of

Floats = npt.NDArray[np.float64]

# A row whose squared distance from the span of others is below this part of K(x, x) adds nothing to it.
_LEAST_DISTANCE = 1e-4


def learn_mean(learner: Any, union: RowUnion, budget: int) -> None:
    """Turn a fresh learner on a budget into the mean of the models of a union."""
    with problem_of(learner, union):
        begin(learner, union)
    learner._configure()
    machine, foreign = learner._machine, learner._foreign
    native, states = machine.native.get_state(), union.states
    every = np.arange(len(union.labels))
    if foreign is not None:
        foreign.add(union.X, every)
        K = foreign.against(union.X, every)
    else:
        K = np.asarray(machine.kernel.values(union.X, union.X), dtype=np.float64)
    seen = np.array([state["iterations"] for state in states], dtype=np.float64)
    shares = seen / seen.sum() if seen.sum() else seen
    members = np.concatenate([state["member"] for state in states], axis=1) != 0
    mean = np.concatenate([s * state["alpha"] for s, state in zip(shares, states, strict=True)], axis=1)
    alpha, buffers, factors = np.zeros(mean.shape), [], []
    for c, weights in enumerate(mean):
        chosen = np.flatnonzero(members[c])
        values = weights[chosen]
        if len(chosen) > budget or "factor" in native:
            ranked = chosen[np.argsort(-np.abs(values) * np.sqrt(K.diagonal()[chosen]), kind="stable")]
            chosen, factor = _independent(K, ranked, budget)
            values = cho_solve((factor, True), K[chosen] @ weights) if len(chosen) else np.zeros(0)
            factors.append(factor[np.tril_indices(len(chosen))])
        alpha[c, chosen] = values
        buffers.append(chosen)
    kept = np.unique(np.concatenate(buffers))
    starts = np.cumsum([0, *map(len, buffers)])
    native |= {
        "ids": kept,
        "labels": union.labels[kept],
        "costs": union.costs[kept],
        "diagonal": np.concatenate([state["diagonal"] for state in states])[kept],
        "alpha": np.ascontiguousarray(alpha[:, kept]),
        "edge": np.ascontiguousarray(np.concatenate([state["edge"] for state in states], axis=1)[:, kept]),
        "member": np.array([np.isin(kept, buffer) for buffer in buffers], dtype=np.uint8),
        "bias": shares @ np.array([state["bias"] for state in states]),
        "g": _signs(union.labels[kept], len(alpha)) - alpha[:, kept] @ K[np.ix_(kept, kept)],
        "buffers": np.concatenate(buffers),
        "buffers_starts": starts,
    }
    if foreign is not None:
        native["kernel"] = K[np.ix_(kept, kept)].astype(np.float32)
        foreign.keep(kept)
    else:
        native |= machine._image(union.X[kept])
    if "factor" in native:
        native["factor"] = np.concatenate(factors)
        native["factor_starts"] = np.cumsum([0, *map(len, factors)])
    for name in ("mistakes", "iterations", "spent", "projections", "margin_steps"):
        if name in native:
            native[name] = sum(state[name] for state in states)
    if "margin" in native:
        native["margin"] = shares @ np.array([state["margin"] for state in states])
    learner._machine = Machine.from_state(machine.get_state() | {"native": native})
    learner._configure()


def _independent(K: Floats, ranked: Any, most: int) -> tuple[Any, Floats]:
    """The first ranked rows, up to ``most``, that are not in the span of others; and L of their K = L L'."""
    chosen: list[int] = []
    factor = np.zeros((min(most, len(ranked)),) * 2)
    for row in ranked.tolist():
        n = len(chosen)
        if n == most:
            break
        v: Floats = np.zeros(0)
        if n:
            v = solve_triangular(factor[:n, :n], K[chosen, row], lower=True)
        left = K[row, row] - v @ v
        if left > _LEAST_DISTANCE * K[row, row]:
            factor[n, :n], factor[n, n] = v, np.sqrt(left)
            chosen.append(row)
    n = len(chosen)
    return np.array(chosen, dtype=np.intp), np.ascontiguousarray(factor[:n, :n])


def _signs(labels: npt.NDArray[np.int32], columns: int) -> Floats:
    numbers = np.arange(columns) if columns > 1 else np.array([1])
    return np.where(labels == numbers[:, np.newaxis], 1.0, -1.0)
