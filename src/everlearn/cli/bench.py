"""`everlearn bench`: a speed test, or a benchmark of the source checkout."""

from typing import Annotated

import typer

from . import _options as option
from ._app import command
from ._checkout import benchmarks, run_benchmark
from ._console import console
from ._tables import print_timings


@command("everlearn bench", "everlearn bench lasvm -- --quick", context_settings={"allow_extra_args": True})
def bench(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A benchmark of the source checkout. (default: a speed test)"),
    ] = None,
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, help="Duration of the speed test.")] = 10.0,
    traceback: option.Traceback = False,
) -> None:
    """Test the speed of some learners on generated data, or run a benchmark of the source checkout."""
    if name is None:
        print_timings(seconds, console())
        return
    known = benchmarks()
    if name not in known:
        where = f"Choose from {', '.join(known)}." if known else "Benchmarks need the source checkout."
        raise ValueError(f"No benchmark {name!r}. {where}")
    raise typer.Exit(run_benchmark(name, context.args))
