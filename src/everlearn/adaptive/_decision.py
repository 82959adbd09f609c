"""The decision function of a committee as data, for export."""

import dataclasses
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._base.decision import Array, Decision, Floats, Standardize, Step, constant_decision, dense
from .._base.kernels import Kernel
from ._vote_step import Voter, VoteStep, decision_values
from ._voters import VoterParts

_NEGLIGIBLE = 1e-6  # weight below which a classifier of another library may be left out
_MAX_CHANGE = 1e-6  # of decision values when SVMs are left out


class VoteParts(NamedTuple):
    """The parts of the decision values log(max(p, least)) / 2, where p is the weighted vote."""

    mean: Floats | None  # subtracted from the features
    scale: Floats | None  # then divides the features
    names: list[str]  # of the experts
    weights: Floats
    voters: list[VoterParts]
    least: float


def vote_decision(owner: str, vote: VoteParts, classes: Array, width: int) -> Decision:
    """The decision function of a vote, without experts of negligible weight. Messages name ``owner``."""
    constant = np.zeros(len(classes))
    svms: list[tuple[float, VoterParts]] = []
    left_out = []
    for name, weight, parts in zip(vote.names, vote.weights.tolist(), vote.voters, strict=True):
        if parts.probabilities is not None:
            constant += weight * parts.probabilities
        elif parts.logits is not None:
            svms.append((weight, parts))
        elif weight < _NEGLIGIBLE:
            left_out.append(name)
        else:
            raise ValueError(
                f"The expert {name!r} of this {owner} has the weight {weight:.2g} and cannot be exported to "
                "ONNX: train without it. Only SVM experts and 'no-change' can be exported."
            )
    svms = _without_negligible(svms, max(float(constant.min()), vote.least))
    if not svms:
        same = constant_decision(classes, width, decision_values(constant[np.newaxis], vote.least)[0])
        return dataclasses.replace(same, left_out=left_out)
    rows, places = _shared_rows([parts for _, parts in svms])
    kernels = [_kernel(parts) for _, parts in svms]
    middle = np.zeros(width)
    if len(rows) and all(kernel.shift_invariant or kernel.is_linear for kernel in kernels):
        middle = np.median(rows, axis=0)
    used = [at for at, kernel in zip(places, kernels, strict=True) if not kernel.is_linear]
    stored = np.unique(np.concatenate([np.zeros(0, dtype=np.intp), *used]))
    voters = [
        _voter(weight, parts, np.searchsorted(stored, at), middle)
        for (weight, parts), at in zip(svms, places, strict=True)
    ]
    step = VoteStep(rows[stored] - middle, voters, constant, vote.least)
    weights = np.eye(1 if len(classes) == 2 else len(classes))  # the step gives decision values
    steps: list[Step] = [Standardize(middle, np.ones(width)), step]
    found = Decision(classes, steps, weights, np.zeros(len(weights)), rows, len(rows), left_out=left_out)
    if vote.mean is None or vote.scale is None:
        return found
    return found.after([Standardize(vote.mean, vote.scale)], rows * vote.scale + vote.mean)


def _without_negligible(svms: list[tuple[float, VoterParts]], floor: float) -> list[tuple[float, VoterParts]]:
    """Drop the voters whose effect is below a bound.

    Dropping a voter of weight w changes the vote for a class by at most w. The vote is at least ``floor``, or
    is raised to it, so log(vote) / 2 changes by at most w / (2 floor) for any row.
    """
    by_weight = sorted(svms, key=lambda pair: pair[0])
    total = np.cumsum([weight for weight, _ in by_weight])
    negligible = int(np.count_nonzero(total <= 2 * floor * _MAX_CHANGE))
    return by_weight[negligible:]


def _kernel(parts: VoterParts) -> Kernel:
    assert parts.logits is not None
    return parts.logits.kernel


def _shared_rows(voters: list[VoterParts]) -> tuple[Floats, list[npt.NDArray[np.intp]]]:
    """All support vectors without duplicates, oldest first, and the indices of those of each voter."""
    found: list[Floats] = []
    known: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
    for parts in voters:
        assert parts.logits is not None
        fresh = np.flatnonzero(~np.isin(parts.ids, known))
        rows = dense(parts.logits.rows[fresh])
        found.append(rows if parts.factors is None else rows / parts.factors)
        known = np.concatenate([known, parts.ids[fresh]])
    order = np.argsort(known)
    return np.vstack(found)[order], [np.searchsorted(known[order], parts.ids) for parts in voters]


def _voter(weight: float, parts: VoterParts, places: npt.NDArray[np.intp], middle: Floats) -> Voter:
    """A voter for features from which ``middle`` has been subtracted."""
    logits, factors = parts.logits, parts.factors
    assert logits is not None
    if not logits.kernel.is_linear and len(places):  # empty if a class has no weight
        at = places.astype(np.int32)
        return Voter(weight, logits.weights, logits.bias, logits.kernel, at, factors).smallest()
    weights = (dense(logits.rows) - logits.center).T @ logits.weights
    bias = logits.bias - logits.center @ weights
    if factors is not None:
        weights = factors[:, np.newaxis] * weights
    return Voter(weight, weights, bias + middle @ weights)
