"""StoppingRule: the base class of stopping rules, its input (`Progress`) and its output (`Verdict`)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.base import BaseEstimator

from ..._base import constraints

if TYPE_CHECKING:
    from .combined import AllOf, AnyOf

Reading = list[Any]  # what a rule keeps of a `Progress`: the number of labels, then the values that it needs

_COUNT = constraints.integer_from(0)
_FRACTION = constraints.Constraint(
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
    "outside_margin": _FRACTION,
    "examined_outside_margin": _FRACTION,
    "confidence": _FRACTION,
    "n_classes": constraints.NONE | _COUNT,
}


@dataclass(frozen=True)
class Progress:
    """The state of a loop after a label. Only ``n_labels`` is required, and what the rule needs.

    Attributes
    ----------
    n_labels : int
        Number of labels, this one included.
    n_support : int or None
        Number of support vectors after the label was learned.
    margin : float or None
        |f(x)| of the row asked about, before its label was learned; with more than two classes the gap
        between the two largest scores.
    free_margin : float or None
        Largest |f(x)| at that time over the free support vectors, whose coefficients are strictly between
        their bounds. None if there are none.
    score : float or None
        Score on held-out rows.
    estimate : float or None
        Unbiased estimate of the score, however noisy: for example 1 or 0 for whether the model was right
        about a random row before it learned the label.
    outside_margin : float or None
        Fraction of the rows selected in this round that lie outside the margin, y f(x) > 1.
    examined_outside_margin : float or None
        The same for all rows examined in this round, selected or not.
    confidence : float or None
        Confidence c of a statistical query: how evenly the labels around the support vectors are mixed.
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
            if value is not None:  # NumPy numbers become Python numbers
                plain = int(value) if item.name in ("n_labels", "n_support", "n_classes") else float(value)
                object.__setattr__(self, item.name, plain)


@dataclass(frozen=True)
class Verdict:
    """The answer of a stopping rule.

    Attributes
    ----------
    stop : bool
        Whether to stop.
    reason : str
        Why, or why not yet, with numbers.
    evidence : dict
        The numbers.
    """

    stop: bool
    reason: str
    evidence: dict[str, Any] = field(default_factory=dict)


class StoppingRule(BaseEstimator, ABC):  # type: ignore[misc]
    """Base class of the rules that say when to stop asking for labels.

    Its parameters are read and set as in scikit-learn; `sklearn.base.clone` creates a rule with the same
    parameters and no progress. The recorded progress is its only state: `get_state` returns it as plain
    values, `set_state` restores it in a rule with the same parameters.
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = {}
    _part_of_state: ClassVar[str] = "readings"

    def update(self, event: Progress) -> None:
        """Record the progress after a label.

        Parameters
        ----------
        event : Progress
            The state of the loop after it.
        """
        constraints.check(self)
        if not isinstance(event, Progress):
            raise TypeError(f"event must be a Progress, got {event!r}.")
        self._keep(self._read(event))

    def verdict(self) -> Verdict:
        """Decide whether to stop, and why; changes nothing.

        Returns
        -------
        Verdict
            The verdict on what has been recorded so far.
        """
        constraints.check(self)
        return self._verdict(self._readings)

    def plot(self, ax: Any = None) -> Any:
        """Plot the evidence over the number of labels; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes. None creates a new figure.

        Returns
        -------
        matplotlib Axes
            The axes.
        """
        constraints.check(self)
        ax = pyplot().subplots()[1] if ax is None else ax
        self._draw(ax, self._readings)
        verdict = self.verdict()
        ax.set_xlabel("labels")
        ax.set_title(f"{type(self).__name__}: {'stop' if verdict.stop else 'continue'}")
        if ax.get_legend_handles_labels()[0]:
            ax.legend()
        return ax

    def reset(self) -> None:
        """Forget everything that was recorded."""
        self.__dict__.pop("_kept", None)

    def get_state(self) -> dict[str, Any]:
        """Return what was recorded, as plain values that can be written as JSON.

        Returns
        -------
        dict
            The state, a copy.
        """
        return {"rule": type(self).__name__, "readings": [list(reading) for reading in self._readings]}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from a state.

        Parameters
        ----------
        state : dict
            From `get_state` of a rule of the same class.
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
        """What to keep of a progress; None if it lacks what this rule needs."""

    @abstractmethod
    def _verdict(self, readings: list[Reading]) -> Verdict:
        """The verdict on all readings."""

    @abstractmethod
    def _draw(self, ax: Any, readings: list[Reading]) -> None:
        """Plot all readings."""

    def _needed(self, event: Progress, name: str) -> Any:
        """A value that the rule requires."""
        value = getattr(event, name)
        if value is None:
            raise ValueError(
                f"{type(self).__name__} needs {name} after every label, but Progress has none: pass it."
            )
        return value

    def _read(self, event: Progress) -> Reading | None:
        """What to keep of a progress, after a check that it follows those before."""
        constraints.check(self)
        before = self._readings[-1][0] if self._readings else 0
        if event.n_labels < before:
            raise ValueError(
                f"n_labels fell from {before} to {event.n_labels}: a stopping rule follows one run. Call "
                "reset before another one."
            )
        return self._reading(event)

    def _keep(self, reading: Reading | None) -> None:
        if reading is not None:
            self.__dict__.setdefault("_kept", []).append(reading)

    def _check_state(self, state: Any) -> None:
        name = type(self).__name__
        found = state.get("rule") if isinstance(state, dict) else None
        if found != name or not isinstance(state.get(self._part_of_state), list):
            raise ValueError(f"state must come from get_state of {name}, got a state of {found!r}.")


def columns(readings: list[Reading]) -> list[list[Any]]:
    """Readings by value, for a plot."""
    return [list(column) for column in zip(*readings, strict=True)]


def pyplot() -> Any:
    """matplotlib's pyplot, imported when it is needed."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError(
            'plot needs matplotlib, which is not installed: pip install "everlearn[plot]".'
        ) from error
    return plt
