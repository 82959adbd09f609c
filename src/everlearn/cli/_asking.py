"""`everlearn ask`: a store, and a person who answers."""

import getpass
import os
from typing import Any

from ..stream import NeverEndingLearner
from ._answers import Session
from ._console import console
from ._interrupt import Interrupt
from ._raw import RawRows
from ._sources import schema_or_none


def ask_at_terminal(store: str, n: int, source: str | None) -> None:
    """Ask up to n questions; an answer that is being learned is finished before an interruption ends it."""
    NeverEndingLearner.open(store, read_only=True).close()  # only `run` makes a store
    with Interrupt() as interrupt:
        with interrupt.at_once():
            learner = NeverEndingLearner.open(store)

        def read(prompt: str) -> str:
            with interrupt.at_once():
                return input(prompt)

        with learner:
            status = learner.status()
            raw = RawRows(source, status)

            def find(questions: list[Any]) -> dict[int, str]:
                with interrupt.at_once():
                    return raw.find(questions)

            who = os.environ.get("USER") or getpass.getuser()
            session = Session(learner, schema_or_none(status["schema"]), who, console(), read, find)
            try:
                session.go(n)
            finally:
                still = learner.status()["open_questions"]
                console().print(f"{len(session.answered)} answered, {still} open.")
