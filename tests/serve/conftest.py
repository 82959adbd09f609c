import threading

import pytest
from starlette.testclient import TestClient

from everlearn.serve.access import Access
from everlearn.serve.app import create_app
from everlearn.serve.limits import Limits
from everlearn.serve.run import bind, server
from serve.fake_service import FakeService
from serve.server_process import ServerProcess
from serve.service_helpers import Clock, set_up

SMALL = Limits(
    body_bytes=20_000,
    upload_bytes=30_000,
    body_seconds=0.5,
    request_seconds=2.0,
    rows=100,
    answers=20,
    event_streams=3,
    stream_seconds=1.0,
    waiting=50,
)


@pytest.fixture
def service():
    return FakeService()


@pytest.fixture
def access(service):
    return Access(service.notes, service.set_notes)


@pytest.fixture
def app(service, access):
    return create_app(service, access, SMALL)


@pytest.fixture
def client(app, access):
    """A client with an admin token; errors are answered, not raised."""
    headers = {"Authorization": f"Bearer {access.create_token('Root', 'admin')}"}
    with TestClient(app, headers=headers, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def address(app):
    """The address of a server with the application, in a thread."""
    ready = threading.Event()
    with bind("127.0.0.1", 0) as listening:
        running = server(app, ready.set)
        thread = threading.Thread(target=running.run, args=([listening],))
        thread.start()
        assert ready.wait(60)
        yield listening.getsockname()
        running.should_exit = True
        thread.join(60)
        assert not thread.is_alive()


@pytest.fixture
def clock(monkeypatch):
    """A clock for a `LearningService`, which then keeps no part of its status for a second."""
    monkeypatch.setattr("everlearn.serve._overview._FRESH", 0.0)
    return Clock()


@pytest.fixture
def learning(clock):
    """A `LearningService` with rows and no answers, on a clock that the test moves."""
    with set_up(clock=clock) as service:
        yield service


@pytest.fixture
def process(tmp_path):
    with ServerProcess(tmp_path / "notes.everlearn") as process:
        yield process
