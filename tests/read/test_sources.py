"""Sources: every format gives the same batches, however they are cut, and a stopped run goes on."""

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

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


def write(path, text, **options):
    path.write_bytes(text if isinstance(text, bytes) else text.encode(), **options)
    return path


def write_csv(path, columns, **options):
    out = io.StringIO(newline="")
    writer = csv.writer(out, **options)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return write(path, out.getvalue())


def write_jsonl(path, columns):
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return write(path, "".join(json.dumps(row) + "\n" for row in rows))


def whole(source):
    """All batches as one: ids, dense rows, labels, times and raw text."""
    batches = list(source)
    if not batches:
        return None, None, None, None, []
    dense = [batch.X.toarray() if sparse.issparse(batch.X) else batch.X for batch in batches]
    together = [
        None if batches[0].ids is None else [i for batch in batches for i in batch.ids],
        np.vstack(dense),
        None if batches[0].y is None else [label for batch in batches for label in batch.y],
        np.concatenate([batch.time for batch in batches]),
    ]
    return *together, [text for batch in batches for text in batch.raw]


def same(one, other):
    return (
        one[0] == other[0]
        and np.array_equal(one[1], other[1])
        and one[2] == other[2]
        and np.array_equal(one[3], other[3], equal_nan=True)
    )


# ------------------------------------------------------------------------------ the same batches

# No delimiter and no byte order mark in a name: the first line decides about both.
LETTERS = st.characters(exclude_categories=["Cs", "Cc", "Cf", "Nd", "Zs"], exclude_characters=",;|")
NAMES = st.text(LETTERS, min_size=1, max_size=6).filter(
    lambda name: name == name.strip() and name.lower() not in ("nan", "inf")
)
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
NUMBERS = st.floats(-1e150, 1e150)


@st.composite
def tables(draw):
    """A table with ids, labels, times, numbers with gaps, categories and text."""
    n = draw(st.integers(1, 12))

    def column(cells):
        return draw(st.lists(cells, min_size=n, max_size=n))

    columns = {
        "id": [f"row {number}" for number in range(n)],
        "numeric": column(NUMBERS | st.none()),
        "categorical": column(st.sampled_from(["a", "b,b", 'c"c', "d\nd", "ä", ""])),
        "text": column(WORDS),
        "time": column(st.integers(0, 2**31) | st.none()),
        "label": column(st.sampled_from([0, 1]) | st.none()),
    }
    names = draw(st.lists(NAMES, min_size=len(columns), max_size=len(columns), unique=True))
    kinds = dict(zip(names, columns, strict=True))
    return dict(zip(names, columns.values(), strict=True)), kinds


@PROFILE
@given(tables(), st.integers(1, 6), st.sampled_from(",;\t|"), st.integers(1, 12))
def test_csv_json_and_parquet_give_the_same_batches(tmp_path, table, batch_size, delimiter, infer_rows):
    columns, kinds = table
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=5)
    write_csv(tmp_path / "t.csv", columns, delimiter=delimiter)
    write_jsonl(tmp_path / "t.jsonl", columns)
    options = {"kinds": kinds, "batch_size": batch_size, "infer_rows": infer_rows}
    read, schemas = [], []
    for name in ("t.csv", "t.jsonl", "t.parquet"):
        with open_source(tmp_path / name, **options) as source:
            read.append(whole(source))
            schemas.append(source.schema)
            assert source.quarantined == 0
            assert source.n_rows == len(columns[next(iter(columns))])
    assert schemas[0] == schemas[1] == schemas[2]
    assert same(read[0], read[1])
    assert same(read[0], read[2])


@PROFILE
@given(tables(), st.integers(1, 13), st.integers(1, 13), st.integers(0, 12))
def test_blocks_and_skipping_do_not_change_the_rows(tmp_path, table, batch_size, other, skipped):
    columns, kinds = table
    path = write_csv(tmp_path / "t.csv", columns)
    once = whole(open_source(path, kinds=kinds, batch_size=batch_size, infer_rows=3))
    twice = whole(open_source(path, kinds=kinds, batch_size=other, infer_rows=3))
    assert same(once, twice)
    assert once[4] == twice[4]
    n = min(skipped, len(once[4]))
    source = open_source(path, kinds=kinds, batch_size=other, infer_rows=3)
    source.skip_rows(n)
    assert source.n_rows == n
    rest = whole(source)
    assert source.n_rows == len(once[4])
    assert rest[4] == once[4][n:]
    if n < len(once[4]):
        assert same(rest[:4], (once[0][n:], once[1][n:], once[2][n:], once[3][n:]))


def test_csv_agrees_with_the_table_it_was_written_from(tmp_path):
    rng = np.random.default_rng(0)
    X, y = (
        rng.normal(size=(2500, 4)) * 10.0 ** rng.integers(-300, 149, size=(2500, 4)),
        rng.integers(0, 3, 2500),
    )
    columns = {f"x{i}": X[:, i].tolist() for i in range(4)} | {"label": y.tolist()}
    source = open_source(write_csv(tmp_path / "t.csv", columns))
    batches = list(source)
    assert [len(batch) for batch in batches] == [1000, 1000, 500]
    assert [batch.first_line for batch in batches] == [2, 1002, 2002]
    assert np.array_equal(np.vstack([batch.X for batch in batches]), X)
    assert [type(label) for label in batches[0].y[:2]] == [int, int]
    assert np.array_equal(np.concatenate([batch.y for batch in batches]).astype(int), y)
    assert batches[0].ids is None
    assert np.isnan(batches[0].time).all()


@PROFILE
@given(
    st.integers(1, 9).flatmap(
        lambda n: st.tuples(
            st.lists(st.lists(st.just(0.0) | NUMBERS, min_size=3, max_size=3), min_size=n, max_size=n),
            st.lists(st.integers(-1, 3), min_size=n, max_size=n),
        )
    ),
    st.booleans(),
    st.integers(1, 5),
)
def test_libsvm_agrees_with_scikit_learn_and_with_csv(tmp_path, table, zero_based, batch_size):
    X, y = np.array(table[0]), table[1]
    X[0, :] = 1.0  # every column has a value in the warm-up, so that the width is known
    path = tmp_path / "t.libsvm"
    dump_svmlight_file(X, y, str(path), zero_based=zero_based)
    oracle, _ = load_svmlight_file(str(path), zero_based=zero_based, n_features=3)
    source = open_source(path, batch_size=batch_size, infer_rows=4)
    _, rows, labels, _, _ = whole(source)
    assert source.schema.is_sparse
    assert source.schema.feature_names == (["x0", "x1", "x2"] if zero_based else ["x1", "x2", "x3"])
    assert np.array_equal(rows, oracle.toarray())
    assert labels == y
    columns = {f"x{i}": oracle.toarray()[:, i].tolist() for i in range(3)} | {"label": y}
    from_csv = whole(open_source(write_csv(tmp_path / "t.csv", columns), batch_size=batch_size))
    assert np.array_equal(rows, from_csv[1])
    assert labels == from_csv[2]


def test_libsvm_without_labels_with_comments_and_in_any_order(tmp_path):
    text = "# made by hand\n? 3:1 1:2 # first\n+1 qid:3 2:5\n\n2:7\n-1\n1 1:0\n"
    source = open_source(write(tmp_path / "t.svm", text), n_features=4)
    (batch,) = source
    assert batch.X.toarray().tolist() == [
        [2, 0, 1, 0],
        [0, 5, 0, 0],
        [0, 7, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
    ]
    assert batch.y.tolist() == [None, 1, None, -1, 1]
    assert batch.X.nnz == 4
    assert batch.X.has_canonical_format
    assert batch.X.dtype == np.float64
    assert batch.first_line == 2


# ------------------------------------------------------------------------------ ways to write it


@pytest.mark.parametrize(
    "text",
    [
        "x,label\n1.5,a\n2,b",
        "\ufeffx,label\n1.5,a\n2,b\n",
        "x,label\r\n1.5,a\r\n2,b\r\n",
        '\n\n"x","label"\n\n"1.5","a"\n2,b\n\n',
        "x ; label\n1.5; a\n 2;b\n",
        "x\tlabel\n1.5\ta\n2\tb\n",
        "x|label\n1.5|a\n2|b\n",
        '{"x": 1.5, "label": "a"}\n{"label": "b", "x": "2"}',
        '\ufeff{"x": 1.5, "label": "a"}\r\n\r\n{"label": "b", "x": 2}\r\n',
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_the_same_rows_in_many_spellings(tmp_path, text, packed):
    data = gzip.compress(text.encode()) if packed else text.encode()
    path = write(tmp_path / ("t.data.gz" if packed else "t.data"), data)
    with open_source(path) as source:
        _, X, y, _, _ = whole(source)
        assert X.tolist() == [[1.5], [2.0]]
        assert y == ["a", "b"]
        assert source.quarantined == 0
        assert source.bytes_read == source.bytes_total == len(data)
        assert source.n_rows_total is None
        assert source.message == ""


@contextmanager
def piped(monkeypatch, data):
    """A pipe with some data as the standard input."""
    end, other = os.pipe()
    os.write(other, data)
    os.close(other)
    with open(end) as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        yield


@pytest.mark.parametrize("extra", [{}, {"format": "csv"}], ids=str)
def test_standard_input(monkeypatch, extra):
    for data in (b"a,b\n1,2\n3,4\n5,6", gzip.compress(b"a,b\n1,2\n3,4\n5,6")):
        with piped(monkeypatch, data):
            source = open_source("-", batch_size=2, **extra)
            assert [batch.X.tolist() for batch in source] == [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]]
        assert (source.name, source.bytes_total, source.bytes_read) == ("standard input", None, len(data))


@pytest.mark.parametrize(("data", "n_columns"), [(b'{"a": 1}\n{"a": 2}\n', 1), (b"1 1:2 3:4\n-1 2:1\n", 3)])
def test_standard_input_is_recognized(monkeypatch, data, n_columns):
    with piped(monkeypatch, data):
        source = open_source("-")
        assert (sum(map(len, source)), source.schema.n_features) == (2, n_columns)


def test_text_formats_need_neither_pyarrow_nor_pandas(tmp_path):
    write(tmp_path / "t.csv", "a,b\n1,x\n")
    write(tmp_path / "t.jsonl", '{"a": 1}\n')
    write(tmp_path / "t.svm", "1 1:2\n")
    program = (
        "import sys\nsys.modules['pyarrow'] = sys.modules['pandas'] = None\n"
        "from everlearn.read.sources import open_source\n"
        "print([sum(map(len, open_source(path))) for path in sys.argv[1:]])"
    )
    paths = [str(tmp_path / name) for name in ("t.csv", "t.jsonl", "t.svm")]
    done = subprocess.run([sys.executable, "-c", program, *paths], capture_output=True, check=True)
    assert done.stdout.decode() == "[1, 1, 1]\n"


def test_csv_without_a_header(tmp_path):
    path = write(tmp_path / "t.csv", "5.1,a\n4.9,b\n")
    with pytest.raises(ValueError, match="header=False"):
        open_source(path)
    source = open_source(path, header=False, label="column_2")
    assert same(whole(source)[:4], (None, np.array([[5.1], [4.9]]), ["a", "b"], np.full(2, np.nan)))
    again = open_source(write(tmp_path / "u.csv", "7,b\n"), schema=source.schema)
    assert whole(again)[1].tolist() == [[7.0]]


def test_a_very_long_line(tmp_path):
    long = "word " * 200_000
    path = write(tmp_path / "t.csv", f'x,note\n1,{long}\n2,"{long},{long}"\n3,short\n')
    source = open_source(path, kinds={"note": "text"})
    assert whole(source)[1][:, 0].tolist() == [1, 2, 3]
    assert source.quarantined == 0


def test_memory_does_not_grow_with_the_stream(tmp_path):
    def peak(n):
        path = tmp_path / f"{n}.csv"
        with open(path, "w") as file:
            file.write("a,b,label\n")
            file.writelines(f"{i},{i / 7},{i % 2}\n" if i % 5 else "broken\n" for i in range(n))
        with open_source(path, batch_size=200, infer_rows=100) as source:
            tracemalloc.start()
            for _ in source:
                pass
            used = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert source.quarantined == (n + 4) // 5
        return used

    peak(2_000)
    assert peak(20_000) < 1.2 * peak(2_000)


# --------------------------------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "excel"}, "format='excel' must be one of"),
        ({"unknown_fields": "drop"}, "unknown_fields='drop'"),
        ({"on_bad": "skip"}, "on_bad='skip'"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"infer_rows": 0}, "infer_rows=0"),
        ({"n_features": 3}, "is for LIBSVM"),
        ({"schema": Schema([Field("x", "numeric")]), "label": "x"}, "do not pass label"),
        ({"schema": Schema([], n_sparse=3)}, "schema is for libsvm"),
        ({"format": "libsvm", "label": "x"}, "no named fields"),
    ],
)
def test_options_are_checked(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        open_source(write(tmp_path / "t.csv", "x\n1\n"), **options)


def test_what_cannot_be_opened(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError):
        open_source(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="not a Parquet file"):
        open_source(write(tmp_path / "t.parquet", b"PAR1 and no more"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"PAR1....")))
    with pytest.raises(ValueError, match="standard input"):
        open_source("-")


def test_skipping_more_than_there_is(tmp_path):
    source = open_source(write(tmp_path / "t.csv", "a\n1\n2\n"))
    with pytest.raises(ValueError, match=r"Cannot skip 3 rows: .* only 2 good rows left"):
        source.skip_rows(3)
    with pytest.raises(ValueError, match="negative"):
        source.skip_rows(-1)


def test_rows_are_skipped_bit_by_bit(tmp_path):
    source = open_source(write(tmp_path / "t.csv", "a\n" + "".join(f"{i}\n" for i in range(9))), batch_size=4)
    source.skip_rows(1)
    source.skip_rows(2)
    batch = next(source)
    assert (batch.X.tolist(), batch.first_line, batch.raw, source.n_rows) == ([[3.0]], 5, ["3"], 4)
    source.skip_rows(3)
    assert [batch.X.ravel().tolist() for batch in source] == [[7.0], [8.0]]


def test_a_closed_source_is_at_its_end(tmp_path):
    with open_source(write(tmp_path / "t.csv", "a\n1\n2\n"), batch_size=1) as source:
        next(source)
    assert list(source) == []
