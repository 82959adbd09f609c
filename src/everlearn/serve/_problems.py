"""Problem details (RFC 9457): one shape for every error, with the parameter, the value and the remedy."""

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.responses import Response

from .._visible import visible
from ..errors import CoreError, EverlearnError, StoreError

logger = logging.getLogger("everlearn.serve")

MEDIA_TYPE = "application/problem+json"
_MAX_SHOWN = 200  # characters of a value that an error quotes

# The status of an error with this code; an error with another code is 422, of a store 503.
STATUS_OF_CODE = {
    "bad_request": 400,
    "busy": 429,
    "closing": 503,
    "duplicate_id": 409,
    "in_use": 503,
    "forbidden": 403,
    "blind": 403,
    "key_reused": 422,
    "lease_gone": 404,
    "link_used": 410,
    "no_answer": 404,
    "no_model": 409,
    "no_token": 401,
    "not_found": 404,
    "not_empty": 409,
    "read_only": 503,
    "setup_needed": 409,
    "slow_body": 408,
    "stopping": 503,
    "too_large": 413,
    "too_many_answers": 413,
    "too_many_rows": 413,
    "too_many_streams": 429,
    "unknown_id": 404,
    "unknown_upload": 404,
    "wrong_media_type": 415,
}
TITLES = {
    400: "The request cannot be read",
    401: "A token is needed",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    408: "The request came too slowly",
    409: "In conflict with the store",
    410: "No longer available",
    413: "The request is too large",
    415: "Unsupported media type",
    422: "Not acceptable",
    429: "Too many requests",
    500: "Internal error",
    503: "Not available now",
}
_CODES = {400: "bad_request", 404: "not_found", 405: "method_not_allowed"}


class Problem(Exception):
    """An error of the service itself, such as a missing token; `EverlearnError` is one of the library.

    Parameters
    ----------
    code : str
        What went wrong, for programs; it decides the status.
    detail : str
        What went wrong, for people.
    remedy : str, default=None
        What to do about it.
    parameter : str, default=None
        The parameter that is not acceptable.
    value : object, default=None
        Its value.
    headers : mapping, default=None
        Headers of the response.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        remedy: str | None = None,
        parameter: str | None = None,
        value: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.code, self.detail, self.remedy = code, detail, remedy
        self.parameter, self.value = parameter, value
        self.headers = dict(headers or {})


def problem_response(
    status: int,
    code: str,
    detail: str,
    *,
    remedy: str | None = None,
    parameter: str | None = None,
    value: Any = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The response for an error; text from data is shortened and made visible, so that it is safe in logs."""
    document = {
        "type": f"urn:everlearn:problem:{code}",
        "title": TITLES.get(status, TITLES[500]),
        "status": status,
        "detail": visible(detail, exact=False),
        "code": code,
        "parameter": None if parameter is None else visible(parameter),
        "value": _shown(value),
        "remedy": remedy if remedy is None else visible(remedy, exact=False),
    }
    content = to_json({key: item for key, item in document.items() if item is not None})
    given = {"Cache-Control": "no-store", **(headers or {})}
    if status == 401:
        given.setdefault("WWW-Authenticate", 'Bearer realm="everlearn"')
    if status in (429, 503):
        given.setdefault("Retry-After", "1")
    return Response(content, status, headers=given, media_type=MEDIA_TYPE)


def response_of(error: Exception) -> Response:
    """The response for an error of the library or of the service."""
    if isinstance(error, Problem):
        return problem_response(
            STATUS_OF_CODE.get(error.code, 422),
            error.code,
            error.detail,
            remedy=error.remedy,
            parameter=error.parameter,
            value=error.value,
            headers=error.headers,
        )
    if isinstance(error, EverlearnError) and not isinstance(error, CoreError):
        is_store = isinstance(error, StoreError)
        code = error.code or ("store_error" if is_store else "invalid_value")
        status = STATUS_OF_CODE.get(code, 503 if is_store else 422)
        if status == 503:
            logger.error("%s", visible(error, exact=False))
        retry_after = getattr(error, "retry_after", None)
        return problem_response(
            status,
            code,
            error.problem or str(error),
            remedy=error.remedy,
            parameter=error.parameter,
            value=error.value,
            headers=None if retry_after is None else {"Retry-After": str(max(1, round(retry_after)))},
        )
    if isinstance(error, ModuleNotFoundError):
        return problem_response(503, "missing_package", str(error))
    if isinstance(error, ValueError | TypeError):
        return problem_response(422, "invalid_value", str(error))
    logger.error("A request failed.", exc_info=error)
    return problem_response(
        500,
        "internal_error",
        "The service failed to answer; its log says more.",
        remedy="Report it as a bug.",
    )


def install(app: FastAPI) -> None:
    """Answer every error of the application with problem details."""

    async def known(_: Request, error: Exception) -> Response:
        return response_of(error)

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return validation_problem(list(error.errors()))

    async def http(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        status = error.status_code
        code = _CODES.get(status, "bad_request" if status < 500 else "internal_error")
        return problem_response(status, code, str(error.detail), headers=error.headers)

    for kind in (Problem, EverlearnError, ValueError, TypeError, ModuleNotFoundError, Exception):
        app.add_exception_handler(kind, known)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)


def validation_problem(errors: list[Any]) -> Response:
    """The response for values that do not have the wanted form; it describes the first of them."""
    error = errors[0]
    place = [str(part) for part in error["loc"]]
    parameter = ".".join(
        place[1:] if place[:1] and place[0] in ("body", "query", "path", "header") else place
    )
    more = f" {len(errors) - 1} more values are not acceptable." if len(errors) > 1 else ""
    return problem_response(
        422,
        "invalid_value",
        f"{parameter or 'body'}: {error['msg']}.{more}",
        parameter=parameter or "body",
        value=error.get("input"),
        remedy="See /openapi.json for the form of the request.",
    )


def _shown(value: Any) -> Any:
    """A value as far as an error can quote it."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) and abs(value) < 2**53:
        return value
    if isinstance(value, int):
        return f"an integer of {value.bit_length()} bits"
    return _clipped(value if isinstance(value, str) else repr(value)[: 4 * _MAX_SHOWN])


def _clipped(text: str) -> str:
    return visible(text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}...")
