"""`everlearn serve` as a process, with a learner: from an empty store to a model, through kills."""

import json
import uuid
from urllib.parse import quote

import httpx

from everlearn.stream import NeverEndingLearner
from serve.notes_helpers import WORDS, answers_to, ask, note, set_up_notes
from serve.server_process import TIMEOUT
from stream.stream_helpers import bits

XSS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'; DROP TABLE rows; --",
    "\u202etxt.exe",
]


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
