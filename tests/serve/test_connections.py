"""Real connections: events, slow and broken requests, many at once."""

import contextlib
import json
import socket
import time
from dataclasses import replace
from types import SimpleNamespace

import httpx
import pytest

from everlearn.errors import StoreError
from everlearn.serve import _events
from everlearn.serve._connections import Connection
from everlearn.serve.limits import Limits

TIMEOUT = 5  # for a busy machine; nothing here takes long by itself


@pytest.fixture
def headers(access):
    return {"Authorization": f"Bearer {access.create_token('Root', 'admin')}"}


@pytest.fixture
def url(address):
    return f"http://{address[0]}:{address[1]}"


def events_in(lines):
    """The events of a stream, as (id, event, data)."""
    fields = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            yield int(fields["id"]), fields["event"], json.loads(fields["data"])
            fields = {}


def listening(url, headers, last=None):
    more = {} if last is None else {"Last-Event-ID": str(last)}
    return httpx.stream("GET", f"{url}/v1/events", headers={**headers, **more}, timeout=TIMEOUT)


def wait_for(condition):
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_events_resume_where_they_ended(url, headers, service):
    for number in range(3):
        service.happen("rows", {"number": number})
    with listening(url, headers, last=0) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        events = events_in(stream.iter_lines())
        assert [next(events)[0] for _ in range(3)] == [1, 2, 3]
        service.happen("labels", {"text": "a\nb\r\u2028\x85<script>"})
        assert next(events) == (4, "labels", {"text": "a\nb\r\u2028\x85<script>"})
    for number in range(1000):  # more than one part of the log
        service.happen("rows", {"number": number})
    with listening(url, headers, last=4) as stream:
        events = events_in(stream.iter_lines())
        assert [next(events)[0] for _ in range(1000)] == list(range(5, 1005))


def test_without_a_number_events_start_now(url, headers, service, app):
    service.happen("rows", {"number": 1})
    with listening(url, headers) as stream:
        wait_for(lambda: app.state.context.hub.connections == 1)
        time.sleep(0.2)  # until it reads the queue
        service.happen("rows", {"number": 2})
        assert next(events_in(stream.iter_lines()))[0] == 2
    wait_for(lambda: app.state.context.hub.connections == 0)


def test_events_go_on_after_the_log_could_not_be_read(url, headers, service, app, monkeypatch):
    monkeypatch.setattr(_events, "RETRY_SECONDS", 0.05)
    read, failures = app.state.context.hub._events_after, []

    def unreadable(*args):
        failures.append(args)
        raise StoreError("The database is restarting.")

    with listening(url, headers) as stream:
        wait_for(lambda: app.state.context.hub.connections == 1)
        time.sleep(0.2)  # until it reads the queue
        monkeypatch.setattr(app.state.context.hub, "_events_after", unreadable)
        service.happen("rows", {"number": 1})
        wait_for(lambda: len(failures) > 2)
        monkeypatch.setattr(app.state.context.hub, "_events_after", read)
        assert next(events_in(stream.iter_lines()))[2] == {"number": 1}


def test_a_connection_is_kept_alive_by_pings(url, headers, monkeypatch):
    monkeypatch.setattr(_events, "PING_SECONDS", 0.05)
    with listening(url, headers) as stream:
        lines = stream.iter_lines()
        assert sum(next(lines) == ": ping" for _ in range(8)) >= 3


def test_connections_to_events_are_bounded(url, headers, app):
    streams = [listening(url, headers) for _ in range(3)]
    for stream in streams:
        assert stream.__enter__().status_code == 200
    refused = httpx.get(f"{url}/v1/events", headers=headers)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    streams[0].__exit__(None, None, None)
    wait_for(lambda: app.state.context.hub.connections == 2)
    with listening(url, headers) as stream:
        assert stream.status_code == 200
    for stream in streams[1:]:
        stream.__exit__(None, None, None)


def test_a_slow_reader_is_cut_off(url, address, headers, service, app):
    with socket.create_connection(address) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(request_bytes("GET", "/v1/events", headers))
        wait_for(lambda: app.state.context.hub.connections == 1)
        for _ in range(400):
            service.happen("rows", {"text": "x" * 50_000})
        wait_for(lambda: app.state.context.hub.connections == 0)
    assert httpx.get(f"{url}/healthz").status_code == 200


def request_bytes(method, path, headers, body=b"", length=None):
    lines = [f"{method} {path} HTTP/1.1", "Host: x"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body or length:
        lines += ["Content-Type: application/json", f"Content-Length: {length or len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def answer(connection):
    """Status line and the rest."""
    connection.settimeout(TIMEOUT)
    received = b""
    while piece := connection.recv(65536):
        received += piece
        head, _, rest = received.partition(b"\r\n\r\n")
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"content-length: ") and len(rest) >= int(line.split(b": ")[1]):
                return int(head.split(b" ")[1]), rest
    return (int(received.split(b" ")[1]), received) if received else (None, b"")


def test_a_slow_body_is_not_waited_for(address, headers):
    with socket.create_connection(address) as slow:
        slow.sendall(request_bytes("POST", "/v1/rows", headers, b'{"rows"', length=1000))
        status, body = answer(slow)
        assert status == 408
        assert json.loads(body)["code"] == "slow_body"


def test_a_body_in_drops_is_not_waited_for(address, headers):
    with socket.create_connection(address) as slow:
        slow.sendall(request_bytes("POST", "/v1/rows", headers, b"{", length=10_000))
        end = time.monotonic() + TIMEOUT
        slow.settimeout(0.1)
        received = b""
        while not received:
            assert time.monotonic() < end
            try:
                slow.sendall(b" ")
                received = slow.recv(65536)
            except TimeoutError:
                continue
        assert b" 408 " in received


def test_lines_in_pieces(url, headers, service):
    lines = b"".join(
        json.dumps({"id": f"r{n}", "fields": {"text": "ä" * n}}).encode() + b"\n" for n in range(9)
    )
    for size in (1, 7, 64, len(lines)):
        pieces = (lines[start : start + size] for start in range(0, len(lines), size))
        more = {"Content-Type": "application/x-ndjson"}
        answered = httpx.post(f"{url}/v1/rows", headers={**headers, **more}, content=pieces, timeout=TIMEOUT)
        assert answered.status_code == 200
        rows, service.rows = service.rows, []
        assert [(row.id, row.fields["text"]) for row in rows] == [(f"r{n}", "ä" * n) for n in range(9)]


def test_a_truncated_body_stores_nothing(url, address, headers, service):
    with socket.create_connection(address) as broken:
        broken.sendall(request_bytes("POST", "/v1/rows", headers, b'{"rows": [{"fields": {}}]}', length=99))
    assert httpx.get(f"{url}/healthz").status_code == 200
    assert service.rows == []


@pytest.mark.parametrize(
    "request_text",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: " + b"x" * 100_000 + b"\r\n\r\n",
        b"POST /v1/rows HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/rows HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /v1/rows HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\n",
    ],
    ids=range(8),
)
def test_what_is_not_http(url, address, request_text):
    with socket.create_connection(address) as broken:
        broken.sendall(request_text)
        broken.shutdown(socket.SHUT_WR)
        assert answer(broken)[0] in (None, 400, 401, 404)
    assert httpx.get(f"{url}/healthz").status_code == 200


def test_requests_that_wait_are_bounded(url, address, headers, app):
    context = app.state.context  # they wait as long as a busy machine needs to open all of them
    context.limits = replace(context.limits, body_seconds=TIMEOUT, request_seconds=TIMEOUT)
    waiting = []
    for _ in range(50):
        connection = socket.create_connection(address)
        connection.sendall(request_bytes("POST", "/v1/rows", headers, b"{", length=1000))
        waiting.append(connection)
    statuses = set()
    end = time.monotonic() + TIMEOUT
    while 429 not in statuses and time.monotonic() < end:
        refused = httpx.get(f"{url}/healthz")
        statuses.add(refused.status_code)
        if refused.status_code == 429:
            assert refused.headers["content-type"] == "application/problem+json"
            assert "retry-after" in refused.headers
    for connection in waiting:
        connection.close()
    assert 429 in statuses
    wait_for(lambda: httpx.get(f"{url}/healthz").status_code == 200)


def gone_while_sending(connection, drop):
    """Send drops until the other side closes the connection."""
    end = time.monotonic() + TIMEOUT
    received = None
    while received is None and time.monotonic() < end:
        received = after(connection, drop)
    return received == b""


def after(connection, drop):
    """What comes after a drop; None if nothing has come yet."""
    try:
        connection.sendall(drop)
        return connection.recv(1)
    except TimeoutError:
        return None
    except ConnectionError:
        return b""


def test_connections_without_a_request_are_closed(url, address, headers, app):
    context = app.state.context
    context.limits = replace(context.limits, idle_seconds=0.3)
    with socket.create_connection(address) as silent, socket.create_connection(address) as slow:
        silent.settimeout(TIMEOUT)
        slow.settimeout(0.05)
        slow.sendall(b"GET /healthz HTTP/1.1\r\nA: ")
        assert gone_while_sending(slow, b"x")
        assert silent.recv(1) == b""
    with httpx.Client() as client:  # one that goes on asking is kept
        for _ in range(8):
            assert client.get(f"{url}/healthz").status_code == 200
            time.sleep(0.1)
        (connection,) = client._transport._pool.connections
        assert connection._connection._request_count == 8


def test_a_connection_whose_request_took_long_is_kept_for_the_next_one():
    looks, closed = [], []
    limits = SimpleNamespace(state=SimpleNamespace(context=SimpleNamespace(limits=Limits())))
    connection = Connection.__new__(Connection)
    connection.config = SimpleNamespace(app=limits)
    connection.loop = SimpleNamespace(call_later=lambda seconds, look: looks.append(seconds))
    connection.transport = SimpleNamespace(close=lambda: closed.append(len(looks)))
    connection.cycle = SimpleNamespace(response_complete=False)
    connection._look()
    connection._look()
    connection.cycle.response_complete = True  # just now
    connection._look()
    assert (looks, closed) == ([30.0] * 3, [])
    connection._look()
    assert closed == [3]


def test_connections_are_bounded(url, address, headers, app):
    context = app.state.context
    context.limits = replace(context.limits, connections=5)
    with contextlib.ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(socket.create_connection(address))
        end = time.monotonic() + TIMEOUT
        refused = None
        while refused is None or refused.status_code == 200:
            assert time.monotonic() < end
            refused = httpx.get(f"{url}/healthz")
        assert refused.status_code == 429
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.json()["detail"] == "There are already 5 connections."
        assert "retry-after" in refused.headers
    wait_for(lambda: httpx.get(f"{url}/healthz").status_code == 200)


def test_a_server_with_listeners_stops(url, headers):
    stream = listening(url, headers)
    stream.__enter__()
    # the fixture stops the server, and fails if it does not end
