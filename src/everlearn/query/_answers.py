"""The side of a loop that is asked: labels from an array, a function or a person, checked."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ._scores import has_learned
from ._strategy import Places


class StopAsking(Exception):
    """Raised by an oracle that wants no more questions; a loop then ends as if its labels were used up."""


class Answers:
    """What an oracle says of rows, in one form whatever it is.

    Invariant: a label that passes is one of the known classes, as a plain value; None stands for a row of
    which the oracle knows nothing.
    """

    def __init__(self, oracle: Any, classes: Any, model: Any, total: int) -> None:
        self.oracle = oracle
        self._oracle: Callable[[Places, Any], Any]
        if oracle is None or callable(oracle):  # None where answers are told, not asked for
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
        """The oracle's answers, one for each row, not looked at yet."""
        answer = self._oracle(numbers, rows)
        found = [answer] if _is_single(answer) else list(answer)
        if len(found) != len(numbers):
            raise ValueError(
                f"The oracle gave {len(found)} labels for {len(numbers)} rows: one is needed for each, None "
                "for a row about which nothing is known."
            )
        return found

    def checked(self, label: Any, row: int) -> Any:
        """One answer as a plain value; None if the oracle does not know."""
        if _is_missing(label):
            return None
        plain = label.item() if isinstance(label, np.generic | np.ndarray) and label.ndim == 0 else label
        try:
            return self._known[plain]
        except (KeyError, TypeError):
            raise ValueError(
                f"The oracle answered {label!r} for row {row}, which is none of the classes "
                f"{self.classes.tolist()!r}: answer one of them, or None for a row about which nothing is "
                "known."
            ) from None

    def rows_of_each_class(self, count: int, random: np.random.RandomState) -> Places:
        """Row numbers of `count` rows of each class, drawn at random: it looks at all labels of the array."""
        if self.labels is None:
            raise ValueError(
                f"initial_labels={count} needs an array of labels to draw rows of each class from: "
                "give initial_labels as a dict of row numbers and labels, or leave them to cold_start."
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
            f"oracle must be a function or hold one label for each of the {total} rows of X, got shape "
            f"{labels.shape}."
        )
    return labels


def _is_single(answer: Any) -> bool:
    if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        return True
    return isinstance(answer, np.ndarray | np.generic) and answer.ndim == 0


def _is_missing(label: Any) -> bool:
    """None, NaN, and what else differs from itself or will not say."""
    if label is None or isinstance(label, str | bytes | np.ndarray):
        return label is None
    try:
        return bool(label != label)
    except (TypeError, ValueError):
        return True


def _classes(labels: npt.NDArray[Any] | None, classes: Any, model: Any) -> npt.NDArray[Any]:
    """All labels that may come, sorted."""
    if has_learned(model):
        if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), model.classes_):
            raise ValueError(
                f"classes={classes!r} differs from those that the model knows, {model.classes_.tolist()!r}."
            )
        return np.asarray(model.classes_)
    if classes is None and labels is None:
        raise ValueError(
            "classes must be given: there is no array of labels to read them from, and the model knows none "
            "yet."
        )
    if classes is None:
        classes = [label for label in labels.tolist() if not _is_missing(label)]  # type: ignore[union-attr]
        if not classes:
            raise ValueError("oracle holds no label at all: every one is missing.")
    known = np.unique(np.asarray(classes))
    if len(known) < 2:
        raise ValueError(
            f"There is one class only, {known.tolist()[0]!r}: nothing can be told apart. Name all that may "
            "come with classes=..."
        )
    return known
