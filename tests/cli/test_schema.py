"""`everlearn schema`, and the schema of a store."""

import json
import re

from cli.cli_helpers import RUN, everlearn, learn, payments, status_of, write_csv


def test_the_schema_is_shown_and_guesses_are_marked(stream, store):
    out = learn(stream, store).stderr
    assert re.search(r"amount +numeric \?", out)
    assert re.search(r"is_fraud +label +-", out)
    assert not any(line != line.rstrip() for line in out.splitlines())


def test_a_schema_can_be_written_edited_and_used(stream, store, tmp_path):
    file = tmp_path / "schema.json"
    everlearn("schema", stream, "--label", "is_fraud", "--id", "number", "--out", file)
    edited = json.loads(file.read_text())
    next(field for field in edited["fields"] if field["name"] == "hour")["kind"] = "ignore"
    file.write_text(json.dumps(edited))
    everlearn("run", stream, "--store", store, "--schema", file, *RUN)
    kinds = {field["name"]: field["kind"] for field in status_of(store)["schema"]["fields"]}
    assert kinds["hour"] == "ignore"


def test_the_schema_of_the_store_is_kept(tmp_path, store):
    rows = payments(200)
    learn(write_csv(tmp_path / "a.csv", rows[:100]), store)
    only_food = [(name, amount, "food", hour, "") for name, amount, _, hour, _ in rows[100:]]
    learn(write_csv(tmp_path / "b.csv", only_food), store)
    found = status_of(store)
    assert (found["rows"], found["labels"]) == (200, 100)
    path = write_csv(tmp_path / "c.csv", rows[:100])
    message = everlearn("run", path, "--store", store, "--label", "hour", code=1).stderr
    assert "'hour' is numeric in the schema, not label" in message
