"""`everlearn serve` under load and faults: kills, a full disk, a database that restarts."""

import resource
import uuid

import pytest

from serve.faults import torment
from serve.load import measure, same_as_a_replay
from serve.notes_helpers import answers_to, ask, note, set_up_notes
from serve.server_process import ServerProcess
from stream.postgres_server import new_database, programs, restartable_server, server


def test_a_little_load(tmp_path, capsys):
    outcome, wrong = measure(tmp_path, annotators=10, rate=200.0, seconds=4.0, pause=0.2)
    assert wrong == []
    assert outcome.rows
    assert outcome.answers
    assert all(status == 429 for _, status in outcome.refused)
    assert "p99" in capsys.readouterr().out
    assert same_as_a_replay(tmp_path / "load.everlearn")


def test_kills_under_load_lose_nothing(tmp_path):
    outcome, done, wrong = torment(
        tmp_path, kills=3, annotators=5, rate=100.0, seconds=120.0, pause=0.2, alive=1.0
    )
    assert wrong == []
    assert done == 3
    assert outcome.rows
    assert outcome.answers


def rows_of(first, n=20):
    made = [note(number)[0] for number in range(first, first + n)]
    return {"rows": [{"id": row["id"], "fields": row} for row in made]}


def test_a_full_disk_refuses_and_loses_nothing(process):
    set_up_notes(process)
    acknowledged = []
    with process.client() as admin, process.person("Ada") as ada:
        size = max(path.stat().st_size for path in process.store.parent.glob("notes.everlearn*"))
        resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (size + 50_000, resource.RLIM_INFINITY))
        refused = None
        for turn in range(200):
            body, key = rows_of(1000 + 20 * turn), {"Idempotency-Key": uuid.uuid4().hex}
            done = admin.post("/v1/rows", json=body, headers=key)
            if done.status_code != 200:
                refused = done
                break
            acknowledged += [row["id"] for row in body["rows"]]
        assert refused is not None
        assert refused.status_code == 503, refused.text
        assert refused.json()["code"]
        assert ada.get("/v1/status").status_code == 200, "others are served from memory"
        predicted = admin.post("/v1/predict", json={"rows": [{"fields": note(1)[0]}]})
        assert predicted.status_code == 200
        no_limit = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, no_limit)
        again = admin.post("/v1/rows", json=body, headers=key)
        assert again.status_code == 200, again.text
        assert not again.json()["replayed"], "nothing of it had been stored"
        acknowledged += [row["id"] for row in body["rows"]]
        given = answers_to(ask(ada)["questions"])
        assert ada.post("/v1/labels", json=given).status_code == 200
        stored = admin.get("/v1/status").json()["rows"]
    assert stored == 100 + len(acknowledged)
    process.kill()
    assert same_as_a_replay(process.store)


if programs() is not None:  # a test of the store fails without a server

    def test_a_database_as_the_store():
        with server() as url, ServerProcess(new_database(url, "notes")) as process:
            set_up_notes(process)
            with process.person("Ada") as ada:
                given = answers_to(ask(ada)["questions"])
                ada.post("/v1/labels", json=given).raise_for_status()
                process.kill()
                process.start()
                again = ada.post("/v1/labels", json=given).raise_for_status().json()
                assert {result["status"] for result in again["results"]} == {"replayed"}
                text = "\x00"
                refused = ada.get("/v1/history", params={"q": text})
                assert refused.status_code < 500, refused.text
            with process.client() as admin:
                assert admin.get("/v1/status").json()["labels"] == 5
                row = {"id": "z", "fields": note(3)[0] | {"id": "z", "note": "a\x00b"}}
                assert admin.post("/v1/rows", json={"rows": [row]}).status_code < 500

    def test_a_database_that_restarts():
        with restartable_server() as (url, (stop, start)):
            store = new_database(url, "notes")
            with ServerProcess(store) as process:
                set_up_notes(process)
                with process.person("Ada") as ada, process.client() as admin:
                    given = answers_to(ask(ada)["questions"])
                    ada.post("/v1/labels", json={"answers": given["answers"][:2]}).raise_for_status()
                    stop()
                    rest = {"answers": given["answers"][2:]}
                    refused = ada.post("/v1/labels", json=rest)
                    assert refused.status_code == 503, refused.text
                    assert "retry-after" in refused.headers
                    assert admin.get("/readyz").status_code == 503
                    start()
                    done = ada.post("/v1/labels", json=rest)
                    assert done.status_code == 200, done.text
                    assert {result["status"] for result in done.json()["results"]} == {"learned"}
                    assert ada.post("/v1/labels", json=given).json()["results"][0]["status"] == "replayed"
                    assert admin.get("/readyz").status_code == 200
                    assert admin.get("/v1/status").json()["labels"] == 5
                    second = ServerProcess(store)
                    with pytest.raises(RuntimeError, match="open in another process"):
                        second.start()
            assert same_as_a_replay(store)
