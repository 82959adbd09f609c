"""MarginExhausted: stop when the rows asked about lie outside the margin.

S. Ertekin, "Learning in Extreme Conditions" (thesis, 2009), chapter 4.
"""

from typing import Any, ClassVar

from ..._base import constraints
from ._stopping_rule import Progress, Reading, StoppingRule, Verdict, columns


class MarginExhausted(StoppingRule):
    """Stop when the rows asked about are no closer to the boundary than the support vectors.

    A strategy such as `Margin` selects the row nearest to the boundary. If it lies outside the margin, so do
    all other rows that were scored, and none of them would become a support vector.

    Parameters
    ----------
    patience : int, default=1
        How many such rows in succession are required. A strategy that draws a few rows at random may miss the
        nearest one; a higher number guards against that.

    Notes
    -----
    Needs ``margin``; labels without it, such as those of rows that no strategy selected, are skipped. A row
    is outside if |f(x)| is at least the largest |f| over the free support vectors, ``free_margin``, or 1 if
    there are none (2 with more than two classes, where the margin is a gap between two scores). Support
    vectors at their bound do not count: with label noise they lie anywhere, and the rule would never stop.

    References
    ----------
    S. Ertekin, *Learning in Extreme Conditions: Online and Active Learning with Massive, Imbalanced and Noisy
    Data*, thesis, 2009.

    Examples
    --------
    >>> from everlearn.query.stopping import Progress, MarginExhausted
    >>> rule = MarginExhausted()
    >>> rule.update(Progress(30, margin=0.31, free_margin=1.02))
    >>> rule.verdict().stop
    False
    >>> rule.update(Progress(31, margin=1.07, free_margin=1.01))
    >>> print(rule.verdict().reason)
    The last 1 question was about a row outside the margin: |f| = 1.07, the free support vectors reach 1.01.
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = {"patience": constraints.integer_from(1)}

    def __init__(self, patience: int = 1) -> None:
        self.patience = patience

    def _reading(self, event: Progress) -> Reading | None:
        if event.margin is None:
            return None
        whole = 1.0 if (event.n_classes or 2) == 2 else 2.0  # the gap between the scores 1 and -1
        bound = whole if event.free_margin is None else event.free_margin
        return [event.n_labels, event.margin, bound, event.free_margin is not None]

    def _verdict(self, readings: list[Reading]) -> Verdict:
        patience, in_succession = int(self.patience), 0
        for _, margin, bound, _ in reversed(readings):
            if margin < bound:
                break
            in_succession += 1
        if not readings:
            return Verdict(False, "No questions yet.", {"in_succession": 0, "patience": patience})
        _, margin, bound, has_free = readings[-1]
        stop = in_succession >= patience
        what = (
            "the free support vectors reach"
            if has_free
            else "without free support vectors the margin ends at"
        )
        count = f"{in_succession} question{' was about a row' if in_succession == 1 else 's were about rows'}"
        begin = (
            f"The last {count} outside the margin" if in_succession else "The last row lies within the margin"
        )
        wanted = "" if stop else f" {patience} in succession are required."
        evidence = {"margin": margin, "bound": bound, "in_succession": in_succession, "patience": patience}
        return Verdict(stop, f"{begin}: |f| = {margin:.4g}, {what} {bound:.4g}.{wanted}", evidence)

    def _draw(self, ax: Any, readings: list[Reading]) -> None:
        ax.set_ylabel("|f|")
        if readings:
            labels, margin, bound, _ = columns(readings)
            ax.plot(labels, margin, ".", label="row asked about")
            ax.plot(labels, bound, color="0.5", linestyle="--", label="margin")
