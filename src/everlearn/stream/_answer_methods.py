"""The methods of the never-ending learner that give and withdraw answers, and what is kept beside them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .._base.lock import locked, one_writer
from ..store.beside import (
    GivenAnswer,
    Request,
    add_answers,
    add_requests,
    answers_given,
    answers_that_count,
    forget_requests,
    last_place,
    outcome_of,
    records_of,
)
from ..store.events import Event, Ints, Withdrawn
from ..store.log import Writing
from ..store.lookup import Id, some
from . import _checks
from ._erase_methods import EraseMethods
from ._learner_state import EventResult
from ._log_backed import EventWithIds
from .answers import (
    Answer,
    AnswerEffect,
    AnswerFor,
    answers_of,
    events_for,
    events_without,
    majorities,
    majority,
)

_PART = 500  # answers that are read at a time


class AnswerMethods(EraseMethods):
    """Base of `NeverEndingLearner`: answers, and what is kept beside the events."""

    @one_writer
    def label(self, ids: Any, y: Any, *, by: Any = "", weight: Any = 1.0, time: float | None = None) -> None:
        """Label rows of earlier batches; all or none.

        The answers of several annotators for a row are all kept, see `answers`, and the label with the
        largest total weight is learned; in a tie, the one given last. A new answer of the same annotator
        replaces the earlier one. A label that came with its row is an answer of the annotator "".

        Parameters
        ----------
        ids : array-like of int or str
            The ids of the rows. An id may occur several times, with different annotators.
        y : array-like
            Their labels.
        by : str or array-like of str, default=""
            The name of the annotator, or one for each label.
        weight : float or array-like of float, default=1.0
            The weight of the answers in a majority, or one for each label.
        time : float, default=None
            The time, in seconds since 1970; None for now.
        """
        self._check_open()
        names = _checks.ids(ids, unique=False)
        annotators, weights = _checks.annotators(names, by, weight)
        places, labels = self._labels(y, len(names))
        unlabeled = np.setdiff1d(np.arange(len(names)), places)
        if len(unlabeled):
            raise ValueError(f"No label given for id {names[unlabeled[0]]!r}: pass labeled rows only.")
        given = zip(names, labels.tolist(), annotators, weights, strict=True)
        self.answer([AnswerFor(*answer) for answer in given], time=time)

    @one_writer
    def answer(
        self,
        answers: Sequence[AnswerFor],
        *,
        time: float | None = None,
        requests: Sequence[Request] = (),
        notes: Mapping[str, Any] | None = None,
    ) -> list[AnswerEffect]:
        """Give answers for rows of earlier batches, with what is known about them; all or none.

        Like `label`; an answer may also say that somebody skipped a row or was unsure, which is kept, but
        changes nothing.

        Parameters
        ----------
        answers : sequence of AnswerFor
            The answers: ``id``, ``label``, ``by``, ``weight``, ``kind`` and ``about``.
        time : float, default=None
            The time, in seconds since 1970; None for now.
        requests : sequence of Request, default=()
            The requests that these answers came with; they are kept with their outcomes in the same
            transaction.
        notes : mapping, default=None
            Values to store in the same transaction; see `notes`.

        Returns
        -------
        list of AnswerEffect
            For each answer, the label that the row had ``before`` and has ``after``.
        """
        self._check_open()
        if not answers and not requests and not notes:
            return []
        labels = [at for at, answer in enumerate(answers) if answer.kind == "label"]
        _checks.kinds([answer.kind for answer in answers])
        names = _checks.ids([answer.id for answer in answers], unique=False)
        people = [answer.by for answer in answers]
        _checks.annotators([names[at] for at in labels], [people[at] for at in labels], 1.0)
        _, found = self._labels([answers[at].label for at in labels], len(labels))
        numbers, now = self._log.numbers_of(names), _checks.now(time)
        chosen = numbers[np.array(labels, dtype=np.intp)]
        given = [
            Answer(label, answers[at].by, answers[at].weight)
            for at, label in zip(labels, found.tolist(), strict=True)
        ]
        known = answers_of(self._log, np.unique(numbers))
        events: list[EventWithIds] = [(event, None) for event in events_for(known, chosen, given, now)]
        after = majorities(known, chosen, given)
        effects = [AnswerEffect(majority(known[number]), after[number]) for number in numbers.tolist()]
        plain = dict(zip(labels, given, strict=True))
        kept = [
            GivenAnswer(
                int(number),
                answer.by,
                answer.kind,
                plain[at].label if at in plain else None,
                now,
                answer.weight,
                answer.about,
            )
            for at, (number, answer) in enumerate(zip(numbers, answers, strict=True))
        ]

        def beside(writing: Writing, _: list[EventResult]) -> None:
            add_answers(writing, kept)
            version = self._version_after(events, writing.last - len(events))
            add_requests(writing, requests, effects, version)

        self._commit(events, notes, beside)
        return effects

    @one_writer
    def withdraw(
        self,
        ids: Any,
        *,
        by: str = "",
        answers_by: str | None = None,
        time: float | None = None,
        requests: Sequence[Request] = (),
    ) -> None:
        """Withdraw labels: the learner becomes the one that never saw them.

        Parameters
        ----------
        ids : array-like of int or str
            The ids of labeled rows.
        by : str, default=""
            The name of the person who withdraws them.
        answers_by : str, default=None
            Withdraw only the answers of this annotator; the majority of the others is learned. None withdraws
            all answers.
        time : float, default=None
            The time, in seconds since 1970; None for now.
        requests : sequence of Request, default=()
            The requests that this came with; they are kept with their outcomes in the last transaction.
        """
        self._check_open()
        names = _checks.ids(ids)
        numbers = self._log.numbers_of(names)
        labeled = self._log.labeled_at(numbers, self._log.last + 1)
        without = [
            name for name, number in zip(names, numbers.tolist(), strict=True) if number not in labeled
        ]
        if without:
            raise ValueError(f"No label to withdraw for id {some(without)}.")
        if not names:
            return
        now = _checks.now(time)
        several = np.zeros(len(numbers), dtype=bool)
        if answers_by is not None:
            known = answers_of(self._log, numbers)
            annotators = [[answer.by for answer in known[number]] for number in numbers.tolist()]
            if without := [
                name for name, who in zip(names, annotators, strict=True) if answers_by not in who
            ]:
                raise ValueError(f"{answers_by!r} has no answer to withdraw for id {some(without)}.")
            several = np.array([len(who) > 1 for who in annotators], dtype=bool)
        parts: list[tuple[Ints, list[Event]]] = []  # transactions: only a first event may replay
        if several.any():
            some_left = events_without(self._log, numbers[several], str(answers_by), now)
            parts.append((numbers[several], some_left))
        if not several.all():
            parts.append((numbers[~several], [Withdrawn(numbers[~several], str(by), now)]))
        for at, (rows, events) in enumerate(parts, 1):
            self._commit_withdrawal(rows, events, answers_by, now, requests if at == len(parts) else ())

    def _commit_withdrawal(
        self, numbers: Ints, events: list[Event], by: str | None, time: float, requests: Sequence[Request]
    ) -> None:
        alone: list[EventWithIds] = [(event, None) for event in events]

        def beside(writing: Writing, _: list[EventResult]) -> None:
            gone = [GivenAnswer(number, by, "withdrawn", time=time) for number in numbers.tolist()]
            add_answers(writing, gone)
            version = self._version_after(alone, writing.last - len(alone))
            add_requests(writing, requests, None, version)

        self._commit(alone, beside=beside)

    @one_writer
    def take_back(self, row: Id, by: str, *, requests: Sequence[Request] = ()) -> None:
        """Note that an annotator takes back that a row was skipped, or that the answer was unsure.

        Parameters
        ----------
        row : int or str
            The id of the row.
        by : str
            The annotator.
        requests : sequence of Request, default=()
            The requests that this came with.
        """
        self._check_open()
        numbers = self._log.numbers_of(_checks.ids([row]))
        self._commit_withdrawal(numbers, [], by, _checks.now(None), requests)

    # ------------------------------------------------------------------------------------ beside the events

    @locked
    def given_answers(self, ids: Any = None) -> list[tuple[Id, GivenAnswer]]:
        """Get every answer that was given, skipped or withdrawn since the store was created, in their order.

        Parameters
        ----------
        ids : array-like of int or str, default=None
            The ids of rows; None for all.

        Returns
        -------
        list of tuple of (id, GivenAnswer)
            The answers, with the ids of their rows. Labels that came with rows are not among them.
        """
        self._check_open()
        found = answers_given(
            self._log, None if ids is None else self._log.numbers_of(_checks.ids(ids)).tolist()
        )
        return self._with_names(found)

    def answers_that_count(
        self, *, by: str | None = None, newest_first: bool = False, beyond: int = 0
    ) -> Iterator[list[tuple[Id, GivenAnswer]]]:
        """Iterate over the answers that were neither replaced nor withdrawn, in parts.

        Parameters
        ----------
        by : str, default=None
            Whose answers; None for all.
        newest_first : bool, default=False
            Whether the newest come first.
        beyond : int, default=0
            The place of an answer with which to begin: those that follow it in this order; 0 for all.

        Yields
        ------
        list of tuple of (id, GivenAnswer)
            Up to 500 answers, with the ids of their rows: those that count when the first part is read.
        """
        self._check_open()
        until = last_place(self._log)
        while True:
            with self._lock:
                self._check_open()
                found = answers_that_count(
                    self._log, until, _PART, by=by, newest_first=newest_first, beyond=beyond
                )
                part = self._with_names(found)
            if part:
                yield part
            if len(found) < _PART:
                return
            beyond = found[-1].place

    def _with_names(self, found: list[GivenAnswer]) -> list[tuple[Id, GivenAnswer]]:
        """Answers with the ids of their rows."""
        numbers = sorted({answer.number for answer in found})
        names = dict(zip(numbers, self._log.ids_of(numbers), strict=True)) if numbers else {}
        return [(names[answer.number], answer) for answer in found]

    @locked
    def records_of(self, ids: Any) -> dict[Id, Any]:
        """Get rows as they were sent; see the parameter ``records`` of `step`.

        Parameters
        ----------
        ids : array-like of int or str
            The ids of rows.

        Returns
        -------
        dict of id to object
            The records; rows without one are left out.
        """
        self._check_open()
        names = _checks.ids(ids)
        numbers = self._log.numbers_of(names).tolist()
        found = records_of(self._log, numbers)
        return {name: found[number] for name, number in zip(names, numbers, strict=True) if number in found}

    @locked
    def outcome_of(self, key: str, digest: str) -> tuple[bool, Any]:
        """Find a request that was made before; see the parameter ``requests`` of `step`.

        Parameters
        ----------
        key : str
            Its key.
        digest : str
            The digest of what it asks for; if it differs, an `InputError` with the code "key_reused" is
            raised.

        Returns
        -------
        tuple of (bool, object)
            Whether it was made, and its outcome; None if rows were erased since.
        """
        self._check_open()
        return outcome_of(self._log, key, digest)

    @one_writer
    def forget_requests(self, before: float) -> None:
        """Forget the requests that were made before a time, in seconds since 1970.

        Parameters
        ----------
        before : float
            The time.
        """
        self._check_open()
        forget_requests(self._log, before)

    @one_writer
    def set_notes(self, notes: Mapping[str, Any]) -> None:
        """Store JSON values by name; see `notes`.

        Parameters
        ----------
        notes : mapping
            The values; None deletes one.
        """
        self._check_open()
        self._commit([], notes)
