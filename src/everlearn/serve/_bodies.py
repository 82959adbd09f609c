"""Request bodies: read within bounds of size and time, parsed without a copy in Python objects of the rest.

JSON is validated by pydantic in one pass over the bytes; NDJSON line by line while it arrives. Bodies of more
than some kilobytes are parsed in a thread, so that the event loop goes on.
"""

import time
from collections.abc import AsyncIterator
from typing import Any, TypeVar

import anyio
from anyio import to_thread
from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect

from ._problems import Problem
from .limits import Limits

_Model = TypeVar("_Model", bound=BaseModel)
_IN_THREAD = 64 * 1024  # bytes that are parsed where they are; about a millisecond
_TOO_SLOW = "The request did not arrive in time."


class InvalidBody(Exception):
    """A body that does not have the wanted form.

    Parameters
    ----------
    errors : list of dict
        The errors, as pydantic lists them.
    """

    def __init__(self, errors: list[Any]) -> None:
        super().__init__("invalid body")
        self.errors = errors


async def read_json(request: Request, model: type[_Model], limits: Limits) -> _Model:
    """The JSON body of a request, as a model."""
    check_media_type(request, "application/json")
    body = await read_bytes(request, limits.body_bytes, limits)
    if len(body) > _IN_THREAD:
        return await to_thread.run_sync(parse, model, body)
    return parse(model, body)


async def read_ndjson(request: Request, model: type[_Model], most: int, limits: Limits) -> list[_Model]:
    """The lines of an NDJSON body; it is refused as soon as a line or their number is not acceptable."""
    rows: list[_Model] = []
    begun: list[bytes] = []  # pieces of a line that has not ended: joined once, however many there are
    line = 0
    async for piece in _pieces(request, limits.body_bytes, limits):
        first, *others = piece.split(b"\n")
        begun.append(first)
        if others:
            lines = [b"".join(begun), *others[:-1]]
            begun = [others[-1]]
            line = await _add_lines(rows, lines, line, model, most)
    await _add_lines(rows, [b"".join(begun)], line, model, most)
    return rows


async def _add_lines(
    rows: list[_Model], lines: list[bytes], line: int, model: type[_Model], most: int
) -> int:
    def add() -> int:
        number = line
        for text in lines:
            number += 1
            if not text.strip():
                continue
            if len(rows) >= most:
                raise too_many("rows", most)
            try:
                rows.append(parse(model, text))
            except InvalidBody as error:
                for found in error.errors:
                    found["loc"] = (f"line {number}", *found["loc"])
                raise
        return number

    if sum(map(len, lines)) > _IN_THREAD:
        return await to_thread.run_sync(add)
    return add()


async def read_bytes(request: Request, most: int, limits: Limits) -> bytes:
    """The whole body of a request."""
    return b"".join([piece async for piece in _pieces(request, most, limits)])


def parse(model: type[_Model], body: bytes) -> _Model:
    """A model from JSON."""
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise InvalidBody(list(error.errors(include_url=False, include_context=False))) from None


def check_media_type(request: Request, *allowed: str) -> str:
    """The media type of a request; an error if it is not one of these."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in allowed:
        raise Problem(
            "wrong_media_type",
            f"The content type must be {' or '.join(allowed)}, got {given or 'none'!r}.",
            parameter="Content-Type",
            value=given,
            remedy=f"Send the header Content-Type: {allowed[0]}.",
        )
    return given


def too_many(what: str, most: int) -> Problem:
    """The error for too many rows or answers in a request."""
    return Problem(
        f"too_many_{what}",
        f"A request may have at most {most:,} {what}.",
        parameter=what,
        remedy="Send them in several requests.",
    )


async def _pieces(request: Request, most: int, limits: Limits) -> AsyncIterator[bytes]:
    """The pieces of a body; an error if it is too large, too slow or ends too early."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > most:
        raise _too_large(most)
    total, end = 0, time.monotonic() + limits.request_seconds
    stream = request.stream().__aiter__()
    while True:
        try:
            with anyio.fail_after(min(limits.body_seconds, max(end - time.monotonic(), 0.0))):
                piece = await anext(stream)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Problem(
                "slow_body", _TOO_SLOW, remedy="Send less at a time.", headers={"Connection": "close"}
            ) from None
        except ClientDisconnect:
            raise Problem("bad_request", "The connection was closed before the end of the request.") from None
        total += len(piece)
        if total > most:
            raise _too_large(most)
        if piece:
            yield piece


def _too_large(most: int) -> Problem:
    return Problem(
        "too_large",
        f"A request may have at most {most:,} bytes.",
        remedy="Send less at a time.",
        headers={"Connection": "close"},
    )
