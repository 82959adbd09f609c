"""CostOfLabel: stop when the next label is expected to be worth less than it costs."""

import itertools
import math
from typing import Any, ClassVar

import numpy as np

from ..._base import constraints
from ._stopping_rule import Progress, Reading, StoppingRule, Verdict


class CostOfLabel(StoppingRule):
    """Stop when the next label is expected to be worth less than it costs.

    A line is fitted by least squares to the scores over the last `window` labels. Its slope is the expected
    gain in score from the next label, and `gain` times the slope is what the label is worth.

    Parameters
    ----------
    cost : float, default=1.0
        The cost of a label.
    gain : float, default=1000.0
        The value of a score that is higher by 1, in the same unit. If a label costs 1 and a percentage point
        of accuracy is worth 10, this is 1,000.
    window : int, default=50
        How many labels the line is fitted to. The rule never stops before.
    metric : {"score", "estimate"}, default="score"
        Which value of `Progress` to use: the score on held-out rows, or an unbiased estimate of it.
    n_standard_errors : float, default=0.0
        How many standard errors to add to the slope. With a value above 0 the rule does not stop just because
        the scores are noisy.

    Notes
    -----
    Labels without the metric are skipped: scores need not come with every label, and the slope is per label.
    At least three scores are needed, and the first and last must be at least a window apart.

    If every value is an unbiased estimate of the score at its time, the slope is an unbiased estimate of the
    slope of the true learning curve's least-squares line. Whether the model was right about a row that was
    selected by a strategy such as `Margin` is biased, because such rows are harder than others; for random
    rows, as from `Random`, it is unbiased. Learning curves flatten, so that the past slope exceeds the future
    one: the rule stops somewhat late. The standard errors assume independent deviations from the line; scores
    on the same test rows are not independent, and their standard errors are too small.

    Examples
    --------
    >>> from everlearn.query.stopping import Progress, CostOfLabel
    >>> rule = CostOfLabel(cost=1, gain=1000, window=20)
    >>> for labels in range(10, 101, 10):
    ...     rule.update(Progress(labels, score=1 - 1 / labels))
    ...     if rule.verdict().stop:
    ...         break
    >>> print(rule.verdict().reason)
    The next label is expected to raise the score by 0.000667, worth 0.667: less than its cost of 1.
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
                f"{len(readings)} labels so far have {self.metric}; three are needed, over a window of "
                f"{int(self.window)} labels."
            )
            return Verdict(False, words, {"readings": len(readings), "window": int(self.window)})
        slope, error, _, _ = line
        rise = slope + float(self.n_standard_errors) * error
        worth, cost = float(self.gain) * rise, float(self.cost)
        stop = worth < cost
        hedge = (
            f" (slope {slope:.4g} plus {float(self.n_standard_errors):g} standard errors)"
            if self.n_standard_errors
            else ""
        )
        words = (
            f"The next label is expected to raise the score by {rise:.3g}{hedge}, worth {worth:.3g}: "
            f"{'less' if stop else 'not less'} than its cost of {cost:g}."
        )
        evidence = {"slope": slope, "standard_error": error, "worth": worth, "cost": cost}
        return Verdict(stop, words, evidence)

    def _line(self, readings: list[Reading]) -> tuple[float, float, float, float] | None:
        """Slope of the line over the window, its standard error, and the mean point."""
        begin = readings[-1][0] - int(self.window) if readings else 0
        if not readings or readings[0][0] > begin:
            return None
        recent = itertools.takewhile(lambda reading: reading[0] >= begin, reversed(readings))
        last = np.array(list(recent), dtype=np.float64)
        if len(last) < 3:
            return None
        labels, scores = last.T
        middle, mean = float(labels.mean()), float(scores.mean())
        apart = labels - middle
        squares = float(apart @ apart)
        if squares == 0:
            return None
        slope = float(apart @ (scores - mean)) / squares
        residuals = scores - mean - slope * apart
        error = math.sqrt(float(residuals @ residuals) / (len(last) - 2) / squares)
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
            ax.plot(ends, mean + slope * (ends - middle), label="slope over the window")
            if self.gain > 0:
                needed = float(self.cost) / float(self.gain)
                ax.plot(
                    ends,
                    mean + needed * (ends - middle),
                    color="0.5",
                    linestyle="--",
                    label="break-even slope",
                )
