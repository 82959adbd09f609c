"""ActiveLinker: asks about the pairs that matter, and not about those that follow from other answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.user_warnings import warn_user
from ..query.active import ActiveLearner
from ..query.auto import Auto
from ._cluster_questions import ClusterQuestions
from ._constrained import cluster_records
from ._first_questions import LADDER, by_truth, first_pairs
from ._refitted import Refitted
from ._results import PairPredictions, PairQuestion
from .answers import Contradiction, PairAnswers
from .blocking import Pairs
from .linker import CLASSES, Linkage, PairwiseLinker

__all__ = ["ActiveLinker", "PairQuestion"]

_PAIRS_AT_ONCE = 100_000
# One question in this many goes to a random pair of those that are taken for matches: a model that takes too
# many pairs for matches is not corrected by questions near its boundary alone.
_CHECK_EVERY = 4
_CHECKED_AT_ONCE = 2_000
_MOST_UNKNOWN = 30  # questions in a row without an answer after which nobody is asked any more


class ActiveLinker:
    """Link records with few labels: ask about pairs, learn the answers, cluster the records.

    The candidate pairs are the pool of an `ActiveLearner`, so that its query strategies and stopping rules
    apply. The first questions go from similar pairs to dissimilar ones, because matches are rare, and every
    fourth goes to a random pair of those taken for matches. An answer
    that follows from others, because matches are transitive, is learned without a question if the query
    strategy selects its pair; an answer that contradicts others is kept in `contradictions`.

    Parameters
    ----------
    linker : PairwiseLinker, default=None
        The linker that learns. None is ``PairwiseLinker()``.
    query_strategy : query strategy, default=None
        Selects pairs. None is ``query.Auto(pool_size=1000)``.
    stopping : StoppingRule, default=None
        When to stop, see `query.stopping`.
    random_state : int or None, default=None
        Makes a run reproducible.
    prefer : {"boundary", "clusters"}, default="boundary"
        "clusters": every other question goes to a pair whose answer would merge or split large clusters. It
        finds no more with the same number of answers on any set that was tried, see the benchmarks.

    Attributes
    ----------
    pairs : Pairs
        The candidate pairs, once `start` was called.
    n_answers : int
        Number of answers given.
    n_implied : int
        Number of labels that followed from answers and were learned without a question.

    Examples
    --------
    >>> from everlearn.datasets import make_author_records
    >>> from everlearn.linkage import ActiveLinker, AuthorName, Blocking, PairwiseLinker, Records
    >>> table, person = make_author_records(scale=0.05, random_state=0)
    >>> records = Records(table)
    >>> loop = ActiveLinker(PairwiseLinker(blocking=Blocking(AuthorName())), random_state=0)
    >>> loop = loop.run(records, oracle=person, max_labels=60)
    >>> loop.n_answers
    60
    """

    def __init__(
        self,
        linker: PairwiseLinker | None = None,
        query_strategy: Any = None,
        stopping: Any = None,
        random_state: int | None = None,
        prefer: str = "boundary",
    ) -> None:
        self.linker = PairwiseLinker() if linker is None else linker
        self.query_strategy, self.stopping, self.random_state = query_strategy, stopping, random_state
        self.prefer = prefer
        self.pairs = Pairs(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp))
        self.n_answers = self.n_implied = 0
        self._answers = PairAnswers()
        self._told: list[tuple[int, int, bool]] = []
        self._loop: ActiveLearner | None = None
        self._first: list[int] = []  # rows of the cold start, the next one last
        self._rows = np.zeros((0, 0), dtype=np.float32)
        self._asked: set[int] = set()
        self._seen: set[int] = set()
        self._unanswered = ""

    @property
    def contradictions(self) -> list[Contradiction]:
        """The answers that contradict earlier ones; records of the second table count after the first."""
        return list(self._answers.contradictions)

    @property
    def history(self) -> Any:
        """What was learned, as `ActiveLearner.history` has it."""
        return self._started().history

    @property
    def stop_reason(self) -> str:
        """Why the last run ended."""
        return self._unanswered or self._started().stop_reason

    def start(self, left: Any, right: Any = None, *, pairs: Pairs | None = None) -> ActiveLinker:
        """Set the records and compute the features of all candidate pairs, in blocks.

        Parameters
        ----------
        left : Records or table
            The records, or those of the first table.
        right : Records or table, default=None
            The second table; None compares the records of one table with each other.
        pairs : Pairs, default=None
            The candidate pairs; None takes those of the linker's blocking.

        Returns
        -------
        ActiveLinker
            The loop itself.
        """
        if self.prefer not in ("boundary", "clusters"):
            raise ValueError(f"prefer must be 'boundary' or 'clusters', got {self.prefer!r}.")
        linker = self.linker.prepare(left, right)
        self.pairs = linker.candidates() if pairs is None else pairs
        if not len(self.pairs):
            raise ValueError(
                f"There are {len(self.pairs)} candidate pairs: no two records share a key. Use a coarser "
                "blocking, such as Blocking(Prefix(field, 3)) or Blocking(MinHash(field))."
            )
        rows = np.concatenate(
            [
                linker.transform(self.pairs[i : i + _PAIRS_AT_ONCE]).astype(np.float32)
                for i in range(0, len(self.pairs), _PAIRS_AT_ONCE)
            ]
        )
        strategy = Auto(pool_size=1000) if self.query_strategy is None else self.query_strategy
        self._loop = ActiveLearner(linker.model, strategy, self.stopping, random_state=self.random_state)
        self._loop.start(rows, classes=CLASSES, reask_unknown=False)
        self._answers, self._told = PairAnswers(), []
        self.n_answers = self.n_implied = 0
        self._asked, self._seen, self._unanswered = set(), set(), ""
        self._first, self._rows, self._changing = (
            first_pairs(rows, linker.feature_names),
            rows,
            ClusterQuestions(),
        )
        return self

    def ask(self, n: int = 1) -> list[PairQuestion]:
        """Select pairs to ask about.

        Parameters
        ----------
        n : int, default=1
            The maximum number of questions.

        Returns
        -------
        list of PairQuestion
            The questions; fewer than n, or none, if nothing is left to ask or the stopping rule says stop:
            then `stop_reason` says why.
        """
        loop = self._started()
        found: list[PairQuestion] = []
        while len(found) < n:
            row, reason = self._next(loop)
            if row is None:
                break
            if row in self._asked:
                continue
            known = self._answers.implied(*self._ends(row))
            if known is None:
                self._asked.add(row)
                found.append(self._question(row, reason))
            else:  # nobody is asked what follows from other answers
                self._learn(row, known)
                self.n_implied += 1
        return found

    def _next(self, loop: ActiveLearner) -> tuple[int | None, str]:
        """The next row to ask about: of the cold start until both classes were seen, then by the strategy."""
        stops = self.stopping is not None and self.stopping.verdict().stop  # then the loop says why
        if not stops and self._first and (len(self._seen) < 2 or self.n_answers < len(LADDER)):
            return self._first.pop(), "one of the first pairs, from similar to dissimilar"
        if not stops and self.n_answers % _CHECK_EVERY == 0 and len(self._seen) == 2:
            row = self._taken_for_match(loop)
            if row is not None:
                return row, "a random pair of those taken for a match"
        if not stops and self.prefer == "clusters" and self.n_answers % 2 == 1:
            row = self._would_change()
            if row is not None:
                return row, "its answer would merge or split clusters"
        rows = loop.ask(1)
        if not len(rows):
            return None, ""
        return int(rows[0]), loop.pending[int(rows[0])]

    def _taken_for_match(self, loop: ActiveLearner) -> int | None:
        """A random pair without an answer that is taken for a match; None if few random pairs have none."""
        random = np.random.default_rng([self.random_state or 0, self.n_answers])
        places = random.permutation(random.integers(len(self.pairs), size=_CHECKED_AT_ONCE))
        for row in places[loop.estimator.decision_function(self._rows[places]) > 0].tolist():
            if row not in self._asked and self._answers.implied(*self._ends(row)) is None:
                return int(row)
        return None

    def _would_change(self) -> int | None:
        """A pair without an answer that would change clusters; None if there is none."""
        n_labels = self.n_answers + self.n_implied
        if self._changing.is_due(n_labels):
            predictions = PairPredictions(self.pairs, self._scores())
            clusters = self.linker.cluster(predictions).clusters
            left, right = self.linker.records()
            ends = self.pairs.left, self.pairs.right + (0 if right is None else len(left))
            self._changing.rank(*ends, clusters, predictions.distance, n_labels)
        while (row := self._changing.take()) is not None:
            if row not in self._asked and self._answers.implied(*self._ends(row)) is None:
                return row
        return None

    def tell(self, ids: Any, labels: Any) -> ActiveLinker:
        """Take answers and learn them.

        Parameters
        ----------
        ids : int or sequence of int
            The ids of questions.
        labels : bool or sequence of bool
            Whether each pair is a match; None if that is unknown.

        Returns
        -------
        ActiveLinker
            The loop itself.
        """
        self._started()
        single = isinstance(ids, int | np.integer)
        for row, label in zip([ids] if single else ids, [labels] if single else labels, strict=True):
            if not 0 <= row < len(self.pairs):
                raise ValueError(f"ids has {row}, but the pairs have the numbers 0 to {len(self.pairs) - 1}.")
            self._asked.add(int(row))
            if label not in (None, True, False):  # 1 and 0 are equal to these
                raise ValueError(f"labels must be True, False, or None if that is unknown, got {label!r}.")
            if label is not None:
                self._answers.add(*self._ends(int(row)), bool(label))
                self._told.append((*self._ends(int(row)), bool(label)))
                self.n_answers += 1
                self._seen.add(int(bool(label)))
            self._learn(int(row), label)
        return self

    def run(
        self,
        left: Any,
        right: Any = None,
        *,
        oracle: Any,
        max_labels: int = 200,
        pairs: Pairs | None = None,
        on_answer: Callable[[ActiveLinker], None] | None = None,
    ) -> ActiveLinker:
        """Ask an oracle until there are enough labels or there is another reason to stop.

        That is a stopping rule, an empty pool, or 30 questions in a row that the oracle cannot answer, which
        gives a warning.

        Parameters
        ----------
        left : Records or table
            The records, or those of the first table.
        right : Records or table, default=None
            The second table; None compares the records of one table with each other.
        oracle : callable, array-like or pair of array-likes
            ``oracle(question)`` returns whether the records of a `PairQuestion` are the same, or None.
            Instead, the true entity of each record; of both tables if there are two.
        max_labels : int, default=200
            The number of answers; 0 asks nothing.
        pairs : Pairs, default=None
            The candidate pairs; None takes those of the linker's blocking.
        on_answer : callable, default=None
            Called with the loop after each answer, for instance to score it.

        Returns
        -------
        ActiveLinker
            The loop itself.
        """
        self.start(left, right, pairs=pairs)
        answer = oracle if callable(oracle) else by_truth(oracle, self.pairs, *self.linker.records())
        n_unknown = 0
        while self.n_answers < max_labels and n_unknown < _MOST_UNKNOWN and (questions := self.ask()):
            before = self.n_answers
            for question in questions:
                self.tell(question.id, answer(question))
            n_unknown = 0 if self.n_answers > before else n_unknown + 1
            if on_answer is not None:
                on_answer(self)
        if n_unknown >= _MOST_UNKNOWN:
            self._unanswered = (
                f"the oracle answered None to {n_unknown} questions in a row, after {self.n_answers} answers"
            )
            warn_user(f"Stopped asking: {self._unanswered}.")
        return self

    def link(self) -> Linkage:
        """Cluster the records by what was learned.

        Records that are the same by an answer are together, and records that are not are apart.

        Returns
        -------
        Linkage
            The clusters.
        """
        model, linker = self._started().estimator, self.linker
        if isinstance(model, Refitted):  # the last labels may not be learned yet
            model.finish()
        left, right = linker.records()
        offset, n = (0, len(left)) if right is None else (len(left), len(left) + len(right))
        known = len(self._started().history) > 0
        scores = self._scores() if known else np.full(len(self.pairs), -np.inf)
        predictions = PairPredictions(self.pairs, scores)
        clusters = cluster_records(
            n,
            self.pairs.left,
            self.pairs.right + offset,
            predictions.distance,
            [(a, b, bool(label)) for a, b, label in self._told],
            clustering=linker.clustering,
            eps=linker.eps,
            min_pts=linker.min_pts,
            tables=None if right is None else np.arange(n) >= offset,
        )
        return Linkage(left, right, clusters, predictions)

    def _scores(self) -> NDArray[np.float64]:
        """The decision values of all pairs."""
        model = self._started().estimator
        scores = [
            model.decision_function(self._rows[i : i + _PAIRS_AT_ONCE])
            for i in range(0, len(self._rows), _PAIRS_AT_ONCE)
        ]
        return np.concatenate(scores)

    def _started(self) -> ActiveLearner:
        if self._loop is None:
            raise ValueError("There are no records yet: call start(left, right) first.")
        return self._loop

    def _ends(self, row: int) -> tuple[int, int]:
        """Both records of a pair as numbers, those of the second table after those of the first."""
        left, right = self.linker.records()
        offset = 0 if right is None else len(left)
        return int(self.pairs.left[row]), int(self.pairs.right[row]) + offset

    def _question(self, row: int, reason: str) -> PairQuestion:
        left, right = self.linker.records()
        other = left if right is None else right
        first, second = int(self.pairs.left[row]), int(self.pairs.right[row])
        a, b = left[first], other[second]
        differs = [name for name in a if a[name] != b[name]]
        return PairQuestion(row, a, b, differs, reason, left.ids[first], other.ids[second])

    def _learn(self, row: int, label: bool | None) -> None:
        self._started().tell(row, None if label is None else int(label))
