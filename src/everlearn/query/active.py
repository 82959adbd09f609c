"""ActiveLearner: the loop that buys labels for a pool, one by one, and remembers what came of each."""

from collections.abc import Callable
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from .._base import constraints
from ..svm import LASVM
from ._answers import Answers, StopAsking, _is_single
from ._begin import Options, open_loops
from ._loop import Loop
from ._questions import Query
from ._run_checks import check_loop
from ._scores import count_rows
from ._strategy import Places
from .auto import Auto
from .history import History
from .stream import _sliceable

_RUN = {
    "max_labels": constraints.NONE | constraints.integer_from(1),
    "batch_size": constraints.integer_from(1),
    "score_every": constraints.integer_from(1),
    "cold_start": constraints.one_of("alternate", "farthest", "random"),
    "reask_unknown": constraints.BOOLEAN,
    "initial_labels": constraints.NONE | constraints.integer_from(1) | constraints.MAPPING,
}
_QUERIES = constraints.integer_from(1)


class ActiveLearner:
    """Learn from a pool of rows without labels, asking for those that matter.

    Two ways to drive it. `run` asks an oracle (an array of labels, a function, a person at the terminal)
    until there is reason to stop. `start`, `ask` and `tell` leave the driving to a notebook, a service or a
    web page: ``ask`` says which rows to label and why, ``tell`` takes answers whenever they come.

    The model is updated after every label, never refitted. `LASVM` keeps all labeled rows and is brought to
    its optimum after every label up to 1,000 labels; from then on once per 1 % more. `history` has what was
    asked, why, what was answered and what the model was like then. A run can be interrupted, by the oracle or
    by Ctrl-C, and resumed by calling `run` again with the same pool: no label is asked for twice, or lost.

    Parameters
    ----------
    estimator : classifier, default=None
        It has ``partial_fit`` and scores, such as `LASVM`; it goes on from what it knows. What a learner of
        everlearn takes from features alone, such as ``gamma="scale"``, it takes from the first 1,000 rows of
        the pool. None is ``LASVM()``.
    query_strategy : query strategy, default=None
        Which rows of the pool to ask about. None is `query.Auto`.
    stopping : rule of `query.stopping`, default=None
        When enough has been asked. None asks until the labels are used up. To go on after it has said stop,
        change its parameters or put another one, or None, in its place.
    random_state : int, RandomState instance or None, default=None
        Makes a run repeatable: it initial_labels the cold start, the initial_labels and exploration, and
        every query strategy in the loop whose own ``random_state`` is None.

    Attributes
    ----------
    history : History
        A list with a dict for each label, which can be printed, drawn, and made a data frame.
    answers : dict of row number to list of labels
        All answers, in the order in which they came. Usually one for a row.
    pending : dict of row number to str
        The rows that `ask` has returned and that have not been told yet, with the reason for each in words.
    baseline : ActiveLearner or None
        The loop that ran beside this one, if `run` was told to.
    stop_reason : str
        Why the last run ended, or why `ask` returned nothing.

    Notes
    -----
    Several answers for one row are kept. The model learns the majority, weighted by its lead over the next
    label as a share of the answers: 1 where all agree, 1/3 for two against one. A tie is not learned.
    Learners that can forget a row, such as `LASVM` and `IDSVM`, forget what they were told before; other
    models keep it and learn the new majority beside it.

    Examples
    --------
    >>> from everlearn import ActiveLearner
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(2000, random_state=0)
    >>> loop = ActiveLearner(random_state=0)
    >>> loop = loop.run(X[:1500], oracle=y[:1500], max_labels=100)
    >>> len(loop.history), loop.estimator.score(X[1500:], y[1500:]) > 0.9
    (100, True)

    The same, driven from outside:

    >>> loop = ActiveLearner(random_state=0).start(X[:1500], classes=[-1, 1])
    >>> rows = loop.ask(5)
    >>> len(rows), len(loop.pending)
    (5, 5)
    >>> loop = loop.tell(rows[:3], y[rows[:3]])
    >>> len(loop.history), len(loop.pending)
    (3, 2)
    """

    def __init__(
        self,
        estimator: Any = None,
        query_strategy: Any = None,
        stopping: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = LASVM() if estimator is None else estimator
        self.query_strategy = Auto() if query_strategy is None else query_strategy
        self.stopping, self.random_state = stopping, random_state
        self.history = History()
        self.baseline: ActiveLearner | None = None
        self.stop_reason = "nothing has been asked yet"
        self._answers: dict[int, list[Any]] = {}
        self._learned: dict[int, tuple[Any, float, int | None]] = {}  # label, weight and id within the model
        self._gone: list[int] = []  # rows asked about, answered or not, in order
        self._pending: dict[int, Query] = {}
        self._loop: Loop | None = None
        # Of the first run: the pool, whether the model knew something before, what all draws come from.
        self._pool: tuple[int, int, str] | None = None
        self._experienced = False
        self._seed: int | None = None

    def __repr__(self) -> str:
        return f"ActiveLearner({self.estimator!r}, {self.query_strategy!r}, stopping={self.stopping!r})"

    @property
    def answers(self) -> dict[int, list[Any]]:
        """All answers by row number, a copy."""
        return {row: list(labels) for row, labels in self._answers.items()}

    @property
    def pending(self) -> dict[int, str]:
        """The reasons of the queries that wait for an answer, by row number, a copy."""
        return {row: query.reason for row, query in self._pending.items()}

    # ----------------------------------------------------------------------------------------- ask and tell

    def start(
        self,
        X: Any,
        classes: Any = None,
        *,
        initial_labels: dict[int, Any] | None = None,
        cold_start: str = "alternate",
        test: tuple[Any, Any] | None = None,
        scoring: Callable[[Any, Any, Any], float] | str | None = None,
        score_every: int = 1,
        reask_unknown: bool = True,
        journal: Any = None,
    ) -> "ActiveLearner":
        """Take a pool, so that `ask` and `tell` can be called; nothing is asked yet.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The pool.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come; needed unless the model knows them.
        initial_labels : dict of row number to label, default=None
            Labels to begin with, learned at once.
        cold_start : {"alternate", "farthest", "random"}, default="alternate"
            As in `run`.
        test : tuple of (X, y), default=None
            Rows on which the model is scored.
        scoring : callable or str, default=None
            ``scoring(model, X, y)``, or a name known to scikit-learn; None is the model's own ``score``.
        score_every : int, default=1
            After how many labels to score.
        reask_unknown : bool, default=True
            Whether rows that were answered with None are asked again when no others are left.
        journal : path, default=None
            A file to which each answer is written before it is learned. What is in it already is learned
            first.

        Returns
        -------
        ActiveLearner
            The loop itself.
        """
        _check({name: value for name, value in locals().items() if name in _RUN})
        options = Options(test, scoring, score_every, cold_start, reask_unknown, journal)
        check_loop(self, 1)
        (loop,) = open_loops(self, _sliceable(X), Answers(None, classes, self.estimator, 0), options)
        loop.catch_up()
        loop.learn_initial(initial_labels)
        self.stop_reason = "asking goes on"
        return self

    def ask(self, n: int = 1) -> Places:
        """Rows to label next; they are pending until they are told.

        Parameters
        ----------
        n : int, default=1
            At most so many rows.

        Returns
        -------
        ndarray of shape (n_asked,)
            Row numbers. `pending` has the reasons. Fewer than n, or none, when no more rows are left or the
            stopping rule says stop; `stop_reason` then says why.
        """
        loop = self._started()
        if not _QUERIES.test(n):
            raise ValueError(f"n must be {_QUERIES.accepts}, got {n!r}.")
        if n > 1:
            check_loop(self, n)
        if self._stops(loop):
            return np.zeros(0, dtype=np.intp)
        queries = loop.choose(n)
        loop.hold(queries)
        return np.array([query.row for query in queries], dtype=np.intp)

    def tell(self, ids: Any, labels: Any) -> "ActiveLearner":
        """Take answers, in any order and number, and learn them.

        Parameters
        ----------
        ids : int or array-like of int
            Row numbers: those that `ask` returned, some of them, or any others. A row may be there several
            times, with answers of several people.
        labels : label or array-like of labels
            An answer for each; None for a row about which nothing is known.

        Returns
        -------
        ActiveLearner
            The loop itself.
        """
        loop = self._started()
        rows = [ids] if _is_single(ids) else list(ids)
        found = [labels] if _is_single(labels) else list(labels)
        if len(rows) != len(found):
            raise ValueError(
                f"labels must have one entry for each row: got {len(found)} for {len(rows)} rows."
            )
        loop.check_rows(rows, "ids")
        pairs = [
            (loop.told(int(row)), loop.answers.checked(label, row))
            for row, label in zip(rows, found, strict=True)
        ]
        loop.receive(pairs)
        return self

    def _started(self) -> Loop:
        if self._loop is None:
            raise ValueError("There is no pool yet: call start(X, classes=...) before ask and tell.")
        if (
            self._loop.view.model is not self.estimator
            or self._loop.query_strategy is not self.query_strategy
        ):
            raise ValueError("The model or the query strategy was replaced after start: call start again.")
        return self._loop

    def _stops(self, loop: Loop) -> bool:
        """Whether the stopping rule says stop; a loop that was over goes on if it does not."""
        verdict = None if self.stopping is None else self.stopping.verdict()
        if verdict is not None and verdict.stop:
            self.stop_reason = verdict.reason
            return True
        loop.over = False
        return False

    # -------------------------------------------------------------------------------------------------- run

    def run(
        self,
        X: Any,
        oracle: Any,
        max_labels: int | None = None,
        *,
        classes: Any = None,
        initial_labels: int | dict[int, Any] | None = None,
        cold_start: str = "alternate",
        batch_size: int = 1,
        test: tuple[Any, Any] | None = None,
        scoring: Callable[[Any, Any, Any], float] | str | None = None,
        score_every: int = 1,
        baseline: Any = None,
        reask_unknown: bool = True,
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
        max_labels : int, default=None
            Labels to ask for in this run, those of initial_labels and of a journal not counted; None for all
            that the pool and the stopping rule allow.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come; needed with a function that has no ``classes`` of its own, as
            `query.Terminal` has, before the model has learned anything.
        initial_labels : int or dict of row number to label, default=None
            Labels to begin with, learned before anything is asked. A number takes so many rows of each class
            at random, for which it looks at all labels of the array.
        cold_start : {"alternate", "farthest", "random"}, default="alternate"
            How to ask as long as the model has seen one class only. "alternate" takes turns: a row at random,
            a row drawn in proportion to its squared distance to all rows asked, the row furthest from them.
            "farthest" always takes the farthest, "random" always draws. Every second query is such a one
            while any of the named classes has not been seen, with `query.Auto` also up to 20 labels. `Random`
            asks at random all the time.
        batch_size : int, default=1
            Rows to choose and ask about at once. The model learns them one by one all the same.
        test : tuple of (X, y), default=None
            Rows on which the model is scored.
        scoring : callable or str, default=None
            ``scoring(model, X, y)``, or a name known to scikit-learn; None is the model's own ``score``.
        score_every : int, default=1
            After how many labels to score; the last one of a run is scored in any case.
        baseline : "random" or a query strategy, default=None
            A second loop to run beside this one, label for label, with a copy of the model, for an honest
            comparison. It asks for labels of its own, but not for those that were given already, and has no
            stopping rule.
        reask_unknown : bool, default=True
            Whether rows that the oracle answered with None are asked again when no others are left.
        journal : path, default=None
            A file to which each label is written before it is learned. What is in it already is learned
            first, so that a process that was killed can go on. The baseline's has ".baseline" at its end.
        verbose : bool or int, default=False
            Whether to show progress.

        Returns
        -------
        ActiveLearner
            The loop itself.
        """
        _check({name: value for name, value in locals().items() if name in _RUN})
        options = Options(test, scoring, score_every, cold_start, reask_unknown, journal)
        check_loop(self, batch_size)
        X = _sliceable(X)
        answers = Answers(oracle, classes, self.estimator, count_rows(X))
        loops = open_loops(self, X, answers, options, baseline)
        self.stop_reason = "the run was interrupted"
        try:
            self._run(loops, max_labels, initial_labels, batch_size, verbose)
        except StopAsking as reason:
            self.stop_reason = str(reason) or "the oracle wanted no more questions"
        for loop in loops:
            loop.score_last()
        return self

    def _run(
        self, loops: list[Loop], labels: int | None, initial_labels: Any, batch_size: int, verbose: Any
    ) -> None:
        """Learn what is known, then ask."""
        main, *others = loops
        for loop in loops:
            loop.catch_up()
            loop.learn_initial(initial_labels)
        if self.baseline is not None:
            main.lookup = self.baseline._answers
        for other in others:
            other.lookup = self._answers
        verdict = None if self.stopping is None else self.stopping.verdict()
        if verdict is not None and verdict.stop:
            self.stop_reason = verdict.reason
            return
        wanted = main.pool.left + len(main.refused) if labels is None else labels
        first = len(self.history)
        with tqdm(total=wanted, desc="asking", unit="label", disable=not verbose) as bar:
            while not main.over and (missing := wanted - (len(self.history) - first)) > 0:
                queries = main.choose(min(batch_size, missing))
                if not queries:
                    return
                bar.update(main.put(queries))
                for other in others:
                    other.follow(len(self.history), batch_size)
        if not main.over:
            self.stop_reason = "the pool is used up" if main.pool.left == 0 else f"{wanted} labels were given"


def _check(options: dict[str, Any]) -> None:
    for name, value in options.items():
        if not _RUN[name].test(value):
            raise ValueError(f"{name} must be {_RUN[name].accepts}, got {value!r}.")
