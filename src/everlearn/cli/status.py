"""`everlearn status`: the state of a store."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import typer

from ..stream import Answer, NeverEndingLearner
from . import _options as option
from ._app import command
from ._console import console
from ._run_record import RunRecord
from ._tables import as_json, print_disagreements, print_status


@command("everlearn status fraud.everlearn", "everlearn status fraud.everlearn --json")
def status(
    store: option.Store,
    json: Annotated[
        bool, typer.Option("--json", help="Print everything, as JSON.", show_default=False)
    ] = False,
    traceback: option.Traceback = False,
) -> None:
    """Show the state of a store, even while another process writes to it."""
    with NeverEndingLearner.open(store, read_only=True) as learner:
        found = learner.status()
        split = learner.disagreements()
        record = RunRecord.from_notes(learner.notes)
    if json:
        print(as_json(found | {"run": record.as_notes(), "disagreements": _as_values(split)}))
    else:
        print_status(found, record, console())
        print_disagreements(split, console())


def _as_values(answers: Mapping[Any, list[Answer]]) -> list[dict[str, Any]]:
    """Answers as values that JSON can hold."""
    return [{"id": row, "answers": [asdict(answer) for answer in given]} for row, given in answers.items()]
