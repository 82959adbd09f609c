"""`everlearn questions`: open questions as a file that a person fills in."""

import csv

import pytest

from cli.cli_helpers import everlearn, failed, payments, status_of, write_csv


@pytest.fixture
def asked(tmp_path):
    """A store with open questions whose rows have text and a formula."""
    path, store = tmp_path / "s.csv", tmp_path / "s.everlearn"
    rows = [
        (n, a, s, h, ("ham", "spam")[y] if at < 80 else "")
        for at, (n, a, s, h, y) in enumerate(payments(200))
    ]
    path = write_csv(path, rows)
    text = path.read_text().splitlines()
    lines = [f"{text[0]},why,note"] + [
        f'{line},=1+{at},"my dear {at}, hello' + '"' for at, line in enumerate(text[1:])
    ]
    path.write_text("\n".join(lines) + "\n")
    options = ("--label", "is_fraud", "--id", "number", "--label-rate", 0.06, "--random-state", 0)
    everlearn("run", path, "--store", store, *options, "--kind", "why=ignore", "--kind", "note=text")
    return store


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_open_questions_are_written_with_their_rows(asked, tmp_path):
    before = status_of(asked)
    note = everlearn("questions", asked, "--out", tmp_path / "q.csv").stderr
    assert "Wrote 12 questions" in note
    assert "everlearn label" in note
    rows = rows_of(tmp_path / "q.csv")
    assert list(rows[0])[:5] == ["id", "answer", "prediction", "why", "unusual"]
    assert len(rows) == 12
    for row in rows:
        at = int(row["id"][1:])
        assert row["answer"] == ""
        assert row["prediction"].startswith(("ham", "spam"))
        assert row["note"] == f"my dear {at}, hello"  # the text itself
        assert row["why (field)"] == f"'=1+{at}"  # safe to open, and not taken for the reason
        assert row["amount"] == str(payments(200)[at][1])
        assert "is_fraud" not in row
    assert status_of(asked) == before


def test_more_rows_are_asked_about_and_predictions_left_out(asked, tmp_path):
    everlearn("questions", asked, "-n", 15, "--blind", "--raw", "--out", tmp_path / "q.csv", "-q")
    rows = rows_of(tmp_path / "q.csv")
    assert len(rows) == 15
    assert "prediction" not in rows[0]
    assert rows[0]["why (field)"].startswith("=1+")
    assert status_of(asked)["open_questions"] == 15


def test_no_question_is_no_error(tmp_path):
    path, store = write_csv(tmp_path / "s.csv", payments(50)), tmp_path / "x.everlearn"
    everlearn("run", path, "--store", store, "--label", "is_fraud", "--id", "number")
    result = everlearn("questions", store)
    assert result.stdout == "id,answer,prediction,why,unusual\n"
    assert "No open questions" in result.stderr


def test_the_store_is_not_overwritten(asked):
    assert "choose another file" in failed("questions", asked, "--out", asked)
