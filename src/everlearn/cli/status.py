"""`everlearn status`: the state of a store."""

from typing import Annotated

import typer

from ..stream import NeverEndingLearner
from . import _options as option
from ._app import command
from ._console import console
from ._run_record import RunRecord
from ._tables import as_json, print_status


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
        record = RunRecord.from_notes(learner.notes)
    if json:
        print(as_json(found | {"run": record.as_notes()}))
    else:
        print_status(found, record, console())
