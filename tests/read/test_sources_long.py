"""Sources of any shape: long lines, many columns, files that are no text, other ends of lines."""

import csv
import gzip
import io
import json
import random
import resource

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from everlearn.read import Schema, _line_reader, open_source
from everlearn.read._csv import CSVReader
from everlearn.read._infer import _median
from everlearn.read._line_reader import LineReader

LONG = 1000  # bytes, where a test sets the limit itself


def read(path, **options):
    """All values of the first column, and the bad rows by line."""
    with open_source(path, max_row_bytes=LONG, **options) as source:
        rows = [
            value for batch in source for value in sparse.csr_matrix(batch.X)[:, 0].toarray().ravel().tolist()
        ]
        return rows, {row.line: row for row in source.bad}


# ------------------------------------------------------------------------------------------------ long lines

FORMATS = {
    "csv": lambda a, b: f"{a},{b}\n",
    "jsonl": lambda a, b: json.dumps({"a": a, "b": b}) + "\n",
    "libsvm": lambda a, b: f"0 1:{a} 2:{b}\n",
}
HEADER = {"csv": "a,b\n"}
KINDS = {"csv": {"kinds": {"b": "numeric"}}, "jsonl": {"kinds": {"b": "numeric"}}, "libsvm": {}}


def lines_of(format, *lengths):
    """Rows 1, 5, 5, ..., 3, of which those in the middle have a second field of these lengths."""
    rows = [(1, 2), *((5, "9" * length) for length in lengths), (3, 4)]
    return HEADER.get(format, "") + "".join(FORMATS[format](*row) for row in rows)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("packed", [False, True])
def test_a_row_that_is_too_long_is_set_aside_and_reading_goes_on(tmp_path, format, packed):
    path = tmp_path / f"s.{format}{'.gz' if packed else ''}"
    text = lines_of(format, 50_000, 3_000_000).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    rows, bad = read(path, **KINDS[format])
    assert rows == [1, 3]
    header = format == "csv"
    assert sorted(bad) == [2 + header, 3 + header]
    for row in bad.values():
        assert row.reason == "longer than 1,000 bytes"
        assert len(row.raw) == 1000
        assert text.decode().splitlines()[row.line - 1].startswith(row.raw)


def test_the_quarantine_has_the_line_and_the_beginning_of_a_long_row(tmp_path):
    path, quarantine = tmp_path / "s.csv", tmp_path / "bad.jsonl"
    path.write_text(lines_of("csv", 5000))
    read(path, quarantine=quarantine)
    found = json.loads(quarantine.read_text())
    assert (found["line"], found["reason"]) == (3, "longer than 1,000 bytes")
    assert found["raw"] == "5," + "9" * 998


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
@pytest.mark.parametrize(("length", "good"), [(LONG, True), (LONG + 2, False)])
def test_the_limit_is_for_a_line_without_its_end(tmp_path, length, good, end):
    path = tmp_path / "s.csv"
    path.write_bytes(f"a\n1\n{'0' * (length - 1 - end.count(chr(13)))}7{end}".encode())
    rows, bad = read(path)
    assert (rows, len(bad)) == (([1, 7], 0) if good else ([1], 1))


def test_long_lines_take_no_memory(tmp_path, monkeypatch):
    """Five times 200 MB out of a small file: each line would be in memory as bytes, as text and as a cell."""
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"a,b\n1,2\n")
        for _ in range(2):
            for _ in range(50):
                file.write(b"9" * 4_000_000)
            file.write(b"\n")
        file.write(b"3,4\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows, bad = read(path)
    assert rows == [1, 3]
    assert sorted(bad) == [3, 4]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024  # KiB


def test_a_first_line_that_is_too_long_is_an_error_for_csv(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("x" * 2000 + "\n1\n")
    with pytest.raises(ValueError, match=r"first line of .* is longer than 1,000 bytes.*max_row_bytes"):
        read(path)


@pytest.mark.parametrize("value", [0, -1])
def test_the_limit_is_checked(tmp_path, value):
    with pytest.raises(ValueError, match=f"max_row_bytes={value} must be at least 1"):
        open_source(tmp_path / "x", max_row_bytes=value)


def test_a_quote_that_never_closes_spoils_its_line_only(tmp_path):
    path = tmp_path / "s.csv"
    lines = ["a,b", "1,2", '5,"open', *(f"{n},0" for n in range(400)), "x" * 5000, '6,"open too']
    path.write_text("\n".join(lines))
    rows, bad = read(path, kinds={"b": "numeric"})
    assert rows == [1, *range(400)]
    assert {line: row.reason for line, row in bad.items()} == {
        3: "unclosed quote",
        404: "longer than 1,000 bytes",
        405: "unclosed quote",
    }


def test_a_record_over_lines_has_the_same_limit(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text(
        'a,b\n1,"x\ny"\n2,"' + "\n".join(["z" * 90] * 10) + '"\n3,"' + "\n".join(["z" * 90] * 12) + '"\n'
    )
    rows, bad = read(path, kinds={"b": "text"})
    assert rows == [1, 2]
    assert min(bad) == 14
    assert bad[14].reason == "unclosed quote"


FIELD = st.text(st.sampled_from('ab",;\n\r 1'), max_size=6)


@given(st.lists(st.lists(FIELD, min_size=3, max_size=3), min_size=1, max_size=6))
def test_quoted_records_are_read_as_pythons_csv_reads_them(tmp_path_factory, rows):
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(["x", "y", "z"])
    writer.writerows(rows)
    path = tmp_path_factory.mktemp("csv") / "s.csv"
    path.write_bytes(text.getvalue().encode())
    reader = CSVReader(LineReader(str(path), 10**6), None, True, "error")
    block = reader.read(100)
    if {"x", "y", "z"} & {cell for row in rows for cell in row}:
        return
    assert [list(row) for row in zip(*block.columns.values(), strict=True)] == rows
    assert block.bad == []


@pytest.mark.parametrize("format", FORMATS)
def test_blocks_end_early_where_rows_are_long(tmp_path, format, monkeypatch):
    """However the bytes are spread, rows are the same, and so are blocks when they are read again."""
    path, row = tmp_path / f"s.{format}", FORMATS[format]
    lengths = random.Random(0).choices([1, 5, 100, 140], k=60)
    blank = "\n" * 400
    path.write_text(HEADER.get(format, "") + row(1, 1) + blank + "".join(row(n, "1" * n) for n in lengths))

    def batches():
        with open_source(path, batch_size=20, infer_rows=5, **KINDS[format]) as source:
            return [len(batch) for batch in source], source.quarantined

    whole, n_bad = batches()
    assert max(whole) > 15
    for module in ("_line_reader", "_csv", "_jsonl", "_libsvm"):
        monkeypatch.setattr(f"everlearn.read.{module}.BLOCK_BYTES", 300)
    short, again = batches()
    assert (sum(short), again) == (sum(whole), n_bad)
    assert max(short) < 15
    assert batches() == (short, again)


# ---------------------------------------------------------------------------------------------- many columns


def test_the_work_is_linear_in_the_columns(tmp_path, monkeypatch):
    """No time is asserted: comparisons of names are counted, on names that are all ids by their endings."""

    class Name(str):
        compared = 0
        __hash__ = str.__hash__

        def __eq__(self, other):
            Name.compared += 1
            return str.__eq__(self, other)

        def lower(self):
            return Name(str.lower(self))

        def strip(self, *chars):
            return Name(str.strip(self, *chars))

    work = []
    for n in (200, 400, 800):
        Name.compared = 0
        columns = {Name(f"c{i}_id"): ["1.5", "2.5"] for i in range(n)}
        schema = Schema.infer(columns)
        Schema(schema.fields)
        work.append(Name.compared / n)
        assert schema.n_features == n
    assert work[2] < 2 * work[0] + 10


def test_repeated_names_are_found_among_many(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text(",".join([*(f"c{i}" for i in range(20_000)), "c7", "c19999"]) + "\n")
    with pytest.raises(ValueError, match=r"Duplicate field names \['c19999', 'c7'\]"):
        open_source(path)


def test_twenty_thousand_columns(tmp_path):
    n = 20_000
    path = tmp_path / "s.csv"
    header = ",".join(f"c{i}" for i in range(n))
    path.write_text("\n".join([header, *(",".join(f"{r + i}" for i in range(n)) for r in range(2)), header]))
    with open_source(path) as source:
        batch = next(source)
        assert next(source, None) is None
    np.testing.assert_array_equal(batch.X, np.arange(n) + np.arange(2)[:, np.newaxis])


def test_json_rows_with_keys_of_their_own_need_no_square_of_cells(tmp_path):
    path = tmp_path / "s.jsonl"
    rows = [{"a": n} | {f"k{n}_{i}": 0 for i in range(50)} for n in range(100)]
    path.write_text("\n".join(map(json.dumps, rows)))
    schema = Schema.infer({"a": [1.0, 2.0]})
    with open_source(path, schema=schema, unknown_fields="ignore") as source:
        block = source._blocks[0]
        assert list(block.columns) == ["a"]
        assert next(source).X.ravel().tolist() == list(range(100))
    with open_source(path, schema=schema) as source, pytest.raises(ValueError, match=r"'k0_0'.* in line 1"):
        next(source)


@given(st.lists(st.floats(-1e150, 1e150), max_size=9))
def test_the_median_is_numpys(values):
    assert _median(list(values)) == (np.median(values) if values else 0.0)


# -------------------------------------------------------------------------------------- what is in a file


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("format", ["csv", "jsonl", "libsvm"])
def test_lines_that_end_in_carriage_returns(tmp_path, format, packed):
    lf, cr = tmp_path / f"lf.{format}", tmp_path / f"cr.{format}"
    text = lines_of(format, 1, 2).encode()
    lf.write_bytes(text)
    cr.write_bytes(gzip.compress(text.replace(b"\n", b"\r")) if packed else text.replace(b"\n", b"\r"))
    expected = read(lf)
    assert read(cr) == expected
    assert len(expected[0]) >= 3


def test_a_carriage_return_in_a_quoted_field_stays(tmp_path):
    path = tmp_path / "s.csv"
    path.write_bytes(b'a,b\r\n1,"x\ry"\r\n')
    with open_source(path, kinds={"b": "categorical"}) as source:
        assert source.schema.feature_names[1] == "b=x\ry"


def test_carriage_returns_that_are_seen_too_late_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_line_reader, "BUFFER", 16)
    path = tmp_path / "s.csv"
    path.write_bytes(b"a" * 50 + b",b\r1,2\r3,4\n5,6\n")
    with pytest.raises(ValueError, match="contains a carriage return: lines must end in LF or CRLF"):
        open_source(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\0\0\0\0", "NUL bytes in its first line"),
        (b"PK\x03\x04rest", "zip archive or an Excel workbook"),
        (b"SQLite format 3\0rest", "SQLite database"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_no_text_is_named(tmp_path, content, message, packed):
    path = tmp_path / "s.csv"
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(ValueError, match=message):
        open_source(path)


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path, format):
    path = tmp_path / f"s.{format}"
    path.write_bytes(b"\xef\xbb\xbf" + lines_of(format).encode())
    assert read(path)[0] == [1, 3]


@pytest.mark.parametrize(
    ("format", "lines"),
    [
        ("csv", ["id,shop,label", "1,a,x", "2,b\0,x", "3\0,a,x", "4,a,x\0", "5,a,y"]),
        (
            "jsonl",
            [
                json.dumps(dict(zip(("id", "shop", "label"), row, strict=True)))
                for row in ("1ax", ("2", "b\0", "x"), ("3\0", "a", "x"), ("4", "a", "x\0"), "5ay")
            ],
        ),
    ],
)
def test_nul_characters_are_bad(tmp_path, format, lines):
    path = tmp_path / f"s.{format}"
    path.write_text("\n".join(lines))
    named = {"id": "id", "label": "label", "kinds": {"shop": "categorical"}}
    with open_source(path, **named) as source:
        assert [list(batch.ids) for batch in source] == [["1", "5"]]
        assert [row.reason for row in source.bad] == [
            f"field '{n}': a NUL character" for n in ("shop", "id", "label")
        ]
        assert source.schema.feature_names == ["shop=a", "shop=(other)"]
