"""The experts together: they learn the same rows, each within its window, and vote."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .._validate import Rows
from ._foreign import ForeignVoter
from ._vote import Vote
from ._voters import Floats, Ints, NoChangeVoter, Scale, SvmVoter
from .experts import NO_CHANGE, Expert

Codes = npt.NDArray[np.int32]


class Committee:
    """Experts over the labeled rows of one store, with the record of how they did."""

    def __init__(self, experts: tuple[Expert, ...], n_classes: int, seed: int) -> None:
        self.experts, self.n_classes, self.seed = experts, n_classes, seed
        self.vote = Vote(len(experts), n_classes)
        self.voters: list[Any] = []
        self.scale: Scale | None = None

    @property
    def ready(self) -> bool:
        """Whether there are experts that have learned something."""
        return bool(self.voters)

    def rebuild(self, X: Rows, labels: Codes, costs: Floats, ids: Ints, scale: Scale | None = None) -> None:
        """Train all experts from scratch on the rows of the store; their record stays."""
        self.scale = scale or Scale.of(X)
        self.voters = [self._voter(expert, X.shape[1]) for expert in self.experts]
        self.learn(X, labels, costs, ids, ids)

    def learn(self, X: Rows, labels: Codes, costs: Floats, ids: Ints, kept: Ints) -> None:
        """Learn new rows; ``kept`` are the ids of all rows in the store, the new ones included."""
        for voter in self.voters:
            last = kept if voter.window is None else kept[-voter.window :]
            new = slice(max(0, len(ids) - len(last)), None)
            voter.learn(_contiguous(X[new]), labels[new], costs[new], ids[new])
            voter.keep(last)

    def forget(self, X: Rows, labels: Codes, costs: Floats, kept: Ints) -> None:
        """Make every expert one that has learned the rows of the store only, the last ones in its window."""
        for voter in self.voters:
            if isinstance(voter, NoChangeVoter):
                continue
            last = slice(0 if voter.window is None else max(0, len(kept) - voter.window), len(kept))
            missing = np.flatnonzero(~np.isin(kept[last], voter.holds())) + last.start
            if len(missing):  # older rows come back into a window
                voter.learn(_contiguous(X[missing]), labels[missing], costs[missing], kept[missing])
            voter.keep(kept[last])

    def given(self, X: Rows) -> Floats:
        """What each expert says of rows, of shape (n_experts, n_rows, n_classes)."""
        return np.stack([voter.probabilities(X) for voter in self.voters])

    def support(self) -> Ints:
        """The ids of the support vectors of all experts."""
        found = [
            voter.holds()[voter.machine.support()] for voter in self.voters if isinstance(voter, SvmVoter)
        ]
        return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *found]))

    def _voter(self, expert: Expert, n_features: int) -> Any:
        assert self.scale is not None
        if expert.model is not None:
            return ForeignVoter(expert, self.n_classes, self.seed)
        if expert.kernel == NO_CHANGE:
            return NoChangeVoter(self.n_classes)
        return SvmVoter(expert, self.n_classes, self.scale, n_features)

    def state(self) -> dict[str, Any]:
        """What `from_state` takes, beside the experts."""
        scale = self.scale
        return {
            "vote": self.vote.state(),
            "voters": [voter.state() for voter in self.voters],
            "scale": None if scale is None else [scale.gamma, scale.length, scale.layout, scale.center],
        }

    @classmethod
    def from_state(
        cls, state: dict[str, Any], experts: tuple[Expert, ...], n_classes: int, n_features: int, seed: int
    ) -> "Committee":
        """The committee that `state` described."""
        committee = cls(experts, n_classes, seed)
        committee.vote = Vote.from_state(state["vote"])
        if state["scale"] is not None:
            committee.scale = Scale(*state["scale"])
            committee.voters = [committee._voter(expert, n_features) for expert in experts]
            for voter, its in zip(committee.voters, state["voters"], strict=True):
                voter.restore(its)
        return committee


def _contiguous(X: Rows) -> Rows:
    return np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X
