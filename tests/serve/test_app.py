"""The HTTP layer over a service without a learner: bounds, errors, headers, bodies."""

import json
import re

import pytest
from starlette.testclient import TestClient

from everlearn.errors import BusyError, CoreError, InputError, StoreError
from everlearn.serve.app import create_app

ROW = {"id": "p1", "fields": {"text": "hello", "amount": 1.5}}
ANSWER = {"id": "p1", "kind": "label", "label": "spam", "key": "k1"}


def assert_problem(response, status, code=None):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["status"] == status
    assert {"type", "title", "detail", "code"} <= set(problem)
    if code is not None:
        assert problem["code"] == code
    return problem


def test_rows_as_json_and_as_lines(client, service):
    done = client.post("/v1/rows", json={"rows": [ROW, {"fields": {}, "label": 3, "time": 5}]})
    assert done.status_code == 200
    assert done.json()["predictions"][0] == {
        "id": "p1",
        "label": "spam",
        "probabilities": {"spam": 0.75, "ham": 0.25},
        "asked": True,
    }
    lines = "\n".join(json.dumps({"id": number, "fields": {"n": number}}) for number in range(100)) + "\n\n"
    done = client.post("/v1/rows", content=lines, headers={"Content-Type": "application/x-ndjson"})
    assert done.status_code == 200
    assert [row.id for row in service.rows] == ["p1", None, *range(100)]
    assert service.rows[1].label == 3
    assert service.rows[1].time == 5.0


BAD_BODIES = [
    b"",
    b"{",
    b'{"rows": [',
    b"[]",
    b"null",
    b'{"rows": 1}',
    b'{"rows": [1]}',
    b'{"rows": [{"id": "a"}]}',
    b'{"rows": [{"fields": []}]}',
    b'{"rows": [{"fields": {}, "id": 1.5}]}',
    b'{"rows": [{"fields": {}, "id": true}]}',
    b'{"rows": [{"fields": {}, "id": ""}]}',
    b'{"rows": [{"fields": {}, "id": "a\\u0000"}]}',
    b'{"rows": [{"fields": {}, "label": NaN}]}',
    b'{"rows": [{"fields": {}, "label": [1]}]}',
    b'{"rows": [{"fields": {}, "time": 1e999}]}',
    b'{"rows": [{"fields": {}, "other": 1}]}',
    b'{"rows": [{"fields": {"a": "\xff"}}]}',
    b'{"rows": [{"fields": {"a": "\\ud800"}}]}',
    b'{"rows": [{"fields": {"a": ' + b"[" * 5000 + b"]" * 5000 + b"}}]}",
    b'{"rows": [{"fields": {"a": ' + b"9" * 6000 + b"}}]}",
]


@pytest.mark.parametrize("body", BAD_BODIES, ids=lambda body: body[:50].decode("latin-1"))
def test_malformed_bodies(client, service, body):
    response = client.post("/v1/rows", content=body, headers={"Content-Type": "application/json"})
    assert_problem(response, 422, "invalid_value")
    lines = json.dumps(ROW).encode() + b"\n" + (body or b"{")
    response = client.post("/v1/rows", content=lines, headers={"Content-Type": "application/x-ndjson"})
    assert assert_problem(response, 422)["parameter"].startswith("line 2")
    assert service.rows == []


@pytest.mark.parametrize("kind", ["", "text/plain", "application/xml", "multipart/form-data; boundary=x"])
def test_other_media_types(client, kind):
    response = client.post("/v1/rows", content=b"{}", headers={"Content-Type": kind})
    assert assert_problem(response, 415)["parameter"] == "Content-Type"


def test_too_large(client, service):
    big = {"rows": [{"fields": {"text": "x" * 20_000}}]}
    assert_problem(client.post("/v1/rows", json=big), 413, "too_large")

    def pieces():  # without a declared length
        yield b'{"rows": [{"fields": {"text": "'
        for _ in range(30):
            yield b"x" * 1000

    response = client.post("/v1/rows", content=pieces(), headers={"Content-Type": "application/json"})
    assert_problem(response, 413, "too_large")
    assert_problem(client.post("/v1/rows", json={"rows": [{"fields": {}}] * 101}), 413, "too_many_rows")
    lines = b'{"fields":{}}\n' * 101
    response = client.post("/v1/rows", content=lines, headers={"Content-Type": "application/x-ndjson"})
    assert_problem(response, 413, "too_many_rows")
    answers = [{**ANSWER, "key": str(number)} for number in range(21)]
    assert_problem(client.post("/v1/labels", json={"answers": answers}), 413, "too_many_answers")
    response = client.post("/v1/setup:inspect", content=b"x" * 30_001, headers={"Content-Type": "text/csv"})
    assert_problem(response, 413, "too_large")
    assert service.rows == service.answers == []


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (
            InputError("Bad.", code="duplicate_id", remedy="R.", parameter="id", value="p1"),
            409,
            "duplicate_id",
        ),
        (InputError("Bad.", code="key_reused"), 422, "key_reused"),
        (InputError("Bad."), 422, "invalid_value"),
        (ValueError("n must be 1, got 2."), 422, "invalid_value"),
        (StoreError("The disk is full."), 503, "store_error"),
        (BusyError("Busy.", retry_after=7.4), 429, "busy"),
        (ModuleNotFoundError("Install onnx."), 503, "missing_package"),
        (CoreError("Broken."), 500, "internal_error"),
        (KeyError("secret row text"), 500, "internal_error"),
    ],
    ids=lambda value: getattr(value, "code", None) or str(value),
)
def test_errors_of_the_library(client, service, error, status, code):
    service.error = error
    response = client.post("/v1/rows", json={"rows": [ROW]})
    problem = assert_problem(response, status, code)
    if code == "duplicate_id":
        assert [problem[key] for key in ("detail", "remedy", "parameter", "value")] == [
            "Bad.",
            "R.",
            "id",
            "p1",
        ]
    if code == "busy":
        assert response.headers["retry-after"] == "7"
    if status == 500:
        assert "secret" not in response.text
        assert "Broken" not in response.text


def test_control_characters_do_not_come_back_raw(client, service):
    service.error = InputError(
        "Bad \x1b[2J\u202e.", parameter="\x1b", value="\x1b]0;x\x07" * 100, remedy="\x07"
    )
    problem = assert_problem(client.post("/v1/rows", json={"rows": [ROW]}), 422)
    assert not re.search("[\x00-\x1f\u202e]", "".join(map(str, problem.values())))
    assert len(problem["value"]) < 1500


def test_unknown_paths_and_methods(client):
    assert_problem(client.get("/v1/nothing"), 404, "not_found")
    assert_problem(client.put("/v1/rows"), 405, "method_not_allowed")
    assert_problem(client.get("/page/../service.py"), 404)
    for name in ("%2e%2e/service.py", "..%2fservice.py", "%00", "vendor", ".", "/etc/passwd"):
        assert_problem(client.get(f"/page/{name}"), 404)


@pytest.mark.parametrize(
    "query", ["n=0", "n=x", "n=51", "n=99999999999999999999", "queue=other", f"exclude={'x' * 10_001}"]
)
def test_bad_queries(client, query):
    assert_problem(client.get(f"/v1/questions?{query}"), 422, "invalid_value")


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"label": None}, "answers.0.label"),
        ({"kind": "skip"}, "answers.0.label"),
        ({"kind": "other"}, "answers.0.kind"),
        ({"key": ""}, "answers.0.key"),
        ({"key": "a b"}, "answers.0.key"),
        ({"comment": "x" * 10_001}, "answers.0.comment"),
        ({"lease": {"id": "l"}}, "answers.0.lease.token"),
    ],
)
def test_bad_answers(client, service, change, parameter):
    response = client.post("/v1/labels", json={"answers": [{**ANSWER, **change}]})
    assert assert_problem(response, 422)["parameter"] == parameter
    assert service.answers == []


def test_an_answer_carries_everything(client, service):
    extra = {"lease": {"id": "l1", "token": "t1"}, "comment": "sure?", "wrong_field": "amount"}
    assert client.post("/v1/labels", json={"answers": [{**ANSWER, **extra}]}).status_code == 200
    ((by, answer),) = service.answers
    assert by == "Root"
    assert (answer.lease_id, answer.lease_token, answer.comment, answer.wrong_field) == (
        *("l1", "t1"),
        *("sure?", "amount"),
    )
    assert client.post("/v1/labels", json={"answers": [{"id": 3, "kind": "unsure", "key": "u"}]}).json()[
        "results"
    ]


def test_ids_with_slashes_and_spaces_can_be_undone(client, service):
    name = "a/b c?ü"
    client.post("/v1/labels", json={"answers": [{**ANSWER, "id": name}]})
    response = client.delete("/v1/labels/a%2Fb%20c%3F%C3%BC")
    assert response.status_code == 200
    assert service.undone == [(name, "Root")]
    assert_problem(client.delete("/v1/labels/a%2Fb%20c%3F%C3%BC"), 404, "no_answer")


XSS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "javascript:alert(1)",
    "</textarea>",
    "]]>",
]


@pytest.mark.parametrize("text", XSS)
def test_hostile_text_is_data(client, text):
    row = {"id": text, "fields": {text: text}, "label": text}
    assert client.post("/v1/rows", json={"rows": [row]}).json()["predictions"][0]["id"] == text
    question = client.get("/v1/questions")
    assert question.headers["content-type"] == "application/json"
    assert question.json()["questions"][0]["fields"][0]["value"] == text
    answer = {**ANSWER, "id": text, "label": text, "comment": text, "wrong_field": text}
    assert client.post("/v1/labels", json={"answers": [answer]}).json()["results"][0]["id"] == text
    entry = client.get("/v1/history").json()["entries"][0]
    assert [entry[key] for key in ("id", "label", "comment", "wrong_field")] == [text] * 4


def test_security_headers_are_everywhere(client):
    for path in ("/", "/v1/status", "/healthz", "/v1/nothing", "/openapi.json", "/join?code=x"):
        headers = client.get(path, follow_redirects=False).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'self'; "), path
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers
    policy = client.get("/v1/report").headers["content-security-policy"]
    assert "sandbox" in policy  # the report has a stricter policy of its own in its text


def test_metrics(client, service):
    client.post("/v1/rows", json={"rows": [ROW]})
    client.post("/v1/labels", json={"answers": [ANSWER]})
    client.get("/v1/nothing")
    text = client.get("/metrics").text
    assert "everlearn_rows_total 1.0" in text
    assert 'everlearn_answers_total{status="learned"} 1.0' in text
    assert 'everlearn_requests_total{method="POST",route="/v1/rows",status="200"} 1.0' in text
    assert "everlearn_labels 1.0" in text
    assert "nothing" not in text, "paths that a client makes up are no labels"


def test_what_clients_make_up_takes_no_memory(client):
    client.headers.clear()  # no token is needed to send these
    for number in range(50):
        assert client.request(f"MADEUP{number}", f"/v1/p{number}").status_code in (404, 405)
    counted = client.app.state.context.metrics.requests.collect()[0].samples
    assert {sample.labels["method"] for sample in counted} == {"other"}
    assert {sample.labels["route"] for sample in counted} == {"other"}


def test_health_and_readiness(client, service):
    service.error = StoreError("The database is gone.")
    assert client.get("/healthz").status_code == 200
    assert_problem(client.get("/readyz"), 503)
    service.error = None
    assert client.get("/readyz").json()["status"] == "ready"


def test_links_and_sessions(client, app):
    url = client.post("/v1/links", json={"name": "Ada", "role": "annotator"}).json()["url"]
    assert url.startswith("http://testserver/join?code=")
    with TestClient(app, raise_server_exceptions=False) as browser:
        joined = browser.get(url, follow_redirects=False)
        assert joined.status_code == 303
        assert joined.headers["location"] == "/"
        cookie = joined.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert browser.get("/v1/status").json()["me"] == {"name": "Ada", "role": "annotator"}
        assert_problem(browser.get("/metrics"), 403, "forbidden")
        here = {"json": {"answers": [ANSWER]}}
        other = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
        assert_problem(browser.post("/v1/labels", headers=other, **here), 403)
        assert_problem(browser.post("/v1/labels", headers={"Origin": "http://testserver:99"}, **here), 403)
        assert browser.post("/v1/labels", headers={"Origin": "http://testserver"}, **here).status_code == 200
        assert browser.post("/v1/leave").status_code == 204
        assert_problem(browser.get("/v1/status"), 401, "no_token")
    assert_problem(client.get(url, follow_redirects=False), 410, "link_used")
    page = client.get(url, follow_redirects=False, headers={"Accept": "text/html,*/*"})
    assert (page.status_code, page.headers["location"]) == (303, "/#/used-link")
    assert "set-cookie" not in page.headers


def test_a_token_of_a_person_signs_in(client, app, access):
    token = access.create_token("Ada", "annotator")
    with TestClient(app, raise_server_exceptions=False) as browser:
        signed = browser.post("/v1/session", headers={"Authorization": f"Bearer {token}"})
        assert signed.status_code == 204
        assert "HttpOnly" in signed.headers["set-cookie"]
        assert browser.get("/v1/status").json()["me"] == {"name": "Ada", "role": "annotator"}
        assert access.people()[0] == {
            "name": "Ada", "role": "annotator", "sessions": 1, "tokens": 1, "links": 0
        }  # fmt: skip
        assert_problem(browser.get("/v1/people"), 403, "forbidden")
    assert [person["name"] for person in client.get("/v1/people").json()["people"]] == ["Ada", "Root"]
    assert_problem(client.post("/v1/session", headers={"Authorization": "Bearer el_wrong"}), 401)


def test_an_explanation_is_plain_json(client):
    found = client.get("/v1/explanations/p%2F1").json()
    assert found["id"] == "p/1"
    assert found["prediction"] == {"label": "spam", "confidence": 0.75}
    assert found["fields"][0]["highlights"] == [[0, 4, 1.0]]


def test_only_an_admin_sees_and_undoes_the_answers_of_others(client, app, access):
    client.post("/v1/labels", json={"answers": [ANSWER]})
    with TestClient(
        app, headers={"Authorization": f"Bearer {access.create_token('Ada', 'annotator')}"}
    ) as ada:
        assert ada.get("/v1/history").json()["entries"] == []
        assert_problem(ada.get("/v1/history?by=Root"), 403)
        assert_problem(ada.delete("/v1/labels/p1?by=Root"), 403)
        assert_problem(ada.delete("/v1/labels/p1"), 404, "no_answer")
        ada.post("/v1/labels", json={"answers": [{**ANSWER, "key": "k2"}]})
    assert len(client.get("/v1/history").json()["entries"]) == 2
    assert client.delete("/v1/labels/p1?by=Ada").status_code == 200


def test_behind_a_proxy(service, access):
    headers = {"Authorization": f"Bearer {access.create_token('Root', 'admin')}"}
    with TestClient(create_app(service, access, root_path="/labels"), headers=headers) as proxied:
        for path in ("/v1/status", "/labels/v1/status"):  # the proxy cuts the prefix, or not
            assert proxied.get(path).status_code == 200
        url = proxied.post("/v1/links", json={"name": "Ada"}).json()["url"]
        assert url.startswith("http://testserver/labels/join?code=")
        joined = proxied.get(url, follow_redirects=False)
        assert joined.headers["location"] == "/labels/"
        assert "Path=/labels" in joined.headers["set-cookie"]


def test_settings_can_be_changed(client, service):
    response = client.patch("/v1/settings", json={"blind": False, "lease_seconds": 30})
    assert response.status_code == 200
    assert (service.settings.blind, service.settings.lease_seconds, service.settings.name) == (
        False,
        30,
        "fake",
    )
    assert_problem(client.patch("/v1/settings", json={"lease_seconds": 0}), 422)
