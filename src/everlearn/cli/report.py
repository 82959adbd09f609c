"""`everlearn report`: an HTML report."""

import webbrowser
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from ..report import write_report
from ..stream import NeverEndingLearner
from . import _options as option
from ._app import command
from ._console import console
from ._outputs import check_outputs


@command("everlearn report fraud.everlearn --out report.html --open")
def report(
    store: option.Store,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The HTML file to write.")] = Path(
        "report.html"
    ),
    title: Annotated[
        str | None,
        typer.Option("--title", help="Title of the report. (default: name of the store)", show_default=False),
    ] = None,
    open: Annotated[bool, typer.Option("--open", help="Open it in the browser.", show_default=False)] = False,
    traceback: option.Traceback = False,
) -> None:
    """Write an HTML report: scores, questions, drift alarms."""
    check_outputs({"--out": out}, store=store)
    with NeverEndingLearner.open(store, read_only=True) as learner:
        name = Path(learner.status()["store"]).stem
        write_report(cast(Any, learner.report_data(title=title or name)), out)
    console().print(f"Wrote {out}")
    if open:
        webbrowser.open(out.resolve().as_uri())
