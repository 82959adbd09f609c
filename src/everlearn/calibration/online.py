"""OnlineCalibrator: probabilities from decision values, which follow a stream."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._base import checked, constraints
from .._base.persist import register
from . import _venn
from ._columns import ClassColumns, Codes, check_weights, spread_columns
from ._logit import STREAM, TABLE, LogitForm, Ridges, scale_of

Floats = NDArray[np.float64]

_FORMS = {
    "auto": LogitForm(saturates=True, per_class=True),
    "saturating": LogitForm(saturates=True, per_class=True),
    "sigmoid": LogitForm(saturates=False, per_class=True),
    "temperature": LogitForm(saturates=False, per_class=False),
    "venn_abers": LogitForm(saturates=True, per_class=False),  # for classes that have no label yet
}
_REFIT_SHARE = 0.02  # a refit waits for so many new labels, as a share of those in the window


@register
class OnlineCalibrator:
    """Convert decision values to probabilities, learned from rows scored before their label was known.

    The last `window` labeled scores are kept, and recent ones count more. A refit takes a few Newton steps
    and happens after 2 % new labels. With few labels the result is close to a prior that suits
    the margins of an SVM, so that probabilities are usable from the first label on.

    Parameters
    ----------
    method : {"auto", "saturating", "sigmoid", "temperature", "venn_abers"}, default="auto"
        How scores become probabilities. "temperature": softmax of the scores times one slope. "sigmoid": a
        bias and a slope for each class in addition, which is Platt scaling for two classes. "saturating":
        tanh of the scores as a further term, for probabilities that level off far from the boundary.
        "venn_abers": the Venn-Abers predictor of each class against the rest. "auto" is
        "saturating", which had the lowest Brier score and calibration error on development streams.
    window : int, default=1000
        How many labeled scores are kept.
    half_life : float or None, default=200
        After how many further labels a label counts half. None lets all labels in the window count alike.
    classes : iterable of labels, default=None
        The classes in the order of the score columns. None takes those seen so far, sorted. New classes may
        appear at any time in either case.

    Notes
    -----
    Rows that were chosen for labeling because they are uncertain are not a random sample. The probability of
    a class given the score is hardly affected by a choice that depends on the score alone, so such rows may
    be passed as they are. Where the choice depends on other things, pass importance weights (one over the
    probability of being chosen) as `sample_weight`, or pass only rows that were drawn at random.

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
        self._scores = np.empty((0, n_classes))
        self._codes: Codes = np.empty(0, dtype=np.intp)
        self._weights = np.empty(0)
        self._times = np.empty(0, dtype=np.int64)
        self._shared, self._own, self._scale = self._form.prior, np.zeros((2, n_classes)), 1.0
        self._tables: dict[int, _venn.Table] = {}

    def __repr__(self) -> str:
        return (
            f"OnlineCalibrator(method={self.method!r}, window={self.window!r}, half_life={self.half_life!r})"
        )

    @property
    def classes(self) -> NDArray[Any]:
        """The classes known so far, in the order of the columns of `predict_proba`."""
        return self._columns.classes

    @property
    def n_seen(self) -> int:
        """Number of labels seen."""
        return self._n_seen

    def update(self, scores: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> OnlineCalibrator:
        """Add rows whose labels have become known, in that order.

        Parameters
        ----------
        scores : array-like of shape (n_rows,) or (n_rows, n_classes)
            The decision values of the rows, computed before their labels were learned. One value per row is
            for two classes and favors the second one. A row of NaN had no score; it counts for the class
            frequencies only.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,), default=None
            How much each row counts.
        classes : array-like of shape (n_classes,), default=None
            The class of each column of `scores`, as in the learner's ``classes_``. None is the order of
            `classes`.

        Returns
        -------
        OnlineCalibrator
            The calibrator itself.
        """
        if self._take_in(scores, y, sample_weight, classes, ordered=True) and self._due():
            self._refit()
        return self

    def fit(self, scores: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> OnlineCalibrator:
        """Reset, and fit on rows without a time order, all with the same weight.

        All rows take part in the fit. Of more than `window` rows an evenly spaced choice is kept for the
        refits that follow an `update`.

        Parameters
        ----------
        scores : array-like of shape (n_rows,) or (n_rows, n_classes)
            Decision values from a learner that has not seen the row: leave-one-out or out-of-fold scores.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,), default=None
            How much each row counts.
        classes : array-like of shape (n_classes,), default=None
            The class of each column of `scores`.

        Returns
        -------
        OnlineCalibrator
            The calibrator itself.
        """
        given = self._columns.labels.labels[: self._columns.n_given]
        fresh = OnlineCalibrator(self.method, self.window, self.half_life, given or None)
        fresh._take_in(scores, y, sample_weight, classes, ordered=False)
        fresh._refit(TABLE)
        n = len(fresh._codes)
        if n > self.window:
            fresh._keep(np.unique(np.linspace(0, n - 1, int(self.window)).astype(np.intp)))
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
            They sum to 1 in each row. A row without scores gets the recent class frequencies.
        """
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

    def state(self) -> dict[str, Any]:
        """Return the state as plain values and arrays.

        Returns
        -------
        dict
            For `from_state`.
        """
        return {
            "method": self.method,
            "window": int(self.window),
            "half_life": None if self.half_life is None else float(self.half_life),
            "columns": self._columns.state(),
            "n_seen": self._n_seen,
            "pending": self._pending,
            "scores": self._scores.copy(),
            "codes": self._codes.copy(),
            "weights": self._weights.copy(),
            "times": self._times.copy(),
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
        """Restore an object from its state; it continues bit for bit.

        Parameters
        ----------
        state : dict
            From `state`.

        Returns
        -------
        OnlineCalibrator
            The continuation.
        """
        made = cls(state["method"], state["window"], state["half_life"])
        made._columns = ClassColumns.from_state(checked.table("columns", state["columns"]))
        k, codes = len(made._columns), state["codes"]
        made._codes = checked.integers("codes", codes, (None,), most=k - 1, dtype=np.intp).copy()
        n = len(made._codes)
        made._n_seen = checked.integer("n_seen", state["n_seen"], least=n)
        made._pending = checked.integer("pending", state["pending"], most=made._n_seen)
        made._scores = checked.array("scores", state["scores"], np.float64, (n, k)).copy()
        if np.isinf(made._scores).any():  # NaN is a class without a score
            raise ValueError("scores must not be infinite")
        made._weights = checked.floats("weights", state["weights"], (n,), least=0.0).copy()
        made._times = checked.integers("times", state["times"], (n,), most=made._n_seen).copy()
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

    def _take_in(self, scores: Any, y: Any, sample_weight: Any, classes: Any, ordered: bool) -> bool:
        """Append rows to the window; whether there were any."""
        columns = self._columns.copy()  # so that bad input changes nothing
        codes = columns.encode(y)
        if len(scores) != len(codes):
            raise ValueError(f"scores and y must have the same length, got {len(scores)} and {len(codes)}.")
        matrix, places = columns.align(scores, classes)
        weights = check_weights(sample_weight, len(codes))
        if not len(codes):
            return False
        self._columns = columns
        if more := len(columns) - self._scores.shape[1]:
            self._scores = np.pad(self._scores, ((0, 0), (0, more)), constant_values=np.nan)
            self._own = np.pad(self._own, ((0, 0), (0, more)))
        n = len(codes)
        times = self._n_seen + (np.arange(1, n + 1) if ordered else np.full(n, n))
        self._n_seen += n
        self._pending += n
        self._scores = np.concatenate((self._scores, spread_columns(matrix, places, len(columns))))
        self._codes = np.concatenate((self._codes, codes))
        self._weights = np.concatenate((self._weights, weights))
        self._times = np.concatenate((self._times, times))
        if ordered and len(self._codes) > self.window:
            self._keep(slice(-int(self.window), None))
        return True

    def _keep(self, rows: Any) -> None:
        self._scores, self._codes = self._scores[rows], self._codes[rows]
        self._weights, self._times = self._weights[rows], self._times[rows]

    def _due(self) -> bool:
        return self._pending >= max(1.0, _REFIT_SHARE * len(self._codes))

    def _faded_weights(self) -> Floats:
        if self.half_life is None:
            return self._weights
        return np.asarray(self._weights * 0.5 ** ((self._n_seen - self._times) / self.half_life))

    def _refit(self, ridges: Ridges = STREAM) -> None:
        self._pending = 0
        weights = self._faded_weights()
        scored = ~np.isnan(self._scores[np.arange(len(self._codes)), self._codes])
        rows = np.flatnonzero(scored & (weights > 0))
        if not len(rows):
            return
        scores, codes, weights = self._scores[rows], self._codes[rows], weights[rows]
        if self.method == "venn_abers":
            for code in range(len(self._columns)):
                spoken = ~np.isnan(scores[:, code])
                if spoken.any():
                    values = _venn.margins(scores[spoken], code)
                    self._tables[code] = _venn.fit(values, codes[spoken] == code, weights[spoken])
        else:
            self._scale = scale_of(scores, weights)
            start = (self._shared, self._own)
            self._shared, self._own = self._form.fit(scores, codes, weights, self._scale, start, ridges)

    def _venn_abers(self, matrix: Floats, codes: Codes, prior: Floats) -> Floats:
        """Probabilities from the tables; the prior for a class that has none."""
        shares = prior.copy()
        for column, code in enumerate(codes.tolist()):
            if code in self._tables:
                values = _venn.margins(matrix, column)
                spoken = ~np.isnan(values)
                shares[spoken, column] = _venn.look_up(self._tables[code], values[spoken])
        if matrix.shape[1] == 2 and codes[1] in self._tables:
            shares[:, 0] = 1 - shares[:, 1]
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def _frequencies(self, codes: Codes) -> Floats:
        """How frequent the classes are in the window, each counted once more than it came."""
        counts = np.bincount(self._codes, self._faded_weights(), int(codes.max(initial=-1)) + 1)
        return np.asarray((counts[codes] + 1) / (counts[codes] + 1).sum())


def _restored(state: dict[str, Any]) -> _venn.Table:
    """A table of probabilities: one more of them than there are cuts."""
    cuts = checked.floats("cuts", state["cuts"], (None,))
    return cuts.copy(), checked.floats("shares", state["shares"], (len(cuts) + 1,), least=0.0).copy()
