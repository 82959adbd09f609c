"""The bounds of the service: what a request may weigh, and how many there may be."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds that protect the service; a request beyond one is answered with 413, 408 or 429.

    Attributes
    ----------
    body_bytes : int
        The maximum size of a request.
    upload_bytes : int
        The maximum size of an uploaded file, for setup and import.
    body_seconds : float
        The maximum time between two pieces of a request.
    request_seconds : float
        The maximum time in which a request must have arrived.
    rows : int
        The maximum number of rows in a request, and so in a block, for which other requests wait.
    answers : int
        The maximum number of answers in a request.
    questions : int
        The maximum number of questions that are leased in one request.
    event_streams : int
        The maximum number of connections to /v1/events.
    stream_seconds : float
        The maximum time that a reader of events may take for one piece; then it is cut off.
    waiting : int
        The maximum number of requests that run or wait at the same time.
    connections : int
        The maximum number of connections; fewer if the system allows the process fewer open files.
    idle_seconds : float
        The maximum time for which a connection may be open without a request.
    """

    body_bytes: int = 16 * 2**20
    upload_bytes: int = 256 * 2**20
    body_seconds: float = 10.0
    request_seconds: float = 60.0
    rows: int = 1_000
    answers: int = 1_000
    questions: int = 50
    event_streams: int = 1_000
    stream_seconds: float = 20.0
    waiting: int = 1_000
    connections: int = 4_000
    idle_seconds: float = 30.0
