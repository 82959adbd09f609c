"""Maps the columns of scores to classes, with classes that may appear at any time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import checked
from .._base.labels import LabelTable, listed, score_matrix

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

MAX_SCORE = 1e100  # so that squares of scores do not overflow


class ClassColumns:
    """The classes seen so far, each with a fixed code.

    Parameters
    ----------
    classes : iterable of labels, default=None
        The initial classes, in the order of the score columns. New classes may follow.
    """

    def __init__(self, classes: Iterable[Any] | None = None) -> None:
        given = [] if classes is None else list(classes)
        self.labels = LabelTable(given)
        if len(self.labels) != len(given):
            raise ValueError(f"classes must be distinct labels, without None and NaN, got {given!r}.")
        self.n_given = len(given)
        self._aligned: tuple[list[Any], Codes] = [], np.empty(0, dtype=np.intp)  # of the last `align`

    def __len__(self) -> int:
        return len(self.labels)

    def copy(self) -> ClassColumns:
        """Return an independent copy."""
        made = ClassColumns.__new__(ClassColumns)
        made.labels, made.n_given, made._aligned = self.labels.copy(), self.n_given, self._aligned
        return made

    @property
    def classes(self) -> NDArray[Any]:
        """The labels: the initial ones in their order, then the others sorted."""
        labels = self.labels.decode(self.labels.order(self.n_given))
        kinds = {isinstance(label, str) for label in labels}
        return labels if len(kinds) != 1 else np.array(labels.tolist())

    def encode(self, y: Any) -> Codes:
        """Codes of labels; new labels get a new code."""
        codes = self.labels.encode("y", y)
        if (codes < 0).any():
            raise ValueError(f"y is missing in row {int(np.argmin(codes))}; pass labeled rows only.")
        return codes.astype(np.intp)

    def align(self, scores: Any, classes: Any) -> tuple[Floats, Codes]:
        """A matrix with one column per class, and the codes of these classes.

        One score f per row becomes (-f, f) for two classes.
        """
        matrix = score_matrix(scores, len(scores))
        if not (np.abs(matrix) <= MAX_SCORE).all():
            if np.isinf(matrix).any():
                raise ValueError("scores must not be infinite; pass NaN for a row without a score.")
            matrix = np.clip(matrix, -MAX_SCORE, MAX_SCORE)
        if matrix.shape[1] == 1:
            matrix = np.concatenate((-matrix, matrix), axis=1)
        if classes is None:
            codes = self.labels.order(self.n_given)
            if len(codes) != matrix.shape[1]:
                raise ValueError(
                    f"scores have {matrix.shape[1]} classes, but {len(codes)} classes are known: pass the "
                    "classes of the columns, for example classes=learner.classes_."
                )
            return matrix, codes
        codes = self.labels.encode("classes", classes).astype(np.intp)
        if len(codes) != matrix.shape[1] or len(set(codes.tolist())) != len(codes) or (codes < 0).any():
            raise ValueError(
                f"classes must have {matrix.shape[1]} distinct labels, one for each column of scores, got "
                f"{list(classes)!r}."
            )
        self._aligned = listed("classes", classes), codes
        return matrix, codes

    def align_one(self, scores: Any, classes: Any) -> tuple[Floats, Codes] | None:
        """`align` for one row of valid scores of the same classes as before; None for anything else."""
        names, codes = self._aligned
        if type(scores) is not np.ndarray or scores.dtype != np.float64 or not hasattr(classes, "tolist"):
            return None
        if len(codes) == 0 or classes.tolist() != names:
            return None
        if scores.shape == (1,) and len(codes) == 2:
            score = scores.item()
            return (np.array(((-score, score),)), codes) if abs(score) <= MAX_SCORE else None
        if scores.shape == (1, len(codes)) and (np.abs(scores) <= MAX_SCORE).all():
            return scores, codes
        return None

    def state(self) -> dict[str, Any]:
        """The state for `from_state`."""
        return {"labels": list(self.labels.labels), "n_given": self.n_given}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ClassColumns:
        """Restore the object from its `state`."""
        made = cls(checked.items("labels", state["labels"]))
        made.n_given = checked.integer("n_given", state["n_given"], most=len(made))
        return made


def check_weights(sample_weight: Any, n_rows: int) -> Floats:
    """Checked sample weights, 1 by default."""
    if sample_weight is None:
        return np.ones(n_rows)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,) or not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError(
            f"sample_weight must have a finite, non-negative number for each of the {n_rows} rows, got "
            f"{sample_weight!r}."
        )
    return weights


def scatter_columns(matrix: Floats, codes: Codes, n_classes: int) -> Floats:
    """A matrix with a column for each of `n_classes` classes: given columns at their codes, else NaN."""
    wide = np.full((len(matrix), n_classes), np.nan)
    wide[:, codes] = matrix
    return wide
