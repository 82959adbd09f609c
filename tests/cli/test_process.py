"""The command line as a process: pipes, signals, exit codes, what is printed where."""

import signal
import subprocess
import sys
import time

import pytest

from cli.cli_helpers import as_csv, everlearn, payments, status_of, write_csv
from cli.cli_process_helpers import LOCK_TIMEOUT, stored_rows, wait_until

RUN = (
    "--oracle",
    "is_fraud",
    "--id",
    "number",
    "--label-rate",
    "0.05",
    "--random-state",
    "0",
    "--infer-rows",
    "100",
)


@pytest.fixture
def start():
    """Start the command line; what is left of it after the test is ended."""
    begun = []

    def begin(*arguments):
        command = [sys.executable, "-m", "everlearn.cli", *map(str, arguments)]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        begun.append(subprocess.Popen(command, text=True, **pipes))
        return begun[-1]

    yield begin
    for process in begun:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def test_after_ctrl_c_the_same_command_goes_on_where_it_was(start, tmp_path):
    stream = write_csv(tmp_path / "s.csv", payments(1500))
    store, whole = tmp_path / "s.everlearn", tmp_path / "whole.everlearn"
    command = ("run", stream, "--store", store, "--batch-size", "20", *RUN)
    process = start(*command)
    wait_until(lambda: stored_rows(store) > 0, process)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=LOCK_TIMEOUT)
    assert process.returncode == 130, error
    assert "run the same command again" in error
    assert "Traceback" not in error
    rows = status_of(store)["rows"]
    assert 0 < rows < 1500
    assert rows % 20 == 0  # the batch was finished
    assert "rows" in out
    assert "already" in everlearn(*command).stderr
    everlearn("run", stream, "--store", whole, "--batch-size", "20", *RUN)
    assert status_of(store) == status_of(whole)


def test_a_silent_pipe_can_be_left(start, tmp_path):
    store = tmp_path / "s.everlearn"
    process = start("run", "-", "--store", store, "--batch-size", "100", *RUN)
    process.stdin.write(as_csv(payments(200)))
    process.stdin.flush()
    wait_until(lambda: stored_rows(store) == 200, process)
    time.sleep(0.2)  # until it waits again
    process.send_signal(signal.SIGINT)
    process.wait(timeout=LOCK_TIMEOUT)
    assert process.returncode == 130
    assert "pipe in the following rows" in process.stderr.read()
    assert status_of(store)["rows"] == 200


def test_standard_input_and_plain_output(start, tmp_path):
    store = tmp_path / "s.everlearn"
    process = start("run", "-", "--store", store, "--batch-size", "100", *RUN)
    out, error = process.communicate(as_csv(payments(300)), timeout=LOCK_TIMEOUT)
    assert process.returncode == 0, error
    assert "\x1b" not in out + error  # no colors, no cursor movements
    assert "300" in out
    assert "is_fraud" in error


def test_who_reads_predictions_may_have_had_enough(start, tmp_path):
    stream, store = write_csv(tmp_path / "s.csv", payments(6000)), tmp_path / "s.everlearn"
    everlearn("run", stream, "--store", store, "--label", "is_fraud", "--id", "number", "--limit", 200)
    process = start("predict", store, stream)
    assert process.stdout.readline() == "id,prediction,score\n"
    process.stdout.close()
    process.stdout = None
    _, error = process.communicate(timeout=LOCK_TIMEOUT)
    assert error == ""


def test_exit_codes(start, tmp_path):
    for arguments, code in ((["--version"], 0), (["status", tmp_path / "none"], 1), (["status"], 2)):
        process = start(*arguments)
        _, error = process.communicate(timeout=LOCK_TIMEOUT)
        assert process.returncode == code
        assert "Traceback" not in error


def test_the_library_does_not_need_what_the_command_line_needs():
    # rich is not among them: scikit-learn imports it where it is installed.
    code = """if True:
        import signal, sys, everlearn
        print([name for name in ("typer", "sqlalchemy", "filelock", "everlearn.cli") if name in sys.modules])
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    """
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LOCK_TIMEOUT, check=True
    )
    assert done.stdout.strip() == "[]"
