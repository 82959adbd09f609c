"""The command line: what it reads and writes, what it remembers, how it fails."""

import csv
import io
import json
import re

import numpy as np
import pytest

import everlearn as package
from cli.cli_helpers import FIELDS, as_csv, everlearn, payments, status_of, write_csv
from everlearn.cli import _oracle
from everlearn.cli._arguments import learners
from everlearn.read import open_source
from everlearn.stream import NeverEndingLearner

COMMANDS = ("run", "ask", "predict", "status", "report", "export", "schema", "bench")
RUN = ("--batch-size", 100, "--infer-rows", 100, "--random-state", 0)


@pytest.fixture
def stream(tmp_path):
    return write_csv(tmp_path / "payments.csv", payments(600))


@pytest.fixture
def store(tmp_path):
    return tmp_path / "fraud.everlearn"


def learn(stream, store, *options, **more):
    return everlearn(
        "run", stream, "--store", store, "--label", "is_fraud", "--id", "number", *RUN, *options, **more
    )


def ask_the_file(stream, store, *options, **more):
    named = ("--oracle", "is_fraud", "--id", "number", "--label-rate", 0.1)
    return everlearn("run", stream, "--store", store, *named, *RUN, *options, **more)


def by_hand(path, step, **settings):
    """What the library makes of the same stream."""
    source = open_source(path, label="is_fraud", id="number", batch_size=100, infer_rows=100)
    scaled = source.schema.scale_features
    with NeverEndingLearner.open(":memory:", scale_features=scaled, random_state=0, **settings) as learner:
        for batch in source:
            step(learner, batch)
        return learner.status()


SAME = ("rows", "labels", "asked", "open_questions", "support_vectors", "kept_rows", "classes")


# ------------------------------------------------------------------------------------------------------- run


def test_labels_in_the_file_come_with_the_rows(stream, store):
    out = learn(stream, store)
    mine = by_hand(stream, lambda learner, batch: learner.step(batch.X, batch.y, ids=batch.ids))
    theirs = status_of(store)
    assert [theirs[name] for name in SAME] == [mine[name] for name in SAME]
    assert theirs["scores"]["total"]["accuracy"] == mine["scores"]["total"]["accuracy"]
    assert theirs["labels"] == 600
    assert re.search(r"rows +600", out.stdout)


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


def test_the_schema_is_shown_and_guesses_are_marked(stream, store):
    out = learn(stream, store).stderr
    assert re.search(r"amount +numeric \?", out)
    assert re.search(r"is_fraud +label +-", out)
    assert not any(line != line.rstrip() for line in out.splitlines())


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


def test_a_run_that_fails_early_has_fixed_its_settings(stream, store):
    ask_the_file(stream, store, "--label-budget", 7, "--skip-rows", 601, code=1)
    assert "--label-budget 7, not 8" in ask_the_file(stream, store, "--label-budget", 8, code=1).stderr
    ask_the_file(stream, store, "--label-budget", 7)
    assert (status_of(store)["rows"], status_of(store)["asked"]) == (600, 7)


def test_bad_rows_are_set_aside_and_told(tmp_path, store):
    rows = payments(300)
    rows[120] = ("p120", "many", *rows[120][2:])
    quarantine = tmp_path / "bad.jsonl"
    out = learn(write_csv(tmp_path / "s.csv", rows), store, "--quarantine", quarantine)
    assert "1 bad row skipped (first in line 122)" in out.stderr
    assert json.loads(quarantine.read_text())["line"] == 122
    assert status_of(store)["rows"] == 299


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


def test_a_schema_can_be_written_edited_and_used(stream, store, tmp_path):
    file = tmp_path / "schema.json"
    everlearn("schema", stream, "--label", "is_fraud", "--id", "number", "--out", file)
    edited = json.loads(file.read_text())
    next(field for field in edited["fields"] if field["name"] == "hour")["kind"] = "ignore"
    file.write_text(json.dumps(edited))
    everlearn("run", stream, "--store", store, "--schema", file, *RUN)
    kinds = {field["name"]: field["kind"] for field in status_of(store)["schema"]["fields"]}
    assert kinds["hour"] == "ignore"


# ----------------------------------------------------------------------------------------------------- resume


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


def test_standard_input_is_always_new(store):
    rows = payments(300)
    learn("-", store, input=as_csv(rows[:200]))
    assert "200 rows from other sources" in learn("-", store, input=as_csv(rows[200:])).stderr
    assert status_of(store)["rows"] == 300
    learn("-", store, "--skip-rows", 300, input=as_csv(rows))
    assert status_of(store)["rows"] == 300


def test_the_schema_of_the_store_is_kept(tmp_path, store):
    rows = payments(200)
    learn(write_csv(tmp_path / "a.csv", rows[:100]), store)
    only_food = [(name, amount, "food", hour, "") for name, amount, _, hour, _ in rows[100:]]
    learn(write_csv(tmp_path / "b.csv", only_food), store)
    found = status_of(store)
    assert (found["rows"], found["labels"]) == (200, 100)
    path = write_csv(tmp_path / "c.csv", rows[:100])
    message = everlearn("run", path, "--store", store, "--label", "hour", code=1).stderr
    assert "'hour' is numeric in the schema, not label" in message


# -------------------------------------------------------------------------------- predict, status, the rest


def test_predictions_are_those_of_the_learner(stream, store, tmp_path):
    learn(stream, store)
    fresh = write_csv(tmp_path / "new.csv", payments(250, seed=5))
    before = status_of(store)
    printed = everlearn("predict", store, fresh).stdout
    everlearn("predict", store, fresh, "--out", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == printed
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert [row["id"] for row in rows] == [f"p{i}" for i in range(250)]
    with NeverEndingLearner.open(store, read_only=True) as learner:
        X = next(open_source(fresh, schema=_schema(learner))).X
        assert [float(row["score"]) for row in rows] == learner.decision_function(X).tolist()
        assert [int(row["prediction"]) for row in rows] == learner.predict(X).tolist()
    assert status_of(store) == before


def _schema(learner):
    from everlearn.cli._source_spec import stored_schema

    return stored_schema(learner.status()["schema"])


def test_predictions_of_many_classes_without_ids(tmp_path, store):
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 200)
    X = random.normal(size=(200, 2)) + 3 * y[:, np.newaxis]
    lines = [f"{a},{b},{'xyz'[c]}" for (a, b), c in zip(X.tolist(), y, strict=True)]
    path = tmp_path / "s.csv"
    path.write_text("\n".join(["a,b,class", *lines]))
    everlearn("run", path, "--store", store)
    bare = tmp_path / "bare.csv"
    bare.write_text("a,b\n0,0\noops,1\n6,6\n")
    out = everlearn("predict", store, bare)
    rows = list(csv.DictReader(io.StringIO(out.stdout)))
    assert list(rows[0]) == ["row", "prediction", "score_x", "score_y", "score_z"]
    assert [(row["row"], row["prediction"]) for row in rows] == [("1", "x"), ("2", "z")]
    assert "1 bad row" in out.stderr


def test_status_is_readable_and_json_is_json(stream, store):
    learn(stream, store)
    text = everlearn("status", store).stdout
    assert re.search(r"rows +600", text)
    assert re.search(r"majority baseline, last +500", text)
    found = json.loads(everlearn("status", store, "--json").stdout, parse_constant=pytest.fail)
    assert found["rows"] == 600


def test_status_of_a_store_without_labels(stream, store):
    everlearn("run", stream, "--store", store, "--kind", "is_fraud=ignore", "--id", "number")
    found = json.loads(everlearn("status", store, "--json").stdout, parse_constant=pytest.fail)
    assert found["scores"]["window"]["accuracy"] is None
    assert "everlearn ask" in everlearn("predict", store, stream, code=1).stderr
    assert "everlearn ask" in everlearn("export", store, "x.onnx", code=1).stderr


def test_report(stream, store, tmp_path):
    learn(stream, store)
    page = tmp_path / "r.html"
    everlearn("report", store, "--out", page, "--title", "Fraud & co")
    assert "Fraud &amp; co" in page.read_text()


def test_export_takes_rows_as_they_are(stream, store, tmp_path):
    import onnxruntime

    learn(stream, store)
    model = tmp_path / "m.onnx"
    everlearn("export", store, model)
    session = onnxruntime.InferenceSession(str(model))
    with NeverEndingLearner.open(store, read_only=True) as learner:
        X = next(open_source(stream, schema=_schema(learner))).X
        scores = session.run(["scores"], {"X": X.astype(np.float32)})[0]
        np.testing.assert_allclose(scores, learner.decision_function(X), atol=1e-3)
    names = session.get_modelmeta().custom_metadata_map["everlearn.feature_names"]
    assert json.loads(names)[:2] == ["amount", "shop=travel"] or "amount" in json.loads(names)


def test_bench_times_learners_beside_a_linear_one():
    out = everlearn("bench", "--seconds", 0.5).stdout
    assert re.search(r"LASVM\(C=10\), step\(\) +[\d,]+", out)
    assert "SGDClassifier" in out
    assert "no benchmark 'nothing'" in everlearn("bench", "nothing", code=1).stderr


# ------------------------------------------------------------------------------------------------------ words


def test_version():
    assert everlearn("--version").stdout.strip() == f"everlearn {package.__version__}"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command):
    out = everlearn(command, "--help").stdout
    assert f"everlearn {command}" in out.partition("Example:")[2]


def test_all_commands_are_known():
    out = everlearn("--help").stdout
    assert all(re.search(rf"\b{command}\b", out) for command in COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "s.csv"], "--store"),
        (["run", "s.csv", "--store", "x", "--learner", "nobody"], "nobody"),
        (["run", "s.csv", "--store", "x", "--param", "C"], "C=10"),
        (["run", "s.csv", "--store", "x", "--param", "c=1"], "no parameter 'c'"),
        (["run", "s.csv", "--store", "x", "--param", "C=1", "--param", "C=2"], "twice"),
        (["run", "s.csv", "--store", "x", "--param", "max_rows=-1"], "from 2"),
        (["run", "s.csv", "--store", "x", "--learner", "LASVM", "--param", "C=-1"], "above 0"),
        (["run", "s.csv", "--store", "x", "--kind", "shop"], "zip=categorical"),
        (["run", "s.csv", "--store", "x", "--drift", "adwin:dance"], "adwin:alarm"),
        (["run", "s.csv", "--store", "x", "--query-strategy", "all"], "margin"),
        (["run", "s.csv", "--store", "x", "--label", "a", "--oracle", "b"], "must be the label field"),
        (["run", "s.csv", "--store", "x", "--batch-size", "0"], "batch-size"),
        (["dance"], "dance"),
    ],
)
def test_wrong_usage_is_2(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in everlearn(*arguments, code=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_problems_are_1_and_one_message(stream, store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments, message in (
        (["run", "nowhere.csv", "--store", "x.everlearn"], "nowhere.csv: No such file"),
        (["run", stream, "--store", "x.everlearn", "--label", "nothing"], "nothing"),
        (["run", stream, "--store", stream, "--label", "is_fraud"], "payments.csv"),
        (["run", stream, "--store", tmp_path, "--label", "is_fraud"], "is a folder"),
        (["run", stream, "--store", "x.everlearn", "--oracle", "hours"], "hours"),
        (["run", stream, "--store", "y.everlearn", "--label-rate", "7"], "label_rate must be"),
        (["status", "x.everlearn"], "There is no store at"),
        (["ask", "x.everlearn"], "There is no store at"),
        (["report", "x.everlearn"], "There is no store at"),
        (["predict", "x.everlearn", stream], "There is no store at"),
    ):
        error = everlearn(*arguments, code=1).stderr
        assert message in error, arguments
        assert error.count("Error:") == 1
        assert "Traceback" not in error
    assert not (tmp_path / "x.everlearn").exists()
    assert "Traceback" in everlearn("status", "x.everlearn", "--traceback", code=1).stderr


def test_a_store_in_use_is_told_in_words_of_the_terminal(stream, store):
    learn(stream, store)
    with NeverEndingLearner.open(store):
        error = everlearn("ask", store, code=1).stderr
        assert "everlearn status" in error
        assert "read_only" not in error
        everlearn("status", store)


def test_an_empty_source_says_so(tmp_path, store):
    path = tmp_path / "empty.csv"
    path.write_text("")
    assert "is empty" in everlearn("run", path, "--store", store, code=1).stderr
