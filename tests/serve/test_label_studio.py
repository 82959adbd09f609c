"""Label Studio's endpoints, with payloads as version 1.23 sends them."""

import itertools
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
from starlette.testclient import TestClient

from everlearn.errors import BusyError, InputError, StoreError
from everlearn.serve.app import create_app
from everlearn.serve.label_studio import block_version, control_in
from everlearn.serve.reconcile import Reconciled, reconcile

CONFIG = (
    '<View><Text name="mail" value="$text"/><Choices name="kind" toName="mail"><Choice value="spam"/>'
    "</Choices></View>"
)
PROJECT = {"id": 4, "title": "Mail", "label_config": CONFIG, "sampling": "Uncertainty sampling"}


def task(number, text="hello"):
    return {
        "id": number,
        "data": {"text": text},
        "meta": {},
        "created_at": "2026-11-16T20:00:00.000000Z",
        "is_labeled": False,
        "project": 4,
        "annotations": [],
        "predictions": [],
    }


def annotation(number, choice="spam", by=7, updated="2026-11-16T20:00:01.000000Z", **more):
    value = {"choices": [choice]}
    return {
        "id": number,
        "result": [{"value": value, "id": "x", "from_name": "kind", "to_name": "mail", "type": "choices"}],
        "completed_by": by,
        "was_cancelled": False,
        "ground_truth": False,
        "updated_at": updated,
        "lead_time": 1.5,
        "task": None,
        **more,
    }


def event(action, **parts):
    return {"action": action, "project": PROJECT, **parts}


def send(client, payload, status=201):
    response = client.post("/webhook", json=payload)
    assert response.status_code == status, response.text
    wait_for(lambda: client.get("/label-studio/annotations").json()["waiting"] == 0)
    return response.json()


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_health_and_setup(client):
    assert client.get("/health").json() == {"status": "UP", "model_class": "everlearn"}
    given = {
        "project": "4.1763324000",
        "schema": CONFIG,
        "hostname": "http://localhost:8080",
        "access_token": "x",
        "extra_params": None,
    }
    assert client.post("/setup", json=given).json() == {"model_version": "everlearn-0"}


def test_there_are_as_many_results_as_tasks(client, service):
    given = {
        "tasks": [task(1), task(2), {"id": 3}, {**task(4), "data": "odd"}],
        "project": "4.1763324000",
        "label_config": CONFIG,
        "params": {"login": None, "password": None, "context": None},
    }
    results = client.post("/predict", json=given).json()["results"]
    assert len(results) == 4
    assert results[0] == {
        "result": [
            {"from_name": "kind", "to_name": "mail", "type": "choices", "value": {"choices": ["spam"]}}
        ],
        "score": 0.5,
        "model_version": "everlearn-0",
    }
    assert service.rows == []
    assert client.post("/predict", json={"tasks": []}).json()["results"] == []


def test_a_task_that_cannot_be_predicted_does_not_spoil_the_others(client, service, monkeypatch):
    predict = service.predict

    def strict(rows):
        if any("text" not in row.fields for row in rows):
            raise InputError("A field is missing.")
        return predict(rows)

    monkeypatch.setattr(service, "predict", strict)
    given = {"tasks": [task(1), {"id": 2, "data": {}}, task(3)], "label_config": CONFIG}
    results = client.post("/predict", json=given).json()["results"]
    assert [len(one["result"]) for one in results] == [1, 0, 1]


def test_an_annotation_becomes_a_row_and_an_answer(client, service):
    assert (
        send(client, event("ANNOTATION_CREATED", annotation=annotation(11), task=task(1)))["status"] == "ok"
    )
    assert [(row.id, row.fields) for row in service.rows] == [("ls-4-1", {"text": "hello"})]
    assert [(by, a.id, a.label) for by, a in service.answers] == [("label-studio/7", "ls-4-1", "spam")]
    later = annotation(11, "ham", updated="2026-11-16T20:05:00.000000Z")
    send(client, event("ANNOTATION_UPDATED", annotation=later, task=task(1)))
    assert len(service.rows) == 1
    first, second = (a for _, a in service.answers)
    assert second.label == "ham"
    assert first.key != second.key
    again = event("ANNOTATION_UPDATED", annotation=later, task=task(1))
    send(client, again)
    assert service.answers[-1][1].key == second.key, "the same annotation has the same key"


@pytest.mark.parametrize("action", ["ANNOTATION_DELETED", "ANNOTATIONS_DELETED"])
def test_a_deletion_without_a_task_is_forgotten(client, service, action):
    send(client, event("ANNOTATION_CREATED", annotation=annotation(11), task=task(1)))
    send(client, event("ANNOTATION_CREATED", annotation=annotation(12, by={"id": 8}), task=task(2)))
    payload = {"annotation": {"id": 11}} if action == "ANNOTATION_DELETED" else {"annotations": [{"id": 11}]}
    send(client, event(action, **payload))
    assert service.undone == [("ls-4-1", "label-studio/7")]
    assert client.get("/label-studio/annotations").json()["annotations"] == {"12": "ls-4-2"}
    send(client, event(action, **payload))  # again, and unknown ones
    send(client, event(action, annotations=[{"id": 99}, {"id": None}, "odd"]))
    assert len(service.undone) == 1


def test_many_at_once(client, service):
    several = [annotation(20 + n, task=task(n)) for n in range(5)]
    send(client, event("ANNOTATIONS_CREATED", annotations=several))
    assert [row.id for row in service.rows] == [f"ls-4-{n}" for n in range(5)]
    send(client, event("ANNOTATIONS_DELETED", annotations=[{"id": 20 + n} for n in range(5)]))
    assert len(service.undone) == 5


def test_a_skipped_annotation_is_no_label(client, service):
    send(client, event("ANNOTATION_CREATED", annotation=annotation(11, was_cancelled=True), task=task(1)))
    assert service.answers == []
    send(client, event("ANNOTATION_CREATED", annotation=annotation(11), task=task(1)))
    send(client, event("ANNOTATION_UPDATED", annotation={**annotation(11), "result": []}, task=task(1)))
    assert service.answers == []
    assert len(service.undone) == 1


@pytest.mark.parametrize("action", ["PROJECT_UPDATED", "TASKS_CREATED", "START_TRAINING", "other"])
def test_other_events_are_ignored(client, service, action):
    assert send(client, event(action, tasks=[{"id": 1}]), status=200) == {"status": "Unknown event"}
    assert service.rows == []


def test_the_webhook_is_durable_before_it_is_learned(client, service, access):
    service.setup_needed = True  # nothing can be learned yet
    payload = event("ANNOTATION_CREATED", annotation=annotation(11), task=task(1))
    assert client.post("/webhook", json=payload).status_code == 201
    assert [key for key in service.kept if key.startswith("label_studio/inbox/")]
    assert service.answers == []
    service.setup_needed = False
    # Another process begins with what was stored.
    with TestClient(create_app(service, access)):
        wait_for(lambda: len(service.answers) == 1)
        wait_for(lambda: not [key for key in service.kept if key.startswith("label_studio/inbox/")])
    assert service.kept["label_studio/annotation/11"] == ["ls-4-1", "label-studio/7"]


def test_what_cannot_be_learned_does_not_block_the_rest(client, service, monkeypatch):
    def refuse(by, answers):
        raise InputError("Not a class.")

    with monkeypatch.context() as patch:
        patch.setattr(service, "answer", refuse)
        send(client, event("ANNOTATION_CREATED", annotation=annotation(11), task=task(1)))
    send(client, event("ANNOTATION_CREATED", annotation=annotation(12), task=task(2)))
    assert [a.id for _, a in service.answers] == ["ls-4-2"]


def test_a_busy_service_learns_later(client, service, monkeypatch):
    answer, calls = service.answer, []

    def busy_once(by, answers):
        calls.append(by)
        if len(calls) == 1:
            raise BusyError("Busy.")
        return answer(by, answers)

    monkeypatch.setattr(service, "answer", busy_once)
    send(client, event("ANNOTATION_CREATED", annotation=annotation(11), task=task(1)))
    assert len(service.answers) == 1


def test_the_version_changes_by_blocks():
    versions = [block_version(number) for number in range(1000)]
    assert len(set(versions)) < 60
    assert versions[:11] == ["everlearn-0"] * 10 + ["everlearn-10"]
    changes = [n for n in range(1, 1000) if versions[n] != versions[n - 1]]
    assert all(later - earlier >= 10 for earlier, later in itertools.pairwise(changes))


@pytest.mark.parametrize(
    ("config", "control"),
    [
        (CONFIG, ("kind", "mail", "choices")),
        ('<View><Rating name="r" toName="t"/></View>', ("r", "t", "rating")),
        (None, ("label", "text", "choices")),
        ("<View", ("label", "text", "choices")),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><View/>", ("label", "text", "choices")),
    ],
)
def test_the_control_is_read_from_the_configuration(config, control):
    assert control_in(config) == control


# ----------------------------------------------------------------------------------------------- reconciling


class LabelStudio(BaseHTTPRequestHandler):
    """The two addresses of Label Studio that `everlearn reconcile` asks."""

    tasks: ClassVar = []
    asked: ClassVar = []

    def do_GET(self):
        self.asked.append((self.path, self.headers["Authorization"]))
        self._answer(self.tasks)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer({"access": "short"})

    def _answer(self, value):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def label_studio():
    LabelStudio.tasks, LabelStudio.asked = [], []
    with ThreadingHTTPServer(("127.0.0.1", 0), LabelStudio) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


def test_reconciling_makes_up_for_lost_webhooks(address, access, service, label_studio):
    url, token = f"http://{address[0]}:{address[1]}/", access.create_token("ls", "producer")
    LabelStudio.tasks = [
        {**task(n), "annotations": [annotation(10 + n), annotation(30 + n, was_cancelled=True)]}
        for n in range(150)
    ]
    given = (url, token, label_studio, "key", 4)
    assert reconcile(*given, dry_run=True) == Reconciled(150, 150, 0)
    assert service.answers == []
    assert reconcile(*given) == Reconciled(150, 150, 0)
    wait_for(lambda: len(service.answers) == 150)
    assert LabelStudio.asked[-1] == ("/api/projects/4/export?exportType=JSON", "Token key")
    gone = LabelStudio.tasks[0]["annotations"].pop(0)
    wait_for(lambda: reconcile(*given, dry_run=True) == Reconciled(149, 0, 1))
    assert reconcile(url, token, label_studio, "a.b.c", 4).deleted == 1
    assert LabelStudio.asked[-1][1] == "Bearer short"
    wait_for(lambda: service.undone == [("ls-4-0", "label-studio/7")])
    assert gone["id"] == 10


def test_reconciling_without_an_answer(address, access, label_studio):
    url = f"http://{address[0]}:{address[1]}"
    with pytest.raises(StoreError, match="answered 401"):
        reconcile(url, "wrong", label_studio, "key", 4)
