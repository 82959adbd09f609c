"""`everlearn reproduce`: what the papers and we claim, and what was measured; in the source checkout."""

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from . import _options as option
from ._app import command
from ._checkout import run_benchmark


class Action(str, Enum):
    """What to do with the claims."""

    list = "list"
    run = "run"
    report = "report"


@command(
    "everlearn reproduce list",
    "everlearn reproduce list wang-table-1",
    "everlearn reproduce run wang-table-1 --quick",
    "everlearn reproduce report",
)
def reproduce(
    action: Annotated[
        Action,
        typer.Argument(
            help="list: claims and verdicts; of claims that are named, everything. run: measure claims; what "
            "was interrupted goes on. report: write the table of all results and the pages made of it."
        ),
    ],
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Claims, or documents such as wang. (run: also all)"),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="run: a trial on few rows.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="report: write nothing, fail if a page is stale.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="run, report: folder for results. (default: out/reproduce)")
    ] = None,
    document: Annotated[
        str | None, typer.Option("--document", help="list: only the claims of one document.")
    ] = None,
    verdict: Annotated[
        str | None, typer.Option("--verdict", help='list: only claims with this verdict, such as "refuted".')
    ] = None,
    traceback: option.Traceback = False,
) -> None:
    """Show, measure and report the claims of the papers behind everlearn, and its own.

    It needs the source checkout and, to measure, the data sets in the folder EVERLEARN_DATA.
    """
    options = {
        "--quick": quick,
        "--check": check,
        "--out": None if out is None else str(out.resolve()),
        "--document": document,
        "--verdict": verdict,
    }
    words = [action.value, *(ids or [])]
    for flag, value in options.items():
        if value:
            words += [flag] if value is True else [flag, str(value)]
    raise typer.Exit(run_benchmark("reproduce", words))
