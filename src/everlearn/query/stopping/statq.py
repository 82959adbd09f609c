"""StatQ: the stopping rule of support vector learning by statistical queries.

P. Mitra, C. A. Murthy, S. K. Pal, "A Probabilistic Active Support Vector Learning Algorithm" (2004).
"""

from typing import Any, ClassVar

from ..._base import constraints
from ._rule import Progress, Reading, StoppingRule, Verdict, columns

_THRESHOLD, _ROBUST_THRESHOLD = 0.9, 0.995


class StatQ(StoppingRule):
    """Stop when nearly all rows lie outside the margin, and the model has reason to trust itself.

    In each round of StatQSVM some rows are queried. p is the number of those that lie outside the margin, q
    how many there are, c the confidence: how evenly the labels around the support vectors are divided, 1 if
    they all lie where the classes meet.

    Parameters
    ----------
    threshold : float, default=None
        Stop above it. None is 0.9, the paper's, and 0.995 if `robust`.
    criterion : {"confidence*outside", "outside"}, default="confidence*outside"
        The formula of the paper, of which the scan is illegible at this place: with the confidence, as the
        text around it suggests, or without it. Without a meaning if `robust`.
    robust : bool, default=False
        Whether to judge by the rows examined instead of those queried. Which rows are queried depends on the
        confidence, which examined ones do not, so that their share outside the margin is unbiased.

    Notes
    -----
    Needs ``outside_margin``, and ``confidence`` for "confidence*outside", or ``examined_outside_margin`` if
    robust; labels that come without them are ignored. Combine it with a limit, ``StatQ() |
    LabelBudget(500)``: with "confidence*outside" it hardly ever stops, because c stays below 0.9 at the
    optimum itself on every set that was tried; with "outside" it may stop at once, while c is small and
    mostly rows outside are queried.

    References
    ----------
    P. Mitra, C. A. Murthy, S. K. Pal, *A Probabilistic Active Support Vector Learning Algorithm*, IEEE
    Transactions on Pattern Analysis and Machine Intelligence 26 (2004).

    Examples
    --------
    >>> from everlearn.query.stopping import Progress, StatQ
    >>> rule = StatQ()
    >>> rule.update(Progress(50, outside_margin=0.98, confidence=0.73))
    >>> print(rule.verdict().reason)
    confidence*outside is 0.73 x 0.98 = 0.7154, not above 0.9.
    >>> rule = StatQ(robust=True)
    >>> rule.update(Progress(50, examined_outside_margin=0.997))
    >>> rule.verdict().stop
    True
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "threshold": constraints.NONE | constraints.FRACTION,
        "criterion": constraints.one_of("confidence*outside", "outside"),
        "robust": constraints.BOOLEAN,
    }

    def __init__(
        self, threshold: float | None = None, criterion: str = "confidence*outside", robust: bool = False
    ) -> None:
        self.threshold = threshold
        self.criterion = criterion
        self.robust = robust

    @property
    def _limit(self) -> float:
        if self.threshold is None:
            return _ROBUST_THRESHOLD if self.robust else _THRESHOLD
        return float(self.threshold)

    @property
    def _what(self) -> str:
        return "the share of examined rows outside the margin" if self.robust else self.criterion

    def _reading(self, event: Progress) -> Reading | None:
        share = event.examined_outside_margin if self.robust else event.outside_margin
        weighed = self.criterion == "confidence*outside" and not self.robust
        confidence = event.confidence if weighed else 1.0
        return None if share is None or confidence is None else [event.n_labels, share, confidence]

    def _verdict(self, readings: list[Reading]) -> Verdict:
        limit = self._limit
        if not readings:
            needs = "examined_outside_margin" if self.robust else "outside_margin"
            needs += " and confidence" if self.criterion == "confidence*outside" and not self.robust else ""
            words = f"No label has come with {needs} yet (the threshold is {limit:.4g})."
            return Verdict(False, words, {"threshold": limit})
        _, share, confidence = readings[-1]
        value = confidence * share
        stop = value > limit
        product = f"{confidence:.4g} x {share:.4g} = " if self._what == "confidence*outside" else ""
        words = f"{self._what} is {product}{value:.4g}, {'above' if stop else 'not above'} {limit:.4g}."
        evidence = {"value": value, "outside": share, "confidence": confidence, "threshold": limit}
        return Verdict(stop, words[:1].upper() + words[1:] if self.robust else words, evidence)

    def _draw(self, ax: Any, readings: list[Reading]) -> None:
        ax.set_ylabel(self._what)
        if readings:
            labels, share, confidence = columns(readings)
            ax.plot(labels, [c * s for c, s in zip(confidence, share, strict=True)], label=self._what)
            if self._what == "confidence*outside":
                ax.plot(labels, share, linewidth=1, label="outside")
                ax.plot(labels, confidence, linewidth=1, label="c")
        ax.axhline(self._limit, color="0.5", linestyle="--", label="threshold")
