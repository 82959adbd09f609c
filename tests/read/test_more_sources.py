"""Arrow, Feather, NumPy, folders of datasets, SQL and addresses."""

import contextlib
import datetime
import functools
import http.server
import json
import os
import sqlite3
import sys
import threading
import types
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from everlearn.read import _embed, _url, open_source

VECTORS = np.arange(12.0).reshape(6, 2)


def table(**more):
    return pa.table(
        {
            "id": [f"r{i}" for i in range(6)],
            "vector": pa.array(VECTORS.tolist()),
            "user": [{"age": 20 + i} for i in range(6)],
            "when": [datetime.datetime(2025, 1, 1 + i) for i in range(6)],
            "price": pa.array([Decimal("1.50")] * 6),
            "kind": pa.array(list("ababab")).dictionary_encode(),
            "label": [0, 1] * 3,
            **more,
        }
    )


def write_stream(path, rows, metadata=None):
    rows = rows.replace_schema_metadata(metadata)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=2)


def read(path, **options):
    with open_source(path, batch_size=4, **options) as source:
        batches = list(source)
    assert source.quarantined == 0
    return source, np.vstack([batch.X for batch in batches]), [y for batch in batches for y in batch.y]


@pytest.mark.parametrize("kind", ["feather", "stream", "file", "parquet"])
def test_arrow_in_every_container(tmp_path, kind):
    path = tmp_path / "t.data"  # by its first bytes, whatever its name
    rows = table()
    if kind == "feather":
        pa.feather.write_feather(rows, path, compression="lz4")
    elif kind == "parquet":
        pa.parquet.write_table(rows, path)
    elif kind == "stream":
        write_stream(path, rows)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
            writer.write_table(rows, max_chunksize=2)
    source, X, y = read(path)
    assert source.schema.feature_names[:4] == ["vector[0]", "vector[1]", "user.age", "price"]
    np.testing.assert_array_equal(X[:, :2], VECTORS)
    assert X[:, 2].tolist() == [20 + i for i in range(6)]
    assert X[:, 3].tolist() == [1.5] * 6
    assert y == [0, 1] * 3
    assert source.schema.name_of("time") == "when"


def test_a_list_column_with_gaps(tmp_path):
    rows = [[1.0, 2.0], None, [3.0], [4.0, 5.0]]
    pa.feather.write_feather(pa.table({"v": pa.array(rows)}), tmp_path / "t.arrow")
    with open_source(tmp_path / "t.arrow", infer_rows=1, batch_size=1) as source:
        assert [batch.X.tolist() for batch in source] == [[[1, 2]], [[4, 5]]]
    assert source.quarantined == 2


def test_what_is_no_arrow_file(tmp_path):
    (tmp_path / "t.arrow").write_bytes(b"ARROW1 and no more")
    with pytest.raises(ValueError, match="is not an Arrow file"):
        open_source(tmp_path / "t.arrow")


def save_dataset(folder, rows):
    """As `datasets.Dataset.save_to_disk` does it: streams of Arrow, and a list of them."""
    folder.mkdir()
    names = json.dumps({"info": {"features": {"label": {"names": ["no", "yes"], "_type": "ClassLabel"}}}})
    for number, part in enumerate([rows.slice(0, 4), rows.slice(4)]):
        write_stream(folder / f"data-{number:05}-of-00002.arrow", part, {"huggingface": names})
    files = [{"filename": f"data-{number:05}-of-00002.arrow"} for number in range(2)]
    (folder / "state.json").write_text(json.dumps({"_data_files": files}))


def test_a_folder_of_datasets(tmp_path):
    save_dataset(tmp_path / "train", table())
    _, X, y = read(tmp_path / "train")
    np.testing.assert_array_equal(X[:, :2], VECTORS)
    assert y == ["no", "yes"] * 3
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    with pytest.raises(ValueError, match=r"several splits: choose one, such as .*train"):
        open_source(tmp_path)
    (tmp_path / "other").mkdir()
    with pytest.raises(ValueError, match="is a folder"):
        open_source(tmp_path / "other")


# Written by `DatasetDict.save_to_disk` of datasets 5.2.0, the split "train" in two files. Recorded: the
# package brings a dozen others, and does not work with every version of pyarrow.
HUGGING_FACE = Path(__file__).parent / "recorded" / "hugging_face"


def test_a_folder_written_by_hugging_face_datasets():
    with open_source(HUGGING_FACE / "train") as source:
        batch = next(source)
        kinds = {field.name: field.kind for field in source.schema.fields}
        assert source.examples["embedding"] == "[0, 0.6, 0.8]"
    assert kinds == {"id": "id", "text": "text", "embedding": "vector", "label": "label"}
    assert list(batch.ids) == [f"r{i}" for i in range(6)]
    assert list(batch.y) == ["no", "yes"] * 3  # class numbers in the file
    embedded = batch.X[:, -3:].toarray()
    np.testing.assert_allclose(embedded, [[0, 0.6, 0.8], [1, 0, 0]] * 3, atol=1e-7)
    with pytest.raises(ValueError, match=r"several splits: choose one, such as .*(train|test)"):
        open_source(HUGGING_FACE)


def test_numpy_arrays(tmp_path):
    np.save(tmp_path / "x.npy", VECTORS.astype(np.float16))
    with open_source(tmp_path / "x.npy", batch_size=4) as source:
        np.testing.assert_array_equal(np.vstack([batch.X for batch in source]), VECTORS)
        assert source.schema.feature_names == ["x[0]", "x[1]"]
    np.savez(tmp_path / "a.npz", X=VECTORS, y=np.array(list("ababab"))[:, None], n=np.arange(6))
    source, _, y = read(tmp_path / "a.npz")
    assert source.schema.feature_names == ["X[0]", "X[1]", "n"]
    assert y == list("ababab")
    structured = np.array([(1.5, "a"), (2.5, "b")], dtype=[("x", float), ("label", "U1")])
    np.save(tmp_path / "s.npy", structured)
    assert read(tmp_path / "s.npy")[2] == ["a", "b"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros((2, 2, 2))}, "one or two dimensions"),
        ({"x": np.zeros((2, 2)), "y": np.zeros(3)}, "different numbers of rows"),
        ({"x": np.array([{}, None], dtype=object)}, r"arrays of Python objects.*astype\(str\)"),
    ],
)
def test_arrays_that_are_no_rows(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        open_source(tmp_path / "a.npz")


# -------------------------------------------------------------------------------------------------------- SQL


@pytest.fixture
def shop(tmp_path):
    path = tmp_path / "shop.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE orders (id INTEGER, amount REAL, day TEXT, label TEXT)")
        rows = [(i, i / 2, f"2025-01-{i + 1:02}", "ab"[i % 2]) for i in range(6)]
        db.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
    return path


def test_rows_of_a_query(shop):
    query = "SELECT * FROM orders ORDER BY id"
    for location in (shop, f"sqlite:///{shop}"):
        source, X, y = read(location, sql=query)
        assert X.ravel().tolist() == [i / 2 for i in range(6)]
        assert y == list("ababab")
        assert (source.schema.name_of("id"), source.schema.name_of("time")) == ("id", "day")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM gone_table", "query of .* failed: no such table"),
        ("SELECT id, id FROM orders", "Duplicate column names"),
        ("DELETE FROM orders", "readonly database|returns no rows"),
    ],
)
def test_queries_that_fail(shop, query, message):
    with pytest.raises(ValueError, match=message):
        open_source(shop, sql=query)
    assert len(read(shop, sql="SELECT * FROM orders")[2]) == 6


def test_what_is_no_database(tmp_path, shop):
    (tmp_path / "s.csv").write_text("a\n1\n")
    with pytest.raises(ValueError, match="not an SQLite database: leave out the query"):
        open_source(tmp_path / "s.csv", sql="SELECT 1")
    with pytest.raises(ValueError, match="is no database"):
        open_source(tmp_path / "none", sql="SELECT 1")
    with pytest.raises(ValueError, match="read its rows with a query"):
        open_source(shop)
    with pytest.raises(ValueError, match=r"nosuchdb://me:\*\*\*@host/db cannot be opened") as caught:
        open_source("nosuchdb://me:secret@host/db", sql="SELECT 1")
    assert "secret" not in str(caught.value)


# -------------------------------------------------------------------------------------------------- addresses


@pytest.fixture
def server(tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=folder)
    ) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        try:
            yield folder, f"http://127.0.0.1:{running.server_address[1]}"
        finally:
            running.shutdown()
            thread.join()


def test_files_at_an_address(server, tmp_path, monkeypatch):
    folder, address = server
    kept = tmp_path / "temporary"
    kept.mkdir()
    monkeypatch.setattr(_url.tempfile, "tempdir", str(kept))
    (folder / "s.csv").write_text("a,label\n1,x\n2,y\n")
    pa.feather.write_feather(table(), folder / "t.feather")
    source, X, _ = read(f"{address}/s.csv?version=2")
    assert X.ravel().tolist() == [1, 2]
    assert source.name == f"{address}/s.csv?version=2"
    np.testing.assert_array_equal(read(f"{address}/t.feather")[1][:, :2], VECTORS)
    with pytest.raises(OSError, match="the server answers 404"):
        open_source(f"{address}/none.csv")
    (folder / "bad.csv").write_text("a,a\n")
    with pytest.raises(ValueError, match="Duplicate field names"):
        open_source(f"{address}/bad.csv")
    assert os.listdir(kept) == []


def test_an_address_that_cannot_be_reached():
    with pytest.raises(OSError, match="cannot be reached"):
        open_source("http://127.0.0.1:9/s.csv")


# ----------------------------------------------------------------------------------------- embeddings of text


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A package with the interface of wordllama."""
    package = types.ModuleType("wordllama")
    package.__file__ = str(tmp_path / "wordllama" / "__init__.py")
    asked = {}

    class WordLlama:
        @classmethod
        def load(cls, **options):
            asked.update(options)
            return cls()

        def embed(self, texts, norm):
            return np.array([np.full(256, len(text), dtype=np.float32) for text in texts])

    package.WordLlama = WordLlama
    monkeypatch.setitem(sys.modules, "wordllama", package)
    _embed._model.cache_clear()
    yield asked
    _embed._model.cache_clear()


def test_text_is_embedded_without_a_download(tmp_path, model):
    path = tmp_path / "s.csv"
    path.write_text("body,label\nthe parcel is late,a\n,b\n")
    with open_source(path, kinds={"body": "embed"}) as source:
        X = next(source).X
    assert X.shape == (2, 256)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), [1, 0])
    assert source.schema.is_unit_length
    assert not source.schema.scale_features.any()
    assert source.schema.feature_names[0] == "body[0]"
    assert model == {"dim": 256, "cache_dir": tmp_path / "wordllama", "disable_download": True}


def test_embeddings_by_the_real_package_and_without_a_network(tmp_path, monkeypatch):
    def no_network(*args, **options):
        raise AssertionError("wordllama wants the network")

    monkeypatch.setattr("socket.socket.connect", no_network)
    _embed._model.cache_clear()
    path = tmp_path / "s.csv"
    path.write_text("body\nmy parcel is late\nthe delivery of the package is delayed\nthe invoice is wrong\n")
    with open_source(path, kinds={"body": "embed"}) as source:
        X = next(source).X
    assert X.shape == (3, 256)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1)
    assert X[0] @ X[1] > X[0] @ X[2] + 0.1


def test_embedding_without_its_package_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wordllama", None)
    _embed._model.cache_clear()
    (tmp_path / "s.csv").write_text("body\nsome words here\n")
    with (
        pytest.raises(ImportError, match=r"pip install everlearn\[embed\]"),
        open_source(tmp_path / "s.csv", kinds={"body": "embed"}) as source,
    ):
        next(source)
