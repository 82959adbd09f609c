"""Files as they come: nothing is lost, and the documentation shows what the schema makes of each."""

from pathlib import Path

import numpy as np
import pytest

from everlearn.read import open_source
from read.real_files import N_ROWS, as_markdown, real_files

PAGE = Path(__file__).parents[2] / "docs" / "reading-files.md"
FILES = {file.name: file for file in real_files()}


def open_real(tmp_path, name, **options):
    file = FILES[name]
    path = tmp_path / name
    path.write_bytes(file.data)
    return open_source(path, **file.options | options)


def test_there_are_at_least_twenty():
    assert len(FILES) >= 20


@pytest.mark.parametrize("name", FILES)
def test_no_row_is_lost_and_the_page_shows_the_schema(tmp_path, name):
    with open_real(tmp_path, name) as source:
        line = as_markdown(FILES[name], source)
        rows = [batch.X for batch in source]
    assert sum(X.shape[0] for X in rows) == N_ROWS * (2 if name == "access.csv.zst" else 1)
    assert source.quarantined == 0
    assert line in PAGE.read_text(encoding="utf-8").splitlines(), line


@pytest.mark.parametrize("name", FILES)
def test_the_saved_schema_reads_the_file_in_the_same_way(tmp_path, name):
    with open_real(tmp_path, name) as source:
        first = next(source)
        source.schema.write(tmp_path / "schema.json")
    with open_source(tmp_path / name, schema=tmp_path / "schema.json") as again:
        second = next(again)
    as_dense = np.asarray if isinstance(first.X, np.ndarray) else lambda X: X.toarray()
    np.testing.assert_array_equal(as_dense(second.X), as_dense(first.X))
    np.testing.assert_array_equal(second.time, first.time)
    shown = {field.name for field in source.schema.fields if field.kind != "ignore"}
    assert again.examples.keys() >= shown & source.examples.keys()


@pytest.mark.parametrize(
    ("name", "column", "first"),
    [
        ("bank.csv", "Betrag", 404.02),
        ("ventes.csv", "montant", 404.02),
        ("schweiz.csv", "Preis", 404.02),
        ("sales.csv", "total", 404.02),
        ("india.csv", "income", 1234567),
        ("ledger.csv", "saldo", 1234.5),
        ("russian.csv", "сумма", 404.02),
        ("excel.txt", "Größe", 0),
        ("orders.jsonl", "user.age", 20),
    ],
)
def test_numbers_are_what_was_meant(tmp_path, name, column, first):
    with open_real(tmp_path, name) as source:
        at = source.schema.feature_names.index(column)
        X = next(source).X
    assert X[0, at] == first
    if name == "ledger.csv":
        assert X[:4, at].tolist() == [1234.5, -99.1, -12.5, 7]


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("bank.csv", 1735689600.0),
        ("ventes.csv", 1735689600.0),
        ("sales.csv", 1735693200.0),
        ("orders.jsonl", 1735891860.0),
        ("access.csv.zst", 1727733636.0),
        ("ambiguous.csv", 1735689600.0),
        ("sorted.csv", 1754006400.0),
    ],
)
def test_times_are_what_was_meant(tmp_path, name, seconds):
    with open_real(tmp_path, name) as source:
        assert next(source).time[0] == seconds


def test_cyrillic_text_without_its_encoding_is_asked_for(tmp_path):
    with pytest.raises(ValueError, match=r"encoding cannot be guessed: give encoding .*cp1251"):
        open_real(tmp_path, "russian.csv", encoding=None)
