"""Processes that write to a store, acknowledge every call that has returned, and may die at any time."""

import contextlib
import mmap
import os
import signal
import struct
import time
import traceback
from pathlib import Path

from .script import open_store, perform


class Acknowledged:
    """How many calls of the script have returned; in shared memory, so that it survives a kill."""

    def __init__(self):
        self._shared = mmap.mmap(-1, 8)

    @property
    def count(self):
        return struct.unpack("Q", self._shared[:8])[0]

    def set(self, count):
        self._shared[:8] = struct.pack("Q", count)


class Worker:
    """A forked process that runs a function; what it raised comes back by `wait`."""

    def __init__(self, work):
        here, there = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(here)
            try:
                work()
            except BaseException:
                os.write(there, traceback.format_exc()[-60_000:].encode())
            os._exit(0)
        os.close(there)
        self._pipe = here

    def kill(self):
        """End it without a word."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self):
        """Wait for its end: whether it was killed, and the error that it died of."""
        with os.fdopen(self._pipe, "rb") as pipe:
            error = pipe.read().decode()
        status = os.waitpid(self.pid, 0)[1]
        return os.WIFSIGNALED(status), error

    def lets_pass(self, acknowledged, count):
        """Wait until it has acknowledged so many more calls; whether it is still at work then."""
        until = acknowledged.count + count
        wait_until(lambda: acknowledged.count >= until or not self.alive())
        return self.alive()

    def alive(self):
        """Whether it is still at work."""
        stat = Path(f"/proc/{self.pid}/stat")
        return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def wait_until(condition, seconds=120.0):
    """Wait for something that is sure to come."""
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            raise AssertionError(f"nothing has happened for {seconds:g} seconds")
        time.sleep(0.0005)


def write_on(truth, place, shim, acknowledged, until=None):
    """Resume the script where the store stands, and acknowledge each call."""
    learner = open_store(place, truth.kind)
    done, end = truth.done(learner.status()["events"]), len(truth.calls) if until is None else until
    for number in range(done, end):
        shim.set_clock(truth.calls[number].clock)
        learner = perform(learner, truth.calls[number], place, truth.kind)
        acknowledged.set(max(number + 1, acknowledged.count))
    acknowledged.set(max(end, acknowledged.count))  # also a call that a killed worker stored at the very end
    learner.close()
