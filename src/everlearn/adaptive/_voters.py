"""The experts at work: an SVM over the last labeled rows, and a baseline.

Every voter answers the same three calls: `update` by the newest rows, `follow` the rows kept after some have
been forgotten, and `probabilities` of rows. A voter is a function of the rows in its window, so that a row
that is forgotten leaves it.
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

_TEMPERATURE = 2.0  # decision values times this are the logits of a vote
_ABSENT = -5.0  # decision value of a class that is not in a voter's window
_TAU = 1e-2  # how exactly an SVM is solved: votes are soft, and a smaller one only costs time
_ROUNDS = 2
# Steps after which solving stops for now, and this many more for each row: for rows far from all others the
# rounding errors of the linear kernel are above the tolerance. Other rows needed a third of that at most.
_MOST_STEPS, _STEPS_PER_ROW = 5000, 50
_MOST_CACHE_BYTES = 200 << 20  # for each SVM, as in SVC; rows kept by default need a tenth
_FADING = 0.9  # of a label for the no-change baseline
_SMOOTHING = 0.5
_LEAST_SCALE = float(np.finfo(np.float64).smallest_subnormal)


@dataclass(frozen=True)
class LearningSet:
    """Labeled rows as experts see them, the oldest first; ``rows`` returns the scaled features at places."""

    rows: Callable[[Any], Rows]
    labels: npt.NDArray[np.int32]
    costs: Floats
    ids: Ints

    def last(self, window: int | None) -> slice:
        """The places of the last rows, as many as a window has."""
        return slice(0 if window is None else max(0, len(self.ids) - window), len(self.ids))

    def with_rows(self, X: Rows) -> "LearningSet":
        """The same with features that have been computed."""
        return LearningSet.of(X, self.labels, self.costs, self.ids)

    @staticmethod
    def of(X: Rows, labels: npt.NDArray[np.int32], costs: Floats, ids: Ints) -> "LearningSet":
        """Rows whose scaled features are at hand."""
        return LearningSet(lambda places: X[places], labels, costs, ids)


@dataclass(frozen=True)
class Scale:
    """What depends on features alone: gamma="scale", the mean of squared lengths, layout and center."""

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
        if not spread > least:  # rounding errors around rows that are all the same
            spread = squares if squares > 0 else 1.0
        center = choose_center(RBF, X, has_bias=False) if not sparse.issparse(X) else np.zeros(0)
        return cls(1.0 / spread, spread, choose_layout(X), center)

    def regularization(self, expert: Expert) -> float:
        """C of an expert's SVM: that of the expert divided by K(x, x) of a row of the mean squared length."""
        return expert.C / float(kernel_named(expert.kernel).diagonal(np.array([self.length]))[0])

    @classmethod
    def from_state(cls, parts: list[Any], width: int) -> "Scale":
        """The scale of a file, for so many features."""
        gamma, length = (checked.number("scale", part, least=_LEAST_SCALE) for part in parts[:2])
        layout = checked.word("layout", parts[2], ("dense", "sparse"))
        center = checked.floats("center", parts[3], (None,))
        if len(center) not in (0, width):
            raise ValueError(f"center must be empty or have {width} values, got {len(center)}")
        return cls(gamma, length, layout, center)


class VoterParts(NamedTuple):
    """What a voter computes, as data: one of the first two, or neither if it is unknown.

    ``probabilities`` are the same for every row. ``logits`` are those of a softmax, one column per class; for
    two classes one column f means (-f, f). The rows of the expansion have the ``ids``. Features are
    multiplied by ``factors`` first, if there are any.
    """

    probabilities: Floats | None = None
    logits: Expansion | None = None
    ids: Ints = np.zeros(0, dtype=np.int64)
    factors: Floats | None = None


def softmax(logits: Floats) -> Floats:
    """Rows of probabilities from rows of logits."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def smoothed(counts: Ints, n_rows: int) -> Floats:
    """The class frequencies of a window, for each of so many rows."""
    shares = (counts + _SMOOTHING) / (counts.sum() + _SMOOTHING * len(counts))
    return np.broadcast_to(shares, (n_rows, len(counts))).copy()


def undecided(n_classes: int, n_rows: int) -> Floats:
    """What an SVM says that has one class in its window: it must not win the vote in long runs of a class."""
    return np.full((n_rows, n_classes), 1.0 / n_classes)


class SvmVoter:
    """The exact SVM, to a tolerance, of the rows in its window.

    It is LASVM that drops no row: every row of the window stays in the native machine, and after each change
    the machine is brought to its optimum. So it is the SVM of the window whatever the way that led there.
    """

    def __init__(self, expert: Expert, n_classes: int, scale: Scale, n_features: int) -> None:
        self.expert, self.n_classes = expert, n_classes
        self.start(scale, n_features)

    def start(self, scale: Scale, n_features: int) -> None:
        """Begin with no rows, on a scale."""
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
        """Let the cache hold all kernel values of so many rows, up to a limit."""
        if n_rows >= self._room:
            self._room = 2 * n_rows + 1000
            cache_bytes = min(4 * self._room**2, _MOST_CACHE_BYTES)
            self.machine.configure(cache_bytes, 1, {"tau": _TAU, "delta_max": -1.0, "keep_idle": True})

    @property
    def window(self) -> int | None:
        """How many rows it looks back on."""
        return self.expert.window

    def update(self, new: LearningSet, kept: LearningSet) -> None:
        """Learn the new rows that are in the window, and forget those that have left it."""
        window = kept.ids[kept.last(self.window)]
        at = slice(max(0, len(new.ids) - len(window)), len(new.ids))
        self._learn(new, at)
        self._keep(window)

    def follow(self, kept: LearningSet) -> None:
        """Be the SVM of the last of the rows kept, as if no others had come."""
        self.hold(kept)

    def hold(self, kept: LearningSet) -> None:
        """Hold the last of the rows kept and no others: forgotten ones go, older ones come back."""
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
        """Rows for the core."""
        return as_block(X)

    def _keep(self, ids: Ints) -> None:
        """Forget all rows but these, which it holds, and solve for those that are left."""
        native = self.machine.native
        held = native.ids
        if len(held) > len(ids):
            gone = held[~np.isin(held, ids)]
            native.forget(np.asarray(gone, dtype=np.int64))
        last = native.steps + _MOST_STEPS + _STEPS_PER_ROW * len(ids)
        while not native.finish(_ROUNDS) and native.steps < last:
            pass

    def holds(self) -> Ints:
        """The ids of its rows."""
        return np.asarray(self.machine.native.ids)

    def probabilities(self, X: Rows) -> Floats:
        """What it says of rows: decision values as logits."""
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
        """What `probabilities` computes."""
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
        """What `restore` takes."""
        return {"machine": self.machine.get_state(), "C": self.C}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where another one stood."""
        self.C = checked.number("C", state["C"], least=_LEAST_SCALE)
        machine = Machine.from_state(checked.table("machine", state["machine"]))
        own, fixed = self.machine, ("kernel", "width", "classes", "precision")
        if machine.solver != own.solver or any(machine.spec[name] != own.spec[name] for name in fixed):
            raise ValueError("the machine of an expert was built for other rows")
        self._begin(machine)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin(self.machine)  # a copied machine has lost the size of its cache


class NoChangeVoter:
    """The classes of the most recent labels: each label fades by a factor with every one that follows."""

    window: int | None = None

    def __init__(self, n_classes: int) -> None:
        self.recent = np.zeros(n_classes)

    def update(self, new: LearningSet, kept: LearningSet) -> None:
        """Take note of new labels."""
        recent = self.recent.copy()
        for label in new.labels.tolist():
            recent *= _FADING
            recent[label] += 1.0
        self.recent = recent

    def follow(self, kept: LearningSet) -> None:
        """Start over from the labels kept."""
        self.recent = np.zeros(len(self.recent))
        self.update(kept, kept)

    def probabilities(self, X: Rows) -> Floats:
        """The recent frequencies, for every row."""
        return np.broadcast_to(self._shares(), (X.shape[0], len(self.recent))).copy()

    def parts(self) -> VoterParts:
        """What `probabilities` computes."""
        return VoterParts(probabilities=self._shares())

    def _shares(self) -> Floats:
        shares = self.recent + 1e-3
        return np.asarray(shares / shares.sum())

    def state(self) -> dict[str, Any]:
        """What `restore` takes."""
        return {"recent": self.recent.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where another one stood."""
        self.recent = checked.floats("recent", state["recent"], self.recent.shape, least=0.0).copy()
