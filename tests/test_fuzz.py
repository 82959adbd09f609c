"""Mutated model files and snapshots, a sample of them; `make fuzz` tries as many as one likes."""

import os

from fuzz import __main__ as fuzz
from fuzz import models

COUNT = int(os.environ.get("EVERLEARN_FUZZ", "3"))  # mutated states of each class


def test_a_mutant_is_refused_or_survives(capsys):
    status = fuzz.main(["--count", str(COUNT), "--ways", "state,header,bytes"])
    assert status == 0, capsys.readouterr().out


def test_a_store_opens_whatever_its_snapshots_hold(capsys):
    status = fuzz.main(["--count", str(2 * COUNT), "--ways", "snapshot", "--only", "LASVM"])
    assert status == 0, capsys.readouterr().out


def test_every_registered_class_is_mutated():
    assert len(models.registered()) >= 30
    assert set(models._SPECIAL) <= set(models.registered())


def test_what_is_found_is_said(capsys):
    assert fuzz.main(["--count", "3", "--ways", "planted", "--only", "LASVM"]) == 1
    out = capsys.readouterr().out
    assert "--replay LASVM planted 0: IndexError" in out
    assert "--replay LASVM planted 1: the process ended with status -14" in out  # as one that never ends
    assert out.endswith("planted FOUND: 2, planted refused: 1\n")
