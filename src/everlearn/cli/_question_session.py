"""Questions at the terminal: shows a row, the reason and the prediction, and reads the answer."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from .._visible import visible
from ..read import Schema
from ..stream import NeverEndingLearner
from ..stream.row_fields import ShownField, paired_names, row_fields
from ._console import linked, notice, paragraph, show, styled
from ._format import plural
from ._keyboard import Keyboard
from ._source_rows import SourceRows

SKIP, SIMILAR, NEW, UNDO, QUIT = "?", "s", "+", "u", "q"
COMMANDS = (SKIP, SIMILAR, NEW, UNDO, QUIT)
_KEYS = [key for key in "123456789abcdefghijklmnopqrstuvwxyz" if key not in COMMANDS]
_MAX_FIELDS = 30
_MAX_CHARACTERS = 1000  # of a value
_MAX_SIMILAR = 3


class QuestionSession:
    """Asks questions and learns the answers.

    Parameters
    ----------
    learner : NeverEndingLearner
        The learner, open for writing.
    schema : Schema or None
        The schema, for the names of the columns.
    by : str
        Who answers.
    console : Console
        Where questions are shown.
    keyboard : Keyboard
        Reads keys and lines.
    rows : SourceRows
        The rows as they are in their sources.
    blind : bool, default=False
        Whether to hide the prediction, so that it does not influence the answer.
    asking : callable, default=None
        ``asking(n)`` gets up to n questions; None asks the learner.
    follows : callable, default=None
        ``follows(id)`` says whether the answer to a question follows from others, so that it is not asked.
    new_classes : bool, default=True
        Whether an answer may be a class that does not exist yet.
    """

    def __init__(
        self,
        learner: NeverEndingLearner,
        schema: Schema | None,
        by: str,
        console: Console,
        keyboard: Keyboard,
        rows: SourceRows,
        blind: bool = False,
        asking: Callable[[int], Sequence[Any]] | None = None,
        follows: Callable[[Any], bool] | None = None,
        new_classes: bool = True,
    ) -> None:
        self._learner, self._schema, self._by = learner, schema, by
        self._asking = learner.ask if asking is None else asking
        self._follows, self._new_classes = follows, new_classes
        self._console, self._keyboard, self._rows, self._blind = console, keyboard, rows, blind
        self.answered: list[tuple[int, Any]] = []  # the position of a question, and its id

    def run(self, n: int) -> None:
        """Ask up to n questions."""
        questions = self._asking(n)
        if not questions:
            self._console.print("No questions: there is no unlabeled row, or the label budget is used up.")
            return
        self._find(questions)
        position = 0
        while position < len(questions) or self._wants_undo():
            if position == len(questions):
                position = self._undo(position)
            question = questions[position]
            if self._follows is not None and self._follows(question.id):
                position += 1
                continue
            self._show(question, position, len(questions))
            answer = self._answer(question)
            if answer == QUIT:
                return
            if answer == UNDO:
                position = self._undo(position)
                continue
            if answer != SKIP:
                self._learner.label([question.id], [answer[1]], by=self._by)
                self.answered.append((position, question.id))
            position += 1

    # ------------------------------------------------------------------------------------------- showing

    def _find(self, rows: Iterable[Any]) -> None:
        n_problems = len(self._rows.problems)
        self._rows.find(rows)
        for problem in self._rows.problems[n_problems:]:
            self._console.print(notice(problem, style="yellow"))

    def _show(self, question: Any, position: int, total: int) -> None:
        row = self._learner.rows([question.id])
        head = styled(f"Question {position + 1} of {total}", style="bold")
        head.append(styled(f"  row {question.id}", style="dim"))
        self._console.print()
        self._console.print(head)
        self._show_fields(row, question, "bold cyan")
        notes = Table.grid(padding=(0, 2))
        notes.add_column(style="dim")
        notes.add_column(overflow="fold")
        notes.add_row("  why", styled(question.reason))
        if not self._blind:
            notes.add_row("  prediction", styled(prediction(self._learner, row)))
        show(notes, self._console)

    def _show_fields(self, row: Any, asked: Any, style: str) -> None:
        found, folder = self._rows.fields_of(asked.number)
        found = found or self._learner.records_of([asked.id]).get(asked.id) or {}
        fields = row_fields(self._learner, row, self._schema, found, folder)
        if pairs := paired_names([field.name for field in fields]):
            self._show_pair(fields, pairs, style)
            return
        grid = Table.grid(padding=(0, 2))
        grid.add_column(max_width=40, overflow="fold")
        grid.add_column(overflow="fold")
        grid.add_column(overflow="fold", style="yellow")
        shown = selected(fields)
        for field in shown:
            remark = styled(f"< {field.remark}" if field.remark else "")
            if field.link:
                value = linked(field.value, field.link, style=style)
                if field.link != field.value:
                    remark = linked(field.link, field.link, style="dim")
            else:
                value = paragraph(shortened(field.value), style=style, indent="")
            grid.add_row(styled(f"  {field.name}"), value, remark)
        show(grid, self._console)
        if len(fields) > len(shown):
            rest = plural(len(fields) - len(shown), "more field")
            self._console.print(styled(f"  and {rest}, nothing unusual", style="dim"))

    def _show_pair(self, fields: list[ShownField], pairs: list[tuple[str, str, str]], style: str) -> None:
        """Show two records side by side; fields in which they differ are marked."""
        values = {field.name: shortened(field.value) for field in fields}
        grid = Table.grid(padding=(0, 2))
        grid.add_column()
        grid.add_column(max_width=30, overflow="fold")
        grid.add_column(overflow="fold")
        grid.add_column(overflow="fold")
        for name, left, right in pairs:
            differ = values[left] != values[right]
            shown = "yellow" if differ and name != "id" else style
            sides = [paragraph(values[side], style=shown, indent="") for side in (left, right)]
            grid.add_row("≠" if differ else " ", styled(name), *sides)
        show(grid, self._console)

    def _show_similar(self, question: Any) -> None:
        """Show the most similar rows that have a label."""
        row = self._learner.rows([question.id])
        found = self._learner.similar_rows(row, _MAX_SIMILAR)
        if not found:
            self._console.print("  There are no labeled rows yet.", style="yellow")
            return
        self._find(found)
        for similar in found:
            head = styled(f"  labeled {similar.label}", style="bold")
            head.append(styled(f"  row {similar.id}, distance {similar.distance:.3g}", style="dim"))
            self._console.print()
            self._console.print(head)
            self._show_fields(self._learner.rows([similar.id]), similar, "")
        self._console.print()

    # ------------------------------------------------------------------------------------------- reading

    def _answer(self, question: Any) -> Any:
        """A command, or the pair ("label", label)."""
        while True:
            classes = self._learner.status()["classes"]
            keys = label_keys(classes) if self._keyboard.has_keys else None
            typed = self._typed(classes, keys)
            if typed is None:
                return QUIT
            if typed == SIMILAR:
                self._show_similar(question)
            elif typed in (SKIP, UNDO, QUIT):
                return typed
            elif keys is not None and typed in keys:
                return "label", keys[typed]
            elif keys is None or (typed == NEW and self._new_classes):
                answer = self._named(typed, classes)
                if answer is not None:
                    return answer
            elif typed:
                self._console.print(styled(f"  {typed} is none of these keys.", style="yellow"))

    def _typed(self, classes: list[Any], keys: dict[str, Any] | None) -> str | None:
        commands = f"{SKIP} skip  {SIMILAR} similar rows  {UNDO} undo  {QUIT} quit"
        if keys is not None:
            menu = "  ".join(f"{key} {label}" for key, label in keys.items())
            new = f"{NEW} new class  " if self._new_classes else ""
            return self._keyboard.key(f"  {menu}  |  {new}{commands} > ")
        menu = "  ".join(
            f"{at}: {name}" if _numbered(classes) else str(name) for at, name in enumerate(classes, 1)
        )
        return self._keyboard.line(f"  class{f' [{menu}]' if menu else ''}, {commands} > ")

    def _named(self, typed: str, classes: list[Any]) -> Any:
        """The answer that was typed by name; None if it was none, a command if that was typed instead."""
        if typed == NEW:
            named = self._keyboard.line(f"  name of the class (Enter to go back, {QUIT} quits) > ")
            if named is None or named == QUIT:
                return QUIT
            typed = named
        if not typed:
            return None
        try:
            label, known = parse_label(typed, classes, self._schema)
        except ValueError as error:
            self._console.print(notice(f"  {error}", style="yellow"))
            return None
        if known:
            return "label", label
        name = f"'{label}'" if isinstance(label, str) else label
        if not self._new_classes:
            self._console.print(styled(f"  {name} is none of the classes.", style="yellow"))
            return None
        reply = self._keyboard.line(f"  {name} is a new class. Add it? [y/N] ")
        if reply is None or reply == QUIT:
            return QUIT
        return ("label", label) if reply.lower() in ("y", "yes") else None

    def _wants_undo(self) -> bool:
        """Whether the user wants to undo the last answer, after the last question."""
        if not self.answered:
            return False
        self._console.print()
        prompt = f"  No more questions: Enter or {QUIT} quits, {UNDO} undoes the last answer > "
        typed = self._keyboard.key(prompt) if self._keyboard.has_keys else self._keyboard.line(prompt)
        return typed == UNDO

    def _undo(self, position: int) -> int:
        """Withdraw the last answer; return the position of its question."""
        if not self.answered:
            self._console.print("  There is no answer to undo.", style="yellow")
            return position
        before, name = self.answered.pop()
        self._learner.withdraw([name], by=self._by)
        self._console.print(f"  Withdrew the answer for row {name}.", style="yellow")
        return before


def label_keys(classes: list[Any]) -> dict[str, Any] | None:
    """A key for each class: its name, if all are single characters, otherwise digits and letters.

    None if there are no classes or more than keys.
    """
    names = [str(label) for label in classes]
    if classes and all(len(name) == 1 and name.isprintable() and name not in COMMANDS for name in names):
        return dict(zip(names, classes, strict=True))
    return dict(zip(_KEYS, classes, strict=False)) if 0 < len(classes) <= len(_KEYS) else None


def parse_label(
    typed: str, classes: list[Any], schema: Schema | None, by_number: bool = True
) -> tuple[Any, bool]:
    """The typed label, and whether it is a known class. Names take precedence over numbers.

    A name can be typed as it is displayed, which is unique, or as it is. Numbers of classes are understood
    unless ``by_number`` is false.
    """
    for shown in (visible, str):
        for label in classes:
            if shown(label) == typed:
                return label, True
    alike = [label for label in classes if str(label).lower() == typed.lower()]
    if len(alike) == 1:
        return alike[0], True
    if by_number and _numbered(classes) and typed.isdecimal() and 1 <= int(typed) <= len(classes):
        return classes[int(typed) - 1], True
    if classes and isinstance(classes[0], bool):
        raise ValueError(f"{typed!r} is neither True nor False.")
    if (classes and isinstance(classes[0], int)) or (
        not classes and schema is not None and schema.label_type == "int" and schema.name_of("label")
    ):
        try:
            return int(typed), False
        except ValueError:
            raise ValueError(f"{typed!r} is not a class: classes are integers.") from None
    return typed, False


def _numbered(classes: list[Any]) -> bool:
    """Whether classes can be selected by number: not if they are numbers themselves."""
    return bool(classes) and all(isinstance(label, str) for label in classes)


def prediction(learner: NeverEndingLearner, row: Any) -> str:
    """The predicted class and its probability, as text."""
    predicted = learner.predict(row)[0]
    if predicted is None:
        return "none yet: the learner has not seen two classes"
    shares = learner.predict_proba(row)[0]
    classes = learner.learner_.classes_.tolist()
    ranked = sorted(zip(shares.tolist(), classes, strict=True), key=lambda pair: -pair[0])
    others = ", ".join(f"{label} {100 * share:.0f} %" for share, label in ranked[:3] if label != predicted)
    return f"{predicted} {100 * shares[classes.index(predicted)]:.0f} %" + (f" ({others})" if others else "")


def shortened(text: str, most: int = _MAX_CHARACTERS) -> str:
    """A text without what is too long to show."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text) - most:,} more characters)"


def selected(fields: list[ShownField], most: int = _MAX_FIELDS) -> list[ShownField]:
    """The fields to show, in their order: unusual ones first if there are too many."""
    order = sorted(range(len(fields)), key=lambda at: (not fields[at].remark, at))[:most]
    return [fields[at] for at in sorted(order)]
