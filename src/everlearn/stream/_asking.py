"""Questions: which rows to ask about, why, how many, and what became of them."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .. import query
from .._base import checked
from ..store.events import Ints
from ._kept import Kept
from ._scored import Scored
from .settings import Settings

_MOST_OPEN = 10_000
_MOST_ANSWERED = 2_000
_COVERED = 1_000  # labeled rows from which the first questions keep away


@dataclass(frozen=True)
class Candidates:
    """The rows that may be asked about: those of the batch, and those that came shortly before.

    Parameters
    ----------
    fresh : Kept
        The rows of the batch without a label.
    recent : Kept
        The same, and in front of them, where a batch is small, the rows that came last before it.
    labeled : Kept
        The labeled rows.
    n_rows : int
        How many rows have come.
    scores : ndarray or None
        The decision values of ``fresh`` by the present model, where they are known.
    """

    fresh: Kept
    recent: Kept
    labeled: Kept
    n_rows: int
    scores: Any = None

    def scored(self, model: Any, rows: Kept) -> Scored:
        """Some of these rows with the scores that are known; the others are scored when they are needed."""
        if self.scores is not None:
            places = self.fresh.find(rows.numbers)
            if (places >= 0).all():
                return Scored(model, rows.X, self.scores[places])
        return Scored(model, rows.X)


@dataclass(frozen=True)
class Question:
    """A row that the learner asks about.

    Parameters
    ----------
    number : int
        The number of the row.
    kind : {"strategy", "audit", "cold_start"}
        Whether the query strategy chose it, it was drawn to judge the learner by, or asked to begin with.
    reason : str
        Why, in words.
    utility : float
        Its utility by the query strategy; NaN where no strategy chose it.
    asked_row : int
        How many rows had come.
    predicted : label or None
        What the learner predicts.
    id : int or str, default=None
        The id under which it came.
    label : label, default=None
        The answer.
    answered_row : int, default=None
        How many rows had come by then.
    """

    number: int
    kind: str
    reason: str
    utility: float
    asked_row: int
    predicted: Any = None
    id: Any = None
    label: Any = None
    answered_row: int | None = None


class Asking:
    """The questions of a learner: how many it may ask, those that are open, the last that were answered."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.open: dict[int, Question] = {}
        self.answered: list[Question] = []
        self.n_asked = self.n_audits = self.n_answered = self.draws = 0

    def allowance(self, n_rows: int) -> int:
        """How many questions may be asked now, by rate and budget."""
        return max(0, min(int(self.settings.label_rate * n_rows), self._budget()) - self.n_asked)

    def within_budget(self, count: int) -> int:
        """How many of so many questions the budget allows, whatever the rate is."""
        return max(0, min(count, self._budget() - self.n_asked))

    def _budget(self) -> int:
        budget = self.settings.label_budget
        return 2**62 if budget is None else budget

    def choose(self, count: int, rows: Candidates, model: Any, n_labels: int, random: Any) -> list[Question]:
        """Choose rows to ask about, of those that came last; those that are open are left out.

        A share of them is drawn from the batch at random, whatever the learner thinks: by their labels it can
        be judged without bias.
        """
        strategy = self.settings.query_strategy
        if strategy is None or count <= 0:
            return []
        fresh, rest = self._not_open(rows.fresh), self._not_open(rows.recent)
        count = min(count, len(rest), self._most(model))
        chosen: list[Question] = []
        audits = int(self.settings.audit * (self.n_asked + count)) - self.n_audits
        if audits > 0 and len(fresh):
            for place in np.sort(random.permutation(len(fresh))[: min(audits, count)]).tolist():
                reason = "drawn at random, to judge the learner by"
                chosen.append(self._drawn(fresh, place, "audit", reason, rows.n_rows))
        rest.remove(numbers_of(chosen))
        count -= len(chosen)
        if count > 0 and len(rest):
            if model is None or n_labels < self.settings.cold_start_labels:
                chosen += self._to_begin(count, rest, rows, random)
            else:
                chosen += self._by_strategy(strategy, count, rest, rows, model)
        chosen = self._predicted(chosen, rows, model)
        self._note(chosen)
        return chosen

    def answer(self, number: int, label: Any, n_rows: int) -> Question | None:
        """Take note of a label; the question that it answers, if there is one."""
        question = self.open.pop(number, None)
        if question is not None:
            question = replace(question, label=label, answered_row=n_rows)
            self.answered = [*self.answered, question][-_MOST_ANSWERED:]
            self.n_answered += 1
        return question

    def numbers(self) -> Ints:
        """The rows of the questions that are kept."""
        return numbers_of([*self.open.values(), *self.answered])

    def drop(self, numbers: Ints) -> None:
        """Drop the questions about some rows, whether they are open or answered."""
        gone = set(numbers.tolist())
        self.open = {number: question for number, question in self.open.items() if number not in gone}
        self.answered = [question for question in self.answered if question.number not in gone]

    def drop_classes(self, gone: Iterable[Any]) -> None:
        """Remove the names of classes from the questions that are kept: predictions, answers and reasons."""
        dropped = set(gone)

        def cleaned(question: Question) -> Question:
            named = any(str(label) in question.reason for label in dropped)
            return replace(
                question,
                reason="near a boundary" if named else question.reason,
                predicted=None if question.predicted in dropped else question.predicted,
                label=None if question.label in dropped else question.label,
            )

        self.open = {number: cleaned(question) for number, question in self.open.items()}
        self.answered = [cleaned(question) for question in self.answered]

    def state(self) -> dict[str, Any]:
        """What `from_state` takes."""
        counts = {name: getattr(self, name) for name in ("n_asked", "n_audits", "n_answered", "draws")}
        return counts | {
            "open": [asdict(question) for question in self.open.values()],
            "answered": [asdict(question) for question in self.answered],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], settings: Settings) -> "Asking":
        """The questions that `state` described."""
        asking = cls(settings)
        for name in ("n_asked", "n_audits", "n_answered", "draws"):
            setattr(asking, name, checked.integer(name, state[name]))
        asking.open, asking.answered = {}, []
        for name in ("open", "answered"):
            for entry in checked.items(name, state[name]):
                question = Question(**checked.table("question", entry))
                checked.integer("number", question.number)
                checked.integer("asked_row", question.asked_row)
                if name == "open":
                    asking.open[question.number] = question
                else:
                    asking.answered.append(question)
        return asking

    # ------------------------------------------------------------------------------------------------ private

    def _most(self, model: Any) -> int:
        """How many questions the strategy takes at a time, beside its share of audits."""
        strategy = self.settings.query_strategy
        if model is None or strategy.max_batch_size is None:
            return 2**62
        return int(strategy.max_batch_size / max(1 - self.settings.audit, 1e-9))

    def _not_open(self, rows: Kept) -> Kept:
        here = Kept(rows.X, rows.numbers)
        here.remove(np.fromiter(self.open, dtype=np.int64, count=len(self.open)))
        return here

    @staticmethod
    def _drawn(rest: Kept, place: int, kind: str, reason: str, n_rows: int) -> Question:
        """A question about a row that no strategy chose."""
        return Question(int(rest.numbers[place]), kind, reason, float("nan"), n_rows)

    @staticmethod
    def _predicted(chosen: list[Question], rows: Candidates, model: Any) -> list[Question]:
        """The same questions with what the model predicts for them."""
        if model is None or not chosen:
            return chosen
        here = Kept(rows.recent.X, rows.recent.numbers)
        here.keep(here.find(numbers_of(chosen)))
        told = dict(zip(here.numbers.tolist(), rows.scored(model, here).predictions(), strict=True))
        return [replace(question, predicted=told[question.number]) for question in chosen]

    def _to_begin(self, count: int, rest: Kept, rows: Candidates, random: Any) -> list[Question]:
        """The first questions: every second one at random, the others far from all labeled rows.

        Rows drawn at random show what is frequent; rows far from all others find rare classes.
        """
        far = sum((self.n_asked + place) % 2 for place in range(count))
        order = random.permutation(len(rest))
        chosen = [
            (int(place), "drawn at random, to begin with") for place in np.sort(order[: count - far]).tolist()
        ]
        left = np.sort(order[count - far :])
        coverage = query.Coverage()
        if len(rows.labeled):
            coverage.add(rows.labeled.X[-_COVERED:])
        if chosen:
            coverage.add(rest.X[[place for place, _ in chosen]])
        for _ in range(far):
            best = left[int(coverage.distances(rest.X[left]).argmax())]
            chosen.append((int(best), "far from every labeled row"))
            coverage.add(rest.X[[best]])
            left = left[left != best]
        return [self._drawn(rest, place, "cold_start", reason, rows.n_rows) for place, reason in chosen]

    def _by_strategy(
        self, strategy: Any, count: int, rest: Kept, rows: Candidates, model: Any
    ) -> list[Question]:
        options: dict[str, Any] = {}
        if strategy.needs_pool:
            options["draw"] = self.draws
        self.draws += 1
        scored = rows.scored(model, rest)
        by_scores = strategy.uses_scores_only
        places = strategy.query(scored if by_scores else model, rest.X, count, **options)
        chosen = scored.at(places)
        worth = strategy.utilities(chosen if by_scores else model, chosen.X)
        reasons = strategy.reasons(chosen, chosen.X)
        return [
            Question(int(number), "strategy", reasons[i], float(worth[i]), rows.n_rows)
            for i, number in enumerate(rest.numbers[places].tolist())
        ]

    def _note(self, chosen: list[Question]) -> None:
        for question in chosen:
            self.open[question.number] = question
        self.n_asked += len(chosen)
        self.n_audits += sum(question.kind == "audit" for question in chosen)
        for number in list(self.open)[: max(0, len(self.open) - _MOST_OPEN)]:
            del self.open[number]


def numbers_of(questions: list[Question]) -> Ints:
    """The row numbers of questions."""
    return np.array([question.number for question in questions], dtype=np.int64)
