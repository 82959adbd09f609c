"""`everlearn ask`: answer questions at the terminal."""

import contextlib
from typing import Annotated, Any

import typer

from . import _options as option
from ._app import command
from ._console import console, notice
from ._interrupt import Interrupt
from ._keyboard import Keyboard
from ._linked_store import NO_PAIRS, open_store, print_linkage, print_verdict, questions_of
from ._question_session import QuestionSession
from ._source_rows import SourceRows
from ._source_spec import schema_or_none


@command("everlearn ask fraud.everlearn -n 20", "everlearn ask spam.everlearn --source messages.jsonl")
def ask(
    store: option.Store,
    n: Annotated[int, typer.Option("-n", min=1, metavar="N", help="Maximum number of questions.")] = 10,
    source: option.RowsFrom = None,
    by: option.By = "",
    blind: Annotated[
        bool,
        typer.Option("--blind", help="Do not show the prediction: it can influence you.", show_default=False),
    ] = False,
    traceback: option.Traceback = False,
) -> None:
    """Answer questions at the terminal.

    Each row is shown with its fields, and what is unusual about them, as it is in the source that `everlearn
    run` has read. One key answers: that of the class. ? skips the row, s shows similar rows that have a
    label, + adds a class, u undoes the last answer, q quits. If standard input is not a terminal, lines are
    read instead: the name or the number of a class, or a command. In a store of `everlearn link`, two records
    are shown side by side, and nothing is asked that follows from other answers.
    """
    with Interrupt() as interrupt, contextlib.ExitStack() as opened:
        with interrupt.at_once():
            linker, learner = open_store(store, opened)
        if linker is not None and not linker.status()["rows"]:
            console().print(notice(NO_PAIRS, style="yellow"))
            return
        rows = SourceRows(source, learner, interrupt.at_once)
        schema = schema_or_none(learner.status()["schema"])
        keyboard = Keyboard(interrupt.at_once)
        more: dict[str, Any] = {}
        if linker is not None:
            more = {
                "asking": lambda n: questions_of(linker, n),
                "follows": linker.follows,
                "new_classes": False,
            }
        name = option.name_of(by)
        session = QuestionSession(learner, schema, name, console(), keyboard, rows, blind, **more)
        try:
            session.run(n)
        finally:
            n_open = learner.status()["open_questions"]
            console().print(f"{len(session.answered)} answered, {n_open} open.")
        if linker is not None:
            print_linkage(linker)
            print_verdict(linker)
