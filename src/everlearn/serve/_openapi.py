"""The OpenAPI document: bodies that the routes read themselves, and the errors of every route."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from . import _models
from ._problems import MEDIA_TYPE, TITLES

_REF = "#/components/schemas/"
_BODIES: list[type[BaseModel]] = [_models.Row, _models.ProblemOut]  # and those of `body`


def body(model: type[BaseModel] | None, *others: str) -> dict[str, Any]:
    """The description of a body: a model as JSON, and other media types as text."""
    content: dict[str, Any] = {kind: {"schema": {"type": "string"}} for kind in others}
    if model is not None:
        _BODIES.append(model)
        content = {"application/json": {"schema": {"$ref": _REF + model.__name__}}, **content}
    return {"requestBody": {"required": True, "content": content}}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of a route that needs a token, and these."""
    return {
        status: {
            "description": TITLES[status],
            "content": {MEDIA_TYPE: {"schema": {"$ref": f"{_REF}ProblemOut"}}},
            **({"headers": _RETRY_AFTER} if status in (429, 503) else {}),
        }
        for status in sorted({*statuses, 401, 403, 422, 429, 503})
    }


_RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
BODY_ERRORS = (400, 408, 413, 415)


def install(app: FastAPI, root_path: str) -> None:
    """Make the application describe its bodies and its ways to identify."""

    def describe() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title=app.title,
                version=app.version,
                description=app.description,
                routes=app.routes,
                servers=[{"url": root_path}] if root_path else None,
            )
            _, schemas = models_json_schema(
                [(model, "validation") for model in dict.fromkeys(_BODIES)], ref_template=_REF + "{model}"
            )
            components = document.setdefault("components", {})
            components.setdefault("schemas", {}).update(schemas["$defs"])
            components["securitySchemes"] = {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "everlearn"},
            }
            for path in document["paths"].values():
                for operation in path.values():
                    if "401" in operation["responses"]:
                        operation["security"] = [{"token": []}, {"session": []}]
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = describe  # type: ignore[method-assign]
