"""AdaptiveConformal: prediction sets that keep their coverage under concept drift.

I. Gibbs, E. Candès, "Adaptive conformal inference under distribution shift", NeurIPS 2021. The miscoverage
level is updated after each label: alpha_{t+1} = alpha_t + gamma (alpha - err_t), where err_t is 1 if the set
of row t misses its label. For any data, the coverage over T labels differs from 1 - alpha by at most
(max(alpha_1, 1 - alpha_1) + gamma) / (T gamma).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._base import checked, constraints
from .._base.persist import register
from ._columns import ClassColumns, check_weights

Floats = NDArray[np.float64]


@register
class AdaptiveConformal:
    """Prediction sets that contain the true class with frequency 1 - alpha, also under concept drift.

    A set contains every class whose probability (or decision value) reaches a threshold. The threshold is a
    quantile of the values of the true classes of the last `window` labeled rows. Its level is lowered after
    each miss and raised after each hit.

    Parameters
    ----------
    alpha : float, default=0.1
        Fraction of rows whose set may miss the label, above 0 and below 1.
    gamma : float, default=0.01
        Step size of the level. Larger values react faster to concept drift, but the size of the sets
        fluctuates more.
    window : int, default=1000
        Number of most recent labeled rows for the quantile.
    classes : iterable of labels, default=None
        The classes in the order of the columns. None means the classes seen so far, sorted. In both cases new
        classes may appear at any time.

    Notes
    -----
    The coverage guarantee holds for the rows that are passed to `update`, with the sets that they have at
    that moment. It holds for all rows if the labeled rows are a random sample of them. If labels are queried
    for selected rows, pass importance weights, or only randomly drawn rows.

    A set may be empty if even the most likely class is less likely than usual. Before the first label every
    set contains all classes.

    Examples
    --------
    >>> import numpy as np
    >>> from everlearn.calibration import AdaptiveConformal
    >>> rng = np.random.default_rng(0)
    >>> proba = rng.dirichlet([0.3, 0.3, 0.3], size=2000)
    >>> y = np.array([rng.choice(3, p=p) for p in proba])
    >>> conformal = AdaptiveConformal(alpha=0.1, classes=[0, 1, 2]).update(proba, y)
    >>> bool(abs(conformal.coverage - 0.9) < 0.01)
    True
    >>> conformal.predict_set([[0.98, 0.01, 0.01], [0.5, 0.45, 0.05]]).tolist()
    [[True, False, False], [True, True, False]]
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "alpha": constraints.Constraint(
            "a number between 0 and 1, both excluded",
            lambda value: constraints.FRACTION.test(value) and 0 < value < 1,
        ),
        "gamma": constraints.POSITIVE,
        "window": constraints.integer_from(1),
    }

    def __init__(
        self,
        alpha: float = 0.1,
        gamma: float = 0.01,
        window: int = 1000,
        classes: Iterable[Any] | None = None,
    ) -> None:
        self.alpha, self.gamma, self.window = alpha, gamma, window
        constraints.check(self)
        self._columns = ClassColumns(classes)
        self._level = float(alpha)
        self._values = np.empty(0)  # probabilities or decision values of the true classes
        self._weights = np.empty(0)
        self._n_seen = 0
        self._seen_weight = self._covered_weight = 0.0
        self._threshold = -math.inf

    def __repr__(self) -> str:
        return f"AdaptiveConformal(alpha={self.alpha!r}, gamma={self.gamma!r}, window={self.window!r})"

    @property
    def classes(self) -> NDArray[Any]:
        """The classes seen so far, in the order of the columns of `predict_set`."""
        return self._columns.classes

    @property
    def n_seen(self) -> int:
        """Number of labels seen."""
        return self._n_seen

    @property
    def level(self) -> float:
        """The current miscoverage level alpha_t."""
        return self._level

    @property
    def coverage(self) -> float:
        """Weighted fraction of labels that were in their set; NaN before the first label."""
        return self._covered_weight / self._seen_weight if self._seen_weight > 0 else math.nan

    def update(
        self,
        scores: Any,
        y: Any,
        sample_weight: Any = None,
        classes: Any = None,
        covered: Any = None,
    ) -> AdaptiveConformal:
        """Update the threshold with labeled rows, one after the other.

        Parameters
        ----------
        scores : array-like of shape (n_rows,) or (n_rows, n_classes)
            Probabilities or decision values of the classes, computed before the labels were learned. For two
            classes one decision value per row is allowed.
        y : array-like of shape (n_rows,)
            The labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows, 1 on average. The step size of the level is multiplied by them.
        classes : array-like of shape (n_classes,), default=None
            The class of each column of `scores`. None is the order of `classes`.
        covered : array-like of bool of shape (n_rows,), default=None
            Whether the set that was predicted for the row contained its label. None uses the sets that the
            rows would get now, one after the other. Pass it if labels arrive in batches after the
            predictions: the coverage guarantee then holds for the predicted sets. In a batch of more than
            1 / gamma rows gamma is the inverse of their number, so that the level does not overshoot.

        Returns
        -------
        AdaptiveConformal
            The object itself.
        """
        columns = self._columns.copy()  # so that an error changes nothing
        codes = columns.encode(y)
        if len(scores) != len(codes):
            raise ValueError(f"scores and y must have the same length, got {len(scores)} and {len(codes)}.")
        matrix, places = columns.align(scores, classes)
        weights = check_weights(sample_weight, len(codes))
        if covered is not None and np.shape(covered) != codes.shape:
            raise ValueError(
                f"covered must have the length of y, got shape {np.shape(covered)} for {len(codes)} rows."
            )
        self._columns = columns
        column_of = np.full(len(columns), -1)  # class code to column of scores
        column_of[places] = np.arange(len(places))
        at = column_of[codes]
        values = np.where(at >= 0, matrix[np.arange(len(codes)), at], np.nan)
        gamma = self.gamma if covered is None else min(self.gamma, 1 / max(len(codes), 1))
        for row, (value, weight) in enumerate(zip(values.tolist(), weights.tolist(), strict=True)):
            hit = self._holds(value) if covered is None else bool(covered[row])
            self._step(value, weight, hit, gamma)
            if covered is None:
                self._threshold = self._quantile()
        self._threshold = self._quantile()
        return self

    def predict_set(self, scores: Any, classes: Any = None) -> NDArray[np.bool_]:
        """Predict the set of plausible classes of each row.

        Parameters
        ----------
        scores : array-like of shape (n_rows,) or (n_rows, n_classes)
            Probabilities or decision values, as for `update`.
        classes : array-like of shape (n_classes,), default=None
            The class of each column of `scores`. None is the order of `classes`.

        Returns
        -------
        ndarray of bool of shape (n_rows, n_classes)
            Whether each class is in the set of the row. A class with the value NaN is in the set.
        """
        columns = self._columns.copy()
        if classes is None and len(columns) == 0:
            width = np.shape(scores)[1] if np.ndim(scores) == 2 else 2
            columns = ClassColumns(range(max(width, 2)))
        matrix, _ = columns.align(scores, classes)
        return ~(matrix < self._threshold)

    def state(self) -> dict[str, Any]:
        """Return the state as plain values and arrays.

        Returns
        -------
        dict
            The state for `from_state`.
        """
        return {
            "alpha": float(self.alpha),
            "gamma": float(self.gamma),
            "window": int(self.window),
            "columns": self._columns.state(),
            "level": self._level,
            "values": self._values.copy(),
            "weights": self._weights.copy(),
            "n_seen": self._n_seen,
            "seen_weight": self._seen_weight,
            "covered_weight": self._covered_weight,
            "threshold": self._threshold,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> AdaptiveConformal:
        """Restore an object from its state; it continues bit for bit.

        Parameters
        ----------
        state : dict
            A state from `state`.

        Returns
        -------
        AdaptiveConformal
            The restored object.
        """
        made = cls(state["alpha"], state["gamma"], state["window"])
        made._columns = ClassColumns.from_state(checked.table("columns", state["columns"]))
        made._level = checked.number("level", state["level"])
        made._values = checked.floats("values", state["values"], (None,)).copy()
        n = len(made._values)
        made._weights = checked.floats("weights", state["weights"], (n,), least=0.0).copy()
        made._n_seen = checked.integer("n_seen", state["n_seen"], least=n)
        made._seen_weight = checked.number("seen_weight", state["seen_weight"], least=0.0)
        made._covered_weight = checked.number("covered_weight", state["covered_weight"], least=0.0)
        made._threshold = checked.number("threshold", state["threshold"], finite=False)
        return made

    _get_state = state
    _from_state = from_state

    def _holds(self, value: float) -> bool:
        """Whether a class with this value is in the set; one without a value is, unless sets are empty."""
        return not value < self._threshold if value == value else self._threshold < math.inf

    def _step(self, value: float, weight: float, hit: bool, gamma: float) -> None:
        self._n_seen += 1
        self._seen_weight += weight
        self._covered_weight += weight * hit
        # The level is not clipped. Outside [0, 1] sets are full or empty, which brings it back, as the
        # guarantee requires.
        self._level += gamma * weight * (self.alpha - (not hit))
        if value == value and weight > 0:
            self._values = np.append(self._values, value)[-int(self.window) :]
            self._weights = np.append(self._weights, weight)[-int(self.window) :]

    def _quantile(self) -> float:
        """The largest threshold that a fraction 1 - level of the values, plus one unseen value, reaches."""
        if self._level >= 1:
            return math.inf
        n = len(self._values)
        if self._level <= 0 or n == 0:
            return -math.inf
        if (self._weights == self._weights[0]).all():
            below = math.floor(self._level * (n + 1))  # values that may lie below the threshold
            return -math.inf if below < 1 else float(np.partition(self._values, below - 1)[below - 1])
        order = np.argsort(self._values, kind="stable")
        cumulative = np.cumsum(self._weights[order])
        unseen = float(self._weights.mean())
        below = int(np.searchsorted(cumulative, self._level * (cumulative[-1] + unseen), side="right"))
        return -math.inf if below < 1 else float(self._values[order[below - 1]])
