"""Every table imports, lists itself and explains itself without data; its files use public names only."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks"
TABLES = sorted(path.parent.name for path in FOLDER.glob("*/__main__.py"))
IMPORT_ALL = """
import importlib
from benchmarks.harness.command import tables
for name, benchmark in tables().items():
    for part in benchmark.parts:
        module = importlib.import_module(f"{benchmark.package}.{part.name}")
        assert callable(module.run_part) and callable(module.report), module
    print(name, ",".join(part.name for part in benchmark.parts))
"""


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "EVERLEARN_DATA"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_all_tables_are_found():
    listed = python("-m", "benchmarks")
    assert listed.returncode == 0, listed.stderr
    assert len(TABLES) >= 13
    for name in TABLES:
        assert f"\n{name} " in listed.stdout


@pytest.mark.parametrize("name", TABLES)
def test_help_needs_no_data(name):
    shown = python("-m", f"benchmarks.{name}", "--help")
    assert shown.returncode == 0, shown.stderr
    for option in ("--only", "--quick", "--out", "--resume", "--report", "parts:"):
        assert option in shown.stdout


def test_every_part_imports_and_has_both_functions():
    done = python("-c", IMPORT_ALL)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == TABLES


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "unknown part nonsense; choose from table"),
        (["table"], "EVERLEARN_DATA is '', not a folder"),
        (["table", "--only", "usps,nonsense"], "--only: unknown nonsense; choose from usps"),
        (["table", "--repeats", "0"], "--repeats must be at least 1, got 0"),
        (["--resume", "nothing.json"], "--resume takes the file of one part"),
        (["table", "--report", "nothing.json"], "--report: there is no file nothing.json"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    refused = python("-m", "benchmarks.lasvm", *arguments)
    assert refused.returncode == 2
    assert message in refused.stderr


@pytest.mark.parametrize(("table", "part"), [("streams", "cost"), ("distributed", "plan")])
def test_a_recorded_run_can_be_reported_again(table, part):
    path = FOLDER / "results" / f"{table}-{part}.json"
    shown = python("-m", f"benchmarks.{table}", part, "--report", str(path))
    assert shown.returncode == 0, shown.stderr
    recorded = [line for line in path.with_suffix(".md").read_text().splitlines() if line.startswith("|")]
    assert [line for line in shown.stdout.splitlines() if line.startswith("|")] == recorded


def test_the_solver_of_many_rows_receives_every_support_vector():
    page = (FOLDER / "results" / "distributed-plan.md").read_text()
    cells = [[cell.strip() for cell in line.split("|")] for line in page.splitlines() if line.startswith("|")]
    header = next(line for line in cells if "10^9 rows like" in line)
    planned = dict(zip(header, cells[-1], strict=True))
    assert planned["10^9 rows like"] == "covtype"
    received, unit = planned["received"].split()
    assert unit == "MB"
    # A row of covtype has 54 features, in float32 at least.
    assert float(received.replace(",", "")) * 1e6 >= float(planned["vectors"]) * 54 * 4


@pytest.mark.parametrize(
    "arguments",
    [
        ("statq", "tables", "--only", "twonorm"),
        ("lasvm", "threads", "--only", "banana_made", "--rows", "300"),
        ("river_tracks", "scores", "--only", "phishing", "--rows", "60"),
    ],
    ids=" ".join,
)
def test_a_part_on_generated_data_is_measured_and_reported(arguments, tmp_path):
    table, part, *options = arguments
    done = python("-m", f"benchmarks.{table}", part, *options, "--quick", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "|" in done.stdout
    assert [path.suffix for path in sorted(tmp_path.iterdir())] == [".json", ".md"]


def private(name: str | None) -> bool:
    return name is not None and any(part.startswith("_") for part in name.split("."))


def test_benchmarks_use_public_names_of_everlearn_only():
    found = []
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            imported = []
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("everlearn"):
                imported = [node.module, *[alias.name for alias in node.names]]
            elif isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names if alias.name.startswith("everlearn")]
            found += [f"{path.name}:{node.lineno} {name}" for name in imported if private(name)]
    assert not found
