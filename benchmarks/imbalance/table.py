"""All learners on all sets."""

from __future__ import annotations

from ..harness.report import head
from ..harness.run import Data, Run
from .data import SETS
from .learners import run_set
from .report import sections

NAMES = tuple(SETS)
QUICK_NAMES = ("waveform-8", "corn", "abalone", "letter")


def run_part(run: Run) -> None:
    """One set after the other."""
    for name in run.missing(run.chosen(NAMES, QUICK_NAMES)):
        run.add(run_set(name, SETS[name], run.settings["runs"], run.quick))


def report(data: Data) -> str:
    """A line per set, the claims with their verdicts, and every figure."""
    return "\n".join([*head("Ways to learn a rare class", data), sections(data["results"])])
