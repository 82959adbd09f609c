"""`everlearn serve` as a process, with a learner: from an empty store to a model, through kills."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
import uuid
from urllib.parse import quote

import httpx
import pytest

from everlearn.stream import NeverEndingLearner
from serve.load import differences, load, measure, set_up
from serve.server_process import TIMEOUT, ServerProcess
from stream.postgres_server import new_database, programs, server
from stream.stream_helpers import bits

WORDS = {
    "praise": ["great", "thanks", "love", "perfect", "happy"],
    "refund": ["money", "return", "broken", "charged", "back"],
}
XSS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'; DROP TABLE rows; --",
    "\u202etxt.exe",
]


def note(number):
    """A row and its class."""
    label = list(WORDS)[number % 2]
    words = WORDS[label]
    text = " ".join(words[(number * step + step) % len(words)] for step in (1, 2, 3))
    return {"id": f"n{number}", "note": f"{text} {number}", "amount": float(number % 17), "kind": "a"}, label


def upload(client, rows):
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    kind = {"Content-Type": "application/x-ndjson"}
    seen = client.post("/v1/setup:inspect?name=notes.jsonl", content=lines, headers=kind)
    assert seen.status_code == 200, seen.text
    return seen.json()


def set_up_notes(process, n_rows=100):
    with process.client() as admin:
        seen = upload(admin, [note(number)[0] for number in range(n_rows)])
        fields = [{"name": field["name"], "kind": field["kind"]} for field in seen["fields"]]
        given = {"upload": seen["upload"], "fields": fields, "label_column": None, "classes": list(WORDS)}
        response = admin.post("/v1/setup", json={**given, "name": "Notes"})
        assert response.status_code == 200, response.text
        return response.json()


def truth(question):
    text = next(field["text"] for field in question["fields"] if field["name"] == "note")
    return next(label for label, words in WORDS.items() if text.split()[0] in words)


def answers_to(questions, label=truth):
    return {
        "answers": [
            {
                "id": question["id"],
                "kind": "label",
                "label": label(question),
                "key": uuid.uuid4().hex,
                "lease": {name: question["lease"][name] for name in ("id", "token")},
            }
            for question in questions
        ]
    }


def ask(client, n=5):
    response = client.get("/v1/questions", params={"n": n})
    assert response.status_code == 200, response.text
    return response.json()


@pytest.fixture
def process(tmp_path):
    with ServerProcess(tmp_path / "notes.everlearn") as process:
        yield process


def test_from_nothing_to_a_model(process):
    with process.client() as admin:
        empty = admin.get("/v1/status").json()
        assert empty["setup_needed"] is True
        assert empty["me"] == {"name": "admin", "role": "admin"}
        assert admin.get("/v1/questions").status_code in (200, 409)
        assert admin.post("/v1/rows", json={"rows": [{"fields": {"note": "x"}}]}).status_code == 409
    status = set_up_notes(process)
    assert (status["rows"], status["name"], status["setup_needed"]) == (100, "Notes", False)
    with process.person("Ada") as ada:
        for _ in range(6):
            found = ask(ada)
            assert found["empty"] is None, found
            done = ada.post("/v1/labels", json=answers_to(found["questions"]))
            assert done.status_code == 200, done.text
            assert {result["status"] for result in done.json()["results"]} == {"learned"}
    with process.client() as admin:
        row, label = note(1000)
        predicted = admin.post("/v1/predict", json={"rows": [{"fields": row}]})
        assert predicted.status_code == 200, predicted.text
        assert predicted.json()["predictions"][0]["label"] == label
        assert admin.get("/v1/status").json()["labels"] == 30
        report = admin.get("/v1/report")
        assert report.status_code == 200
        assert "<html" in report.text
        assert admin.post("/v1/setup", json={"upload": "u", "fields": []}).status_code in (404, 409)


def test_export_and_import(process, tmp_path):
    set_up_notes(process)
    with process.person("Ada") as ada, process.client() as admin:
        questions = ask(ada, 10)["questions"]
        given = answers_to(questions)
        given["answers"][0]["comment"] = "=HYPERLINK(1)"
        assert ada.post("/v1/labels", json=given).status_code == 200
        assert ada.get("/v1/export").status_code == 403
        csv = admin.get("/v1/export?what=labels&format=csv")
        assert csv.headers["content-type"].startswith("text/csv")
        assert "attachment" in csv.headers["content-disposition"]
        assert csv.text.count("Ada") == 10
        assert ",=HYPERLINK" not in csv.text, "a spreadsheet must not run it"
        lines = [json.loads(line) for line in admin.get("/v1/export?format=jsonl").text.splitlines()]
        assert {line["id"] for line in lines} == {question["id"] for question in questions}
        assert {"id", "label", "by", "at", "kind", "comment", "model_version"} <= set(lines[0])
        parquet = admin.get("/v1/export?format=parquet").content
        assert parquet.startswith(b"PAR1")
        model = admin.get("/v1/export?what=model")
        assert model.status_code == 200, model.text
        labels = "id,label,by\n" + "".join(f"n{n},{note(n)[1]},Bob\n" for n in range(50, 60))
        kind = {"Content-Type": "text/csv"}
        done = admin.post("/v1/labels:import", content=labels, headers=kind)
        assert done.status_code == 200, done.text
        before = admin.get("/v1/status").json()["sequence"]
        bad = admin.post("/v1/labels:import", content=labels + "nowhere,praise,Bob\n", headers=kind)
        assert bad.status_code in (404, 422)
        assert admin.get("/v1/status").json()["sequence"] == before, "all or none"


def test_a_retry_is_not_counted_twice(process):
    set_up_notes(process)
    with process.client() as admin, process.person("Ada") as ada:
        body = {"rows": [{"id": f"new{n}", "fields": note(n + 500)[0] | {"id": f"new{n}"}} for n in range(3)]}
        key = {"Idempotency-Key": "k-1"}
        first = admin.post("/v1/rows", json=body, headers=key)
        assert first.status_code == 200, first.text
        again = admin.post("/v1/rows", json=body, headers=key)
        assert again.json() == {**first.json(), "replayed": True}
        body["rows"][0]["fields"]["amount"] = 99.0
        other = admin.post("/v1/rows", json=body, headers=key)
        assert other.status_code == 422
        assert other.json()["code"] == "key_reused"
        assert admin.post("/v1/rows", json=body).status_code == 409, "the ids are taken"
        given = answers_to(ask(ada, 3)["questions"])
        first = ada.post("/v1/labels", json=given).json()
        again = ada.post("/v1/labels", json=given).json()
        assert {result["status"] for result in again["results"]} == {"replayed"}
        assert again["sequence"] == first["sequence"]
        (other,) = set(WORDS) - {given["answers"][0]["label"]}
        given["answers"][0]["label"] = other
        assert ada.post("/v1/labels", json=given).json()["code"] == "key_reused"
        assert admin.get("/v1/status").json()["labels"] == 3


def test_undo_is_a_real_unlearning(process):
    set_up_notes(process)
    with process.person("Ada") as ada, process.client() as admin:
        ada.post("/v1/labels", json=answers_to(ask(ada, 20)["questions"]))
        rows = {"rows": [{"fields": note(n)[0]} for n in range(20)]}
        before = admin.post("/v1/predict", json=rows).json()["predictions"]
        (question,) = ask(ada, 1)["questions"]
        ada.post("/v1/labels", json=answers_to([question], lambda q: "praise"))
        undone = ada.delete(f"/v1/labels/{question['id']}", headers={"Idempotency-Key": "u1"})
        assert undone.status_code == 200, undone.text
        assert undone.json()["answers_left"] == 0
        again = ada.delete(f"/v1/labels/{question['id']}", headers={"Idempotency-Key": "u1"})
        assert again.json()["sequence"] == undone.json()["sequence"]
        after = admin.post("/v1/predict", json=rows).json()["predictions"]
        assert [p["label"] for p in after] == [p["label"] for p in before]
        assert ada.delete(f"/v1/labels/{question['id']}").status_code == 404


def test_two_people_get_different_questions(process):
    set_up_notes(process)
    with process.person("Ada") as ada, process.person("Bob") as bob:
        first, second = ask(ada, 10)["questions"], ask(bob, 10)["questions"]
        assert first
        assert second
        assert not {q["id"] for q in first} & {q["id"] for q in second}
        claim = {name: first[0]["lease"][name] for name in ("id", "token")}
        renewed = ada.post(f"/v1/leases/{claim['id']}/renew", json={"token": claim["token"]})
        assert renewed.json()["expires_in"] > 0
        assert ada.post(f"/v1/leases/{claim['id']}/renew", json={"token": "wrong"}).status_code == 404
        assert ada.post("/v1/leases:release", json={"leases": [claim]}).json() == {"released": 1}
        assert ada.post("/v1/leases:release", json={"leases": [claim]}).json() == {"released": 0}
        late = ada.post("/v1/labels", json=answers_to([first[0]]))
        assert late.status_code == 200, "an answer without a lease counts"


def test_hostile_text_comes_back_as_data(process):
    set_up_notes(process)
    with process.client() as admin, process.person("Ada") as ada:
        for text in XSS:
            name = f"id {text}"
            fields = {"id": name, "note": text, "amount": 1.0, "kind": text}
            done = admin.post("/v1/rows", json={"rows": [{"id": name, "fields": fields}]})
            assert done.status_code == 200, done.text
            answer = {"id": name, "kind": "label", "label": "praise", "key": uuid.uuid4().hex}
            answer |= {"comment": text, "wrong_field": text}
            done = ada.post("/v1/labels", json={"answers": [answer]})
            assert done.status_code == 200, done.text
            (entry,) = ada.get("/v1/history", params={"q": text}).json()["entries"]
            assert [entry["id"], entry["comment"], entry["wrong_field"]] == [name, text, text]
        lines = [json.loads(line) for line in admin.get("/v1/export?format=jsonl").text.splitlines()]
        assert {line["comment"] for line in lines} == set(XSS)
        report = admin.get("/v1/report").text
        assert "<script>alert" not in report
        assert "onerror=alert(1)>" not in report
        for text in XSS:
            assert ada.delete(f"/v1/labels/{quote(f'id {text}', safe='')}").status_code == 200
    code, _, errors = process.stop()
    assert code == 0
    assert "\u202e" not in errors


def test_events_over_a_restart(process):
    set_up_notes(process)
    headers = {"Authorization": f"Bearer {process.token}"}
    with process.client() as admin:
        start = admin.get("/v1/status").json()["sequence"]
        for number in range(3):
            row = note(900 + number)[0]
            admin.post("/v1/rows", json={"rows": [{"id": row["id"], "fields": row}]}).raise_for_status()
    process.kill()
    process.start()
    headers = {"Authorization": f"Bearer {process.token}", "Last-Event-ID": str(start)}
    with httpx.stream("GET", f"{process.url}/v1/events", headers=headers, timeout=TIMEOUT) as stream:
        seen = []
        for line in stream.iter_lines():
            if line.startswith("id: "):
                seen.append(int(line[4:]))
            if line.startswith("event: rows") and len(seen) >= 3:
                break
    assert seen == sorted(seen)
    assert seen[0] > start


def test_sessions_and_answers_survive_a_kill(process, tmp_path):
    set_up_notes(process)
    with process.client() as admin:
        link = admin.post("/v1/links", json={"name": "Ada", "role": "annotator"}).json()["url"]
    old = process.token
    with httpx.Client(base_url=process.url, timeout=TIMEOUT) as browser:
        assert browser.get(link, follow_redirects=True).status_code == 200  # the page
        questions = ask(browser, 5)["questions"]
        given = answers_to(questions)
        first = browser.post("/v1/labels", json={"answers": given["answers"][:3]}).json()
        process.kill()
        process.start()
        again = browser.post("/v1/labels", json={"answers": given["answers"][:3]})
        assert again.status_code == 200, again.text
        assert {result["status"] for result in again.json()["results"]} == {"replayed"}
        assert again.json()["sequence"] == first["sequence"]
        late = browser.post("/v1/labels", json={"answers": given["answers"][3:]}).json()
        assert {result["status"] for result in late["results"]} == {"learned"}
    with process.client(old) as former:
        assert former.get("/v1/status").status_code == 401, "the token of the last start"
    with process.client() as admin:
        assert admin.get("/v1/status").json()["labels"] == 5


def test_the_model_is_a_replay_of_the_log(process, tmp_path):
    set_up_notes(process)
    with process.person("Ada") as ada:
        for _ in range(4):
            ada.post("/v1/labels", json=answers_to(ask(ada)["questions"])).raise_for_status()
        ada.delete(f"/v1/labels/{ada.get('/v1/history').json()['entries'][0]['id']}").raise_for_status()
    process.kill()
    process.start()
    with process.client() as admin:
        rows = {"rows": [{"fields": note(n)[0]} for n in range(100)]}
        served = [p["label"] for p in admin.post("/v1/predict", json=rows).json()["predictions"]]
        assert set(served) == set(WORDS)
    assert process.stop()[0] == 0
    with (
        NeverEndingLearner.open(process.store, read_only=True) as learner,
        NeverEndingLearner.replay(process.store) as replayed,
    ):
        assert bits(replayed) == bits(learner)
        assert replayed.status()["labels"] == 19


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


# ------------------------------------------------------------------------------------------------ the process


def test_the_ready_file_is_secret_and_removed(process):
    mode = stat.S_IMODE(os.stat(process.ready_file).st_mode)
    assert mode == 0o600
    assert set(json.loads(process.ready_file.read_text())) == {"url", "token"}
    assert httpx.get(f"{process.url}/readyz").json()["status"] == "ready"
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), 80, socket.AF_INET)}
    for address in addresses - {"127.0.0.1", "127.0.1.1"}:  # it listens on loopback only
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address, process.port), timeout=5).close()
    code, output, errors = process.stop()
    assert code == 0
    assert errors == ""
    assert output.count(process.token) == 1
    assert re.search(r"http://127\.0\.0\.1:\d+/join\?code=\S+", output)
    assert not process.ready_file.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_with_listeners_and_work(process, number):
    set_up_notes(process)
    headers = {"Authorization": f"Bearer {process.token}"}
    acknowledged = []

    def send():
        with process.client() as client:
            for place in range(10_000):
                row = note(10_000 + place)[0]
                try:
                    done = client.post("/v1/rows", json={"rows": [{"id": row["id"], "fields": row}]})
                except httpx.TransportError:
                    return
                if done.status_code == 200:
                    acknowledged.append(row["id"])

    with httpx.stream("GET", f"{process.url}/v1/events", headers=headers, timeout=TIMEOUT):
        sender = threading.Thread(target=send)
        sender.start()
        while len(acknowledged) < 5:
            time.sleep(0.01)
        code, output, errors = process.stop(number)
        sender.join(TIMEOUT)
    assert code == 0, errors
    assert output.endswith("Stopped.\n")
    assert "Traceback" not in errors
    with NeverEndingLearner.open(process.store, read_only=True) as learner:
        assert set(learner.known_ids(acknowledged)) == set(acknowledged)


def test_a_second_service_is_refused(process):
    command = [sys.executable, "-m", "everlearn.cli", "serve", str(process.store), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr
    command[-1] = str(process.port)
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 1
    assert "in use" in done.stderr


def test_settings_of_the_command_line_are_kept(tmp_path):
    store, token = tmp_path / "s.everlearn", "t" * 40
    options = ("--no-blind", "--overlap", "2:0.5", "--name", "Spring", "--lease-seconds", "30")
    with ServerProcess(store, *options, "--token", token) as process:
        assert process.token == token
        set_up_notes(process)
    with ServerProcess(store) as process, process.client() as admin:
        settings = admin.get("/v1/status").json()["settings"]
        assert settings["blind"] is False
        assert settings["overlap"] == {"answers": 2, "fraction": 0.5}
        assert settings["lease_seconds"] == 30


# ------------------------------------------------------------------------------------------------------- load


def test_a_little_load(tmp_path, capsys):
    outcome, wrong = measure(tmp_path, annotators=10, rate=200.0, seconds=4.0, pause=0.2)
    assert wrong == []
    assert outcome.rows
    assert outcome.answers
    assert all(status == 429 for _, status in outcome.refused)
    assert "p99" in capsys.readouterr().out


def test_kills_under_load_lose_nothing(tmp_path):
    import asyncio
    import random

    store = tmp_path / "load.everlearn"
    generator = random.Random(3)
    with ServerProcess(store, "--token", "t" * 40) as process:
        set_up(process, generator)
        outcome = asyncio.run(load(process, 3, 100.0, 1.0, 0.2))
        for _ in range(3):
            process.kill()
            process.start()
            more = asyncio.run(load(process, 3, 0.0, 1.0, 0.2))
            for name, people in more.answers.items():
                outcome.answers[name] += people
        process.kill()
    outcome.leased.clear()  # a restart forgets leases
    assert differences(store, outcome) == []
