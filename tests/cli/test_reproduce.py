"""`everlearn reproduce`."""

from typer.testing import CliRunner

from cli.cli_helpers import everlearn
from everlearn.cli import _checkout, app


def test_claims_of_a_checkout_are_listed(capfd):
    everlearn("reproduce", "list", "--document", "mitra")
    out = capfd.readouterr().out
    assert "mitra-table-1" in out
    assert "3 claims:" in out


def test_the_exit_code_is_that_of_the_laboratory():
    everlearn("reproduce", "list", "nonsense", code=2)


def test_without_a_checkout_the_message_says_what_to_do(monkeypatch):
    monkeypatch.setattr(_checkout, "find_checkout", lambda: None)
    refused = CliRunner().invoke(app, ["reproduce", "list"])
    assert refused.exit_code == 1
    assert "source checkout" in refused.stderr
    assert "pip install -e" in refused.stderr


def test_a_checkout_is_found_from_a_folder_inside(monkeypatch, tmp_path):
    monkeypatch.setattr(_checkout, "__file__", str(tmp_path / "a" / "b" / "c" / "d.py"))
    monkeypatch.chdir(tmp_path)
    assert _checkout.find_checkout() is None
    (tmp_path / "clone" / "benchmarks" / "deep").mkdir(parents=True)
    (tmp_path / "clone" / "benchmarks" / "reproduce.py").touch()
    monkeypatch.chdir(tmp_path / "clone" / "benchmarks" / "deep")
    assert _checkout.find_checkout() == tmp_path / "clone"
    assert _checkout.benchmarks() == []
