"""The journal: a label that was given survives the process."""

import json
import subprocess
import sys

import numpy as np
import pytest

from everlearn.errors import FileFormatError
from everlearn.query._journal import Journal
from everlearn.query._run_checks import digest
from query.query_helpers import Notes
from query.test_active import loop
from svm.lasvm_helpers import two_clouds

KILLED = """
import os, sys
import numpy as np
from everlearn import LASVM, ActiveLearner, query

X, y = np.load(sys.argv[1]), np.load(sys.argv[2])
asked = 0

def oracle(numbers, rows):
    global asked
    asked += 1
    if asked == 14:
        os.kill(os.getpid(), 9)
    return y[numbers]

loop = ActiveLearner(LASVM(C=5, gamma=0.5), query.Margin(random_state=0), random_state=0)
loop.run(X, oracle, classes=[0, 1], journal=sys.argv[3])
"""


def header_of(X):
    return {"everlearn": "labels", "rows": len(X), "features": X.shape[1], "digest": digest(X, len(X))}


def test_a_killed_process_loses_no_label(tmp_path):
    X, y = two_clouds(200)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    journal = tmp_path / "labels.jsonl"
    files = [tmp_path / "X.npy", tmp_path / "y.npy", journal]
    ended = subprocess.run([sys.executable, "-c", KILLED, *map(str, files)], check=False)
    assert ended.returncode == -9
    notes = Notes(y)
    run = loop().run(X, notes, 10, classes=[0, 1], journal=journal)
    assert len(run.history) == 23
    assert [r["chosen_by"] for r in run.history[:13]] == ["journal"] * 13
    whole = loop().run(X, y, 23)
    assert [r["row"] for r in run.history] == [r["row"] for r in whole.history]
    assert notes.numbers == [r["row"] for r in whole.history[13:]]
    np.testing.assert_array_equal(run.estimator.decision_function(X), whole.estimator.decision_function(X))


def test_every_answer_is_a_line(tmp_path):
    X, y = two_clouds(30)
    run = loop().run(
        X,
        lambda n, rows: None if n[0] % 5 == 0 else y[n],
        classes=[0, 1],
        journal=tmp_path / "j",
        reask_unknown=False,
    )
    lines = [json.loads(line) for line in (tmp_path / "j").read_text().splitlines()]
    assert lines[0] == header_of(X)
    assert [line["row"] for line in lines[1:] if line["label"] is not None] == [r["row"] for r in run.history]
    assert sorted(line["row"] for line in lines[1:] if line["label"] is None) == [0, 5, 10, 15, 20, 25]


def test_a_journal_that_comes_later_gets_what_was_given(tmp_path):
    X, y = two_clouds(60)
    run = loop().run(X, y, 10).run(X, y, 5, journal=tmp_path / "j")
    again = loop().run(X, y, 1, journal=tmp_path / "j")
    assert [r["row"] for r in again.history[:15]] == [r["row"] for r in run.history]


def test_the_baseline_has_its_own(tmp_path):
    X, y = two_clouds(60)
    run = loop().run(X, y, 10, journal=tmp_path / "j", baseline="random")
    again = loop().run(X, y, 5, journal=tmp_path / "j", baseline="random")
    assert [r["row"] for r in again.baseline.history[:10]] == [r["row"] for r in run.baseline.history]
    assert len(again.baseline.history) == len(again.history) == 15


def test_a_torn_line_is_cut_off(tmp_path):
    X, y = two_clouds(60)
    journal = tmp_path / "j"
    loop().run(X, y, 10, journal=journal)
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"row": 3, "la')
    assert len(loop().run(X, y, 1, journal=journal).history) == 11
    assert journal.read_bytes().startswith(whole)
    assert all(json.loads(line) for line in journal.read_text().splitlines())


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        ("hello\n", FileFormatError, "Line 1 .* is damaged"),
        ('{"everlearn": "model"}\n', FileFormatError, "not a journal of labels"),
        ("[1]\n", FileFormatError, "not a JSON object"),
        ("my precious notes", FileFormatError, "not a journal of labels"),
        ("line one\nline two without end", FileFormatError, "Line 1 .* is damaged"),
        ('HEADER\n{"row": -1, "label": 0}\n', FileFormatError, "Line 2 .* not a row of the pool"),
        ('{"everlearn": "labels", "rows": 60, "features": 9}\n', ValueError, "with 9 features"),
        ('{"everlearn": "labels", "rows": 7, "features": 4}\n', ValueError, "pool of 7 rows"),
        ('HEADER\n{"row": 60, "label": 0}\n', FileFormatError, "Line 2 .* not a row of the pool"),
        ('HEADER\n{"row": 1, "label": 0, "x": 1}\n', FileFormatError, "Line 2"),
        ('HEADER\n{"row": 1, "label": 9}\n', ValueError, "answered 9 for row 1"),
    ],
)
def test_a_bad_file_is_refused_and_left_alone(tmp_path, content, error, words):
    X, y = two_clouds(60)
    header = json.dumps(header_of(X))
    journal = tmp_path / "j"
    journal.write_text(content.replace("HEADER", header))
    before = journal.read_bytes()
    run = loop()
    with pytest.raises(error, match=words):
        run.run(X, y, 5, journal=journal)
    assert journal.read_bytes() == before
    assert run.history == []


def test_a_journal_that_contradicts_the_loop_is_refused(tmp_path):
    X, y = two_clouds(60)
    run = loop().run(X, y, 5, initial_labels={1: int(y[1])})
    text = json.dumps(header_of(X)) + "\n" + json.dumps({"row": 1, "label": int(1 - y[1])}) + "\n"
    (tmp_path / "j").write_text(text)
    with pytest.raises(
        ValueError, match=f"The journal has the label {1 - y[1]} for row 1, but this loop already has {y[1]}"
    ):
        run.run(X, y, 5, journal=tmp_path / "j")
    assert (tmp_path / "j").read_text() == text
    assert len(run.history) == 6


def test_labels_of_other_rows_are_refused(tmp_path):
    X, y = two_clouds(60)
    loop().run(X, y, 5, journal=tmp_path / "j")
    with pytest.raises(ValueError, match="60 other rows"):
        loop().run(X[::-1], y[::-1], 5, journal=tmp_path / "j")


class FailsOnce(Journal):
    """A journal that cannot be written once."""

    left = 2

    def _append(self, line):
        self.left -= 1
        if self.left == 0:
            raise OSError(28, "No space left on device")
        super()._append(line)


def test_no_label_of_a_batch_is_lost_when_the_journal_fails(tmp_path, monkeypatch):
    X, y = two_clouds(60)
    notes = Notes(y)
    run = loop().run(X, y, 4, initial_labels=2)
    monkeypatch.setattr("everlearn.query._begin.Journal", FailsOnce)
    with pytest.raises(OSError, match="No space left"):
        run.run(X, notes, 10, batch_size=10, journal=tmp_path / "j")
    monkeypatch.undo()
    run.run(X, notes, 5, batch_size=5, journal=tmp_path / "j")
    assert len(set(notes.numbers)) == len(notes.numbers)
    assert {*notes.numbers} <= {r["row"] for r in run.history}
    written = [json.loads(line)["row"] for line in (tmp_path / "j").read_text().splitlines()[1:]]
    assert sorted(written) == sorted(r["row"] for r in run.history)


def test_parts_with_a_journal_ask_what_the_whole_asks(tmp_path):
    X, y = two_clouds(100)
    whole = loop().run(X, y, 40)
    parts = loop()
    for _ in range(4):
        parts.run(X, y, 10, journal=tmp_path / "j")
    assert [r["row"] for r in parts.history] == [r["row"] for r in whole.history]


def test_a_full_disk_loses_no_label(tmp_path):
    code = """
import resource, signal, sys
import numpy as np
from everlearn import LASVM, ActiveLearner, query

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
X, y = np.load(sys.argv[1]), np.load(sys.argv[2])
loop = ActiveLearner(LASVM(C=5, gamma=0.5), query.Margin(random_state=0), random_state=0)
asked = []

def oracle(numbers, rows):
    asked.extend(numbers.tolist())
    return y[numbers]

resource.setrlimit(resource.RLIMIT_FSIZE, (200, resource.RLIM_INFINITY))
try:
    loop.run(X, oracle, 50, classes=[0, 1], journal=sys.argv[3])
except OSError as error:
    print("full", len(loop.history))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
loop.run(X, oracle, 10, classes=[0, 1], journal=sys.argv[3])
assert len(set(asked)) == len(asked) == len(loop.history), (len(asked), len(loop.history))
print(len(open(sys.argv[3]).readlines()) - 1, len(loop.history))
"""
    X, y = two_clouds(200)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    files = [str(tmp_path / name) for name in ("X.npy", "y.npy", "j")]
    done = subprocess.run([sys.executable, "-c", code, *files], check=True, capture_output=True, text=True)
    full, counts = done.stdout.splitlines()
    assert full.startswith("full ")
    written, learned = map(int, counts.split())
    assert written == learned > 10
