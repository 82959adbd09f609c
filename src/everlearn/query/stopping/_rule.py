"""What every stopping rule shares: what it is told, what it answers, and how its state is kept."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.base import BaseEstimator

from ..._base import constraints

if TYPE_CHECKING:
    from .combined import AllOf, AnyOf

Reading = list[Any]  # what a rule keeps of an event: the number of labels, then what it needs; plain values

_COUNT = constraints.integer_from(0)
_SHARE = constraints.Constraint(
    "None or a number from 0 to 1",
    lambda value: value is None or (constraints.is_real(value) and 0 <= value <= 1),
)
_FIELDS = {
    "n_labels": _COUNT,
    "n_support": constraints.NONE | _COUNT,
    "margin": constraints.NONE | constraints.NOT_NEGATIVE,
    "free_margin": constraints.NONE | constraints.NOT_NEGATIVE,
    "score": constraints.NONE | constraints.FINITE,
    "estimate": constraints.NONE | constraints.FINITE,
    "outside_margin": _SHARE,
    "examined_outside_margin": _SHARE,
    "confidence": _SHARE,
    "n_classes": constraints.NONE | _COUNT,
}


@dataclass(frozen=True)
class Progress:
    """What a loop knows after a label; all but the number of labels may be left out if no rule needs it.

    Attributes
    ----------
    n_labels : int
        Labels so far, this one included.
    n_support : int or None
        Number of support vectors after the label was learned.
    margin : float or None
        |f(x)| of the row asked about, before its label was learned; with more than two classes the gap
        between the two largest scores.
    free_margin : float or None
        Largest |f(x)| over the free support vectors, whose coefficients are at no bound, at the same time.
        None if there are none.
    score : float or None
        Score on rows kept apart.
    estimate : float or None
        Unbiased estimate of the score, however noisy: for instance 1 or 0 for whether the model was right
        about a row asked about at random, before it learned the label.
    outside_margin : float or None
        Share of the rows queried in this round that lie outside the margin, y f(x) > 1.
    examined_outside_margin : float or None
        The same of all rows examined in this round, whether queried or passed over.
    confidence : float or None
        Confidence c of a statistical query: how evenly the labels around the support vectors are divided.
    n_classes : int or None
        Number of classes; None is two.
    """

    n_labels: int
    n_support: int | None = None
    margin: float | None = None
    free_margin: float | None = None
    score: float | None = None
    estimate: float | None = None
    outside_margin: float | None = None
    examined_outside_margin: float | None = None
    confidence: float | None = None
    n_classes: int | None = None

    def __post_init__(self) -> None:
        for item in fields(self):
            value, constraint = getattr(self, item.name), _FIELDS[item.name]
            if not constraint.test(value):
                raise ValueError(f"{item.name} of Progress must be {constraint.accepts}, got {value!r}.")
            if value is not None:  # plain numbers, whatever kind they came in
                plain = int(value) if item.name in ("n_labels", "n_support", "n_classes") else float(value)
                object.__setattr__(self, item.name, plain)


@dataclass(frozen=True)
class Verdict:
    """What a stopping rule says.

    Attributes
    ----------
    stop : bool
        Whether to stop.
    reason : str
        Why, or why not yet, in words with numbers.
    evidence : dict
        The numbers.
    """

    stop: bool
    reason: str
    evidence: dict[str, Any] = field(default_factory=dict)


class StoppingRule(BaseEstimator, ABC):  # type: ignore[misc]
    """A rule that says when to stop; a subclass says what it keeps of an event and what it makes of it all.

    Its parameters are read and set as scikit-learn's are; `sklearn.base.clone` makes a rule of the same
    parameters that has been told nothing. What it has been told is all its state: `get_state` returns it in
    plain values, `set_state` takes it back into a rule of the same parameters.
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = {}
    _part_of_state: ClassVar[str] = "readings"

    def update(self, event: Progress) -> None:
        """Take note of a label.

        Parameters
        ----------
        event : Progress
            What the loop knows after it.
        """
        constraints.check(self)
        if not isinstance(event, Progress):
            raise TypeError(f"event must be an Progress, got {event!r}.")
        self._keep(self._read(event))

    def verdict(self) -> Verdict:
        """Whether to stop, and why; nothing is changed.

        Returns
        -------
        Verdict
            The verdict on what the rule has been told so far.
        """
        constraints.check(self)
        return self._verdict(self._readings)

    def plot(self, ax: Any = None) -> Any:
        """Draw the evidence over the number of labels; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        matplotlib Axes
            Where it was drawn.
        """
        constraints.check(self)
        ax = pyplot().subplots()[1] if ax is None else ax
        self._draw(ax, self._readings)
        verdict = self.verdict()
        ax.set_xlabel("labels")
        ax.set_title(f"{type(self).__name__}: {'stop' if verdict.stop else 'go on'}")
        if ax.get_legend_handles_labels()[0]:
            ax.legend()
        return ax

    def reset(self) -> None:
        """Forget everything that the rule has been told."""
        self.__dict__.pop("_kept", None)

    def get_state(self) -> dict[str, Any]:
        """What the rule has been told, in plain values that can be written as JSON.

        Returns
        -------
        dict
            The state, a copy.
        """
        return {"rule": type(self).__name__, "readings": [list(reading) for reading in self._readings]}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a state.

        Parameters
        ----------
        state : dict
            What `get_state` of a rule of the same kind returned.
        """
        self._check_state(state)
        self.__dict__["_kept"] = [list(reading) for reading in state["readings"]]

    def __or__(self, other: "StoppingRule") -> "AnyOf":
        from .combined import AnyOf

        return AnyOf.of(self, other) if isinstance(other, StoppingRule) else NotImplemented

    def __and__(self, other: "StoppingRule") -> "AllOf":
        from .combined import AllOf

        return AllOf.of(self, other) if isinstance(other, StoppingRule) else NotImplemented

    # ------------------------------------------------------------------------------------- for the subclasses

    @property
    def _readings(self) -> list[Reading]:
        return self.__dict__.get("_kept", [])  # type: ignore[no-any-return]

    @abstractmethod
    def _reading(self, event: Progress) -> Reading | None:
        """What to keep of an event; None if it has nothing for this rule."""

    @abstractmethod
    def _verdict(self, readings: list[Reading]) -> Verdict:
        """The verdict on all that was kept."""

    @abstractmethod
    def _draw(self, ax: Any, readings: list[Reading]) -> None:
        """Draw all that was kept."""

    def _needed(self, event: Progress, name: str) -> Any:
        """A value that the rule cannot do without."""
        value = getattr(event, name)
        if value is None:
            raise ValueError(
                f"{type(self).__name__} needs {name} of every label, but Progress has none: pass it."
            )
        return value

    def _read(self, event: Progress) -> Reading | None:
        """What to keep of an event that goes with those before it."""
        constraints.check(self)
        before = self._readings[-1][0] if self._readings else 0
        if event.n_labels < before:
            raise ValueError(
                f"The number of labels fell from {before} to {event.n_labels}: a rule follows one run. Call "
                "reset before another."
            )
        return self._reading(event)

    def _keep(self, reading: Reading | None) -> None:
        if reading is not None:
            self.__dict__.setdefault("_kept", []).append(reading)

    def _check_state(self, state: Any) -> None:
        name = type(self).__name__
        found = state.get("rule") if isinstance(state, dict) else None
        if found != name or not isinstance(state.get(self._part_of_state), list):
            raise ValueError(f"state must come from get_state of {name}, got one of {found!r}.")


def columns(readings: list[Reading]) -> list[list[Any]]:
    """Readings by what they are of, for a drawing."""
    return [list(column) for column in zip(*readings, strict=True)]


def pyplot() -> Any:
    """matplotlib's pyplot, imported when something is drawn."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError(
            'plot needs matplotlib, which is not installed: pip install "everlearn[plot]".'
        ) from error
    return plt
