"""What all commands share: help, version, exit codes, messages."""

import re
from pathlib import Path

import pytest

import everlearn as package
from cli.cli_helpers import everlearn, learn
from everlearn import cli
from everlearn.cli import app
from everlearn.stream import NeverEndingLearner

COMMANDS = sorted(
    [command.callback.__name__ for command in app.registered_commands]
    + [group.name for group in app.registered_groups]
)


def test_version():
    assert everlearn("--version").stdout.strip() == f"everlearn {package.__version__}"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command):
    out = everlearn(command, "--help").stdout
    assert f"everlearn {command}" in out.partition("Example:")[2]


def test_each_module_is_a_command_that_the_help_lists():
    modules = {path.stem for path in Path(cli.__file__).parent.glob("[!_]*.py")}
    assert modules == set(COMMANDS)
    out = everlearn("--help").stdout
    assert all(re.search(rf"\b{command}\b", out) for command in COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "s.csv"], "--store"),
        (["run", "s.csv", "--store", "x", "--learner", "nobody"], "nobody"),
        (["run", "s.csv", "--store", "x", "--param", "C"], "C=10"),
        (["run", "s.csv", "--store", "x", "--param", "c=1"], "no parameter 'c'"),
        (["run", "s.csv", "--store", "x", "--param", "C=1", "--param", "C=2"], "twice"),
        (["run", "s.csv", "--store", "x", "--param", "max_rows=-1"], "from 2"),
        (["run", "s.csv", "--store", "x", "--learner", "LASVM", "--param", "C=-1"], "above 0"),
        (["run", "s.csv", "--store", "x", "--kind", "shop"], "zip=categorical"),
        (["run", "s.csv", "--store", "x", "--drift", "adwin:dance"], "adwin:alarm"),
        (["run", "s.csv", "--store", "x", "--query-strategy", "all"], "margin"),
        (["run", "s.csv", "--store", "x", "--label", "a", "--oracle", "b"], "must be the label field"),
        (["run", "s.csv", "--store", "x", "--batch-size", "0"], "batch-size"),
        (["dance"], "dance"),
    ],
)
def test_wrong_usage_is_2(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in everlearn(*arguments, code=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_problems_are_1_and_one_message(stream, store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments, message in (
        (["run", "nowhere.csv", "--store", "x.everlearn"], "nowhere.csv: No such file"),
        (["run", stream, "--store", "x.everlearn", "--label", "nothing"], "nothing"),
        (["run", stream, "--store", stream, "--label", "is_fraud"], "payments.csv"),
        (["run", stream, "--store", tmp_path, "--label", "is_fraud"], "is a folder"),
        (["run", stream, "--store", "x.everlearn", "--oracle", "hours"], "hours"),
        (["run", stream, "--store", "y.everlearn", "--label-rate", "7"], "label_rate must be"),
        (["status", "x.everlearn"], "No store at"),
        (["ask", "x.everlearn"], "No store at"),
        (["report", "x.everlearn"], "No store at"),
        (["predict", "x.everlearn", stream], "No store at"),
    ):
        error = everlearn(*arguments, code=1).stderr
        assert message in error, arguments
        assert error.count("Error:") == 1
        assert "Traceback" not in error
    assert not (tmp_path / "x.everlearn").exists()
    assert "Traceback" in everlearn("status", "x.everlearn", "--traceback", code=1).stderr


def test_a_store_in_use_is_told_in_words_of_the_terminal(stream, store):
    learn(stream, store)
    with NeverEndingLearner.open(store):
        error = everlearn("ask", store, code=1).stderr
        assert "everlearn status" in error
        assert "read_only" not in error
        everlearn("status", store)
