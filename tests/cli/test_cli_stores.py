"""`everlearn backup`, `erase` and `expire`: copies that are whole, rows that are gone."""

import json

import pytest

from cli.cli_helpers import everlearn
from everlearn.store import Certificate
from everlearn.stream import NeverEndingLearner


def ran(*arguments):
    return everlearn(*arguments).stdout


def failed(*arguments):
    return " ".join(everlearn(*arguments, code=1).stderr.split())


@pytest.fixture
def store(tmp_path):
    lines = ["id,amount,city,label,time"]
    for i in range(120):
        city = "Atlantis" if i == 57 else ["Paris", "Rome"][i % 2]
        lines.append(f"c-{i},{i}.5,{city},{'' if i % 3 else i % 2},{i * 3600}")
    lines.append("c-900,not a number,Rome,,7200")
    source = tmp_path / "rows.csv"
    source.write_text("\n".join(lines) + "\n")
    place = tmp_path / "store"
    options = ["--id", "id", "--time", "time", "--kind", "amount=numeric", "--kind", "city=categorical"]
    ran("run", source, "--store", place, *options, "--quarantine", tmp_path / "bad.jsonl", "--quiet")
    return place


def test_a_backup_says_what_is_in_it(store, tmp_path):
    out = ran("backup", store, tmp_path / "copy")
    assert "Wrote and verified" in out
    assert "120 rows" in out
    with NeverEndingLearner.open(tmp_path / "copy") as copy:
        assert copy.status()["rows"] == 120
    assert "use --overwrite" in failed("backup", store, tmp_path / "copy")
    ran("backup", store, tmp_path / "copy", "--overwrite")
    for name in (store, f"{store}-wal", f"{store}-lock"):
        assert "choose another file" in failed("backup", store, name, "--overwrite")


def test_erased_rows_are_nowhere(store, tmp_path):
    certificate = tmp_path / "certificate.json"
    assert b"Atlantis" in store.read_bytes()
    out = ran("erase", store, "c-57", "c-3", "--by", "officer", "--certificate", certificate, "--yes")
    assert "Erased 2 rows, 2 labels" in out
    assert "bit for bit" in out
    found = Certificate.from_dict(json.loads(certificate.read_text()))
    assert found.covers("c-57")
    assert found.by == "officer"
    for path in tmp_path.iterdir():
        if path.name not in ("rows.csv",):
            assert b"c-57" not in path.read_bytes(), path
            assert b"Atlantis" not in path.read_bytes(), path
    assert "was erased" in failed("erase", store, "c-57", "--yes")
    assert "2 erased" in ran("status", store)


def test_the_quarantine_of_a_run_is_known(store, tmp_path):
    (tmp_path / "ids.txt").write_text("c-1\n\nc-2\n")
    with (tmp_path / "bad.jsonl").open("a") as file:
        file.write(json.dumps({"source": "x", "line": 1, "reason": "r", "raw": "c-2,oops"}) + "\n")
    out = ran("erase", store, "--ids-file", tmp_path / "ids.txt", "--yes")
    assert "Erased 2 rows" in out
    assert "1 quarantined row." in out
    assert [json.loads(line)["raw"][:5] for line in (tmp_path / "bad.jsonl").read_text().splitlines()] == [
        "c-900"
    ]


def test_ids_that_are_in_the_quarantine_only(store):
    out = ran("erase", store, "c-900", "--ignore-missing", "--yes")
    assert "Erased 0 rows" in out
    assert "1 quarantined row." in out
    assert "None of these ids has a row in the store." in out


def test_what_erase_refuses(store, tmp_path):
    before = store.read_bytes()
    assert "pass --yes" in failed("erase", store, "c-1")
    assert "No row with the id 'who'" in failed("erase", store, "who", "--yes")
    assert "No ids" in failed("erase", store, "--yes")
    assert "choose another file" in failed("erase", store, "c-1", "--yes", "--certificate", store)
    assert "There is no store" in failed("erase", tmp_path / "nothing", "c-1", "--yes")
    with NeverEndingLearner.open(store) as learner:
        assert learner.status()["erased"] == 0
    assert len(before) > 0


def test_nothing_is_erased_if_the_certificate_cannot_be_written(store, tmp_path):
    for wrong in (tmp_path, tmp_path / "no" / "where.json"):
        assert "cannot be written" in failed("erase", store, "c-57", "--certificate", wrong, "--yes")
    with NeverEndingLearner.open(store) as learner:
        assert learner.status()["erased"] == 0


def test_integers_and_strings_are_told_apart(tmp_path):
    place = tmp_path / "store"
    with NeverEndingLearner.open(place) as learner:
        learner.step([[0.0], [1.0], [2.0], [3.0]], ["a", "b", "a", "b"], ids=[17, "18", 19, "19"])
    ran("erase", place, "17", "18", "--yes")
    with NeverEndingLearner.open(place) as learner:
        assert learner.status()["erased"] == 2
    assert "the store has a row '19' and a row 19" in failed("erase", place, "19", "--yes")


def test_old_rows_expire(tmp_path):
    source, place = tmp_path / "rows.csv", tmp_path / "store"
    rows = [f"c-{i},{i}.5,{i % 2},{i * 86400}" for i in range(20)]
    source.write_text("\n".join(["id,amount,label,time", *rows]) + "\n")
    ran(
        "run",
        source,
        "--store",
        place,
        "--batch-size",
        "1",
        "--infer-rows",
        "5",
        "--max-age",
        "5d",
        "--quiet",
    )
    assert b'c-3"' not in place.read_bytes()
    assert b"c-18" in place.read_bytes()
    assert "Expired 6 rows." in ran("expire", place)
    assert b"c-18" not in place.read_bytes()
    assert "everlearn run --max-age 30d" in failed("expire", _ageless(tmp_path))
    assert "such as '30d'" in failed("run", source, "--store", tmp_path / "new", "--max-age", "soon")


def _ageless(folder):
    NeverEndingLearner.open(folder / "ageless").close()
    return folder / "ageless"
