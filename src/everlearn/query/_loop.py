"""The core of a loop over a pool: select questions, record answers, learn them."""

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
from ._pool_model import PoolModel
from ._questions import REASKED, Pool, PoolQuestion, QuestionSelector
from ._rows import count_rows, take
from ._scores import Scores, ScoresNotFinite, margins, predicted_classes
from ._state import Learned, LoopState
from .stopping import Progress

if TYPE_CHECKING:
    from .active import ActiveLearner

_INITIAL, _JOURNAL, _TOLD = "initial", "journal", "told"
# A model with a `finish` is optimized after every label up to this many labels; from then on each time the
# number of labels has grown by a hundredth.
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

    Invariant: an answer is in the state, and in the journal, before anything is done with it that can fail.
    """

    def __init__(
        self,
        learner: "ActiveLearner",
        state: LoopState,
        X: Any,
        answers: Answers,
        scoring: Scoring,
        cold_start: str,
        reask_unknown: bool,
        journal: Journal | None,
    ) -> None:
        self.learner, self.state, self.X, self.answers, self.scoring = learner, state, X, answers, scoring
        self.journal, self.reasks_unknown = journal, reask_unknown
        self.known_answers: dict[int, list[Any]] = {}  # of the other loop, which need not be asked for again
        self.over = False
        self.model = PoolModel(learner.estimator, X, answers.classes)
        self.pool = Pool(self.model.rows, count_rows(X), state.gone)
        for row in state.pending:
            self.pool.remove(row)
        self.query_strategy = learner.query_strategy
        strategy = seeded(self.query_strategy, state.seed)
        self.selector = QuestionSelector(self.pool, strategy, cold_start, state.seed)
        self.seen = {record["label"] for record in learner.history}

    @property
    def unknown(self) -> list[int]:
        """Rows that were asked about without getting a label."""
        state = self.state
        return [
            row for row in dict.fromkeys(state.gone) if row not in state.answers and row not in state.pending
        ]

    # ------------------------------------------------------------------------------- what is known already

    def catch_up(self) -> None:
        """Learn the answers of the journal and those not learned yet; write those that the journal lacks."""
        state = self.state
        read = [] if self.journal is None else self.journal.answers
        pairs = [(row, self.answers.checked(answer, row)) for row, answer in read]
        written: dict[int, list[Any]] = {}
        for row, label in pairs:
            if label is not None:
                written.setdefault(row, []).append(label)
        for row, labels in written.items():  # check all first: a journal is accepted as a whole or not at all
            for theirs, ours in zip(labels, state.answers.get(row, []), strict=False):
                if theirs != ours:
                    raise ValueError(
                        f"The journal has the label {theirs!r} for row {row}, but this loop already has "
                        f"{ours!r}: use another file, or correct that line."
                    )
        for row, labels in written.items():
            ours = state.answers.setdefault(row, [])
            ours += labels[len(ours) :]
        counted = Counter(state.gone)  # a journal repeats what this loop itself wrote
        for row, _ in pairs:
            if counted[row]:
                counted[row] -= 1
            else:
                self._remove(row)
        for row in state.answers:
            if self.pool.has(row):  # interrupted before it was removed
                self._remove(row)
        if self.journal is not None:
            for row, labels in state.answers.items():
                for label in labels[len(written.get(row, [])) :]:
                    self.journal.write(row, label)
        learned = Counter(record["row"] for record in self.learner.history)
        for row, labels in list(state.answers.items()):
            for label in labels[learned[row] :]:
                self._learn_and_check(PoolQuestion(row, _JOURNAL, "given before"), label)

    def learn_initial(self, initial_labels: Any) -> None:
        """Learn the initial labels that are not known yet."""
        if initial_labels is None:
            return
        answers = self.state.answers
        if isinstance(initial_labels, dict):
            self.check_rows(initial_labels, "initial_labels")
            given = list(initial_labels.items())
        else:
            rows = self.answers.rows_of_each_class(initial_labels, generator(self.state.seed, 0))
            given = list(zip(rows, self.answers(rows, take(self.X, rows)), strict=True))
        pairs = [(int(row), self.answers.checked(label, row)) for row, label in given]
        for row, label in pairs:
            if label is not None and row in answers and answers[row][0] != label:
                raise ValueError(
                    f"initial_labels has {label!r} for row {row}, but this loop already has "
                    f"{answers[row][0]!r}: correct one of them."
                )
        for row, label in pairs:
            if label is not None and row not in answers:
                self._record([(row, label)])
                self._learn_and_check(PoolQuestion(row, _INITIAL, "initial label"), label)

    def check_rows(self, rows: Iterable[Any], name: str) -> None:
        """Refuse numbers that are not rows of the pool."""
        bad = [row for row in rows if not (constraints.is_integer(row) and 0 <= row < self.pool.total)]
        if bad:
            raise ValueError(
                f"{name} has row numbers that are not in the pool: {bad!r}; it has the rows 0 to "
                f"{self.pool.total - 1}."
            )

    # --------------------------------------------------------------------------------------------- questions

    def choose(self, n: int) -> list[PoolQuestion]:
        """At most n questions; none if there is nothing left to ask, and then the loop is over."""
        state = self.state
        while not self.over:
            n_seen = len(self.answers.classes) if state.experienced else len(self.seen)
            draw = len(state.gone) + len(state.pending)
            n_labels = math.inf if state.experienced else len(self.learner.history)
            found = self.selector.next(self.model, n, draw, n_seen, n_labels, self._answered)
            if found or not self._second_round():
                return found
        return []

    def hold(self, questions: list[PoolQuestion]) -> None:
        """Mark questions as pending, so that they are not asked again."""
        for question in questions:
            self.state.pending[question.row] = question
            self.pool.remove(question.row)

    def put(self, questions: list[PoolQuestion]) -> int:
        """Put questions to the oracle and learn the answers; returns the number of labels."""
        one_by_one = getattr(self.answers.oracle, "one_at_a_time", False)
        turns = [[question] for question in questions] if one_by_one else [questions]
        return sum(self._ask(turn) for turn in turns if not self.over)

    def follow(self, n_labels: int, batch_size: int) -> None:
        """Ask until there are as many labels as in the other loop."""
        while (missing := n_labels - len(self.learner.history)) > 0:
            questions = self.choose(min(batch_size, missing))
            if not questions:
                return
            self.put(questions)

    def _answered(self) -> dict[int, list[Any]]:
        """Answers by row, without rows that have a pending question."""
        pending = self.state.pending
        return {row: given for row, given in self.state.answers.items() if row not in pending}

    def _ask(self, questions: list[PoolQuestion]) -> int:
        """Ask the oracle, then record and learn what it answered."""
        known = {
            question.row: self.known_answers[question.row][0]
            for question in questions
            if question.row in self.known_answers and question.chosen_by != REASKED
        }
        fresh = np.array([question.row for question in questions if question.row not in known], dtype=np.intp)
        if len(fresh):
            known |= dict(zip(fresh.tolist(), self.answers(fresh, take(self.X, fresh)), strict=True))
        refusal: ValueError | None = None
        pairs: list[tuple[PoolQuestion, Any]] = []
        for question in questions:
            try:
                pairs.append((question, self.answers.checked(known[question.row], question.row)))
            except ValueError as error:  # noqa: PERF203  (the other answers are kept)
                refusal = refusal or error
        count = self.receive(pairs)
        if refusal is not None:
            raise refusal
        return count

    def told(self, row: int) -> PoolQuestion:
        """The pending question about a row, or one for an answer that was not asked for."""
        return self.state.pending.get(row) or PoolQuestion(row, _TOLD, "label given without a question")

    def receive(self, pairs: list[tuple[PoolQuestion, Any]]) -> int:
        """Record checked answers, all of them before anything can fail, then learn; returns their number."""
        self._record([(question.row, label) for question, label in pairs])
        labels = [(question, label) for question, label in pairs if label is not None]
        nearest, margin = self._nearest([question for question, _ in labels if question.by_model])
        for question, label in labels:
            self._learn_and_check(question, label, margin if question.row == nearest else {})
        return len(labels)

    def _nearest(self, questions: list[PoolQuestion]) -> tuple[int | None, dict[str, Any]]:
        """Of rows selected at once, the one nearest to the boundary at present, and its margin."""
        if not questions or self.learner.stopping is None:
            return None, {}
        try:
            found = [float(margins(self._scores(question))[0]) for question in questions]
        except ScoresNotFinite:
            return None, {}
        best = int(np.argmin(found))
        return questions[best].row, {"margin": found[best], "free_margin": self.model.free_margin()}

    def _scores(self, question: PoolQuestion) -> Scores:
        """Scores of a row: those by which it was selected, unless the model has changed since."""
        if question.scores is not None and question.version == self.model.version:
            return question.scores
        return self.model.scores_at(np.array([question.row]))

    def _second_round(self) -> bool:
        """When no row is left: put back, once, the rows without a label; otherwise set the stop reason."""
        learner, unknown, n_pending = self.learner, self.unknown, len(self.state.pending)
        if self.reasks_unknown and unknown and self.pool.left == 0:
            self.reasks_unknown = False  # only once
            for row in unknown:
                self.pool.give_back(row)
            return True
        if n_pending:  # their answers may change what is asked: the loop is not over
            learner.stop_reason = f"{n_pending} questions are pending, and no other row is left to ask about"
            return False
        self.over = True
        if self.pool.left > 0:
            learner.stop_reason = f"the query strategy selects none of the {self.pool.left} remaining rows"
        else:
            learner.stop_reason = "the oracle has no more labels" if unknown else "the pool is used up"
        return False

    def _remove(self, row: int) -> None:
        self.state.gone.append(row)
        self.pool.remove(row)

    def _record(self, answers: list[tuple[int, Any]]) -> None:
        """Record answers, None for an unknown label: all of them before anything can fail."""
        state = self.state
        for row, label in answers:
            if label is not None:
                state.answers.setdefault(row, []).append(label)
        for row, _ in answers:
            state.pending.pop(row, None)
            self._remove(row)
        if self.journal is not None:
            for row, label in answers:
                self.journal.write(row, label)

    # -------------------------------------------------------------------------------------------- learning

    def _learn_and_check(
        self, question: PoolQuestion, label: Any, margin: dict[str, Any] | None = None
    ) -> None:
        """Learn a label and update the stopping rule, which may end the loop."""
        self._learn(question, label)
        self.over = self._told_to_stop(question, margin or {}) or self.over

    def _learn(self, question: PoolQuestion, label: Any) -> None:
        model, history = self.model, self.learner.history
        record: dict[str, Any] = {
            "n_labels": len(history) + 1,
            "row": question.row,
            "label": label,
            "chosen_by": question.chosen_by,
            "reason": question.reason,
            "correct": None,
            "margin": None,
            "free_margin": None,
            "n_support": None,
            "score": None,
        }
        if model.ready:
            self._test_model(record, question, label)
        self._teach(question.row)
        history.append(record)  # at once: what is learned must not be learned again
        self.seen.add(label)
        count = record["n_labels"]
        if not model.ready:  # a tie between the first answers: nothing has been learned yet
            return
        if model.finishes and (count <= _EVERY_LABEL or count % (count // _FINISHES) == 0):
            model.finish()
        record["n_support"] = model.n_support()
        if count % self.scoring.every == 0:
            record["score"] = self.scoring(model.model)

    def _teach(self, row: int) -> None:
        """Let the model learn the consensus of the answers for a row.

        A model that cannot forget keeps what it learned, and learns the new majority in addition.
        """
        state, model = self.state, self.model
        label, weight = consensus(state.answers[row])
        before = state.learned.get(row)
        if before is not None:
            if (before.label, before.weight) == (label, weight):
                return
            forgot = model.forget(before.row_id)
            if not forgot and before.weight > 0 and (before.label == label or weight == 0):
                return
        row_id = model.learn(row, label, weight) if weight > 0 else None
        state.learned[row] = Learned(label, weight, row_id)

    def _test_model(self, record: dict[str, Any], question: PoolQuestion, label: Any) -> None:
        """Record what the model predicts for a row before it learns the label, if it can score yet."""
        try:
            scores = self._scores(question)
        except ScoresNotFinite:
            return
        record["margin"] = float(margins(scores)[0])
        record["correct"] = bool(self.answers.classes[predicted_classes(scores)[0]] == label)
        record["free_margin"] = self.model.free_margin()

    def score_last(self) -> None:
        """Score after the last label of a run, whatever the interval is."""
        history = self.learner.history
        if history and history[-1]["score"] is None and self.model.ready:
            history[-1]["score"] = self.scoring(self.learner.estimator)

    def _told_to_stop(self, question: PoolQuestion, margin: dict[str, Any]) -> bool:
        """Tell the stopping rule about the last label; returns whether it says stop.

        `margin` is passed for the nearest of the rows that the strategy selected at once: the margin of
        another row says nothing about what is left. Whether the model was right about a row drawn at random
        is an unbiased estimate of its accuracy.
        """
        rule, last = self.learner.stopping, self.learner.history[-1]
        if rule is None:
            return False
        score, correct = last["score"], last["correct"]
        rule.update(
            Progress(
                last["n_labels"],
                last["n_support"],
                **margin,
                score=None if score is None or math.isnan(score) else score,
                estimate=float(correct) if question.at_random and correct is not None else None,
                n_classes=len(self.answers.classes),
            )
        )
        verdict = rule.verdict()
        if verdict.stop and not self.over:
            self.learner.stop_reason = verdict.reason
        return bool(verdict.stop)
