"""`everlearn run` again: after a crash, on a file that has grown, on other files."""

import pytest

from cli.cli_helpers import as_csv, ask_the_file, learn, payments, status_of, write_csv
from everlearn.cli import _oracle


@pytest.mark.parametrize("delay", [0, 2])
def test_a_run_that_was_killed_goes_on_as_if_it_had_not_been(stream, tmp_path, monkeypatch, delay):
    whole, broken = tmp_path / "whole.everlearn", tmp_path / "broken.everlearn"
    ask_the_file(stream, whole, "--label-delay", delay)
    answer, calls = _oracle.Oracle.answer, []

    def die(self, learner, by="oracle"):
        calls.append(0)
        if len(calls) == 4:
            raise KeyboardInterrupt  # the rows of the third block are stored, and nothing is answered
        return answer(self, learner, by)

    with monkeypatch.context() as patch:
        patch.setattr(_oracle.Oracle, "answer", die)
        ask_the_file(stream, broken, "--label-delay", delay)
    assert status_of(broken)["rows"] == 300
    out = ask_the_file(stream, broken, "--label-delay", delay)
    assert "300 rows" in out.stderr
    assert "already in the store" in out.stderr
    assert status_of(broken) == status_of(whole)


def test_the_same_command_again_adds_nothing(stream, store):
    learn(stream, store)
    before = status_of(store)
    assert "600 rows" in learn(stream, store).stderr
    assert status_of(store) == before


def test_a_limit_counts_rows_of_earlier_runs(stream, store, tmp_path):
    learn(stream, store, "--limit", 150)
    assert status_of(store)["rows"] == 150
    learn(stream, store, "--limit", 150)
    assert status_of(store)["rows"] == 150
    learn(stream, store)
    assert status_of(store)["rows"] == 600


def test_a_file_that_has_grown_is_read_on(tmp_path, store):
    rows = payments(500)
    path = write_csv(tmp_path / "s.csv", rows[:200])
    learn(path, store)
    write_csv(path, rows)
    learn(path, store)
    assert status_of(store)["rows"] == 500


def test_another_file_under_the_same_name_is_new(tmp_path, store):
    path = write_csv(tmp_path / "s.csv", payments(200))
    learn(path, store)
    write_csv(path, [(f"new{i}", *row[1:]) for i, row in enumerate(payments(100, seed=1))])
    assert "has changed since it was last read" in learn(path, store).stderr
    assert status_of(store)["rows"] == 300


def test_two_files_by_turns(tmp_path, store):
    rows = payments(600)
    a, b = write_csv(tmp_path / "a.csv", rows[:300]), write_csv(tmp_path / "b.csv", rows[300:])
    for path, limit, expected in ((a, 100, 100), (b, 50, 150), (a, 300, 350), (b, 300, 600), (a, 300, 600)):
        learn(path, store, "--limit", limit)
        assert status_of(store)["rows"] == expected
    starts = [source["first_row"] for source in status_of(store)["run"]["sources"]]
    assert starts == [0, 100, 150, 350, 600]


def test_files_that_overlap(tmp_path, store):
    rows = payments(400)
    a, b = write_csv(tmp_path / "a.csv", rows[:250]), write_csv(tmp_path / "b.csv", rows[150:])
    learn(a, store)
    error = learn(b, store, code=1).stderr
    assert "'p150'" in error
    assert "--duplicate-ids skip" in error
    assert "100 duplicate rows skipped" in learn(b, store, "--duplicate-ids", "skip").stderr
    assert status_of(store)["rows"] == 400
    learn(b, store, "--duplicate-ids", "skip")
    assert status_of(store)["rows"] == 400


def test_standard_input_is_always_new(store):
    rows = payments(300)
    learn("-", store, input=as_csv(rows[:200]))
    assert "200 rows from other sources" in learn("-", store, input=as_csv(rows[200:])).stderr
    assert status_of(store)["rows"] == 300
    learn("-", store, "--skip-rows", 300, input=as_csv(rows))
    assert status_of(store)["rows"] == 300
