"""SupportSaturation: stop when the number of support vectors no longer changes.

S. Ertekin, "Learning in Extreme Conditions" (thesis, 2009), chapters 4 and 5.
"""

from typing import Any, ClassVar

from ..._base import constraints
from ...svm._selection import support_settled
from ._rule import Progress, Reading, StoppingRule, Verdict, columns


class SupportSaturation(StoppingRule):
    """Stop when the number of support vectors no longer changes.

    While labels bring something new, an SVM gains support vectors. When all that matter have been found, the
    curve of their number goes flat, and more labels cost time and bring support vectors that are noise.

    Parameters
    ----------
    n_iter_no_change : int, default=100
        Over how many questions the number must have stood still.
    rtol : float, default=0.0
        How far it may have moved, as a share of the present number. 0 demands that it has not moved at all,
        which noisy data never grant: 0.02 is a good beginning there.

    Notes
    -----
    Needs ``n_support`` of every label. It stops when the largest minus the smallest of the last window + 1
    numbers, the present one included, is at most rtol times the present one. The thesis gives the idea, the
    numbers are ours.

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
    The support vectors stayed within 99 to 102 over the last 2 questions: a spread of 3, allowed is 5.1.
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
        window = int(self.n_iter_no_change)
        if len(readings) <= window:
            words = f"{len(readings)} questions have been asked; a window of {window} takes {window + 1}."
            return Verdict(False, words, {"known": len(readings), "n_iter_no_change": window})
        last = [n_support for _, n_support in readings[-window - 1 :]]
        least, most = min(last), max(last)
        allowed = float(self.rtol) * last[-1]
        stop = support_settled(last, window, float(self.rtol))
        words = (
            f"The support vectors {'stayed' if stop else 'still moved'} within {least} to {most} over the "
            f"last {window} questions: a spread of {most - least}, allowed is {allowed:.4g}."
        )
        evidence = {
            "least": least,
            "most": most,
            "range": most - least,
            "allowed": allowed,
            "n_iter_no_change": window,
        }
        return Verdict(stop, words, evidence)

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
