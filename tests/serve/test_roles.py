"""Every role on every route: the table says who may pass, and no route is missing from it."""

import fastapi.routing
import pytest
from starlette.testclient import TestClient

from everlearn.serve.access import ROLES

ALL, NOBODY_ELSE = {"producer", "annotator", "viewer"}, set()
# Who may pass, besides an admin; None: everybody, without a token.
MAY = {
    ("POST", "/v1/rows"): {"producer"},
    ("POST", "/v1/predict"): {"producer"},
    ("GET", "/v1/questions"): {"annotator"},
    ("GET", "/v1/explanations/{id:path}"): {"annotator"},
    ("POST", "/v1/leases/{id}/renew"): {"annotator"},
    ("POST", "/v1/leases:release"): {"annotator"},
    ("POST", "/v1/labels"): {"annotator"},
    ("POST", "/v1/labels:import"): NOBODY_ELSE,
    ("DELETE", "/v1/labels/{id:path}"): {"annotator"},
    ("GET", "/v1/history"): {"annotator"},
    ("GET", "/v1/status"): {"annotator", "viewer"},
    ("GET", "/v1/events"): {"annotator", "viewer"},
    ("GET", "/v1/report"): {"viewer"},
    ("GET", "/v1/export"): {"viewer"},
    ("POST", "/v1/setup:inspect"): NOBODY_ELSE,
    ("POST", "/v1/setup"): NOBODY_ELSE,
    ("PATCH", "/v1/settings"): NOBODY_ELSE,
    ("POST", "/v1/links"): NOBODY_ELSE,
    ("POST", "/v1/tokens"): NOBODY_ELSE,
    ("GET", "/v1/people"): NOBODY_ELSE,
    ("DELETE", "/v1/people/{name:path}"): NOBODY_ELSE,
    ("POST", "/v1/session"): {"annotator", "viewer"},
    ("POST", "/v1/leave"): ALL,
    ("GET", "/metrics"): {"viewer"},
    ("POST", "/setup"): {"producer"},
    ("POST", "/predict"): {"producer"},
    ("POST", "/webhook"): {"producer"},
    ("GET", "/label-studio/annotations"): {"producer"},
    ("GET", "/health"): None,
    ("GET", "/healthz"): None,
    ("GET", "/readyz"): None,
    ("GET", "/join"): None,
    ("GET", "/"): None,
    ("GET", "/page/{name:path}"): None,
    ("GET", "/openapi.json"): None,
}


def routes_of(app):
    """Method and path of all routes, those of included routers too."""
    flattened = getattr(fastapi.routing, "iter_route_contexts", iter)  # older versions have one list
    found = {(method, route.path) for route in flattened(app.routes) for method in route.methods or ()}
    return {(method, path) for method, path in found if method != "HEAD"}


def test_the_table_has_every_route(app):
    assert routes_of(app) == set(MAY)


def tried(client, method, path, **options):
    path = path.replace("{id:path}", "p1").replace("{id}", "l1").replace("{name:path}", "nobody")
    if path == "/v1/events":  # endless: a number that is none ends it after the token was looked at
        options["headers"] = {**options.get("headers", {}), "Last-Event-ID": "none"}
    return client.request(method, path, follow_redirects=False, **options)


@pytest.mark.parametrize(("method", "path"), sorted(MAY), ids=" ".join)
def test_roles(app, access, method, path):
    may = MAY[method, path]
    with TestClient(app, raise_server_exceptions=False) as client:
        for role in (None, *ROLES):
            headers = {}
            if role is not None:
                headers["Authorization"] = f"Bearer {access.create_token(role, role)}"
            status = tried(client, method, path, headers=headers).status_code
            if may is None or role == "admin" or role in may:
                assert status not in (401, 403, 500), (role, status)
            else:
                assert status == (401 if role is None else 403), (role, status)


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer ",
        "Bearer x",
        "Basic x",
        "Basic eDp5",
        "Basic \xff",
        "Digest x",
        "bearer\tx",
        "x" * 5000,
    ],
)
def test_bad_tokens(app, header):
    with TestClient(app, raise_server_exceptions=False) as client:
        response = client.get("/v1/status", headers={"Authorization": header.encode("latin-1")})
        assert response.status_code == 401
        assert response.headers["www-authenticate"].startswith("Bearer")


def test_a_token_as_the_password_of_basic(app, access):
    token = access.create_token("ls", "producer")
    with TestClient(app) as client:
        assert client.post("/setup", json={}, auth=("any", token)).status_code == 200


def test_a_wrong_header_does_not_fall_back_to_the_cookie(app, access):
    _, session = access.join(access.create_link("Ada", "viewer"))
    with TestClient(app, cookies={access.cookie: session}) as client:
        assert client.get("/v1/status").status_code == 200
        assert client.get("/v1/status", headers={"Authorization": "Bearer x"}).status_code == 401


def test_a_link_is_no_token(app, access):
    code = access.create_link("Ada", "admin")
    with TestClient(app) as client:
        assert client.get("/v1/status", headers={"Authorization": f"Bearer {code}"}).status_code == 401
