"""The screens in the documentation are what the commands print.

A screen is a code block whose first line is "$ everlearn ...". Long lines are wrapped as a terminal would; a
line "..." stands for any lines. The files are made here.
"""

import re
import shlex
import textwrap
from pathlib import Path

import pytest

from cli.cli_helpers import everlearn
from cli.test_bad_rows import visits
from read.real_files import real_files

PAGE = Path(__file__).parents[2] / "docs" / "reading-files.md"
SCREENS = re.findall(
    r"^```\n\$ everlearn (.+)\n((?:(?!```).*\n)*)```$", PAGE.read_text("utf-8"), re.MULTILINE
)
WIDTH = 120


def write_bank(folder):
    """The bank export, and a longer one in which 12 rows of the last lines have no amount."""
    export = next(file.data for file in real_files() if file.name == "bank.csv")
    (folder / "bank.csv").write_bytes(export)
    header, *rows = export.splitlines(keepends=True)
    amount = re.compile(rb";[^;]*;")
    later = [amount.sub(b";k. A.;", row, count=1) if 45 <= i < 57 else row for i, row in enumerate(rows)]
    (folder / "january.csv").write_bytes(header + b"".join([*(rows * 17), *later]))


def write_tickets(folder):
    """Sixty tickets for three teams."""
    topics = ("my invoice shows the wrong amount", "the app crashes when I log in", "where is my parcel now")
    teams = ("billing", "support", "shipping")
    lines = [f"please help {topics[i % 3]} since day {i},{teams[i % 3]}" for i in range(60)]
    (folder / "tickets.csv").write_text("\n".join(["body,team", *lines]) + "\n")


def wrapped(output):
    lines = [line.rstrip() for line in output.rstrip("\n").splitlines()]
    return [part for line in lines for part in (textwrap.wrap(line, WIDTH) if len(line) > WIDTH else [line])]


def test_the_page_has_screens():
    assert [shlex.split(command)[0] for command, _ in SCREENS] == ["schema", "run", "run", "schema"]


@pytest.mark.parametrize(("command", "screen"), SCREENS, ids=[command for command, _ in SCREENS])
def test_screen(command, screen, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_bank(tmp_path)
    write_tickets(tmp_path)
    visits(tmp_path / "visits.csv")
    printed = wrapped(everlearn(*shlex.split(command), code=1 if "\nError: " in f"\n{screen}" else 0).output)
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in screen.splitlines()
    )
    text = "\n".join(printed) + "\n"
    assert re.fullmatch(pattern, text), f"The page should have:\n{text}"
