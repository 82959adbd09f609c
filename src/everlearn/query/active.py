"""ActiveLearner: the loop that buys labels for a pool, one by one, and remembers what came of each."""

import os
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from tqdm.auto import tqdm

from .. import _params
from ._answers import Answers, StopAsking
from ._journal import Journal
from ._loop import Loop, Scoring
from ._pool import generator
from ._run_checks import check_loop, check_numbers, check_scorer, digest
from ._scores import count_rows, has_learnt
from .history import History
from .random_rows import Random
from .stream import _sliceable

_RUN = {
    "labels": _params.NONE | _params.integer_from(1),
    "batch_size": _params.integer_from(1),
    "score_every": _params.integer_from(1),
    "cold_start": _params.one_of("spread", "random"),
    "unknown": _params.one_of("later", "never"),
    "seeds": _params.NONE | _params.integer_from(1) | _params.MAPPING,
}


class ActiveLearner:
    """Learn from a pool of rows without labels, asking for those that matter.

    A model is updated after every label, never trained anew. `LASVM` keeps all rows that were labelled, for
    labels are dear, and is brought to its optimum after every label; from the two hundredth on, whenever
    there is one in a hundred more. What was asked, what was answered and what the model was like then stands
    in `history`. A run can be interrupted, by the oracle or by Ctrl-C, and resumed by calling `run` again
    with the same pool: a label once given is never asked for again, nor lost.

    Parameters
    ----------
    model : classifier
        It has ``partial_fit`` and scores, such as `LASVM`; it goes on from what it knows. What a learner of
        everlearn takes from features alone, such as ``gamma="scale"``, it takes from the first 1,000 rows of
        the pool.
    query : Random, Margin, AutoMargin or another rule
        Which rows of the pool to ask about.
    stopping : rule of `query.stopping`, default=None
        When enough has been asked. None asks until the labels are used up. To go on after it has said stop,
        change its parameters or put another one, or None, in its place.
    random_state : int, RandomState instance or None, default=None
        Decides about seeds, and about the rows asked about before the model has seen two classes.

    Attributes
    ----------
    history : History
        A list with a dict for each label, which can be printed, drawn, and made a data frame.
    baseline : ActiveLearner or None
        The loop that ran beside this one, if `run` was told to.
    stopped : str
        Why the last run ended.

    Examples
    --------
    >>> from everlearn import LASVM, ActiveLearner, query
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(2000, random_state=0)
    >>> loop = ActiveLearner(LASVM(C=10, gamma=1), query.Margin(random_state=0), random_state=0)
    >>> loop = loop.run(X[:1500], oracle=y[:1500], labels=100)
    >>> len(loop.history), loop.model.score(X[1500:], y[1500:]) > 0.95
    (100, True)
    """

    def __init__(self, model: Any, query: Any, stopping: Any = None, random_state: Any = None) -> None:
        self.model, self.query, self.stopping, self.random_state = model, query, stopping, random_state
        self.history = History()
        self.baseline: ActiveLearner | None = None
        self.stopped = "nothing has been asked yet"
        self._given: dict[int, Any] = {}
        self._gone: list[int] = []  # rows asked about, answered or not, in order
        # Of the first run: the pool, whether the model knew something before, what all draws come from.
        self._pool: tuple[int, int, str] | None = None
        self._experienced = False
        self._seed: int | None = None

    def __repr__(self) -> str:
        return f"ActiveLearner({self.model!r}, {self.query!r}, stopping={self.stopping!r})"

    def run(
        self,
        X: Any,
        oracle: Any,
        labels: int | None = None,
        *,
        classes: Any = None,
        seeds: int | dict[int, Any] | None = None,
        cold_start: str = "spread",
        batch_size: int = 1,
        test: tuple[Any, Any] | None = None,
        scorer: Callable[[Any, Any, Any], float] | str | None = None,
        score_every: int = 1,
        baseline: Any = None,
        unknown: str = "later",
        journal: Any = None,
        verbose: bool | int = False,
    ) -> "ActiveLearner":
        """Ask, learn, and go on, until there is reason to stop.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The pool.
        oracle : array-like of shape (n_samples,) or callable
            The labels, of which only those asked for are read, NaN or None where there is none; or a function
            ``oracle(numbers, rows)`` that gets the numbers and the rows asked about and returns their labels,
            None for one that it does not know. It may raise `query.StopAsking`. A person at the terminal is
            `query.Terminal`.
        labels : int, default=None
            Labels to ask for in this run, those of seeds and of a journal not counted; None for all that the
            pool and the stopping rule allow.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come; needed with a function that has no ``classes`` of its own, as
            `query.Terminal` has, before the model has learnt anything.
        seeds : int or dict of row number to label, default=None
            Labels to begin with, learnt before anything is asked. A number takes so many rows of each class
            at random, for which it looks at all labels of the array.
        cold_start : {"spread", "random"}, default="spread"
            How to ask as long as the model has seen one class only: about the row furthest from all that were
            asked about, or at random. Every second question is such a one while any of the named classes has
            not been seen. `Random` asks at random all the time.
        batch_size : int, default=1
            Rows to choose and ask about at once. The model learns them one by one all the same.
        test : tuple of (X, y), default=None
            Rows on which the model is scored.
        scorer : callable or str, default=None
            ``scorer(model, X, y)``, or a name known to scikit-learn; None is the model's own ``score``.
        score_every : int, default=1
            After how many labels to score; the last one of a run is scored in any case.
        baseline : "random" or a rule, default=None
            A second loop to run beside this one, label for label, with a copy of the model, for an honest
            comparison. It asks for labels of its own, but not for those that were given already, and has no
            stopping rule.
        unknown : {"later", "never"}, default="later"
            What becomes of rows about which the oracle does not know: asked again when no others are left, or
            not.
        journal : path, default=None
            A file to which each label is written before it is learnt. What is in it already is learnt first,
            so that a process that was killed can go on. The baseline's has ".baseline" at its end.
        verbose : bool or int, default=False
            Whether to show progress.

        Returns
        -------
        ActiveLearner
            The loop itself.
        """
        given = locals()
        for name, constraint in _RUN.items():
            if not constraint.test(given[name]):
                raise ValueError(f"{name} must be {constraint.accepts}, got {given[name]!r}.")
        check_loop(self, batch_size)
        X = _sliceable(X)
        total = count_rows(X)
        check_numbers(X)
        scoring = Scoring(test, check_scorer(test, scorer), score_every)
        answers = Answers(oracle, classes, self.model, total)
        pool = self._same_pool(X, total)
        loops = []
        for learner, ending in self._learners(baseline):
            path = None if journal is None else f"{os.fsdecode(journal)}{ending}"
            book = None if path is None else Journal(path, *pool)
            loops.append(Loop(learner, X, answers, scoring, cold_start, unknown, book))
        self.stopped = "the run was interrupted"
        try:
            self._run(loops, labels, seeds, batch_size, verbose)
        except StopAsking as reason:
            self.stopped = str(reason) or "the oracle wanted no more questions"
        for loop in loops:
            loop.score_last()
        return self

    def _run(self, loops: list[Loop], labels: int | None, seeds: Any, batch_size: int, verbose: Any) -> None:
        """Learn what is known, then ask."""
        main, *others = loops
        for loop in loops:
            loop.catch_up()
            loop.learn_seeds(seeds)
        if self.baseline is not None:
            main.lookup = self.baseline._given
        for other in others:
            other.lookup = self._given
        verdict = None if self.stopping is None else self.stopping.verdict()
        if verdict is not None and verdict.stop:
            self.stopped = verdict.reason
            return
        wanted = main.pool.left + main.refused if labels is None else labels
        first = len(self.history)
        with tqdm(total=wanted, desc="asking", unit="label", disable=not verbose) as bar:
            while not main.over and (missing := wanted - (len(self.history) - first)) > 0:
                bar.update(main.step(min(batch_size, missing)))
                for other in others:
                    other.follow(len(self.history), batch_size)
        if not main.over:
            self.stopped = "the pool is used up" if main.pool.left == 0 else f"{wanted} labels were given"

    def _same_pool(self, X: Any, total: int) -> tuple[int, int, str]:
        """Rows, features and digest of the pool, which must be that of the first run."""
        pool = (total, int(X.shape[1]), digest(X, total))
        if self._pool is None:
            self._pool, self._experienced = pool, has_learnt(self.model)
            self._seed = _seed_of(self.random_state)
        if self._pool != pool:
            others = " other" if self._pool[:2] == pool[:2] else ""
            raise ValueError(
                f"X has {pool[0]}{others} rows with {pool[1]} features, and the pool of the first run had "
                f"{self._pool[0]} with {self._pool[1]}: a loop stays with its pool. Begin another one."
            )
        return pool

    def _learners(self, rule: Any) -> list[tuple["ActiveLearner", str]]:
        """The loops to run, this one first, with the endings of their journals."""
        if rule is None:
            return [(self, "")]
        if self.baseline is None:
            self._begin_baseline(rule)
        return [(self, ""), (self.baseline, ".baseline")]  # type: ignore[list-item]

    def _begin_baseline(self, rule: Any) -> None:
        if self.history:
            raise ValueError(
                f"baseline={rule!r} comes after {len(self.history)} labels: it must be there from the first "
                "run on, or it would begin with what this loop has learnt."
            )
        rule = Random(random_state=self._seed) if isinstance(rule, str) and rule == "random" else rule
        if isinstance(rule, str | type) or not hasattr(rule, "query"):
            raise ValueError(f'baseline must be "random" or a rule such as Random(), got {rule!r}.')
        self.baseline = ActiveLearner(deepcopy(self.model), rule, None, self.random_state)
        self.baseline._pool, self.baseline._experienced = self._pool, self._experienced
        self.baseline._seed = self._seed


def _seed_of(random_state: Any) -> int:
    return int(generator(random_state, 0).randint(2**31 - 1))
