"""Labels from an oracle, checked: an array, a function or a person."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ._rows import Places
from ._scores import has_learned


class StopAsking(Exception):
    """Raised by an oracle to end a run, as if ``max_labels`` had been reached."""


class Answers:
    """The answers of any kind of oracle.

    Invariant: a checked label is one of the known classes, as a Python value, or None if it is unknown.
    """

    def __init__(self, oracle: Any, classes: Any, model: Any, total: int) -> None:
        self.oracle = oracle
        self._oracle: Callable[[Places, Any], Any]
        if oracle is None or callable(oracle):  # None if the caller passes answers to `tell`
            self.labels = None
            self._oracle = oracle
        else:
            self.labels = labels = _column(oracle, total)
            self._oracle = lambda numbers, rows: labels[numbers]
        if classes is None and self.labels is None:
            classes = getattr(oracle, "classes", None)
        self.classes = _classes(self.labels, classes, model)
        self._known = {label: label for label in self.classes.tolist()}

    def __call__(self, numbers: Places, rows: Any) -> list[Any]:
        """The oracle's answers, one for each row, not checked yet."""
        answer = self._oracle(numbers, rows)
        found = [answer] if is_single(answer) else list(answer)
        if len(found) != len(numbers):
            raise ValueError(
                f"The oracle returned {len(found)} labels for {len(numbers)} rows: it must return one for "
                "each, None for a label that it does not know."
            )
        return found

    def checked(self, label: Any, row: int) -> Any:
        """One answer as a Python value; None if the label is unknown."""
        if _is_missing(label):
            return None
        plain = label.item() if isinstance(label, np.generic | np.ndarray) and label.ndim == 0 else label
        try:
            return self._known[plain]
        except (KeyError, TypeError):
            raise ValueError(
                f"The oracle answered {label!r} for row {row}, which is not one of the classes "
                f"{self.classes.tolist()!r}: answer one of them, or None for an unknown label."
            ) from None

    def rows_of_each_class(self, count: int, random: np.random.RandomState) -> Places:
        """Numbers of `count` random rows of each class; reads all labels of the array."""
        if self.labels is None:
            raise ValueError(
                f"initial_labels={count} needs an array of labels in which to find rows of each class: pass "
                "a dict of row numbers and labels instead, or leave them to cold_start."
            )
        found = []
        for label in self.classes:
            rows = np.flatnonzero(self.labels == label)
            found.append(rows[random.permutation(len(rows))[:count]])
        return np.concatenate(found).astype(np.intp)


def _column(oracle: Any, total: int) -> npt.NDArray[Any]:
    labels = np.asarray(oracle)
    if labels.dtype.kind not in "biuf":  # a NaN among strings stays one
        labels = np.asarray(oracle, dtype=object)
    if labels.ndim != 1 or len(labels) != total:
        raise ValueError(
            f"oracle must be a function, or one label for each of the {total} rows of X, got shape "
            f"{labels.shape}."
        )
    return labels


def is_single(answer: Any) -> bool:
    """Whether an answer is one label, not a sequence of labels."""
    if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        return True
    return isinstance(answer, np.ndarray | np.generic) and answer.ndim == 0


def _is_missing(label: Any) -> bool:
    """Whether a label is None, NaN or another value that differs from itself, such as pandas.NA."""
    if label is None or isinstance(label, str | bytes | np.ndarray):
        return label is None
    try:
        return bool(label != label)
    except (TypeError, ValueError):
        return True


def _classes(labels: npt.NDArray[Any] | None, classes: Any, model: Any) -> npt.NDArray[Any]:
    """All labels that can occur, sorted."""
    if has_learned(model):
        if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), model.classes_):
            raise ValueError(
                f"classes={classes!r} differs from the classes of the fitted model, "
                f"{model.classes_.tolist()!r}."
            )
        return np.asarray(model.classes_)
    if classes is None and labels is None:
        raise ValueError(
            "classes is required: there is no array of labels to read them from, and the model is not fitted."
        )
    if classes is None:
        classes = [label for label in labels.tolist() if not _is_missing(label)]  # type: ignore[union-attr]
        if not classes:
            raise ValueError("All labels in oracle are missing.")
    known = np.unique(np.asarray(classes))
    if len(known) < 2:
        raise ValueError(
            f"There is only one class, {known.tolist()[0]!r}, and at least two are needed: pass all labels "
            "that can occur as classes=..."
        )
    return known
