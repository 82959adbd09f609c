"""Errors of `everlearn reconcile`; what it does is in tests/serve/test_label_studio.py."""

import pytest
from typer.testing import CliRunner

from everlearn.cli import app

KEYS = ["--token", "t" * 40, "--api-key", "k"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["file:///etc/passwd", "--label-studio", "http://127.0.0.1:9", "--project", "4"], "http"),
        (["http://127.0.0.1:9", "--label-studio", "http://127.0.0.1:9", "--project", "4"], "127.0.0.1:9"),
        (["http://127.0.0.1:9", "--label-studio", "http://127.0.0.1:9"], "--project"),
    ],
)
def test_addresses_and_options(options, message):
    done = CliRunner().invoke(app, ["reconcile", *options, *KEYS])
    assert done.exit_code in (1, 2)
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_keys_are_not_shown(monkeypatch):
    monkeypatch.setenv("EVERLEARN_TOKEN", "secret-of-the-service")
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", "secret-of-the-labels")
    options = ["http://127.0.0.1:9", "--label-studio", "http://127.0.0.1:9", "--project", "4"]
    done = CliRunner().invoke(app, ["reconcile", *options])
    assert done.exit_code == 1
    assert "secret" not in done.output + done.stderr
