"""Two commits side by side."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import compare  # noqa: E402


def side(**seconds):
    return {"seconds": seconds, "reasons": {}}


def test_ratios_are_within_a_round_with_their_range():
    rounds = [
        (side(fit=1.0, ask=2.0), side(fit=0.5, ask=3.0)),
        (side(fit=2.0, ask=2.0), side(fit=0.8, ask=1.0)),
    ]
    rounds.append(
        (side(fit=1.0, ask=1.0), {"seconds": {"fit": 0.9}, "reasons": {"ask": "AttributeError: no"}})
    )
    fit, ask = (line.split("|")[1:-1] for line in compare.table(3 * rounds).splitlines()[2:])
    assert [cell.strip() for cell in fit] == ["fit", "1", "0.8", "0.50", "0.40 to 0.90", "B faster"]
    assert [cell.strip() for cell in ask] == ["ask", "2", "2", "1.00", "0.50 to 1.50", "no difference"]


def test_few_rounds_have_no_verdict():
    (line,) = compare.table([(side(fit=1.0), side(fit=0.5))] * (compare.ENOUGH - 1)).splitlines()[2:]
    assert line.split("|")[-2].strip() == "too few rounds"


def test_a_task_that_one_commit_cannot_run_is_a_dash():
    lonely = {"seconds": {}, "reasons": {"fit": "AttributeError: no"}}
    (line,) = compare.table([(side(fit=1.0), lonely)]).splitlines()[2:]
    assert [cell.strip() for cell in line.split("|")[1:-1]] == ["fit", "1", "–", "–", "–", "–"]  # noqa: RUF001


def test_an_unknown_commit_is_refused():
    with pytest.raises(SystemExit, match="there is no commit 'nonsense'"):
        compare.commit_of("nonsense")


def test_all_tasks_run_here():
    done = subprocess.run(
        [sys.executable, str(compare.TASKS), "small"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["reasons"] == {}
    assert len(found["seconds"]) >= 10
    assert all(value > 0 for value in found["seconds"].values())
