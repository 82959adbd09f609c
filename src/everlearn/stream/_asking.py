"""Questions: which rows to ask about, why, how many, and what became of them."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .._validate import Rows
from ._kept import Kept
from .events import Ints
from .settings import Settings, is_pool_rule

_MOST_OPEN = 10_000
_MOST_ANSWERED = 2_000
_FROM_THE_POOL = 500  # rows of the pool that are looked at beside a batch


@dataclass(frozen=True)
class Question:
    """A row that the learner asks about.

    Parameters
    ----------
    number : int
        The number of the row.
    kind : {"rule", "audit", "start"}
        Whether the rule chose it, or it was drawn to judge the learner by, or to begin with.
    reason : str
        Why, in words.
    utility : float
        What the rule found it worth; NaN where it was drawn.
    asked_at : int
        How many rows had come.
    predicted : label or None
        What the learner holds it for.
    id : int or str, default=None
        The id under which it came.
    label : label, default=None
        The answer.
    answered_at : int, default=None
        How many rows had come by then.
    """

    number: int
    kind: str
    reason: str
    utility: float
    asked_at: int
    predicted: Any = None
    id: Any = None
    label: Any = None
    answered_at: int | None = None


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
        self, count: int, fresh: Kept, pool: Kept, model: Any, n_rows: int, random: np.random.Generator
    ) -> list[Question]:
        """Choose rows of a batch, and of the pool, to ask about; those that are open are left out.

        A share of them is drawn from the batch at random, whatever the learner thinks: by their labels it can
        be judged without bias.
        """
        rule = self.settings.query
        if rule is None or count <= 0:
            return []
        fresh, pool = self._not_open(fresh), self._not_open(pool)
        count = self._possible(count, fresh, pool, model)
        chosen: list[Question] = []
        audits = int(self.settings.audit * (self.n_asked + count)) - self.n_audits
        if audits > 0 and len(fresh):
            for place in np.sort(random.permutation(len(fresh))[: min(audits, count)]).tolist():
                number = int(fresh.numbers[place])
                reason = "drawn at random, to judge the learner by"
                chosen.append(Question(number, "audit", reason, float("nan"), n_rows))
        for rows in (fresh, pool):  # the rows of the batch are in the pool too
            rows.remove(numbers_of(chosen))
        rest = self._candidates(fresh, pool, random)
        count -= len(chosen)
        if count > 0 and len(rest):
            chosen += self._by_rule(rule, count, rest, model, n_rows, random)
        self._note(chosen)
        return chosen

    def answer(self, number: int, label: Any, n_rows: int) -> Question | None:
        """Take note of a label; the question that it answers, if there is one."""
        question = self.open.pop(number, None)
        if question is not None:
            question = replace(question, label=label, answered_at=n_rows)
            self.answered = [*self.answered, question][-_MOST_ANSWERED:]
            self.n_answered += 1
        return question

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
            setattr(asking, name, state[name])
        asking.open = {entry["number"]: Question(**entry) for entry in state["open"]}
        asking.answered = [Question(**entry) for entry in state["answered"]]
        return asking

    # ------------------------------------------------------------------------------------------------ private

    def _possible(self, count: int, fresh: Kept, pool: Kept, model: Any) -> int:
        """As many questions as there are rows for, and as the rule takes beside its share of audits."""
        older = len(pool) - int(np.isin(pool.numbers, fresh.numbers).sum())
        count = min(count, len(fresh) + min(older, _FROM_THE_POOL))
        most = getattr(self.settings.query, "pool_size", None)
        if model is not None and most is not None and is_pool_rule(self.settings.query) and len(fresh):
            count = min(count, int(most / max(1 - self.settings.audit, 1e-9)))
        return count

    def _not_open(self, rows: Kept) -> Kept:
        here = Kept(rows.X, rows.numbers)
        here.remove(np.fromiter(self.open, dtype=np.int64, count=len(self.open)))
        return here

    def _candidates(self, fresh: Kept, pool: Kept, random: np.random.Generator) -> Kept:
        older = Kept(pool.X, pool.numbers)
        older.remove(fresh.numbers)
        if len(older) > _FROM_THE_POOL:
            older.keep(random.permutation(len(older))[:_FROM_THE_POOL])
        rest = Kept(fresh.X, fresh.numbers)
        rest.add(older.X, older.numbers)
        return rest

    def _by_rule(
        self, rule: Any, count: int, rest: Kept, model: Any, n_rows: int, random: np.random.Generator
    ) -> list[Question]:
        if model is None or self.n_answered < self.settings.start:
            places = np.sort(random.permutation(len(rest))[:count])
            reason = "drawn at random, to begin with"
            return [
                Question(int(rest.numbers[place]), "start", reason, float("nan"), n_rows)
                for place in places.tolist()
            ]
        options: dict[str, Any] = {}
        if is_pool_rule(rule):
            options["draw"] = self.draws
            count = min(count, getattr(rule, "pool_size", None) or count)
        self.draws += 1
        places = rule.query(model, rest.X, count, **options)
        rows = rest.X[places]
        worth = rule.utilities(model, rows)
        reasons = _reasons(rule, model, rows)
        return [
            Question(int(rest.numbers[place]), "rule", reasons[i], float(worth[i]), n_rows)
            for i, place in enumerate(places.tolist())
        ]

    def _note(self, chosen: list[Question]) -> None:
        for question in chosen:
            self.open[question.number] = question
        self.n_asked += len(chosen)
        self.n_audits += sum(question.kind == "audit" for question in chosen)
        for number in list(self.open)[: max(0, len(self.open) - _MOST_OPEN)]:
            del self.open[number]


def _reasons(rule: Any, model: Any, rows: Rows) -> list[str]:
    """Why a rule chose rows: where it looks at the boundary, between which classes each lies."""
    name = type(rule).__name__
    if name == "Random":
        return ["drawn at random"] * rows.shape[0]
    if "Margin" not in name:
        return [f"chosen by {name}"] * rows.shape[0]
    scores, labels = np.asarray(model.decision_function(rows)), model.classes_.tolist()
    if scores.ndim == 1:
        return [f"near the boundary between {labels[0]} and {labels[1]}"] * len(scores)
    pairs = np.sort(np.argsort(scores, axis=1)[:, -2:], axis=1)
    return [f"near the boundary between {labels[a]} and {labels[b]}" for a, b in pairs.tolist()]


def numbers_of(questions: list[Question]) -> Ints:
    """The row numbers of questions."""
    return np.array([question.number for question in questions], dtype=np.int64)
