"""Voters, the trained experts: an SVM of the last labeled rows, and a baseline.

All voters have the same methods: `update` learns new rows, `follow` adapts to the stored rows after some were
forgotten, and `probabilities` predicts. A voter is a function of the rows in its window, so a forgotten row
has no influence on it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._base import checked
from .._base.kernels import KERNELS, RBF, kernel_named
from .._base.layout import choose_center, choose_layout
from .._base.machine import Expansion, Machine
from .._base.validate import Rows, as_block
from .experts import Expert

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_TEMPERATURE = 2.0  # factor from decision values to the logits of a vote
_ABSENT = -5.0  # decision value of a class that is not in the window of a voter
_TAU = 1e-2  # tolerance of the SVMs: votes are soft, and a smaller tolerance only costs time
_ROUNDS = 2
# Limit on the optimization steps per call, and additional steps per row. For outlying rows the rounding
# errors of the linear kernel exceed the tolerance. Other rows needed at most a third of these steps.
_MAX_STEPS, _STEPS_PER_ROW = 5000, 50
_MAX_CACHE_BYTES = 200 << 20  # per SVM, as in SVC; the default max_rows needs a tenth
_FADING = 0.9  # fading factor of labels in the no-change baseline
_SMOOTHING = 0.5
_MIN_SCALE = float(np.finfo(np.float64).smallest_subnormal)


@dataclass(frozen=True)
class LearningSet:
    """Labeled rows for the experts, oldest first; ``rows`` returns the scaled features at given positions."""

    rows: Callable[[Any], Rows]
    labels: npt.NDArray[np.int32]
    costs: Floats
    ids: Ints

    def last(self, window: int | None) -> slice:
        """The positions of the rows in a window of the last rows."""
        return slice(0 if window is None else max(0, len(self.ids) - window), len(self.ids))

    def with_rows(self, X: Rows) -> "LearningSet":
        """The same rows with precomputed features."""
        return LearningSet.of(X, self.labels, self.costs, self.ids)

    @staticmethod
    def of(X: Rows, labels: npt.NDArray[np.int32], costs: Floats, ids: Ints) -> "LearningSet":
        """Rows with precomputed scaled features."""
        return LearningSet(lambda places: X[places], labels, costs, ids)


@dataclass(frozen=True)
class Scale:
    """Values that depend on the features only: gamma="scale", mean squared length, layout and center."""

    gamma: float
    length: float
    layout: str
    center: Floats

    @classmethod
    def of(cls, X: Rows) -> "Scale":
        """The scale of some rows."""
        n = max(1, X.shape[0])
        if sparse.issparse(X):
            mean = np.asarray(X.mean(axis=0)).ravel()
            squares = float(X.multiply(X).sum()) / n
            spread, least = max(squares - float(mean @ mean), 0.0), 1e-12 * squares
        else:
            squares = float(np.square(X).sum()) / n
            spread, least = (float(X.var(axis=0).sum()) if X.shape[0] else 0.0), 1e-24 * squares
        if not spread > least:  # all rows are equal, up to rounding errors
            spread = squares if squares > 0 else 1.0
        center = choose_center(RBF, X, has_bias=False) if not sparse.issparse(X) else np.zeros(0)
        return cls(1.0 / spread, spread, choose_layout(X), center)

    def regularization(self, expert: Expert) -> float:
        """C of the SVM: C of the expert divided by K(x, x) of a row with the mean squared length."""
        return expert.C / float(kernel_named(expert.kernel).diagonal(np.array([self.length]))[0])

    @classmethod
    def from_state(cls, parts: list[Any], width: int) -> "Scale":
        """Restore a scale from a state, checked against the number of features."""
        gamma, length = (checked.number("scale", part, least=_MIN_SCALE) for part in parts[:2])
        layout = checked.word("layout", parts[2], ("dense", "sparse"))
        center = checked.floats("center", parts[3], (None,))
        if len(center) not in (0, width):
            raise ValueError(f"center must be empty or have {width} values, got {len(center)}")
        return cls(gamma, length, layout, center)


class VoterParts(NamedTuple):
    """The function that a voter computes, as data: ``probabilities`` or ``logits``, or neither if unknown.

    ``probabilities`` are the same for every row. ``logits`` are the arguments of a softmax, one column per
    class; for two classes one column f means (-f, f). ``ids`` are the ids of the rows of the expansion.
    Features are multiplied by ``factors`` first, unless it is None.
    """

    probabilities: Floats | None = None
    logits: Expansion | None = None
    ids: Ints = np.zeros(0, dtype=np.int64)
    factors: Floats | None = None


def softmax(logits: Floats) -> Floats:
    """Softmax of each row."""
    if logits.shape[1] == 2:  # the same values: NumPy is slow along a short axis
        first, second = logits.T
        shifted = np.exp(logits - np.maximum(first, second)[:, np.newaxis])
        return np.asarray(shifted / (shifted[:, 0] + shifted[:, 1])[:, np.newaxis])
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def smoothed(counts: Ints, n_rows: int) -> Floats:
    """Smoothed class frequencies, repeated for each row."""
    frequencies = (counts + _SMOOTHING) / (counts.sum() + _SMOOTHING * len(counts))
    return np.broadcast_to(frequencies, (n_rows, len(counts))).copy()


def undecided(n_classes: int, n_rows: int) -> Floats:
    """Uniform probabilities, for SVMs with one class in the window: they must not win in long runs of it."""
    return np.full((n_rows, n_classes), 1.0 / n_classes)


class SvmVoter:
    """The SVM of the rows in its window, solved to a tolerance.

    It is a LASVM that drops no rows: all rows of the window stay in the native machine, which is optimized
    after each change. So it depends on the rows of the window only, not on the order of changes.
    """

    def __init__(self, expert: Expert, n_classes: int, scale: Scale, n_features: int) -> None:
        self.expert, self.n_classes = expert, n_classes
        self.start(scale, n_features)

    def start(self, scale: Scale, n_features: int) -> None:
        """Start without rows, on a given scale."""
        expert, n_classes = self.expert, self.n_classes
        kernel = KERNELS[expert.kernel]
        self.C = scale.regularization(expert)
        shifted = scale.layout == "dense" and (kernel.shift_invariant or kernel.is_linear)
        spec = {
            "kernel": expert.kernel,
            "gamma": scale.gamma * expert.gamma,
            "coef0": 0.0,
            "degree": 3,
            "layout": scale.layout,
            "precision": "float64",
            "width": n_features,
            "classes": n_classes,
            "center": scale.center if shifted else np.zeros(0),
        }
        self._begin(Machine("lasvm", spec))

    def _begin(self, machine: Machine) -> None:
        self.machine, self._room = machine, 0
        self._make_room(machine.native.size)

    def _make_room(self, n_rows: int) -> None:
        """Make the cache large enough for all kernel values of the rows, up to a limit."""
        if n_rows >= self._room:
            self._room = 2 * n_rows + 1000
            cache_bytes = min(4 * self._room**2, _MAX_CACHE_BYTES)
            self.machine.configure(
                cache_bytes, 1, {"tau": _TAU, "delta_max": -1.0, "keep_idle": True, "reserve": 0}
            )

    @property
    def window(self) -> int | None:
        """Number of most recent rows it learns from; None for all."""
        return self.expert.window

    def update(self, new: LearningSet, kept: LearningSet) -> None:
        """Learn the new rows in the window, and forget the rows that left it."""
        window = kept.ids[kept.last(self.window)]
        at = slice(max(0, len(new.ids) - len(window)), len(new.ids))
        self._learn(new, at)
        self._keep(window)

    def follow(self, kept: LearningSet) -> None:
        """Become the SVM of the last stored rows, as if there had been no others."""
        self.hold(kept)

    def hold(self, kept: LearningSet) -> None:
        """Hold exactly the last stored rows: forgotten rows leave, older rows come back."""
        window = kept.last(self.window)
        missing = np.flatnonzero(~np.isin(kept.ids[window], self.holds())) + window.start
        if len(missing):
            self._learn(kept, missing)
        self._keep(kept.ids[window])

    def _learn(self, rows: LearningSet, at: Any) -> None:
        ids = rows.ids[at]
        block, which = self._block(rows.rows(at)), np.arange(len(ids), dtype=np.int64)
        self._make_room(self.machine.native.size + len(ids))
        self.machine.native.learn(block, rows.labels[at], self.C * rows.costs[at], ids, which)

    def _block(self, X: Rows) -> Any:
        """Rows as a block for the core."""
        return as_block(X)

    def _keep(self, ids: Ints) -> None:
        """Forget all rows but these, and optimize."""
        native = self.machine.native
        held = native.ids
        if len(held) > len(ids):
            gone = held[~np.isin(held, ids)]
            native.forget(np.asarray(gone, dtype=np.int64))
        last = native.steps + _MAX_STEPS + _STEPS_PER_ROW * len(ids)
        while not native.finish(_ROUNDS) and native.steps < last:
            pass

    def holds(self) -> Ints:
        """Ids of its rows."""
        return np.asarray(self.machine.native.ids)

    def probabilities(self, X: Rows) -> Floats:
        """Class probabilities: softmax of the decision values."""
        counts = self._counts()
        if np.count_nonzero(counts) < 2:
            return undecided(self.n_classes, X.shape[0])
        scores = self.machine.native.decide(as_block(X), 1)
        if self.n_classes == 2:
            scores = np.hstack([-scores, scores])
        else:
            scores[:, counts == 0] = _ABSENT
        return softmax(_TEMPERATURE * scores)

    def parts(self) -> VoterParts:
        """`probabilities` as data."""
        counts = self._counts()
        if np.count_nonzero(counts) < 2:
            return VoterParts(probabilities=undecided(self.n_classes, 1)[0])
        support = self.machine.support()
        found = self.machine.expansion(support)
        weights, bias = _TEMPERATURE * found.weights, _TEMPERATURE * found.bias
        if self.n_classes > 2:
            weights[:, counts == 0], bias[counts == 0] = 0.0, _TEMPERATURE * _ABSENT
        return VoterParts(logits=found._replace(weights=weights, bias=bias), ids=self.holds()[support])

    def _counts(self) -> Ints:
        return np.bincount(self.machine.native.labels, minlength=self.n_classes)

    def state(self) -> dict[str, Any]:
        """The state for `restore`."""
        return {"machine": self.machine.get_state(), "C": self.C}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a state."""
        self.C = checked.number("C", state["C"], least=_MIN_SCALE)
        machine = Machine.from_state(checked.table("machine", state["machine"]))
        own, fixed = self.machine, ("kernel", "width", "classes", "precision")
        if machine.solver != own.solver or any(machine.spec[name] != own.spec[name] for name in fixed):
            raise ValueError("the machine of an expert does not match the rows or the kernel of the expert")
        self._begin(machine)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin(self.machine)  # a copy of a machine does not keep its cache size


class NoChangeVoter:
    """Baseline: class frequencies of the most recent labels, which fade with every new label."""

    window: int | None = None

    def __init__(self, n_classes: int) -> None:
        self.recent = np.zeros(n_classes)

    def update(self, new: LearningSet, kept: LearningSet) -> None:
        """Count new labels."""
        recent = self.recent.copy()
        for label in new.labels.tolist():
            recent *= _FADING
            recent[label] += 1.0
        self.recent = recent

    def follow(self, kept: LearningSet) -> None:
        """Count again from the stored labels."""
        self.recent = np.zeros(len(self.recent))
        self.update(kept, kept)

    def probabilities(self, X: Rows) -> Floats:
        """The recent class frequencies, for every row."""
        return np.broadcast_to(self._frequencies(), (X.shape[0], len(self.recent))).copy()

    def parts(self) -> VoterParts:
        """`probabilities` as data."""
        return VoterParts(probabilities=self._frequencies())

    def _frequencies(self) -> Floats:
        smooth = self.recent + 1e-3
        return np.asarray(smooth / smooth.sum())

    def state(self) -> dict[str, Any]:
        """The state for `restore`."""
        return {"recent": self.recent.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a state."""
        self.recent = checked.floats("recent", state["recent"], self.recent.shape, least=0.0).copy()
