"""ActiveLearner: the loop that buys labels for a pool, one by one, and remembers what came of each."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from tqdm.auto import tqdm

from .. import _params
from .._online import OnlineLearner
from ._pool import PoolRule
from ._rule import Places
from ._scores import count_rows, decision_scores, has_learnt, margins
from .stopping import Asked
from .stream import _FIRST_ROWS, _sliceable, _take

_UNKNOWN = _params.one_of("later", "never")
_LABELS = _params.NONE | _params.integer_from(1)


class ActiveLearner:
    """Learn from a pool of rows without labels, asking for those that matter.

    A model is updated after every label, never trained anew. What was asked, what was answered and what the
    model was like then stands in `history`. A run can be interrupted, by the oracle or by Ctrl-C, and resumed
    by calling `run` again with the same pool: a label once given is never asked for again, nor lost.

    Parameters
    ----------
    model : classifier
        It has ``partial_fit`` and scores, such as `LASVM`; it goes on from what it knows.
    query : Random, Margin, AutoMargin or another rule
        Which rows of the pool to ask about.
    stopping : rule of `query.stopping`, default=None
        When enough has been asked. None asks until the labels are used up.
    random_state : int, RandomState instance or None, default=None
        Decides which rows are asked about before the model knows two classes.

    Attributes
    ----------
    history : list of dict
        One for each label: "row", "label", "labels" (how many there are), "margin" (before it was learnt),
        "n_support", and "score" where test rows are given. A data frame is ``pandas.DataFrame(history)``.
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
        self.history: list[dict[str, Any]] = []
        self.stopped = "nothing has been asked yet"
        self._given: dict[int, Any] = {}
        self._refused: list[int] = []
        self._draws = 0

    def run(
        self,
        X: Any,
        oracle: Any,
        labels: int | None = None,
        *,
        classes: Any = None,
        test: tuple[Any, Any] | None = None,
        scorer: Callable[[Any, Any, Any], float] | None = None,
        unknown: str = "later",
        verbose: bool | int = False,
    ) -> "ActiveLearner":
        """Ask, learn, and go on, until there is reason to stop.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The pool.
        oracle : array-like of shape (n_samples,) or callable
            The labels, of which only those asked for are read; or a function ``oracle(number, row)`` that
            gets the number and the row asked about and returns its label, or None if it does not know.
        labels : int, default=None
            Labels to ask for in this run; None for all that the pool and the stopping rule allow.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come; needed with a function, before the model has learnt anything.
        test : tuple of (X, y), default=None
            Rows on which the model is scored after every label.
        scorer : callable, default=None
            ``scorer(model, X, y)``; None is the model's own ``score``.
        unknown : {"later", "never"}, default="later"
            What becomes of rows about which the oracle does not know: asked again when no others are left, or
            not.
        verbose : bool or int, default=False
            Whether to show progress.

        Returns
        -------
        ActiveLearner
            The loop itself.
        """
        for name, value, constraint in (("labels", labels, _LABELS), ("unknown", unknown, _UNKNOWN)):
            if not constraint.test(value):
                raise ValueError(f"{name} must be {constraint.accepts}, got {value!r}.")
        X = _sliceable(X)
        pool = _Pool(X, count_rows(X), self._given, self._refused)
        known = self._classes(oracle, classes, pool.total)
        random = check_random_state(self.random_state)
        self._learn_what_was_given(X, known)
        before = len(self.history)
        wanted = pool.left + len(self._refused) if labels is None else labels
        with tqdm(total=wanted, desc="asking", unit="label", disable=not verbose) as bar:
            while len(self.history) - before < wanted:
                row = self._next(pool, random)
                if row is None and unknown == "later" and self._refused:
                    unknown = "never"  # a second time is enough
                    pool.give_back(self._refused)
                    continue
                if row is None:
                    self.stopped = (
                        "the oracle knows no more labels" if self._refused else "the pool is used up"
                    )
                    return self
                label = self._ask(oracle, row, _take(X, np.array([row])), known)
                pool.remove(row)
                if label is None:
                    self._refused.append(row)
                    continue
                self._given[row] = label  # before anything can fail
                self._learn(X, row, label, known, test, scorer)
                bar.update()
                if self.stopping is not None and self._told():
                    return self
        self.stopped = "the pool is used up" if pool.left == 0 else f"{wanted} labels were given"
        return self

    # ---------------------------------------------------------------------------------------------- one label

    def _next(self, pool: "_Pool", random: Any) -> int | None:
        """The row to ask about: by the rule once the model knows two classes, at random before."""
        if pool.left == 0:
            return None
        if len({str(record["label"]) for record in self.history}) < 2 and not self._knows_two():
            return int(pool.numbers[random.randint(pool.left)])
        self._draws += 1
        if isinstance(self.query, PoolRule):
            rows = pool.all_rows() if self.query._searches_all(pool.left, 1) else pool
            place = self.query.query(self.model, rows, 1, draw=self._draws)
        else:
            place = self.query.query(self.model, pool.all_rows(), 1)
        return None if len(place) == 0 else int(pool.numbers[place[0]])

    def _knows_two(self) -> bool:
        return not self.history and has_learnt(self.model)

    def _ask(self, oracle: Any, row: int, features: Any, known: npt.NDArray[Any]) -> Any:
        label = oracle(row, features) if callable(oracle) else np.asarray(oracle)[row]
        if label is not None and label not in known:
            raise ValueError(
                f"The oracle answered {label!r} for row {row}, which is none of the classes "
                f"{known.tolist()!r}: answer one of them, or None for a row about which nothing is known."
            )
        return label

    def _learn(self, X: Any, row: int, label: Any, known: Any, test: Any, scorer: Any) -> None:
        features = _take(X, np.array([row]))
        first = not has_learnt(self.model)
        margin = None if first else float(margins(decision_scores(self.model, features))[0])
        if first and isinstance(self.model, OnlineLearner):
            self.model._prepare(_take(X, slice(0, _FIRST_ROWS)), known)
        self.model.partial_fit(features, np.asarray([label]), **({"classes": known} if first else {}))
        support = getattr(self.model, "support_", None)
        record = {"row": row, "label": label, "labels": len(self.history) + 1, "margin": margin}
        record["n_support"] = None if support is None else len(support)
        if test is not None:
            record["score"] = float(scorer(self.model, *test) if scorer else self.model.score(*test))
        self.history.append(record)

    def _learn_what_was_given(self, X: Any, known: Any) -> None:
        """Labels that were given before an interruption but not learnt."""
        learnt = {record["row"] for record in self.history}
        for row, label in self._given.items():
            if row not in learnt:
                self._learn(X, row, label, known, None, None)

    def _told(self) -> bool:
        """Tell the stopping rule about the last label; whether it says stop."""
        last = self.history[-1]
        self.stopping.update(
            Asked(last["labels"], last["n_support"], last["margin"], score=last.get("score"))
        )
        verdict = self.stopping.verdict()
        if verdict.stop:
            self.stopped = verdict.reason
        return bool(verdict.stop)

    def _classes(self, oracle: Any, classes: Any, total: int) -> npt.NDArray[Any]:
        if not callable(oracle) and len(np.shape(oracle)) == 1 and len(oracle) != total:
            raise ValueError(f"oracle has {len(oracle)} labels for {total} rows; it must have one for each.")
        if classes is not None:
            return np.unique(classes)
        if has_learnt(self.model):
            return np.asarray(self.model.classes_)
        if callable(oracle):
            raise ValueError("classes must be given: the oracle is a function and the model knows none yet.")
        return np.unique(np.asarray(oracle))


class _Pool:
    """The rows of a pool that have not been asked about, fetched only when they are looked at."""

    def __init__(self, X: Any, total: int, given: dict[int, Any], refused: list[int]) -> None:
        self.X, self.total = X, total
        gone = np.array([*given, *refused], dtype=np.intp)
        self.numbers: Places = np.setdiff1d(np.arange(total), gone)

    @property
    def left(self) -> int:
        return len(self.numbers)

    @property
    def shape(self) -> tuple[int, int]:
        return self.left, self.X.shape[1]

    def __len__(self) -> int:
        return self.left

    def __getitem__(self, places: Any) -> Any:
        return _take(self.X, self.numbers[places])

    def all_rows(self) -> Any:
        return _take(self.X, self.numbers)

    def remove(self, row: int) -> None:
        """In any order: the last one takes the place."""
        place = int(np.flatnonzero(self.numbers == row)[0])
        self.numbers[place] = self.numbers[-1]
        self.numbers = self.numbers[:-1]

    def give_back(self, rows: list[int]) -> None:
        """Put rows back that were refused, when no others are left."""
        self.numbers = np.array(rows, dtype=np.intp)
        rows.clear()
