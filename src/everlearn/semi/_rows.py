"""The stored rows of a stream with their given labels, and the choice of rows to keep."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._base import checked
from .._base.kernels import parameters_of
from .._base.validate import Array, Rows, label_column
from .._submodular.choice import Ints
from ..select import Exemplars
from ._labels import UNKNOWN, read_labels, unknown_labels
from ._space import Space

Places = npt.NDArray[np.intp]

UNNAMED = np.iinfo(np.int64).min  # no id


@dataclass(frozen=True)
class Held:
    """Rows, ids and class numbers: `UNKNOWN` if no label was given, never a transduced label."""

    X: Rows
    numbers: Ints
    ids: Ints

    def __len__(self) -> int:
        return len(self.numbers)

    def __add__(self, other: "Held") -> "Held":
        stack = sparse.vstack if sparse.issparse(self.X) else np.vstack
        options: dict[str, Any] = {"format": "csr"} if sparse.issparse(self.X) else {}
        return Held(
            stack([self.X, other.X], **options),
            np.concatenate([self.numbers, other.numbers]),
            np.concatenate([self.ids, other.ids]),
        )

    @classmethod
    def from_state(cls, parts: list[Any], n_classes: int, width: int) -> "Held":
        """Restore rows from a state; rows without ids get `UNNAMED`."""
        X, numbers, ids = parts if len(parts) == 3 else (*checked.items("held", parts, 2), None)
        checked.integers("numbers", numbers, (None,), least=UNKNOWN, most=n_classes - 1)
        count = len(numbers)
        if ids is None:
            ids = np.full(count, UNNAMED, dtype=np.int64)
        named = checked.array("ids", ids, np.int64, (count,))
        named = named[named != UNNAMED]
        if len(np.unique(named)) < len(named):
            raise ValueError("ids must be unique")
        return cls(checked.rows("held rows", X, count, width), numbers, ids)

    def of(self, rows: Places) -> "Held":
        """The rows at these positions."""
        return Held(self.X[rows], self.numbers[rows], self.ids[rows])

    def without(self, ids: Ints) -> "Held":
        """All rows except those with these ids."""
        return self.of(np.flatnonzero(~np.isin(self.ids, ids)))

    def hidden(self) -> "Held":
        """The same rows without labels."""
        return replace(self, numbers=np.full(len(self), UNKNOWN, dtype=np.int64))

    def renumbered(self, places: Ints) -> "Held":
        """The same rows with new class numbers; ``places`` maps old numbers to new ones."""
        known = self.numbers != UNKNOWN
        numbers = np.where(known, places[self.numbers], UNKNOWN) if len(places) else self.numbers
        return replace(self, numbers=numbers)

    def labels(self, classes: Array) -> Array:
        """The labels; None for unlabeled rows."""
        found = np.full(len(self), None, dtype=object)
        known = np.flatnonzero(self.numbers != UNKNOWN)
        found[known] = np.array(classes[self.numbers[known]].tolist(), dtype=object)
        return found

    def classes(self) -> set[int]:
        """The numbers of the classes with labeled rows."""
        return set(self.numbers[self.known].tolist())

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Which rows have a label."""
        return np.asarray(self.numbers != UNKNOWN)


def read_batch(y: Any, unlabeled: Any, rows: int) -> tuple[Array, Ints]:
    """The classes of a batch and the class number of each row; a batch may have no labels."""
    nothing = np.zeros(0), np.full(rows, UNKNOWN, dtype=np.int64)
    if y is None:
        return nothing
    y = label_column(y)
    if len(y) == rows and unknown_labels(y, unlabeled).all():
        return nothing
    return read_labels(y, unlabeled, rows)


def merge_classes(known: Array, new: Array) -> tuple[Array, Ints, Ints]:
    """All classes, and the positions of the known and of the new classes among them."""
    if len(known) == 0 or len(new) == 0:
        classes = known if len(new) == 0 else new
    elif (known.dtype.kind in "US") != (new.dtype.kind in "US"):
        raise ValueError(
            f"y has labels such as {new.tolist()[0]!r}, but earlier labels were such as "
            f"{known.tolist()[0]!r}: use only strings or only numbers."
        )
    else:
        classes = np.union1d(known, new)
    places = [np.searchsorted(classes, part).astype(np.int64) for part in (known, new)]
    return classes, places[0], places[1]


class Choosing:
    """Choice of the stored rows to keep, compared in one space.

    Parameters
    ----------
    space : Space
        The stored rows, followed by the rows of the new batch, under a kernel.
    old : Held
        The stored rows.
    ahead : bool
        Whether to prefer rows similar to the rows of the batch.
    max_labeled_per_class : int or None
        Maximum number of labeled rows per class.
    room : int
        Maximum number of rows in total.
    """

    def __init__(
        self, space: Space, old: Held, ahead: bool, max_labeled_per_class: int | None, room: int | None
    ) -> None:
        self.space, self.old, self.room = space, old, room
        self.next = space.X[len(old) :] if ahead else None
        self.labeled = self._labeled(max_labeled_per_class)
        self.unlabeled = np.flatnonzero(~old.known)

    @property
    def most(self) -> int:
        """Maximum number of unlabeled rows to keep."""
        n = len(self.unlabeled)
        return n if self.room is None else min(n, max(0, self.room - len(self.labeled)))

    def keep(self, M: int) -> Places:
        """The labeled rows to keep, then M exemplars of the unlabeled rows in row order."""
        if M == 0:
            return self.labeled
        rows = np.concatenate([self.labeled, self.unlabeled])
        marks = np.where(np.arange(len(rows)) < len(self.labeled), 1.0, np.nan)
        chosen = self._exemplars(M).fit(self.space.X[rows], marks, self.next).indices_
        return np.concatenate([self.labeled, np.sort(rows[chosen])])

    def _exemplars(self, M: int) -> Exemplars:
        return Exemplars(M, scaling="none", n_jobs=self.space.n_jobs, **parameters_of(self.space.kernel))

    def _labeled(self, max_labeled_per_class: int | None) -> Places:
        """The labeled rows to keep: exemplars of each class that has too many."""
        L = np.flatnonzero(self.old.known)
        classes = np.unique(self.old.numbers[L])
        if self.room is not None and len(L) > self.room:
            share = max(1, self.room // max(1, len(classes)))
            max_labeled_per_class = (
                share if max_labeled_per_class is None else min(max_labeled_per_class, share)
            )
        if max_labeled_per_class is None:
            return L
        kept: list[int] = []
        for number in classes:
            rows = L[self.old.numbers[L] == number]
            if len(rows) > max_labeled_per_class:
                rows = rows[self._exemplars(max_labeled_per_class).fit(self.space.X[rows]).indices_]
            kept += rows.tolist()
        return np.sort(np.array(kept, dtype=np.intp))[: self.room]
