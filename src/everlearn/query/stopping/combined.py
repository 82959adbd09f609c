"""AnyOf and AllOf: combinations of stopping rules."""

from typing import Any, ClassVar, TypeVar

from ..._base import constraints
from ._stopping_rule import Progress, Reading, StoppingRule, Verdict, pyplot

Combined = TypeVar("Combined", bound="_Combined")

_RULES = constraints.Constraint(
    "a tuple or list of stopping rules, at least one",
    lambda value: (
        isinstance(value, tuple | list) and len(value) > 0 and all(isinstance(r, StoppingRule) for r in value)
    ),
)


class _Combined(StoppingRule):
    """Several rules that receive the same progress; its state is theirs."""

    rules: Any
    _constraints: ClassVar[dict[str, constraints.Constraint]] = {"rules": _RULES}
    _part_of_state: ClassVar[str] = "rules"

    @classmethod
    def of(cls: type[Combined], first: StoppingRule, second: StoppingRule) -> Combined:
        """Combine two rules; combinations of the same kind are flattened."""
        parts = [rule.rules if type(rule) is cls else (rule,) for rule in (first, second)]
        return cls((*parts[0], *parts[1]))

    def verdict(self) -> Verdict:
        """Decide whether to stop, and why; changes nothing.

        Returns
        -------
        Verdict
            Its reason joins those of the deciding rules; its evidence has theirs by name.
        """
        constraints.check(self)
        verdicts = [rule.verdict() for rule in self.rules]
        stop = self._decide([verdict.stop for verdict in verdicts])
        evidence: dict[str, Any] = {}
        for rule, verdict in zip(self.rules, verdicts, strict=True):
            name = type(rule).__name__
            same = sum(key.split(" ")[0] == name for key in evidence)
            evidence[f"{name} {same + 1}" if same else name] = {"stop": verdict.stop, **verdict.evidence}
        reason = " ".join(verdict.reason for verdict in verdicts if verdict.stop == stop)
        return Verdict(stop, reason, evidence)

    def plot(self, ax: Any = None) -> Any:
        """Plot the evidence of each rule, including nested ones; needs matplotlib.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, default=None
            The axes, one for each rule. None creates a new figure with one below the other.

        Returns
        -------
        list of matplotlib Axes
            The axes.
        """
        constraints.check(self)
        simple = self._simple()
        count = len(simple)
        if ax is None:
            size = (6.4, 3.2 * count)
            ax = pyplot().subplots(count, squeeze=False, figsize=size, layout="constrained")[1][:, 0]
        axes = list(ax) if hasattr(ax, "__iter__") else [ax]
        if len(axes) != count:
            raise ValueError(f"ax must contain one Axes for each of the {count} rules, got {len(axes)}.")
        return [rule.plot(one) for rule, one in zip(simple, axes, strict=True)]

    def reset(self) -> None:
        """Forget everything that was recorded."""
        for rule in self.rules:
            rule.reset()

    def get_state(self) -> dict[str, Any]:
        """Return what was recorded, as plain values that can be written as JSON.

        Returns
        -------
        dict
            The state, a copy.
        """
        return {"rule": type(self).__name__, "rules": [rule.get_state() for rule in self.rules]}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from a state.

        Parameters
        ----------
        state : dict
            From `get_state` of a combination of the same rules.
        """
        self._check_state(state)
        for rule, part in zip(self.rules, state["rules"], strict=True):
            rule.set_state(part)

    def _simple(self) -> list[StoppingRule]:
        """The rules that are not combinations."""
        return [
            simple
            for rule in self.rules
            for simple in (rule._simple() if isinstance(rule, _Combined) else [rule])
        ]

    def _decide(self, stops: list[bool]) -> bool:
        raise NotImplementedError

    def _check_state(self, state: Any) -> None:
        super()._check_state(state)
        if len(state["rules"]) != len(self.rules):
            raise ValueError(f"state must have {len(self.rules)} rules, got {len(state['rules'])}.")
        for rule, part in zip(self.rules, state["rules"], strict=True):
            rule._check_state(part)

    def _read(self, event: Progress) -> Reading:
        return [rule._read(event) for rule in self.rules]  # all check before any records

    def _keep(self, reading: Reading | None) -> None:
        for rule, part in zip(self.rules, reading or [], strict=True):
            rule._keep(part)

    # Only for rules with readings of their own; a combination has none.

    def _reading(self, event: Progress) -> Reading | None:
        raise NotImplementedError

    def _verdict(self, readings: list[Reading]) -> Verdict:
        raise NotImplementedError

    def _draw(self, ax: Any, readings: list[Reading]) -> None:
        raise NotImplementedError


class AnyOf(_Combined):
    """Stop when at least one rule says stop; written ``a | b``.

    Parameters
    ----------
    rules : tuple or list of stopping rules
        The rules. Each receives the same progress.

    Examples
    --------
    >>> from everlearn.query.stopping import Progress, LabelBudget, MarginExhausted
    >>> rule = MarginExhausted() | LabelBudget(500)
    >>> rule.update(Progress(1, margin=0.4))
    >>> rule.verdict().stop
    False
    >>> rule.update(Progress(2, margin=1.2))
    >>> rule.verdict().stop
    True
    """

    def __init__(self, rules: Any) -> None:
        self.rules = rules

    def _decide(self, stops: list[bool]) -> bool:
        return any(stops)


class AllOf(_Combined):
    """Stop when all rules say stop at the same time; written ``a & b``.

    Parameters
    ----------
    rules : tuple or list of stopping rules
        The rules. Each receives the same progress.

    Examples
    --------
    >>> from everlearn.query.stopping import Progress, LabelBudget, MarginExhausted
    >>> rule = MarginExhausted() & LabelBudget(2)  # at least two labels
    >>> rule.update(Progress(1, margin=1.1))
    >>> print(rule.verdict().reason)
    1 of 2 labels are used.
    >>> rule.update(Progress(2, margin=1.2))
    >>> rule.verdict().stop
    True
    """

    def __init__(self, rules: Any) -> None:
        self.rules = rules

    def _decide(self, stops: list[bool]) -> bool:
        return all(stops)
