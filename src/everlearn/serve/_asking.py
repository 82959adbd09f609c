"""Asking people: which questions are leased to whom, and what an empty queue says."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ..errors import InputError
from ..store.lookup import Id
from ._answering import Answering
from ._leases import Lease
from ._questions import Empty, FieldShown, LeaseShown, Questions, QuestionShown, Why
from ._shown import (
    evidence,
    fields_shown,
    guess,
    pair_shown,
    why_asked,
    why_disagreement,
    why_overlap,
    why_suspect,
)

QUEUES = ("asked", "disagreements", "suspects")
_MAX_QUESTIONS = 100  # in one call
_MAX_HELD = 100  # by one person: nobody takes all questions, or spends the label budget without answers
_MAX_DUPLICATES = 50  # rows that one answer labels
_MAX_SHOWN = 2000  # rows whose fields are kept in memory
_ASK_AHEAD = 50  # questions that are asked at once for other people
_SOON = 1.0  # seconds after which somebody who found no question may ask again
_TRIES = 3  # for one person, if others take what was asked

# A row to be asked about: its id, the number of people who may be asked, and the reason by its rank.
Candidate = tuple[Id, int, Callable[[int], Why]]


class Asking(Answering):
    """Base of `LearningService`: leases questions."""

    def lease_questions(
        self, by: str, n: int = 1, *, queue: str = "asked", exclude: Sequence[Id] = ()
    ) -> Questions:
        """Lease questions to a person.

        Parameters
        ----------
        by : str
            The person.
        n : int, default=1
            The maximum number of questions.
        queue : {"asked", "disagreements", "suspects"}, default="asked"
            The questions of the learner and of overlap; rows on which people disagree; rows whose label the
            model contradicts.
        exclude : sequence of int or str, default=()
            Ids of rows that the person has already; ids as text are understood.

        Returns
        -------
        Questions
            The questions or, if there are none, why and until when.
        """
        if queue not in QUEUES:
            raise InputError(
                f"queue must be one of {', '.join(map(repr, QUEUES))}, got {queue!r}.", code="unknown_queue"
            )
        if not 1 <= n <= _MAX_QUESTIONS:
            raise InputError(f"n must be between 1 and {_MAX_QUESTIONS}, got {n!r}.", code="bad_count")
        learner, n_held = self.learner, self._leases.count(by)
        if n_held >= _MAX_HELD:
            text = f"You hold {n_held:,} questions already. Answer them, or give them back."
            return Questions([], Empty("all_leased", text, self._leases.next_expiry()))
        n = min(n, _MAX_HELD - n_held)
        suspects = self._suspected() if queue == "suspects" else []
        with learner.reading():
            texts = [row for row in exclude if isinstance(row, str)]
            without = {*exclude, *(learner.find_ids(texts) if texts else [])}
            shown = self._leased(queue, by, n, without, suspects)
            n_asked = learner.question_counts()["asked"]
        for _ in range(_TRIES if queue == "asked" else 0):
            if len(shown) == n or not self._ask_more(n - len(shown), n_asked):
                break
            with learner.reading():
                shown += self._leased(queue, by, n - len(shown), without, suspects)
                n_asked = learner.question_counts()["asked"]
        if shown:
            return Questions(shown)
        with learner.reading():
            return Questions([], self._empty(by, queue, without, suspects))

    def _leased(
        self, queue: str, by: str, n: int, without: set[Any], suspects: list[tuple[Id, float]]
    ) -> list[QuestionShown]:
        """Lease questions, and show them as of the same moment; ``without`` gets their rows."""
        if queue == "asked":
            rows = self._asked(by)
        else:
            rows = self._disagreements() if queue == "disagreements" else self._suspects(suspects)
        return [self._question(lease, why) for lease, why in self._lease(rows, by, n, without)]

    # ------------------------------------------------------------------------------------------- choosing

    def _lease(
        self, rows: Iterator[Candidate], by: str, n: int, without: set[Any]
    ) -> list[tuple[Lease, Why]]:
        """Lease the first rows that are free."""
        found: list[tuple[Lease, Why]] = []
        version, taken = self.learner.model_version, self._leases.taken()
        for rank, (row, places, why) in enumerate(rows, 1):
            if len(found) == n:
                break
            if row in without or places < 1 or (row in taken and places < 2):
                continue
            if not self._leases.is_free(row, by, places):
                continue
            reason = why(rank)
            others = self._duplicates(row) if self.settings.group_duplicates else []
            lease = self._leases.claim(
                row,
                by,
                places=places,
                others=others,
                why=(reason.kind, reason.text),
                model_version=version,
            )
            if lease is not None:
                without |= set(lease.rows)
                found.append((lease, reason))
        return found

    def _asked(self, by: str) -> Iterator[Candidate]:
        """Rows that need more answers, then the questions of the learner, newest first."""
        learner, skipped = self.learner, self._skipped()
        for row in self._votes.incomplete():
            if self._votes.answered(row, by) is None:
                n, wanted = len(self._votes.labels_for(row)), self._votes.wanted(row)
                yield row, wanted - n, partial(why_overlap, n, wanted)
        for question in learner.each_open_question():
            answered = self._votes.answered(question.id, by)
            if answered is None or (answered == "skip" and (question.id, by) not in skipped):
                places = self._votes.wanted(question.id) - len(self._votes.labels_for(question.id))
                yield (
                    question.id,
                    places,
                    partial(why_asked, learner, question),
                )

    def _disagreements(self) -> Iterator[Candidate]:
        for row in self._votes.undecided():
            votes = dict(self._votes.labels_for(row))
            yield row, 1, partial(why_disagreement, votes)

    def _suspects(self, suspected: list[tuple[Id, float]]) -> Iterator[Candidate]:
        learner = self.learner
        for row, value in suspected:
            labels = learner.labels_of([row])
            if self._settled.get(row, self) != labels[row]:
                yield row, 1, partial(why_suspect, labels[row], value)

    def _suspected(self) -> list[tuple[Id, float]]:
        """The suspected mistakes of the current model; they take a while, and are kept until it changes."""
        learner = self.learner
        version = learner.model_version
        with self._suspecting:
            if self._suspects_of[0] != version:
                self._suspects_of = version, learner.suspected_mistakes()
            return self._suspects_of[1]

    def _duplicates(self, row: Id) -> list[Id]:
        learner = self.learner
        near = learner.near_rows(learner.rows([row]), self.settings.duplicate_similarity)
        return [other for other in near if other != row and not self._votes.labels_for(other)][
            :_MAX_DUPLICATES
        ]

    def _ask_more(self, n: int, n_asked: int) -> bool:
        """Let the learner ask about more rows; returns whether there are more than ``n_asked`` questions now.

        Choosing rows takes the longest of all that a question needs, and hardly longer for many rows: it asks
        about as many as there are people at work, so that the next ones find theirs.
        """
        learner = self.learner
        if not learner.can_ask or learner.n_candidates == 0:
            return False

        def ask() -> bool:
            counts = learner.question_counts()
            if counts["asked"] == n_asked and learner.n_candidates:  # nobody has asked meanwhile
                learner.ask(counts["open"] + max(n, min(_ASK_AHEAD, len(self._leases.people()))))
            return bool(learner.question_counts()["asked"] > n_asked)

        return bool(self._writer.do("call", ask))

    # -------------------------------------------------------------------------------------------- showing

    def _question(self, lease: Lease, why: Why) -> QuestionShown:
        learner, schema = self.learner, self._schema()
        row = learner.rows([lease.row])
        fields = self._fields(lease.row)
        blind = self.settings.blind
        return QuestionShown(
            lease.row,
            LeaseShown(lease.id, lease.token, round(self._leases.left(lease), 3)),
            why,
            fields,
            pair_shown(fields),
            [] if blind else evidence(learner, row, schema),
            None if blind else guess(learner, row),
            list(lease.others),
        )

    def _fields(self, row: Id) -> list[FieldShown]:
        """The fields of a row; kept, because the same row is shown several times."""
        with self._lock:
            if row in self._shown:
                self._shown.move_to_end(row)
                return self._shown[row]
        learner = self.learner
        record = learner.records_of([row]).get(row)
        found = fields_shown(learner, learner.rows([row]), self._schema(), record)
        with self._lock:
            self._shown[row] = found
            while len(self._shown) > _MAX_SHOWN:
                self._shown.popitem(last=False)
        return found

    def _empty(self, by: str, queue: str, without: set[Any], suspects: list[tuple[Id, float]]) -> Empty:
        """Why there is no question for a person, and until when."""
        learner = self.learner
        if learner.n_rows == 0:
            return Empty("no_rows", "There are no rows yet. Questions appear when rows arrive.")
        held = self._leases.held_by_others(by) - without
        retry = self._leases.next_expiry()
        if queue == "disagreements":
            rows = set(self._votes.undecided())
            if rows & held:
                return Empty("all_leased", "Others are reviewing the rows on which people disagree.", retry)
            return Empty("all_answered", "No row has conflicting answers.")
        if queue == "suspects":
            if held & {row for row, _ in suspects}:
                return Empty("all_leased", "Others are reviewing the suspected mistakes.", retry)
            return Empty("all_answered", "No label looks like a mistake.")
        mine = [row for row in self._leases.held(by) if row not in held]
        if held:
            if learner.can_ask and learner.n_candidates:  # others took what was asked a moment ago
                text = "Others took the questions that were just chosen. More are on their way."
                return Empty("all_leased", text, _SOON)
            text = "The open question is" if len(held) == 1 else f"All {len(held):,} open questions are"
            return Empty("all_leased", f"{text} with other people. Unanswered ones come back.", retry)
        if not learner.asks:
            return Empty("no_strategy", "This project asks no questions: it has no query strategy.")
        if mine:
            return Empty("all_leased", "You already hold all open questions.", retry)
        if not learner.can_ask:
            return Empty("budget_spent", "The label budget is spent.")
        skipped = [row for row, who in self._skipped() if who == by]
        if skipped:
            return Empty(
                "all_answered",
                f"Only rows that you skipped are left ({len(skipped):,}). They come back once the model has "
                "changed.",
            )
        return Empty("all_answered", "Every row in memory is answered. New rows bring new questions.")
