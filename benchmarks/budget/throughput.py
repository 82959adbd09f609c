"""All learners on two streams, in turn."""

from __future__ import annotations

from importlib.util import find_spec

from ..harness.machine import say
from ..harness.run import Run
from .data import TITLES, draw_stream
from .learners import ours, river_peers, sklearn_peers
from .prequential import Field, run_stream
from .report import throughput_report as report

__all__ = ["NAMES", "report", "run_part"]
NAMES = tuple(TITLES)


def run_part(run: Run) -> None:
    """Choose parameters on one draw of a stream, then measure on another."""
    learners = ours() + sklearn_peers()
    if find_spec("river"):
        learners += river_peers()
    else:
        say("River is not installed: its lines are left out.")
    rows, singles, tuning = (run.settings[key] for key in ("rows", "singles", "tuning_rows"))
    for name in run.missing(run.chosen(NAMES, ("agree",)), "stream"):
        field = Field(draw_stream(name, rows + 2 * singles, [0, 0]), rows, singles)
        found = run_stream(learners, field, tuning_field(name, tuning), run.settings["repeats"])
        run.add({"stream": name, "learners": found})


def tuning_field(name: str, rows: int) -> Field:
    """Another draw of a stream, to choose parameters on."""
    return Field(draw_stream(name, rows, [0, 1]), rows, 0)
