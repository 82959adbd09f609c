"""A committee of experts: all learn the same rows, each within its own window, and vote."""

from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._base import checked
from .._base.validate import Rows
from ._foreign import ForeignVoter
from ._relevance import RelevanceVoter
from ._vote import Vote
from ._voters import Floats, Ints, LearningSet, NoChangeVoter, Scale, SvmVoter
from .experts import NO_CHANGE, Expert

Codes = npt.NDArray[np.int32]


class Memento(NamedTuple):
    """State for the rollback after a failed call. SVMs are not copied: they forget and relearn rows."""

    n_classes: int
    n_changes: int
    vote: Vote
    scale: Scale | None
    voters: list[Any]
    copies: list[Any]


class Committee:
    """Experts trained on one store of labeled rows, with their past losses."""

    def __init__(self, experts: tuple[Expert, ...], n_classes: int, seed: int) -> None:
        self.experts, self.n_classes, self.seed = experts, n_classes, seed
        self.vote = Vote(len(experts), n_classes)
        self.voters: list[Any] = []
        self.scale: Scale | None = None
        self.n_changes = 0  # number of calls that changed voters; tells whether there is anything to undo
        self.damaged = False  # whether a rollback was interrupted, so that experts must be retrained

    @property
    def ready(self) -> bool:
        """Whether the experts have been trained."""
        return bool(self.voters)

    def rebuild(self, kept: LearningSet, scale: Scale | None = None) -> None:
        """Retrain all experts on the rows of the store; their losses stay."""
        X = kept.rows(slice(None))
        self.scale = scale or Scale.of(X)
        voters = [self._voter(expert, X.shape[1]) for expert in self.experts]
        everything = kept.with_rows(X)
        for voter in voters:
            voter.update(everything, everything)
        self.voters, self.damaged = voters, False

    def learn(self, new: LearningSet, kept: LearningSet) -> None:
        """Learn new rows; ``kept`` has all rows of the store, including the new ones."""
        self.n_changes += 1
        for voter in self.voters:
            voter.update(new, kept)

    def follow(self, kept: LearningSet) -> None:
        """After rows were forgotten: make every expert one trained on the stored rows in its window."""
        self.n_changes += 1
        for voter in self.voters:
            voter.follow(kept)

    def memento(self) -> Memento:
        """The state for `go_back`."""
        copies = [None if type(voter) is SvmVoter else copy(voter) for voter in self.voters]
        return Memento(self.n_classes, self.n_changes, copy(self.vote), self.scale, self.voters, copies)

    def go_back(self, to: Memento, kept: Callable[[], LearningSet]) -> None:
        """Undo all changes since the memento; ``kept()`` returns the rows of the store at that time."""
        touched = self.n_changes > to.n_changes
        self.n_classes, self.vote, self.scale = to.n_classes, to.vote, to.scale
        self.voters = [voter if old is None else old for voter, old in zip(to.voters, to.copies, strict=True)]
        if touched:
            self.damaged = True
            rows = kept()
            for voter in self.voters:
                if isinstance(voter, SvmVoter):
                    voter.hold(rows)
            self.damaged = False

    def given(self, X: Rows) -> Floats:
        """Class probabilities by each expert, of shape (n_experts, n_rows, n_classes)."""
        return np.stack([voter.probabilities(X) for voter in self.voters])

    def support(self) -> Ints:
        """The ids of the support vectors of all experts."""
        found = [
            voter.holds()[voter.machine.support()] for voter in self.voters if isinstance(voter, SvmVoter)
        ]
        return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *found]))

    def _voter(self, expert: Expert, n_features: int) -> Any:
        assert self.scale is not None
        if expert.estimator is not None:
            return ForeignVoter(expert, self.n_classes, self.seed)
        if expert.kernel == NO_CHANGE:
            return NoChangeVoter(self.n_classes)
        kind = RelevanceVoter if expert.relevance else SvmVoter
        return kind(expert, self.n_classes, self.scale, n_features)

    def state(self) -> dict[str, Any]:
        """The state for `from_state`, without the experts."""
        scale = self.scale
        return {
            "vote": self.vote.state(),
            "voters": [voter.state() for voter in self.voters],
            "scale": None if scale is None else [scale.gamma, scale.length, scale.layout, scale.center],
            "damaged": self.damaged,
        }

    @classmethod
    def from_state(
        cls, state: dict[str, Any], experts: tuple[Expert, ...], n_classes: int, n_features: int, seed: int
    ) -> "Committee":
        """Restore a committee from its state."""
        committee = cls(experts, n_classes, seed)
        vote, voters = checked.table("vote", state["vote"]), checked.items("voters", state["voters"])
        committee.vote = Vote.from_state(vote, len(experts), n_classes)
        committee.damaged = checked.flag("damaged", state["damaged"])
        if state["scale"] is not None:
            committee.scale = Scale.from_state(checked.items("scale", state["scale"], 4), n_features)
        if voters:
            checked.items("voters", voters, len(experts))
            if committee.scale is None:
                raise ValueError("voters must have a scale")
            committee.voters = [committee._voter(expert, n_features) for expert in experts]
            for voter, its in zip(committee.voters, voters, strict=True):
                voter.restore(checked.table("voter", its))
        return committee
