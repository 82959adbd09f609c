"""OnlineCalibrator: probabilities from decision values, updated along a stream."""

from __future__ import annotations

import math
from collections.abc import Iterable
from copy import copy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._base import checked, constraints
from .._base.persist import register
from . import _venn
from ._columns import MAX_SCORE, ClassColumns, Codes, check_weights, scatter_columns
from ._logit import MAX_SCALED, STREAM, TABLE, LogitForm, Ridges, scale_of
from ._recent import RecentScores

Floats = NDArray[np.float64]

_FORMS = {
    "auto": LogitForm(saturates=True, per_class=True),
    "saturating": LogitForm(saturates=True, per_class=True),
    "sigmoid": LogitForm(saturates=False, per_class=True),
    "temperature": LogitForm(saturates=False, per_class=False),
    "venn_abers": LogitForm(saturates=True, per_class=False),  # for classes without labels so far
}
_REFIT_FRACTION = 0.02  # new labels that trigger a refit, as a fraction of those in the window


@register
class OnlineCalibrator:
    """Turn decision values into probabilities, and follow concept drift.

    It learns from rows that were scored before their label was known.
    The last `window` labeled scores are kept, and recent ones have higher weights. The model is refitted, by
    a few Newton steps, after 2 % new labels. With few labels the result is close to a prior for the margins
    of an SVM, so probabilities are usable from the first label on.

    Parameters
    ----------
    method : {"auto", "saturating", "sigmoid", "temperature", "venn_abers"}, default="auto"
        How scores become probabilities. "temperature": softmax of the scores times one slope. "sigmoid": in
        addition a bias and a slope for each class, which is Platt scaling for two classes. "saturating": in
        addition tanh of the scores, for probabilities that level off far from the boundary. "venn_abers": a
        one-vs-rest Venn-Abers predictor for each class. "auto" is "saturating", which had the lowest Brier
        score and calibration error on development streams.
    window : int, default=1000
        Number of labeled scores that are kept.
    half_life : float or None, default=200
        Number of labels after which the weight of a label is halved. With None all labels in the window have
        the same weight.
    classes : iterable of labels, default=None
        The classes in the order of the score columns. None means the classes seen so far, sorted. In both
        cases new classes may appear at any time.

    Notes
    -----
    Rows that were queried because they are uncertain are not a random sample. A selection that depends on the
    score alone hardly affects the probability of a class given the score, so such rows may be passed without
    weights. If the selection depends on other things, pass importance weights (the inverse of the selection
    probability) as `sample_weight`, or pass only randomly drawn rows.

    Examples
    --------
    >>> import numpy as np
    >>> from everlearn.calibration import OnlineCalibrator
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=500)
    >>> y = rng.random(500) < 1 / (1 + np.exp(-scores))
    >>> calibrator = OnlineCalibrator().update(scores, y)
    >>> bool(np.abs(calibrator.predict_proba([0.0, 2.0])[:, 1] - [0.5, 0.88]).max() < 0.1)
    True
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "method": constraints.one_of(*_FORMS),
        "window": constraints.integer_from(1),
        "half_life": constraints.NONE | constraints.POSITIVE,
    }

    def __init__(
        self,
        method: str = "auto",
        window: int = 1000,
        half_life: float | None = 200,
        classes: Iterable[Any] | None = None,
    ) -> None:
        self.method, self.window, self.half_life = method, window, half_life
        constraints.check(self)
        self._columns = ClassColumns(classes)
        self._form = _FORMS[method]
        self._n_seen = 0
        self._pending = 0  # labels since the last refit
        n_classes = len(self._columns)
        self._rows = RecentScores.empty(n_classes)
        self._shared, self._own, self._scale = self._form.prior, np.zeros((2, n_classes)), 1.0
        self._tables: dict[int, _venn.Table] = {}

    def __copy__(self) -> OnlineCalibrator:
        """A calibrator that goes its own way from here."""
        other = object.__new__(type(self))
        other.__dict__ = vars(self) | {"_rows": copy(self._rows)}
        return other

    def __repr__(self) -> str:
        return (
            f"OnlineCalibrator(method={self.method!r}, window={self.window!r}, half_life={self.half_life!r})"
        )

    @property
    def classes(self) -> NDArray[Any]:
        """The classes seen so far, in the order of the columns of `predict_proba`."""
        return self._columns.classes

    @property
    def n_seen(self) -> int:
        """Number of labels seen."""
        return self._n_seen

    def update(self, scores: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> OnlineCalibrator:
        """Add labeled scores, in the order in which the labels became known.

        Parameters
        ----------
        scores : array-like of shape (n_rows,) or (n_rows, n_classes)
            Decision values of the rows, computed before their labels were learned. One value per row is for
            two classes; positive values favor the second. A row of NaN has no score and counts only for the
            class frequencies.
        y : array-like of shape (n_rows,)
            The labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows.
        classes : array-like of shape (n_classes,), default=None
            The class of each column of `scores`, as in the learner's ``classes_``. None is the order of
            `classes`.

        Returns
        -------
        OnlineCalibrator
            The calibrator itself.
        """
        added = (sample_weight is None and self._append_one(scores, y, classes)) or self._append(
            scores, y, sample_weight, classes, ordered=True
        )
        if added and self._needs_refit():
            self._refit()
        return self

    def fit(self, scores: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> OnlineCalibrator:
        """Fit from scratch on rows in no particular order, without fading.

        All rows are used in the fit. Of more than `window` rows an evenly spaced subset is kept for later
        refits.

        Parameters
        ----------
        scores : array-like of shape (n_rows,) or (n_rows, n_classes)
            Decision values from a learner that was not trained on the row: leave-one-out or out-of-fold
            scores.
        y : array-like of shape (n_rows,)
            The labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows.
        classes : array-like of shape (n_classes,), default=None
            The class of each column of `scores`.

        Returns
        -------
        OnlineCalibrator
            The calibrator itself.
        """
        given = self._columns.labels.labels[: self._columns.n_given]
        fresh = OnlineCalibrator(self.method, self.window, self.half_life, given or None)
        fresh._append(scores, y, sample_weight, classes, ordered=False)
        fresh._refit(TABLE)
        n = len(fresh._rows)
        if n > self.window:
            fresh._rows.keep(np.unique(np.linspace(0, n - 1, int(self.window)).astype(np.intp)))
        self.__dict__.update(vars(fresh))
        return self

    def predict_proba(self, scores: Any, classes: Any = None) -> Floats:
        """Probabilities of the classes.

        Parameters
        ----------
        scores : array-like of shape (n_rows,) or (n_rows, n_classes)
            Decision values.
        classes : array-like of shape (n_classes,), default=None
            The class of each column of `scores`. None is the order of `classes`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities; each row sums to 1. A row without scores gets the recent class frequencies.
        """
        if (aligned := self._columns.align_one(scores, classes)) is not None and not self._tables:
            own = self._own[:, aligned[1]]
            return self._form.proba(aligned[0], self._scale, self._shared, own, complete=True)
        columns = self._columns.copy()
        if classes is None and len(columns) == 0:
            width = np.shape(scores)[1] if np.ndim(scores) == 2 else 2
            columns = ClassColumns(range(max(width, 2)))
        matrix, codes = columns.align(scores, classes)
        own = np.zeros((2, len(codes)))
        known = codes < self._own.shape[1]
        own[:, known] = self._own[:, codes[known]]
        shares = self._form.proba(matrix, self._scale, self._shared, own)
        if self._tables:
            shares = self._venn_abers(matrix, codes, shares)
        empty = np.isnan(matrix).all(axis=1)
        if empty.any():
            shares[empty] = self._frequencies(codes)
        return shares

    def prefers_second(self, scores: Floats, classes: tuple[Any, Any]) -> bool | None:
        """Which of two classes `predict_proba` finds more probable for a row, without the probabilities.

        Parameters
        ----------
        scores : ndarray of shape (1,)
            The decision value.
        classes : tuple of two labels
            The classes of a negative and of a positive value.

        Returns
        -------
        bool or None
            True for the second class; None if it takes the probabilities to say.
        """
        score = scores.item() if scores.shape == (1,) else math.nan
        if self._tables or not abs(score) <= MAX_SCORE:
            return None
        scaled = min(max(score / self._scale, -MAX_SCALED), MAX_SCALED)
        gain = [
            slope * feature
            for slope, feature in zip(self._shared.tolist(), (scaled, math.tanh(scaled)), strict=False)
        ]
        gain *= 2  # the features of the first class are those of the second times -1
        for label, sign in zip(classes, (-1.0, 1.0), strict=True):
            code = self._columns.labels.code_of(label)
            if code is not None and code < self._own.shape[1]:
                bias, slope = self._own[:, code].tolist()
                gain += (sign * bias, slope * scaled)
        log_odds = sum(gain)
        # Rounding decides about what is closer to 0 than this.
        return None if abs(log_odds) <= 1e-9 * (1 + sum(map(abs, gain))) else bool(log_odds > 0)

    def state(self) -> dict[str, Any]:
        """Return the state as plain values and arrays.

        Returns
        -------
        dict
            The state for `from_state`.
        """
        return {
            "method": self.method,
            "window": int(self.window),
            "half_life": None if self.half_life is None else float(self.half_life),
            "columns": self._columns.state(),
            "n_seen": self._n_seen,
            "pending": self._pending,
            "scores": self._rows.scores.copy(),
            "codes": self._rows.codes.copy(),
            "weights": self._rows.weights.copy(),
            "times": self._rows.times.copy(),
            "shared": self._shared.copy(),
            "own": self._own.copy(),
            "scale": self._scale,
            "tables": {
                str(code): {"cuts": cuts.copy(), "shares": shares.copy()}
                for code, (cuts, shares) in self._tables.items()
            },
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> OnlineCalibrator:
        """Restore a calibrator from its state; it continues bit for bit.

        Parameters
        ----------
        state : dict
            A state from `state`.

        Returns
        -------
        OnlineCalibrator
            The restored calibrator.
        """
        made = cls(state["method"], state["window"], state["half_life"])
        made._columns = ClassColumns.from_state(checked.table("columns", state["columns"]))
        k = len(made._columns)
        codes = checked.integers("codes", state["codes"], (None,), most=k - 1, dtype=np.intp)
        n = len(codes)
        made._n_seen = checked.integer("n_seen", state["n_seen"], least=n)
        made._pending = checked.integer("pending", state["pending"], most=made._n_seen)
        scores = checked.array("scores", state["scores"], np.float64, (n, k))
        if np.isinf(scores).any():  # NaN is a class without a score
            raise ValueError("scores must not be infinite")
        weights = checked.floats("weights", state["weights"], (n,), least=0.0)
        times = checked.integers("times", state["times"], (n,), most=made._n_seen)
        made._rows = RecentScores(scores.copy(), codes.copy(), weights.copy(), times.copy())
        made._shared = checked.floats("shared", state["shared"], made._form.prior.shape).copy()
        made._own = checked.floats("own", state["own"], (2, k)).copy()
        made._scale = checked.number("scale", state["scale"], least=np.finfo(np.float64).tiny)
        made._tables = {
            checked.integer("table", int(code), most=k - 1): _restored(checked.table("table", table))
            for code, table in checked.table("tables", state["tables"]).items()
        }
        return made

    _get_state = state
    _from_state = from_state

    def _append(self, scores: Any, y: Any, sample_weight: Any, classes: Any, ordered: bool) -> bool:
        """Append rows to the window; return whether there were any."""
        columns = self._columns.copy()  # so that an error changes nothing
        codes = columns.encode(y)
        if len(scores) != len(codes):
            raise ValueError(f"scores and y must have the same length, got {len(scores)} and {len(codes)}.")
        matrix, places = columns.align(scores, classes)
        weights = check_weights(sample_weight, len(codes))
        if not len(codes):
            return False
        self._columns = columns
        if more := len(columns) - self._own.shape[1]:
            self._rows.add_class_columns(more)
            self._own = np.pad(self._own, ((0, 0), (0, more)))
        n = len(codes)
        times = self._n_seen + (np.arange(1, n + 1) if ordered else np.full(n, n))
        self._n_seen += n
        self._pending += n
        self._rows.append(n, scatter_columns(matrix, places, len(columns)), codes, weights, times)
        if ordered:
            self._rows.keep_last(int(self.window))
        return True

    def _append_one(self, scores: Any, y: Any, classes: Any) -> bool:
        """`_append` for one row of weight 1; False, and nothing changes, if `_append` has to look at it."""
        items = y.tolist() if type(y) is np.ndarray and y.ndim == 1 else y
        label = items[0] if type(items) is list and len(items) == 1 else None
        code = self._columns.labels.code_of(label) if type(label) in (int, str, bool) else None
        aligned = None if code is None else self._columns.align_one(scores, classes)
        if aligned is None:
            return False
        matrix, places = aligned
        self._n_seen += 1
        self._pending += 1
        row = [math.nan] * self._own.shape[1]
        for place, score in zip(places.tolist(), matrix[0].tolist(), strict=True):
            row[place] = score
        self._rows.append(1, row, code, 1.0, self._n_seen)
        self._rows.keep_last(int(self.window))
        return True

    def _needs_refit(self) -> bool:
        return self._pending >= max(1.0, _REFIT_FRACTION * len(self._rows))

    def _faded_weights(self) -> Floats:
        if self.half_life is None:
            return self._rows.weights
        ages = self._n_seen - self._rows.times
        return np.asarray(self._rows.weights * 0.5 ** (ages / self.half_life))

    def _refit(self, ridges: Ridges = STREAM) -> None:
        self._pending = 0
        weights = self._faded_weights()
        scores, codes = self._rows.scores, self._rows.codes
        scored = ~np.isnan(scores[np.arange(len(codes)), codes]) & (weights > 0)
        if not scored.all():
            scores, codes, weights = scores[scored], codes[scored], weights[scored]
        if not len(codes):
            return
        if self.method == "venn_abers":
            for code in range(len(self._columns)):
                known = ~np.isnan(scores[:, code])
                if known.any():
                    values = _venn.margins(scores[known], code)
                    self._tables[code] = _venn.fit(values, codes[known] == code, weights[known])
        else:
            self._scale = scale_of(scores, weights)
            start = (self._shared, self._own)
            self._shared, self._own = self._form.fit(scores, codes, weights, self._scale, start, ridges)

    def _venn_abers(self, matrix: Floats, codes: Codes, prior: Floats) -> Floats:
        """Probabilities from the tables; the prior for a class without a table."""
        shares = prior.copy()
        for column, code in enumerate(codes.tolist()):
            if code in self._tables:
                values = _venn.margins(matrix, column)
                known = ~np.isnan(values)
                shares[known, column] = _venn.look_up(self._tables[code], values[known])
        if matrix.shape[1] == 2 and codes[1] in self._tables:
            shares[:, 0] = 1 - shares[:, 1]
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def _frequencies(self, codes: Codes) -> Floats:
        """Class frequencies in the window, with Laplace smoothing (one added to each count)."""
        counts = np.bincount(self._rows.codes, self._faded_weights(), int(codes.max(initial=-1)) + 1)
        return np.asarray((counts[codes] + 1) / (counts[codes] + 1).sum())


def _restored(state: dict[str, Any]) -> _venn.Table:
    """A restored table of probabilities; it has one more probability than cuts."""
    cuts = checked.floats("cuts", state["cuts"], (None,))
    return cuts.copy(), checked.floats("shares", state["shares"], (len(cuts) + 1,), least=0.0).copy()
