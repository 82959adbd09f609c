"""For operators: is it alive, is it ready, what does it do; and the page."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from .. import _openapi
from .._context import Here, Viewer, json_response

router = APIRouter(tags=["operations"])
_JSON = {"content": {"application/json": {"schema": {"type": "object"}}}}


@router.get("/healthz", response_class=Response, responses={200: {"description": "It is alive.", **_JSON}})
async def healthz() -> Response:
    """Whether the process answers; does not touch the store."""
    return json_response({"status": "ok"})


@router.get(
    "/readyz",
    response_class=Response,
    responses={200: {"description": "It is ready.", **_JSON}, 503: _openapi.errors()[503]},
)
async def readyz(here: Here) -> Response:
    """Whether the store can be read."""
    await here.read(here.service.check_store)
    return json_response({"status": "ready", "sequence": here.service.sequence})


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        **_openapi.errors(),
        200: {"description": "Metrics.", "content": {"text/plain": {"schema": {"type": "string"}}}},
    },
)
async def metrics(here: Here, person: Viewer) -> Response:
    """Prometheus metrics."""
    text = await here.read(here.metrics.text)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/", include_in_schema=False)
async def index(request: Request, here: Here) -> Response:
    """The labeling page."""
    return await here.read(here.files.response, "index.html", request)


@router.get("/page/{name:path}", include_in_schema=False)
async def page_file(name: str, request: Request, here: Here) -> Response:
    """A file of the labeling page."""
    return await here.read(here.files.response, name, request)
