"""QuestionWidget: the questions of a learner in a notebook, answered with buttons."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import ipywidgets

from .._html import escaped, table
from ..query.active import ActiveLearner
from ..read import Schema
from ..stream import NeverEndingLearner
from ..stream.row_fields import row_fields

_MAX_TEXT = 2000  # characters of a value


@dataclass(frozen=True)
class _Item:
    """A question: the id of its row, the reason and the prediction."""

    id: Any
    reason: str
    prediction: str = ""


class _Loop(Protocol):
    """What the widget needs of a learner."""

    can_undo: bool

    def classes(self) -> list[Any]: ...
    def ask(self, n: int) -> list[_Item]: ...
    def answer(self, row: Any, label: Any) -> None: ...
    def withdraw(self, row: Any) -> None: ...
    def fields(self, row: Any) -> Any: ...


class QuestionWidget(ipywidgets.VBox):  # type: ignore[misc]
    """Show the questions of a learner one after another, with a button for each class.

    Display it as the last value of a cell. Answers are learned at once. Skipped questions stay open.

    Parameters
    ----------
    learner : NeverEndingLearner or ActiveLearner
        The learner: an open store, or a loop after `start`.
    n : int, default=10
        The maximum number of questions.
    show : callable, default=None
        ``show(id)`` returns what to show of a row: a dict of fields, a text, or an object with
        ``_repr_html_``, such as a data frame. None shows the fields that the learner knows.
    classes : iterable of labels, default=None
        Classes to offer, in addition to those that the learner knows.
    by : str, default=""
        The name of the annotator; for a `NeverEndingLearner`.

    Attributes
    ----------
    answered : list of tuple
        The ids and labels given so far, without those that were undone.
    question : object or None
        The current question, with ``id``, ``reason`` and ``prediction``; None after the last one.

    Examples
    --------
    >>> from everlearn import NeverEndingLearner
    >>> from everlearn.notebook import QuestionWidget  # doctest: +SKIP
    >>> learner = NeverEndingLearner.open("tickets.everlearn")  # doctest: +SKIP
    >>> QuestionWidget(learner, show=lambda row: tickets.loc[row].to_dict(), by="Ada")  # doctest: +SKIP
    """

    def __init__(
        self,
        learner: Any,
        n: int = 10,
        *,
        show: Callable[[Any], Any] | None = None,
        classes: Iterable[Any] | None = None,
        by: str = "",
    ) -> None:
        self._loop: _Loop = _Pool(learner) if isinstance(learner, ActiveLearner) else _Stream(learner, by)
        self._show, self._given = show, list(classes or ())
        self._items, self._at = self._loop.ask(n), 0
        self.answered: list[tuple[Any, Any]] = []
        self._places: list[int] = []  # of the answers, among the questions
        self._row, self._message = ipywidgets.HTML(), ipywidgets.HTML()
        self._buttons = ipywidgets.HBox(layout=ipywidgets.Layout(flex_flow="row wrap"))
        self._skip = _button("Skip", self.skip)
        self._undo = _button("Undo", self.undo)
        self._new = ipywidgets.Text(placeholder="another class", layout=ipywidgets.Layout(width="12em"))
        self._add = _button("Answer", self._answer_new)
        commands = ipywidgets.HBox([self._skip, self._undo, self._new, self._add])
        super().__init__([self._row, self._buttons, commands, self._message])
        self._update()

    @property
    def question(self) -> Any:
        """The current question; None after the last one."""
        return self._items[self._at] if self._at < len(self._items) else None

    def answer(self, label: Any) -> None:
        """Answer the current question.

        Parameters
        ----------
        label : label
            The label.
        """
        if self.question is None:
            raise ValueError("There is no question left: create a new widget for more.")
        self._loop.answer(self.question.id, label)
        self.answered.append((self.question.id, label))
        self._places.append(self._at)
        self._at += 1
        self._update()

    def skip(self) -> None:
        """Go to the next question; this one stays open."""
        self._at = min(self._at + 1, len(self._items))
        self._update()

    def undo(self) -> None:
        """Withdraw the last answer, and go back to its question."""
        if self.answered and self._loop.can_undo:
            self._loop.withdraw(self.answered[-1][0])
            self.answered.pop()
            self._at = self._places.pop()
        self._update()

    # ------------------------------------------------------------------------------------------- private

    def _answer_new(self) -> None:
        text = self._new.value.strip()
        if not text:
            return
        known = self._classes()
        try:
            self.answer(int(text) if known and type(known[0]) is int else text)
        except ValueError as error:
            self._message.value = f"<p>{escaped(error)}</p>"
        else:
            self._new.value = ""

    def _classes(self) -> list[Any]:
        return list(dict.fromkeys([*self._loop.classes(), *self._given]))

    def _update(self) -> None:
        item = self.question
        buttons = [_button(str(label), partial(self.answer, label)) for label in self._classes()]
        for button in [*buttons, self._skip, self._add]:
            button.disabled = item is None
        self._buttons.children = buttons
        self._undo.disabled = not (self.answered and self._loop.can_undo)
        self._message.value = f"<p>{len(self.answered)} answered.</p>"
        if item is None:
            self._row.value = "<p>No more questions.</p>" if self._items else "<p>No questions.</p>"
            return
        head = f"<p><b>Question {self._at + 1} of {len(self._items)}</b>, row {escaped(item.id)}</p>"
        notes = [("why", item.reason), ("prediction", item.prediction)]
        shown = self._loop.fields(item.id) if self._show is None else self._show(item.id)
        self._row.value = head + _as_html(shown) + table([note for note in notes if note[1]])


def _as_html(shown: Any) -> str:
    """What to show of a row, as HTML; text is escaped."""
    if callable(as_html := getattr(shown, "_repr_html_", None)):
        return str(as_html())
    if isinstance(shown, Mapping):
        return table((name, _shortened(value)) for name, value in shown.items())
    return f'<pre style="white-space:pre-wrap">{_lines(_shortened(shown))}</pre>'


def _lines(text: str) -> str:
    return "\n".join(escaped(line) for line in text.split("\n"))


def _shortened(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}... ({len(text) - _MAX_TEXT:,} more)"


def _button(name: str, action: Callable[[], None]) -> Any:
    button = ipywidgets.Button(description=name)
    button.on_click(lambda _: action())
    return button


class _Stream:
    """The questions of a `NeverEndingLearner`."""

    can_undo = True

    def __init__(self, learner: NeverEndingLearner, by: str) -> None:
        self._learner, self._by = learner, by
        try:
            self._schema: Schema | None = Schema.from_state(learner.status()["schema"] or {})
        except ValueError:
            self._schema = None

    def classes(self) -> list[Any]:
        return list(self._learner.status()["classes"])

    def ask(self, n: int) -> list[_Item]:
        asked = self._learner.ask(n)
        return [_Item(q.id, q.reason, "" if q.predicted is None else str(q.predicted)) for q in asked]

    def answer(self, row: Any, label: Any) -> None:
        self._learner.label([row], [label], by=self._by)

    def withdraw(self, row: Any) -> None:
        self._learner.withdraw([row], by=self._by)

    def fields(self, row: Any) -> dict[str, str]:
        found = row_fields(self._learner, self._learner.rows([row]), self._schema, {})
        return {f.name: f.value + (f"  < {f.remark}" if f.remark else "") for f in found}


class _Pool:
    """The questions of an `ActiveLearner`, which cannot take answers back."""

    can_undo = False

    def __init__(self, learner: ActiveLearner) -> None:
        self._learner = learner

    def classes(self) -> list[Any]:
        return list(self._learner.classes)

    def ask(self, n: int) -> list[_Item]:
        rows = [int(row) for row in self._learner.ask(n)]
        reasons = self._learner.pending
        return [_Item(row, reasons.get(row, "")) for row in rows]

    def answer(self, row: Any, label: Any) -> None:
        self._learner.tell([row], [label])

    def withdraw(self, row: Any) -> None:
        raise NotImplementedError

    def fields(self, row: Any) -> dict[str, str]:
        return {"row": str(row)}
