"""`everlearn serve` as a process of its own."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

TIMEOUT = 240  # seconds for a busy machine; nothing here waits for long by itself


class ServerProcess:
    """A service on a free port of this machine; a context manager that stops it.

    Attributes
    ----------
    url, token : str
        As in the ready file.
    process : Popen
        The process.
    """

    def __init__(self, store, *options, port=0):
        self.store, self.options, self.port = store, options, port
        self._folder = tempfile.TemporaryDirectory()
        self.ready_file = Path(self._folder.name) / "ready.json"
        self.process = None

    def start(self):
        """Start it, and wait until it answers."""
        self.ready_file.unlink(missing_ok=True)
        command = [sys.executable, "-m", "everlearn.cli", "serve", str(self.store), "--port", str(self.port)]
        command += ["--ready-file", str(self.ready_file), "--random-state", "0", *map(str, self.options)]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        end = time.monotonic() + TIMEOUT
        while not self.ready_file.exists():
            if self.process.poll() is not None:
                raise RuntimeError(f"The service ended: {self.process.communicate()}")
            if time.monotonic() > end:
                self.kill()
                raise TimeoutError("The service does not start.")
            time.sleep(0.01)
        ready = json.loads(self.ready_file.read_text())
        self.url, self.token = ready["url"], ready["token"]
        self.port = int(self.url.rsplit(":", 1)[1].partition("/")[0])  # for the next start
        return self

    def client(self, token=None, **options):
        """A client with the admin token, or another."""
        headers = {"Authorization": f"Bearer {token or self.token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=TIMEOUT, **options)

    def person(self, name, role="annotator"):
        """A client for a person."""
        with self.client() as admin:
            made = admin.post("/v1/tokens", json={"name": name, "role": role}).raise_for_status()
        return self.client(made.json()["token"])

    def memory(self):
        """The memory that the process has in use, in bytes."""
        fields = Path(f"/proc/{self.process.pid}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")

    def cpu(self):
        """The CPU time that the process has used, in seconds."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self):
        """SIGKILL."""
        self.process.kill()
        self.process.communicate(timeout=TIMEOUT)

    def stop(self, number=signal.SIGTERM):
        """Stop it with a signal; returns the exit status, standard output and standard error."""
        self.process.send_signal(number)
        output = self.process.communicate(timeout=TIMEOUT)
        return self.process.returncode, *output

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process is not None and self.process.poll() is None:
            self.stop()
        self._folder.cleanup()
