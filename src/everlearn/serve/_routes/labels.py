"""Answers of people: given, taken back, listed, imported."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from .. import _openapi
from .._bodies import check_media_type, read_bytes, read_json, too_many
from .._context import Admin, Annotator, Here, IdempotencyKey, json_response
from .._models import Answers
from .._problems import Problem
from .._results import AnswerIn, AnswersGiven, History, Undone

router = APIRouter(tags=["labels"])
_FORMATS = {"text/csv": "csv", "application/x-ndjson": "jsonl", "application/jsonl": "jsonl"}


@router.post(
    "/v1/labels",
    response_model=AnswersGiven,
    responses=_openapi.errors(*_openapi.BODY_ERRORS, 404, 409),
    openapi_extra=_openapi.body(Answers),
)
async def answer(request: Request, here: Here, person: Annotator) -> Response:
    """Answer questions, all or none. A lease that is late or unknown is no error: the answer counts.

    Every answer has a key that the client makes; an answer that is sent again is not counted again.
    """
    given = (await read_json(request, Answers, here.limits)).answers
    if len(given) > here.limits.answers:
        raise too_many("answers", here.limits.answers)
    answers = []
    for place, one in enumerate(given):
        if (one.label is None) == (one.kind == "label"):
            raise Problem(
                "invalid_value",
                "An answer of the kind label needs a label; others have none.",
                parameter=f"answers.{place}.label",
                value=one.label,
                remedy='Send a label, or the kind "skip" or "unsure".',
            )
        answers.append(
            AnswerIn(
                one.id,
                one.kind,
                one.key,
                one.label,
                None if one.lease is None else one.lease.id,
                None if one.lease is None else one.lease.token,
                one.comment or "",
                one.wrong_field or "",
            )
        )
    result = await here.write(here.service.answer, person.name, answers)
    for found in result.results:
        here.metrics.answers.labels(found.status).inc()
    return json_response(result)


@router.post(
    "/v1/labels:import",
    response_model=AnswersGiven,
    responses=_openapi.errors(*_openapi.BODY_ERRORS, 404, 409),
    openapi_extra=_openapi.body(None, *_FORMATS),
)
async def import_labels(request: Request, here: Here, person: Admin, key: IdempotencyKey = None) -> Response:
    """Learn labels from CSV or JSON lines with the columns id and label, all or none.

    Further columns may be by (who answered; else it is who imports), kind and comment.
    """
    form = _FORMATS[check_media_type(request, *_FORMATS)]
    content = await read_bytes(request, here.limits.upload_bytes, here.limits)
    result = await here.write(
        lambda: here.service.import_labels(content, by=person.name, format=form, key=key)
    )
    return json_response(result)


@router.delete("/v1/labels/{id:path}", response_model=Undone, responses=_openapi.errors(404, 409))
async def undo(
    here: Here,
    person: Annotator,
    id: Annotated[str, Path(max_length=1_000)],
    by: Annotated[
        str | None, Query(max_length=100, description="Whose answer; only an admin may name others.")
    ] = None,
    key: IdempotencyKey = None,
) -> Response:
    """Take back an answer: the model becomes the one that never saw it."""
    if by not in (None, person.name) and person.role != "admin":
        raise Problem("forbidden", "Only an admin may undo the answers of others.", parameter="by", value=by)
    undone = await here.write(lambda: here.service.undo(id, by or person.name, key=key))
    if not undone.replayed:
        here.metrics.withdrawn.inc()
    return json_response(undone)


@router.get("/v1/history", response_model=History, responses=_openapi.errors(409))
async def history(
    here: Here,
    person: Annotator,
    q: Annotated[str, Query(max_length=1_000, description="Text in ids, labels, comments and rows.")] = "",
    by: Annotated[
        str | None, Query(max_length=100, description="Whose answers; only an admin may name others.")
    ] = None,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Response:
    """List answers that count now, newest first: one's own, or for an admin those of all."""
    if by not in (None, person.name) and person.role != "admin":
        raise Problem("forbidden", "Only an admin sees the answers of others.", parameter="by", value=by)
    whose = by if person.role == "admin" else person.name
    found = await here.read(lambda: here.service.history(by=whose, q=q, offset=offset, limit=limit))
    return json_response(found)
