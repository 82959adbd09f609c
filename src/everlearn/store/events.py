"""What happens to a stream, as facts: rows arrive, labels are given and withdrawn, rows are scaled, erased.

The log holds these and nothing else; what a learner makes of them is a fold over it. Rows are known by their
number, 0 for the first that ever came.
"""

from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .._base import persist
from .._base.validate import Array, Rows

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Arrived:
    """A batch of rows, the first of which has the number ``first``; some of them with labels.

    Rows that were erased are missing in ``X``; their numbers, counted from ``first``, are in ``gone``.
    """

    first: int
    X: Rows
    places: Ints
    labels: Array
    time: float
    gone: Ints | None = None

    @property
    def count(self) -> int:
        """How many rows came, those included that were erased since."""
        return int(self.X.shape[0]) + (0 if self.gone is None else len(self.gone))

    @property
    def numbers(self) -> Ints:
        """The numbers of the rows that are here."""
        numbers = np.arange(self.first, self.first + self.count)
        return numbers if self.gone is None else np.delete(numbers, self.gone)


@dataclass(frozen=True)
class Labeled:
    """Labels for rows that came before; they replace those that these rows had."""

    numbers: Ints
    labels: Array
    by: str
    time: float


@dataclass(frozen=True)
class Withdrawn:
    """The labels of these rows are no longer held to be true."""

    numbers: Ints
    by: str
    time: float


@dataclass(frozen=True)
class Asked:
    """Somebody has time for so many questions, whatever the rate is."""

    count: int
    time: float


@dataclass(frozen=True)
class Scaled:
    """From now on rows are (x - mean) / scale to the learner."""

    mean: Floats
    scale: Floats
    time: float


@dataclass(frozen=True)
class Described:
    """What the columns are and how they come from raw fields."""

    schema: dict[str, Any]
    time: float


@dataclass(frozen=True)
class Erased:
    """Everything about these rows was erased; the events that told of them were rewritten without them."""

    numbers: Ints
    by: str
    time: float


@dataclass(frozen=True)
class Expired:
    """These rows, from each of ``starts`` up to the ``stops`` next to it, have become too old to be kept.

    ``n_labels`` of them had a label.
    """

    starts: Ints
    stops: Ints
    n_labels: int
    time: float

    @property
    def numbers(self) -> Ints:
        """The numbers of the rows."""
        ranges = [np.arange(a, b) for a, b in zip(self.starts.tolist(), self.stops.tolist(), strict=True)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *ranges])


Event: TypeAlias = Arrived | Labeled | Withdrawn | Asked | Scaled | Described | Erased | Expired
_KINDS: dict[str, Any] = {
    "rows": Arrived,
    "labels": Labeled,
    "withdrawn": Withdrawn,
    "asked": Asked,
    "scaled": Scaled,
    "described": Described,
    "erased": Erased,
    "expired": Expired,
    "trimmed": Arrived,  # a batch of which rows were dropped; it can be looked at, but not folded
}
_NAMES = {cls: kind for kind, cls in _KINDS.items() if kind != "trimmed"}


def encode(event: Event) -> tuple[str, bytes]:
    """The kind of an event and its content, as the log holds it."""
    return _NAMES[type(event)], content_of(event)


def content_of(event: Event) -> bytes:
    """What an event holds, packed; an entry that is None is left out."""
    content = {field.name: getattr(event, field.name) for field in fields(event)}
    return persist.pack({name: value for name, value in content.items() if value is not None})


def decode(kind: str, content: bytes) -> Event:
    """The event that `encode` wrote."""
    event: Event = _KINDS[kind](**persist.unpack(content))
    return event


def as_labels(values: list[Any]) -> Array:
    """Labels as an array: numbers and bools as they are, strings as objects."""
    strings = bool(values) and isinstance(values[0], str)  # NumPy's own would lose zeros at their end
    return np.array(values, dtype=object if strings else None)
