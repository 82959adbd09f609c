"""What text from data does at a terminal, and in a spreadsheet: nothing."""

import ast
import contextlib
import csv
import io
import json
import os
import pty
import re
import select
import subprocess
import sys
import unicodedata
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import everlearn.cli
from cli.cli_helpers import everlearn as call
from cli.cli_helpers import payments, write_csv
from everlearn.cli._console import SafeConsole, notice, paragraph, show, styled
from everlearn.cli._csv_output import for_spreadsheet, from_spreadsheet
from everlearn.cli._question_session import parse_label
from everlearn.cli._run_record import RunRecord
from everlearn.cli._tables import print_schema, print_status
from everlearn.read import Schema, open_source
from everlearn.stream import NeverEndingLearner

# Clears the screen, rings, turns the direction, hides, begins a C1 sequence, deletes, and is markup.
EVIL = "\x1b[2J\x07\u202e\u200b\x9b1m\x7f[red]"
SEEN = r"\x1b[2J\x07\u202e\u200b\x9b1m\x7f[red]"


def acts(text):
    """The characters of an output that act on a terminal or cannot be seen."""
    return {c for c in text.replace("\n", "") if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A source with evil names everywhere, and its store with open questions."""
    folder = tmp_path_factory.mktemp("evil")
    source, store = folder / "s\x1b[31m.csv", folder / "S\u202e"
    lines = [f"number,amount,shop{EVIL},hour,label{EVIL}"]
    for at, (name, amount, shop, hour, fraud) in enumerate(payments(150)):
        label = f"{('ham', 'spam')[fraud]}{EVIL}" if at < 80 else ""
        lines.append(f"{name}{EVIL},{amount},{shop}{EVIL},{hour},{label}")
    lines.append(f"bad{EVIL}")
    source.write_text("\n".join(lines) + "\n")
    named = ("--label", f"label{EVIL}", "--id", "number", "--label-rate", 0.1, "--random-state", 0)
    out = call("run", source, "--store", store, *named)
    return source, store, out.stdout + out.stderr


def test_run(made):
    shown = made[2]
    assert f"shop{SEEN}" in shown
    assert r"S\u202e" in shown  # the command to go on with
    assert not acts(shown)


def test_ask_and_its_prompt(made):
    source, store, _ = made
    for more in ((), ("--source", source)):
        shown = call("ask", store, "-n", 1, *more, input=f"x\x1b\nn\nham{SEEN}\nu\nq\n").output
        assert f"1: ham{SEEN}  2: spam{SEEN}" in shown  # the prompt
        assert re.search(rf"row p\d+{re.escape(SEEN)}", shown)
        assert re.search(rf"(books|food|travel){re.escape(SEEN)}", shown)  # a value
        assert r"'x\x1b' is a new class" in shown
        assert re.search(rf"Withdrew the answer for row \S*{re.escape(SEEN)}", shown)
        assert not acts(shown)


def test_status_schema_and_predict(made, tmp_path):
    source, store, _ = made
    status = call("status", store).output
    assert f"ham{SEEN}, spam{SEEN}" in status
    assert r"s\x1b[31m.csv" in status
    shown = status + call("schema", source, "--out", tmp_path / "x\x1b").output
    shown += call("predict", store, source, "--out", tmp_path / "y\x9b").output
    shown += call("report", store, "--out", tmp_path / "z\u2028").output
    shown += call("export", store, tmp_path / "o\x07").output
    assert all(name in shown for name in (r"x\x1b", r"y\x9b", r"z\u2028", r"o\x07"))
    assert not acts(shown)


def test_json_has_the_same_values_and_can_be_looked_at(made):
    _, store, _ = made
    shown = call("status", store, "--json").stdout
    assert json.loads(shown)["classes"] == [f"ham{EVIL}", f"spam{EVIL}"]
    assert not acts(shown)


def test_the_report_is_harmless(made, tmp_path):
    _, store, _ = made
    call("report", store, "--out", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert not {"\x1b", "\x07", "\u202e", "\x7f", "\x9b"} & set(page)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["run", f"nowhere{EVIL}.csv", "--store", "x"], 1),
        (["run", f"nowhere{EVIL}.csv", "--store", "x", "--traceback"], 1),
        (["status", f"nowhere{EVIL}"], 1),
        (["run", "s.csv", f"s{EVIL}.csv", "--store", "x"], 2),
        (["run", "s.csv", "--store", "x", "--learner", f"x{EVIL}"], 2),
        (["run", "s.csv", "--store", "x", "--kind", f"x{EVIL}"], 2),
        (["run", "s.csv", "--store", "x", f"--{EVIL}"], 2),
        ([f"run{EVIL}"], 2),
    ],
)
def test_errors(arguments, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = call(*arguments, code=code).output
    assert r"\x1b" in shown
    assert not acts(shown)


def test_warnings_and_messages_of_several_lines(tmp_path, monkeypatch):
    path = write_csv(tmp_path / "s.csv", payments(50))

    def warn(*_, **__):
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn(f"odd {EVIL}\nError: faked", UserWarning, stacklevel=1)
        raise ValueError(f"wrong {EVIL}\nWritten: faked\u2028")

    monkeypatch.setattr("everlearn.cli._source_spec.open_source", warn)
    shown = call("run", path, "--store", tmp_path / "x", code=1).stderr
    assert f"Warning: odd {SEEN}\n  Error: faked\n" in shown
    assert f"Error: wrong {SEEN}\n  Written: faked\\u2028\n" in shown
    assert not acts(shown)


def test_files_that_people_look_at_have_escapes_and_the_same_values(tmp_path):
    path, quarantine, schema = tmp_path / "s.csv", tmp_path / "bad.jsonl", tmp_path / "schema.json"
    path.write_text(f"a{EVIL},b\n1,2\n3{EVIL}\n")
    with open_source(path, quarantine=quarantine) as source:
        assert [len(batch) for batch in source] == [1]
        source.schema.write(schema)
        assert Schema.read(schema) == source.schema
    assert json.loads(quarantine.read_text())["raw"] == f"3{EVIL}"
    assert not acts(quarantine.read_text() + schema.read_text())


def test_too_little_memory_is_one_message(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr("everlearn.cli._source_spec.open_source", fail)
    path = write_csv(tmp_path / "s.csv", payments(50))
    error = call("run", path, "--store", tmp_path / "x", code=1).stderr
    assert error == "Error: Out of memory. Use a smaller --batch-size.\n"


def test_an_error_of_the_program_itself_is_shown_safely(capsys):
    from everlearn.cli._errors import show_exception

    try:
        raise RuntimeError(f"inside {EVIL}")
    except RuntimeError as error:
        show_exception(type(error), error, error.__traceback__)
    shown = capsys.readouterr().err
    assert f"RuntimeError: inside {SEEN}" in shown
    assert not acts(shown)


def test_what_rich_adds_is_all_that_acts(made, tmp_path):
    """On a real terminal our own colors are escape sequences; those of the data are not among them."""
    _, store, _ = made
    out = io.StringIO()
    console = SafeConsole(file=out, force_terminal=True, width=500, markup=False, emoji=False)
    with NeverEndingLearner.open(store, read_only=True) as learner:
        print_status(learner.status(), RunRecord.from_notes(learner.notes), console)
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps({f"a{EVIL}": 1, "b:smile:": f"x{EVIL}"}))
    with open_source(path) as source:
        print_schema(source.schema, console, source)
    console.print(f"plain {EVIL} :smile:")
    console.print(styled(f"one {EVIL}", style="bold"), paragraph(f"two {EVIL}"), notice(f"three {EVIL}"))
    bare = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())  # colors and weights
    assert not acts(bare)
    assert bare.count(r"\x1b[2J") == 8  # two classes, a field, an example, four texts
    assert "plain" in bare
    assert ":smile:" in bare


def test_names_that_differ_in_hidden_characters_look_different():
    names = ["ham", "ham\u200b", "ham\x07", "ham\r", r"ham\x07"]
    out = io.StringIO()
    console = SafeConsole(file=out, width=80)
    for name in names:
        console.print(name)
        show(styled(name), console)
    shown = out.getvalue().splitlines()
    assert len(set(shown)) == len(names)
    assert [parse_label(name, names, None) for name in dict.fromkeys(shown)] == [(n, True) for n in names]


def test_text_reaches_a_terminal_in_one_place_only():
    """`rich.text.Text` drops some control characters before anybody can show them."""
    folder = Path(everlearn.cli.__file__).parent
    for path in sorted(folder.glob("*.py")):
        if path.name != "_console.py":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
            assert not modules & {"rich", "rich.text", "rich.markup"}, path


# ----------------------------------------------------------------------------------------------- spreadsheets


def back(cell):
    """As the help of `predict` has it."""
    return re.sub(r"^'('*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20])", r"\1", cell)


@given(st.text(st.sampled_from("'=+-@\t\r\n1.eE a\uff1d\uff0b\uff0d\uff20,;\""), max_size=6))
def test_a_cell_is_no_formula_and_can_be_read_back(text):
    cell = for_spreadsheet(text)
    assert back(cell) == from_spreadsheet(cell) == text
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", cell, re.ASCII):
        assert not cell.startswith(tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"))


@pytest.mark.parametrize("value", [-1, 0, 2.5, "-1", "+3.5e-7", "-.5", "plain", "'quoted'", "a=b", ""])
def test_numbers_and_harmless_text_stay(value):
    assert for_spreadsheet(value) == value


@pytest.mark.parametrize(
    "value", ["=1+1", "+A1", "-cmd|' /C calc'!A0", "@SUM(1)", "\tx", "\r=1", "-1,5", "'=1"]
)
def test_formulas_are_text(value):
    assert for_spreadsheet(value) == f"'{value}"


def test_predictions_are_safe_to_open_and_raw_on_request(tmp_path):
    rows = [(f'=HYPERLINK("{n}")', a, s, h, ("@yes", "-1")[y]) for n, a, s, h, y in payments(100)]
    path, store = tmp_path / "s.csv", tmp_path / "S"
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([("number", "amount", "shop", "hour", "is_fraud"), *rows])
    call("run", path, "--store", store, "--label", "is_fraud", "--id", "number", "-q")
    safe = list(csv.DictReader(io.StringIO(call("predict", store, path).stdout)))
    raw = list(csv.DictReader(io.StringIO(call("predict", store, path, "--raw").stdout)))
    assert [row["id"] for row in raw] == [row[0] for row in rows]
    assert [row["id"] for row in safe] == [f"'{row[0]}" for row in rows]
    assert {row["prediction"] for row in raw} == {"@yes", "-1"}
    assert {row["prediction"] for row in safe} == {"'@yes", "-1"}
    assert [row["score"] for row in safe] == [row["score"] for row in raw]
    assert [back(row["id"]) for row in safe] == [row["id"] for row in raw]
    assert "apostrophe" in call("predict", "--help").stdout


def test_predictions_at_a_terminal_are_shown_safely_and_in_a_pipe_exactly(made):
    source, store, _ = made
    terminal, theirs = pty.openpty()
    command = [sys.executable, "-m", "everlearn.cli", "predict", str(store), str(source), "-q"]
    process = subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    screen = b""
    with contextlib.suppress(OSError):  # closed with the process
        while select.select([terminal], [], [], 120)[0]:
            screen += os.read(terminal, 65536)
    os.close(terminal)
    assert process.wait(timeout=60) == 0
    shown = screen.decode().replace("\r\n", "\n")
    assert f"p0{SEEN}," in shown
    assert not acts(shown)
    assert f"p0{EVIL}," in call("predict", store, source).stdout
