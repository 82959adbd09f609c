"""The scenarios of `make torture`: a store is disturbed at its writes and compared with a calm run."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from ..harness.machine import say
from ..harness.report import head, markdown, number
from ..harness.run import Data, Run

TESTS = Path(__file__).parents[2] / "tests"


def run_part(run: Run) -> None:
    """The short form: a sample of everything; for all of it, `make torture`."""
    if run.results:
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.json"
        words = [sys.executable, "-m", "torture", "--short", "--jobs", "1", "--json", str(file)]
        if run.quick:
            words += ["--only", "short writes"]
        done = subprocess.run(words, cwd=TESTS, capture_output=True, text=True, check=False)
        if not file.is_file():
            raise RuntimeError(f"torture ended with {done.returncode}: {done.stderr[-2000:]}")
        for result in json.loads(file.read_text()):
            kind = result["name"].rpartition(", ")
            say(f"{result['name']}: {'broken' if 'error' in result else 'holds'}")
            run.add(
                {
                    "scenario": result["name"],
                    "learner": kind[2],
                    "checked": result.get("checked", 0),
                    "holds": "error" not in result,
                    "cpu": result["cpu"],
                }
            )


def report(data: Data) -> str:
    """A line for each scenario."""
    lines = [
        (r["scenario"], f"{r['checked']:,}", "yes" if r["holds"] else "**no**", number(r["cpu"]))
        for r in data["results"]
    ]
    table = markdown(("scenario", "checked", "nothing lost or changed", "CPU s"), lines)
    return "\n".join([*head("Torture of a store, short form", data), table])
