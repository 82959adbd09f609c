"""Which class each column of scores speaks for, with classes that may appear at any time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import checked
from .._base.labels import LabelTable, score_matrix

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

_LARGEST = 1e100  # squares of scores must not overflow


class ClassColumns:
    """The classes known so far, each with a number that never changes.

    Parameters
    ----------
    classes : iterable of labels, default=None
        The classes to begin with, in the order of the score columns. Others may follow.
    """

    def __init__(self, classes: Iterable[Any] | None = None) -> None:
        given = [] if classes is None else list(classes)
        self.labels = LabelTable(given)
        if len(self.labels) != len(given):
            raise ValueError(f"classes must hold different labels without None and NaN, got {given!r}.")
        self.n_given = len(given)

    def __len__(self) -> int:
        return len(self.labels)

    def copy(self) -> ClassColumns:
        """Return a copy that can grow without this one."""
        made = ClassColumns()
        made.labels, made.n_given = self.labels.copy(), self.n_given
        return made

    @property
    def classes(self) -> NDArray[Any]:
        """The labels: those given at the beginning, then the others in sorted order."""
        labels = self.labels.decode(self.labels.order(self.n_given))
        kinds = {isinstance(label, str) for label in labels}
        return labels if len(kinds) != 1 else np.array(labels.tolist())

    def encode(self, y: Any) -> Codes:
        """Numbers of labels; new ones get a number."""
        codes = self.labels.encode("y", y)
        if (codes < 0).any():
            raise ValueError(f"y is missing in row {int(np.argmin(codes))}; pass rows whose label is known.")
        return codes.astype(np.intp)

    def align(self, scores: Any, classes: Any) -> tuple[Floats, Codes]:
        """A matrix with one column per class, and the numbers of these classes.

        One score f per row becomes (-f, f) for the two classes.
        """
        matrix = score_matrix(scores, len(scores))
        if not (np.abs(matrix) <= _LARGEST).all():
            if np.isinf(matrix).any():
                raise ValueError("scores must not be infinite; pass NaN for a row that has no score.")
            matrix = np.clip(matrix, -_LARGEST, _LARGEST)
        if matrix.shape[1] == 1:
            matrix = np.concatenate((-matrix, matrix), axis=1)
        if classes is None:
            codes = self.labels.order(self.n_given)
            if len(codes) != matrix.shape[1]:
                raise ValueError(
                    f"scores are for {matrix.shape[1]} classes and {len(codes)} classes are known: name the "
                    "classes of the columns with classes=..., as in the learner's classes_."
                )
            return matrix, codes
        codes = self.labels.encode("classes", classes).astype(np.intp)
        if len(codes) != matrix.shape[1] or len(set(codes.tolist())) != len(codes) or (codes < 0).any():
            raise ValueError(
                f"classes must name {matrix.shape[1]} different classes, one for each column of scores, got "
                f"{list(classes)!r}."
            )
        return matrix, codes

    def state(self) -> dict[str, Any]:
        """What `from_state` needs."""
        return {"labels": list(self.labels.labels), "n_given": self.n_given}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ClassColumns:
        """Restore what `state` returned."""
        made = cls(checked.items("labels", state["labels"]))
        made.n_given = checked.integer("n_given", state["n_given"], most=len(made))
        return made


def check_weights(sample_weight: Any, n_rows: int) -> Floats:
    """Weights of rows, 1 by default."""
    if sample_weight is None:
        return np.ones(n_rows)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,) or not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError(
            f"sample_weight must hold a finite number, 0 or above, for each of the {n_rows} rows, got "
            f"{sample_weight!r}."
        )
    return weights


def spread_columns(matrix: Floats, codes: Codes, n_classes: int) -> Floats:
    """The columns at the places of their classes, NaN for the other classes."""
    wide = np.full((len(matrix), n_classes), np.nan)
    wide[:, codes] = matrix
    return wide
