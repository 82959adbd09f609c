"""`everlearn watch`: the live view of a store that another process writes."""

import time
from typing import Annotated

import typer

from ..stream import NeverEndingLearner
from . import _options as option
from ._app import command
from ._console import console, show
from ._interrupt import Terminated
from ._progress import Progress, facts


@command(
    "everlearn watch fraud.everlearn",
    "everlearn watch fraud.everlearn --idle 60 && everlearn report fraud.everlearn",
)
def watch(
    store: option.Store,
    every: Annotated[
        float, typer.Option("--every", metavar="SECONDS", min=0.1, help="How often to look at the store.")
    ] = 2.0,
    idle: Annotated[
        float | None,
        typer.Option(
            "--idle",
            metavar="SECONDS",
            min=0.0,
            help="Stop when nothing has been written for so long. (default: until Ctrl-C)",
            show_default=False,
        ),
    ] = None,
    traceback: option.Traceback = False,
) -> None:
    """Show the progress of a store while another process writes to it.

    A terminal shows the panel of `everlearn run`; otherwise a line is printed for each change. Ctrl-C stops
    watching, not the other process.
    """
    with NeverEndingLearner.open(store, read_only=True) as learner:
        progress = Progress(console(), pause=0.0)
        try:
            with progress:
                _follow(learner, progress, every, idle)
        except KeyboardInterrupt as error:
            if isinstance(error, Terminated):
                raise
        if console().is_terminal:  # the panel is gone
            show(facts(learner.status(), None, None), console())


def _follow(learner: NeverEndingLearner, progress: Progress, every: float, idle: float | None) -> None:
    """Show the store whenever it has changed, until it is idle."""
    changed = time.monotonic()
    progress.show(learner.status()["rows"], learner.status)
    while idle is None or time.monotonic() - changed < idle:
        time.sleep(every if idle is None else min(every, max(idle, 0.01)))
        if learner.refresh():
            changed = time.monotonic()
            progress.show(learner.status()["rows"], learner.status)
