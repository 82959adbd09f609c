"""StatQ: the stopping rule of support vector learning by statistical queries.

P. Mitra, C. A. Murthy, S. K. Pal, "A Probabilistic Active Support Vector Learning Algorithm" (2004).
"""

from typing import Any, ClassVar

from ..._base import constraints
from ._stopping_rule import Progress, Reading, StoppingRule, Verdict, columns

_THRESHOLD, _ROBUST_THRESHOLD = 0.9, 0.995
_WEIGHTED, _UNWEIGHTED = "confidence*outside", "outside"


class StatQ(StoppingRule):
    """Stop when nearly all selected rows lie outside the margin, weighted by the confidence of the model.

    `StatQSVM` selects some rows in each round. With p of q rows outside the margin and the confidence c, the
    criterion is c p / q. The confidence says how evenly the labels around the support vectors are mixed; it
    is 1 if all support vectors lie where the classes meet.

    Parameters
    ----------
    threshold : float, default=None
        Stop above this value. None is 0.9, as in the paper, and 0.995 if `robust`.
    criterion : {"confidence*outside", "outside"}, default="confidence*outside"
        c p / q, or p / q. The formula is illegible in the available scan of the paper; the text around it
        suggests the first. Not used if `robust`.
    robust : bool, default=False
        Whether to use the fraction of examined rows instead of that of selected rows. Which rows are selected
        depends on the confidence, which rows are examined does not: their fraction is unbiased.

    Notes
    -----
    Needs ``outside_margin``, and ``confidence`` for "confidence*outside", or ``examined_outside_margin`` if
    `robust`; labels without them are skipped. Combine it with a limit, ``StatQ() | LabelBudget(500)``: with
    "confidence*outside" it hardly ever stops, because c stays below 0.9 at the optimum on every data set that
    was tried; with "outside" it may stop at once, while c is small and most selected rows lie outside.

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
        "criterion": constraints.one_of(_WEIGHTED, _UNWEIGHTED),
        "robust": constraints.BOOLEAN,
    }

    def __init__(
        self, threshold: float | None = None, criterion: str = _WEIGHTED, robust: bool = False
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
    def _is_weighted(self) -> bool:
        return self.criterion == _WEIGHTED and not self.robust

    @property
    def _value_name(self) -> str:
        return "The fraction of examined rows outside the margin" if self.robust else self.criterion

    def _reading(self, event: Progress) -> Reading | None:
        outside = event.examined_outside_margin if self.robust else event.outside_margin
        confidence = event.confidence if self._is_weighted else 1.0
        return None if outside is None or confidence is None else [event.n_labels, outside, confidence]

    def _verdict(self, readings: list[Reading]) -> Verdict:
        limit = self._limit
        if not readings:
            needs = "examined_outside_margin" if self.robust else "outside_margin"
            needs += " and confidence" if self._is_weighted else ""
            return Verdict(False, f"No label with {needs} yet (threshold {limit:.4g}).", {"threshold": limit})
        _, outside, confidence = readings[-1]
        value = confidence * outside
        stop = value > limit
        product = f"{confidence:.4g} x {outside:.4g} = " if self._is_weighted else ""
        reason = (
            f"{self._value_name} is {product}{value:.4g}, {'above' if stop else 'not above'} {limit:.4g}."
        )
        evidence = {"value": value, "outside": outside, "confidence": confidence, "threshold": limit}
        return Verdict(stop, reason, evidence)

    def _draw(self, ax: Any, readings: list[Reading]) -> None:
        ax.set_ylabel(self._value_name)
        if readings:
            labels, outside, confidence = columns(readings)
            values = [c * o for c, o in zip(confidence, outside, strict=True)]
            ax.plot(labels, values, label=self._value_name)
            if self._is_weighted:
                ax.plot(labels, outside, linewidth=1, label="outside")
                ax.plot(labels, confidence, linewidth=1, label="confidence")
        ax.axhline(self._limit, color="0.5", linestyle="--", label="threshold")
