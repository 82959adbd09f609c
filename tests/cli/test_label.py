"""`everlearn label`: answers from a file, all or none."""

import json

import pytest

from cli.cli_helpers import everlearn, failed, payments, ran, status_of, write_csv
from everlearn.stream import NeverEndingLearner


@pytest.fixture
def store(tmp_path):
    """A store whose last 120 rows have no label."""
    rows = [
        (n, a, s, h, ("ham", "spam")[y] if at < 80 else "")
        for at, (n, a, s, h, y) in enumerate(payments(200))
    ]
    path, store = write_csv(tmp_path / "s.csv", rows), tmp_path / "s.everlearn"
    everlearn(
        "run", path, "--store", store, "--label", "is_fraud", "--id", "number", "--random-state", 0, "-q"
    )
    return store


def answers_of(store, *ids):
    with NeverEndingLearner.open(store, read_only=True) as learner:
        found = learner.answers(list(ids))
    return [(row, answer.by, answer.label, answer.weight) for row in ids for answer in found[row]]


def test_a_filled_in_file_is_learned(store, tmp_path):
    everlearn("questions", store, "-n", 5, "--out", tmp_path / "q.csv")
    lines = (tmp_path / "q.csv").read_text().splitlines()
    names = [line.split(",")[0] for line in lines[1:]]
    for at in (1, 3):
        lines[at] = lines[at].replace(",,", ",SPAM,", 1)
    (tmp_path / "a.csv").write_text("\n".join(lines))
    out = ran("label", store, tmp_path / "a.csv", "--by", "Ada")
    assert out == "2 answers by Ada learned; 3 rows without an answer. 3 open.\n"
    assert answers_of(store, names[0], names[2]) == [
        (names[0], "Ada", "spam", 1),
        (names[2], "Ada", "spam", 1),
    ]
    assert status_of(store)["labels"] == 82


def test_a_file_as_a_spreadsheet_saves_it(store, tmp_path, monkeypatch):
    monkeypatch.setenv("USER", "ada")
    text = "ID;Answer;by;weight\np100;ham;;\np101;spam;Bob;2\np101;ham;Cem;\n"
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert "3 answers by Bob, Cem, ada learned" in ran("label", store, tmp_path / "a.csv")
    assert answers_of(store, "p100", "p101") == [
        ("p100", "ada", "ham", 1),
        ("p101", "Bob", "spam", 2),
        ("p101", "Cem", "ham", 1),
    ]
    shown = ran("status", store)
    assert "p101            Bob: spam (weight 2), Cem: ham   spam" in shown
    found = json.loads(ran("status", store, "--json"))["disagreements"]
    assert [(row["id"], len(row["answers"])) for row in found] == [("p101", 2)]


@pytest.mark.parametrize(
    ("lines", "messages"),
    [
        (["p100,ham", "p900,ham"], ["line 3: no row with the id 'p900'"]),
        (["p100,ham", "p101,hm"], ["line 3: 'hm' is no known class (ham, spam)", "--new-classes"]),
        (["p100,ham", "p100,spam"], ["line 3: Ada has answered for 'p100' in line 2 already"]),
        (["p100,ham", ",spam"], ["line 3: no id"]),
        (["p100,ham", "p101,2"], ["'2' is no known class"]),  # a number is no name
        (["p100,ham"] + [f"x{at},ham" for at in range(9)], ["9 wrong rows", "line 7", "and 4 more"]),
    ],
)
def test_one_wrong_row_and_nothing_is_learned(store, tmp_path, lines, messages):
    before = status_of(store)
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["id,answer", *lines]) + "\n")
    error = failed("label", store, path, "--by", "Ada")
    assert "nothing was learned" in error
    assert all(message in error for message in messages)
    assert status_of(store) == before


def test_columns_by_name_new_classes_and_a_dry_run(store, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"number": "p100", "verdict": "eggs"}\n{"number": "p101", "verdict": null}\n')
    assert "has no column 'answer' or 'label' or 'is_fraud'" in failed("label", store, path)
    options = ("--answer", "verdict", "--new-classes", "--by", "Ada")
    before = status_of(store)
    assert "1 answer by Ada checked, nothing was learned" in ran("label", store, path, *options, "--dry-run")
    assert status_of(store) == before
    ran("label", store, path, *options)
    assert status_of(store)["classes"] == ["eggs", "ham", "spam"]


def test_whole_numbers_as_pandas_writes_them(tmp_path):
    rows = [(n, a, s, h, y if at < 80 else "") for at, (n, a, s, h, y) in enumerate(payments(200))]
    path, store = write_csv(tmp_path / "s.csv", rows), tmp_path / "s.everlearn"
    everlearn("run", path, "--store", store, "--label", "is_fraud", "--id", "number", "-q")
    (tmp_path / "a.csv").write_text("id,answer\np100,1.0\np101,\np102,0.0\n")
    ran("label", store, tmp_path / "a.csv")
    assert [label for _, _, label, _ in answers_of(store, "p100", "p102")] == [1, 0]


def test_files_without_rows_or_of_another_kind(store, tmp_path):
    (tmp_path / "a.csv").write_text("id,answer\n")
    assert "has no rows" in failed("label", store, tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("id,answer\np100\n")
    assert "wrong number of fields" in failed("label", store, tmp_path / "b.csv")
    assert "No such file" in failed("label", store, tmp_path / "c.csv")
