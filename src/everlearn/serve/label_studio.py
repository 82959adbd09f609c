"""Label Studio's machine-learning backend: its four endpoints, without a dependency on its packages.

Label Studio asks for predictions anew whenever the model version changes, of all tasks. So the version that
it sees changes when the model has learned a tenth more, not with every label. It serves the task with the
lowest score first if the project samples by uncertainty. So the score is the order in which we would ask.
"""

import math
import xml.etree.ElementTree as ElementTree
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from . import _openapi
from ._bodies import read_json, too_many
from ._context import Here, Producer, json_response
from ._ls_inbox import ACTIONS, Inbox, row_id
from ._results import Predictions, RowIn, RowPrediction
from .service import LearningService

router = APIRouter(tags=["label studio"])
_JSON: dict[str, Any] = {"content": {"application/json": {"schema": {"type": "object"}}}}
_MAX_CONFIG = 1_000_000  # characters of a labeling configuration


class LabelStudioTasks(BaseModel):
    """What Label Studio sends to /predict."""

    model_config = ConfigDict(extra="allow")
    tasks: list[dict[str, Any]]
    project: str | int | None = None
    label_config: str | None = None


class LabelStudioSetup(BaseModel):
    """What Label Studio sends to /setup."""

    model_config = ConfigDict(extra="allow")


class LabelStudioEvent(BaseModel):
    """What Label Studio sends to /webhook."""

    model_config = ConfigDict(extra="allow")
    action: str


@router.get("/health", response_class=Response, responses={200: {"description": "It is up.", **_JSON}})
async def health() -> Response:
    """Whether the backend is up."""
    return json_response({"status": "UP", "model_class": "everlearn"})


@router.post(
    "/setup",
    response_class=Response,
    responses={**_openapi.errors(*_openapi.BODY_ERRORS), 200: {"description": "The version.", **_JSON}},
    openapi_extra=_openapi.body(LabelStudioSetup),
)
async def setup(request: Request, here: Here, person: Producer) -> Response:
    """The version of the model; nothing is set up."""
    await read_json(request, LabelStudioSetup, here.limits)
    version = 0 if here.service.setup_needed else (await here.read(here.service.predict, [])).model_version
    return json_response({"model_version": block_version(version)})


@router.post(
    "/predict",
    response_class=Response,
    responses={
        **_openapi.errors(*_openapi.BODY_ERRORS, 409),
        200: {"description": "One result for each task.", **_JSON},
    },
    openapi_extra=_openapi.body(LabelStudioTasks),
)
async def predict(request: Request, here: Here, person: Producer) -> Response:
    """Predict tasks; there are as many results as tasks, and nothing is stored."""
    given = await read_json(request, LabelStudioTasks, here.limits)
    if len(given.tasks) > here.limits.rows:
        raise too_many("rows", here.limits.rows)
    project = str(given.project or "0").partition(".")[0]
    rows = [_row(task, project) for task in given.tasks]
    control = control_in(given.label_config)
    found = await here.read(_predict_each, here.service, rows)
    version = block_version(found.model_version)
    results = [_result(one, control, version) for one in found.predictions]
    return json_response({"results": results, "model_version": version})


@router.post(
    "/webhook",
    response_class=Response,
    responses={
        **_openapi.errors(*_openapi.BODY_ERRORS),
        200: {"description": "An event that is ignored.", **_JSON},
        201: {"description": "It is stored, and will be learned.", **_JSON},
    },
    openapi_extra=_openapi.body(LabelStudioEvent),
)
async def webhook(request: Request, here: Here, person: Producer) -> Response:
    """Store annotations and deletions durably; they are learned afterwards."""
    given = await read_json(request, LabelStudioEvent, here.limits)
    if given.action not in ACTIONS:
        return json_response({"status": "Unknown event"})
    inbox: Inbox = request.app.state.inbox
    await here.write(inbox.put, given.model_dump())
    inbox.arrived.set()
    return json_response({"result": {}, "status": "ok"}, 201)


@router.get(
    "/label-studio/annotations",
    response_class=Response,
    responses={**_openapi.errors(), 200: {"description": "Rows by annotation.", **_JSON}},
)
async def annotations(request: Request, here: Here, person: Producer) -> Response:
    """The annotations that have been learned, for `everlearn reconcile`."""
    inbox: Inbox = request.app.state.inbox
    return json_response({"annotations": inbox.known, "waiting": inbox.waiting})


def block_version(version: int) -> str:
    """A version that changes when the model has changed ten times, and later by a tenth."""
    block = 0
    while (following := max(block + 10, math.ceil(block * 1.1))) <= version:
        block = following
    return f"everlearn-{block}"


def control_in(config: str | None) -> tuple[str, str, str]:
    """The names of the control and of its object, and its type, from a labeling configuration."""
    found = ("label", "text", "choices")
    if not config or len(config) > _MAX_CONFIG or "<!" in config:
        return found
    try:
        for element in ElementTree.fromstring(config).iter():
            if element.tag in ("Choices", "Rating"):
                name, target = element.get("name", found[0]), element.get("toName", found[1])
                return name, target.partition(",")[0], element.tag.lower()
    except ElementTree.ParseError:
        pass
    return found


def _predict_each(service: LearningService, rows: list[RowIn]) -> Predictions:
    """The predictions of all rows; a row that cannot be predicted has none, and does not spoil the others."""
    try:
        return service.predict(rows)
    except ValueError as error:
        if getattr(error, "code", None) == "setup_needed" or not rows:
            raise
    each = [_predict_one(service, row) for row in rows]
    return Predictions(
        max(one.model_version for one in each), [found for one in each for found in one.predictions]
    )


def _predict_one(service: LearningService, row: RowIn) -> Predictions:
    try:
        return service.predict([row])
    except ValueError:
        return Predictions(0, [RowPrediction(row.id, None, None)])


def _row(task: dict[str, Any], project: str) -> RowIn:
    data = task.get("data")
    return RowIn(data if isinstance(data, dict) else {}, row_id(project, task.get("id")))


def _result(found: RowPrediction, control: tuple[str, str, str], version: str) -> dict[str, Any]:
    """A prediction as Label Studio has it."""
    name, target, kind = control
    if found.label is None:
        return {"result": [], "score": 0.0, "model_version": version}
    value = {"choices": [str(found.label)]} if kind == "choices" else {"rating": found.label}
    part = {"from_name": name, "to_name": target, "type": kind, "value": value}
    return {"result": [part], "score": query_score(found), "model_version": version}


def query_score(found: RowPrediction) -> float:
    """The order in which rows are asked about, lowest first: the margin between the two likeliest classes."""
    likely = sorted((found.probabilities or {}).values(), reverse=True)
    return likely[0] - likely[1] if len(likely) > 1 else 0.0
