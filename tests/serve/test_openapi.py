"""The OpenAPI document describes what the service does: requests made from it find no 500 and no surprise."""

import random

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import load_all_checks
from schemathesis.specs.openapi import checks

from everlearn.serve.access import Access
from everlearn.serve.app import create_app
from property_helpers import sample_of
from serve.fake_service import FakeService
from serve.load import set_up
from serve.server_process import ServerProcess


def document():
    service = FakeService()
    return create_app(service, Access(service.notes, service.set_notes)).openapi()


@schemathesis.serializer("application/x-ndjson", "application/jsonl")
def as_text(context, value):
    return str(value).encode("utf-8", "surrogatepass")


load_all_checks()
SCHEMA = schemathesis.openapi.from_dict(document())
CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]


@pytest.fixture
def url(address):
    return f"http://{address[0]}:{address[1]}"


def examples(number):
    return settings(
        max_examples=sample_of(number),
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )


@SCHEMA.exclude(path="/v1/events").parametrize()  # endless; its parameters are tested elsewhere
@examples(60)
def test_requests_from_the_document(case, url, access):
    token = access.create_token("Root", "admin")
    response = case.call(base_url=url, headers={"Authorization": f"Bearer {token}"}, allow_redirects=False)
    case.validate_response(response, checks=CHECKS)
    access.revoke("Root")


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    """A service with a learner."""
    with ServerProcess(tmp_path_factory.mktemp("openapi") / "rows.everlearn") as process:
        set_up(process, random.Random(0))
        yield process


@SCHEMA.exclude(path="/v1/events").parametrize()
@examples(20)
def test_requests_to_a_learner(case, process):
    headers = {"Authorization": f"Bearer {process.token}"}
    response = case.call(base_url=process.url, headers=headers, allow_redirects=False)
    case.validate_response(response, checks=CHECKS)


def test_every_operation_is_described():
    for path, operations in document()["paths"].items():
        for method, operation in operations.items():
            place = f"{method} {path}"
            assert operation.get("description"), place
            responses = operation["responses"]
            if path.startswith("/v1/"):
                assert {"401", "403", "422", "429", "503"} <= set(responses), place
            for status, response in responses.items():
                if status >= "400":
                    assert list(response["content"]) == ["application/problem+json"], (place, status)
            if method in ("post", "patch") and path not in ("/v1/leave", "/v1/session"):
                assert operation["requestBody"]["content"], place
                assert {"400", "408", "413", "415"} <= set(responses), place


def test_references_lead_somewhere():
    def references(part):
        if isinstance(part, dict):
            if isinstance(part.get("$ref"), str):
                yield part["$ref"]
            for value in part.values():
                yield from references(value)
        elif isinstance(part, list):
            for value in part:
                yield from references(value)

    described = document()
    assert described["openapi"].startswith("3.1")
    names = {f"#/components/schemas/{name}" for name in described["components"]["schemas"]}
    assert set(references(described)) <= names


def test_bodies_have_examples():
    schemas = document()["components"]["schemas"]
    for name in ("Rows", "Answers", "LinkIn", "SetupIn", "SettingsIn", "RenewIn", "ReleaseIn", "ProblemOut"):
        assert "example" in schemas[name] or "examples" in schemas[name], name
