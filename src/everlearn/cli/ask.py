"""`everlearn ask`: answer questions at the terminal."""

import getpass
import os
from typing import Annotated, Any

import typer

from ..stream import NeverEndingLearner
from . import _options as option
from ._app import command
from ._console import console
from ._interrupt import Interrupt
from ._question_session import QuestionSession
from ._source_rows import SourceRows
from ._source_spec import schema_or_none


@command("everlearn ask fraud.everlearn -n 20", "everlearn ask spam.everlearn --source messages.jsonl")
def ask(
    store: option.Store,
    n: Annotated[int, typer.Option("-n", min=1, metavar="N", help="Maximum number of questions.")] = 10,
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="FILE",
            show_default=False,
            help="Show rows as they are in this source file. Useful for text, which is hashed in the store.",
        ),
    ] = None,
    traceback: option.Traceback = False,
) -> None:
    """Answer questions at the terminal.

    Type the name or the number of a class; ? skips the row, u undoes the last answer, q quits.
    """
    with Interrupt() as interrupt:
        with interrupt.at_once():
            learner = NeverEndingLearner.open(store, create=False)

        def read(prompt: str) -> str:
            with interrupt.at_once():
                return input(prompt)

        with learner:
            rows = SourceRows(source, learner)

            def find(questions: list[Any]) -> dict[int, str]:
                with interrupt.at_once():
                    return rows.find(questions)

            user = os.environ.get("USER") or getpass.getuser()
            schema = schema_or_none(learner.status()["schema"])
            session = QuestionSession(learner, schema, user, console(), read, find)
            try:
                session.run(n)
            finally:
                n_open = learner.status()["open_questions"]
                console().print(f"{len(session.answered)} answered, {n_open} open.")
