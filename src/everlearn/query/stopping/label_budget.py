"""LabelBudget: stop after so many labels."""

from typing import Any, ClassVar

from ..._base import constraints
from ._rule import Progress, Reading, StoppingRule, Verdict, columns


class LabelBudget(StoppingRule):
    """Stop after so many labels.

    By itself the plainest of rules; with ``|`` the limit of another one, with ``&`` the least that it must
    have seen.

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
    The budget of 2 labels is used up: there are 2.
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = {"max_labels": constraints.integer_from(0)}

    def __init__(self, max_labels: int = 100) -> None:
        self.max_labels = max_labels

    def _reading(self, event: Progress) -> Reading:
        return [event.n_labels]

    def _verdict(self, readings: list[Reading]) -> Verdict:
        used, budget = (readings[-1][0] if readings else 0), int(self.max_labels)
        stop = used >= budget
        words = f"The budget of {budget} labels is used up: there are {used}."
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
