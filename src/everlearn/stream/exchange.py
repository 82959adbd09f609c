"""Questions to, and answers from, topics and streams."""

import contextlib
import json
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

from ..broker import Consumer, Message, Publisher, open_consumer, open_publisher
from ..errors import StoreError
from ..read import Schema
from ..read.quarantine import Quarantine
from ..read.sources import BadRow
from ._questions import Question
from .answers import AnswerFor
from .learner import NeverEndingLearner

PUBLISHED_NOTE = "published"  # the rows of open questions that were published, while nobody writes the store
ANSWER_OFFSETS_NOTE = "answer_offsets"
_AT_A_TIME = 500
_KINDS = ("label", "skip", "unsure")


class Exchange:
    """Publishes the questions of a learner, and learns the answers that others publish.

    A question is a JSON object with "id", "kind", "reason", "predicted", "asked_row", "classes" and, if the
    store has it, "row": the row as it was sent. The key of a Kafka message is the id. No question is lost;
    after a crash, those that are open are published again.

    An answer is a JSON object, or a Redis entry, with "id" and "label", and maybe "by", "weight", "comment"
    and "kind" ("label", "skip" or "unsure"). The offsets of answers are committed with them, so that each is
    learned once. A wrong answer is quarantined.

    Parameters
    ----------
    learner : NeverEndingLearner
        The learner, open for writing.
    questions : str, default=None
        The address of the topic or stream to publish to; see `everlearn.broker.open_consumer`.
    answers : str, default=None
        The address of the topic or stream to read from.
    new_classes : bool, default=False
        Whether a label that is not a known class is learned, once two classes are known.
    offset_reset : {None, "earliest", "latest"}, default=None
        What to do if answers that should come next were removed.
    quarantine : str or path-like, default=None
        A file to which wrong answers are appended.
    """

    def __init__(
        self,
        learner: NeverEndingLearner,
        *,
        questions: str | None = None,
        answers: str | None = None,
        new_classes: bool = False,
        offset_reset: str | None = None,
        quarantine: str | os.PathLike[str] | None = None,
    ) -> None:
        self._learner, self._new_classes = learner, new_classes
        self._publisher: Publisher | None = None
        self._consumer: Consumer | None = None
        self.n_answers = 0
        with contextlib.ExitStack() as opened:
            if questions is not None:
                self._publisher = opened.enter_context(open_publisher(questions))
            if answers is not None:
                offsets = learner.notes.get(ANSWER_OFFSETS_NOTE)
                consumer = open_consumer(answers, offsets=offsets, offset_reset=offset_reset)
                self._consumer = opened.enter_context(consumer)
            name = "" if self._consumer is None else self._consumer.name
            self._quarantine = Quarantine(name, quarantine, "quarantine")
            self._n_read = 0
            self._published = set(learner.notes.get(PUBLISHED_NOTE) or ())
            learner.answer([], notes={PUBLISHED_NOTE: None})  # after a crash, it is not known
            self._publish_open()
            self._opened = opened.pop_all()

    # ---------------------------------------------------------------------------------------------- questions

    def publish(self, questions: Iterable[Question]) -> None:
        """Publish questions that were not published yet, such as those of an `Outcome`.

        Parameters
        ----------
        questions : iterable of Question
            The questions.
        """
        if self._publisher is None:
            return
        found = [question for question in questions if question.number not in self._published]
        for start in range(0, len(found), _AT_A_TIME):
            part = found[start : start + _AT_A_TIME]
            records = self._learner.records_of([question.id for question in part])
            classes = self._learner.classes
            self._publisher.publish([(str(q.id), _as_message(q, records.get(q.id), classes)) for q in part])
            self._published.update(question.number for question in part)

    def _publish_open(self) -> None:
        """Publish the open questions that were not published, and forget those that are closed."""
        if self._publisher is not None:
            found = self._learner.open_questions()[::-1]
            self._published &= {question.number for question in found}
            self.publish(found)

    # ------------------------------------------------------------------------------------------------ answers

    def take(self, wait: float = 0.0) -> int:
        """Learn the answers that have arrived.

        Parameters
        ----------
        wait : float, default=0.0
            How long to wait for the first one, in seconds.

        Returns
        -------
        int
            The number of answers that were learned.
        """
        if self._consumer is None:
            return 0
        messages = self._consumer.fetch(_AT_A_TIME, wait)
        if not messages:
            return 0
        good: dict[tuple[Any, str], AnswerFor] = {}  # the last answer of a person for a row
        bad = []
        for message in messages:
            self._n_read += 1
            found, reason = self._parsed(message)
            if found is None:
                bad.append(BadRow(self._n_read, reason, _text(message), place=message.place))
            else:
                good.pop((found.id, found.by), None)
                good[found.id, found.by] = found
        self._quarantine.add(bad)
        notes = {ANSWER_OFFSETS_NOTE: self._consumer.offsets}
        effects = self._learner.answer(list(good.values()), notes=notes)
        self.n_answers += len(good)
        if any(effect.before not in (None, effect.after) for effect in effects):
            self._publish_open()  # a label was replaced: without it, other questions would have been asked
        return len(good)

    @property
    def n_bad(self) -> int:
        """The number of wrong answers so far."""
        return self._quarantine.reasons.total()

    @property
    def reasons(self) -> dict[str, int]:
        """The number of wrong answers for each reason."""
        return dict(self._quarantine.reasons.most_common())

    def _parsed(self, message: Message) -> tuple[AnswerFor | None, str]:
        """The answer in a message, or what is wrong with it."""
        given = message.value
        if not isinstance(given, dict):
            try:
                given = json.loads(given or b"")
            except (ValueError, RecursionError):
                return None, "invalid JSON"
        if not isinstance(given, dict) or given.get("id") in (None, ""):
            return None, "no id"
        name = self._learner.find_ids([str(given["id"])])[0]
        if not self._learner.with_rows([name]):
            return None, "no row with this id in the store"
        kind, by = str(given.get("kind") or "label"), str(given.get("by") or "")
        if kind not in _KINDS:
            return None, f"kind is not one of {list(_KINDS)}"
        try:
            weight = float(given.get("weight") or 1.0)
        except (TypeError, ValueError):
            weight = math.nan
        if not 0 < weight < math.inf:
            return None, "weight is not a positive number"
        about = {"comment": str(given["comment"])} if given.get("comment") else {}
        if kind != "label":
            return AnswerFor(name, None, by, weight, kind, about), ""
        label, reason = self._label(given.get("label"))
        return (None, reason) if reason else (AnswerFor(name, label, by, weight, kind, about), "")

    def _label(self, given: Any) -> tuple[Any, str]:
        """A label in the type of the classes, and what is wrong with it."""
        classes = self._learner.classes
        if given is None or given == "" or not isinstance(given, str | int | bool):
            return None, "no label"
        same = [
            known
            for known in classes
            if known == given and isinstance(known, bool) == isinstance(given, bool)
        ]
        alike = same or [known for known in classes if str(known) == str(given)]
        if alike:
            return alike[0], ""
        if len(classes) > 1 and not self._new_classes:
            return None, "not a known class"
        integers = isinstance(classes[0], int) if classes else _has_integers(self._learner.schema)
        if integers is None:
            return given, ""
        if not integers:
            return str(given), ""
        try:
            return int(given), ""
        except ValueError:
            return None, "not an integer, as the classes are"

    # ------------------------------------------------------------------------------------------------ closing

    def close(self) -> None:
        """Store which questions were published, and close the connections."""
        self._quarantine.close()
        with self._opened, contextlib.suppress(StoreError):
            if self._publisher is not None:
                self._learner.answer([], notes={PUBLISHED_NOTE: sorted(self._published)})

    def __enter__(self) -> "Exchange":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _as_message(question: Question, record: Any, classes: list[Any]) -> Mapping[str, Any]:
    found = {
        "id": question.id,
        "kind": question.kind,
        "reason": question.reason,
        "predicted": question.predicted,
        "asked_row": question.asked_row,
        "classes": classes,
    }
    return found if record is None else found | {"row": record}


def _text(message: Message) -> str:
    value = message.value
    return (
        json.dumps(value) if isinstance(value, dict) else (value or b"").decode("utf-8", "backslashreplace")
    )


def _has_integers(state: dict[str, Any] | None) -> bool | None:
    """Whether the labels of a store without classes are integers, by its schema; None if it has no label."""
    try:
        schema = None if state is None else Schema.from_state(state)
    except ValueError:  # a description of another form
        return None
    return None if schema is None or schema.name_of("label") is None else schema.label_type == "int"
