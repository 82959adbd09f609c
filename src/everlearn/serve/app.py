"""The application: routes, headers, bounds and errors around a `LearningService`."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from importlib.metadata import version

from fastapi import FastAPI, Request
from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from . import _openapi, _problems, label_studio
from ._bodies import InvalidBody
from ._context import Context
from ._ls_inbox import Inbox, learn_forever
from ._routes import labels, operations, people, questions, rows, setup, state
from .access import Access
from .limits import Limits
from .service import LearningService

_DESCRIPTION = """One learner for programs and people.

Programs send rows and get predictions; people answer the questions of the learner; it learns from every
answer. Every write may carry a key made by the client: the same key returns the first outcome. Errors
are problem details (RFC 9457) with the parameter, the value and the remedy."""


def create_app(
    service: LearningService,
    access: Access,
    limits: Limits | None = None,
    root_path: str = "",
    image_origins: Sequence[str] = (),
) -> FastAPI:
    """The web application for a service.

    Parameters
    ----------
    service : LearningService
        The learner; the caller closes it after the application has stopped.
    access : Access
        Tokens and links.
    limits : Limits, default=None
        The bounds; None for the default ones.
    root_path : str, default=""
        The path under which a proxy serves the application, such as "/labels".
    image_origins : sequence of str, default=()
        Further origins from which the page may load pictures, such as "http://images.local". Pictures of the
        service itself, over https and in data URLs are always allowed.

    Returns
    -------
    FastAPI
        The application. ``app.state.context.hub.close()`` ends its event streams, so that it can stop.
    """
    context = Context(service, access, limits or Limits())

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()

        def wake(sequence: int) -> None:  # in the thread of the writer
            with contextlib.suppress(RuntimeError):  # the loop has been closed
                loop.call_soon_threadsafe(context.hub.wake, sequence)

        context.hub.wake(service.sequence)
        end = service.listen(wake)
        app.state.inbox = inbox = Inbox(service)
        tasks = [
            asyncio.create_task(context.hub.run()),
            asyncio.create_task(learn_forever(inbox, context.write)),
        ]
        try:
            yield
        finally:
            end()
            context.hub.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    app = FastAPI(
        title="everlearn",
        version=version("everlearn"),
        description=_DESCRIPTION,
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.context = context
    for room in (rows, questions, labels, state, setup, people, operations, label_studio):
        app.include_router(room.router)
    _problems.install(app)
    _openapi.install(app, root_path.rstrip("/"))

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, InvalidBody)
        return _problems.validation_problem(error.errors)

    app.add_exception_handler(InvalidBody, invalid)
    app.add_middleware(_Border, context=context, root_path=root_path.rstrip("/"), image_origins=image_origins)
    return app


class _Border:
    """Around every request: a bound on their number, security headers, metrics."""

    def __init__(self, app: ASGIApp, context: Context, root_path: str, image_origins: Sequence[str]) -> None:
        self._app, self._context, self._root = app, context, root_path
        self._running = 0
        self._headers = {
            "Content-Security-Policy": "default-src 'self'; img-src "
            + " ".join(("'self'", "data:", "https:", *image_origins))
            + "; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._root:
            path = scope["path"]  # a proxy cuts the prefix, or not
            inside = path == self._root or path.startswith(f"{self._root}/")
            scope = {**scope, "root_path": self._root, "path": path if inside else self._root + path}
        status, begin = 500, time.perf_counter()
        stream = scope["path"].endswith("/v1/events")  # these have a bound of their own

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        if self._running >= self._context.limits.waiting and not stream:
            response = _problems.problem_response(
                429,
                "too_many_requests",
                f"More than {self._context.limits.waiting:,} requests are waiting.",
                remedy="Try again later.",
            )
            await response(scope, receive, send_with_headers)
            return
        self._running += not stream
        try:
            await self._app(scope, receive, send_with_headers)
        finally:
            self._running -= not stream
            route = getattr(scope.get("route"), "path", "other")
            self._context.metrics.count(route, scope["method"], status)
            if not stream:
                self._context.metrics.seconds.labels(route).observe(time.perf_counter() - begin)
