"""The screens in the documentation are what the commands print, on files that are made here.

`EVERLEARN_WRITE_SCREENS=1 python -m pytest tests/cli/test_screens.py` puts the screens into the pages, except
those that leave lines out.
"""

import csv
import os
import re
from pathlib import Path

import pytest

from cli.cli_helpers import everlearn
from cli.screen_helpers import differences, printed, rewrite, screens_of
from cli.test_bad_rows import visits
from cli.walk_files import tickets, write_articles, write_payments, write_tickets
from read.real_files import real_files

DOCS = Path(__file__).parents[2] / "docs"
READING, LABELING, WALKS = (DOCS / f"{name}.md" for name in ("reading-files", "labeling", "walkthroughs"))


def write_bank(folder):
    """The bank export, and a longer one in which 12 rows of the last lines have no amount."""
    export = next(file.data for file in real_files() if file.name == "bank.csv")
    (folder / "bank.csv").write_bytes(export)
    header, *rows = export.splitlines(keepends=True)
    amount = re.compile(rb";[^;]*;")
    later = [amount.sub(b";k. A.;", row, count=1) if 45 <= i < 57 else row for i, row in enumerate(rows)]
    (folder / "january.csv").write_bytes(header + b"".join([*(rows * 17), *later]))


def write_sixty_tickets(path):
    """Sixty tickets for three teams."""
    topics = ("my invoice shows the wrong amount", "the app crashes when I log in", "where is my parcel now")
    teams = ("billing", "support", "shipping")
    lines = [f"please help {topics[i % 3]} since day {i},{teams[i % 3]}" for i in range(60)]
    path.write_text("\n".join(["body,team", *lines]) + "\n")


def fill_in(path):
    """What a person does with a file of questions: the team of each ticket in the column "answer"."""
    teams = {row[0]: row[-1] for row in tickets()}
    with open(path, encoding="utf-8", newline="") as file:
        questions = list(csv.DictReader(file))
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, questions[0])
        writer.writeheader()
        writer.writerows(question | {"answer": teams[question["id"]]} for question in questions)


def compare(page, screen, folder, exact):
    found = printed(screen).replace(f"{folder}/", "/data/")
    if os.environ.get("EVERLEARN_WRITE_SCREENS") and "..." not in screen.text.splitlines():
        rewrite(page, screen, found)
        return
    difference = differences(screen.text, found, exact)
    assert not difference, difference


@pytest.mark.parametrize("screen", screens_of(READING), ids=lambda screen: screen.command)
def test_reading_files(screen, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_bank(tmp_path)
    write_sixty_tickets(tmp_path / "tickets.csv")
    visits(tmp_path / "visits.csv")
    compare(READING, screen, tmp_path, exact=True)


def test_answering_questions(tmp_path, monkeypatch):
    """At the fifth question of a store that knows the teams of 300 tickets."""
    monkeypatch.chdir(tmp_path)
    write_tickets(tmp_path / "solved.csv", 300)
    everlearn("run", "solved.csv", "--store", "tickets.everlearn", "--id", "ticket", "--label", "team")
    write_tickets(tmp_path / "tickets.csv", solved=False)
    everlearn("run", "tickets.csv", "--store", "tickets.everlearn", "--duplicate-ids", "skip")
    (screen,) = screens_of(LABELING)
    compare(LABELING, screen, tmp_path, exact=False)


@pytest.mark.parametrize("walk", list(dict.fromkeys(screen.heading for screen in screens_of(WALKS))))
def test_walkthrough(walk, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("USER", "ada")
    write_payments(tmp_path / "payments.csv")
    write_tickets(tmp_path / "tickets.csv", solved=False)
    write_articles(tmp_path / "articles.parquet")
    for screen in screens_of(WALKS):
        if screen.heading == walk:
            if screen.arguments[0] == "label":
                fill_in(screen.arguments[2])
            compare(WALKS, screen, tmp_path, exact=False)


def test_the_pages_have_screens():
    assert [screen.arguments[0] for screen in screens_of(READING)] == ["schema", "run", "run", "schema"]
    walked = [screen.arguments[0] for screen in screens_of(WALKS)]
    assert walked.count("report") == 3
    assert {"schema", "run", "ask", "questions", "label", "status", "predict", "export"} <= set(walked)


@pytest.mark.parametrize(
    ("shown", "found", "exact", "fits"),
    [
        ("a 1.0\n", "a 1.0\n", True, True),
        ("a 1.0\n", "a 1.1\n", True, False),
        ("a  52 %\n", "a 54 %\n", False, True),
        ("a 52 %\n", "a 75 %\n", False, False),
        ("a 52 %\n", "b 52 %\n", False, False),
        ("4,000 rows/s\n", "10 rows/s\n", False, True),
        ("...\nb\n", "a\na\nb\n", True, True),
        ("a\n...\nb\n", "a\nc\n", True, False),
    ],
)
def test_screens_are_compared(shown, found, exact, fits):
    assert (differences(shown, found, exact) == "") == fits
