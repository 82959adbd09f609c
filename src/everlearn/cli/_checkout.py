"""The benchmarks of a source checkout, which an installed package does not have."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_NEEDED = Path("benchmarks") / "reproduce.py"


def find_checkout() -> Path | None:
    """The checkout that this package belongs to or that the current folder is in; None without one."""
    here = Path.cwd()
    for folder in (Path(__file__).parents[3], here, *here.parents):
        if (folder / _NEEDED).is_file():
            return folder
    return None


def benchmarks() -> list[str]:
    """The names of the benchmarks; none outside a source checkout."""
    folder = find_checkout()
    return (
        [] if folder is None else sorted(p.parent.name for p in (folder / "benchmarks").glob("*/__main__.py"))
    )


def run_benchmark(name: str, options: Sequence[str]) -> int:
    """Run a module of the benchmarks in the checkout; return its exit code."""
    folder = find_checkout()
    if folder is None:
        raise FileNotFoundError(
            "This needs the source checkout of everlearn, because benchmarks and results are not part of the "
            "installed package. Clone the repository, install it there with `pip install -e '.[bench]'`, and "
            "run the command in its folder."
        )
    command = [sys.executable, "-m", f"benchmarks.{name}", *options]
    return subprocess.run(command, cwd=folder, check=False).returncode
