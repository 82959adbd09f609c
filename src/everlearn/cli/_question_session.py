"""Questions at the terminal: shows a row, the reason and the prediction, and reads the answer."""

from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse

from .._visible import visible
from ..read import Schema
from ..stream import NeverEndingLearner
from ._console import notice, paragraph, show, styled
from ._format import count, plural

SKIP, UNDO, QUIT = "?", "u", "q"
_MAX_COLUMNS = 30


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
    read : callable
        ``read(prompt)`` returns a typed line, and raises EOFError at the end of the input.
    find : callable, default=lambda _: {}
        ``find(questions)`` returns the rows as they are in a source file, by row number.
    """

    def __init__(
        self,
        learner: NeverEndingLearner,
        schema: Schema | None,
        by: str,
        console: Console,
        read: Callable[[str], str],
        find: Callable[[list[Any]], dict[int, str]] = lambda _: {},
    ) -> None:
        self._learner, self._schema, self._by = learner, schema, by
        self._console, self._read, self._find = console, read, find
        self._raw: dict[int, str] = {}
        self.answered: list[tuple[int, Any]] = []  # the position of a question, and its id

    def run(self, n: int) -> None:
        """Ask up to n questions."""
        questions = self._learner.ask(n)
        if not questions:
            self._console.print("No questions: there is no unlabeled row, or the label budget is used up.")
            return
        self._raw = self._find(questions)
        position = 0
        while position < len(questions) or self._wants_undo():
            if position == len(questions):
                position = self._undo(position)
            self._show(questions[position], position, len(questions))
            answer = self._answer()
            if answer == QUIT:
                return
            if answer == UNDO:
                position = self._undo(position)
                continue
            if answer != SKIP:
                self._learner.label([questions[position].id], [answer[1]], by=self._by)
                self.answered.append((position, questions[position].id))
            position += 1

    # ------------------------------------------------------------------------------------------- showing

    def _show(self, question: Any, position: int, total: int) -> None:
        row = self._learner.rows([question.id])
        head = styled(f"Question {position + 1} of {total}", style="bold")
        head.append(styled(f"  row {question.id}", style="dim"))
        self._console.print()
        self._console.print(head)
        if question.number in self._raw:
            self._console.print(paragraph(f"  {self._raw[question.number]}", style="bold cyan"))
        else:
            self._show_columns(row)
        notes = Table.grid(padding=(0, 2))
        notes.add_column(style="dim")
        notes.add_column(overflow="fold")
        notes.add_row("  why", styled(question.reason))
        notes.add_row("  prediction", styled(self._prediction(row)))
        show(notes, self._console)

    def _show_columns(self, row: Any) -> None:
        grid = Table.grid(padding=(0, 2))
        grid.add_column(max_width=40, overflow="fold")
        grid.add_column(overflow="fold")
        values, others = cells(row, self._schema)
        for name, value in values:
            grid.add_row(styled(f"  {name}"), styled(value, style="bold cyan"))
        show(grid, self._console)
        if others:
            self._console.print(styled(f"  {others}", style="dim"))

    def _prediction(self, row: Any) -> str:
        predicted = self._learner.predict(row)[0]
        if predicted is None:
            return "none yet: the learner has not seen two classes"
        scores = np.asarray(self._learner.decision_function(row))
        if scores.ndim == 1:
            return f"{predicted}, f(x) = {scores[0]:+.3g}"
        best = np.argsort(-scores[0])[:3]
        classes = self._learner.learner_.classes_
        return f"{predicted}, scores " + ", ".join(f"{classes[at]} {scores[0, at]:+.3g}" for at in best)

    # ------------------------------------------------------------------------------------------- reading

    def _answer(self) -> Any:
        """A command, or the pair ("label", label)."""
        classes = self._learner.status()["classes"]
        menu = "  ".join(
            f"{at}: {name}" if _numbered(classes) else str(name) for at, name in enumerate(classes, 1)
        )
        prompt = f"  class{f' [{menu}]' if menu else ''}, {SKIP} skip, {UNDO} undo, {QUIT} quit > "
        while True:
            typed = self._typed(prompt)
            if typed is None:
                return QUIT
            if not typed:
                continue
            command = typed.removeprefix(":")
            if command in (SKIP, UNDO, QUIT) and (typed != command or not _is_name(typed, classes)):
                return command
            try:
                label, known = parse_label(typed, classes, self._schema)
            except ValueError as error:
                self._console.print(notice(f"  {error}", style="yellow"))
                continue
            if known or self._confirmed(label):
                return "label", label

    def _wants_undo(self) -> bool:
        """Whether the user wants to undo the last answer, after the last question."""
        if not self.answered:
            return False
        self._console.print()
        typed = self._typed(f"  No more questions. Press Enter to finish, or {UNDO} to undo > ")
        return typed is not None and typed.removeprefix(":") == UNDO

    def _confirmed(self, label: Any) -> bool:
        name = f"'{label}'" if isinstance(label, str) else label
        typed = self._typed(f"  {name} is a new class. Add it? [y/N] ")
        return typed is not None and typed.lower() in ("y", "yes")

    def _typed(self, prompt: str) -> str | None:
        """The typed line; None at the end of the input."""
        try:
            return self._read(visible(prompt)).strip()
        except EOFError:
            self._console.print()
            return None

    def _undo(self, position: int) -> int:
        """Withdraw the last answer; return the position of its question."""
        if not self.answered:
            self._console.print("  There is no answer to undo.", style="yellow")
            return position
        before, name = self.answered.pop()
        self._learner.withdraw([name], by=self._by)
        self._console.print(f"  Withdrew the answer for row {name}.", style="yellow")
        return before


def parse_label(typed: str, classes: list[Any], schema: Schema | None) -> tuple[Any, bool]:
    """The typed label, and whether it is a known class. Names take precedence over numbers.

    A name can be typed as it is displayed, which is unique, or as it is.
    """
    for shown in (visible, str):
        for label in classes:
            if shown(label) == typed:
                return label, True
    alike = [label for label in classes if str(label).lower() == typed.lower()]
    if len(alike) == 1:
        return alike[0], True
    if _numbered(classes) and typed.isdecimal() and 1 <= int(typed) <= len(classes):
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


def _is_name(typed: str, classes: list[Any]) -> bool:
    return any(str(label) == typed for label in classes)


def _zeros(names: list[str], others: set[int]) -> int:
    """The number of columns that are 0, without those of one-hot encoded fields."""
    return sum(
        at not in others and "=" not in name and not name.endswith(" (missing)")
        for at, name in enumerate(names)
    )


def cells(row: Any, schema: Schema | None) -> tuple[list[tuple[str, str]], str]:
    """The names and values of the nonzero columns of a row, and a remark on the others."""
    row = sparse.csr_matrix(row)
    row.eliminate_zeros()
    names = schema.feature_names if schema is not None and schema.n_features == row.shape[1] else None
    found = []
    for at, value in zip(row.indices[:_MAX_COLUMNS].tolist(), row.data.tolist(), strict=False):
        name = f"x{at}" if names is None else names[at]
        field, equals, category = name.partition("=")
        if names is not None and value == 1.0 and equals:
            found.append((field, category))  # one-hot encoded
        elif names is not None and value == 1.0 and name.endswith(" (missing)"):
            found.append((name.removesuffix(" (missing)"), "(missing)"))
        else:
            found.append((name, f"{value:.6g}"))
    more = row.nnz - len(found)
    zeros = row.shape[1] - row.nnz if names is None else _zeros(names, set(row.indices.tolist()))
    words = [f"{count(more)} more"] if more else []
    words += [f"{plural(zeros, 'other column')} {'is' if zeros == 1 else 'are'} 0"] if zeros else []
    return found, ", ".join(words)
