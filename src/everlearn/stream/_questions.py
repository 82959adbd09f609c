"""Questions: how many to ask, which rows to ask about, and which are open or answered."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .. import query
from .._base import checked
from ..store.events import Ints
from ._candidates import Candidates, KnownScores, Places
from ._row_buffer import RowBuffer
from ._settings import StreamSettings

_MAX_OPEN = 10_000
_MAX_ANSWERED = 2_000
_COUNTS = ("n_asked", "n_audits", "n_drawn", "n_answered", "n_checked", "draws")
_COVERED = 1_000  # in a cold start, questions go to rows far from this many labeled rows


@dataclass(frozen=True)
class Question:
    """A row whose label the learner asks for.

    Parameters
    ----------
    number : int
        The number of the row in the stream.
    kind : {"strategy", "audit", "cold_start"}
        Whether the row was selected by the query strategy, drawn at random to evaluate the learner, or
        selected during the cold start.
    reason : str
        The reason, as text.
    utility : float
        The utility according to the query strategy; NaN for other kinds.
    asked_row : int
        The number of rows that had arrived when it was asked.
    predicted : label or None
        The prediction of the learner when it asked.
    id : int or str, default=None
        The id of the row.
    label : label, default=None
        The answer; None while the question is open.
    answered_row : int, default=None
        The number of rows that had arrived when it was answered.
    answered_labels : int, default=None
        The number of labels that had been learned when it was answered, without its own.
    predicted_last : label, default=None
        The prediction just before the answer was learned, if it was drawn at random.
    share : float, default=None
        If it was drawn at random: the fraction of all rows so far from which it was drawn, which is below 1
        if the strategy had selected rows before; None for other kinds.
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
    answered_labels: int | None = None
    predicted_last: Any = None
    share: float | None = None


class _Choice(NamedTuple):
    """The position of a selected row among the candidates, and the reason."""

    at: int
    kind: str
    reason: str
    utility: float = float("nan")
    share: float | None = None


class QuestionQueue:
    """The open questions of a learner, the last answered ones, and the label budget."""

    def __init__(self, settings: StreamSettings) -> None:
        self.settings = settings
        self.open: dict[int, Question] = {}
        self.answered: list[Question] = []
        self.n_asked = self.n_audits = self.n_drawn = self.n_answered = self.n_checked = self.draws = 0
        self._n_kept: Counter[bool] | None = None  # answered questions in memory, by whether they are random

    def allowance(self, n_rows: int) -> int:
        """The number of questions that rate and budget allow now."""
        return max(0, min(int(self.settings.label_rate * n_rows), self._budget()) - self.n_asked)

    def within_budget(self, count: int) -> int:
        """The number of questions, up to ``count``, that the budget allows; the rate is ignored."""
        return max(0, min(count, self._budget() - self.n_asked))

    def _budget(self) -> int:
        budget = self.settings.label_budget
        return 2**62 if budget is None else budget

    def choose(
        self, count: int, rows: Candidates, labeled: RowBuffer, n_rows: int, n_labels: int, random: Any
    ) -> list[Question]:
        """Select rows to ask about, and open the questions.

        A fraction of them is drawn at random from the batch, or without one from the rows in memory: their
        labels are a sample on which the learner is evaluated.

        Parameters
        ----------
        count : int
            The maximum number of questions.
        rows : Candidates
            The candidate rows, without open questions.
        labeled : RowBuffer
            The labeled rows.
        n_rows, n_labels : int
            The numbers of rows and labels so far.
        random : Generator
            The random generator.

        Returns
        -------
        list of Question
            The new questions.
        """
        strategy = self.settings.query_strategy
        if strategy is None or count <= 0:
            return []
        rest = np.arange(len(rows.rows))
        fresh = rest[rows.n_older :] if rows.n_older < len(rest) else rest  # without a batch, all in memory
        count = min(count, len(rest), self._max_questions(rows.model))
        chosen: list[_Choice] = []
        audits = int(self.settings.audit * (self.n_asked + count)) - self.n_audits
        if audits > 0 and len(fresh):
            drawn = fresh[np.sort(random.permutation(len(fresh))[: min(audits, count)])]
            share = 1.0 if rows.n_older < len(rest) else self._share_left(n_rows)  # of a whole batch
            why = "drawn at random, for an unbiased estimate"
            chosen = [_Choice(index, "audit", why, share=share) for index in drawn]
            rest = rest[~np.isin(rest, drawn)]
        count -= len(chosen)
        if count > 0 and len(rest):
            if rows.model is None or n_labels < self.settings.cold_start_labels:
                chosen += self._cold_start(count, rest, rows, labeled, random, self._share_left(n_rows))
            else:
                chosen += self._by_strategy(strategy, count, rest, rows)
        places = np.array([choice.at for choice in chosen], dtype=np.intp)
        predicted = rows.predictions_at(places) if len(places) else []
        questions = [
            Question(int(rows.rows.numbers[at]), kind, reason, utility, n_rows, prediction, share=share)
            for (at, kind, reason, utility, share), prediction in zip(chosen, predicted, strict=True)
        ]
        self._open(questions)
        return questions

    def is_check(self, number: int) -> bool:
        """Whether there is an open question about a row that was drawn at random."""
        return number in self.open and self.open[number].share is not None

    def newest_first(self) -> Iterator[Question]:
        """The open questions, newest first.

        Random checks are brought forward while fewer of the answers than wanted are checks: where more is
        asked than answered, nobody would get to them otherwise.
        """
        newest = list(self.open.values())[::-1]
        checks = (question for question in newest if question.kind == "audit")
        others = (question for question in newest if question.kind != "audit")
        check, other = next(checks, None), next(others, None)
        n_checks, n = self.n_checked, self.n_answered
        while check is not None and other is not None:
            n += 1
            if n_checks + 1 <= self.settings.audit * n:
                yield check
                check, n_checks = next(checks, None), n_checks + 1
            else:
                yield other
                other = next(others, None)
        yield from (question for question in (check, other) if question is not None)
        yield from checks
        yield from others

    def answer(self, number: int, **answer: Any) -> Question | None:
        """Close the question about a row that was labeled; returns it, or None if there is none.

        Random checks are kept longer than other questions: the learning curve is made of them.
        """
        question = self.open.pop(number, None)
        if question is not None:
            question = replace(question, **answer)
            drawn = question.share is not None
            if self._n_kept is None:
                self._n_kept = Counter(q.share is not None for q in self.answered)
            self.answered.append(question)
            if self._n_kept[drawn] < _MAX_ANSWERED:
                self._n_kept[drawn] += 1
            else:
                alike = (at for at, q in enumerate(self.answered) if (q.share is not None) == drawn)
                del self.answered[next(alike)]
            self.n_answered += 1
            self.n_checked += question.kind == "audit"
        return question

    def open_numbers(self) -> Ints:
        """The row numbers of the open questions."""
        return np.fromiter(self.open, dtype=np.int64, count=len(self.open))

    def numbers(self) -> Ints:
        """The row numbers of all questions in memory, open or answered."""
        return numbers_of([*self.open.values(), *self.answered])

    def drop(self, numbers: Ints) -> None:
        """Remove the questions about some rows, open or answered."""
        gone = set(numbers.tolist())
        self.open = {number: question for number, question in self.open.items() if number not in gone}
        self.answered = [question for question in self.answered if question.number not in gone]
        self._n_kept = None

    def drop_classes(self, gone: Iterable[Any]) -> None:
        """Remove class names from the predictions, answers and reasons of all questions in memory."""
        dropped = set(gone)

        def cleaned(question: Question) -> Question:
            named = any(str(label) in question.reason for label in dropped)
            return replace(
                question,
                reason="near a boundary" if named else question.reason,
                predicted=None if question.predicted in dropped else question.predicted,
                label=None if question.label in dropped else question.label,
                predicted_last=None if question.predicted_last in dropped else question.predicted_last,
            )

        self.open = {number: cleaned(question) for number, question in self.open.items()}
        self.answered = [cleaned(question) for question in self.answered]

    def state(self) -> dict[str, Any]:
        """The questions as plain values, for `from_state`."""
        counts = {name: getattr(self, name) for name in _COUNTS}
        return counts | {
            "open": [dict(vars(question)) for question in self.open.values()],
            "answered": [dict(vars(question)) for question in self.answered],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], settings: StreamSettings) -> "QuestionQueue":
        """Create a queue from its `state`."""
        made = cls(settings)
        for name in _COUNTS:
            setattr(made, name, checked.integer(name, state[name]))
        made.open, made.answered = {}, []
        for name in ("open", "answered"):
            for entry in checked.items(name, state[name]):
                question = Question(**checked.table("question", entry))
                checked.integer("number", question.number)
                checked.integer("asked_row", question.asked_row)
                if name == "open":
                    made.open[question.number] = question
                else:
                    made.answered.append(question)
        return made

    # ------------------------------------------------------------------------------------------------ private

    def _share_left(self, n_rows: int) -> float:
        """The fraction of all rows so far that the strategy has not selected."""
        selected = self.n_asked - self.n_drawn
        return max(0.0, 1.0 - selected / max(1, n_rows - self.n_drawn))

    def _max_questions(self, model: Any) -> int:
        """The maximum number of questions per call: the batch limit of the strategy, plus audits."""
        strategy = self.settings.query_strategy
        if model is None or strategy.max_batch_size is None:
            return 2**62
        return int(strategy.max_batch_size / max(1 - self.settings.audit, 1e-9))

    def _cold_start(
        self, count: int, rest: Places, rows: Candidates, labeled: RowBuffer, random: Any, share: float
    ) -> list[_Choice]:
        """Select every second row at random and the others far from all labeled rows.

        Random rows represent the frequent classes; distant rows find rare ones.
        """
        X = rows.rows.X
        far = sum((self.n_asked + i) % 2 for i in range(count))
        order = random.permutation(len(rest))
        drawn, left = rest[np.sort(order[: count - far])], rest[np.sort(order[count - far :])]
        why = "drawn at random, for the cold start"
        chosen = [_Choice(index, "cold_start", why, share=share) for index in drawn]
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
        chosen, utilities = rest[places], strategy.utilities(model, X[places])
        if strategy.uses_margin:
            known = KnownScores(rows.scores_at(chosen), rows.model.classes_)
            reasons = strategy.reasons(known, known.rows())
        else:
            reasons = strategy.reasons(model, X[places])
        return [
            _Choice(index, "strategy", reason, float(utility))
            for index, reason, utility in zip(chosen, reasons, utilities, strict=True)
        ]

    def _open(self, chosen: list[Question]) -> None:
        for question in chosen:
            self.open[question.number] = question
        self.n_asked += len(chosen)
        self.n_audits += sum(question.kind == "audit" for question in chosen)
        self.n_drawn += sum(question.share is not None for question in chosen)
        for number in list(self.open)[: max(0, len(self.open) - _MAX_OPEN)]:
            del self.open[number]


def numbers_of(questions: list[Question]) -> Ints:
    """The row numbers of questions."""
    return np.array([question.number for question in questions], dtype=np.int64)
