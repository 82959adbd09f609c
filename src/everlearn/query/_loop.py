"""One run of a loop over a pool: ask, keep what was answered, learn it, write it down."""

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _params
from .._learner import KernelLearner
from .._online import OnlineLearner
from ._answers import Answers
from ._journal import Journal
from ._pool import generator
from ._questions import Pool, Questions
from ._rule import Places
from ._scores import ScoresNotFinite, class_scores, count_rows, decided, has_learnt, margins
from .random_rows import Random
from .stopping import Asked
from .stream import _FIRST_ROWS, _take

if TYPE_CHECKING:
    from .active import ActiveLearner

_SEED, _GIVEN = "seed", "given"
# A model that can is brought to its optimum when there is one label more for so many.
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
    """One run of one learner over the pool.

    Invariant: a label is in `_given`, and in the journal, before anything is done with it that can fail.
    """

    def __init__(
        self,
        learner: "ActiveLearner",
        X: Any,
        answers: Answers,
        scoring: Scoring,
        cold_start: str,
        unknown: str,
        journal: Journal | None,
    ) -> None:
        self.learner, self.X, self.answers, self.scoring = learner, X, answers, scoring
        self.journal, self.again = journal, unknown == "later"
        self.lookup: dict[int, Any] = {}
        self.over = False
        self.pool = Pool(X, count_rows(X), learner._gone)
        self.questions = Questions(self.pool, learner.query, cold_start, learner._seed)
        self.seen = {record["label"] for record in learner.history}
        self.keeps_rows = hasattr(learner.model, "_keeps_rows")
        if self.keeps_rows:
            learner.model._keeps_rows = True

    @property
    def refused(self) -> int:
        """Rows that were asked about in vain."""
        return len(self._refused())

    def _refused(self) -> list[int]:
        return [row for row in dict.fromkeys(self.learner._gone) if row not in self.learner._given]

    # ------------------------------------------------------------------------------- what is known already

    def catch_up(self) -> None:
        """Learn the labels of the journal and those given but not learnt; write what the journal lacks."""
        learner = self.learner
        read = [] if self.journal is None else self.journal.answers
        pairs = [(row, self.answers.checked(answer, row)) for row, answer in read]
        known = dict(learner._given)
        for row, label in pairs:  # nothing is kept of a journal that is refused
            if label is not None and known.setdefault(row, label) != label:
                raise ValueError(
                    f"The journal says {label!r} of row {row}, this loop was told {known[row]!r}: choose "
                    "another file, or mend that line."
                )
        learner._given.update(known)
        counted = Counter(learner._gone)  # a journal repeats what this loop itself wrote
        for row, _ in pairs:
            if counted[row]:
                counted[row] -= 1
            else:
                self._take_out(row)
        for row in learner._given:
            if self.pool.has(row):  # interrupted before it was taken out
                self._take_out(row)
        if self.journal is not None:
            written = {row for row, label in self.journal.answers if label is not None}
            for row, label in learner._given.items():
                if row not in written:
                    self.journal.write(row, label)
        learnt = {record["row"] for record in learner.history}
        for row, label in list(learner._given.items()):
            if row not in learnt:
                self._learn(row, label, _GIVEN)
                self.over = self._told_to_stop() or self.over

    def learn_seeds(self, seeds: Any) -> None:
        """Learn the labels to begin with, those that are not known yet."""
        if seeds is None:
            return
        learner = self.learner
        if isinstance(seeds, dict):
            bad = [row for row in seeds if not (_params._is_integer(row) and 0 <= row < self.pool.total)]
            if bad:
                raise ValueError(f"seeds has rows that the pool has not: {bad!r}.")
            pairs = [(int(row), self.answers.checked(label, row)) for row, label in seeds.items()]
        else:
            rows = self.answers.rows_of_each_class(seeds, generator(learner._seed, 0))
            labels = self.answers(rows, _take(self.X, rows))
            pairs = [
                (int(row), self.answers.checked(label, row)) for row, label in zip(rows, labels, strict=True)
            ]
        for row, label in pairs:
            if label is not None and learner._given.get(row, label) != label:
                raise ValueError(
                    f"seeds says {label!r} of row {row}, this loop was told {learner._given[row]!r}."
                )
        for row, label in pairs:
            if label is not None and row not in learner._given:
                self._note([(row, label)])
                self._learn(row, label, _SEED)
                self.over = self._told_to_stop() or self.over

    # --------------------------------------------------------------------------------------------- questions

    def step(self, n: int) -> int:
        """Ask about at most n rows and learn what is answered; how many labels there were."""
        learner = self.learner
        seen = len(self.answers.classes) if learner._experienced else len(self.seen)
        rows, why = self.questions.next(learner.model, n, len(learner._gone), seen, len(self.answers.classes))
        if len(rows) == 0:
            self._nothing_left()
            return 0
        one_by_one = getattr(self.answers.oracle, "one_at_a_time", False)
        turns = rows[:, np.newaxis] if one_by_one else rows[np.newaxis]
        return sum(self._ask(turn, why) for turn in turns if not self.over)

    def follow(self, labels: int, batch_size: int) -> None:
        """Ask until there are as many labels as in the other loop."""
        while not self.over and len(self.learner.history) < labels:
            self.step(min(batch_size, labels - len(self.learner.history)))

    def _ask(self, rows: Places, why: str) -> int:
        """Ask the oracle about some rows, note all answers, then learn them."""
        fresh = np.array([row for row in rows if row not in self.lookup], dtype=np.intp)
        found = {int(row): self.lookup[row] for row in rows if row in self.lookup}
        if len(fresh):
            found |= dict(zip(fresh.tolist(), self.answers(fresh, _take(self.X, fresh)), strict=True))
        refusal: ValueError | None = None
        answers: list[tuple[int, Any]] = []
        for row in rows.tolist():
            try:
                answers.append((row, self.answers.checked(found[row], row)))
            except ValueError as error:  # noqa: PERF203  (the other answers count all the same)
                refusal = refusal or error
        self._note(answers)
        labels = [(row, label) for row, label in answers if label is not None]
        nearest, margin = self._nearest([row for row, _ in labels]) if self._by_margin(why) else (None, {})
        for row, label in labels:
            self._learn(row, label, why)
            self.over = self._told_to_stop(margin if row == nearest else {}) or self.over
        if refusal is not None:
            raise refusal
        return len(labels)

    def _by_margin(self, why: str) -> bool:
        """Whether rows were chosen by a rule that looks at the model."""
        query = self.learner.query
        return why == type(query).__name__ and not isinstance(query, Random)

    def _nearest(self, rows: list[int]) -> tuple[int | None, dict[str, Any]]:
        """Of rows chosen at once, the one nearest to the boundary as it is now, and how near."""
        model = self.learner.model
        try:
            found = margins(class_scores(model, _take(self.X, np.array(rows)))) if rows else np.zeros(0)
        except ScoresNotFinite:
            found = np.zeros(0)
        if len(found) == 0:
            return None, {}
        free = model._free_margin() if isinstance(model, KernelLearner) else None
        return rows[int(found.argmin())], {"margin": float(found.min()), "free_margin": free}

    def _nothing_left(self) -> None:
        refused = self._refused()
        if self.again and refused and self.pool.left == 0:
            self.again = False  # a second time is enough
            for row in refused:
                self.pool.give_back(row)
            return
        self.over = True
        if self.pool.left > 0:
            self.learner.stopped = f"the rule wants none of the {self.pool.left} rows that are left"
        else:
            self.learner.stopped = "the oracle knows no more labels" if refused else "the pool is used up"

    def _take_out(self, row: int) -> None:
        self.learner._gone.append(row)
        self.pool.remove(row)

    def _note(self, answers: list[tuple[int, Any]]) -> None:
        """Keep answers, None for one that was not known: all of them before anything can fail."""
        self.learner._given.update({row: label for row, label in answers if label is not None})
        for row, _ in answers:
            self._take_out(row)
        if self.journal is not None:
            for row, label in answers:
                self.journal.write(row, label)

    # ----------------------------------------------------------------------------------------- what is learnt

    def _learn(self, row: int, label: Any, why: str) -> None:
        model, classes = self.learner.model, self.answers.classes
        features = _take(self.X, np.array([row]))
        first = not has_learnt(model)
        record: dict[str, Any] = {"labels": len(self.learner.history) + 1, "row": row, "label": label}
        record |= {"why": why, "right": None, "margin": None, "free_margin": None}
        record |= {"n_support": None, "score": None}
        if not first:
            record |= self._before(features, label)
        elif isinstance(model, OnlineLearner):
            model._prepare(_take(self.X, slice(0, _FIRST_ROWS)), classes)
        model.partial_fit(
            features, np.asarray([label], classes.dtype), **({"classes": classes} if first else {})
        )
        self.learner.history.append(record)  # at once: what is learnt must not be learnt again
        self.seen.add(label)
        if self.keeps_rows and record["labels"] % max(1, record["labels"] // _FINISHES) == 0:
            model.finish()
        support = getattr(model, "support_", None)
        record["n_support"] = None if support is None else len(support)
        if record["labels"] % self.scoring.every == 0:
            record["score"] = self.scoring(model)

    def _before(self, features: Any, label: Any) -> dict[str, Any]:
        """What the model says of a row whose label it is about to learn; nothing if it cannot say yet."""
        model = self.learner.model
        try:
            scores = class_scores(model, features)
        except ScoresNotFinite:
            return {}
        return {
            "margin": float(margins(scores)[0]),
            "right": bool(self.answers.classes[decided(scores)[0]] == label),
            "free_margin": model._free_margin() if isinstance(model, KernelLearner) else None,
        }

    def score_last(self) -> None:
        """The last label of a run has a score, whatever the interval is."""
        history = self.learner.history
        if history and history[-1]["score"] is None:
            history[-1]["score"] = self.scoring(self.learner.model)

    def _told_to_stop(self, margin: dict[str, Any] | None = None) -> bool:
        """Tell the stopping rule about the last label; whether it says stop.

        `margin` is told of the row nearest to the boundary of those that a rule chose at once: that of
        another row says nothing about what the rule could find. That the model was right about a row drawn at
        random is an unbiased estimate of how often it is.
        """
        rule, last = self.learner.stopping, self.learner.history[-1]
        if rule is None:
            return False
        at_random = last["why"] in ("Random", "cold start (random)") and last["right"] is not None
        score = last["score"]
        rule.update(
            Asked(
                last["labels"],
                last["n_support"],
                **(margin or {}),
                score=None if score is None or math.isnan(score) else score,
                estimate=float(last["right"]) if at_random else None,
                classes=len(self.answers.classes),
            )
        )
        verdict = rule.verdict()
        if verdict.stop and not self.over:
            self.learner.stopped = verdict.reason
        return bool(verdict.stop)
