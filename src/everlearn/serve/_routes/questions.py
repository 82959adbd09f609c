"""Questions for people, and the leases by which two people do not get the same one."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from .. import _openapi
from .._bodies import read_json
from .._context import Annotator, Here, json_response
from .._explaining import Explanation
from .._models import ReleaseIn, ReleaseOut, RenewIn, RenewOut
from .._problems import Problem
from .._questions import Questions

router = APIRouter(tags=["questions"])


@router.get("/v1/questions", response_model=Questions, responses=_openapi.errors(409))
async def lease_questions(
    here: Here,
    person: Annotator,
    n: Annotated[int, Query(ge=1, le=1_000, description="The maximum number of questions.")] = 5,
    queue: Annotated[
        Literal["asked", "disagreements", "suspects"],
        Query(
            description="What the model asks, rows on which people disagree, or rows whose label it doubts."
        ),
    ] = "asked",
    exclude: Annotated[
        str, Query(max_length=10_000, description="Ids that the caller has already, with commas.")
    ] = "",
) -> Response:
    """Lease questions. Without any, the response says why, and when to ask again."""
    if n > here.limits.questions:
        raise Problem(
            "invalid_value",
            f"At most {here.limits.questions} questions can be leased at a time.",
            parameter="n",
            value=n,
            remedy="Ask for fewer.",
        )
    ids = [name for name in exclude.split(",") if name]
    found = await here.write(lambda: here.service.lease_questions(person.name, n, queue=queue, exclude=ids))
    return json_response(found)


@router.post(
    "/v1/leases/{id}/renew",
    response_model=RenewOut,
    responses=_openapi.errors(*_openapi.BODY_ERRORS, 404, 410),
    openapi_extra=_openapi.body(RenewIn),
)
async def renew(
    request: Request, here: Here, person: Annotator, id: Annotated[str, Path(max_length=200)]
) -> Response:
    """Renew a lease, with the token of its claim."""
    given = await read_json(request, RenewIn, here.limits)
    return json_response({"expires_in": here.service.renew(id, given.token)})


@router.post(
    "/v1/leases:release",
    response_model=ReleaseOut,
    responses=_openapi.errors(*_openapi.BODY_ERRORS),
    openapi_extra=_openapi.body(ReleaseIn),
)
async def release(request: Request, here: Here, person: Annotator) -> Response:
    """Give leases back; those that have ended are ignored. Meant for `navigator.sendBeacon`, too."""
    given = await read_json(request, ReleaseIn, here.limits)
    released = here.service.release([(lease.id, lease.token) for lease in given.leases])
    return json_response({"released": released})


@router.get(
    "/v1/explanations/{id:path}", response_model=Explanation, responses=_openapi.errors(403, 404, 409)
)
async def explain(here: Here, person: Annotator, id: Annotated[str, Path(max_length=1_000)]) -> Response:
    """Why the model predicts the class of a row: labeled rows and words that speak for and against it.

    In a blind project, only those who have answered the row may know.
    """
    return json_response(await here.read(here.service.explain, id, person.name))
