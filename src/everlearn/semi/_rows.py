"""Rows that a stream holds, with the labels that were given, and which of them may go."""

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
    """Rows, class numbers, `UNKNOWN` where no label was given (never a label found here), and ids."""

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
        """Rows from a file; those of an older one, which has no ids, get none that could be named."""
        X, numbers, ids = parts if len(parts) == 3 else (*checked.items("held", parts, 2), None)
        checked.integers("numbers", numbers, (None,), least=UNKNOWN, most=n_classes - 1)
        count = len(numbers)
        if ids is None:
            ids = np.full(count, UNNAMED, dtype=np.int64)
        named = checked.array("ids", ids, np.int64, (count,))
        named = named[named != UNNAMED]
        if len(np.unique(named)) < len(named):
            raise ValueError("ids must name a row once")
        return cls(checked.rows("held rows", X, count, width), numbers, ids)

    def of(self, rows: Places) -> "Held":
        """Some of the rows."""
        return Held(self.X[rows], self.numbers[rows], self.ids[rows])

    def without(self, ids: Ints) -> "Held":
        """All rows but those with some ids."""
        return self.of(np.flatnonzero(~np.isin(self.ids, ids)))

    def hidden(self) -> "Held":
        """The same rows without labels."""
        return replace(self, numbers=np.full(len(self), UNKNOWN, dtype=np.int64))

    def renumbered(self, places: Ints) -> "Held":
        """The same with classes numbered anew."""
        known = self.numbers != UNKNOWN
        numbers = np.where(known, places[self.numbers], UNKNOWN) if len(places) else self.numbers
        return replace(self, numbers=numbers)

    def labels(self, classes: Array) -> Array:
        """The labels, None where there is none."""
        found = np.full(len(self), None, dtype=object)
        known = np.flatnonzero(self.numbers != UNKNOWN)
        found[known] = np.array(classes[self.numbers[known]].tolist(), dtype=object)
        return found

    def classes(self) -> set[int]:
        """The numbers of the classes that have a label."""
        return set(self.numbers[self.known].tolist())

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Which rows have a label."""
        return np.asarray(self.numbers != UNKNOWN)


def read_batch(y: Any, unlabeled: Any, rows: int) -> tuple[Array, Ints]:
    """The classes among the labels of a batch and the number of each row's; there may be none at all."""
    nothing = np.zeros(0), np.full(rows, UNKNOWN, dtype=np.int64)
    if y is None:
        return nothing
    y = label_column(y)
    if len(y) == rows and unknown_labels(y, unlabeled).all():
        return nothing
    return read_labels(y, unlabeled, rows)


def merge_classes(known: Array, new: Array) -> tuple[Array, Ints, Ints]:
    """All classes, and where the known and the new ones are among them."""
    if len(known) == 0 or len(new) == 0:
        classes = known if len(new) == 0 else new
    elif (known.dtype.kind in "US") != (new.dtype.kind in "US"):
        raise ValueError(
            f"y has labels such as {new.tolist()[0]!r}, and labels before were such as {known.tolist()[0]!r}."
        )
    else:
        classes = np.union1d(known, new)
    places = [np.searchsorted(classes, part).astype(np.int64) for part in (known, new)]
    return classes, places[0], places[1]


class Choosing:
    """Which of the rows held so far to keep, all compared in one space.

    Parameters
    ----------
    space : Space
        The rows held, and after them those of the batch that has arrived, under a kernel.
    old : Held
        The rows held.
    ahead : bool
        Whether rows near to those of the batch are worth more.
    max_labeled_per_class : int or None
        So many labeled rows of a class at most.
    room : int
        So many rows in all at most.
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
        """So many rows without a label can be kept."""
        n = len(self.unlabeled)
        return n if self.room is None else min(n, max(0, self.room - len(self.labeled)))

    def keep(self, M: int) -> Places:
        """The labeled rows that stay, then M exemplars of the others in the order of the rows."""
        if M == 0:
            return self.labeled
        rows = np.concatenate([self.labeled, self.unlabeled])
        marks = np.where(np.arange(len(rows)) < len(self.labeled), 1.0, np.nan)
        chosen = self._exemplars(M).fit(self.space.X[rows], marks, self.next).indices_
        return np.concatenate([self.labeled, np.sort(rows[chosen])])

    def _exemplars(self, M: int) -> Exemplars:
        return Exemplars(M, scaling="none", n_jobs=self.space.n_jobs, **parameters_of(self.space.kernel))

    def _labeled(self, max_labeled_per_class: int | None) -> Places:
        """Of each class the rows that stand for it best, if it has more than may stay."""
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
