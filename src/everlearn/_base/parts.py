"""Rows of one fit that lie in several places: what is known about each part, and what all parts must share.

Each part is described by `describe_part`. `plan_of` combines the descriptions into what a fit of all rows
would have chosen: classes, costs, the value of gamma, the layout and the center of rows. `prepare_part` then
turns a part into rows for the core, `chunks_of` divides them, and `candidates` finds rows of the first chunk
that may become support vectors.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from .exact import COARSE_TOL
from .kernels import is_built_in, resolve_gamma
from .layout import FIRST_ROWS
from .learner import LabeledRows
from .machine import Machine
from .validate import (
    Array,
    Ints,
    Rows,
    check_rows_and_labels,
    encode_labels,
    label_column,
    missing_labels,
    row_weights,
)

Floats = npt.NDArray[np.float64]

# Rows of each class that a part with one class sends, where no local model can choose.
_SAMPLE = 200
_SEEDS_PER_CLASS = 5
# The first chunk of a part is this fraction of its rows, but not fewer rows than this; later chunks double
# what was there. With all rows in the first chunk, local models find too many rows that all parts together
# have no use for, and miss others: an eighth takes a fifth less time on covtype and a9a, though no less on
# ijcnn1. With a few thousand rows, chunks may need more kernel values than they save.
_FIRST_FRACTION = 1 / 8
_FIRST_ROWS = 1000


@dataclass
class Part:
    """Validated rows of one part, their labels and weights."""

    X: Rows
    y: Array
    weights: Floats
    names: list[str] | None = None  # of the features
    numbers: Ints | None = None  # of the rows among all, where they were moved


@dataclass
class PartFacts:
    """What the fit of all parts has to know of one."""

    rows: int
    features: int
    dtype: str
    is_sparse: bool
    names: list[str] | None
    labels: list[Any]  # those that occur, in order
    counts: list[int]  # of each, with a weight above 0
    moments: tuple[int, float, float]  # entries, their mean, and the sum of squared differences from it


@dataclass
class Plan:
    """What all parts share."""

    learner: Any  # not fitted
    classes: Array
    spec: dict[str, Any]  # of the native machine
    class_weights: Floats | None
    counts: Ints
    features: int
    names: list[str] | None
    is_sparse: bool
    first: list[int] = field(default_factory=list)  # the number of the first row of each part
    rows: int = 0

    def moved(self, sizes: Sequence[int]) -> "Plan":
        """The plan after rows were moved: parts have other sizes now."""
        return replace(self, first=np.cumsum([0, *sizes])[:-1].tolist())

    @property
    def n_chunks(self) -> int:
        """The number of chunks of the largest part."""
        return max(len(_chunk_ends(end - begin)) for begin, end in pairwise([*self.first, self.rows]))

    def of_class(self, number: int) -> "Plan":
        """The plan of one class against the rest; costs have the weights of the classes already."""
        learner = clone(self.learner).set_params(class_weight=None)
        rows = np.array([self.counts.sum() - self.counts[number], self.counts[number]])
        spec, classes = self.spec | {"classes": 2}, np.array([0, 1])
        return replace(self, learner=learner, classes=classes, spec=spec, class_weights=None, counts=rows)

    def machine(self) -> Machine:
        """An empty machine under this plan."""
        fresh = self.begin()
        machine: Machine = fresh._machine
        return machine

    def begin(self) -> Any:
        """A learner that is ready for rows."""
        learner = clone(self.learner)
        learner.classes_ = self.classes
        learner.n_features_in_ = self.features
        if self.names is not None:
            learner.feature_names_in_ = np.array(self.names, dtype=object)
        learner._rows_seen, learner._label_counts = 0, np.zeros(len(self.classes), dtype=np.int64)
        learner._sparse_input, learner._foreign = self.is_sparse, None
        learner._machine = Machine(learner._solver, self.spec)
        learner._configure()
        return learner


def validate_part(learner: Any, X: Any, y: Any, sample_weight: Any = None) -> Part:
    """Validate the rows of one part, as `fit` does; a part may be empty."""
    judge = clone(learner)
    if len(y) == 0:
        width = int(np.shape(X)[1]) if len(np.shape(X)) == 2 else 0
        return Part(np.zeros((0, width)), np.asarray(y), np.zeros(0))
    if (missing := missing_labels(label_column(y))).any():
        raise ValueError(f"y has no label in {int(missing.sum())} rows, such as row {int(missing.argmax())}.")
    X, y = check_rows_and_labels(judge, X, y, reset=True)
    check_classification_targets(y)
    names = getattr(judge, "feature_names_in_", None)
    # A part may have no row with a weight above 0; all parts together have.
    weights = row_weights(sample_weight, X, all_zero=True)
    return Part(X, y, weights, None if names is None else names.tolist())


def describe_part(part: Part) -> PartFacts:
    """Describe a part."""
    labels, places = np.unique(part.y, return_inverse=True)
    counts = np.bincount(places[part.weights > 0], minlength=len(labels))
    stored = part.X.data if sparse.issparse(part.X) else part.X
    entries = part.X.shape[0] * part.X.shape[1]
    values = stored[stored != 0].astype(np.float64)
    mean = float(values.sum() / entries) if entries else 0.0
    squares = float(np.square(values - mean).sum() + (entries - len(values)) * mean**2)
    return PartFacts(
        rows=part.X.shape[0],
        features=part.X.shape[1],
        dtype=part.X.dtype.name,
        is_sparse=sparse.issparse(part.X),
        names=part.names,
        labels=labels.tolist(),
        counts=counts.tolist(),
        moments=(entries, mean, squares),
    )


def head_of(part: Part, most: int) -> Rows:
    """The first rows of a part."""
    return part.X[:most]


def heads_needed(facts: Sequence[PartFacts]) -> dict[int, int]:
    """The parts whose first rows show what rows are like, and how many of them."""
    needed, left = {}, FIRST_ROWS
    for number, fact in enumerate(facts):
        if fact.rows and left > 0:
            needed[number] = min(left, fact.rows)
            left -= fact.rows
    return needed


def _form_of(fact: PartFacts) -> tuple[str, str, str]:
    """What must be the same in all parts, in words."""
    return (
        f"{fact.features} columns",
        f"the columns {fact.names}" if fact.names else "columns without names",
        "sparse rows" if fact.is_sparse else "dense rows",
    )


def plan_of(learner: Any, facts: Sequence[PartFacts], heads: Sequence[Rows]) -> Plan:
    """Combine the descriptions of all parts; a `ValueError` if they do not fit together.

    Parameters
    ----------
    learner : LASVM
        The learner, not fitted.
    facts : sequence of PartFacts
        One for each part, in their order.
    heads : sequence of ndarray or CSR matrix
        The rows that `heads_needed` asked for.
    """
    if not is_built_in(learner.kernel):
        raise ValueError(
            f"Rows in several places need a built-in kernel, got {learner.kernel!r}: a callable and "
            '"precomputed" are only known here.'
        )
    filled = [fact for fact in facts if fact.rows]
    if not filled:
        raise ValueError("There are no rows: all partitions are empty.")
    first = filled[0]
    for number, fact in enumerate(facts):
        differ = [pair for pair in zip(_form_of(fact), _form_of(first), strict=True) if pair[0] != pair[1]]
        if fact.rows and differ:
            raise ValueError(
                f"All partitions must have the same columns: partition {number} has {differ[0][0]}, the "
                f"first one {differ[0][1]}."
            )
    classes = np.unique(np.array([label for fact in filled for label in fact.labels]))
    counts = np.zeros(len(classes), dtype=np.int64)
    for fact in filled:
        np.add.at(counts, np.searchsorted(classes, np.array(fact.labels)), np.array(fact.counts))
    if len(classes) < 2 or np.count_nonzero(counts) < 2:
        raise ValueError(
            f"fit needs rows of two classes or more with a weight above 0, got {classes.tolist()!r}."
        )
    dtype = np.result_type(*(fact.dtype for fact in filled))
    head = (sparse.vstack(heads, format="csr") if first.is_sparse else np.vstack(heads)).astype(dtype)
    fresh = clone(learner).set_params(gamma=_gamma(learner.gamma, filled, head))
    fresh._start(head, classes)
    weights = fresh._class_weights(counts)
    return Plan(
        learner=clone(learner),
        classes=classes,
        spec=dict(fresh._machine.spec),
        class_weights=weights,
        counts=counts,
        features=first.features,
        names=first.names,
        is_sparse=first.is_sparse,
        first=np.cumsum([0, *(fact.rows for fact in facts)])[:-1].tolist(),
        rows=sum(fact.rows for fact in facts),
    )


def _gamma(gamma: Any, facts: Sequence[PartFacts], head: Rows) -> float:
    """The value of gamma for all rows."""
    if gamma != "scale":
        return resolve_gamma(gamma, head)
    entries, mean, squares = 0, 0.0, 0.0
    for count, its_mean, its_squares in (fact.moments for fact in facts):
        whole = entries + count
        squares += its_squares + (its_mean - mean) ** 2 * entries * count / whole
        mean += (its_mean - mean) * count / whole
        entries = whole
    variance = squares / entries
    return 1.0 / (facts[0].features * variance) if variance > 0 else 1.0


def prepare_part(part: Part, plan: Plan) -> LabeledRows:
    """Turn a part into rows for the core, numbered from 0."""
    if len(part.y) == 0:
        nothing = np.zeros(0, dtype=np.int64)
        empty = np.zeros((0, plan.features))
        rows = sparse.csr_matrix(empty) if plan.is_sparse else empty
        return LabeledRows(rows, nothing.astype(np.int32), np.zeros(0), nothing)
    learner = plan.begin()
    labels = encode_labels(part.y, plan.classes)
    weights = part.weights if plan.class_weights is None else part.weights * plan.class_weights[labels]
    learner._machine.check_range(part.X)
    costs = float(learner.C) * weights
    return LabeledRows(part.X, labels, costs, np.arange(len(labels), dtype=np.int64))


def rows_of_class(rows: LabeledRows, number: int) -> LabeledRows:
    """Rows with the label 1 for one class, and 0 for the rest."""
    return LabeledRows(rows.X, (rows.labels == number).astype(np.int32), rows.costs, rows.ids)


def _chunk_ends(rows: int) -> list[int]:
    """Where each chunk of this many rows ends."""
    ends = [min(rows, max(_FIRST_ROWS, int(np.ceil(_FIRST_FRACTION * rows))))]
    while ends[-1] < rows:
        ends.append(min(rows, 2 * ends[-1]))
    return ends


def chunks_of(rows: LabeledRows, plan: Plan, random: np.random.RandomState) -> list[Ints]:
    """Divide the rows of a part with a cost into chunks at random; in the first are some of every class."""
    order = random.permutation(len(rows.labels)).astype(np.int64)
    usable = rows.costs[order] > 0
    of_class = [np.flatnonzero(usable & (rows.labels[order] == k)) for k in range(len(plan.classes))]
    seeds = np.concatenate([places[:_SEEDS_PER_CLASS] for places in of_class])
    order = np.concatenate([order[seeds], np.delete(order, seeds)])
    chunks = np.split(order, _chunk_ends(len(order))[:-1])
    return [chunk[rows.costs[chunk] > 0] for chunk in chunks]


def candidates(rows: LabeledRows, plan: Plan, chunk: Ints, random: np.random.RandomState) -> tuple[Ints, int]:
    """Find rows of a chunk that may be support vectors of all rows: those of a local, coarse model.

    Returns
    -------
    tuple
        Their numbers in the part, in order, and the number of kernel values computed.
    """
    if len(np.unique(rows.labels[chunk])) < 2:
        return np.sort(chunk[:_SAMPLE]), 0
    learner = plan.begin()
    learner._machine.seed(random)
    learn_coarsely(learner, rows, chunk)
    native = learner._machine.native
    return np.sort(native.ids[learner._machine.support()]), int(native.evaluations)


def local_model(rows: LabeledRows, plan: Plan, seed: int) -> Any:
    """The SVM of one part alone; the number of the class if it has only one, and None without rows."""
    usable = np.flatnonzero(rows.costs > 0)
    present = np.unique(rows.labels[usable])
    if len(present) < 2:
        return int(present[0]) if len(present) else None
    learner = plan.begin()
    learner._conclude(rows, learner._pass_over(rows, usable, check_random_state(seed)))
    return learner


def learn_coarsely(learner: Any, rows: LabeledRows, order: Ints) -> None:
    """Learn rows in chunks, to the coarse tolerance of chunks."""
    of_class = [np.flatnonzero(rows.labels[order] == number) for number in range(len(learner.classes_))]
    seeds = np.sort(np.concatenate([places[:_SEEDS_PER_CLASS] for places in of_class]))
    learner._learn_in_chunks(rows, order, seeds)
    with learner._machine.changed(tau=max(learner.tol, COARSE_TOL)):
        learner._optimize(learner._machine.native.finish, "optimizing")
