"""`everlearn serve` as a process: how it starts, what it keeps, how it stops."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time

import httpx
import pytest

from everlearn.stream import NeverEndingLearner
from serve.notes_helpers import note, set_up_notes
from serve.server_process import TIMEOUT, ServerProcess


def test_the_ready_file_is_secret_and_removed(process):
    mode = stat.S_IMODE(os.stat(process.ready_file).st_mode)
    assert mode == 0o600
    assert set(json.loads(process.ready_file.read_text())) == {"url", "token"}
    assert httpx.get(f"{process.url}/readyz").json()["status"] == "ready"
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), 80, socket.AF_INET)}
    for address in addresses - {"127.0.0.1", "127.0.1.1"}:  # it listens on loopback only
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address, process.port), timeout=5).close()
    code, output, errors = process.stop()
    assert code == 0
    assert errors == ""
    assert output.count(process.token) == 1
    assert re.search(r"http://127\.0\.0\.1:\d+/join\?code=\S+", output)
    assert not process.ready_file.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_with_listeners_and_work(process, number):
    set_up_notes(process)
    headers = {"Authorization": f"Bearer {process.token}"}
    acknowledged = []

    def send():
        with process.client() as client:
            for place in range(10_000):
                row = note(10_000 + place)[0]
                try:
                    done = client.post("/v1/rows", json={"rows": [{"id": row["id"], "fields": row}]})
                except httpx.TransportError:
                    return
                if done.status_code == 200:
                    acknowledged.append(row["id"])

    with httpx.stream("GET", f"{process.url}/v1/events", headers=headers, timeout=TIMEOUT):
        sender = threading.Thread(target=send)
        sender.start()
        while len(acknowledged) < 5:
            time.sleep(0.01)
        code, output, errors = process.stop(number)
        sender.join(TIMEOUT)
    assert code == 0, errors
    assert output.endswith("Stopped.\n")
    assert "Traceback" not in errors
    with NeverEndingLearner.open(process.store, read_only=True) as learner:
        assert set(learner.known_ids(acknowledged)) == set(acknowledged)


def test_a_second_service_is_refused(process):
    command = [sys.executable, "-m", "everlearn.cli", "serve", str(process.store), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr
    command[-1] = str(process.port)
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 1
    assert "in use" in done.stderr


def test_settings_of_the_command_line_are_kept(tmp_path):
    store, token = tmp_path / "s.everlearn", "t" * 40
    options = ("--no-blind", "--overlap", "2:0.5", "--name", "Spring", "--lease-seconds", "30")
    with ServerProcess(store, *options, "--token", token) as process:
        assert process.token == token
        set_up_notes(process)
    with ServerProcess(store) as process, process.client() as admin:
        settings = admin.get("/v1/status").json()["settings"]
        assert settings["blind"] is False
        assert settings["overlap"] == {"answers": 2, "fraction": 0.5}
        assert settings["lease_seconds"] == 30
