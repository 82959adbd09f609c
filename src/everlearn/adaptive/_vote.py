"""The vote: weights of the experts, from their losses on labels before they learned them.

The loss of an expert on a label is 1 - p, where p is the probability that it gave to the label before
learning it. Losses are weighted by the inverse class frequency, at most five times, so that classes count
equally, and by sample weights below 1. Losses fade by the factor `decay` with every label. The weight of an
expert with the faded loss L is proportional to exp(-learning_rate * L). A fraction `share` of the weight is
distributed evenly, so that an expert that was bad for long recovers within a few labels (fixed share, M.
Herbster, M. Warmuth, "Tracking the Best Expert", Machine Learning 32, 1998).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from .._base import checked

Floats = npt.NDArray[np.float64]

_MAX_IMPORTANCE = 5.0  # upper bound on the weight of a rare class


class Vote:
    """Faded losses of the experts, and the weights computed from them."""

    def __init__(self, n_experts: int, n_classes: int) -> None:
        self.costs = np.zeros(n_experts)
        self.counts = np.zeros(n_classes)

    def weights(self, learning_rate: float, share: float) -> Floats:
        """Weights of the experts; they sum to 1."""
        with np.errstate(over="ignore"):
            raw = np.exp(-learning_rate * (self.costs - self.costs.min()))
        return np.asarray((1 - share) * raw / raw.sum() + share / len(raw))

    def update(
        self, given: Floats | None, labels: npt.NDArray[np.int32], weights: Floats, decay: float
    ) -> None:
        """Add the losses on labels, in their order.

        ``given`` has the probability that each expert gave to each label, of shape (n_experts, n_labels).
        With None (experts not trained yet) only classes are counted.
        """
        self.counts = self.counts.copy()  # a copy of the vote may share the array
        for place, (label, weight) in enumerate(zip(labels.tolist(), weights.tolist(), strict=True)):
            self.counts[label] += 1
            if given is None:
                continue
            seen = np.count_nonzero(self.counts)
            importance = min(float(self.counts.sum() / (seen * self.counts[label])), _MAX_IMPORTANCE)
            self.costs = decay * self.costs + min(weight, 1.0) * importance * (1.0 - given[:, place])

    def grow(self, places: npt.NDArray[np.intp], n_classes: int) -> None:
        """Add classes; ``places`` has the new positions of the old classes."""
        counts = np.zeros(n_classes)
        counts[places] = self.counts
        self.counts = counts

    def state(self) -> dict[str, Any]:
        """The state for `from_state`."""
        return {"costs": self.costs.copy(), "counts": self.counts.copy()}

    @classmethod
    def from_state(cls, state: dict[str, Any], n_experts: int, n_classes: int) -> "Vote":
        """Restore a vote from a state, checked against the numbers of experts and classes."""
        vote = cls(n_experts, n_classes)
        vote.costs = checked.floats("costs", state["costs"], (n_experts,)).copy()
        vote.counts = checked.floats("counts", state["counts"], (n_classes,), least=0.0).copy()
        return vote
