"""LabelBudget: stop after a number of labels."""

from typing import Any, ClassVar

from ..._base import constraints
from ._stopping_rule import Progress, Reading, StoppingRule, Verdict, columns


class LabelBudget(StoppingRule):
    """Stop after a number of labels.

    ``other | LabelBudget(n)`` limits another rule to n labels; ``other & LabelBudget(n)`` lets it stop after
    at least n labels.

    Parameters
    ----------
    max_labels : int, default=100
        The number of labels.

    Examples
    --------
    >>> from everlearn.query.stopping import Progress, LabelBudget
    >>> rule = LabelBudget(max_labels=2)
    >>> for number in (1, 2):
    ...     rule.update(Progress(number))
    >>> print(rule.verdict().reason)
    The budget of 2 labels is used up (2 labels).
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = {"max_labels": constraints.integer_from(0)}

    def __init__(self, max_labels: int = 100) -> None:
        self.max_labels = max_labels

    def _reading(self, event: Progress) -> Reading:
        return [event.n_labels]

    def _verdict(self, readings: list[Reading]) -> Verdict:
        used, budget = (readings[-1][0] if readings else 0), int(self.max_labels)
        stop = used >= budget
        words = f"The budget of {budget} labels is used up ({used} labels)."
        return Verdict(
            stop,
            words if stop else f"{used} of {budget} labels are used.",
            {"labels": used, "budget": budget},
        )

    def _draw(self, ax: Any, readings: list[Reading]) -> None:
        if readings:
            (labels,) = columns(readings)
            ax.plot(labels, labels, label="labels used")
        ax.axhline(int(self.max_labels), color="0.5", linestyle="--", label="budget")
        ax.set_ylabel("labels")
