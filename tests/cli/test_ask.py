"""Questions at the terminal."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from cli.cli_helpers import everlearn, payments, status_of, write_csv
from everlearn.cli._question_session import label_keys, parse_label, selected, shortened
from everlearn.read import Schema
from everlearn.stream import NeverEndingLearner
from everlearn.stream.row_fields import ShownField, row_fields


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
    assert re.search(rf"amount +{row[1]}\b", out)
    assert re.search(rf"shop +{row[2]}\n", out)
    assert re.search(r"why +\w+", out)
    assert re.search(r"prediction +(ham|spam) \d+ % \((ham|spam) \d+ %\)", out)
    assert "is_fraud" not in out  # the label field is what is asked for
    assert "prediction" not in everlearn("ask", store, "--blind", input="q\n").stdout
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


TICKETS = ("my order never arrived\nplease refund", "I cannot log in, the code is wrong")


@pytest.fixture
def tickets(tmp_path):
    """A store of tickets with text, a link, an image and an ignored field; and its file."""
    path, store = tmp_path / "tickets.jsonl", tmp_path / "t.everlearn"
    rows = [
        {
            "id": f"t{at}",
            "note": f"{TICKETS[at % 2]} (case {at})",
            "amount": 20.0 + at % 7 if at != 150 else 9999.0,
            "country": "DE" if at != 160 else "MT",
            "page": f"https://shop.example/{at}",
            "photo": "cat.png",
            "user": {"age": 30 + at % 9},
            "topic": ("refund", "login")[at % 2] if at < 100 else None,
        }
        for at in range(200)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "cat.png").write_bytes(b"")
    options = ("--label", "topic", "--id", "id", "--kind", "country=categorical", "--random-state", 0)
    everlearn("run", path, "--store", store, *options, "--label-rate", 0.05)
    return path, store


def test_the_text_itself_is_shown_from_the_source_that_the_store_remembers(tickets):
    path, store = tickets
    out = ask(store, "?", n=1)
    at = int(asked_rows(out)[0][1:])
    lines = re.sub(" +", " ", out)
    first, second = TICKETS[at % 2].split("\n") if at % 2 == 0 else (TICKETS[1], "")
    assert f"\n note {first}" in lines
    assert not second or f"\n {second} (case {at})\n" in lines  # the second line of a text is below the first
    assert f"\n page https://shop.example/{at}\n" in lines
    assert f" photo cat.png {(path.parent / 'cat.png').as_uri()}\n" in lines
    assert f"\n user.age {30 + at % 9}\n" in lines
    assert "#" not in out  # no hashed column


def test_without_its_source_a_row_is_shown_from_the_store(tickets):
    path, store = tickets
    path.unlink()
    out = ask(store, "?", n=1)
    at = int(asked_rows(out)[0][1:])
    assert re.search(r"tickets.jsonl cannot be read: .*No such file", out)
    assert re.search(r"note +\(not kept in the store: use --source FILE\)", out)
    assert re.search(rf"amount +{20 + at % 7}\b", out)


def test_unusual_values_are_marked(tickets):
    with NeverEndingLearner.open(tickets[1], read_only=True) as learner:
        schema = Schema.from_state(learner.status()["schema"])

        def remarks(name):
            fields = row_fields(learner, learner.rows([name]), schema, {})
            return {field.name: field.remark for field in fields if field.remark}

        assert remarks("t150") == {"amount": "the highest so far"}
        assert remarks("t160") == {"country": "rare: 1 of 200 rows"}
        assert remarks("t151") == {}


def test_similar_labeled_rows_are_shown_on_request(tickets):
    out = ask(tickets[1], "s", "q", n=1)
    number = int(asked_rows(out)[0][1:])
    similar = re.findall(r"labeled (\w+)  row t(\d+), distance", out)
    assert len(similar) == 3
    assert {label for label, _ in similar} == {("refund", "login")[number % 2]}
    assert all(f"(case {at})" in out for _, at in similar)  # with their text
    assert "0 answered" in out


def test_rows_without_ids_are_found_by_their_position(tmp_path):
    store, files = tmp_path / "x.everlearn", []
    for at in range(2):
        files.append(tmp_path / f"{at}.csv")
        files[at].write_text(
            "a,b,n\n" + "".join(f"{at}.{row},{row % 3},name {row}\n" for row in range(100, 150))
        )
        everlearn("run", files[at], "--store", store, "--label-rate", 0.1, "--kind", "n=ignore")
    out = everlearn("ask", store, "-n", 10, input="?\n" * 10).stdout
    rows = [int(name) for name in asked_rows(out)]
    assert min(rows) < 50 <= max(rows)  # from both files
    assert re.findall(r"n +name (\d+)", out) == [str(100 + row % 50) for row in rows]
    out = everlearn("ask", store, "-n", 10, "--source", files[1], input="?\n" * 10).stdout
    assert re.findall(r"n +name (\d+)", out) == [str(100 + row % 50) for row in rows if row >= 50]
    assert "leave out --source" in everlearn("ask", store, "--source", store, code=1).stderr
    files[1].write_text("a,b,n\n" + "".join(f"7.{row},1,other\n" for row in range(50)))
    assert "other" not in everlearn("ask", store, "-n", 10, input="?\n" * 10).stdout  # another row by now


def test_q_quits_everywhere(store):
    assert "1 answered" in ask(store, "spam", "eggs", "q")  # asked whether to add the class
    assert "1 answered" in ask(store, "ham", "q", n=1)  # after the last question
    assert "0 answered" in ask(store, "+", "q")


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


def test_a_key_for_each_class():
    assert label_keys(["ham", "spam"]) == {"1": "ham", "2": "spam"}
    assert label_keys([0, 1]) == {"0": 0, "1": 1}
    assert label_keys(["n", "y"]) == {"n": "n", "y": "y"}
    assert label_keys(["q", "u"]) == {"1": "q", "2": "u"}  # keys of commands
    many = label_keys([f"c{at}" for at in range(30)])
    assert len(many) == 30
    assert not {"q", "u", "s"} & set(many)
    assert label_keys([f"c{at}" for at in range(60)]) is None
    assert label_keys([]) is None


def test_what_is_too_much_to_show():
    assert shortened("x" * 1005) == "x" * 1000 + "... (5 more characters)"
    fields = [ShownField(f"f{at}", "1", "the highest so far" if at == 99 else "") for at in range(100)]
    shown = selected(fields)
    assert [field.name for field in shown] == [*(f"f{at}" for at in range(29)), "f99"]


def test_at_a_real_terminal(store):
    terminal, theirs = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    command = [sys.executable, "-m", "everlearn.cli", "ask", str(store), "-n", "2"]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, preexec_fn=own_terminal
    )
    os.close(theirs)
    screen, sent, answers = "", 0, ["2", "u", "2", "\x03"]  # single keys; the last is Ctrl-C
    end = time.monotonic() + 240
    try:
        while time.monotonic() < end:
            if not select.select([terminal], [], [], 5)[0]:
                # Ctrl-C between the prompt and the waiting for a key is seen with the next key: it is sent
                # again if nothing came of it. A busy machine may take as long to begin, or to end.
                if sent == len(answers) and screen.count("quit > ") >= sent and " answered, " not in screen:
                    os.write(terminal, b"\x03")
                continue
            try:
                screen += os.read(terminal, 65536).decode()
            except OSError:  # the terminal is gone with the process
                break
            if screen.count("quit > ") > sent and sent < len(answers):
                os.write(terminal, answers[sent].encode())
                sent += 1
    finally:
        os.close(terminal)
        if sent < len(answers):
            process.kill()
    code = process.wait(timeout=240)
    assert code == 130, screen
    assert "Withdrew the answer" in screen
    assert "1 answered, 11 open" in screen
    assert "Traceback" not in screen
    assert [label for _, label, _ in labels_by_person(store)] == ["spam", "spam"]
    assert status_of(store)["labels"] == 81
