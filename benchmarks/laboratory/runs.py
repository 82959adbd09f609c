"""Run the parts that measure claims. What a run has finished is not run again."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from ..harness.machine import say
from .catalogue import Claim
from .results import ROOT


def missing_data(claim: Claim, folder: str | None = None) -> list[str]:
    """The data sets of a claim that EVERLEARN_DATA does not hold."""
    place = folder if folder is not None else os.environ.get("EVERLEARN_DATA", "")
    if not place or not Path(place).is_dir():
        return list(claim.data)
    return [name for name in claim.data if not (Path(place) / f"{name}.npz").is_file()]


def commands(claims: Iterable[Claim], quick: bool) -> dict[str, list[str]]:
    """The commands of these claims by their names, each once."""
    found: dict[str, list[str]] = {}
    for claim in claims:
        for table, arguments in claim.commands():
            part = [word for word in arguments[:1] if not word.startswith("-")]
            words = [*part, "--quick"] if quick else arguments
            found.setdefault("-".join([table, *part]), [table, *words])
    return found


def _earlier(folder: Path, name: str) -> Path | None:
    files = sorted(folder.glob(f"{name}-[0-9]*.json"))
    return files[-1] if files else None


def run(claims: Iterable[Claim], folder: Path, quick: bool) -> int:
    """Run all parts of the claims, one process each; the number of those that failed.

    A part with a Markdown report in `folder` is complete. One with a JSON file alone was interrupted and goes
    on from there.
    """
    wanted = commands(claims, quick)
    failed = []
    for place, (name, command) in enumerate(wanted.items(), 1):
        earlier = _earlier(folder, name)
        if earlier is not None and earlier.with_suffix(".md").is_file():
            say(f"{place} of {len(wanted)}: {name} is there: {earlier.name}")
            continue
        table, *arguments = command
        words = [sys.executable, "-m", f"benchmarks.{table}", *arguments, "--out", str(folder)]
        if earlier is not None:
            words += ["--resume", str(earlier)]
        say(f"{place} of {len(wanted)}: {name}{' goes on' if earlier else ''}")
        if subprocess.run(words, cwd=ROOT, check=False, stdout=subprocess.DEVNULL).returncode:
            failed.append(name)
    if failed:
        say(f"failed: {', '.join(failed)}")
    return len(failed)
