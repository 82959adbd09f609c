"""Merging: one learner from several that learned different rows of the same problem.

The rows that the learners hold in memory are put together, and the problem of all of them is solved. A class
that can be merged has ``_learn_union``: it turns a fresh learner, whose parameters are those of the first
model, into the solution for a `RowUnion`.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from .estimator import Estimator
from .kernels import is_built_in
from .learner import LabeledRows
from .machine import Machine
from .validate import Ints, Rows, as_block

_NOBODY = np.iinfo(np.int64).min  # the id of a row that was forgotten
_OF_SLOTS = ("ids", "labels", "costs", "diagonal", "alpha", "edge", "member")
# Parameters that say which problem is solved, not how.
_OF_THE_PROBLEM = ("C", "kernel", "class_weight", "s", "variant", "budget")


@dataclass
class RowUnion:
    """The rows in memory of several learners, one learner after the other."""

    X: Rows
    labels: npt.NDArray[np.int32]  # class numbers
    costs: npt.NDArray[np.float64]
    ids: Ints
    gamma: float
    states: list[dict[str, Any]]  # of the native machines


def merge(models: Iterable[Any], *, keep_ids: bool = False) -> Any:
    """Merge fitted learners into one: the exact SVM of all rows that they hold in memory.

    The rows in memory are the rows kept and, for `LASVM` and `LASVMG`, those in the reserve. So learners that
    still have every row merge into the exact SVM of all their rows. For `LASVMNC` and `LASVMI` it is the SVM
    of the rows kept, where outliers stay outliers; for `OnlineSVMR` and `RampSVM` an optimum of the ramp loss
    on the rows kept. Learners on a budget merge into the mean of their decision functions, weighted by the
    rows that each has seen; if it needs more rows than the budget, it is projected onto the rows with the
    largest coefficients. Each row keeps its weight. The models are not changed.

    Parameters
    ----------
    models : iterable of learners
        Fitted learners of one class, with the same features, classes, kernel and C. ``gamma`` must have the
        same value: "scale" is computed from the rows of each, so give a number.
    keep_ids : bool, default=False
        Whether rows keep their ids, for `forget`; ids must then differ between models. By default rows are
        numbered from 0, model by model.

    Returns
    -------
    object
        A new learner with the parameters of the first model; it continues like any other.

    Examples
    --------
    >>> from everlearn import LASVM, merge
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(600, random_state=0)
    >>> parts = [LASVM(C=10, gamma=1.0, random_state=0).fit(X[k::3], y[k::3]) for k in range(3)]
    >>> whole = merge(parts)
    >>> central = LASVM(C=10, gamma=1.0).fit(X, y)
    >>> bool(abs(whole.decision_function(X) - central.decision_function(X)).max() < 0.01)
    True
    """
    known = list(models)
    _check_alike(known)
    first = known[0]
    union = _union_of(known)
    if keep_ids:
        _check_distinct(union.ids)
    merged = clone(first)
    for name in ("classes_", "n_features_in_", "feature_names_in_"):
        if name in vars(first):
            setattr(merged, name, vars(first)[name])
    merged._learn_union(union)
    if keep_ids:
        rename_rows(merged, union.ids)
    merged._rows_seen = sum(model._rows_seen for model in known)
    merged._label_counts = np.sum([model._label_counts for model in known], axis=0)
    merged._sparse_input = any(model._sparse_input for model in known)
    return merged


def learn_rows(learner: Any, union: RowUnion, **parameters: Any) -> None:
    """Learn a union as `fit` learns rows; ``parameters`` hold meanwhile, where the learner has them."""
    with _parameters(learner, {"gamma": union.gamma, "C": 1.0, "class_weight": None} | parameters):
        rows = begin(learner, union)
        usable = np.flatnonzero(rows.costs > 0)
        learner._configure()
        learned = learner._pass_over(rows, usable, check_random_state(learner.random_state))
        learner._conclude(rows, learned)
    learner._configure()


def begin(learner: Any, union: RowUnion) -> LabeledRows:
    """Make a learner ready for the rows of a union, which are then numbered from 0."""
    learner._start(union.X, learner.classes_)
    rows: LabeledRows = learner._accept(union.X, union.labels, union.costs)
    learner._count(rows)
    return rows


@contextmanager
def problem_of(learner: Any, union: RowUnion) -> Iterator[None]:
    """Parameters with which the costs of a union are taken as they are."""
    with _parameters(learner, {"gamma": union.gamma, "C": 1.0, "class_weight": None}):
        yield


def stack_machines(learner: Any, union: RowUnion) -> None:
    """Put the coefficients and boxes of several machines into one; its gradients are up to date."""
    with problem_of(learner, union):
        begin(learner, union)
    machine = learner._machine
    learner._configure()
    native, states = machine.native.get_state(), union.states
    numbers = np.arange(len(native["bias"])) if len(native["bias"]) > 1 else np.array([1])
    signs = np.where(union.labels == numbers[:, np.newaxis], 1.0, -1.0)
    every = np.arange(len(union.labels))
    native |= {"ids": every, "labels": union.labels, "costs": union.costs}
    native["diagonal"] = np.concatenate([state["diagonal"] for state in states])
    for name in ("alpha", "edge", "member"):
        native[name] = np.concatenate([state[name] for state in states], axis=1)
    for name in ("outliers", "skipped", "capped", "class_costs", "class_rows", "iterations"):
        native[name] = sum(state[name] for state in states)
    if learner._foreign is not None:
        learner._foreign.add(union.X, every)
        values = learner._foreign.against(union.X, every)
        native |= {"kernel": values.astype(np.float32), "g": signs - native["alpha"] @ values}
    else:
        sums = np.zeros((len(every), len(numbers)))
        machine.native.add_kernel_sums(as_block(union.X), every, native["alpha"], every, sums)
        native |= machine._image(union.X) | {"g": signs - sums.T}
    learner._machine = Machine.from_state(machine.get_state() | {"native": native})
    learner._configure()


@contextmanager
def _parameters(learner: Any, wanted: dict[str, Any]) -> Iterator[None]:
    given = learner.get_params(deep=False)
    learner.set_params(**{name: value for name, value in wanted.items() if name in given})
    try:
        yield
    finally:
        learner.set_params(**{name: given[name] for name in wanted if name in given})


def _check_alike(models: list[Any]) -> None:
    """Refuse learners that do not have the same problem."""
    if not models:
        raise ValueError("merge needs at least one fitted learner, got none.")
    first = models[0]
    kind = type(first)
    for model in models:
        if not (isinstance(model, Estimator) and getattr(model, "_mergeable", False)):
            raise TypeError(
                f"merge cannot merge {type(model).__name__}. It merges LASVM, LASVMG, LASVMNC, LASVMI, "
                "FullSVM, OnlineSVMR, RampSVM, IDSVM, KernelPA, KernelPerceptron, NORMA and the perceptrons "
                "with a budget."
            )
        if type(model) is not kind:
            raise TypeError(
                f"merge needs learners of one class, got {kind.__name__} and {type(model).__name__}."
            )
        model._check_fitted()
        if model.kernel == "precomputed":
            raise ValueError("merge needs rows, and a model with kernel='precomputed' has none.")
        for what, ours, theirs in _differences(first, model):
            raise ValueError(
                f"merge needs models of one problem, and {what} differs: {ours!r} and {theirs!r}."
                + (_GAMMA_REMEDY if what == "gamma" else "")
            )


_GAMMA_REMEDY = ' "scale" is computed from the rows of each model: fit all with the same number as gamma.'


def _differences(first: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    """What makes two models of one class differ in their problem."""
    pairs: list[tuple[str, Any, Any]] = [
        ("the number of features", first.n_features_in_, other.n_features_in_),
        ("classes_", first.classes_.tolist(), other.classes_.tolist()),
        *((name, getattr(first, name, None), getattr(other, name, None)) for name in _OF_THE_PROBLEM),
        ("feature_names_in_", _names_of(first), _names_of(other)),
    ]
    if is_built_in(first.kernel):
        uses = (*first._machine.kernel.uses, *other._machine.kernel.uses)
        ours, theirs = first._machine.kernel, other._machine.kernel
        names_used = [name for name in ("degree", "coef0", "gamma") if name in uses]
        pairs += [(name, getattr(ours, name), getattr(theirs, name)) for name in names_used]
    yield from (pair for pair in pairs if pair[1] != pair[2])


def _names_of(model: Any) -> list[str] | None:
    return model.feature_names_in_.tolist() if hasattr(model, "feature_names_in_") else None


def _union_of(models: list[Any]) -> RowUnion:
    parts = [_rows_of(model) for model in models]
    rows = [part[0] for part in parts]
    X = (
        sparse.vstack([sparse.csr_matrix(part) for part in rows], format="csr")
        if any(map(sparse.issparse, rows))
        else np.vstack(rows)
    )
    labels, costs, ids = (np.concatenate([part[at] for part in parts]) for at in (1, 2, 3))
    gamma = float(models[0]._machine.kernel.gamma)
    return RowUnion(X, labels.astype(np.int32), costs, ids, gamma, [part[4] for part in parts])


def _rows_of(model: Any) -> tuple[Rows, Any, Any, Ints, dict[str, Any]]:
    """Rows, class numbers, costs and ids of all rows in memory, and the state that they are from."""
    machine = model._machine
    state = machine.native.get_state()
    slots = np.flatnonzero(state["ids"] != _NOBODY)
    if not model._svm:  # what a budget has dropped may linger
        slots = slots[np.isin(state["ids"][slots], machine.native.kept_ids)]
    state |= {name: np.ascontiguousarray(state[name][..., slots]) for name in _OF_SLOTS}
    X = machine.rows(slots) if model._foreign is None else model._foreign.rows_of(machine.native.ids)
    if X is None:
        X = np.zeros((0, model.n_features_in_))
    elif model._foreign is not None:
        X = X[slots]
    parts = [(X, state["labels"], state["costs"], state["ids"])]
    reserve = machine.native.reserve
    if len(reserve["ids"]):
        parts.append((machine.reserved_rows(), reserve["labels"], reserve["costs"], reserve["ids"]))
    stack = sparse.vstack if sparse.issparse(X) else np.vstack
    rows = stack([part[0] for part in parts]) if len(parts) > 1 else X
    labels, costs, ids = (np.concatenate([part[at] for part in parts]) for at in (1, 2, 3))
    return rows, labels, costs, ids, state


def _check_distinct(ids: Ints) -> None:
    names, counts = np.unique(ids, return_counts=True)
    if len(twice := names[counts > 1]):
        raise ValueError(
            f"keep_ids=True needs ids that differ between models, and {len(twice)} are in several, such as "
            f"{int(twice[0])}: pass ids to partial_fit, or leave keep_ids=False."
        )


def rename_rows(learner: Any, ids: Ints) -> None:
    """Give the rows of a learner, which are numbered from 0, these ids."""
    state = learner._machine.get_state()
    for part in (state["native"], state.get("reserve", {})):
        for name in ("ids", "entry_ids"):
            if name in part:
                part[name] = ids[part[name]]
    evaluations = learner._machine.native.evaluations
    learner._machine = Machine.from_state(state)
    learner._machine.native.evaluations = evaluations
    learner._configure()
    if learner._foreign is not None:
        learner._foreign.ids = ids[learner._foreign.ids]
