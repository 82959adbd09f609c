"""The events of a stream: rows arrive, labels are given and withdrawn, the scale is set, rows are erased.

The log consists of these events; the state of a learner is computed from them. Rows are identified by their
numbers, starting from 0.
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
    """A batch of rows, the first of which has the number ``first``; some of them have labels.

    ``labeled`` are the indices into ``X`` of the rows that have ``labels``.
    Rows that were erased are missing in ``X``; their numbers, counted from ``first``, are in ``gone``.
    """

    first: int
    X: Rows
    labeled: Ints
    labels: Array
    time: float
    gone: Ints | None = None

    @property
    def count(self) -> int:
        """The number of rows that arrived, including those erased since."""
        return int(self.X.shape[0]) + (0 if self.gone is None else len(self.gone))

    @property
    def numbers(self) -> Ints:
        """The numbers of the rows in ``X``."""
        numbers = np.arange(self.first, self.first + self.count)
        return numbers if self.gone is None else np.delete(numbers, self.gone)


@dataclass(frozen=True)
class Labeled:
    """Labels for rows of earlier batches; they replace earlier labels of these rows.

    They are answers of one annotator, with a weight (None for 1); or, if ``decided`` is true, the majority of
    several answers, which are in other events.
    """

    numbers: Ints
    labels: Array
    by: str
    time: float
    weight: float | None = None
    decided: bool | None = None


@dataclass(frozen=True)
class Answered:
    """Answers of one annotator for rows that have several answers; they are kept, but not learned.

    A `Labeled` event in the same transaction has the new majority where it changes. If ``retracted`` is true,
    the answers of this annotator are taken back, and ``labels`` is empty.
    """

    numbers: Ints
    labels: Array
    by: str
    time: float
    weight: float | None = None
    retracted: bool | None = None


@dataclass(frozen=True)
class Withdrawn:
    """The labels of these rows were withdrawn."""

    numbers: Ints
    by: str
    time: float


@dataclass(frozen=True)
class Asked:
    """A caller requested this many open questions, regardless of the label rate."""

    count: int
    time: float


@dataclass(frozen=True)
class Scaled:
    """From now on, rows are scaled as (x - mean) / scale."""

    mean: Floats
    scale: Floats
    time: float


@dataclass(frozen=True)
class Described:
    """A description of the features and how they are encoded from raw fields."""

    schema: dict[str, Any]
    time: float


@dataclass(frozen=True)
class Erased:
    """These rows were erased; earlier events were rewritten without them."""

    numbers: Ints
    by: str
    time: float


@dataclass(frozen=True)
class Expired:
    """The rows from ``starts[i]`` to ``stops[i] - 1``, for all i, exceeded the maximum age.

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


Event: TypeAlias = Arrived | Labeled | Answered | Withdrawn | Asked | Scaled | Described | Erased | Expired
_KINDS: dict[str, Any] = {
    "rows": Arrived,
    "labels": Labeled,
    "answers": Answered,
    "withdrawn": Withdrawn,
    "asked": Asked,
    "scaled": Scaled,
    "described": Described,
    "erased": Erased,
    "expired": Expired,
    "trimmed": Arrived,  # a batch from which rows were dropped: it can be read, but not replayed
}
_NAMES = {cls: kind for kind, cls in _KINDS.items() if kind != "trimmed"}
_FIELDS = {cls: [field.name for field in fields(cls)] for cls in _NAMES}


def encode(event: Event) -> tuple[str, bytes]:
    """The kind and the packed content of an event."""
    return _NAMES[type(event)], content_of(event)


def content_of(event: Event) -> bytes:
    """The packed content of an event, without entries that are None."""
    content = {name: getattr(event, name) for name in _FIELDS[type(event)]}
    return persist.pack({name: value for name, value in content.items() if value is not None})


def decode(kind: str, content: bytes) -> Event:
    """The event that `encode` wrote."""
    event: Event = _KINDS[kind](**persist.unpack(content))
    return event


def as_labels(values: list[Any]) -> Array:
    """Labels as an array; strings as objects."""
    strings = bool(values) and isinstance(values[0], str)  # NumPy's own would lose zeros at their end
    return np.array(values, dtype=object if strings else None)
