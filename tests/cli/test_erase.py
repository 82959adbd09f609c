"""`everlearn erase`: no file has the rows any more."""

import json

from cli.cli_helpers import failed, ran
from everlearn.store import Certificate
from everlearn.stream import NeverEndingLearner


def test_erased_rows_are_nowhere(city_store, tmp_path):
    certificate = tmp_path / "certificate.json"
    assert b"Atlantis" in city_store.read_bytes()
    out = ran("erase", city_store, "c-57", "c-3", "--by", "officer", "--certificate", certificate, "--yes")
    assert "Erased 2 rows, 2 labels" in out
    assert "bit for bit" in out
    found = Certificate.from_dict(json.loads(certificate.read_text()))
    assert found.covers("c-57")
    assert found.by == "officer"
    for path in tmp_path.iterdir():
        if path.name not in ("rows.csv",):
            assert b"c-57" not in path.read_bytes(), path
            assert b"Atlantis" not in path.read_bytes(), path
    assert "was erased" in failed("erase", city_store, "c-57", "--yes")
    assert "2 erased" in ran("status", city_store)


def test_the_quarantine_of_a_run_is_known(city_store, tmp_path):
    (tmp_path / "ids.txt").write_text("c-1\n\nc-2\n")
    with (tmp_path / "bad.jsonl").open("a") as file:
        file.write(json.dumps({"source": "x", "line": 1, "reason": "r", "raw": "c-2,oops"}) + "\n")
    out = ran("erase", city_store, "--ids-file", tmp_path / "ids.txt", "--yes")
    assert "Erased 2 rows" in out
    assert "1 quarantined row." in out
    assert [json.loads(line)["raw"][:5] for line in (tmp_path / "bad.jsonl").read_text().splitlines()] == [
        "c-900"
    ]


def test_ids_that_are_in_the_quarantine_only(city_store):
    out = ran("erase", city_store, "c-900", "--ignore-missing", "--yes")
    assert "Erased 0 rows" in out
    assert "1 quarantined row." in out
    assert "None of these ids has a row in the store." in out


def test_what_erase_refuses(city_store, tmp_path):
    before = city_store.read_bytes()
    assert "pass --yes" in failed("erase", city_store, "c-1")
    assert "No row with the id 'who'" in failed("erase", city_store, "who", "--yes")
    assert "No ids" in failed("erase", city_store, "--yes")
    assert "choose another file" in failed("erase", city_store, "c-1", "--yes", "--certificate", city_store)
    assert "No store" in failed("erase", tmp_path / "nothing", "c-1", "--yes")
    with NeverEndingLearner.open(city_store) as learner:
        assert learner.status()["erased"] == 0
    assert len(before) > 0


def test_nothing_is_erased_if_the_certificate_cannot_be_written(city_store, tmp_path):
    for wrong in (tmp_path, tmp_path / "no" / "where.json"):
        assert "cannot be written" in failed("erase", city_store, "c-57", "--certificate", wrong, "--yes")
    with NeverEndingLearner.open(city_store) as learner:
        assert learner.status()["erased"] == 0


def test_integers_and_strings_are_told_apart(tmp_path):
    place = tmp_path / "store"
    with NeverEndingLearner.open(place) as learner:
        learner.step([[0.0], [1.0], [2.0], [3.0]], ["a", "b", "a", "b"], ids=[17, "18", 19, "19"])
    ran("erase", place, "17", "18", "--yes")
    with NeverEndingLearner.open(place) as learner:
        assert learner.status()["erased"] == 2
    assert "Ambiguous id: the store has both '19' and 19." in failed("erase", place, "19", "--yes")
