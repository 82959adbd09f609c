"""Questions: which rows to ask about, why, how many, and what became of them."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .. import query
from .._base import checked
from ..store.events import Ints
from ._candidates import Candidates, KnownScores, Places
from ._kept import Kept
from .settings import Settings

_MOST_OPEN = 10_000
_MOST_ANSWERED = 2_000
_COVERED = 1_000  # labeled rows from which the first questions keep away


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


class _Choice(NamedTuple):
    """A row by its place among the candidates, and why it is asked about."""

    place: int
    kind: str
    reason: str
    utility: float = float("nan")


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

    def choose(
        self, count: int, rows: Candidates, labeled: Kept, n_rows: int, n_labels: int, random: Any
    ) -> list[Question]:
        """Choose rows to ask about.

        A fraction of them is drawn from the batch at random, whatever the model predicts: their labels are an
        unbiased sample by which it is evaluated.

        Parameters
        ----------
        count : int
            How many, at most.
        rows : Candidates
            The rows; none of them has an open question.
        labeled : Kept
            The labeled rows.
        n_rows, n_labels : int
            How many rows have arrived, and how many labels.
        random : Generator
            Decides what is drawn.

        Returns
        -------
        list of Question
            The questions, which are open from now on.
        """
        strategy = self.settings.query_strategy
        if strategy is None or count <= 0:
            return []
        rest = np.arange(len(rows.rows))
        fresh = rest[rows.n_older :]
        count = min(count, len(rest), self._most(rows.model))
        chosen: list[_Choice] = []
        audits = int(self.settings.audit * (self.n_asked + count)) - self.n_audits
        if audits > 0 and len(fresh):
            drawn = fresh[np.sort(random.permutation(len(fresh))[: min(audits, count)])]
            chosen = [_Choice(place, "audit", "drawn at random, for an unbiased estimate") for place in drawn]
            rest = rest[~np.isin(rest, drawn)]
        count -= len(chosen)
        if count > 0 and len(rest):
            if rows.model is None or n_labels < self.settings.cold_start_labels:
                chosen += self._to_begin(count, rest, rows, labeled, random)
            else:
                chosen += self._by_strategy(strategy, count, rest, rows)
        places = np.array([choice.place for choice in chosen], dtype=np.intp)
        predicted = rows.predictions_at(places) if len(places) else []
        questions = [
            Question(int(rows.rows.numbers[at]), kind, reason, utility, n_rows, prediction)
            for (at, kind, reason, utility), prediction in zip(chosen, predicted, strict=True)
        ]
        self._open(questions)
        return questions

    def answer(self, number: int, label: Any, n_rows: int) -> Question | None:
        """Take note of a label; the question that it answers, if there is one."""
        question = self.open.pop(number, None)
        if question is not None:
            question = replace(question, label=label, answered_row=n_rows)
            self.answered = [*self.answered, question][-_MOST_ANSWERED:]
            self.n_answered += 1
        return question

    def open_numbers(self) -> Ints:
        """The rows of the open questions."""
        return np.fromiter(self.open, dtype=np.int64, count=len(self.open))

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

    def _to_begin(
        self, count: int, rest: Places, rows: Candidates, labeled: Kept, random: Any
    ) -> list[_Choice]:
        """The first questions: every second one at random, the others far from all labeled rows.

        Rows drawn at random show what is frequent; rows far from all others find rare classes.
        """
        X = rows.rows.X
        far = sum((self.n_asked + place) % 2 for place in range(count))
        order = random.permutation(len(rest))
        drawn, left = rest[np.sort(order[: count - far])], rest[np.sort(order[count - far :])]
        chosen = [_Choice(place, "cold_start", "drawn at random, to begin with") for place in drawn]
        coverage = query.Coverage()
        if len(labeled):
            coverage.add(labeled.X[-_COVERED:])
        if len(drawn):
            coverage.add(X[drawn])
        for _ in range(far):
            best = left[int(coverage.distances(X[left]).argmax())]
            chosen.append(_Choice(best, "cold_start", "far from every labeled row"))
            coverage.add(X[[best]])
            left = left[left != best]
        return chosen

    def _by_strategy(self, strategy: Any, count: int, rest: Places, rows: Candidates) -> list[_Choice]:
        options: dict[str, Any] = {}
        if strategy.needs_pool:
            options["draw"] = self.draws
        self.draws += 1
        model, X = rows.model, rows.rows.X
        if strategy.uses_scores_only:
            known = KnownScores(rows.scores()[rest], model.classes_)
            model, X = known, known.rows()
        else:
            X = X[rest]
        places = strategy.query(model, X, count, **options)
        if len(places) == 0:
            return []
        chosen, worth = rest[places], strategy.utilities(model, X[places])
        if strategy.uses_margin:
            known = KnownScores(rows.scores_at(chosen), rows.model.classes_)
            reasons = strategy.reasons(known, known.rows())
        else:
            reasons = strategy.reasons(model, X[places])
        return [
            _Choice(place, "strategy", reason, float(utility))
            for place, reason, utility in zip(chosen, reasons, worth, strict=True)
        ]

    def _open(self, chosen: list[Question]) -> None:
        for question in chosen:
            self.open[question.number] = question
        self.n_asked += len(chosen)
        self.n_audits += sum(question.kind == "audit" for question in chosen)
        for number in list(self.open)[: max(0, len(self.open) - _MOST_OPEN)]:
            del self.open[number]


def numbers_of(questions: list[Question]) -> Ints:
    """The row numbers of questions."""
    return np.array([question.number for question in questions], dtype=np.int64)
