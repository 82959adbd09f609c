"""Quarantine: bad rows are counted and written down, and rows that mention an id can be erased."""

import json

import pytest

from everlearn.read._blocks import BadRow
from everlearn.read.quarantine import Quarantine, check_path, check_records, erase_records


def record(raw):
    return {"source": "s.csv", "line": 1, "reason": "r", "raw": raw}


def write_records(path, *raws):
    path.write_text("".join(json.dumps(record(raw)) + "\n" for raw in raws))
    return path


def raws(path):
    return [json.loads(line)["raw"] for line in path.read_text().splitlines()]


def bad_rows(n, raw="x"):
    return [BadRow(line, f"reason {line % 2}", raw) for line in range(1, n + 1)]


# ------------------------------------------------------------------------------------------------ adding rows


def test_all_rows_are_counted_and_written_and_the_first_twenty_are_kept(tmp_path):
    quarantine = Quarantine("s.csv", tmp_path / "bad.jsonl", "skip")
    rows = bad_rows(50)
    quarantine.add(rows[:15])
    quarantine.add(rows[15:])
    quarantine.close()
    assert quarantine.reasons == {"reason 0": 25, "reason 1": 25}
    assert quarantine.first == rows[:20]
    written = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
    assert written == [{"source": "s.csv", "line": r.line, "reason": r.reason, "raw": r.raw} for r in rows]


def test_long_rows_are_written_whole_and_kept_in_part(tmp_path):
    quarantine = Quarantine("s.csv", tmp_path / "bad.jsonl", "skip")
    quarantine.add(bad_rows(1, raw="y" * 5000))
    assert quarantine.first[0].raw == "y" * 1000
    assert raws(tmp_path / "bad.jsonl") == ["y" * 5000]
    quarantine.close()


def test_rows_of_an_earlier_run_are_counted_and_not_written_again(tmp_path):
    quarantine = Quarantine("s.csv", tmp_path / "bad.jsonl", "skip")
    quarantine.add(bad_rows(3), already_written=True)
    assert sum(quarantine.reasons.values()) == 3
    assert not (tmp_path / "bad.jsonl").exists()


def test_the_file_is_appended_to_after_it_was_closed(tmp_path):
    path = write_records(tmp_path / "bad.jsonl", "from before")
    quarantine = Quarantine("s.csv", path, "skip")
    for raw in ("a", "b"):
        quarantine.add(bad_rows(1, raw))
        quarantine.close()
    assert raws(path) == ["from before", "a", "b"]


def test_control_characters_are_escaped_in_the_file(tmp_path):
    quarantine = Quarantine("s.csv", tmp_path / "bad.jsonl", "skip")
    quarantine.add(bad_rows(1, raw="\x1b[2J\u202e"))
    quarantine.close()
    assert raws(tmp_path / "bad.jsonl") == ["\x1b[2J\u202e"]
    assert (tmp_path / "bad.jsonl").read_text().isascii()


def test_a_bad_row_can_be_an_error(tmp_path):
    quarantine = Quarantine("s.csv", tmp_path / "bad.jsonl", "error")
    quarantine.add([])
    with pytest.raises(ValueError, match=r"Line 1 of s\.csv is bad: reason 1\."):
        quarantine.add(bad_rows(2))
    assert not quarantine.reasons
    assert not (tmp_path / "bad.jsonl").exists()


# --------------------------------------------------------------------------------------------------- the file


def test_the_source_and_its_schema_are_no_place_for_bad_rows(tmp_path):
    source, schema = tmp_path / "s.csv", tmp_path / "schema.json"
    source.write_text("x\n")
    schema.write_text("{}")
    (tmp_path / "link").symlink_to(source)
    for path, role in ((source, "source"), (tmp_path / "link", "source"), (schema, "schema")):
        with pytest.raises(ValueError, match=f"is the {role}: choose another file"):
            check_path(str(path), str(source), str(schema))
    check_path(str(tmp_path / "bad.jsonl"), str(source), str(schema))
    check_path(str(tmp_path / "bad.jsonl"), str(source), None)


# ---------------------------------------------------------------------------------------------------- erasing


@pytest.mark.parametrize(
    ("row_id", "raw"),
    [
        ("p7", "p7,3,x"),
        ("p7", "3;p7"),
        (7, "3|7|x"),
        ("p7", '{"user": {"ids": ["p6", "p7"]}}'),
        ("p7", '{"user": "p7", "a": '),
        ("p7", '{"user": "p\\u0037"}'),
        ("p7", '"p7", "3'),
        ("Anna Maria", "Anna Maria;3;x"),
        ("O'Brien", '{"id": "O\'Brien", "a": '),
        ("person:4711", "a,person:4711 b,x"),
        ("M\u00fcller", '{"id": "M\\u00fcller", "a":'),
        ('a"b', '"a""b";3;x'),
        ("2024-01-01 10:00", "2024-01-01 10:00|x"),
    ],
)
def test_records_that_mention_an_id_are_erased_and_no_others(tmp_path, row_id, raw):
    path = write_records(tmp_path / "bad.jsonl", "Anna;Maria;4711", raw, "p77,xp7,p7x")
    assert erase_records(path, [row_id, "nobody"]) == 1
    assert raws(path) == ["Anna;Maria;4711", "p77,xp7,p7x"]


def test_a_record_that_a_crash_cut_off_is_searched_too(tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(record("a,1")) + '\n{"source": "s", "line": 9, "raw": "p7,')
    assert erase_records(path, ["p7"]) == 1
    assert raws(path) == ["a,1"]


def test_a_file_without_the_ids_is_not_replaced(tmp_path):
    path = write_records(tmp_path / "bad.jsonl", "a,1")
    before = path.stat()
    assert erase_records(path, ["p7"]) == 0
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    for check in (check_records, lambda path: erase_records(path, ["p7"])):
        with pytest.raises(FileNotFoundError):
            check(tmp_path / "nothing.jsonl")
    check_records(write_records(tmp_path / "bad.jsonl", "a,1"))
