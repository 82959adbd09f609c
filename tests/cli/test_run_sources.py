"""`everlearn run` on folders, queries, addresses and arrays: again, only new rows are learned."""

import contextlib
import json
import sqlite3

import numpy as np

from cli.cli_helpers import RUN, everlearn, failed, payments, ran, status_of, write_csv

NAMED = ("--label", "is_fraud", "--id", "number", *RUN)


def test_a_folder_that_grows(tmp_path, store):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    rows = payments(500)
    write_csv(inbox / "2025-01.csv", rows[:150])
    write_csv(inbox / "2025-02.csv", rows[150:250])
    (inbox / "notes.md").write_text("not a source")
    ran("run", inbox, "--store", store, *NAMED)
    assert status_of(store)["rows"] == 250
    assert "has no new file" in everlearn("run", inbox, "--store", store, *NAMED).stderr
    write_csv(inbox / "2025-03.csv", rows[250:400])
    (inbox / "2025-01.csv").unlink()  # archived
    with (inbox / "2025-02.csv").open("a") as file:
        file.writelines(",".join(map(str, row)) + "\n" for row in rows[400:450])
    ran("run", inbox, "--store", store, *NAMED)
    assert status_of(store)["rows"] == 450
    write_csv(inbox / "2024-12.csv", rows[450:])  # late, and first by name
    ran("run", inbox, "--store", store, *NAMED)
    assert status_of(store)["rows"] == 500
    assert "for a single file" in failed("run", inbox, "--store", store, *NAMED, "--limit", 5)
    (tmp_path / "empty").mkdir()
    assert "no file of a known format" in failed("run", tmp_path / "empty", "--store", store)
    assert "amount" in ran("schema", inbox, "--label", "is_fraud")


def test_a_query_is_continued_if_it_is_ordered(tmp_path, store):
    path = tmp_path / "shop.sqlite"
    rows = payments(300)

    def insert(some):
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute(
                "CREATE TABLE IF NOT EXISTS p (number TEXT, amount REAL, shop TEXT, hour REAL, is_fraud INT)"
            )
            db.executemany("INSERT INTO p VALUES (?, ?, ?, ?, ?)", some)

    insert(rows[:200])
    ordered = ("run", path, "--sql", "SELECT * FROM p ORDER BY rowid", "--store", store, *NAMED)
    ran(*ordered)
    assert status_of(store)["rows"] == 200
    insert(rows[200:])
    assert "200 rows" in everlearn(*ordered).stderr
    assert status_of(store)["rows"] == 300
    unordered = ("run", path, "--sql", "SELECT * FROM p", "--store", store, *NAMED)
    assert "duplicate" in failed(*unordered).lower()
    found = ran("predict", store, path, "--sql", "SELECT * FROM p LIMIT 3").splitlines()
    assert len(found) == 4


def test_embeddings_of_unit_length(tmp_path, store):
    random = np.random.default_rng(0)
    centers = random.normal(size=(2, 8))
    X = centers[np.arange(400) % 2] + random.normal(size=(400, 8))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    path = tmp_path / "e.jsonl"
    path.write_text(
        "".join(json.dumps({"embedding": row.tolist(), "label": i % 2}) + "\n" for i, row in enumerate(X))
    )
    out = everlearn("run", path, "--store", store, *RUN)
    assert "unit length" in out.stderr
    assert "cosine" in status_of(store)["learner"]
    assert status_of(store)["scores"]["total"]["accuracy"] > 0.8
    np.savez(tmp_path / "e.npz", embedding=X)
    assert len(ran("predict", store, tmp_path / "e.npz").splitlines()) == 401


def test_text_is_learned_with_cosine_kernels_and_the_frequencies_of_the_first_rows(tmp_path, store):
    random = np.random.default_rng(0)
    topics = (["invoice", "refund", "payment", "charged"], ["crash", "login", "screen", "update"])
    lines = []
    for i in range(300):
        words = ["the", "and", *random.choice(topics[i % 2], 2), f"case{i}", *(["new"] if i >= 200 else [])]
        lines.append(f"{' '.join(words)},{i % 2}\n")
    path = tmp_path / "tickets.csv"
    path.write_text("body,label\n" + "".join(lines[:200]))
    everlearn("run", path, "--store", store, *RUN)
    path.write_text("body,label\n" + "".join(lines))
    everlearn("run", path, "--store", store, *RUN)
    everlearn("run", path, "--store", f"{store}2", *RUN)
    status = status_of(store)
    assert "cosine" in status["learner"]
    assert status["scores"]["total"]["accuracy"] > 0.8
    (field,) = (field for field in status["schema"]["fields"] if field["kind"] == "text")
    assert field["frequencies"]
    assert ran("predict", store, path) == ran("predict", f"{store}2", path)
