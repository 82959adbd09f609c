"""The state of the learner: status, events, report, export."""

from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query
from starlette.responses import Response, StreamingResponse

from .. import _openapi
from .._context import Here, Reader, Viewer, json_response
from .._models import StatusOut
from .._problems import Problem

router = APIRouter(tags=["state"])
# The report has a policy of its own in a meta element, which allows its own script and style by hash.
_REPORT_POLICY = "sandbox allow-scripts; frame-ancestors 'self'; base-uri 'none'"


@router.get("/v1/status", response_model=StatusOut, responses=_openapi.errors())
async def status(here: Here, person: Reader) -> Response:
    """How the learner does, who is at work, and what is left to ask."""
    found = await here.read(here.service.status)
    about = {"store": here.access.cookie, "me": {"name": person.name, "role": person.role}}
    return json_response({**found, **about})


@router.get(
    "/v1/events",
    response_class=Response,
    responses={
        **_openapi.errors(),
        200: {
            "description": "Events, for as long as the connection lasts.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        },
    },
)
async def events(
    here: Here,
    person: Reader,
    last: Annotated[
        str | None,
        Header(
            alias="Last-Event-ID",
            max_length=20,
            description="The sequence number after which to continue; browsers send it by themselves.",
        ),
    ] = None,
) -> Response:
    """Server-sent events: what is written to the log, from now on or from where a connection ended."""
    if last and not (last.isascii() and last.isdecimal() and int(last) < 2**62):
        raise Problem("invalid_value", "It must be a sequence number.", parameter="Last-Event-ID", value=last)
    return here.hub.response(int(last) if last else None)


@router.get(
    "/v1/report",
    response_class=Response,
    responses={
        **_openapi.errors(409),
        200: {"description": "A page.", "content": {"text/html": {"schema": {"type": "string"}}}},
    },
)
async def report(here: Here, person: Viewer) -> Response:
    """The report of the learner, as one HTML page."""
    page = await here.read(here.service.report_html)
    headers = {"Content-Security-Policy": _REPORT_POLICY, "Cache-Control": "no-store"}
    return Response(page, headers=headers, media_type="text/html")


@router.get(
    "/v1/export",
    response_class=Response,
    responses={
        **_openapi.errors(409),
        200: {
            "description": "A file.",
            "content": {
                kind: {"schema": {"type": "string"}}
                for kind in (
                    "text/csv",
                    "application/x-ndjson",
                    "application/jsonl",
                    "application/vnd.apache.parquet",
                    "application/octet-stream",
                )
            },
        },
    },
)
async def export(
    here: Here,
    person: Viewer,
    what: Annotated[Literal["labels", "model"], Query()] = "labels",
    format: Annotated[
        Literal["csv", "parquet", "jsonl", "onnx"] | None,
        Query(description="csv, parquet or jsonl for labels; onnx for the model."),
    ] = None,
) -> Response:
    """Labels with who, when, why asked and model version; or the model as ONNX."""
    if (what == "model") != (format == "onnx") and format is not None:
        raise Problem(
            "invalid_value",
            f"{what} cannot be exported as {format}.",
            parameter="format",
            value=format,
            remedy="Labels are exported as csv, parquet or jsonl, the model as onnx.",
        )
    ending = "onnx" if what == "model" else format or "csv"
    headers = {"Content-Disposition": f'attachment; filename="{what}.{ending}"', "Cache-Control": "no-store"}
    if what == "model":
        content = await here.read(here.service.export_model)
        return Response(content, headers=headers, media_type="application/octet-stream")
    pieces, kind = await here.read(here.service.export_labels, ending)
    return StreamingResponse(pieces, headers=headers, media_type=kind)
