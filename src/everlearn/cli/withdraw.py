"""`everlearn withdraw`: take labels back."""

from pathlib import Path
from typing import Annotated

import typer

from ..stream import NeverEndingLearner
from . import _options as option
from ._app import command
from ._arguments import read_ids
from ._console import console
from ._format import plural


@command(
    "everlearn withdraw fraud.everlearn p17 p18 --by Ada",
    "everlearn withdraw fraud.everlearn p17 --answers-by Bob",
)
def withdraw(
    store: option.Store,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="The ids of the rows.")] = None,
    ids_file: Annotated[
        Path | None, typer.Option("--ids-file", metavar="FILE", help="A file with one id per line.")
    ] = None,
    answers_by: Annotated[
        str | None,
        typer.Option(
            "--answers-by",
            metavar="NAME",
            show_default=False,
            help="Withdraw the answers of this person only.",
        ),
    ] = None,
    by: option.By = "",
    traceback: option.Traceback = False,
) -> None:
    """Withdraw labels, all or none: the model becomes the one that never saw them.

    The rows stay; they can be labeled again. The log keeps who gave and who withdrew a label, and when. To
    erase rows for good, use `everlearn erase`.
    """
    names = [*(ids or ()), *read_ids(ids_file)]
    if not names:
        raise ValueError("No ids: pass the ids of the rows, or a file of ids with --ids-file.")
    with NeverEndingLearner.open(store, create=False) as learner:
        found = learner.find_ids(names)
        learner.withdraw(found, by=option.name_of(by), answers_by=answers_by)
        left = learner.status()["labels"]
    whose = "" if answers_by is None else f" of {answers_by}"
    console().print(f"Withdrew the answers{whose} for {plural(len(found), 'row')}. {left:,} labels left.")
