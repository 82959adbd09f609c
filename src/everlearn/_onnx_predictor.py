"""What each learner computes from a row, as the chain of steps that is written in ONNX."""

import dataclasses
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.validation import check_is_fitted

from ._kernels import NATIVE
from ._learner import KernelLearner
from ._onnx_graph import Affine, Array, Ballot, Floats, Kernel, Matrix, Predictor, Step, Unit
from .auc._linear import LinearAUC
from .query._chunk_learner import ChunkLearner
from .semi._transductive import TransductiveLearner
from .semi.stream_s3vm import StreamS3VM


def describe(learner: Any) -> Predictor:
    """The predictor that a fitted learner is at present; the learner stays as it is."""
    if isinstance(learner, type):
        raise TypeError(f"{learner.__name__} is a class: pass a fitted learner.")
    for kind, read in _READERS:
        if isinstance(learner, kind):
            check_is_fitted(learner)
            return read(learner).tidied()
    name = type(learner).__name__
    within = next((part for part in ("model", "learner_") if hasattr(learner, part)), None)
    remedy = f"pass its {within}"
    if within is None:
        remedy = "pass a learner with a single decision function, such as LASVM, IDSVM or OPAUC, or an SVC"
    raise TypeError(f"{name} has no decision function that can be exported to ONNX: {remedy}.")


# -------------------------------------------------------------------------------------------- kernel machines


def _machine(learner: KernelLearner) -> Predictor:
    machine = learner._machine
    spec, native = machine.spec, machine.native
    if spec["layout"] == "external":
        _refuse_kernel(learner, learner.kernel)
    averaging = machine.parameters.get("averaging", "none")
    ballots: list[Ballot] = []
    if averaging == "none":
        slots = machine.support()
        weights, bias = native.alpha[:, slots].T, native.bias
    else:
        slots, ballots = _ballots(machine)
        bias = np.zeros(len(ballots))
        weights = np.column_stack([_mean_rule(ballot, len(slots)) for ballot in ballots])
    rows = _dense(machine.rows(slots))
    centre = spec["centre"] if len(spec["centre"]) else np.zeros(spec["width"])
    kernel = {name: spec[name] for name in ("gamma", "coef0", "degree")}
    found = _expansion(learner.classes_, spec["kernel"], kernel, rows, centre, weights, bias)
    if averaging == "vote" and len(rows):
        return Predictor(found.classes, found.steps, found.weights, bias, rows, len(rows), ballots)
    return found


def _expansion(
    classes: Array,
    name: str,
    spec: dict[str, Any],
    rows: Floats,
    centre: Floats,
    weights: Floats,
    bias: Floats,
) -> Predictor:
    """Write f(x) = sum_i w_i k(x_i - centre, x - centre) + b; rows are as they were given."""
    width, kept = rows.shape[1], len(rows)
    if kept == 0:
        return _constant(classes, width, bias)
    stored, ones = rows - centre, np.ones(width)
    if name in ("poly", "sigmoid"):
        steps: list[Step] = [Affine(centre, ones), Kernel(name, stored, **spec)]
        return Predictor(classes, steps, weights, bias, rows, kept)
    # Neither of the others minds where the origin is, so that it goes to the middle of the rows; the median,
    # lest a single row far away moves it there.
    middle = np.median(stored, axis=0)
    shift = Affine(centre + middle, ones)
    if name == "rbf":
        kernel = Kernel(name, stored - middle, spec["gamma"])
        return Predictor(classes, [shift, kernel], weights, bias, rows, kept)
    combined = stored.T @ weights
    return Predictor(classes, [shift], combined, bias + middle @ combined, rows, kept)


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
    if svc.kernel not in NATIVE:
        _refuse_kernel(svc, svc.kernel)
    if len(svc.classes_) > 2:
        raise ValueError("An SVC with more than two classes decides by pairs of them: take LASVM instead.")
    rows, weights = _dense(svc.support_vectors_), _dense(svc.dual_coef_).T
    spec = {"gamma": float(svc._gamma), "coef0": float(svc.coef0), "degree": int(svc.degree)}
    origin = np.zeros(rows.shape[1])
    return _expansion(svc.classes_, svc.kernel, spec, rows, origin, weights, np.asarray(svc.intercept_))


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
    if len(learner.classes_) == 1:
        raise ValueError(f"This {type(learner).__name__} knows one class only: nothing has to be decided.")
    if learner._only is not None:
        only = np.arange(len(learner.classes_)) == learner._only
        bias = np.where(only[1:], 1.0, -1.0) if len(only) == 2 else np.where(only, 1.0, -np.inf)
        return _constant(learner.classes_, learner.n_features_in_, bias)
    found = describe(learner._rule())
    scaling, nystroem = learner._geometry, learner._nystroem
    examples = found.examples
    if nystroem is not None:
        components = _dense(nystroem.components_)
        turn = np.asarray(nystroem.normalization_, dtype=np.float64).T
        found = found.after([*_values(nystroem, components), Matrix(turn)], components)
        examples = components
    steps: list[Step] = [Unit()] if scaling.unit else []
    if scaling.mean is not None and scaling.spread is not None:
        steps.insert(0, Affine(scaling.mean, scaling.spread))
        if len(examples) == 0:
            examples = np.random.default_rng(0).standard_normal((500, len(scaling.mean)))
        examples = examples * scaling.spread + scaling.mean
    return _placed(found.after(steps, examples), learner.classes_)


def _values(nystroem: Any, components: Floats) -> list[Step]:
    """The similarities to some rows that stand for all, as scikit-learn computes them."""
    gamma = 1.0 if nystroem.gamma is None else float(nystroem.gamma)
    coef0, degree = nystroem.coef0, nystroem.degree
    if nystroem.kernel == "linear":
        return [Matrix(components.T)]
    if nystroem.kernel != "rbf":
        return [
            Kernel(
                nystroem.kernel,
                components,
                gamma,
                1.0 if coef0 is None else float(coef0),
                3 if degree is None else int(degree),
            )
        ]
    middle = np.median(components, axis=0)
    return [Affine(middle, np.ones(len(middle))), Kernel("rbf", components - middle, gamma)]


def _stream(learner: StreamS3VM) -> Predictor:
    model, classes = learner._model, learner.classes_
    if len(classes) == 1:
        raise ValueError(f"This {type(learner).__name__} knows one class only: nothing has to be decided.")
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


# ------------------------------------------------------------------------------------------------------ odds


def _constant(classes: Array, width: int, bias: Any) -> Predictor:
    """The same scores for every row."""
    bias = np.asarray(bias, dtype=np.float64)
    return Predictor(classes, [], np.zeros((width, len(bias))), bias, np.zeros((0, width)), 0)


def _dense(rows: Any) -> Floats:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)


def _refuse_kernel(learner: Any, kernel: Any) -> None:
    shown = repr(kernel) if isinstance(kernel, str) else "a function"
    raise ValueError(
        f"This {type(learner).__name__} has kernel={shown}, which no file can hold: export needs one of "
        f"{', '.join(map(repr, NATIVE))}."
    )


_READERS: tuple[tuple[type, Callable[[Any], Predictor]], ...] = (
    (KernelLearner, _machine),
    (LinearAUC, _linear),
    (ChunkLearner, _chunks),
    (TransductiveLearner, _transductive),
    (StreamS3VM, _stream),
    (LinearSVC, _linear),
    (SVC, _svc),
)
