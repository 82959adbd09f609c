"""What each learner computes from a row, as the chain of steps that is written in ONNX."""

import dataclasses
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.validation import check_is_fitted

from .._base.kernels import NAMES, Kernel, is_built_in, kernel_named
from .._base.learner import KernelLearner
from .._base.machine import Expansion
from ..adaptive import AdaptiveSVM
from ..adaptive._voters import VoterParts
from ..auc._linear import LinearAUC
from ..query._chunk_learner import ChunkLearner
from ..semi._transductive import TransductiveLearner
from ..semi.stream_s3vm import StreamS3VM
from ._graph import Affine, Array, Ballot, Floats, KernelValues, Matrix, Predictor, Step, Unit
from ._vote import Vote, Voter, decision_values


def describe(learner: Any) -> Predictor:
    """The predictor that a fitted learner is at present; the learner stays as it is."""
    if isinstance(learner, type):
        raise TypeError(f"{learner.__name__} is a class: pass a fitted learner.")
    for kind, read in _READERS:
        if isinstance(learner, kind):
            check_is_fitted(learner)
            return read(learner).tidied()
    name = type(learner).__name__
    within = next((part for part in ("learner_", "estimator_", "estimator") if hasattr(learner, part)), None)
    remedy = f"pass its {within}"
    if within is None:
        remedy = "pass a learner with a single decision function, such as LASVM, IDSVM or OPAUC, or an SVC"
    raise TypeError(f"{name} has no decision function that can be exported to ONNX: {remedy}.")


# -------------------------------------------------------------------------------------------- kernel machines


def _machine(learner: KernelLearner) -> Predictor:
    machine = learner._machine
    if machine.spec["layout"] == "external":
        _refuse_kernel(learner, learner.kernel)
    averaging = machine.parameters.get("averaging", "none")
    ballots: list[Ballot] = []
    if averaging == "none":
        found = machine.expansion(machine.support())
    else:
        slots, ballots = _ballots(machine)
        weights = np.column_stack([_mean_rule(ballot, len(slots)) for ballot in ballots])
        found = machine.expansion(slots)._replace(weights=weights, bias=np.zeros(len(ballots)))
    predictor = _expansion(learner.classes_, found, by_row=averaging == "vote")
    if averaging == "vote" and predictor.kept:
        return dataclasses.replace(predictor, ballots=ballots)
    return predictor


def _expansion(classes: Array, found: Expansion, by_row: bool = False) -> Predictor:
    """The predictor that an expansion is; with ``by_row`` its last step has a kernel value for each row."""
    kernel, rows = found.kernel, _dense(found.rows)
    center, weights, bias = found.center, found.weights, found.bias
    width, kept = rows.shape[1], len(rows)
    if kept == 0:
        return _constant(classes, width, bias)
    stored, ones = rows - center, np.ones(width)
    if kernel.is_linear and not by_row:
        middle = np.median(stored, axis=0)
        combined = stored.T @ weights
        shift = Affine(center + middle, ones)
        return Predictor(classes, [shift], combined, bias + middle @ combined, rows, kept)
    steps = [Affine(center, ones), *_values(kernel, stored)]
    return Predictor(classes, steps, weights, bias, rows, kept)


def _values(kernel: Kernel, rows: Floats) -> list[Step]:
    """Kernel values against rows.

    Where the kernel allows it, rows are shifted to the median of these rows, which a single row far away does
    not move.
    """
    if not kernel.shift_invariant:
        return [KernelValues(kernel, rows)]
    middle = np.median(rows, axis=0)
    return [Affine(middle, np.ones(len(middle))), KernelValues(kernel, rows - middle)]


def _ballots(machine: Any) -> tuple[Any, list[Ballot]]:
    """The slots of all rows that a perceptron ever added, and for each column what it added when."""
    state = machine.native.get_state()
    ids, starts = state["entry_ids"], state["entry_ids_starts"]
    used, total = np.unique(ids), max(int(state["iterations"]), 1)
    ballots = []
    for start, end in pairwise(starts.tolist()):
        ends = np.append(state["entry_times"][start:end], state["iterations"] + 1)
        ballots.append(
            Ballot(
                np.searchsorted(used, ids[start:end]).astype(np.int64),
                np.asarray(state["entry_coefficients"][start:end], dtype=np.float64),
                np.diff(ends).astype(np.float64),
                float(total),
            )
        )
    place = {row_id: slot for slot, row_id in enumerate(state["ids"].tolist())}
    return np.array([place[row_id] for row_id in used.tolist()], dtype=np.intp), ballots


def _mean_rule(ballot: Ballot, rows: int) -> Floats:
    """The mean of all rules is a rule, too: each addition counts for as long as it has been there."""
    weights = np.zeros(rows)
    np.add.at(weights, ballot.places, ballot.coefficients * np.cumsum(ballot.lasts[::-1])[::-1])
    return weights / ballot.total


# ----------------------------------------------------------------------------------- linear and borrowed ones


def _linear(learner: Any) -> Predictor:
    weights, bias = np.asarray(learner.coef_, np.float64).T, np.asarray(learner.intercept_, np.float64)
    if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
        raise ValueError(f"The weights of {type(learner).__name__} are not finite: scale the features.")
    bias = np.broadcast_to(bias, weights.shape[1])  # a number where there is none
    return Predictor(learner.classes_, [], weights, bias, np.zeros((0, len(weights))), 0)


def _svc(svc: SVC) -> Predictor:
    if not is_built_in(svc.kernel):
        _refuse_kernel(svc, svc.kernel)
    if len(svc.classes_) > 2:
        raise ValueError("An SVC with more than two classes decides by pairs of them: take LASVM instead.")
    rows, weights = svc.support_vectors_, _dense(svc.dual_coef_).T
    kernel = kernel_named(svc.kernel, svc._gamma, svc.coef0, svc.degree)
    origin = np.zeros(rows.shape[1])
    found = Expansion(kernel, rows, origin, weights, np.asarray(svc.intercept_))
    return _expansion(svc.classes_, found)


# ------------------------------------------------------------------------------------- learners with learners


def _chunks(learner: ChunkLearner) -> Predictor:
    inside = describe(learner.estimator_)
    if not np.array_equal(inside.classes, learner.classes_):
        raise ValueError(
            f"The last machine of this {type(learner).__name__} knows the classes {inside.classes!r} only, "
            f"of {learner.classes_!r}: fit it again with larger chunks."
        )
    return inside


def _transductive(learner: TransductiveLearner) -> Predictor:
    if learner.kernel == "precomputed":
        _refuse_kernel(learner, learner.kernel)
    _refuse_one_class(learner)
    if learner._only is not None:
        only = np.arange(len(learner.classes_)) == learner._only
        bias = np.where(only[1:], 1.0, -1.0) if len(only) == 2 else np.where(only, 1.0, -np.inf)
        return _constant(learner.classes_, learner.n_features_in_, bias)
    found = describe(learner._rule())
    scaling, nystroem = learner._geometry, learner._nystroem
    examples = found.examples
    if nystroem is not None and scaling.kernel is not None:
        components = _dense(nystroem.components_)
        turn = np.asarray(nystroem.normalization_, dtype=np.float64).T
        found = found.after([*_values(scaling.kernel, components), Matrix(turn)], components)
        examples = components
    steps: list[Step] = [Unit()] if scaling.unit else []
    if scaling.mean is not None and scaling.scale is not None:
        steps.insert(0, Affine(scaling.mean, scaling.scale))
        if len(examples) == 0:
            examples = np.random.default_rng(0).standard_normal((500, len(scaling.mean)))
        examples = examples * scaling.scale + scaling.mean
    return _placed(found.after(steps, examples), learner.classes_)


def _stream(learner: StreamS3VM) -> Predictor:
    model, classes = learner._model, learner.classes_
    _refuse_one_class(learner)
    if len(model.classes_) > 1:
        return _placed(describe(model), classes)
    only = classes == model.classes_[0]
    bias = np.where(only[1:], 1.0, -1.0) if len(classes) == 2 else np.where(only, 1.0, -np.inf)
    return _constant(classes, learner.n_features_in_, bias)


def _placed(found: Predictor, classes: Array) -> Predictor:
    """The same in terms of more classes: one that the predictor does not know has minus infinity."""
    if len(found.classes) == len(classes):
        return found
    weights, bias, ballots = found.weights, found.bias, found.ballots
    if len(bias) == 1:
        weights, bias = np.hstack([-weights, weights]), np.concatenate([-bias, bias])
        ballots = [
            dataclasses.replace(b, coefficients=sign * b.coefficients) for b in ballots for sign in (-1, 1)
        ]
    places = np.searchsorted(classes, found.classes)
    more = np.zeros((len(weights), len(classes)))
    more[:, places] = weights
    lowest = np.full(len(classes), -np.inf)
    lowest[places] = bias
    every = [Ballot(np.zeros(0, np.int64), np.zeros(0), np.zeros(0), 1.0)] * len(classes) if ballots else []
    for place, ballot in zip(places, ballots, strict=False):
        every[place] = ballot
    return Predictor(classes, found.steps, more, lowest, found.examples, found.kept, every)


# ----------------------------------------------------------------------------------------------------- votes

_NEGLIGIBLE = 1e-6  # weight of an expert from outside that may be missing; the comparison has the last word
_UNSEEN = 1e-6  # by which decision values may change for SVMs that are left out


def _vote(learner: AdaptiveSVM) -> Predictor:
    _refuse_one_class(learner)
    vote, classes, width = learner._vote_parts(), learner.classes_, learner.n_features_in_
    constant = np.zeros(len(classes))
    svms: list[tuple[float, VoterParts]] = []
    left_out = []
    for name, weight, parts in zip(vote.names, vote.weights.tolist(), vote.voters, strict=True):
        if parts.shares is not None:
            constant += weight * parts.shares
        elif parts.logits is not None:
            svms.append((weight, parts))
        elif weight < _NEGLIGIBLE:
            left_out.append(name)
        else:
            raise ValueError(
                f"The expert {name!r} of this {type(learner).__name__} has the weight {weight:.2g} and "
                "cannot be exported to ONNX: train without it. Experts with a kernel or 'no-change' can be "
                "exported."
            )
    svms = _that_count(svms, max(float(constant.min()), vote.least))
    if not svms:
        same = _constant(classes, width, decision_values(constant[np.newaxis], vote.least)[0])
        return dataclasses.replace(same, left_out=left_out)
    rows, places = _shared_rows([parts for _, parts in svms])
    kernels = [_kernel(parts) for _, parts in svms]
    middle = np.zeros(width)
    if len(rows) and all(kernel.shift_invariant or kernel.is_linear for kernel in kernels):
        middle = np.median(rows, axis=0)
    met = [at for at, kernel in zip(places, kernels, strict=True) if not kernel.is_linear]
    stored = np.unique(np.concatenate([np.zeros(0, dtype=np.intp), *met]))
    voters = [
        _voter(weight, parts, np.searchsorted(stored, at), middle)
        for (weight, parts), at in zip(svms, places, strict=True)
    ]
    step = Vote(rows[stored] - middle, voters, constant, vote.least)
    weights = np.eye(1 if len(classes) == 2 else len(classes))  # the step gives decision values
    steps: list[Step] = [Affine(middle, np.ones(width)), step]
    found = Predictor(classes, steps, weights, np.zeros(len(weights)), rows, len(rows), left_out=left_out)
    if vote.mean is None or vote.scale is None:
        return found
    return found.after([Affine(vote.mean, vote.scale)], rows * vote.scale + vote.mean)


def _that_count(svms: list[tuple[float, VoterParts]], floor: float) -> list[tuple[float, VoterParts]]:
    """Voters without those that cannot be seen.

    Without a weight w, the vote for a class changes by w at most. The vote is at least ``floor``, or is taken
    to be, so that log(vote) / 2 changes by w / (2 floor) at most, whatever the row.
    """
    by_weight = sorted(svms, key=lambda pair: pair[0])
    total = np.cumsum([weight for weight, _ in by_weight])
    unseen = int(np.count_nonzero(total <= 2 * floor * _UNSEEN))
    return by_weight[unseen:]


def _kernel(parts: VoterParts) -> Kernel:
    assert parts.logits is not None
    return parts.logits.kernel


def _shared_rows(voters: list[VoterParts]) -> tuple[Floats, list[npt.NDArray[np.intp]]]:
    """Each support vector once, the oldest first, and where those of each voter are."""
    found: list[Floats] = []
    known: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
    for parts in voters:
        assert parts.logits is not None
        fresh = np.flatnonzero(~np.isin(parts.ids, known))
        rows = _dense(parts.logits.rows[fresh])
        found.append(rows if parts.factors is None else rows / parts.factors)
        known = np.concatenate([known, parts.ids[fresh]])
    order = np.argsort(known)
    return np.vstack(found)[order], [np.searchsorted(known[order], parts.ids) for parts in voters]


def _voter(weight: float, parts: VoterParts, places: npt.NDArray[np.intp], middle: Floats) -> Voter:
    """A voter for features from which ``middle`` has been subtracted."""
    logits, factors = parts.logits, parts.factors
    assert logits is not None
    if not logits.kernel.is_linear and len(places):  # there are none if the rows of a class have no weight
        at = places.astype(np.int32)
        return Voter(weight, logits.weights, logits.bias, logits.kernel, at, factors).smallest()
    weights = (_dense(logits.rows) - logits.center).T @ logits.weights
    bias = logits.bias - logits.center @ weights
    if factors is not None:
        weights = factors[:, np.newaxis] * weights
    return Voter(weight, weights, bias + middle @ weights)


# ------------------------------------------------------------------------------------------------------ odds


def _constant(classes: Array, width: int, bias: Any) -> Predictor:
    """The same scores for every row."""
    bias = np.asarray(bias, dtype=np.float64)
    return Predictor(classes, [], np.zeros((width, len(bias))), bias, np.zeros((0, width)), 0)


def _dense(rows: Any) -> Floats:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)


def _refuse_one_class(learner: Any) -> None:
    if len(learner.classes_) == 1:
        raise ValueError(f"This {type(learner).__name__} knows one class only: nothing has to be decided.")


def _refuse_kernel(learner: Any, kernel: Any) -> None:
    shown = repr(kernel) if isinstance(kernel, str) else "a function"
    raise ValueError(
        f"This {type(learner).__name__} has kernel={shown}, which no file can hold: export needs one of "
        f"{', '.join(map(repr, NAMES))}."
    )


_READERS: tuple[tuple[type, Callable[[Any], Predictor]], ...] = (
    (KernelLearner, _machine),
    (AdaptiveSVM, _vote),
    (LinearAUC, _linear),
    (ChunkLearner, _chunks),
    (TransductiveLearner, _transductive),
    (StreamS3VM, _stream),
    (LinearSVC, _linear),
    (SVC, _svc),
)
