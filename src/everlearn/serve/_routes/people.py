"""People and programs: tokens, one-time links, sessions."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import RedirectResponse, Response

from ...errors import InputError
from .. import _openapi
from .._bodies import read_json
from .._context import Admin, Anybody, Context, Here, Reader, json_response
from .._models import LinkIn, LinkOut, PeopleOut, RevokedOut, TokenOut
from .._problems import Problem

router = APIRouter(tags=["people"])
_YEAR = 365 * 24 * 3600


@router.post(
    "/v1/links",
    response_model=LinkOut,
    responses=_openapi.errors(*_openapi.BODY_ERRORS),
    openapi_extra=_openapi.body(LinkIn),
)
async def create_link(request: Request, here: Here, person: Admin) -> Response:
    """A link that opens the page for one person, once, within a week."""
    given = await read_json(request, LinkIn, here.limits)
    code = await here.write(here.access.create_link, given.name, given.role)
    return json_response({"url": f"{str(request.base_url).rstrip('/')}/join?code={quote(code)}"})


@router.post(
    "/v1/tokens",
    response_model=TokenOut,
    responses=_openapi.errors(*_openapi.BODY_ERRORS),
    openapi_extra=_openapi.body(LinkIn),
)
async def create_token(request: Request, here: Here, person: Admin) -> Response:
    """A token for a program; it is shown once, and only its hash is stored."""
    given = await read_json(request, LinkIn, here.limits)
    token = await here.write(here.access.create_token, given.name, given.role)
    return json_response({"name": given.name, "role": given.role, "token": token})


@router.get("/v1/people", response_model=PeopleOut, responses=_openapi.errors())
async def people(here: Here, person: Admin) -> Response:
    """Everybody who has a token, a session or an open link."""
    return json_response({"people": here.access.people()})


@router.delete("/v1/people/{name:path}", response_model=RevokedOut, responses=_openapi.errors(404))
async def revoke(here: Here, person: Admin, name: Annotated[str, Path(max_length=100)]) -> Response:
    """Revoke all tokens, sessions and links of a name; answers stay."""
    revoked = await here.write(here.access.revoke, name)
    if not revoked:
        raise Problem("not_found", f"{name!r} has no token.", parameter="name", value=name)
    return json_response({"revoked": revoked})


@router.get(
    "/join",
    response_class=Response,
    status_code=303,
    responses={**_openapi.errors(410), 303: {"description": "The page, with a session."}},
)
async def join(request: Request, here: Here, code: Annotated[str, Query(max_length=200)]) -> Response:
    """Exchange a one-time link for a session, and go to the page."""
    root = request.scope.get("root_path", "").rstrip("/")
    try:
        _, token = await here.write(here.access.join, code)
    except InputError:
        # A person sees the page, which says so, or is signed in already; a program gets the problem.
        if "text/html" not in request.headers.get("accept", ""):
            raise
        return RedirectResponse(f"{root}/#/used-link", 303, headers={"Cache-Control": "no-store"})
    response = RedirectResponse(f"{root}/", 303, headers={"Cache-Control": "no-store"})
    _set_cookie(response, request, here, token)
    return response


@router.post("/v1/session", status_code=204, response_class=Response, responses=_openapi.errors())
async def sign_in(request: Request, here: Here, person: Reader) -> Response:
    """Exchange a token for a session in a cookie, for the page."""
    token = await here.write(here.access.create_session, person)
    response = Response(status_code=204)
    _set_cookie(response, request, here, token)
    return response


def _set_cookie(response: Response, request: Request, here: Context, token: str) -> None:
    response.set_cookie(
        here.access.cookie,
        token,
        max_age=_YEAR,
        path=request.scope.get("root_path", "").rstrip("/") or "/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )


@router.post("/v1/leave", status_code=204, response_class=Response, responses=_openapi.errors())
async def leave(request: Request, here: Here, person: Anybody) -> Response:
    """Sign out."""
    await here.write(here.access.end_session, request.cookies.get(here.access.cookie, ""))
    response = Response(status_code=204)
    response.delete_cookie(here.access.cookie, path=request.scope.get("root_path", "").rstrip("/") or "/")
    return response
