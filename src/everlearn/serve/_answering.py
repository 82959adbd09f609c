"""Answers of people: labels are learned, everything is kept, and every answer can be taken back."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..errors import InputError
from ..read import Schema
from ..store.beside import Request
from ..store.lookup import Id
from ..stream.answers import AnswerEffect, AnswerFor
from ._core import CLASSES_NOTE, as_label, digest_of
from ._questions import Guess
from ._results import AnswerIn, AnswerResult, AnswersGiven, Undone
from ._rows import AddingRows
from ._shown import guesses
from ._votes import LATER


class Answering(AddingRows):
    """Base of `LearningService`: takes answers, leases and what is taken back."""

    def renew(self, lease_id: str, token: str) -> float:
        """Renew a lease.

        Parameters
        ----------
        lease_id, token : str
            The lease.

        Returns
        -------
        float
            Seconds until it expires. A lease that has ended is an `InputError` with the code "lease_gone".
        """
        return self._leases.left(self._leases.renew(lease_id, token))

    def release(self, leases: Sequence[tuple[str, str]]) -> int:
        """Release leases, so that others are asked.

        Parameters
        ----------
        leases : sequence of (str, str)
            Ids and tokens; those that have ended are ignored.

        Returns
        -------
        int
            How many were in force.
        """
        return sum(self._leases.release(lease_id, token) for lease_id, token in leases)

    def answer(self, by: str, answers: Sequence[AnswerIn]) -> AnswersGiven:
        """Give answers: labels are learned; all or none.

        Parameters
        ----------
        by : str
            The person.
        answers : sequence of AnswerIn
            The answers, each with its key.

        Returns
        -------
        AnswersGiven
            What became of each answer. A late or unknown lease is no error.
        """
        # They are checked by the writer: here, the check would wait for a block, and the answer for the next.
        found: AnswersGiven = self._writer.do("answers", (by, list(answers)), size=max(1, len(answers)))
        return found

    def _checked_answers(self, by: str, answers: Sequence[AnswerIn]) -> list[AnswerIn]:
        """The answers of a person with ids and labels as in the store; an error if one is not acceptable."""
        if not by:
            raise InputError("An answer needs a person.", code="no_name", remedy="Give a name.")
        if len({answer.key for answer in answers}) < len(answers):
            raise InputError(
                "Two answers have the same key.", code="key_reused", remedy="Make a new key for every answer."
            )
        with self.learner.reading():
            schema, classes = self._schema(), self.classes()
            checked = [self._checked_answer(answer, classes, schema) for answer in answers]
        twice = {answer.id for answer in checked if answer.kind == "label"}
        if len(twice) < sum(answer.kind == "label" for answer in checked):
            raise InputError(
                "A row has two labels in one request.", code="duplicate_id", remedy="Send the last one."
            )
        return checked

    def _checked_answer(self, answer: AnswerIn, classes: list[Any], schema: Schema | None) -> AnswerIn:
        if answer.kind not in ("label", "skip", "unsure"):
            raise InputError(
                f"kind must be 'label', 'skip' or 'unsure', got {answer.kind!r}.", code="unknown_kind"
            )
        if not answer.key:
            raise InputError("An answer needs a key.", code="no_key", remedy="Make a key, such as a UUID.")
        label = None
        if answer.kind == "label":
            if answer.label is None:
                raise InputError(
                    f"No label given for id {answer.id!r}.", code="no_label", remedy="Or answer 'skip'."
                )
            label = as_label(answer.label, classes, schema)
            if label not in classes and self.notes().get(CLASSES_NOTE):
                raise InputError(
                    f"{label!r} is no class of this project.",
                    code="unknown_label",
                    remedy=f"The classes are {classes[:20]}.",
                )
        return replace(answer, id=self.find_id(answer.id), label=label)

    def _write_answers(self, contents: list[Any]) -> list[Any]:
        """Give the answers of several requests in one transaction, unless they are about the same rows."""
        results: list[Any] = [None] * len(contents)
        group: dict[int, tuple[str, list[AnswerIn]]] = {}  # by the place of the request
        pairs: set[tuple[str, Id, str]] = set()

        def write() -> None:
            for at, found in zip(group, self._write_group(list(group.values())), strict=True):
                results[at] = found

        for at, (by, given) in enumerate(contents):
            try:
                answers = self._checked_answers(by, given)
            except InputError as error:  # the others in the group are not concerned
                results[at] = error
                continue
            mine = {(by, row, "") for answer in answers for row in self._rows_of(by, answer)}
            mine |= {(by, answer.key, "key") for answer in answers}
            if pairs & mine:
                write()
                group, pairs = {}, set()
            group[at] = by, answers
            pairs |= mine
        write()
        return results

    def _rows_of(self, by: str, answer: AnswerIn) -> list[Id]:
        """The row of an answer, and the unlabeled near-duplicates that were leased with it."""
        lease = self._leases.find(answer.lease_id, answer.lease_token)
        if lease is None or lease.row != answer.id or lease.by != by or answer.kind != "label":
            return [answer.id]
        return [answer.id, *(row for row in lease.others if not self._votes.labels_for(row))]

    def _write_group(self, group: list[tuple[str, list[AnswerIn]]]) -> list[AnswersGiven]:
        learner, n_classes = self.learner, max(2, len(self.classes()))
        entries: list[AnswerFor] = []
        requests: list[Request] = []
        results: list[list[AnswerResult | int]] = []  # an int is the place of an entry
        earlier: Counter[Id] = Counter()  # labels for a row in this group: in a tie, the first one is learned
        befores = self._guesses([answer.id for _, answers in group for answer in answers])
        for by, answers in group:
            mine: list[AnswerResult | int] = []
            for answer in answers:
                key = f"answer/{by}/{answer.key}"
                digest = digest_of([answer.id, answer.kind, answer.label, answer.comment, answer.wrong_field])
                done, outcome = learner.outcome_of(key, digest)
                if done:
                    mine.append(_replayed(answer.id, outcome))
                    continue
                if answer.kind != "label" and self._votes.answered(answer.id, by) == "label":
                    # The person takes back a label. If the process ends here, the client repeats the answer.
                    learner.withdraw([answer.id], by=by, answers_by=by)
                    self._votes.take_back(answer.id, by)
                place = len(entries)
                rows = self._rows_of(by, answer)
                for row in rows:
                    weight = self._votes.weight(by, row, n_classes) * LATER ** earlier[row]
                    earlier[row] += answer.kind == "label"
                    about = self._about(by, answer, row)
                    entries.append(AnswerFor(row, answer.label, by, weight, answer.kind, about))
                mine.append(place)
                requests.append(Request(key, digest, self._outcome(place, answer, by, befores[answer.id])))
            results.append(mine)
        effects = learner.answer(entries, requests=requests) if entries else []
        now = time.time()
        for entry in entries:
            self._note_answer(entry.id, entry.by, entry.kind, entry.label, now, entry.about)
            self._leases.end(entry.id, entry.by)
        given = []
        for (by, answers), mine in zip(group, results, strict=True):
            found = [
                _result_of(answer.id, answer, effects[entry], befores[answer.id], self._others(answer.id, by))
                if isinstance(entry, int)
                else entry
                for answer, entry in zip(answers, mine, strict=True)
            ]
            given.append(AnswersGiven(learner.sequence, learner.model_version, found))
        return given

    def _guesses(self, rows: list[Id]) -> dict[Id, Guess | None]:
        """What the model predicts for rows, all at once; None for rows whose values were dropped."""
        learner = self.learner
        with learner.reading():
            names = [row for row in dict.fromkeys(rows) if learner.has_values(row)]
            found = guesses(learner, learner.rows(names)) if names else []
        return dict.fromkeys(rows) | dict(zip(names, found, strict=True))

    def _others(self, row: Id, by: str) -> bool:
        """Whether somebody else has labeled a row."""
        return any(person != by for person in self._votes.labels_for(row))

    def _outcome(self, place: int, answer: AnswerIn, by: str, before: Guess | None) -> Callable[..., Any]:
        others = self._others(answer.id, by)

        def outcome(effects: list[AnswerEffect], sequence: int, version: int) -> Any:
            result = _result_of(answer.id, answer, effects[place], before, others)
            guess = result.prediction_before
            kept = {**vars(result), "prediction_before": None if guess is None else vars(guess)}
            del kept["id"]  # it is in the request; here it would have to be erased
            return kept

        return outcome

    def _about(self, by: str, answer: AnswerIn, row: Id) -> dict[str, Any]:
        lease = self._leases.find(answer.lease_id, answer.lease_token)
        version = self.learner.model_version
        about: dict[str, Any] = {"given_at": version, "model_version": version}
        if lease is not None and lease.by == by and answer.id == lease.row:
            about |= {"why": lease.why_kind, "why_text": lease.why_text, "model_version": lease.model_version}
        if answer.comment:
            about["comment"] = answer.comment
        if answer.wrong_field:
            about["wrong_field"] = answer.wrong_field
        if row != answer.id:
            about["group"] = answer.id
        return about

    def undo(self, row: Id, by: str, *, key: str | None = None) -> Undone:
        """Take back the answer of a person: the model becomes the one that never saw it.

        Parameters
        ----------
        row : int or str
            The id of the row; an id as text is understood.
        by : str
            The person whose answer it is.
        key : str, default=None
            The idempotency key.

        Returns
        -------
        Undone
            How many answers are left for the row. No answer is an `InputError` with the code "no_answer".
        """
        found = self.find_id(row)
        done: Undone = self._writer.do("call", lambda: self._undo(found, by, key))
        return done

    def _undo(self, row: Id, by: str, key: str | None) -> Undone:
        learner, digest = self.learner, digest_of([row])
        full = f"undo/{by}/{key}"
        if key is not None:
            done, outcome = learner.outcome_of(full, digest)
            if done:
                known = {"sequence": self.sequence, "model_version": learner.model_version, "answers_left": 0}
                return Undone(**(known | (outcome or {}) | {"id": row, "replayed": True}))
        kind = self._votes.answered(row, by)
        if kind is None:
            raise InputError(
                f"{by!r} has no answer for the row {row!r}.",
                code="no_answer",
                remedy="Only an answer that was given can be taken back.",
            )
        left = len([person for person in self._votes.labels_for(row) if person != by])

        def outcome_of(_: Any, sequence: int, version: int) -> Any:
            return {"sequence": sequence, "model_version": version, "answers_left": left}

        requests = [] if key is None else [Request(full, digest, outcome_of)]
        rows = [row]
        if kind == "label":
            rows += self._labeled_with(row, by)
            learner.withdraw(rows, by=by, answers_by=by, requests=requests)
        else:
            learner.take_back(row, by, requests=requests)
        for name in rows:
            self._votes.take_back(name, by)
        self._skips[1].discard((row, by))
        return Undone(row, learner.sequence, learner.model_version, left)

    def _labeled_with(self, row: Id, by: str) -> list[Id]:
        """The near-duplicates that an answer labeled, too, and that still have that label."""
        given = [answer.place for _, answer in self.learner.given_answers([row]) if answer.by == by]
        behind = next(self.learner.answers_that_count(by=by, beyond=given[-1]), []) if given else []
        # The answers of a group were written one after the other.
        return [name for name, answer in behind if answer.about.get("group") == row]


def _result_of(
    row: Id, answer: AnswerIn, effect: AnswerEffect, before: Guess | None, others: bool
) -> AnswerResult:
    changed = effect.after != effect.before
    status = {"skip": "skipped", "unsure": "unsure"}.get(answer.kind, "learned")
    if status == "learned" and (effect.after != answer.label or (others and not changed)):
        status = "vote"
    return AnswerResult(row, status, effect.after, before, changed)


def _replayed(row: Id, outcome: Any) -> AnswerResult:
    if outcome is None:  # rows were erased since
        return AnswerResult(row, "replayed")
    before = outcome["prediction_before"]
    return AnswerResult(
        row,
        "replayed",
        outcome["learned_label"],
        None if before is None else Guess(**before),
        outcome["changed_model"],
    )
