"""What happens to a stream, as facts: rows arrive, labels are given and withdrawn, rows are scaled.

The log holds these and nothing else; what a learner makes of them is a fold over it. Rows are known by their
number, 0 for the first that ever came.
"""

from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .. import _persist
from .._validate import Array, Rows

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Arrived:
    """A batch of rows, the first of which has the number ``first``; some of them with labels."""

    first: int
    X: Rows
    places: Ints
    labels: Array
    time: float

    @property
    def numbers(self) -> Ints:
        """The numbers of the rows."""
        return np.arange(self.first, self.first + self.X.shape[0])


@dataclass(frozen=True)
class Labelled:
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
    """From now on rows are (x - mean) / spread to the learner."""

    mean: Floats
    spread: Floats
    time: float


@dataclass(frozen=True)
class Described:
    """What the columns are and how they come from raw fields."""

    schema: dict[str, Any]
    time: float


Event: TypeAlias = Arrived | Labelled | Withdrawn | Asked | Scaled | Described
_KINDS: dict[str, Any] = {
    "rows": Arrived,
    "labels": Labelled,
    "withdrawn": Withdrawn,
    "asked": Asked,
    "scaled": Scaled,
    "described": Described,
    "trimmed": Arrived,  # a batch of which rows were dropped; it can be looked at, but not folded
}
_NAMES = {cls: kind for kind, cls in _KINDS.items() if kind != "trimmed"}


def encode(event: Event) -> tuple[str, bytes]:
    """The kind of an event and its content, as the log holds it."""
    content = {field.name: getattr(event, field.name) for field in fields(event)}
    return _NAMES[type(event)], _persist.pack(content)


def decode(kind: str, content: bytes) -> Event:
    """The event that `encode` wrote."""
    event: Event = _KINDS[kind](**_persist.unpack(content))
    return event


def as_labels(values: list[Any]) -> Array:
    """Labels as an array: numbers and bools as they are, strings as objects."""
    strings = bool(values) and isinstance(values[0], str)  # NumPy's own would lose zeros at their end
    return np.array(values, dtype=object if strings else None)
