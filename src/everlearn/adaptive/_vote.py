"""The vote: how much each expert counts, from how it did on labels before it learned them.

Each label costs an expert 1 - p, where p is the probability that it gave to the label before learning it; a
label of a rare class counts more, up to five times, so that classes count alike; a row of weight below 1
counts as much less. Costs fade by `decay` with every label. The
weight of an expert with the faded cost L is proportional to exp(-learning_rate * L); a part `share` of the
weight is spread evenly, so that an expert that was bad for long comes back within a few labels (fixed share,
M. Herbster, M. Warmuth, "Tracking the Best Expert", Machine Learning 32, 1998).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from .._base import checked

Floats = npt.NDArray[np.float64]

_MOST_IMPORTANT = 5.0  # a label of a rare class counts at most this many times


class Vote:
    """Faded costs of experts, and the weights that follow from them."""

    def __init__(self, n_experts: int, n_classes: int) -> None:
        self.costs = np.zeros(n_experts)
        self.counts = np.zeros(n_classes)

    def weights(self, learning_rate: float, share: float) -> Floats:
        """The weights of the experts; they sum to 1."""
        with np.errstate(over="ignore"):
            raw = np.exp(-learning_rate * (self.costs - self.costs.min()))
        return np.asarray((1 - share) * raw / raw.sum() + share / len(raw))

    def update(
        self, given: Floats | None, labels: npt.NDArray[np.int32], weights: Floats, decay: float
    ) -> None:
        """Charge experts for labels, in their order.

        ``given`` has the probability that each expert gave to each label, of shape (n_experts, n_labels);
        None where no expert has learned anything yet, so that classes are only counted.
        """
        self.counts = self.counts.copy()  # a copy of the vote may share them
        for place, (label, weight) in enumerate(zip(labels.tolist(), weights.tolist(), strict=True)):
            self.counts[label] += 1
            if given is None:
                continue
            seen = np.count_nonzero(self.counts)
            importance = min(float(self.counts.sum() / (seen * self.counts[label])), _MOST_IMPORTANT)
            self.costs = decay * self.costs + min(weight, 1.0) * importance * (1.0 - given[:, place])

    def grow(self, places: npt.NDArray[np.intp], n_classes: int) -> None:
        """Make room for more classes; ``places`` says where the old ones are among them."""
        counts = np.zeros(n_classes)
        counts[places] = self.counts
        self.counts = counts

    def state(self) -> dict[str, Any]:
        """What `from_state` takes."""
        return {"costs": self.costs.copy(), "counts": self.counts.copy()}

    @classmethod
    def from_state(cls, state: dict[str, Any], n_experts: int, n_classes: int) -> "Vote":
        """The vote that `state` described, of so many experts on so many classes."""
        vote = cls(n_experts, n_classes)
        vote.costs = checked.floats("costs", state["costs"], (n_experts,)).copy()
        vote.counts = checked.floats("counts", state["counts"], (n_classes,), least=0.0).copy()
        return vote
