"""`everlearn report`."""

from cli.cli_helpers import everlearn, learn


def test_report(stream, store, tmp_path):
    learn(stream, store)
    page = tmp_path / "r.html"
    everlearn("report", store, "--out", page, "--title", "Fraud & co")
    assert "Fraud &amp; co" in page.read_text()
