"""What the routes share: who asks, and how the service is called without blocking the event loop."""

import base64
import binascii
from collections.abc import Callable
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

import anyio
from anyio import to_thread
from fastapi import Depends, Header, Request
from pydantic_core import to_json
from starlette.responses import Response

from ._events import EventHub
from ._metrics import Metrics
from ._problems import Problem
from ._static import StaticFiles
from .access import Access, Person
from .limits import Limits
from .service import LearningService

_Result = TypeVar("_Result")
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


class Context:
    """The service behind an application.

    Parameters
    ----------
    service : LearningService
        The learner.
    access : Access
        Tokens and links.
    limits : Limits
        The bounds.
    """

    def __init__(self, service: LearningService, access: Access, limits: Limits) -> None:
        self.service, self.access, self.limits = service, access, limits
        self.hub = EventHub(service.events_after, limits)
        self.files = StaticFiles()
        self.metrics = Metrics(service.status, lambda: self.hub.connections)
        # Writes wait for the writer, so they have threads of their own: they never keep a question waiting.
        self._reads, self._writes = anyio.CapacityLimiter(16), anyio.CapacityLimiter(64)

    async def read(self, function: Callable[..., _Result], *args: Any) -> _Result:
        """Call a function that does not write, in a thread."""
        return await to_thread.run_sync(function, *args, limiter=self._reads)

    async def write(self, function: Callable[..., _Result], *args: Any) -> _Result:
        """Call a function that waits for the writer, in a thread."""
        return await to_thread.run_sync(function, *args, limiter=self._writes)


def context_of(request: Request) -> Context:
    """The context of the application that handles a request."""
    return request.app.state.context  # type: ignore[no-any-return]


async def _here(request: Request) -> Context:  # a plain function would be called in a thread
    return context_of(request)


Here = Annotated[Context, Depends(_here)]


def allow(*roles: str) -> Any:
    """A dependency: the person who asks, if the role is one of these or admin."""

    async def check(request: Request) -> Person:
        person = identify(request)
        if person.role != "admin" and person.role not in roles:
            raise Problem(
                "forbidden",
                f"The role {person.role} may not do this.",
                remedy=f"Use a token with the role {' or '.join((*roles, 'admin'))}.",
            )
        return person

    return Depends(check)


def identify(request: Request) -> Person:
    """Who asks: by the token in the header, or by the cookie of the session."""
    access = context_of(request).access
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    token = given.strip() if kind.lower() == "bearer" else _password(given) if kind.lower() == "basic" else ""
    by_cookie = not kind
    if by_cookie:
        token = request.cookies.get(access.cookie, "")
    person = access.person(token) if token else None
    if person is None:
        raise Problem(
            "no_token",
            "There is no token, or it is not valid." if token else "There is no token.",
            remedy="Send the header Authorization: Bearer TOKEN, or open a link from an admin.",
        )
    if by_cookie and request.method not in _SAFE_METHODS and not _same_origin(request):
        raise Problem(
            "forbidden", "Another site sent this request.", remedy="Send a token in the header Authorization."
        )
    return person


def _password(given: str) -> str:
    """The token in a Basic header: its password. Label Studio knows no other form."""
    try:
        return base64.b64decode(given.strip(), validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""


def _same_origin(request: Request) -> bool:
    """Whether the page of this service sent a request; SameSite alone also admits other ports of the host."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


Anybody = Annotated[Person, allow("producer", "annotator", "viewer")]
Producer = Annotated[Person, allow("producer")]
Annotator = Annotated[Person, allow("annotator")]
Viewer = Annotated[Person, allow("viewer")]
Reader = Annotated[Person, allow("annotator", "viewer")]
Admin = Annotated[Person, allow()]

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="A key that the client makes, such as a UUID. The same key and body return the first "
        "outcome; another body under the same key is refused.",
    ),
]


def json_response(value: Any, status: int = 200) -> Response:
    """A value as JSON; numbers that JSON does not have are null."""
    content = to_json(value, inf_nan_mode="null", fallback=_plain)
    return Response(content, status, headers={"Cache-Control": "no-store"}, media_type="application/json")


def _plain(value: Any) -> Any:
    """A NumPy value as a plain one."""
    return value.item() if hasattr(value, "item") else str(value)
