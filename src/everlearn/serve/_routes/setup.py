"""The beginning: from a file to a learner, for an empty store. And the settings for people."""

import dataclasses
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from .. import _openapi
from .._bodies import check_media_type, read_bytes, read_json
from .._context import Admin, Here, json_response
from .._models import SettingsIn, SetupIn, StatusOut
from .._results import Inspection, ServiceSettings

router = APIRouter(tags=["setup"])
_FILES = ("application/octet-stream", "text/csv", "application/x-ndjson", "application/json", "text/plain")


@router.post(
    "/v1/setup:inspect",
    response_model=Inspection,
    responses=_openapi.errors(*_openapi.BODY_ERRORS, 409),
    openapi_extra=_openapi.body(None, *_FILES),
)
async def inspect(
    request: Request,
    here: Here,
    person: Admin,
    name: Annotated[str, Query(max_length=255, description="The name of the file.")] = "rows.csv",
) -> Response:
    """Upload a file to an empty store; the response says what each field was taken for."""
    check_media_type(request, *_FILES)
    content = await read_bytes(request, here.limits.upload_bytes, here.limits)
    return json_response(await here.write(here.service.inspect_upload, content, name))


@router.post(
    "/v1/setup",
    response_model=StatusOut,
    responses=_openapi.errors(*_openapi.BODY_ERRORS, 404, 409),
    openapi_extra=_openapi.body(SetupIn),
)
async def set_up(request: Request, here: Here, person: Admin) -> Response:
    """Create the learner of an empty store from an upload, and add its rows."""
    given = await read_json(request, SetupIn, here.limits)
    status = await here.write(
        lambda: here.service.set_up(
            given.upload,
            kinds={field.name: field.kind for field in given.fields},
            label_column=given.label_column,
            classes=given.classes,
            name=given.name,
        )
    )
    return json_response({**status, "me": {"name": person.name, "role": person.role}})


@router.patch(
    "/v1/settings",
    response_model=ServiceSettings,
    responses=_openapi.errors(*_openapi.BODY_ERRORS, 409),
    openapi_extra=_openapi.body(SettingsIn),
)
async def change_settings(request: Request, here: Here, person: Admin) -> Response:
    """Change how people are asked; what is left out stays."""
    given = (await read_json(request, SettingsIn, here.limits)).model_dump(exclude_none=True)
    changed = dataclasses.replace(here.service.settings, **given)
    await here.write(here.service.change_settings, changed)
    return json_response(here.service.settings)
