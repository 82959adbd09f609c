"""CostOfLabel: stop when the next label is expected to bring less than it costs."""

import itertools
import math
from typing import Any, ClassVar

import numpy as np

from ..._base import constraints
from ._rule import Progress, Reading, StoppingRule, Verdict


class CostOfLabel(StoppingRule):
    """Stop when the next label is expected to bring less than it costs.

    What the next label brings is taken from what the last ones brought: over the last `window` labels a
    straight line is laid through the scores by least squares. Its slope is the expected rise of the score
    with the next label, and `gain` times that is what it is worth.

    Parameters
    ----------
    cost : float, default=1.0
        What a label costs.
    gain : float, default=1000.0
        What a rise of the score by 1 is worth, in the same unit. If a label costs 1 and a point of accuracy,
        0.01, is worth 10, then 1,000.
    window : int, default=50
        How many labels the line goes over. Before so many have come, nothing is said.
    metric : {"score", "estimate"}, default="score"
        What is read: the score on rows kept apart, or an unbiased estimate of it.
    n_standard_errors : float, default=0.0
        How many standard errors of the slope to add to it. Above 0 the rule stops only if the scores show
        that it is time, not already where they are too noisy to show the opposite.

    Notes
    -----
    Labels without what is read are passed over, and the scores need not come at every label: the slope is per
    label. Three scores at least are needed, and they must be a window apart from the first to the last.

    If every reading is an unbiased estimate of the score at its time, the slope is an unbiased estimate of
    that of the line nearest to the true curve. On rows that a rule such as `Margin` asked about a model does
    worse than on others, and whether it was right about them is no such estimate; about rows asked about at
    random, as `Random` does, it is. Learning curves flatten, so that the slope of the past rather exceeds
    that of the future: the rule stops somewhat late. The standard errors take the deviations from the line to
    be independent, which scores on the same rows are not; they are then too small.

    Examples
    --------
    >>> from everlearn.query.stopping import Progress, CostOfLabel
    >>> rule = CostOfLabel(cost=1, gain=1000, window=20)
    >>> for labels in range(10, 101, 10):
    ...     rule.update(Progress(labels, score=1 - 1 / labels))
    ...     if rule.verdict().stop:
    ...         break
    >>> print(rule.verdict().reason)
    The next label is expected to raise the score by 0.000667 and so to bring 0.667, less than the 1 it costs.
    >>> labels
    50
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "cost": constraints.NOT_NEGATIVE,
        "gain": constraints.NOT_NEGATIVE,
        "window": constraints.integer_from(1),
        "metric": constraints.one_of("score", "estimate"),
        "n_standard_errors": constraints.NOT_NEGATIVE,
    }

    def __init__(
        self,
        cost: float = 1.0,
        gain: float = 1000.0,
        window: int = 50,
        metric: str = "score",
        n_standard_errors: float = 0.0,
    ) -> None:
        self.cost = cost
        self.gain = gain
        self.window = window
        self.metric = metric
        self.n_standard_errors = n_standard_errors

    def _reading(self, event: Progress) -> Reading | None:
        value = getattr(event, self.metric)
        return None if value is None else [event.n_labels, value]

    def _verdict(self, readings: list[Reading]) -> Verdict:
        line = self._line(readings)
        if line is None:
            words = (
                f"{len(readings)} of the labels so far came with {self.metric}; three are needed, over a "
                f"window of {int(self.window)} labels."
            )
            return Verdict(False, words, {"readings": len(readings), "window": int(self.window)})
        slope, error, _, _ = line
        rise = slope + float(self.n_standard_errors) * error
        worth, cost = float(self.gain) * rise, float(self.cost)
        stop = worth < cost
        hedge = (
            f" (the slope {slope:.4g} and {float(self.n_standard_errors):g} standard errors)"
            if self.n_standard_errors
            else ""
        )
        words = (
            f"The next label is expected to raise the score by {rise:.3g}{hedge} and so to bring "
            f"{worth:.3g}, {'less than' if stop else 'not less than'} the {cost:g} it costs."
        )
        evidence = {"slope": slope, "standard_error": error, "worth": worth, "cost": cost}
        return Verdict(stop, words, evidence)

    def _line(self, readings: list[Reading]) -> tuple[float, float, float, float] | None:
        """Slope of the line over the window, its standard error, and the point in its middle."""
        begin = readings[-1][0] - int(self.window) if readings else 0
        if not readings or readings[0][0] > begin:
            return None
        recent = itertools.takewhile(lambda reading: reading[0] >= begin, reversed(readings))
        last = np.array(list(recent), dtype=np.float64)
        if len(last) < 3:
            return None
        labels, scores = last.T
        middle, mean = float(labels.mean()), float(scores.mean())
        away = labels - middle
        spread = float(away @ away)
        if spread == 0:
            return None
        slope = float(away @ (scores - mean)) / spread
        left = scores - mean - slope * away
        error = math.sqrt(float(left @ left) / (len(last) - 2) / spread)
        return slope, error, middle, mean

    def _draw(self, ax: Any, readings: list[Reading]) -> None:
        ax.set_ylabel(self.metric)
        if not readings:
            return
        labels, values = np.array(readings, dtype=np.float64).T
        ax.plot(labels, values, ".", label=self.metric)
        line = self._line(readings)
        if line is not None:
            slope, _, middle, mean = line
            ends = np.array([labels[-1] - int(self.window), labels[-1]])
            ax.plot(ends, mean + slope * (ends - middle), label="slope of the window")
            if self.gain > 0:
                needed = float(self.cost) / float(self.gain)
                ax.plot(
                    ends,
                    mean + needed * (ends - middle),
                    color="0.5",
                    linestyle="--",
                    label="slope that pays",
                )
