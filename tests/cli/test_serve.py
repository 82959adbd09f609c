"""Options of `everlearn serve`; the service as a process is in tests/serve/test_process.py."""

import pytest
from typer.testing import CliRunner

from everlearn.cli import app


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--overlap", "x"], "2:0.1"),
        (["--overlap", "2:3"], "2:0.1"),
        (["--root-path", "labels"], "slash"),
        (["--token", "short"], "32 printable"),
        (["--log-level", "loud"], "debug"),
    ],
)
def test_bad_options(tmp_path, options, message):
    done = CliRunner().invoke(app, ["serve", str(tmp_path / "s.everlearn"), "--port", "0", *options])
    assert done.exit_code in (1, 2)
    assert message in " ".join(done.stderr.split())
