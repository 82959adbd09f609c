"""How a loop begins: its pool is checked, its journal opened, its baseline set beside it."""

import os
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._answers import Answers
from ._journal import Journal
from ._loop import Loop, Scoring
from ._pool import generator
from ._run_checks import check_numbers, check_scorer, digest
from ._scores import count_rows, has_learned
from .random_rows import Random

if TYPE_CHECKING:
    from .active import ActiveLearner


@dataclass(frozen=True)
class Options:
    """What `run` and `start` have in common."""

    test: Any
    scoring: Any
    score_every: int
    cold_start: str
    reask_unknown: bool
    journal: Any


def open_loops(
    learner: "ActiveLearner", X: Any, answers: Answers, options: Options, baseline: Any = None
) -> list[Loop]:
    """Check everything, then make the loops of a learner and, if there is one, of its baseline."""
    total = count_rows(X)
    check_numbers(X)
    scorer = check_scorer(options.test, options.scoring)
    scoring = Scoring(options.test, scorer, options.score_every)
    pool = _same_pool(learner, X, total)
    loops = []
    for member, ending in _learners(learner, baseline):
        path = None if options.journal is None else f"{os.fsdecode(options.journal)}{ending}"
        journal = None if path is None else Journal(path, *pool)
        loops.append(Loop(member, X, answers, scoring, options.cold_start, options.reask_unknown, journal))
        member._loop = loops[-1]
    return loops


def _same_pool(learner: "ActiveLearner", X: Any, total: int) -> tuple[int, int, str]:
    """Rows, features and digest of the pool, which must be that of the first run."""
    pool = (total, int(X.shape[1]), digest(X, total))
    if learner._pool is None:
        learner._pool, learner._experienced = pool, has_learned(learner.estimator)
        learner._seed = int(generator(learner.random_state, 0).randint(2**31 - 1))
    before = learner._pool
    if before != pool:
        others = " other" if before[:2] == pool[:2] else ""
        raise ValueError(
            f"X has {pool[0]}{others} rows with {pool[1]} features, and the pool of the first run had "
            f"{before[0]} with {before[1]}: a loop stays with its pool. Begin another one."
        )
    return pool


def _learners(learner: "ActiveLearner", strategy: Any) -> list[tuple["ActiveLearner", str]]:
    """The learners to run, the given one first, with the endings of their journals."""
    if strategy is None:
        return [(learner, "")]
    if learner.baseline is None:
        learner.baseline = _baseline(learner, strategy)
    return [(learner, ""), (learner.baseline, ".baseline")]


def _baseline(learner: "ActiveLearner", strategy: Any) -> "ActiveLearner":
    if learner.history:
        raise ValueError(
            f"baseline={strategy!r} comes after {len(learner.history)} labels: it must be there from the "
            "first run on, or it would begin with what this loop has learned."
        )
    strategy = (
        Random(random_state=learner._seed) if isinstance(strategy, str) and strategy == "random" else strategy
    )
    if isinstance(strategy, str | type) or not hasattr(strategy, "query"):
        raise ValueError(f'baseline must be "random" or a query strategy such as Random(), got {strategy!r}.')
    baseline = type(learner)(deepcopy(learner.estimator), strategy, None, learner.random_state)
    baseline._pool, baseline._experienced = learner._pool, learner._experienced
    baseline._seed = learner._seed
    return baseline
