"""The state of a loop over a pool: questions, answers and labels so far."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ._questions import PoolQuestion


class Learned(NamedTuple):
    """What the model was taught about a row."""

    label: Any
    weight: float
    row_id: int | None  # by which the model can forget it


class PoolIdentity(NamedTuple):
    """What identifies a pool."""

    n_rows: int
    n_features: int
    digest: str


@dataclass
class LoopState:
    """The state of an `ActiveLearner` between runs, beside its model, history and stopping rule.

    Parameters
    ----------
    answers : dict of row number to list of labels
        All answers, in the order in which they came.
    learned : dict of row number to Learned
        What the model was taught.
    gone : list of int
        Rows asked about, answered or not, in order.
    pending : dict of row number to PoolQuestion
        Questions without an answer yet.
    pool : PoolIdentity, default=None
        The pool of the first run.
    experienced : bool, default=False
        Whether the model was fitted before the first run.
    seed : int, default=None
        The seed of everything that is drawn.
    """

    answers: dict[int, list[Any]] = field(default_factory=dict)
    learned: dict[int, Learned] = field(default_factory=dict)
    gone: list[int] = field(default_factory=list)
    pending: dict[int, PoolQuestion] = field(default_factory=dict)
    pool: PoolIdentity | None = None
    experienced: bool = False
    seed: int | None = None
