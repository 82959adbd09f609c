"""The core of asking over a pool: choose queries, keep what was answered, learn it, write it down."""

import math
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import constraints
from ._answers import Answers
from ._consensus import consensus
from ._journal import Journal
from ._pool import generator, seeded
from ._questions import AGAIN, RANDOM_START, Pool, Query, Questions
from ._scores import Scores, ScoresNotFinite, count_rows, decided, margins
from ._view import View
from .random_rows import Random
from .stopping import Progress
from .stream import _take

if TYPE_CHECKING:
    from .active import ActiveLearner

_INITIAL, _GIVEN, _TOLD = "initial", "journal", "told"
# A model that can is brought to its optimum after every label up to so many labels; from then on when there
# is one label more for every hundred.
_EVERY_LABEL = 1000
_FINISHES = 100


class Scoring:
    """When and how a model is scored."""

    def __init__(self, test: Any, scorer: Any, every: int) -> None:
        self.test, self.scorer, self.every = test, scorer, every

    def __call__(self, model: Any) -> float | None:
        if self.test is None:
            return None
        return float(self.scorer(model, *self.test) if self.scorer else model.score(*self.test))


class Loop:
    """One learner over one pool.

    Invariant: an answer is in the learner's answers, and in the journal, before anything is done with it that
    can fail.
    """

    def __init__(
        self,
        learner: "ActiveLearner",
        X: Any,
        answers: Answers,
        scoring: Scoring,
        cold_start: str,
        reask_unknown: bool,
        journal: Journal | None,
    ) -> None:
        self.learner, self.X, self.answers, self.scoring = learner, X, answers, scoring
        self.journal, self.again = journal, reask_unknown
        self.lookup: dict[int, list[Any]] = {}
        self.over = False
        self.view = View(learner.estimator, X, answers.classes)
        self.pool = Pool(self.view.rows, count_rows(X), learner._gone)
        for row in learner._pending:
            self.pool.remove(row)
        self.query_strategy = learner.query_strategy
        self.questions = Questions(
            self.pool, seeded(self.query_strategy, learner._seed), cold_start, learner._seed
        )
        self.seen = {record["label"] for record in learner.history}

    @property
    def refused(self) -> list[int]:
        """Rows that were asked about in vain."""
        learner = self.learner
        return [
            row
            for row in dict.fromkeys(learner._gone)
            if row not in learner._answers and row not in learner._pending
        ]

    # ------------------------------------------------------------------------------- what is known already

    def catch_up(self) -> None:
        """Learn the answers of the journal and those kept but not learned; write what the journal lacks."""
        learner = self.learner
        read = [] if self.journal is None else self.journal.answers
        pairs = [(row, self.answers.checked(answer, row)) for row, answer in read]
        written: dict[int, list[Any]] = {}
        for row, label in pairs:
            if label is not None:
                written.setdefault(row, []).append(label)
        for row, labels in written.items():  # nothing is kept of a journal that is refused
            for theirs, ours in zip(labels, learner._answers.get(row, []), strict=False):
                if theirs != ours:
                    raise ValueError(
                        f"The journal says {theirs!r} of row {row}, this loop was told {ours!r}: choose "
                        "another file, or correct that line."
                    )
        for row, labels in written.items():
            ours = learner._answers.setdefault(row, [])
            ours += labels[len(ours) :]
        counted = Counter(learner._gone)  # a journal repeats what this loop itself wrote
        for row, _ in pairs:
            if counted[row]:
                counted[row] -= 1
            else:
                self._take_out(row)
        for row in learner._answers:
            if self.pool.has(row):  # interrupted before it was taken out
                self._take_out(row)
        if self.journal is not None:
            for row, labels in learner._answers.items():
                for label in labels[len(written.get(row, [])) :]:
                    self.journal.write(row, label)
        learned = Counter(record["row"] for record in learner.history)
        for row, labels in list(learner._answers.items()):
            for label in labels[learned[row] :]:
                self._learn(Query(row, _GIVEN, "given before"), label)
                self.over = self._told_to_stop() or self.over

    def learn_initial(self, initial_labels: Any) -> None:
        """Learn the labels to begin with, those that are not known yet."""
        if initial_labels is None:
            return
        learner = self.learner
        if isinstance(initial_labels, dict):
            self.check_rows(initial_labels, "initial_labels")
            pairs = [(int(row), self.answers.checked(label, row)) for row, label in initial_labels.items()]
        else:
            rows = self.answers.rows_of_each_class(initial_labels, generator(learner._seed, 0))
            labels = self.answers(rows, _take(self.X, rows))
            pairs = [
                (int(row), self.answers.checked(label, row)) for row, label in zip(rows, labels, strict=True)
            ]
        for row, label in pairs:
            if label is not None and row in learner._answers and learner._answers[row][0] != label:
                raise ValueError(
                    f"initial_labels has {label!r} for row {row}, but this loop was told "
                    f"{learner._answers[row][0]!r}."
                )
        for row, label in pairs:
            if label is not None and row not in learner._answers:
                self._note([(row, label)])
                self._learn(Query(row, _INITIAL, "initial label"), label)
                self.over = self._told_to_stop() or self.over

    def check_rows(self, rows: Iterable[Any], name: str) -> None:
        """Refuse numbers that are no rows of the pool."""
        bad = [row for row in rows if not (constraints.is_integer(row) and 0 <= row < self.pool.total)]
        if bad:
            raise ValueError(
                f"{name} has rows that the pool has not: {bad!r}; it has rows 0 to {self.pool.total - 1}."
            )

    # --------------------------------------------------------------------------------------------- questions

    def choose(self, n: int) -> list[Query]:
        """At most n queries; none when there is nothing to ask, and then the loop is over."""
        learner = self.learner
        while not self.over:
            seen = len(self.answers.classes) if learner._experienced else len(self.seen)
            draw = len(learner._gone) + len(learner._pending)
            labels = math.inf if learner._experienced else len(learner.history)
            found = self.questions.next(self.view, n, draw, seen, labels, self._settled)
            if found or not self._second_round():
                return found
        return []

    def hold(self, queries: list[Query]) -> None:
        """Mark queries as pending, so that they are not asked again."""
        for query in queries:
            self.learner._pending[query.row] = query
            self.pool.remove(query.row)

    def put(self, queries: list[Query]) -> int:
        """Put queries to the oracle and learn what is answered; how many labels there were."""
        one_by_one = getattr(self.answers.oracle, "one_at_a_time", False)
        turns = [[query] for query in queries] if one_by_one else [queries]
        return sum(self._ask(turn) for turn in turns if not self.over)

    def follow(self, labels: int, batch_size: int) -> None:
        """Ask until there are as many labels as in the other loop."""
        while (missing := labels - len(self.learner.history)) > 0:
            queries = self.choose(min(batch_size, missing))
            if not queries:
                return
            self.put(queries)

    def _settled(self) -> dict[int, list[Any]]:
        """Answers by row, without rows that are asked about at present."""
        answers, pending = self.learner._answers, self.learner._pending
        return {row: given for row, given in answers.items() if row not in pending}

    def _ask(self, queries: list[Query]) -> int:
        """Ask the oracle, then keep and learn what it answered."""
        known = {
            query.row: self.lookup[query.row][0]
            for query in queries
            if query.row in self.lookup and query.why != AGAIN
        }
        fresh = np.array([query.row for query in queries if query.row not in known], dtype=np.intp)
        if len(fresh):
            known |= dict(zip(fresh.tolist(), self.answers(fresh, _take(self.X, fresh)), strict=True))
        refusal: ValueError | None = None
        pairs: list[tuple[Query, Any]] = []
        for query in queries:
            try:
                pairs.append((query, self.answers.checked(known[query.row], query.row)))
            except ValueError as error:  # noqa: PERF203  (the other answers count all the same)
                refusal = refusal or error
        count = self.receive(pairs)
        if refusal is not None:
            raise refusal
        return count

    def told(self, row: int) -> Query:
        """The query that an answer belongs to, or one that stands for an answer that nobody asked for."""
        return self.learner._pending.get(row) or Query(row, _TOLD, "told without being asked")

    def receive(self, pairs: list[tuple[Query, Any]]) -> int:
        """Keep checked answers, all of them before anything can fail, then learn; returns how many labels."""
        self._note([(query.row, label) for query, label in pairs])
        labels = [(query, label) for query, label in pairs if label is not None]
        nearest, margin = self._nearest([query for query, _ in labels if self._by_margin(query.why)])
        for query, label in labels:
            self._learn(query, label)
            self.over = self._told_to_stop(margin if query.row == nearest else {}) or self.over
        return len(labels)

    def _by_margin(self, why: str) -> bool:
        """Whether a row was chosen by a strategy that looks at the model."""
        query = self.learner.query_strategy
        return why == type(query).__name__ and not isinstance(query, Random)

    def _nearest(self, queries: list[Query]) -> tuple[int | None, dict[str, Any]]:
        """Of rows chosen at once, the one nearest to the boundary as it is now, and how near."""
        if not queries or self.learner.stopping is None:
            return None, {}
        try:
            found = [float(margins(self._scores(query))[0]) for query in queries]
        except ScoresNotFinite:
            return None, {}
        best = int(np.argmin(found))
        return queries[best].row, {"margin": found[best], "free_margin": self.view.free_margin()}

    def _scores(self, query: Query) -> Scores:
        """Scores of the row of a query: those by which it was chosen, unless the model has changed since."""
        if query.scores is not None and query.version == self.view.version:
            return query.scores
        return self.view.scores_at(np.array([query.row]))

    def _second_round(self) -> bool:
        """Nothing is left: put back what was asked about in vain, once; otherwise say why asking ends."""
        learner, refused = self.learner, self.refused
        if self.again and refused and self.pool.left == 0:
            self.again = False  # a second time is enough
            for row in refused:
                self.pool.give_back(row)
            return True
        if learner._pending:  # their answers may change what is asked: the loop is not over
            learner.stop_reason = (
                f"{len(learner._pending)} queries are pending, and no other row is left to ask"
            )
            return False
        self.over = True
        if self.pool.left > 0:
            learner.stop_reason = f"the query strategy wants none of the {self.pool.left} rows that are left"
        else:
            learner.stop_reason = "the oracle knows no more labels" if refused else "the pool is used up"
        return False

    def _take_out(self, row: int) -> None:
        self.learner._gone.append(row)
        self.pool.remove(row)

    def _note(self, answers: list[tuple[int, Any]]) -> None:
        """Keep answers, None for one that was not known: all of them before anything can fail."""
        learner = self.learner
        for row, label in answers:
            if label is not None:
                learner._answers.setdefault(row, []).append(label)
        for row, _ in answers:
            learner._pending.pop(row, None)
            self._take_out(row)
        if self.journal is not None:
            for row, label in answers:
                self.journal.write(row, label)

    # ----------------------------------------------------------------------------------------- what is
    # learned

    def _learn(self, query: Query, label: Any) -> None:
        view, history = self.view, self.learner.history
        record: dict[str, Any] = {
            "n_labels": len(history) + 1,
            "row": query.row,
            "label": label,
            "chosen_by": query.why,
            "reason": query.reason,
            "correct": None,
            "margin": None,
            "free_margin": None,
            "n_support": None,
            "score": None,
        }
        if view.ready:
            self._note_before(record, query, label)
        self._teach(query.row)
        history.append(record)  # at once: what is learned must not be learned again
        self.seen.add(label)
        count = record["n_labels"]
        if not view.ready:  # a tie between the first answers: nothing has been learned yet
            return
        if view.finishes and (count <= _EVERY_LABEL or count % (count // _FINISHES) == 0):
            view.finish()
        record["n_support"] = view.n_support()
        if count % self.scoring.every == 0:
            record["score"] = self.scoring(view.model)

    def _teach(self, row: int) -> None:
        """Let the model know what the answers for a row say by majority, with their weight.

        A model that cannot forget keeps what it learned, and learns the new majority beside it.
        """
        learner, view = self.learner, self.view
        label, weight = consensus(learner._answers[row])
        before = learner._learned.get(row)
        if before is not None:
            if before[:2] == (label, weight):
                return
            forgot = view.forget(before[2])
            if not forgot and before[1] > 0 and (before[0] == label or weight == 0):
                return
        learned_as = view.learn(row, label, weight) if weight > 0 else None
        learner._learned[row] = (label, weight, learned_as)

    def _note_before(self, record: dict[str, Any], query: Query, label: Any) -> None:
        """What the model says of a row whose label it is about to learn; nothing if it cannot say yet."""
        try:
            scores = self._scores(query)
        except ScoresNotFinite:
            return
        record["margin"] = float(margins(scores)[0])
        record["correct"] = bool(self.answers.classes[decided(scores)[0]] == label)
        record["free_margin"] = self.view.free_margin()

    def score_last(self) -> None:
        """The last label of a run has a score, whatever the interval is."""
        history = self.learner.history
        if history and history[-1]["score"] is None and self.view.ready:
            history[-1]["score"] = self.scoring(self.learner.estimator)

    def _told_to_stop(self, margin: dict[str, Any] | None = None) -> bool:
        """Tell the stopping rule about the last label; whether it says stop.

        `margin` is told of the row nearest to the boundary of those that a strategy chose at once: that of
        another row says nothing about what the strategy could find. That the model was right about a row
        drawn at random is an unbiased estimate of how often it is.
        """
        rule, last = self.learner.stopping, self.learner.history[-1]
        if rule is None:
            return False
        at_random = last["chosen_by"] in ("Random", RANDOM_START) and last["correct"] is not None
        score = last["score"]
        rule.update(
            Progress(
                last["n_labels"],
                last["n_support"],
                **(margin or {}),
                score=None if score is None or math.isnan(score) else score,
                estimate=float(last["correct"]) if at_random else None,
                n_classes=len(self.answers.classes),
            )
        )
        verdict = rule.verdict()
        if verdict.stop and not self.over:
            self.learner.stop_reason = verdict.reason
        return bool(verdict.stop)
