"""The settings of a store as options of `everlearn run`, and all options in a TOML file."""

import inspect

import pytest

from cli.cli_helpers import everlearn, failed, status_of
from everlearn.cli.run import run
from everlearn.stream import NeverEndingLearner

NOT_OPTIONS = {"store", "learner", "scale_features", "read_only", "create"}  # the schema has the features

CONFIG = """
label = "is_fraud"
id = "number"
label-rate = 0.1
audit = 0.5
window = 50
batch_size = 100
random_state = 0
classes = [0, 1]
learner = "lasvm"

[kind]
shop = "categorical"

[param]
C = 3
kernel = "rbf"
gamma = 0.5
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(CONFIG)
    return path


def settings_of(store):
    with NeverEndingLearner.open(store, read_only=True) as learner:
        return learner._settings


def test_every_setting_of_the_python_interface_is_an_option():
    settings = set(inspect.signature(NeverEndingLearner.open).parameters) - NOT_OPTIONS
    assert settings <= set(inspect.signature(run).parameters)


def test_settings_are_those_of_the_options(stream, store):
    options = (
        "--audit",
        0.3,
        "--window",
        77,
        "--retention",
        "needed",
        "--coverage",
        0.9,
        "--scaling",
        "none",
    )
    more = ("--class", 0, "--class", 1, "--semi-supervised", "--exemplars", "--snapshot-every", 200)
    everlearn("run", stream, "--store", store, "--label", "is_fraud", "--id", "number", *options, *more, "-q")
    found = settings_of(store)
    assert (found.audit, found.window, found.retention, found.coverage) == (0.3, 77, "needed", 0.9)
    assert (found.scaling, found.classes.tolist()) == ("none", [0, 1])
    assert type(found.semi_supervised).__name__ == "StreamS3VM"
    assert type(found.exemplars).__name__ == "Exemplars"
    everlearn("run", stream, "--store", store, *options, *more, "-q")  # the same options again
    assert "was created with --window 77, not 78" in failed("run", stream, "--store", store, "--window", 78)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--audit", 3), "audit must be a number from 0 to 1"),
        (("--coverage", 1), "coverage must be"),
        (("--class", "yes", "--class", "no"), "--class 'yes' is no integer"),
        (("--class", 1), "classes must be two or more"),
    ],
)
def test_a_wrong_setting_leaves_no_store(stream, store, options, message):
    assert message in failed("run", stream, "--store", store, "--label", "is_fraud", *options)
    assert not store.exists()


def test_a_file_has_all_options(stream, store, config):
    everlearn("run", stream, "--store", store, "--config", config, "-q")
    found = settings_of(store)
    assert (found.label_rate, found.audit, found.window) == (0.1, 0.5, 50)
    assert found.classes.tolist() == [0, 1]
    assert (type(found.learner).__name__, found.learner.C, found.learner.gamma) == ("LASVM", 3, 0.5)
    assert status_of(store)["rows"] == 600


def test_the_same_as_options(stream, store, config, tmp_path):
    everlearn("run", stream, "--store", store, "--config", config, "-q")
    other = tmp_path / "other.everlearn"
    options = "--label is_fraud --id number --label-rate 0.1 --audit 0.5 --window 50 --batch-size 100"
    more = "--random-state 0 --class 0 --class 1 --learner lasvm --kind shop=categorical --param C=3"
    everlearn("run", stream, "--store", other, *options.split(), *more.split(), "--param", "gamma=0.5", "-q")
    assert status_of(store) == status_of(other)


def test_the_command_line_wins(stream, store, config):
    everlearn("run", stream, "--store", store, "--config", config, "--window", 60, "--param", "C=5", "-q")
    found = settings_of(store)
    assert (found.window, found.audit, found.learner.C) == (60, 0.5, 5)


def test_source_and_store_may_be_in_the_file(stream, store, config):
    config.write_text(f"source = '{stream}'\nstore = '{store}'\nquiet = true\n{CONFIG}")
    assert everlearn("run", "--config", config).output == ""
    assert status_of(store)["rows"] == 600


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("labelrate = 0.1", "unknown key 'labelrate': did you mean 'label_rate'?"),
        ("xyzzy = 1", "unknown key 'xyzzy': the keys are answers_from, audit, batch_size"),
        ("traceback = true", "unknown key 'traceback'"),
        ("label_rate = 1 2", "is not valid TOML"),
        ("label_rate = 'much'", "--label-rate"),
        ("label_rate = [1]", "'label_rate' must be a single value"),
        ("classes = 1", "'classes' must be a list"),
        ("kind = 'a=text'", "'kind' must be a table"),
        ("label_rate = 0.1\nlabel-rate = 0.2", "'label_rate' twice"),
    ],
)
def test_a_wrong_file_is_an_error_and_nothing_is_made(stream, store, config, text, message):
    config.write_text(text)
    error = everlearn(
        "run", stream, "--store", store, "--config", config, code=2, env={"COLUMNS": "300"}
    ).stderr
    assert message in error
    assert not store.exists()


def test_a_file_that_does_not_exist(stream, store):
    error = everlearn("run", stream, "--store", store, "--config", "no.toml", code=2).stderr
    assert "'no.toml': No such file" in error


def test_the_config_is_no_output(stream, config):
    assert "choose another file" in failed("run", stream, "--store", config, "--config", config)
    assert config.read_text() == CONFIG
