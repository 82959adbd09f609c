"""The short form of `make torture`: a sample of every fault, in processes under the shim."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from torture.__main__ import arguments, units

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the shim under SQLite needs LD_PRELOAD")
TESTS = Path(__file__).resolve().parent.parent
GROUPS = ["purpose,crash,disk,short", "killed again,writers,readers,asking", "PostgreSQL"]


@pytest.mark.parametrize("words", GROUPS)
def test_a_store_survives(words):
    command = [sys.executable, "-m", "torture", "--short", "--jobs", "1", "--only", words]
    environment = {key: value for key, value in os.environ.items() if key != "TORTURE_LIBRARY"}
    done = subprocess.run(command, cwd=TESTS, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    count = len(units(arguments(["--short", "--only", words])))
    assert f"{count} of {count} hold" in done.stdout


def test_no_scenario_is_left_out():
    every = {name for name, _, _ in units(arguments(["--short"]))}
    grouped = [name for words in GROUPS for name, _, _ in units(arguments(["--short", "--only", words]))]
    assert sorted(grouped) == sorted(every)
