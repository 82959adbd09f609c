"""Several answers for a row: all are kept in the log, and the weighted majority is learned.

An annotator has one answer for a row; a later one replaces it. The label of a row is the answer with the
largest total weight; in a tie, the one given last. A label that came with its row is an answer without a
name.

All events of a call are one transaction. An event that replaces labels may replay the log, which does not see
the events before it in the same transaction: there is at most one such event, and it is the first.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..store.events import Answered, Arrived, Event, Ints, Labeled, Withdrawn, as_labels
from ..store.log import Log
from ..store.lookup import Id

UNNAMED = ""  # the annotator of labels that came with their rows, and of those given without a name


@dataclass(frozen=True)
class Answer:
    """An answer for a row.

    Attributes
    ----------
    label : label
        The label.
    by : str
        The annotator; "" without a name, and if the label came with the row.
    weight : float, default=1.0
        Its weight in the majority.
    time : float, default=0.0
        When it was given, in seconds since 1970.
    """

    label: Any
    by: str
    weight: float = 1.0
    time: float = 0.0


@dataclass(frozen=True)
class AnswerFor:
    """An answer to be given.

    Attributes
    ----------
    id : int or str
        The id of the row.
    label : label, default=None
        The label, if the kind is "label".
    by : str, default=""
        The annotator.
    weight : float, default=1.0
        Its weight in the majority.
    kind : {"label", "skip", "unsure"}, default="label"
        Whether it is a label, or the annotator skipped the row or was unsure.
    about : mapping, default={}
        What else is known about the answer: JSON values by name, such as "comment".
    """

    id: Id
    label: Any = None
    by: str = ""
    weight: float = 1.0
    kind: str = "label"
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AnswerEffect:
    """The label that a row had ``before`` an answer and has ``after`` it; None for none."""

    before: Any
    after: Any


def majority(answers: Iterable[Answer]) -> Any:
    """The label with the largest total weight, in a tie the one given last; None without an answer."""
    totals: dict[Any, float] = {}
    for answer in answers:
        totals[answer.label] = totals.pop(answer.label, 0.0) + answer.weight  # last given, last in order
    best = max(totals.values(), default=0.0)
    return next((label for label in reversed(totals) if totals[label] == best), None)


def answers_of(log: Log, numbers: Ints) -> dict[int, list[Answer]]:
    """The answers for rows that count, in the order in which they were given, by row number."""
    wanted = set(numbers.tolist())
    found: dict[int, dict[str, Answer]] = {number: {} for number in wanted}
    for seq in sorted(log.marked_in(numbers)):
        event = log.event(seq)
        if isinstance(event, Arrived):
            given = zip(event.numbers[event.labeled].tolist(), event.labels.tolist(), strict=True)
            _give(found, given, UNNAMED, 1.0, event.time)
        elif isinstance(event, Withdrawn):
            for number in wanted.intersection(event.numbers.tolist()):
                found[number] = {}
        elif isinstance(event, Answered) and event.retracted:
            for number in wanted.intersection(event.numbers.tolist()):
                found[number].pop(event.by, None)
        elif isinstance(event, Labeled | Answered) and not getattr(event, "decided", None):
            given = zip(event.numbers.tolist(), event.labels.tolist(), strict=True)
            _give(found, given, event.by, 1.0 if event.weight is None else event.weight, event.time)
    return {number: list(answers.values()) for number, answers in found.items()}


def _give(
    found: dict[int, dict[str, Answer]], given: Iterable[tuple[int, Any]], by: str, weight: float, time: float
) -> None:
    for number, label in given:
        if number in found:
            found[number].pop(by, None)
            found[number][by] = Answer(label, by, weight, time)


def majorities(
    before: Mapping[int, list[Answer]], numbers: Ints, answers: Sequence[Answer]
) -> dict[int, Any]:
    """The label of each row after new answers; ``before`` has the earlier ones."""
    found = {number: {answer.by: answer for answer in given} for number, given in before.items()}
    for number, answer in zip(numbers.tolist(), answers, strict=True):
        found[number].pop(answer.by, None)
        found[number][answer.by] = answer
    return {number: majority(given.values()) for number, given in found.items()}


def events_for(
    before: Mapping[int, list[Answer]], numbers: Ints, answers: Sequence[Answer], time: float
) -> list[Event]:
    """The events that record answers for rows, and change the labels of rows whose majority changes.

    ``before`` has the answers that the rows have now.
    """
    fresh: list[int] = []  # places of answers that are the label of a row without one
    changed: list[int] = []  # of answers that replace a label
    kept: list[int] = []  # of answers that are only recorded
    decided: dict[int, Any] = {}
    places: dict[int, list[int]] = {}
    for at, number in enumerate(numbers.tolist()):
        places.setdefault(number, []).append(at)
    for number, given in places.items():
        new = [answers[at] for at in given]
        names = {answer.by for answer in new}
        others = [answer for answer in before[number] if answer.by not in names]
        was, now = majority(before[number]), majority([*others, *new])
        if len(given) == 1 and now == new[0].label and (now != was or not others):
            (changed if before[number] else fresh).append(given[0])
        else:
            kept += given
            if now != was:
                decided[number] = now
    if (changed and decided) or _annotators(answers, changed) > 1:
        decided |= {int(numbers[at]): answers[at].label for at in changed}
        kept, changed = sorted(kept + changed), []
    if _annotators(answers, fresh) > 1:  # one event of all: rows are learned faster together
        decided |= {int(numbers[at]): answers[at].label for at in fresh}
        kept, fresh = sorted(kept + fresh), []
    events: list[Event] = []
    if decided:
        labels = as_labels(list(decided.values()))
        events = [Labeled(np.array(list(decided), dtype=np.int64), labels, "", time, decided=True)]
    events += [Answered(*given) for given in _by_annotator(numbers, answers, kept, time)]
    if changed:  # of one annotator: with the fresh ones in one event, which is the first
        by, weight = answers[changed[0]].by, answers[changed[0]].weight
        same = [at for at in fresh if (answers[at].by, answers[at].weight) == (by, weight)]
        fresh = [at for at in fresh if at not in set(same)]
        first = _by_annotator(numbers, answers, sorted(same + changed), time)
        events = [*(Labeled(*given) for given in first), *events]
    return events + [Labeled(*given) for given in _by_annotator(numbers, answers, fresh, time)]


def events_without(log: Log, numbers: Ints, by: str, time: float) -> list[Event]:
    """The events that take back the answers of an annotator for rows that have other answers, too."""
    decided = {}
    for number, answers in answers_of(log, numbers).items():
        left = majority(answer for answer in answers if answer.by != by)
        if left != majority(answers):
            decided[number] = left
    none = np.zeros(0, dtype=np.int64)
    events: list[Event] = [Answered(numbers, none, by, time, retracted=True)]
    if decided:
        labels = as_labels(list(decided.values()))
        label = Labeled(np.array(list(decided), dtype=np.int64), labels, "", time, decided=True)
        events.insert(0, label)
    return events


def _annotators(answers: Sequence[Answer], places: list[int]) -> int:
    """The number of annotators of some answers; each event has answers of one annotator with one weight."""
    return len({(answers[at].by, answers[at].weight) for at in places})


def _by_annotator(numbers: Ints, answers: Sequence[Answer], places: list[int], time: float) -> list[Any]:
    """The arguments of events, one for each annotator and weight."""
    groups: dict[tuple[str, float], list[int]] = {}
    for at in places:
        groups.setdefault((answers[at].by, answers[at].weight), []).append(at)
    return [
        (
            numbers[group],
            as_labels([answers[at].label for at in group]),
            by,
            time,
            None if weight == 1 else weight,
        )
        for (by, weight), group in groups.items()
    ]
