"""`everlearn run`: labels, oracles, learners, settings, formats, bad rows."""

import json
import re

import numpy as np
import pytest

import everlearn as package
from cli.cli_helpers import FIELDS, RUN, ask_the_file, everlearn, learn, payments, status_of, write_csv
from everlearn.cli._arguments import learners
from everlearn.read import open_source
from everlearn.stream import NeverEndingLearner


def by_hand(path, step, **settings):
    """What the library makes of the same stream."""
    source = open_source(path, label="is_fraud", id="number", batch_size=100, infer_rows=100)
    scaled = source.schema.scale_features
    with NeverEndingLearner.open(":memory:", scale_features=scaled, random_state=0, **settings) as learner:
        for batch in source:
            step(learner, batch)
        return learner.status()


SAME = ("rows", "labels", "asked", "open_questions", "support_vectors", "kept_rows", "classes")


def test_labels_in_the_file_come_with_the_rows(stream, store):
    out = learn(stream, store)
    mine = by_hand(stream, lambda learner, batch: learner.step(batch.X, batch.y, ids=batch.ids))
    theirs = status_of(store)
    assert [theirs[name] for name in SAME] == [mine[name] for name in SAME]
    assert theirs["scores"]["total"]["accuracy"] == mine["scores"]["total"]["accuracy"]
    assert theirs["labels"] == 600
    assert re.search(r"rows +600", out.stdout)


def test_a_file_in_one_batch_has_no_accuracy_and_says_why(stream, store, tmp_path):
    assert "No accuracy yet" not in learn(stream, store).stderr
    whole = learn(stream, tmp_path / "whole.everlearn", "--batch-size", 1000)
    assert "start a new store with smaller batches (--batch-size 50)" in " ".join(whole.stderr.split())
    assert "accuracy" not in everlearn("status", tmp_path / "whole.everlearn").stdout  # no table without rows


def test_an_oracle_answers_only_what_is_asked(stream, store):
    truth = {row[0]: row[-1] for row in payments(600)}

    def step(learner, batch):
        asked = [question.id for question in learner.step(batch.X, ids=batch.ids).questions]
        learner.label(asked, [truth[name] for name in asked])

    ask_the_file(stream, store)
    mine, theirs = by_hand(stream, step, label_rate=0.1), status_of(store)
    assert [theirs[name] for name in SAME] == [mine[name] for name in SAME]
    assert theirs["labels"] == theirs["asked"] == 60


def test_an_oracle_may_be_late(stream, store):
    ask_the_file(stream, store, "--label-delay", 2)
    found = status_of(store)
    assert found["asked"] == 60
    assert (found["labels"], found["open_questions"]) == (40, 20)  # those of the last two blocks are open


def test_quiet_says_nothing(stream, store):
    assert learn(stream, store, "--quiet").output == ""


def test_learner_and_parameters_by_name(stream, store):
    options = ("--learner", "onlinesvmr", "--param", "C=3", "--param", "gamma=0.25")
    learn(stream, store, *options)
    assert status_of(store)["learner"].startswith("OnlineSVMR(C=3, gamma=0.25")
    learn(stream, store, *options)  # the same once more is no other learner
    assert "was created with learner=OnlineSVMR" in learn(stream, store, "--learner", "lasvm", code=1).stderr


def test_every_learner_that_is_offered_is_exported():
    assert {"LASVM", "KOIL", "RBP"} <= set(learners()) <= set(package.__all__)


def test_settings_reach_the_store(stream, store):
    learn(
        stream,
        store,
        "--query-strategy",
        "none",
        "--memory-rows",
        77,
        "--drift",
        "ddm:restart",
        "--label-budget",
        5,
    )
    with NeverEndingLearner.open(store) as learner:
        kept = learner._settings
        assert (kept.query_strategy, kept.memory_rows, kept.drift.policy, kept.label_budget) == (
            None,
            77,
            "restart",
            5,
        )


def test_settings_that_differ_are_refused_and_not_ignored(stream, store):
    ask_the_file(stream, store)
    message = ask_the_file(stream, store, "--memory-rows", 10, code=1).stderr
    assert "--memory-rows 5000, not 10" in message
    assert "leave out the option" in message


def test_settings_are_refused_for_a_store_that_was_made_otherwise(stream, store):
    with NeverEndingLearner.open(store, random_state=0) as learner:
        learner.step(np.zeros((3, 5)))
    assert "leave out --random-state" in learn(stream, store, code=1).stderr


def test_a_run_that_fails_early_leaves_no_store_and_fixes_no_settings(stream, store):
    ask_the_file(stream, store, "--label-budget", 7, "--skip-rows", 601, code=1)
    assert not list(store.parent.glob(f"{store.name}*"))
    ask_the_file(stream, store, "--label-budget", 8)
    assert "--label-budget 8, not 7" in ask_the_file(stream, store, "--label-budget", 7, code=1).stderr
    assert (status_of(store)["rows"], status_of(store)["asked"]) == (600, 8)


def test_bad_rows_are_set_aside_and_told(tmp_path, store):
    rows = payments(300)
    rows[120] = ("p120", "many", *rows[120][2:])
    quarantine = tmp_path / "bad.jsonl"
    source = write_csv(tmp_path / "s.csv", rows)
    out = learn(source, store, "--quarantine", quarantine)
    assert "1 bad row skipped (first in line 122)" in out.stderr
    assert "See " in out.stderr
    assert json.loads(quarantine.read_text())["line"] == 122
    assert status_of(store)["rows"] == 299
    again = learn(source, store, "--quarantine", tmp_path / "other.jsonl")  # the row was skipped before
    assert "Nothing was written to" in again.stderr
    assert not (tmp_path / "other.jsonl").exists()


@pytest.mark.parametrize("format", ["jsonl", "libsvm", "parquet"])
def test_other_formats(tmp_path, store, format):
    rows, path = payments(200), tmp_path / f"s.{format}"
    if format == "jsonl":
        path.write_text("".join(json.dumps(dict(zip(FIELDS, row, strict=True))) + "\n" for row in rows))
        options = ("--oracle", "is_fraud")
    elif format == "libsvm":
        path.write_text("".join(f"{row[4]} 1:{row[1]} 2:{row[3]}\n" for row in rows))
        options = ("--oracle", "label")
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = zip(FIELDS, zip(*rows, strict=True), strict=True)
        pq.write_table(pa.table({name: list(cells) for name, cells in columns}), path)
        options = ("--oracle", "is_fraud")
    everlearn("run", path, "--store", store, *options, "--label-rate", 0.2, *RUN)
    assert status_of(store)["labels"] == 40


def test_a_row_that_cannot_be_learned_is_told_with_its_place(tmp_path, store):
    rows = payments(300)
    bad = [*rows[:150], (rows[0][0], *rows[150][1:]), *rows[151:]]  # an id that has come before
    path = write_csv(tmp_path / "s.csv", bad)
    error = learn(path, store, code=1).stderr
    assert "starts in line 102" in error
    assert "--skip-rows 100" in error
    write_csv(path, rows)
    learn(path, store, "--skip-rows", 100)
    assert status_of(store)["rows"] == 300


def test_a_number_too_large_to_be_squared_is_set_aside(tmp_path, store):
    rows = payments(300)
    path = write_csv(tmp_path / "s.csv", [*rows[:150], ("p150", 1e200, *rows[150][2:]), *rows[151:]])
    assert "1 bad row skipped (first in line 152): field 'amount': infinite" in learn(path, store).stderr
    assert status_of(store)["rows"] == 299


def test_an_empty_source_says_so(tmp_path, store):
    path = tmp_path / "empty.csv"
    path.write_text("")
    assert "is empty" in everlearn("run", path, "--store", store, code=1).stderr
