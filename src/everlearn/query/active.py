"""ActiveLearner: pool-based active learning, with an oracle or by `ask` and `tell`."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from .._base import constraints
from ..svm import LASVM
from ._answers import Answers, StopAsking, is_single
from ._begin import Member, Options, check_pool, open_loops
from ._loop import Loop
from ._rows import Places, count_rows, sliceable
from ._run_checks import check_loop, check_strategy
from ._state import LoopState
from .auto import Auto
from .history import History
from .random_rows import Random

_RUN = {
    "n": constraints.integer_from(1),
    "max_labels": constraints.NONE | constraints.integer_from(1),
    "batch_size": constraints.integer_from(1),
    "score_every": constraints.integer_from(1),
    "cold_start": constraints.one_of("alternate", "farthest", "random"),
    "reask_unknown": constraints.BOOLEAN,
    "initial_labels": constraints.NONE | constraints.integer_from(1) | constraints.MAPPING,
}


class ActiveLearner:
    """Pool-based active learning: learn from unlabeled rows by asking for the labels that matter.

    There are two ways to use it. `run` asks an oracle (an array of labels, a function, a person at the
    terminal) until there is a reason to stop. `start`, `ask` and `tell` leave control to the caller, such as
    a notebook, a service or a web page: ``ask`` returns the rows to label and why, ``tell`` takes answers
    whenever they arrive.

    The model is updated after every label and never retrained. `LASVM` keeps all labeled rows and is
    optimized after every label up to 1,000 labels; from then on each time their number has grown by 1 %.
    `history` records what was asked, why, what was answered and how good the model was then. A run that was
    interrupted, by the oracle or by Ctrl-C, is resumed by calling `run` again with the same pool: no label is
    lost or asked for twice.

    Parameters
    ----------
    estimator : classifier, default=None
        A classifier with ``partial_fit`` and scores, such as `LASVM`. If it is fitted, it continues from
        there. What everlearn's learners derive from features alone, such as ``gamma="scale"``, is derived
        from the first 1,000 rows of the pool. None is ``LASVM()``.
    query_strategy : query strategy, default=None
        Selects the rows to ask about. None is `query.Auto`.
    stopping : StoppingRule, default=None
        When to stop, see `query.stopping`. None asks until there are no more rows or ``max_labels`` is
        reached. To continue after a stop, change its parameters, or replace it with another rule or None.
    random_state : int, RandomState instance or None, default=None
        Makes a run reproducible: seeds the cold start, the initial labels, exploration, and every query
        strategy in the loop whose own ``random_state`` is None.

    Attributes
    ----------
    history : History
        A list with a dict for each label; it can be printed, plotted, and converted to a data frame.
    answers : dict of row number to list of labels
        All answers, in order of arrival. Usually one for each row.
    pending : dict of row number to str
        The rows that `ask` returned and that have no answer yet, with the reason for each.
    baseline : ActiveLearner or None
        The loop that ran alongside this one, if `run` was called with ``baseline``.
    stop_reason : str
        Why the last run ended, or why `ask` returned nothing.

    Notes
    -----
    Several answers for one row are kept. The model learns the majority label, weighted by its lead over the
    next label as a fraction of the answers: 1 if all agree, 1/3 for two against one. A tie is not learned.
    Learners that can forget a row, such as `LASVM` and `IDSVM`, forget what they learned before; other models
    keep it and learn the new majority in addition.

    Examples
    --------
    >>> from everlearn import ActiveLearner
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(2000, random_state=0)
    >>> loop = ActiveLearner(random_state=0)
    >>> loop = loop.run(X[:1500], oracle=y[:1500], max_labels=100)
    >>> len(loop.history), loop.estimator.score(X[1500:], y[1500:]) > 0.9
    (100, True)

    The same by ask and tell:

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
        self._state = LoopState()
        self._loop: Loop | None = None

    def __repr__(self) -> str:
        return f"ActiveLearner({self.estimator!r}, {self.query_strategy!r}, stopping={self.stopping!r})"

    @property
    def answers(self) -> dict[int, list[Any]]:
        """All answers by row number (a copy)."""
        return {row: list(labels) for row, labels in self._state.answers.items()}

    @property
    def pending(self) -> dict[int, str]:
        """The reasons of pending questions by row number (a copy)."""
        return {row: question.reason for row, question in self._state.pending.items()}

    @property
    def classes(self) -> list[Any]:
        """The possible labels, once `start` was called."""
        return list(self._started().answers.classes.tolist())

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
        """Set the pool, so that `ask` and `tell` can be called; asks nothing yet.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The pool.
        classes : array-like of shape (n_classes,), default=None
            All labels that can occur; required unless the model is fitted.
        initial_labels : dict of row number to label, default=None
            Labels to start with, learned at once.
        cold_start : {"alternate", "farthest", "random"}, default="alternate"
            As in `run`.
        test : tuple of (X, y), default=None
            Rows on which the model is scored.
        scoring : callable or str, default=None
            ``scoring(model, X, y)``, or the name of a scorer of scikit-learn; None is the model's ``score``.
        score_every : int, default=1
            After how many labels to score.
        reask_unknown : bool, default=True
            Whether rows that were answered with None are asked about again when no others are left.
        journal : path, default=None
            A file to which each answer is written before it is learned. Answers that it already has are
            learned first.

        Returns
        -------
        ActiveLearner
            The loop itself.
        """
        _check({name: value for name, value in locals().items() if name in _RUN})
        options = Options(test, scoring, score_every, cold_start, reask_unknown, journal)
        check_loop(self, 1)
        (loop,) = self._open(sliceable(X), Answers(None, classes, self.estimator, 0), options)
        loop.catch_up()
        loop.learn_initial(initial_labels)
        self.stop_reason = "not stopped"
        return self

    def ask(self, n: int = 1) -> Places:
        """Select rows to label next; they are pending until `tell` is called for them.

        Parameters
        ----------
        n : int, default=1
            The maximum number of rows.

        Returns
        -------
        ndarray of shape (n_selected,)
            Row numbers; `pending` has the reasons. Fewer than n, or none, if no more rows are left or the
            stopping rule says stop: then `stop_reason` says why.
        """
        loop = self._started()
        _check({"n": n})
        if n > 1:
            check_loop(self, n)
        if self._stops():
            return np.zeros(0, dtype=np.intp)
        loop.over = False  # a loop that was over continues if the stopping rule no longer says stop
        questions = loop.choose(n)
        loop.hold(questions)
        return np.array([question.row for question in questions], dtype=np.intp)

    def tell(self, ids: Any, labels: Any) -> "ActiveLearner":
        """Take answers, in any order and number, and learn them.

        Parameters
        ----------
        ids : int or array-like of int
            Row numbers: some or all of those that `ask` returned, or any others. A row may occur several
            times, with the answers of several people.
        labels : label or array-like of labels
            An answer for each; None where the label is unknown.

        Returns
        -------
        ActiveLearner
            The loop itself.
        """
        loop = self._started()
        rows = [ids] if is_single(ids) else list(ids)
        found = [labels] if is_single(labels) else list(labels)
        if len(rows) != len(found):
            raise ValueError(
                f"labels must have one label for each row, got {len(found)} for {len(rows)} rows."
            )
        loop.check_rows(rows, "ids")
        pairs = [
            (loop.told(int(row)), loop.answers.checked(label, row))
            for row, label in zip(rows, found, strict=True)
        ]
        loop.receive(pairs)
        return self

    def _started(self) -> Loop:
        loop = self._loop
        if loop is None:
            raise ValueError("There is no pool yet: call start(X, classes=...) before ask and tell.")
        if loop.model.model is not self.estimator or loop.query_strategy is not self.query_strategy:
            raise ValueError("estimator or query_strategy was replaced after start: call start again.")
        return loop

    def _stops(self) -> bool:
        """Whether the stopping rule says stop."""
        verdict = None if self.stopping is None else self.stopping.verdict()
        if verdict is None or not verdict.stop:
            return False
        self.stop_reason = verdict.reason
        return True

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
        """Ask for labels and learn them until there is a reason to stop.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The pool.
        oracle : array-like of shape (n_samples,) or callable
            The labels, of which only those asked for are read, NaN or None where unknown; or a function
            ``oracle(numbers, rows)`` that gets row numbers and rows and returns their labels, None where
            unknown. It may raise `query.StopAsking`. `query.Terminal` asks a person at the terminal.
        max_labels : int, default=None
            The number of labels to ask for in this run, not counting initial labels and those of a journal;
            None for as many as the pool and the stopping rule allow.
        classes : array-like of shape (n_classes,), default=None
            All labels that can occur; required if the oracle is a function without ``classes`` (which
            `query.Terminal` has) and the model is not fitted.
        initial_labels : int or dict of row number to label, default=None
            Labels to start with, learned before anything is asked. A number takes that many random rows of
            each class, for which it reads all labels of the array.
        cold_start : {"alternate", "farthest", "random"}, default="alternate"
            What to ask while the model has seen only one class. "alternate" takes in turn a random row, a row
            drawn in proportion to its squared distance to all rows asked about, and the row farthest from
            them. "farthest" always takes the farthest row, "random" a random one. Every second question
            continues like this while one of the named classes has not been seen, with `query.Auto` also up to
            20 labels. `Random` always asks about random rows.
        batch_size : int, default=1
            How many rows to select and ask about at once. The model still learns them one by one.
        test : tuple of (X, y), default=None
            Rows on which the model is scored.
        scoring : callable or str, default=None
            ``scoring(model, X, y)``, or the name of a scorer of scikit-learn; None is the model's ``score``.
        score_every : int, default=1
            After how many labels to score; the last one of a run is always scored.
        baseline : "random" or a query strategy, default=None
            A second loop for comparison, which runs alongside this one with a copy of the model and the same
            number of labels. It asks for labels of its own, except for those already given, and has no
            stopping rule.
        reask_unknown : bool, default=True
            Whether rows that the oracle answered with None are asked about again when no others are left.
        journal : path, default=None
            A file to which each label is written before it is learned. Labels that it already has are learned
            first, so that a process that was killed can be resumed. The baseline's journal has the suffix
            ".baseline".
        verbose : bool or int, default=False
            Whether to show a progress bar.

        Returns
        -------
        ActiveLearner
            The loop itself.
        """
        _check({name: value for name, value in locals().items() if name in _RUN})
        options = Options(test, scoring, score_every, cold_start, reask_unknown, journal)
        check_loop(self, batch_size)
        X = sliceable(X)
        answers = Answers(oracle, classes, self.estimator, count_rows(X))
        loops = self._open(X, answers, options, baseline)
        self.stop_reason = "the run was interrupted"
        try:
            self._run(loops, max_labels, initial_labels, batch_size, verbose)
        except StopAsking as reason:
            self.stop_reason = str(reason) or "the oracle ended the run"
        for loop in loops:
            loop.score_last()
        return self

    def _open(self, X: Any, answers: Answers, options: Options, baseline: Any = None) -> list[Loop]:
        """The loop of this learner and, if there is one, that of its baseline."""
        check_pool(self, self._state, X, options)
        members = [Member(self, self._state)]
        if baseline is not None:
            if self.baseline is None:
                self.baseline = self._new_baseline(baseline)
            members.append(Member(self.baseline, self.baseline._state, ".baseline"))
        loops = open_loops(members, X, answers, options)
        for member, loop in zip(members, loops, strict=True):
            member.learner._loop = loop
        return loops

    def _new_baseline(self, strategy: Any) -> "ActiveLearner":
        if self.history:
            raise ValueError(
                f"baseline={strategy!r} was added after {len(self.history)} labels: pass it from the first "
                "run on, so that it starts with the same model."
            )
        state = self._state
        if isinstance(strategy, str) and strategy == "random":
            strategy = Random(random_state=state.seed)
        check_strategy(strategy, "baseline", ' or "random"')
        baseline = type(self)(deepcopy(self.estimator), strategy, None, self.random_state)
        baseline._state = LoopState(pool=state.pool, experienced=state.experienced, seed=state.seed)
        return baseline

    def _run(
        self, loops: list[Loop], max_labels: int | None, initial_labels: Any, batch_size: int, verbose: Any
    ) -> None:
        """Learn what is known, then ask."""
        main, *others = loops
        for loop in loops:
            loop.catch_up()
            loop.learn_initial(initial_labels)
        for other in others:
            main.known_answers, other.known_answers = other.state.answers, main.state.answers
        if self.baseline is not None and not others:
            main.known_answers = self.baseline.answers
        if self._stops():
            return
        wanted = main.pool.left + len(main.unknown) if max_labels is None else max_labels
        first = len(self.history)
        with tqdm(total=wanted, desc="asking", unit="label", disable=not verbose) as bar:
            while not main.over and (missing := wanted - (len(self.history) - first)) > 0:
                questions = main.choose(min(batch_size, missing))
                if not questions:
                    return
                bar.update(main.put(questions))
                for other in others:
                    other.follow(len(self.history), batch_size)
        if not main.over:
            self.stop_reason = f"{wanted} labels were given" if main.pool.left else "the pool is used up"


def _check(options: dict[str, Any]) -> None:
    for name, value in options.items():
        if not _RUN[name].test(value):
            raise ValueError(f"{name} must be {_RUN[name].accepts}, got {value!r}.")
