"""Outputs and inputs: no command writes over what it reads, and what fails leaves the old file."""

import json
import os
import signal
import subprocess
import sys

import pytest

from cli.cli_helpers import everlearn, payments, status_of, write_csv
from everlearn.cli._outputs import check_outputs
from everlearn.read import Schema, open_source
from everlearn.stream import NeverEndingLearner


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a source and a store, made once."""
    folder = tmp_path_factory.mktemp("made")
    write_csv(folder / "s.csv", payments(120))
    everlearn("run", folder / "s.csv", "--store", folder / "S", "--label", "is_fraud", "--id", "number", "-q")
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    for name in ("s.csv", "S"):
        (tmp_path / name).write_bytes((made / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refused(here, *arguments, code=1):
    """Run a command that must be refused and must change nothing; what it says."""
    before = contents(here)
    error = everlearn(*arguments, code=code).stderr
    assert contents(here) == before
    assert "choose another file" in error
    return error


REFUSED = [
    ("report S --out {}", ("S", "S-wal", "S-shm", "S-journal", "S-lock")),
    ("export S {}", ("S", "S-wal")),
    ("predict S s.csv --out {}", ("S", "S-wal", "s.csv")),
    ("predict S s.csv --quarantine {}", ("S", "s.csv")),
    ("predict S s.csv --out x.csv --quarantine {}", ("x.csv",)),
    ("schema s.csv --out {}", ("s.csv",)),
    ("run s.csv --store new --quarantine {}", ("s.csv", "new", "new-wal", "new-lock", "NEW")),
    ("run s.csv --store S --quarantine {}", ("S", "S-lock")),
    ("run s.csv --store {}", ("s.csv",)),
]


@pytest.mark.parametrize(("command", "output"), [(c, out) for c, outs in REFUSED for out in outs])
def test_an_output_that_is_an_input_is_refused(here, command, output):
    refused(here, *command.format(output).split())


@pytest.mark.parametrize("link", [os.symlink, os.link])
@pytest.mark.parametrize(
    ("command", "target"),
    [("report S --out x", "S"), ("predict S s.csv --out x", "s.csv"), ("schema s.csv --out x", "s.csv")],
)
def test_links_are_seen_through(here, command, target, link):
    link(target, "x")
    refused(here, *command.split())


def test_relative_names_are_seen_through(here):
    refused(here, "report", "S", "--out", f"../{here.name}/S")
    refused(here, "predict", here / "S", "s.csv", "--out", "./S")


def test_a_schema_is_an_input(here):
    everlearn("schema", "s.csv", "--out", "schema.json")
    for store in ("new", "schema.json"):
        refused(
            here, "run", "s.csv", "--schema", "schema.json", "--store", store, "--quarantine", "schema.json"
        )


def test_an_output_that_is_no_input_is_written(here):
    everlearn("report", "S", "--out", "s")  # differs from S in its case only, and is another file
    assert "<!doctype html>" in (here / "s").read_text()


def test_standard_streams_that_are_files(here, monkeypatch):
    with open("s.csv", "rb") as source, open("s.csv", "ab") as out, open("other", "ab") as other:
        monkeypatch.setattr(sys, "stdin", source)
        monkeypatch.setattr(sys, "stdout", other)
        check_outputs({"--out": "-"}, store="S", sources=["-"])
        with pytest.raises(ValueError, match="a file that this command reads"):
            check_outputs({"--quarantine": "s.csv"}, sources=["-"])
        monkeypatch.setattr(sys, "stdout", out)
        with pytest.raises(ValueError, match="--out standard output"):
            check_outputs({"--out": "-"}, store="S", sources=["s.csv"])


def test_the_library_refuses_a_quarantine_that_is_an_input(here):
    (here / "x.csv").write_text("a,b\n1,2\n3\n")
    schema = Schema.infer({"a": ["1"], "b": ["2"]})
    schema.write("schema.json")
    os.link("x.csv", "link.csv")
    before = contents(here)
    for path, options in (
        ("x.csv", {}),
        ("link.csv", {}),
        ("S", {}),
        ("schema.json", {"schema": "schema.json"}),
    ):
        with pytest.raises(ValueError, match=r"choose another file for bad rows|is a store"):
            open_source("x.csv", quarantine=path, **options)
    assert contents(here) == before
    with open_source("x.csv", quarantine="bad.jsonl") as source:
        assert [len(batch) for batch in source] == [1]
    assert json.loads((here / "bad.jsonl").read_text())["line"] == 3


# ---------------------------------------------------------------------------------- pipes, devices, failures


def test_devices_as_outputs(here):
    for command in ("predict S s.csv --out /dev/null --quarantine /dev/null", "export S /dev/null"):
        everlearn(*command.split())
    everlearn("report", "S", "--out", "/dev/null")
    everlearn("schema", "s.csv", "--out", "/dev/null")


def test_a_pipe_as_output(here):
    os.mkfifo("pipe")
    reader = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, text=True)
    everlearn("predict", "S", "s.csv", "--out", "pipe")
    assert reader.communicate(timeout=60)[0] == everlearn("predict", "S", "s.csv").stdout


def fails_in_the_second_block(monkeypatch, error):
    predict, calls = NeverEndingLearner.predict, []

    def fail(self, X):
        calls.append(0)
        if len(calls) == 2:
            raise error
        return predict(self, X)

    monkeypatch.setattr(NeverEndingLearner, "predict", fail)


@pytest.mark.parametrize(("error", "code"), [(ValueError("no"), 1), (KeyboardInterrupt(), 130)])
def test_predictions_that_fail_leave_the_old_file(here, monkeypatch, error, code):
    (here / "out.csv").write_text("old")
    fails_in_the_second_block(monkeypatch, error)
    everlearn("predict", "S", "s.csv", "--out", "out.csv", "--batch-size", 50, code=code)
    assert (here / "out.csv").read_text() == "old"
    assert not list(here.glob(".everlearn-*"))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_predictions_that_are_stopped_leave_the_old_file(here, monkeypatch, number, code):
    (here / "out.csv").write_text("old")
    predict = NeverEndingLearner.predict

    def stop(self, X):
        os.kill(os.getpid(), number)
        return predict(self, X)

    monkeypatch.setattr(NeverEndingLearner, "predict", stop)
    everlearn("predict", "S", "s.csv", "--out", "out.csv", code=code)
    assert (here / "out.csv").read_text() == "old"
    assert not list(here.glob(".everlearn-*"))


def test_the_quarantine_is_appended_to_and_not_replaced(here):
    (here / "bad.csv").write_text("number,amount,shop,hour,is_fraud\n1\n")
    (here / "bad.jsonl").write_text("what an earlier run has found\n")
    everlearn("run", "bad.csv", "--store", "S", "--quarantine", "bad.jsonl", "--max-bad-fraction", 1)
    lines = (here / "bad.jsonl").read_text().splitlines()
    assert lines[0] == "what an earlier run has found"
    assert json.loads(lines[1])["reason"] == "wrong number of fields"
    assert status_of("S")["rows"] == 120
