"""Options of `everlearn serve`; the service as a process is in tests/serve/test_process.py."""

import pytest
from typer.testing import CliRunner

from everlearn.cli import app
from everlearn.cli.serve import _origin


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--overlap", "x"], "2:0.1"),
        (["--overlap", "2:3"], "2:0.1"),
        (["--root-path", "labels"], "slash"),
        (["--token", "short"], "32 printable"),
        (["--log-level", "loud"], "debug"),
        (["--ready-file", "/nowhere/at/all/ready.json"], "is not a writable folder"),
        (["--image-origin", "javascript:alert(1)"], "must have the form"),
        (["--image-origin", "http://a; script-src *"], "must have the form"),
        (["--image-origin", "http://a/path"], "must have the form"),
        (["--host", "999.1.1.1"], "cannot listen on port"),
        (["--host", "192.0.2.1"], "cannot listen on port"),
    ],
)
def test_bad_options(tmp_path, options, message):
    done = CliRunner().invoke(app, ["serve", str(tmp_path / "s.everlearn"), "--port", "0", *options])
    assert done.exit_code in (1, 2)
    assert message in " ".join(done.stderr.replace("│", " ").split())


@pytest.mark.parametrize("origin", ["http://images.local", "https://*.example.org:8443", "http://[::1]:9000"])
def test_origins_of_pictures(origin):
    assert _origin(origin) == origin


@pytest.mark.parametrize("store", ["mysql://a/b", "://"])
def test_a_database_of_another_kind(store):
    done = CliRunner().invoke(app, ["serve", store, "--port", "0"])
    assert done.exit_code == 1
    assert "a file or a PostgreSQL database" in " ".join(done.stderr.split())
