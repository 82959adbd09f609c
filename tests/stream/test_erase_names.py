"""Erased rows leave the schema and the quarantine files, too: category names and rejected records."""

import json

import pytest

from everlearn.read.schema import Schema
from stream.erase_helpers import AMOUNT, PERSON, SECRETS, X, in_files, name, run
from stream.stream_helpers import opened, unchanged


def test_names_of_categories_that_nobody_else_has_go(tmp_path):
    cities = ["Paris", "Rome"] * 20 + ["Atlantis"]
    cells = {
        "city": cities,
        "amount": [str(i) for i in range(40)] + [str(AMOUNT)],
        "label": ["0", "1"] * 20 + [""],
    }
    schema = Schema.infer(cells, label="label")
    rows, _ = schema.encode(cells, 41)
    with opened(tmp_path / "store", snapshot_every=10) as learner:
        learner.set_schema(schema.state() | {"run": {"sources": [], "settings": {}}})
        for start in range(0, 40, 10):
            learner.step(rows[start : start + 10], [0, 1] * 5)
        learner.step(rows[40:], ids=[PERSON])
        certificate = learner.erase([PERSON, 0])
        assert certificate.categories == 1
        kept = learner.status()["schema"]
        assert (
            Schema.from_state({k: v for k, v in kept.items() if k != "run"}).n_features == schema.n_features
        )
        assert sorted(kept["fields"][0]["categories"]) == ["(erased 1)", "Paris", "Rome"]
        assert certificate.model_difference["bit_equal"]
        assert in_files(tmp_path, "Atlantis", *SECRETS) == []
        assert learner.erase([1, 2]).categories == 0


def test_names_of_categories_leave_older_descriptions(tmp_path):
    cells = {"city": ["Paris", "Rome"] * 5 + ["Atlantis"], "amount": [str(float(i)) for i in range(11)]}
    schema = Schema.infer(cells)
    rows, _ = schema.encode(cells, 11)
    renamed = schema.state()
    renamed["fields"] = [
        {**field, "name": field["name"].replace("amount", "euros")} for field in renamed["fields"]
    ]
    with opened(tmp_path / "store", snapshot_every=5) as learner:
        learner.set_schema(schema.state())
        learner.step(rows[:10])
        learner.step(rows[10:], ids=[PERSON])
        learner.set_schema(renamed)
        assert learner.erase([PERSON]).categories == 1
        assert [field["name"] for field in learner.status()["schema"]["fields"]][-1] == "euros"
        assert in_files(tmp_path, "Atlantis") == []


def test_bad_rows_leave_the_quarantine(tmp_path):
    quarantine = tmp_path / "bad.jsonl"
    raws = [
        f"{PERSON},x,1",
        "row-9,x,2",
        f'{{"id": "{PERSON}", "a": [1]}}',
        "70,5,x",
        "7,70x,1",
        f'"{PERSON}",2,x',
    ]
    lines = [json.dumps({"source": "s", "line": i, "reason": "r", "raw": raw}) for i, raw in enumerate(raws)]
    quarantine.write_text("\n".join(lines) + "\n" + '{"torn": "person-47')
    with run(opened(tmp_path / "store"), n=60) as learner:
        assert learner.erase([PERSON], quarantine=[quarantine]).quarantined == 3
        assert [json.loads(line)["raw"][:2] for line in quarantine.read_text().splitlines()[:-1]] == [
            "ro",
            "70",
            "7,",
        ]
        learner.step(X[:1], ids=[70])
        assert learner.erase([70], quarantine=[quarantine]).quarantined == 1
        with unchanged(learner), pytest.raises(FileNotFoundError):
            learner.erase([name(1)], quarantine=[tmp_path / "nowhere"])
    assert in_files(tmp_path, *SECRETS) == []


def test_ids_without_a_row_are_looked_for_in_the_quarantine_only(tmp_path):
    quarantine = tmp_path / "bad.jsonl"
    quarantine.write_text(json.dumps({"source": "s", "line": 1, "reason": "r", "raw": f"{PERSON},x"}) + "\n")
    with run(opened(tmp_path / "store"), n=40) as learner:  # the person has not come
        with unchanged(learner):
            with pytest.raises(ValueError, match="No row with the id"):
                learner.erase([PERSON], quarantine=[quarantine])
            certificate = learner.erase([PERSON], quarantine=[quarantine], missing="ignore")
        assert (certificate.rows, certificate.quarantined, certificate.method) == (0, 1, "none")
        assert certificate.covers(PERSON)
        certificate = learner.erase([PERSON, name(7)], missing="ignore")
        assert (certificate.rows, certificate.model_difference["bit_equal"]) == (1, True)
        assert learner.erase([name(7)], missing="ignore").rows == 0
        with pytest.raises(ValueError, match="missing must be"):
            learner.erase([name(8)], missing="maybe")
    assert quarantine.read_text() == ""
