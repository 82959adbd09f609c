"""Opening a loop: the pool is checked, the journal read, the state set up."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._answers import Answers
from ._journal import Journal
from ._loop import Loop, Scoring
from ._pool import generator
from ._rows import count_rows
from ._run_checks import check_numbers, check_scorer, digest
from ._scores import has_learned
from ._state import LoopState, PoolIdentity

if TYPE_CHECKING:
    from .active import ActiveLearner


@dataclass(frozen=True)
class Options:
    """The parameters that `run` and `start` share."""

    test: Any
    scoring: Any
    score_every: int
    cold_start: str
    reask_unknown: bool
    journal: Any

    def checked_scoring(self) -> Scoring:
        """How the model is scored."""
        return Scoring(self.test, check_scorer(self.test, self.scoring), self.score_every)


@dataclass(frozen=True)
class Member:
    """A learner that takes part in a run, its state, and the suffix of its journal."""

    learner: "ActiveLearner"
    state: LoopState
    suffix: str = ""


def check_pool(learner: "ActiveLearner", state: LoopState, X: Any, options: Options) -> None:
    """Check what is given, then remember the pool of the first run; refuse another one later."""
    n_rows = count_rows(X)
    check_numbers(X)
    options.checked_scoring()
    pool = PoolIdentity(n_rows, int(X.shape[1]), digest(X, n_rows))
    if state.pool is None:
        state.pool, state.experienced = pool, has_learned(learner.estimator)
        state.seed = int(generator(learner.random_state, 0).randint(2**31 - 1))
    before = state.pool
    if before != pool:
        other = " other" if before[:2] == pool[:2] else ""
        raise ValueError(
            f"X has {pool.n_rows}{other} rows with {pool.n_features} features, but the pool of the first run "
            f"had {before.n_rows} with {before.n_features}: pass the same pool, or create a new "
            "ActiveLearner."
        )


def open_loops(members: list[Member], X: Any, answers: Answers, options: Options) -> list[Loop]:
    """A loop for each member."""
    scoring = options.checked_scoring()
    loops = []
    for member in members:
        journal = None
        if options.journal is not None and member.state.pool is not None:
            journal = Journal(f"{os.fsdecode(options.journal)}{member.suffix}", *member.state.pool)
        loops.append(
            Loop(
                member.learner,
                member.state,
                X,
                answers,
                scoring,
                options.cold_start,
                options.reask_unknown,
                journal,
            )
        )
    return loops
