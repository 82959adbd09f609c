"""Selection of experts in `fit`, by leave-one-out or cross-validation."""

import warnings
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import StratifiedKFold

from .._base.validate import Rows
from ..errors import CoreError
from ..svm import IDSVM
from ._committee import Committee
from ._voters import Floats, LearningSet, Scale, softmax
from .experts import DEFAULT, GRID, NO_CHANGE, Expert

Codes = npt.NDArray[np.int32]

_N_BEST = 3  # experts that are kept
_EXACT_ROWS = 300  # up to this many rows, experts are compared by exact leave-one-out
_MAX_ROWS = 2000  # otherwise by cross-validation, on at most this many random rows
_FOLDS = 3
_DEFAULT_LOSS = 0.5  # of experts with a short window, which cannot be evaluated without time order


@dataclass(frozen=True)
class Chosen:
    """Experts with their losses, and the out-of-sample votes of the best of them."""

    experts: tuple[Expert, ...]
    losses: Floats
    given: Floats
    labels: Codes


def choose(
    experts: tuple[Expert, ...] | None,
    kept: LearningSet,
    n_classes: int,
    random: np.random.RandomState,
    seed: int,
) -> Chosen:
    """Compare experts by leave-one-out or cross-validation.

    If ``experts`` is None, the experts of the grid are compared. The best three are kept, followed by the
    default experts with short windows, in case a stream follows. Given experts are all kept.
    """
    tried = GRID if experts is None else experts
    rows = np.arange(len(kept.ids))
    if len(rows) > _MAX_ROWS:
        rows = np.sort(random.permutation(len(rows))[:_MAX_ROWS])
    X, labels, costs = kept.rows(rows), kept.labels[rows], kept.costs[rows]
    given = np.stack([_left_out(expert, X, labels, costs, n_classes, seed) for expert in tried])
    right = given[:, np.arange(len(labels)), labels]
    errors = np.mean(given.argmax(axis=2) != labels, axis=1) + 0.1 * np.mean(1.0 - right, axis=1)
    losses = np.mean(1.0 - right, axis=1)
    order = np.argsort(errors, kind="stable")[:_N_BEST]
    if experts is None:
        short = tuple(expert for expert in DEFAULT if expert.window is not None or expert.kernel == NO_CHANGE)
        experts = (*(tried[place] for place in order.tolist()), *short)
        best = errors[order] - errors[order[0]]
        losses = np.concatenate([best, np.full(len(short), _DEFAULT_LOSS)])
    pooled = given[order].mean(axis=0)
    return Chosen(experts, losses, pooled, labels)


def _left_out(expert: Expert, X: Rows, labels: Codes, costs: Floats, n_classes: int, seed: int) -> Floats:
    """Out-of-sample probabilities of an expert."""
    scale = Scale.of(X)
    is_plain_svm = (
        expert.estimator is None
        and expert.kernel != NO_CHANGE
        and expert.window is None
        and not expert.relevance
    )
    if is_plain_svm and len(labels) <= _EXACT_ROWS:
        with suppress(CoreError):  # rounding errors on nearly dependent rows: use folds instead
            return _exact(expert, X, labels, costs, n_classes, scale)
    out = np.full((len(labels), n_classes), 1.0 / n_classes)
    most = int(np.bincount(labels).max())
    if most < 2:
        return out
    folds = StratifiedKFold(min(_FOLDS, most), shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about classes with fewer rows than folds
        parts = list(folds.split(np.zeros(len(labels)), labels))
    for learn, test in parts:
        committee = Committee((expert,), n_classes, seed)
        rows = LearningSet.of(X[learn], labels[learn], costs[learn], learn.astype(np.int64))
        committee.rebuild(rows, scale)
        out[test] = committee.given(X[test])[0]
    return out


def _exact(expert: Expert, X: Rows, labels: Codes, costs: Floats, n_classes: int, scale: Scale) -> Floats:
    """Out-of-sample probabilities by exact leave-one-out."""
    machine = IDSVM(C=scale.regularization(expert), kernel=expert.kernel, gamma=scale.gamma * expert.gamma)
    found = machine.fit(X, labels, sample_weight=costs).leave_one_out()
    scores = np.asarray(found.scores, dtype=np.float64)
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    out = np.full((len(labels), n_classes), 1e-6)
    out[np.ix_(np.asarray(found.ids), machine.classes_)] = softmax(2.0 * scores)
    return out
