"""Rows of programs: to learn from, or only to predict."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from .. import _openapi
from .._bodies import check_media_type, read_json, read_ndjson, too_many
from .._context import Context, Here, IdempotencyKey, Producer, json_response
from .._models import Row, Rows
from .._results import Predictions, RowIn, RowsAdded

router = APIRouter(tags=["rows"])
_NDJSON = "application/x-ndjson"
_BODY = _openapi.body(Rows, _NDJSON)


@router.post(
    "/v1/rows",
    response_model=RowsAdded,
    responses=_openapi.errors(*_openapi.BODY_ERRORS, 409),
    openapi_extra=_BODY,
)
async def add_rows(request: Request, here: Here, person: Producer, key: IdempotencyKey = None) -> Response:
    """Store rows, all or none; they are predicted before they are learned, and durable with the response.

    The body is `{"rows": [...]}`, or NDJSON with one row in each line.
    """
    rows = await _rows(request, here)
    added = await here.write(lambda: here.service.add_rows(rows, by=person.name, key=key))
    if not added.replayed:
        here.metrics.rows.inc(len(rows))
    return json_response(added)


@router.post(
    "/v1/predict",
    response_model=Predictions,
    responses=_openapi.errors(*_openapi.BODY_ERRORS, 409),
    openapi_extra=_BODY,
)
async def predict(request: Request, here: Here, person: Producer) -> Response:
    """Predict rows; nothing is stored."""
    rows = await _rows(request, here)
    return json_response(await here.read(here.service.predict, rows))


async def _rows(request: Request, here: Context) -> list[RowIn]:
    """The rows of a body."""
    most = here.limits.rows
    if check_media_type(request, "application/json", _NDJSON) == _NDJSON:
        rows = await read_ndjson(request, Row, most, here.limits)
    else:
        rows = (await read_json(request, Rows, here.limits)).rows
        if len(rows) > most:
            raise too_many("rows", most)
    return [RowIn(row.fields, row.id, row.label, row.time) for row in rows]
