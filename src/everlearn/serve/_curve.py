"""How good the model is on rows drawn at random: accuracy, learning curve, and whether more labels help.

Three things make the share of random checks that are right differ from the accuracy of the present model on
all rows, and are accounted for:

- Most checks were predicted by earlier models: `LearningCurve` models the error as a power of the number of
  labels.
- Rows are drawn from those that the strategy has left, which are easier if it has taken many of few. Selected
  rows, predicted by a model that has forgotten them, have their share in the accuracy.
- Answers can be wrong. How often is known only if several people answer the same rows; without, what is shown
  is how often the model agrees with the answers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..evaluate.intervals import wilson
from ..evaluate.learning_curve import LearningCurve
from ..stream.random_checks import AFTER_DRIFT, BaselinePoint

_FIRST = 5  # checks before the curve begins
_LEAST_SELECTED = 5  # selected rows that say how much harder they are
_MAX_POINTS = 60
_LAST = 5  # checks whose shares say from which part of the rows checks are drawn now
_FEW = 30  # checks, fewer say little about the future
STOP_GAIN = 0.01  # accuracy that 100 labels must be able to bring
STOP_QUANTILE = 0.9

Interval = tuple[float, float, float]  # a value and its bounds


@dataclass(frozen=True)
class Checked:
    """A random check.

    Attributes
    ----------
    labels : int
        The number of labels that the model had learned.
    right : float
        The fraction of the answers for the row with which it agrees.
    share : float
        The fraction of all rows from which the row was drawn.
    """

    labels: int
    right: float
    share: float = 1.0


class Accuracy:
    """What the checks say.

    Parameters
    ----------
    checks : sequence of Checked
        The random checks in the order of their answers.
    labels : int
        The number of labels now.
    n_classes : int, default=2
        The number of classes.
    selected : sequence of float, default=()
        For some rows that the strategy selected: the fraction of their answers with which a model agrees that
        has not learned them.
    reliability : tuple of (value, low, high), default=None
        The probability that an answer is right; None if it is unknown.
    restarts : sequence of int, default=()
        The numbers of labels at which the learner was restarted after drift: earlier checks are of another
        model, and of other rows.
    """

    def __init__(
        self,
        checks: Sequence[Checked],
        labels: int,
        *,
        n_classes: int = 2,
        selected: Sequence[float] = (),
        reliability: Interval | None = None,
        restarts: Sequence[int] = (),
    ) -> None:
        self._checks, self._labels, self._n_classes = checks, max(1, labels), max(2, n_classes)
        self._reliability, self._restarts = reliability, sorted(restarts)
        self._now = self._curve_of(len(checks), self._labels) if checks else None
        self._selected: Interval | None = None
        if len(selected) >= _LEAST_SELECTED:
            right = sum(selected) / len(selected)
            low, high = (float(bound) for bound in wilson(right, len(selected)))
            self._selected = right, low, high

    def now(self) -> dict[str, Any] | None:
        """The accuracy of the present model; None with fewer than five checks."""
        points = self.curve()
        if not points:
            return None
        named = {name: points[-1][name] for name in ("value", "low", "high", "n")}
        return named | {"of": "answers" if self._reliability is None else "rows"}

    def curve(self) -> list[dict[str, Any]]:
        """The accuracy over the number of labels, as it was known then."""
        n = len(self._checks)
        ends = range(n, _FIRST - 1, -max(1, math.ceil(n / _MAX_POINTS)))
        return [self._point(end, n) for end in reversed(ends)]

    def baseline(self, points: Sequence[BaselinePoint]) -> list[dict[str, Any]]:
        """The accuracy of a learner that was fed random rows alone, over the number of its labels."""
        found = []
        for point in points:
            right = point.right / point.tested
            low, high = (float(bound) for bound in wilson(right, point.tested))
            found.append(self._as_point(point.labels, (right, low, high), len(self._checks), point.tested))
        return found

    def stopping(self) -> dict[str, Any]:
        """Whether more labels are worth it, and what 100 more are expected to bring."""
        if len(self._checks) < _FEW or self._now is None:
            return {
                "stop": False,
                "text": f"{len(self._checks)} of {_FEW} random checks that are needed to say when to stop.",
                "expected_gain_100": None,
                "largest_gain_100": None,
            }
        expected, largest = self._now.gain(100, STOP_QUANTILE)
        return {
            "stop": largest < STOP_GAIN,
            "text": f"100 more labels should add {_points(expected)}, "
            f"at most {_points(largest)} (90 % sure).",
            "expected_gain_100": round(expected, 5),
            "largest_gain_100": round(largest, 5),
        }

    # ------------------------------------------------------------------------------------------------ private

    def _curve_of(self, end: int, labels: float) -> LearningCurve:
        checks, offset = self._checks[:end], 0
        for restart in self._restarts:
            since = [check for check in self._checks[:end] if check.labels >= restart]
            if len(since) >= _FIRST:
                checks, offset = since, max(0, restart - AFTER_DRIFT)
        return LearningCurve(
            [check.labels - offset for check in checks],
            [1 - check.right for check in checks],
            labels - offset,
            self._n_classes,
        )

    def _point(self, end: int, n: int) -> dict[str, Any]:
        labels = self._labels if end == n else self._checks[end - 1].labels + 1
        curve = self._now if end == n and self._now is not None else self._curve_of(end, labels)
        return self._as_point(labels, curve.accuracy(), end, end)

    def _as_point(self, labels: int, right: Interval, end: int, n: int) -> dict[str, Any]:
        value, low, high = self._of_rows(self._of_all(right, end))
        return {
            "labels": labels,
            "value": round(value, 4),
            "low": round(low, 4),
            "high": round(high, 4),
            "n": n,
        }

    def _of_all(self, right: Interval, end: int) -> Interval:
        """The accuracy on all rows, from that on the rows that the strategy had left at a check."""
        if self._selected is None or self._now is None or not end:
            return right
        last = self._checks[max(0, end - _LAST) : end]
        taken = 1 - sum(check.share for check in last) / len(last)
        value, low, high = self._selected
        middle = right[0] - taken * (self._now.accuracy()[0] - value)
        below = math.hypot((1 - taken) * (right[0] - right[1]), taken * (value - low))
        above = math.hypot((1 - taken) * (right[2] - right[0]), taken * (high - value))
        return middle, middle - below, middle + above

    def _of_rows(self, agree: Interval) -> Interval:
        """The accuracy on true labels, if it is known how often answers are right.

        A model that is right with probability p agrees with an answer that is right with probability q with
        probability p q + (1 - p) (1 - q) / (K - 1): wrong answers do not depend on the model, which has not
        seen them.
        """
        if self._reliability is None:
            return _bounded(agree)

        def truth(agreed: float, right: float) -> float:
            chance = (1 - right) / (self._n_classes - 1)
            return (agreed - chance) / (right - chance)

        right, least, most = self._reliability
        value = truth(agree[0], right)
        low = math.hypot(value - truth(agree[1], right), value - truth(agree[0], most))
        high = math.hypot(truth(agree[2], right) - value, truth(agree[0], least) - value)
        return _bounded((value, value - low, value + high))


def _bounded(interval: Interval) -> Interval:
    value, low, high = (min(max(bound, 0.0), 1.0) for bound in interval)
    return value, low, high


def _points(gain: float) -> str:
    text = f"{100 * gain:.1f}"
    return f"{text} point" if text == "1.0" else f"{text} points"


# What is known before anything was measured.
NOTHING: dict[str, Any] = {
    "accuracy": None,
    "curve": [],
    "baseline": [],
    "stopping": Accuracy([], 0).stopping(),
}

# What is said until the first measurement after a start is done.
NOT_YET: dict[str, Any] = NOTHING | {
    "stopping": NOTHING["stopping"] | {"text": "The accuracy is being measured."},
}
