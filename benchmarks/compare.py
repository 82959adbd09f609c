"""Two commits side by side: `make bench-compare A=main~5 B=main`, or `python -m benchmarks.compare A B`.

Each commit is checked out under `build/compare/` and built in an environment of its own, which takes all
other packages from this one. Both then run the tasks of `compare_tasks.py`, this checkout's version, in turn,
in new processes, A first in even rounds and B first in odd ones. What is printed: median CPU seconds of both,
and the median, smallest and largest of the ratios B / A within a round. A ratio below 1: B is faster. A range
that contains 1 says that no difference was measured; fewer than five rounds say nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from statistics import median
from typing import Any

from .harness.machine import limit_threads, say
from .harness.report import NONE, markdown, number

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "compare"
ENOUGH = 5  # rounds; the ratios of so many are all on one side of 1 by chance in one case of sixteen
TASKS = Path(__file__).with_name("compare_tasks.py")


def commit_of(name: str) -> str:
    """The full hash of a commit; an unknown name ends the program."""
    words = ["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"]
    found = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode:
        raise SystemExit(
            f"bench-compare: there is no commit {name!r}. Use `make bench-compare A=main~5 B=main`."
        )
    return found.stdout.strip()


def environment(commit: str) -> Path:
    """The Python of an environment with this commit; built if it is not there."""
    place = FOLDER / commit[:12]
    python = place / "env" / "bin" / "python"
    if (place / "ready").is_file():
        return python
    say(f"building {commit[:12]} in {place}")
    place.mkdir(parents=True, exist_ok=True)
    if not (place / "source").is_dir():
        _call("git", "worktree", "add", "--detach", "--force", str(place / "source"), commit, cwd=ROOT)
    _call(sys.executable, "-m", "venv", "--without-pip", "--clear", str(place / "env"))
    packages = sysconfig.get_path(
        "purelib", vars={"base": str(place / "env"), "platbase": str(place / "env")}
    )
    Path(packages, "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    words = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    options = ["--no-build-isolation", "--no-index", "--ignore-installed", str(place / "source")]
    _call(*words, *options, env=os.environ | {"PATH": path})
    (place / "ready").touch()
    return python


def _call(*words: str, **options: Any) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise SystemExit(
            f"bench-compare: {' '.join(words)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )


def measure(python: Path, small: bool) -> dict[str, Any]:
    """The tasks, once, in a new process."""
    words = [str(python), str(TASKS), *(["small"] if small else [])]
    done = subprocess.run(words, cwd=FOLDER, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"bench-compare: {python} failed:\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout))


def table(rounds: list[tuple[dict[str, Any], dict[str, Any]]]) -> str:
    """A line for each task."""
    names = dict.fromkeys(
        name for pair in rounds for side in pair for name in (*side["seconds"], *side["reasons"])
    )
    lines = []
    for name in names:
        pairs = [(a["seconds"].get(name), b["seconds"].get(name)) for a, b in rounds]
        sides = [[pair[i] for pair in pairs if pair[i] is not None] for i in (0, 1)]
        ratios = sorted(b / a for a, b in pairs if a and b)
        spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}" if ratios else NONE
        verdict = NONE if not ratios else "too few rounds"
        if len(ratios) >= ENOUGH:
            verdict = "B faster" if ratios[-1] < 1 else "B slower" if ratios[0] > 1 else "no difference"
        middle = [number(median(side)) if side else NONE for side in sides]
        lines.append([name, *middle, f"{median(ratios):.2f}" if ratios else NONE, spread, verdict])
    return markdown(("task", "A, CPU s", "B, CPU s", "B / A", "range", ""), lines)


def main(argv: list[str] | None = None) -> int:
    """Build both, measure in turn, print."""
    parser = argparse.ArgumentParser(prog="make bench-compare", description=__doc__.splitlines()[0])
    parser.add_argument("a", metavar="A", help="a commit, branch or tag")
    parser.add_argument("b", metavar="B", help="another")
    parser.add_argument("--rounds", type=int, default=7, help="times that both run (default: 7)")
    parser.add_argument("--quick", action="store_true", help="a trial: few rows, one round")
    args = parser.parse_args(argv)
    if args.rounds < 1:
        parser.error(f"--rounds must be at least 1, got {args.rounds}")
    limit_threads(1)
    commits = [commit_of(name) for name in (args.a, args.b)]
    pythons = [environment(commit) for commit in commits]
    rounds = []
    for turn in range(1 if args.quick else args.rounds):
        say(f"round {turn + 1}")
        order = (0, 1) if turn % 2 == 0 else (1, 0)
        found = {side: measure(pythons[side], args.quick) for side in order}
        rounds.append((found[0], found[1]))
    print(f"A: {args.a} ({commits[0][:12]}), B: {args.b} ({commits[1][:12]}), {len(rounds)} rounds\n")
    print(table(rounds))
    reasons = {
        f"{'AB'[i]}, {name}: {why}"
        for pair in rounds
        for i in (0, 1)
        for name, why in pair[i]["reasons"].items()
    }
    print("\n".join(f"- {reason}" for reason in sorted(reasons)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
