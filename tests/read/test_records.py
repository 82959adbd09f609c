"""Small tables, cell by cell."""

import json

import pytest

from everlearn.read.records import Record, read_records


def test_cells_are_text(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes('id;answer\r\n1;"zwei\nZeilen"\r\n\r\n3;NA\r\n'.encode("utf-16"))
    assert read_records(path) == [
        Record(2, {"id": "1", "answer": "zwei\nZeilen"}),
        Record(5, {"id": "3", "answer": ""}),
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, [{"id": 1, "answer": "x"}, {"id": 2}])))
    assert [record.cells for record in read_records(path)] == [
        {"id": "1", "answer": "x"},
        {"id": "2", "answer": ""},
    ]


def test_many_blocks(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id\n" + "".join(f"r{at}\n" for at in range(2500)))
    assert [record.cells["id"] for record in read_records(path)] == [f"r{at}" for at in range(2500)]


def test_a_row_that_cannot_be_read_is_an_error(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,answer\n1,x\n2\n")
    with pytest.raises(ValueError, match=r"Line 3 of .*: wrong number of fields"):
        read_records(path)
    path.write_text("1 1:2\n0 2:3\n")
    with pytest.raises(ValueError, match="no named fields"):
        read_records(path, format="libsvm")
