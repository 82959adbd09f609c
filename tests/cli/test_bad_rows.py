"""Too many bad rows are an error, with a remedy; nothing is left behind, and everything can be corrected."""

import pytest

from cli.cli_helpers import RUN, everlearn, failed, learn, payments, ran, status_of, write_csv
from everlearn.stream import NeverEndingLearner


def visits(path, n=400, template="{}|1|25", n_bad=None):
    lines = [
        f"{template.format(i % 28 + 1) if n_bad is None or i < n_bad else '2025-01-01'},{i % 7},{i % 2}"
        for i in range(n)
    ]
    path.write_text("\n".join(["when,x,label", *lines]) + "\n")
    return path


def leftovers(store):
    return [path.name for path in store.parent.iterdir() if path.name.startswith(store.name)]


def test_most_rows_bad_is_an_error_with_a_value_and_a_remedy(tmp_path, store):
    message = failed("run", visits(tmp_path / "v.csv"), "--store", store, "--time", "when")
    assert "400 of the 400 rows of" in message
    assert "more than --max-bad-fraction 0.2" in message
    assert "Line 2: field 'when': malformed time: '1|1|25'." in message
    assert "--time-format" in message
    assert not leftovers(store)
    ran("run", tmp_path / "v.csv", "--store", store, "--time", "when", "--time-format", "%d|%m|%y")
    assert status_of(store)["rows"] == 400


def test_the_limit_can_be_set(tmp_path, store):
    path = visits(tmp_path / "v.csv", n_bad=100)  # a quarter
    options = ("run", path, "--store", store, "--time", "when")
    assert "100 of the 400 rows" in failed(*options)
    ran(*options, "--max-bad-fraction", 0.25)
    assert status_of(store)["rows"] == 300
    everlearn(*options, "--max-bad-fraction", 2, code=2)


def test_rows_that_become_bad_later_remove_a_new_store_of_a_file(tmp_path, store):
    path = write_csv(tmp_path / "s.csv", payments(200))
    with path.open("a") as file:
        file.writelines(f"q{i},{i},00,x\n" for i in range(200))
    message = " ".join(learn(path, store, code=1).stderr.split())
    assert "wrong number of fields" in message
    assert "No store was created." in message
    assert not leftovers(store)


def test_an_existing_store_keeps_its_rows(tmp_path, store):
    learn(write_csv(tmp_path / "s.csv", payments(200)), store)
    other = tmp_path / "t.csv"
    other.write_text("number,amount,shop,hour,is_fraud\n" + "".join(f"q{i},x,a,1,0\n" for i in range(50)))
    message = " ".join(learn(other, store, code=1).stderr.split())
    assert "field 'amount': not a number: 'x'" in message
    assert status_of(store)["rows"] == 200


def test_a_pipe_keeps_the_good_rows(tmp_path, store):
    rows = "a,label\n" + "1,x\n2,y\n" * 100 + "bad\n" * 300
    out = everlearn("run", "-", "--store", store, *RUN, input=rows, code=1)
    assert "The 200 good rows so far are in the store." in " ".join(out.stderr.split())
    assert status_of(store)["rows"] == 200


def test_a_schema_can_be_corrected_until_a_row_is_learned(stream, store):
    named = ("run", stream, "--store", store, *RUN)
    ran(*named, "--label", "is_fraud", "--limit", 0, "--label-budget", 5)
    assert status_of(store)["rows"] == 0
    ran(*named, "--label", "is_fraud", "--id", "number", "--kind", "hour=ignore", "--learner", "lasvm")
    assert status_of(store)["rows"] == 600
    assert status_of(store)["learner"].startswith("LASVM")
    assert "leave out the option" in failed(*named, "--kind", "hour=categorical", "--learner", "lasvm")


def test_a_store_made_in_python_keeps_its_settings(stream, store):
    with NeverEndingLearner.open(store, label_rate=0.5, random_state=0):
        pass
    ran("run", stream, "--store", store, "--label", "is_fraud", "--batch-size", 100)
    with NeverEndingLearner.open(store) as learner:
        assert learner._settings.label_rate == 0.5


def test_a_few_bad_rows_are_quoted_at_the_end(tmp_path, store):
    path = write_csv(tmp_path / "s.csv", payments(200))
    with path.open("a") as file:
        file.write("q1,12;5,a,1,0\n")
    out = " ".join(learn(path, store).stderr.split())
    assert "field 'amount': not a number, for example '12;5' (1)" in out


@pytest.mark.parametrize(
    ("text", "options", "remedy"),
    [
        ("x,label\n" + "1.5,a\n" * 9 + '"1,5",a\n' * 9, ("--kind", "x=numeric"), "--decimal ,"),
        ("x,label\n" + "many,a\n" * 9, ("--kind", "x=numeric"), "--kind x=categorical"),
        ("x,label\n" + "1,a\n" * 9, ("--label-type", "int"), "--label-type string"),
        ("x,id,label\n" + "1,same,a\n" * 9, ("--id", "id"), "--id"),
        ("time,x\n" + "01.02.2025 10:00,1\n" * 9 + "2025-01-01,1\n" * 9, ("--time", "time"), "--time-format"),
        ("x,label\n1,a\n" + "1\n" * 9, (), "Check the delimiter"),
    ],
)
def test_remedies(tmp_path, store, text, options, remedy):
    path = tmp_path / "s.csv"
    path.write_text(text)
    assert remedy in failed("run", path, "--store", store, *options)
    assert not leftovers(store)


def test_nothing_to_learn_from_is_named(tmp_path, store):
    path = tmp_path / "s.jsonl"
    path.write_text('{"id": 1, "tags": ["a"], "label": 0}\n{"id": 2, "tags": [], "label": 1}\n')
    assert "has no field that can be learned from" in failed("run", path, "--store", store)
    assert not leftovers(store)


def test_the_schema_shows_an_example_and_what_it_is_read_as(tmp_path):
    path = tmp_path / "s.csv"
    path.write_bytes("Datum;Betrag\n03.01.2025;1.234,50 €\n".encode("cp1252"))
    out = ran("schema", path)
    assert "1.234,50 € → 1234.5" in out
    assert "03.01.2025 → 2025-01-03" in out
    assert "cp1252" in out
