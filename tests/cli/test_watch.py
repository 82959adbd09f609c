"""`everlearn watch`: a store that another process writes."""

import os
import pty
import select
import signal
import subprocess
import sys
import time

import pytest

from cli.cli_helpers import everlearn, failed, learn, payments, write_csv
from cli.cli_process_helpers import LOCK_TIMEOUT
from everlearn.cli import watch as watching
from everlearn.stream import NeverEndingLearner


def test_an_idle_store_is_shown_once(stream, store):
    learn(stream, store)
    before = store.read_bytes()
    (line,) = everlearn("watch", store, "--idle", 0).stdout.splitlines()
    assert line.startswith("600 rows")
    assert "600 questions" not in line
    assert store.read_bytes() == before


def test_each_change_by_another_process_is_a_line(stream, store, tmp_path, monkeypatch):
    learn(stream, store, "--limit", 100)
    parts = iter([200, 200, 400])  # the second time nothing is new

    def meanwhile(seconds):
        if (limit := next(parts, None)) is not None:
            learn(stream, store, "--limit", limit)

    monkeypatch.setattr(watching.time, "sleep", meanwhile)
    ticks = iter(range(100))
    monkeypatch.setattr(watching.time, "monotonic", lambda: next(ticks))
    lines = everlearn("watch", store, "--every", 0.1, "--idle", 4).stdout.splitlines()
    assert [line.split(",")[0] for line in lines] == ["100 rows", "200 rows", "400 rows"]


def test_a_missing_store_is_an_error(tmp_path):
    assert "nothing.everlearn" in failed("watch", tmp_path / "nothing.everlearn", "--idle", 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 128 + signal.SIGTERM)])
def test_a_terminal_shows_the_panel_until_ctrl_c(tmp_path, store, number, status):
    stream = write_csv(tmp_path / "p.csv", payments(300))
    learn(stream, store, "--limit", 100)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "everlearn.cli", "watch", str(store), "--every", "0.1"]
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    shown, end = "", time.monotonic() + LOCK_TIMEOUT

    def wait_for(text):
        nonlocal shown
        while text not in shown and time.monotonic() < end:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    shown += os.read(ours, 65536).decode(errors="replace")
                except OSError:  # the other end is closed
                    return
        assert text in shown

    try:
        wait_for("support vectors")
        with NeverEndingLearner.open(store) as learner:
            learner.step(learner.rows(["p0"]), ids=["new"])
        wait_for("101")
        process.send_signal(number)
        assert process.wait(LOCK_TIMEOUT) == status
    finally:
        process.kill()
        process.wait()
        os.close(ours)
