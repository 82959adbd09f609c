"""Prequential evaluation: scores on rows predicted before they were learned.

Every row is first used for testing: the learner predicts it on arrival, and the prediction is scored when the
label becomes known, however much later. J. Gama, R. Sebastião, P. Rodrigues, "On evaluating stream learning
algorithms", Machine Learning 90 (2013), for windows and fading factors.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._base import constraints
from .._base.labels import UNKNOWN, LabelTable, one_score_row, score_matrix
from ._measures import measures, overall
from .window_scores import LastRows, WindowScores, in_order

__all__ = ["Prequential"]

_SPANS = ("window", "fading", "total")
_BASELINES = ("no_change", "majority")
_N_PREDICTORS = 1 + len(_BASELINES)  # the learner, then the baselines
_CHUNK = 4096  # rows processed at once, to bound memory
_NOTHING = 1e-250  # smaller faded counts are set to 0: subnormal numbers are slow


class Prequential:
    """Prequential scores of a learner with delayed labels, recent and in total.

    Each measure is computed over three spans: the window of the last labels, all labels with fading weights,
    and all labels. Two baselines on the same rows show what a learner must beat: "no_change" predicts the
    previous label, "majority" the most frequent label so far (in case of ties the first in the order of the
    classes).

    A row for which the learner made no prediction counts as abstained and is left out of all measures,
    including those of the baselines. It still takes a place in the window, and earlier counts fade with it.

    Parameters
    ----------
    window : int, default=1000
        Number of labels in the window. It bounds the memory.
    fading_factor : float, default=0.999
        Factor by which each count is multiplied with every label, above 0 and at most 1. The weights sum to 1
        / (1 - fading_factor), so 0.999 corresponds to a window of about 1000 labels.
    classes : iterable of labels, default=None
        The classes in the order of the decision values, as in the learner's ``classes_``. None means those
        seen so far, sorted. New classes may appear at any time in either case.

    Notes
    -----
    The division of a stream into blocks changes only the last digits.

    Examples
    --------
    >>> from everlearn.evaluate.prequential import Prequential
    >>> scores = Prequential(window=4)
    >>> scores.update(["yes", "no", "no", "yes", "no"], ["no", "no", "no", "yes", None])
    >>> found = scores.scores()
    >>> found["window"]["n"], found["window"]["abstained"], found["window"]["accuracy"]
    (3, 1, 1.0)
    >>> found["total"]["accuracy"], found["baselines"]["no_change"]["total"]["accuracy"]
    (0.75, 0.3333333333333333)
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "window": constraints.integer_from(1),
        "fading_factor": constraints.Constraint(
            "a number above 0, at most 1", lambda value: constraints.FRACTION.test(value) and value > 0
        ),
    }

    def __init__(
        self, window: int = 1000, fading_factor: float = 0.999, classes: Iterable[Any] | None = None
    ) -> None:
        self.window = window
        self.fading_factor = fading_factor
        constraints.check(self)
        given = [] if classes is None else list(classes)
        self._labels = LabelTable(given)
        if len(self._labels) != len(given):
            raise ValueError(f"classes must be distinct labels without None and NaN, got {given!r}.")
        self._n_given = len(given)
        self._n_seen = 0
        self._n_abstained = 0
        self._faded_abstained = 0.0
        self._last = UNKNOWN
        self._frequency = np.zeros(0, dtype=np.int64)  # of each label, rows with abstention included
        self._total = np.zeros((_N_PREDICTORS, 0, 0), dtype=np.int64)
        self._faded = np.zeros((_N_PREDICTORS, 0, 0))
        self._recent = LastRows(int(window), 1 + _N_PREDICTORS)
        self._in_window = np.zeros((_N_PREDICTORS, 0, 0), dtype=np.int64)
        self._abstained_in_window = 0
        self._found: dict[str, Any] | None = None  # what `scores` returned, until a label changes it
        self._now: WindowScores | None = None  # what `now` returned, likewise
        self._make_room()

    @property
    def classes(self) -> NDArray[Any]:
        """The classes known so far, in the order of `confusion`."""
        labels = self._labels.decode(self._order)
        kinds = {isinstance(label, str) for label in labels}
        return labels if len(kinds) != 1 else np.array(labels.tolist())

    @property
    def n_seen(self) -> int:
        """Number of labels seen."""
        return self._n_seen

    def update(self, y_true: Any, y_pred: Any, scores: Any = None) -> None:
        """Add rows whose labels have become known, in that order.

        Parameters
        ----------
        y_true : array-like of shape (n_rows,)
            The labels.
        y_pred : array-like of shape (n_rows,) or None
            The prediction made when each row arrived; None or NaN if there was none.
        scores : array-like of shape (n_rows,) or (n_rows, n_classes), default=None
            The decision values at that time: for two classes one number, positive for the second class; for
            more, one number per class, in the order of `classes`. NaN or None if there are none.
        """
        if self._update_one(y_true, y_pred, scores):
            return
        labels = self._labels.copy()  # so that bad input changes nothing
        true = labels.encode("y_true", y_true)
        if (true < 0).any():
            raise ValueError(
                f"y_true is unknown in row {int(np.argmin(true))}; pass rows when their label is known."
            )
        predicted = np.full_like(true, UNKNOWN) if y_pred is None else labels.encode("y_pred", y_pred)
        if len(predicted) != len(true):
            raise ValueError(
                f"y_pred and y_true must have the same length, got {len(predicted)} and {len(true)}."
            )
        decisions = score_matrix(scores, len(true))
        if len(labels) > len(self._labels):
            self._labels = labels
            self._make_room()
        self._found = self._now = None
        if len(true) == 1:
            self._add_one(int(true[0]), int(predicted[0]), decisions)
            return
        for start in range(0, len(true), _CHUNK):
            rows = slice(start, start + _CHUNK)
            self._add(true[rows], predicted[rows], decisions[rows])

    def _update_one(self, y_true: Any, y_pred: Any, scores: Any) -> bool:
        """`update` for one row with known labels; False, and nothing changes, if it has to look at it."""
        true, predicted = self._labels.code_of_one(y_true), self._labels.code_of_one(y_pred)
        matrix = one_score_row(scores)
        if true is None or true < 0 or predicted is None or matrix is None:
            return False
        self._found = self._now = None
        self._add_one(true, predicted, matrix)
        return True

    def scores(self) -> dict[str, Any]:
        """The measures over each span, for the learner and for the baselines.

        Returns
        -------
        dict
            "window", "fading" and "total" are each a dict with

            =============  ===================================================================================
            "n"            rows scored; with fading the sum of their weights
            "abstained"    rows without a prediction, likewise
            "accuracy"     fraction of the rows predicted correctly
            "g_means"      geometric mean of the recalls of the classes that occur; NaN for a single one
            "mcc"          Matthews' correlation; 0 where labels or predictions are all of one class
            "auc"          area under the ROC curve: the mean over the classes that occur of the area of each
                           against the rest, which for two classes is the area itself
            "per_class"    for each label a dict of "recall", "precision" and "support"
            =============  ===================================================================================

            and "baselines" has under "no_change" and "majority" such a dict for each span, without the last
            two. NaN if undefined.

        Notes
        -----
        The AUC needs decision values, and only those in the window are stored. With fading, it is computed on
        the rows in the window with their faded weights. In total it is NaN once there are more labels than
        fit into the window. A row counts if it has as many decision values as there are classes (those given
        at construction, otherwise those seen so far), or a single one for two classes.
        """
        if self._found is None:
            self._found = self._compute()
        return _copied(self._found)

    def now(self) -> WindowScores:
        """The window as it is now; what it returns does not change with later labels."""
        if self._now is None:
            self._now = WindowScores(
                *self._recent.rows(),
                self._in_window,
                self._faded,
                self._abstained_in_window,
                self._labels.labels,
                self._order,
                self._n_given,
                float(self.fading_factor),
            )
        return self._now

    def _compute(self) -> dict[str, Any]:
        found = measures(in_order(np.stack([self._counts(span) for span in _SPANS]), self._order))
        now = self.now()
        in_window, with_fading = now.areas
        auc = (in_window, with_fading, in_window if self._n_seen <= self.window else float("nan"))
        abstained = (self._abstained_in_window, self._faded_abstained, self._n_abstained)
        result: dict[str, Any] = {}
        baselines: dict[str, dict[str, Any]] = {name: {} for name in _BASELINES}
        for i, span in enumerate(_SPANS):
            kind = np.float64 if span == "fading" else np.int64
            result[span] = now.described(found, (i, 0), abstained[i], auc[i], kind)
            for j, name in enumerate(_BASELINES, start=1):
                baselines[name][span] = overall(found, (i, j), kind)
        return result | {"baselines": baselines}

    def confusion(self, which: str = "window") -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the confusion matrix.

        Parameters
        ----------
        which : {"window", "fading", "total"}, default="window"
            The span.

        Returns
        -------
        tuple of (array of shape (n_classes,), array of shape (n_classes, n_classes))
            The classes, and the counts: a row for each true class, a column for each predicted one.
        """
        if which not in _SPANS:
            raise ValueError(f"which must be one of {', '.join(map(repr, _SPANS))}, got {which!r}.")
        return self.classes, self._counts(which)[0][np.ix_(self._order, self._order)].copy()

    def accuracy(self, which: str = "window") -> tuple[float, int | float]:
        """The accuracy alone, which takes much less time than all `scores`.

        Parameters
        ----------
        which : {"window", "fading", "total"}, default="window"
            The span.

        Returns
        -------
        tuple of (float, int or float)
            The fraction of rows predicted correctly, NaN if there is none; and how many rows were predicted.
        """
        if which not in _SPANS:
            raise ValueError(f"which must be one of {', '.join(map(repr, _SPANS))}, got {which!r}.")
        matrix = self._counts(which)[0][self._order[:, np.newaxis], self._order]
        n = matrix.sum().item()
        return (float(np.trace(matrix) / n) if n else float("nan")), n

    def state(self) -> dict[str, Any]:
        """Return the state as plain values and arrays.

        Returns
        -------
        dict
            For `from_state`.
        """
        codes, scores, widths = self._recent.rows()
        return {
            "window": int(self.window),
            "fading_factor": float(self.fading_factor),
            "labels": list(self._labels.labels),
            "n_given": self._n_given,
            "n_seen": self._n_seen,
            "n_abstained": self._n_abstained,
            "faded_abstained": self._faded_abstained,
            "last": self._last,
            "frequency": self._frequency.copy(),
            "total": self._total.copy(),
            "faded": self._faded.copy(),
            "recent_codes": codes.copy(),
            "recent_scores": scores.copy(),
            "recent_widths": widths.copy(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Prequential:
        """Restore an object from its state; it continues bit for bit.

        Parameters
        ----------
        state : dict
            From `state`.

        Returns
        -------
        Prequential
            The continuation.
        """
        made = cls(state["window"], state["fading_factor"], state["labels"])
        made._n_given = int(state["n_given"])
        made._order = made._labels.order(made._n_given)
        made._n_seen = int(state["n_seen"])
        made._n_abstained = int(state["n_abstained"])
        made._faded_abstained = float(state["faded_abstained"])
        made._last = int(state["last"])
        made._frequency = np.array(state["frequency"], dtype=np.int64)
        made._total = np.array(state["total"], dtype=np.int64)
        made._faded = np.array(state["faded"], dtype=np.float64)
        codes = np.array(state["recent_codes"], dtype=np.int32)
        made._recent.append(codes, np.asarray(state["recent_scores"]), np.asarray(state["recent_widths"]))
        made._count_window(made._recent.rows()[0])
        return made

    def _make_room(self) -> None:
        """Add rows and columns for new labels."""
        more = len(self._labels) - len(self._frequency)
        self._frequency = np.pad(self._frequency, (0, more))
        classes = ((0, 0), (0, more), (0, more))
        self._in_window = np.pad(self._in_window, classes)
        self._total = np.pad(self._total, classes)
        self._faded = np.pad(self._faded, classes)
        self._order = self._labels.order(self._n_given)

    def _add(
        self, true: NDArray[np.int32], predicted: NDArray[np.int32], decisions: NDArray[np.float64]
    ) -> None:
        n = len(true)
        guesses = np.empty((n, _N_PREDICTORS), dtype=np.int32)
        guesses[:, 0] = predicted
        guesses[:, 1] = np.concatenate(([self._last], true[:-1]))
        guesses[:, 2] = self._most_frequent_before(true)
        abstained = predicted < 0
        guesses[abstained] = UNKNOWN
        weights = self.fading_factor ** np.arange(n - 1, -1, -1, dtype=np.float64)
        faded = self._faded * self.fading_factor**n + self._count(true, guesses, weights)
        faded[faded < _NOTHING] = 0.0
        self._faded = faded
        self._faded_abstained = self._faded_abstained * self.fading_factor**n + float(weights @ abstained)
        self._total += self._count(true, guesses)
        self._n_seen += n
        self._n_abstained += int(np.count_nonzero(abstained))
        self._last = int(true[-1])
        self._frequency += np.bincount(true, minlength=len(self._frequency))
        widths = np.full(n, decisions.shape[1], dtype=np.int32)
        self._recent.append(np.column_stack((true, guesses)), decisions, widths)
        self._count_window(self._recent.rows()[0])

    def _add_one(self, true: int, predicted: int, decisions: NDArray[np.float64]) -> None:
        """`_add` for a single row: the cells of its label and predictions, where they change."""
        leader = int(self._order[self._frequency[self._order].argmax()])
        most_frequent = leader if self._frequency[leader] else UNKNOWN
        abstained = predicted < 0
        guesses = (UNKNOWN,) * _N_PREDICTORS if abstained else (predicted, self._last, most_frequent)
        faded, in_window = self._faded * self.fading_factor, self._in_window.copy()
        for predictor, guess in enumerate(guesses):
            if guess >= 0:
                cell = predictor, true, guess
                faded[cell] += 1.0
                self._total[cell] += 1
                in_window[cell] += 1
        faded[faded < _NOTHING] = 0.0
        self._faded_abstained = self._faded_abstained * self.fading_factor + float(abstained)
        self._n_seen += 1
        self._n_abstained += abstained
        self._abstained_in_window += abstained
        self._last = true
        self._frequency[true] += 1
        oldest = self._recent.append_one((true, *guesses), decisions)
        if oldest is not None:
            old_true, *old_guesses = oldest
            for predictor, guess in enumerate(old_guesses):
                if guess >= 0:
                    in_window[predictor, old_true, guess] -= 1
            self._abstained_in_window -= old_guesses[0] < 0
        self._faded, self._in_window = faded, in_window  # new arrays: `now` may have returned the old ones

    def _count_window(self, codes: NDArray[np.int32]) -> None:
        self._in_window = self._count(codes[:, 0], codes[:, 1:])
        self._abstained_in_window = int(np.count_nonzero(codes[:, 1] < 0))

    def _most_frequent_before(self, true: NDArray[np.int32]) -> NDArray[np.int32]:
        """The code of the most frequent label before each row.

        Frequencies only grow, so only the labels in ``true`` and the currently most frequent one can lead.
        """
        leader = self._order[np.argmax(self._frequency[self._order])]
        rank = np.empty(len(self._order), dtype=np.intp)
        rank[self._order] = np.arange(len(self._order))
        contenders = self._order[np.unique(rank[np.append(true, leader)])]
        occurs = true[:, np.newaxis] == contenders
        before = self._frequency[contenders] + np.cumsum(occurs, axis=0) - occurs
        best = np.argmax(before, axis=1)
        leading = contenders[best].astype(np.int32)
        return np.where(before.max(axis=1) > 0, leading, np.int32(UNKNOWN))

    def _count(
        self, true: NDArray[np.int32], guesses: NDArray[np.int32], weights: NDArray[np.float64] | None = None
    ) -> NDArray[Any]:
        """Confusion matrices of the learner and of the baselines; rows without a prediction do not count."""
        k = len(self._labels)
        cell = (np.arange(_N_PREDICTORS) * k + true[:, np.newaxis].astype(np.int64)) * k + guesses
        known = guesses >= 0
        if weights is not None:
            weights = np.broadcast_to(weights[:, np.newaxis], known.shape)[known]
        return np.bincount(cell[known], weights, _N_PREDICTORS * k * k).reshape(_N_PREDICTORS, k, k)

    def _counts(self, span: str) -> NDArray[Any]:
        if span == "window":
            return self._in_window
        return self._faded if span == "fading" else self._total


def _copied(found: dict[str, Any]) -> dict[str, Any]:
    """A dict of dicts, copied at every level."""
    return {key: _copied(value) if isinstance(value, dict) else value for key, value in found.items()}
