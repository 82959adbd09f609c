"""SupportSaturation: stop when the number of support vectors no longer changes.

S. Ertekin, "Learning in Extreme Conditions" (thesis, 2009), chapters 4 and 5.
"""

from typing import Any, ClassVar

from ..._base import constraints
from ..._base.selection import support_settled
from ._stopping_rule import Progress, Reading, StoppingRule, Verdict, columns


class SupportSaturation(StoppingRule):
    """Stop when the number of support vectors no longer changes.

    While labels are informative, an SVM gains support vectors. Once all that matter have been found, their
    number stops growing; more labels cost time and add support vectors that are noise.

    Parameters
    ----------
    n_iter_no_change : int, default=100
        Over how many labels the number must not have changed.
    rtol : float, default=0.0
        By how much it may have changed, as a fraction of the current number. 0 allows no change, which label
        noise rules out: try 0.02 then.

    Notes
    -----
    Needs ``n_support`` after every label. Of the last n_iter_no_change + 1 numbers, including the current
    one, the largest minus the smallest must be at most rtol times the current one. The idea is from the
    thesis, the default values are ours.

    References
    ----------
    S. Ertekin, *Learning in Extreme Conditions: Online and Active Learning with Massive, Imbalanced and Noisy
    Data*, thesis, 2009.

    Examples
    --------
    >>> from everlearn.query.stopping import Progress, SupportSaturation
    >>> rule = SupportSaturation(n_iter_no_change=2, rtol=0.05)
    >>> for labels, n_support in enumerate([90, 99, 100, 102], start=1):
    ...     rule.update(Progress(labels, n_support=n_support))
    >>> print(rule.verdict().reason)
    The number of support vectors stayed between 99 and 102 over the last 2 labels: 3 apart, 5.1 allowed.
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "n_iter_no_change": constraints.integer_from(1),
        "rtol": constraints.NOT_NEGATIVE,
    }

    def __init__(self, n_iter_no_change: int = 100, rtol: float = 0.0) -> None:
        self.n_iter_no_change = n_iter_no_change
        self.rtol = rtol

    def _reading(self, event: Progress) -> Reading:
        return [event.n_labels, self._needed(event, "n_support")]

    def _verdict(self, readings: list[Reading]) -> Verdict:
        count = int(self.n_iter_no_change)
        if len(readings) <= count:
            reason = f"{len(readings)} labels so far; n_iter_no_change={count} needs {count + 1}."
            return Verdict(False, reason, {"n_labels": len(readings), "n_iter_no_change": count})
        last = [n_support for _, n_support in readings[-count - 1 :]]
        least, most = min(last), max(last)
        allowed = float(self.rtol) * last[-1]
        stop = support_settled(last, count, float(self.rtol))
        reason = (
            f"The number of support vectors {'stayed' if stop else 'moved'} between {least} and {most} over "
            f"the last {count} labels: {most - least} apart, {allowed:.4g} allowed."
        )
        evidence = {
            "least": least,
            "most": most,
            "range": most - least,
            "allowed": allowed,
            "n_iter_no_change": count,
        }
        return Verdict(stop, reason, evidence)

    def _draw(self, ax: Any, readings: list[Reading]) -> None:
        ax.set_ylabel("support vectors")
        if readings:
            labels, n_support = columns(readings)
            ax.plot(labels, n_support, label="support vectors")
            ax.axvspan(
                labels[-min(int(self.n_iter_no_change) + 1, len(labels))],
                labels[-1],
                color="0.9",
                label="window",
            )
