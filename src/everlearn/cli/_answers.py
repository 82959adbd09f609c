"""Questions at the terminal: a row, why it was chosen, what the learner thinks; answers from a person."""

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
from ._words import count, plural

SKIP, UNDO, QUIT = "?", "u", "q"
_MOST_SHOWN = 30


class Session:
    """A person who answers.

    Parameters
    ----------
    learner : NeverEndingLearner
        Who asks; open for writing.
    schema : Schema or None
        What the columns are called.
    by : str
        Who answers.
    console : Console
        Where questions are shown.
    read : callable
        ``read(prompt)`` returns what was typed, and raises EOFError where there is no more.
    find : callable, default=lambda _: {}
        ``find(questions)`` returns what is written in a source, by the numbers of rows.
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
        self.answered: list[tuple[int, Any]] = []  # the place of a question, and its id

    def go(self, n: int) -> None:
        """Ask up to n questions."""
        questions = self._learner.ask(n)
        if not questions:
            self._console.print("There is nothing to ask about: no row is waiting, or the budget is spent.")
            return
        self._raw = self._find(questions)
        place = 0
        while place < len(questions) or self._regrets():
            if place == len(questions):
                place = self._undo(place)
            self._show(questions[place], place, len(questions))
            said = self._answer()
            if said == QUIT:
                return
            if said == UNDO:
                place = self._undo(place)
                continue
            if said != SKIP:
                self._learner.label([questions[place].id], [said[1]], by=self._by)
                self.answered.append((place, questions[place].id))
            place += 1

    # ------------------------------------------------------------------------------------------- the row

    def _show(self, question: Any, place: int, total: int) -> None:
        row = self._learner._log.rows_of(np.array([question.number], dtype=np.int64))
        thinks = self._learner.predict(row)[0]
        head = styled(f"Question {place + 1} of {total}", style="bold")
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
        notes.add_row("  learner", styled(self._thought(row, thinks)))
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

    def _thought(self, row: Any, thinks: Any) -> str:
        if thinks is None:
            return "nothing yet: it has not seen two classes"
        scores = np.asarray(self._learner.decision_function(row))
        if scores.ndim == 1:
            return f"{thinks}, f(x) = {scores[0]:+.3g}"
        best = np.argsort(-scores[0])[:3]
        classes = self._learner.learner_.classes_
        return f"{thinks}, scores " + ", ".join(f"{classes[at]} {scores[0, at]:+.3g}" for at in best)

    # --------------------------------------------------------------------------------------- the answer

    def _answer(self) -> Any:
        """A command, or a pair of which the second is the label."""
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
                label, known = meant(typed, classes, self._schema)
            except ValueError as error:
                self._console.print(notice(f"  {error}", style="yellow"))
                continue
            if known or self._confirmed(label):
                return "label", label

    def _regrets(self) -> bool:
        """Whether the last answer of all is to be undone."""
        if not self.answered:
            return False
        self._console.print()
        typed = self._typed(f"  That was the last one: Enter ends, {UNDO} undoes > ")
        return typed is not None and typed.removeprefix(":") == UNDO

    def _confirmed(self, label: Any) -> bool:
        name = f"'{label}'" if isinstance(label, str) else label
        typed = self._typed(f"  {name} is a new class. Add it? [y/N] ")
        return typed is not None and typed.lower() in ("y", "yes")

    def _typed(self, prompt: str) -> str | None:
        """What was typed; None at the end of the input."""
        try:
            return self._read(visible(prompt)).strip()
        except EOFError:
            self._console.print()
            return None

    def _undo(self, place: int) -> int:
        """Withdraw the last answer; the place of its question."""
        if not self.answered:
            self._console.print("  There is no answer to undo.", style="yellow")
            return place
        before, name = self.answered.pop()
        self._learner.withdraw([name], by=self._by)
        self._console.print(f"  The answer for row {name} is withdrawn.", style="yellow")
        return before


def meant(typed: str, classes: list[Any], schema: Schema | None) -> tuple[Any, bool]:
    """The label that was typed, and whether it is a class already: its name counts first, then its number.

    A name is typed as it is shown, which no other class is. Then it counts as it is written.
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
            raise ValueError(f"{typed!r} is no class: classes here are whole numbers.") from None
    return typed, False


def _numbered(classes: list[Any]) -> bool:
    """Whether classes may be chosen by a number: not where they are numbers themselves."""
    return bool(classes) and all(isinstance(label, str) for label in classes)


def _is_name(typed: str, classes: list[Any]) -> bool:
    return any(str(label) == typed for label in classes)


def _zeros(names: list[str], others: set[int]) -> int:
    """How many columns are 0, apart from those that are 0 because a sister column is 1."""
    return sum(
        at not in others and "=" not in name and not name.endswith(" (missing)")
        for at, name in enumerate(names)
    )


def cells(row: Any, schema: Schema | None) -> tuple[list[tuple[str, str]], str]:
    """What a row holds, by the names of its columns, without zeros; and what is left out."""
    row = sparse.csr_matrix(row)
    row.eliminate_zeros()
    names = schema.feature_names if schema is not None and schema.n_features == row.shape[1] else None
    found = []
    for at, value in zip(row.indices[:_MOST_SHOWN].tolist(), row.data.tolist(), strict=False):
        name = f"x{at}" if names is None else names[at]
        field, equals, category = name.partition("=")
        if names is not None and value == 1.0 and equals:
            found.append((field, category))  # one of the columns of a field
        elif names is not None and value == 1.0 and name.endswith(" (missing)"):
            found.append((name.removesuffix(" (missing)"), "(missing)"))
        else:
            found.append((name, f"{value:.6g}"))
    more = row.nnz - len(found)
    zeros = row.shape[1] - row.nnz if names is None else _zeros(names, set(row.indices.tolist()))
    words = [f"{count(more)} more"] if more else []
    words += [f"{plural(zeros, 'other column')} {'is' if zeros == 1 else 'are'} 0"] if zeros else []
    return found, ", ".join(words)
