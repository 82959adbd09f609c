"""Bad rows, strange headers, empty and damaged files: counted, written down, never fatal without need."""

import csv
import gzip
import io
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everlearn.read.field import Field
from everlearn.read.schema import Schema
from everlearn.read.sources import open_source
from property_helpers import sample_of

PROFILE = settings(
    derandomize=True,
    deadline=None,
    max_examples=sample_of(40),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
NUMBER = Schema([Field("x", "numeric")])


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def values(source):
    return [value for batch in source for value in batch.X[:, 0].tolist()]


# --------------------------------------------------------------------------------------------------- bad rows

GOOD = [f"i{n},2024-01-01,{n},0" for n in range(3)]
CSV_CASES = [
    ("i9,2024-01-01,1", "wrong number of fields"),
    ("i9,2024-01-01,1,0,5", "wrong number of fields"),
    ("i9,2024-01-01,one,0", "field 'x': not a number"),
    ("i9,2024-01-01,inf,0", "field 'x': infinite"),
    ("i9,2024-01-01,1e999,0", "field 'x': infinite"),
    ("i9,soon,1,0", "field 'time': malformed time"),
    ("i9,2024-01-01,1,maybe", "field 'label': bad label"),
    ("i1,2024-01-01,1,0", "field 'id': duplicate id within the block"),
    (",2024-01-01,1,0", "field 'id': missing"),
    (b"i\xff,2024-01-01,1,0", "invalid UTF-8"),
    (b'"i\xff",2024-01-01,1,0', "invalid UTF-8"),
    ('"i9"x,2024-01-01,1,0', "text after a closing quote"),
    ('"i9,2024-01-01,1,0', "unclosed quote"),
    ('i9,"2024-01-01\n,1,0', "unclosed quote"),
]


@pytest.mark.parametrize(("row", "reason"), CSV_CASES)
@pytest.mark.parametrize("last", [False, True])
def test_a_bad_row_is_set_aside_and_the_others_are_read(tmp_path, row, reason, last):
    row = row if isinstance(row, bytes) else row.encode()
    before, after = "\n".join(["id,time,x,label", *GOOD[:2]]).encode(), GOOD[2].encode()
    order = [before, after, row] if last else [before, row, after]
    path = write(tmp_path / "t.csv", b"\n".join(order))
    source = open_source(
        path,
        schema=Schema(
            [Field("id", "id"), Field("time", "time"), Field("x", "numeric"), Field("label", "label")],
            label_type="int",
        ),
        quarantine=tmp_path / "bad.jsonl",
        encoding="utf-8",
    )
    (batch,) = source
    assert batch.ids.tolist() == ["i0", "i1", "i2"]
    assert batch.X.ravel().tolist() == [0, 1, 2]
    assert batch.y.tolist() == [0, 0, 0]
    assert batch.time.tolist() == [1704067200.0] * 3
    assert batch.raw == GOOD
    line = 5 if last else 4
    written = records(tmp_path / "bad.jsonl")
    assert (written[0]["source"], written[0]["line"], written[0]["reason"]) == (str(path), line, reason)
    assert written[0]["raw"] == row.split(b"\n")[0].decode("utf-8", "backslashreplace")
    assert source.reasons[reason] == 1
    assert source.quarantined == len(written) == len(source.bad) == 1 + row.count(b"\n")
    with (
        pytest.raises(ValueError, match=f"Line {line} of .* is bad: {reason}"),
        open_source(path, schema=source.schema, on_bad="error", encoding="utf-8") as strict,
    ):
        list(strict)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ('{"x": 1', "invalid JSON"),
        ("[" * 100_000, "invalid JSON"),
        ("[1]", "not a JSON object"),
        ('{"x": "one"}', "field 'x': not a number"),
        ('{"x": Infinity}', "field 'x': infinite"),
        ('{"x": true}', "field 'x': not a number"),
        ('{"x": {"y": 1}}', "field 'x': not a number"),
        (b'{"x": "\xff"}', "invalid UTF-8"),
        ('{"x": "\\ud800"}', "invalid UTF-8"),
    ],
)
def test_a_bad_line_of_json(tmp_path, row, reason):
    row = row if isinstance(row, bytes) else row.encode()
    path = write(tmp_path / "t.jsonl", b'{"x": 1}\n' + row + b'\n{"x": 2}\n{}\n{"x": NaN}')
    source = open_source(path, schema=NUMBER, quarantine=tmp_path / "bad.jsonl", encoding="utf-8")
    assert values(source) == [1, 2, 0, 0]
    assert source.reasons == {reason: 1}
    assert records(tmp_path / "bad.jsonl")[0]["line"] == 2
    assert len(source.bad[0].raw) <= 1000


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("1 3:1", "index outside 1 to 2"),
        ("1 0:1", "index outside 1 to 2"),
        ("1 1:x", "not a number"),
        ("1 1:nan", "not a number"),
        ("1 1:inf", "infinite"),
        ("1 1:1e200", "infinite"),
        ("1 1:1 1:2", "an index twice"),
        ("1 1:1:1 2", "not label index:value ..."),
        ("1 -1:1", "not label index:value ..."),
        ("1 1:1_0", "not label index:value ..."),
        ("one 1:1", "field 'label': bad label"),
        ("1 99999999999999999999:1", "not label index:value ..."),
    ],
)
def test_a_bad_row_of_libsvm(tmp_path, row, reason):
    path = write(tmp_path / "t.svm", f"1 1:1\n-1 2:2\n{row}\n1 1:3 2:4")
    source = open_source(path, infer_rows=2)
    (batch,) = source
    assert batch.X.toarray().tolist() == [[1, 0], [0, 2], [3, 4]]
    assert source.reasons == {reason: 1}
    assert (source.bad[0].line, source.bad[0].raw) == (3, row)


def test_an_id_may_come_again_if_its_first_row_was_bad_or_in_another_block(tmp_path):
    path = write(tmp_path / "t.csv", "id,x\n1,bad\n1,5\n2,6\n2,7\n")
    schema = Schema([Field("id", "id"), Field("x", "numeric")])
    assert values(open_source(path, schema=schema)) == [5, 6]
    assert values(open_source(path, schema=schema, batch_size=3)) == [5, 6, 7]


def test_the_first_twenty_bad_rows_are_kept_and_all_are_counted(tmp_path):
    path = write(tmp_path / "t.csv", "x\n" + "bad\n" * 50 + "1\n")
    source = open_source(path, schema=NUMBER, batch_size=7)
    assert values(source) == [1]
    assert source.quarantined == 50
    assert [row.line for row in source.bad] == list(range(2, 22))


def test_a_stray_quote_does_not_swallow_a_row_that_ends_in_one(tmp_path):
    path = write(tmp_path / "t.csv", 'x,label\n"1,a\n2,5"\n3,"six, 6"\n')
    source = open_source(path, schema=Schema([Field("x", "numeric"), Field("label", "label")]))
    (batch,) = source
    assert batch.X.ravel().tolist() == [2, 3]
    assert batch.y.tolist() == ['5"', "six, 6"]
    assert [(row.line, row.reason) for row in source.bad] == [(2, "unclosed quote")]


def test_a_block_of_bad_rows_alone_is_passed_over(tmp_path):
    path = write(tmp_path / "t.csv", "x,words,many\n" + "bad\n" * 3 + "1,one two,c\n")
    fields = [Field("x", "numeric"), Field("words", "text"), Field("many", "categorical", categories=None)]
    source = open_source(path, schema=Schema(fields), batch_size=3)
    (batch,) = source
    assert batch.X[0, 0] == 1
    assert (batch.X.nnz, batch.first_line, source.quarantined) == (8, 5, 3)


@st.composite
def damaged(draw):
    """Lines of a CSV file, some bad, and the values of the good ones."""
    kinds = draw(st.lists(st.sampled_from(["good", "quoted", "word", "short", "stray", "tail"]), max_size=25))
    spelled = {
        "good": "{0},a",
        "quoted": '"{0}","two\nlines, ""quoted"""',
        "word": "w{0},a",
        "short": "{0}",
        "stray": '"{0},a',
        "tail": '"{0}"z,a',
    }
    lines = [spelled[kind].format(number) for number, kind in enumerate(kinds)]
    good = [number for number, kind in enumerate(kinds) if kind in ("good", "quoted")]
    return "".join(line + "\n" for line in ["x,c", *lines]), good, len(kinds) - len(good)


@PROFILE
@given(damaged(), st.integers(1, 9), st.integers(0, 25))
def test_no_good_row_is_lost_and_no_bad_row_vanishes(tmp_path, case, batch_size, skipped):
    text, good, n_bad = case
    path = write(tmp_path / "t.csv", text)
    quarantine = tmp_path / "bad.jsonl"
    quarantine.unlink(missing_ok=True)
    schema = Schema([Field("x", "numeric"), Field("c", "ignore")])
    source = open_source(path, schema=schema, batch_size=batch_size, quarantine=quarantine)
    assert values(source) == good
    assert source.quarantined == n_bad == sum(source.reasons.values())
    lines = text.splitlines()
    written = records(quarantine)
    assert [lines[row["line"] - 1] for row in written] == [row["raw"] for row in written]
    # a second run that skips the batches of the first writes each bad row after them, and no other one again
    n = min(skipped, len(good))
    quarantine.unlink(missing_ok=True)
    again = open_source(path, schema=schema, batch_size=batch_size, quarantine=quarantine)
    again.skip_rows(n)
    assert values(again) == good[n:]
    assert again.quarantined == n_bad
    rewritten = records(quarantine)
    assert rewritten == written[len(written) - len(rewritten) :]


def test_a_stopped_run_goes_on_and_writes_each_bad_row_once(tmp_path):
    path = write(tmp_path / "t.csv", "x\n" + "".join(f"{n}\n" if n % 3 else f"bad{n}\n" for n in range(30)))
    stopped = open_source(path, schema=NUMBER, batch_size=4, quarantine=tmp_path / "bad.jsonl")
    n_stored = len(next(stopped)) + len(next(stopped))
    stopped.close()
    resumed = open_source(path, schema=NUMBER, batch_size=4, quarantine=tmp_path / "bad.jsonl")
    resumed.skip_rows(n_stored)
    assert values(resumed) == [n for n in range(8, 30) if n % 3]
    assert [row["raw"] for row in records(tmp_path / "bad.jsonl")] == [f"bad{n}" for n in range(0, 30, 3)]


@PROFILE
@given(
    st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=2, max_size=2), max_size=8)
)
def test_csv_is_read_as_the_standard_library_reads_it(tmp_path, rows):
    out = io.StringIO(newline="")
    csv.writer(out).writerows([["first", "second"], *rows])
    path = write(tmp_path / "t.csv", out.getvalue())
    schema = Schema([Field("first", "label"), Field("second", "ignore")])
    source = open_source(path, schema=schema)
    labels = [label for batch in source for label in batch.y]
    oracle = [row[0].strip() for row in csv.reader(io.StringIO(out.getvalue(), newline=""))][1:]
    missing = {"", "?", "NA", "N/A", "null", "NULL", "nan", "NaN"}
    assert labels == [None if label in missing else label for label in oracle]
    assert source.quarantined == 0


def test_no_schema_can_be_made_of_bad_rows_alone(tmp_path):
    with pytest.raises(ValueError, match=r"None of the first rows .* valid jsonl \(line 1: invalid JSON\)"):
        open_source(write(tmp_path / "t.jsonl", "a,b\n1,2\n"))


# ---------------------------------------------------------------------------------------------------- headers


def test_a_header_that_comes_again_is_skipped_and_a_moved_one_is_followed(tmp_path):
    text = "alpha,beta,label\n1,2,a\nalpha,beta,label\n3,4,b\n"
    text += "beta,label,alpha\n6,c,5\n\ufeffalpha,beta,label\n7,8,d\n"
    for batch_size in (1, 2, 100):
        source = open_source(write(tmp_path / "t.csv", text), batch_size=batch_size)
        rows = [row for batch in source for row in zip(batch.X.tolist(), batch.y, strict=True)]
        assert rows == [([1, 2], "a"), ([3, 4], "b"), ([5, 6], "c"), ([7, 8], "d")]
        assert source.headers_skipped == 3
        assert source.quarantined == 0


def test_numbers_as_names_are_no_second_header(tmp_path):
    source = open_source(write(tmp_path / "t.csv", "0,1,2\n0,1,2\n2,1,0\n"))
    assert [row for batch in source for row in batch.X.tolist()] == [[0, 1, 2], [2, 1, 0]]


def test_another_header_further_down(tmp_path):
    path = write(tmp_path / "t.csv", "alpha,beta\n1,2\nalpha,new,beta\n3,9,4\n")
    with pytest.raises(ValueError, match=r"line 3 .* unknown fields \['new'\].*unknown_fields=\"ignore\""):
        list(open_source(path, infer_rows=1, batch_size=1))
    with open_source(path, infer_rows=1, batch_size=1, unknown_fields="ignore") as source:
        assert [row for batch in source for row in batch.X.tolist()] == [[1, 2], [3, 4]]
    path = write(tmp_path / "u.csv", "alpha,beta,gamma\n1,2,3\nalpha,beta\n3,4\n")
    with pytest.raises(ValueError, match=r"line 3 .* lacks the required fields \['gamma'\]"):
        list(open_source(path))
    schema = Schema([Field("alpha", "numeric"), Field("beta", "numeric"), Field("gamma", "label")])
    (batch,) = open_source(path, schema=schema)
    assert batch.y.tolist() == ["3", None]


def test_fields_that_the_schema_does_not_know(tmp_path):
    for name, text in (("t.csv", "x,z\n1,2\n"), ("t.jsonl", '{"x": 1}\n{"x": 1, "z": 2}\n')):
        path = write(tmp_path / name, text)
        with pytest.raises(ValueError, match=r"\['z'\].*unknown_fields=\"ignore\""):
            list(open_source(path, schema=NUMBER))
        assert set(values(open_source(path, schema=NUMBER, unknown_fields="ignore"))) == {1.0}


def test_fields_that_are_not_there(tmp_path):
    schema = Schema(
        [Field("x", "numeric"), Field("label", "label"), Field("t", "time"), Field("n", "ignore")]
    )
    with pytest.raises(ValueError, match=r"lacks the fields \['x'\]"):
        open_source(write(tmp_path / "t.csv", "label\n1\n"), schema=schema)
    (batch,) = open_source(write(tmp_path / "u.csv", "x\n1\n"), schema=schema)
    assert batch.y is None
    assert np.isnan(batch.time).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,a\n1,2\n", r"Duplicate field names \['a'\]"),
        ("1,2,7\n3,4,5\n", "looks like data"),
        ("5.1,setosa\n", "looks like data"),
        ('"a,b\n1,2\n', "header .* quote"),
    ],
)
def test_headers_that_cannot_be_used(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        open_source(write(tmp_path / "t.csv", text))


# ------------------------------------------------------------------------------ nothing, and half


@pytest.mark.parametrize("schema", [None, NUMBER])
@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "", "is empty"),
        ("t.jsonl", "", "is empty"),
        ("t.csv", "\n\n", "has no rows"),
        ("t.csv", "x\n", "has a header, but no rows"),
        ("t.csv", "x", "has a header, but no rows"),
    ],
)
def test_nothing_to_read_is_no_error(tmp_path, schema, name, text, message):
    source = open_source(write(tmp_path / name, text), schema=schema)
    assert source.message.endswith(f"{message}.")
    assert list(source) == []
    assert source.schema is schema


def test_there_is_a_message_if_no_row_was_good(tmp_path):
    source = open_source(write(tmp_path / "t.csv", "x\nbad\n"), schema=NUMBER)
    assert source.message == ""
    assert list(source) == []
    assert source.message.startswith("All rows of")


def test_a_damaged_archive_gives_what_is_whole_and_then_an_error(tmp_path):
    rng = np.random.default_rng(0)
    text = "x\n" + "".join(f"{value}\n" for value in rng.normal(size=50_000))
    data = gzip.compress(text.encode())
    source = open_source(write(tmp_path / "t.csv.gz", data[: len(data) // 2]), batch_size=100)
    read = []
    with pytest.raises(OSError, match=r"t\.csv\.gz is damaged after line \d+"):
        read.extend(value for batch in source for value in batch.X.ravel().tolist())
    assert len(read) > 10_000
    assert read == [float(line) for line in text.splitlines()[1 : len(read) + 1]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("s.json", '[{"a": 1}, {"a": 2}]', r"one JSON array: .* jq -c '\.\[\]' .*s\.json"),
        ("s.json", '[\n  {"a": 1},\n  {"a": 2}\n]', "one JSON array"),
        ("s.csv", "Report of January\n\na,b\n1,2\n3,4\n", "Are there lines above the header"),
    ],
)
def test_files_that_are_almost_right_are_told_apart(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        open_source(tmp_path / name)
