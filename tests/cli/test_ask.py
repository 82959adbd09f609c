"""Questions at the terminal."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios

import numpy as np
import pytest
from scipy import sparse

from cli.cli_helpers import everlearn, payments, status_of, write_csv
from everlearn.cli._question_session import cells, parse_label
from everlearn.read import Schema
from everlearn.stream import NeverEndingLearner


@pytest.fixture
def store(tmp_path):
    """A store with 12 open questions, whose classes are strings."""
    rows = [(*row[:4], ("ham", "spam")[row[4]]) for row in payments(200)]
    rows = [(*row[:4], row[4] if at < 80 else "") for at, row in enumerate(rows)]
    path = write_csv(tmp_path / "s.csv", rows)
    store = tmp_path / "s.everlearn"
    options = ("--label", "is_fraud", "--id", "number", "--label-rate", 0.06, "--random-state", 0)
    everlearn("run", path, "--store", store, *options)
    assert status_of(store)["open_questions"] == 12
    return store


def ask(store, *typed, n=3, code=0):
    return everlearn("ask", store, "-n", n, input="".join(f"{line}\n" for line in typed), code=code).stdout


def labels_by_person(store):
    """Ids and labels given after the rows came, in order, and who gave them."""
    with NeverEndingLearner.open(store, read_only=True) as learner:
        log = learner._log
        events = [event for _, event in log.read()]
        given = [event for event in events if type(event).__name__ == "Labeled"]
        return [(log.ids_of(e.numbers)[0], e.labels.tolist()[0], e.by) for e in given]


def own_terminal():
    """Make the terminal on standard input that of this process, so that Ctrl-C reaches it."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a job in the background has it ignored


def asked_rows(out):
    return re.findall(r"Question \d+ of \d+ +row (\S+)", out)


def test_answers_by_name_and_by_number(store, monkeypatch):
    monkeypatch.setenv("USER", "ada")
    out = ask(store, "spam", "1", "HAM")
    names = asked_rows(out)
    assert labels_by_person(store) == [
        (names[0], "spam", "ada"),
        (names[1], "ham", "ada"),
        (names[2], "ham", "ada"),
    ]
    assert "3 answered, 9 open" in out
    assert status_of(store)["labels"] == 83


def test_the_row_the_reason_and_what_the_learner_thinks_are_shown(store):
    out = ask(store, "q", n=1)
    row = next(row for row in payments(200) if row[0] == asked_rows(out)[0])
    assert re.search(rf"amount +{row[1]:.6g}\n", out)
    assert re.search(rf"shop +{row[2]}\n", out)
    assert re.search(r"why +\w+", out)
    assert re.search(r"prediction +(ham|spam), f\(x\) = [+-]", out)
    assert "1: ham  2: spam" in out


def test_a_skipped_question_stays_open(store):
    assert "0 answered, 12 open" in ask(store, "?", "?", "?")
    assert labels_by_person(store) == []


def test_undo_withdraws_and_asks_again(store):
    out = ask(store, "spam", "u", "ham", "q")
    first, second, again = asked_rows(out)[:3]
    assert first == again != second
    assert labels_by_person(store)[-1][:2] == (first, "ham")
    assert status_of(store)["labels"] == 81
    assert "no answer to undo" in ask(store, "u", "q")


def test_what_was_undone_was_never_said(store):
    before = status_of(store, "events", "withdrawn")
    out = ask(store, "spam", "u", "q", n=1)  # the last one can be undone, too
    assert len(asked_rows(out)) == 2
    assert status_of(store)["withdrawn"] == 1
    assert status_of(store, "events", "withdrawn") == before


def test_undo_goes_past_skipped_questions(store):
    names = asked_rows(ask(store, "spam", "?", "u", "q"))
    assert names[3] == names[0]


def test_a_new_class_needs_a_word_of_confirmation(store):
    out = ask(store, "eggs", "n", "eggs", "y", "q")
    assert out.count("'eggs' is a new class") == 2
    assert status_of(store)["classes"] == ["eggs", "ham", "spam"]


def test_rows_as_they_stand_in_a_file(store, tmp_path):
    out = everlearn("ask", store, "-n", 2, "--source", tmp_path / "s.csv", input="?\n?\n").stdout
    lines = {line.split(",")[0]: line for line in (tmp_path / "s.csv").read_text().splitlines()}
    assert len(asked_rows(out)) == 2
    assert all(f"\n  {lines[name]}\n" in out for name in asked_rows(out))


def test_rows_without_ids_as_they_stand_in_two_files(tmp_path):
    store, files = tmp_path / "x.everlearn", []
    for at in range(2):
        files.append(tmp_path / f"{at}.csv")
        files[at].write_text("a,b\n" + "".join(f"{at}.{row},{row % 3}\n" for row in range(100, 150)))
        everlearn("run", files[at], "--store", store, "--label-rate", 0.1)
    out = everlearn("ask", store, "-n", 10, "--source", files[1], input="?\n" * 10).stdout
    rows = [int(name) for name in asked_rows(out)]
    assert min(rows) < 50 <= max(rows)  # some are from the other file, and shown by their columns
    for row in rows:
        assert (f"\n  1.{50 + row},{(50 + row) % 3}\n" in out) == (row >= 50)
    assert "leave out --source" in everlearn("ask", store, "--source", store, code=1).stderr


def test_the_end_of_the_input_ends_the_questions(store):
    assert "1 answered" in ask(store, "spam")
    assert "0 answered" in ask(store, "eggs")  # no confirmation, no class


def test_no_question_is_no_error(tmp_path):
    path, store = write_csv(tmp_path / "s.csv", payments(50)), tmp_path / "x.everlearn"
    everlearn("run", path, "--store", store, "--label", "is_fraud", "--id", "number")
    assert "No questions" in ask(store)


@pytest.mark.parametrize(
    ("typed", "classes", "expected"),
    [
        ("b", ["a", "b"], ("b", True)),
        ("2", ["a", "b"], ("b", True)),
        ("2", ["2", "1"], ("2", True)),  # a name counts before a number
        ("3", ["a", "b"], ("3", False)),
        ("1", [0, 1], (1, True)),
        ("2", [0, 1], (2, False)),  # whole numbers have no numbers
        ("-1", [-1, 1], (-1, True)),
        ("true", [False, True], (True, True)),
        ("B", ["b", "B"], ("B", True)),
        ("x", [], ("x", False)),
    ],
)
def test_what_is_parse_label(typed, classes, expected):
    assert parse_label(typed, classes, None) == expected


@pytest.mark.parametrize(("typed", "classes"), [("x", [0, 1]), ("maybe", [False, True])])
def test_what_cannot_be_parse_label(typed, classes):
    with pytest.raises(ValueError, match=typed):
        parse_label(typed, classes, None)


def test_the_first_label_has_the_kind_of_the_schema():
    schema = Schema.infer({"a": ["1", "2"], "label": ["0", "1"]}, label="label")
    assert parse_label("7", [], schema) == (7, False)


def test_a_row_in_words():
    columns = {"amount": ["3.5", "", "0"], "shop": ["A", "B", "A"], "size": ["1", "2", "3"]}
    schema = Schema.infer(columns)
    X, _ = schema.encode(columns, 3)
    assert cells(X[:1], schema) == ([("amount", "3.5"), ("shop", "A"), ("size", "1")], "")
    assert cells(X[1:2], schema)[0] == [
        ("amount", "1.75"),
        ("amount", "(missing)"),
        ("shop", "B"),
        ("size", "2"),
    ]
    assert cells(X[2:], schema) == ([("shop", "A"), ("size", "3")], "1 other column is 0")
    assert cells(sparse.csr_matrix([[0, 2.5, 0]]), None) == ([("x1", "2.5")], "2 other columns are 0")
    found, others = cells(np.ones((1, 100)), None)
    assert (len(found), others) == (30, "70 more")


def test_at_a_real_terminal(store):
    terminal, theirs = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    command = [sys.executable, "-m", "everlearn.cli", "ask", str(store), "-n", "2"]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, preexec_fn=own_terminal
    )
    os.close(theirs)
    screen, sent, answers = "", 0, ["spam", "u", "2", "\x03"]  # the last is Ctrl-C
    try:
        for _ in range(600):
            if not select.select([terminal], [], [], 2)[0]:
                if sent == len(
                    answers
                ):  # Ctrl-C between the prompt and the waiting for a line is seen with the line
                    os.write(terminal, b"\x03")
                continue
            try:
                screen += os.read(terminal, 65536).decode()
            except OSError:  # the terminal is gone with the process
                break
            if screen.count("quit > ") > sent and sent < len(answers):
                typed = answers[sent]
                os.write(terminal, typed.encode() if typed == "\x03" else f"{typed}\n".encode())
                sent += 1
    finally:
        os.close(terminal)
        if sent < len(answers):
            process.kill()
    code = process.wait(timeout=60)
    assert code == 130, screen
    assert "Withdrew the answer" in screen
    assert "1 answered, 11 open" in screen
    assert "Traceback" not in screen
    assert [label for _, label, _ in labels_by_person(store)] == ["spam", "spam"]
    assert status_of(store)["labels"] == 81
