"""Parquet as a source: its size, its types, its times, and what to do without pyarrow."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from everlearn.read import _arrow
from everlearn.read.sources import open_source


def test_parquet_knows_its_size_and_its_times(tmp_path):
    times = [1_700_000_000_123_456, None, 5]
    table = pa.table(
        {
            "when": pa.array(times, pa.timestamp("us")),
            "x": pa.array([1, None, 3], pa.int64()),
            "flag": pa.array([True, False, None]),
            "kind": pa.array(["a", "b", "a"]).dictionary_encode(),
            "list": pa.array([[1], [2], [3]]),
            "label": pa.array([1, None, 0], pa.int8()),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    source = open_source(tmp_path / "t.parquet")
    assert source.n_rows_total == 3
    (batch,) = source
    assert {f.name: f.kind for f in source.schema.fields}["when"] == "time"
    assert np.array_equal(batch.time, [1_700_000_000.123456, np.nan, 5e-6], equal_nan=True)
    assert source.schema.feature_names[:2] == ["x", "x (missing)"]
    assert batch.X[:, :2].tolist() == [[1, 0], [2, 1], [3, 0]]
    assert batch.y.tolist() == [1, None, 0]
    assert json.loads(batch.raw[-1])["list"] == [3]
    assert source.bytes_read == source.bytes_total
    with pytest.raises(IndexError):
        batch.raw[3]


@pytest.mark.parametrize(
    ("kind", "value", "seconds"),
    [
        (pa.timestamp("ns", tz="Europe/Berlin"), 1_500_000_000_123_456_789, 1_500_000_000.123456),
        (pa.timestamp("s"), 7, 7.0),
        (pa.date32(), 2, 2 * 86400.0),
    ],
)
def test_times_of_parquet_in_any_unit(tmp_path, kind, value, seconds):
    pq.write_table(pa.table({"t": pa.array([value, None], kind)}), tmp_path / "t.parquet")
    (batch,) = open_source(tmp_path / "t.parquet")
    assert np.array_equal(batch.time, [seconds, np.nan], equal_nan=True)


def test_bad_rows_of_parquet(tmp_path):
    table = pa.table({"x": [1.0, float("inf"), 3.0, 4.0], "n": [["a"], ["b"], ["c"], ["d"]]})
    pq.write_table(table, tmp_path / "t.parquet")
    source = open_source(tmp_path / "t.parquet")
    source.skip_rows(1)
    (batch,) = source
    assert batch.X.ravel().tolist() == [3, 4]
    assert [json.loads(text)["n"] for text in batch.raw] == [["c"], ["d"]]
    assert [(row.line, row.reason) for row in source.bad] == [(2, "field 'x': infinite")]


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1")

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(_arrow.importlib, "import_module", missing)
    with pytest.raises(ImportError, match=r"everlearn\[stream\]"):
        open_source(path)
