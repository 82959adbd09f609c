"""SIGTERM and Ctrl-C: gentle while something is under way, quiet while it is not, and never a traceback."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from cli.cli_helpers import everlearn, payments, status_of, write_csv
from cli.cli_process_helpers import LOCK_TIMEOUT, stored_rows, wait_until
from everlearn import _startup
from everlearn.cli._interrupt import Interrupt, Terminated, deliver_again, raising
from everlearn.stream import NeverEndingLearner

BOTH = pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
RUN = ("--oracle", "is_fraud", "--id", "number", "--label-rate", "0.05", "--random-state", "0")


def listens():
    """Undo what a shell does to jobs in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def start():
    """Start the command line; what is left of it after the test is ended."""
    begun = []

    def begin(*arguments):
        command = [sys.executable, "-m", "everlearn.cli", *map(str, arguments)]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        begun.append(subprocess.Popen(command, text=True, preexec_fn=listens, **pipes))
        return begun[-1]

    yield begin
    for process in begun:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store with open questions."""
    folder = tmp_path_factory.mktemp("asked")
    rows = [(*row[:4], row[4] if at < 80 else "") for at, row in enumerate(payments(150))]
    named = ("--label", "is_fraud", "--id", "number", "--label-rate", 0.1, "--random-state", 0)
    everlearn("run", write_csv(folder / "s.csv", rows), "--store", folder / "S", *named, "-q")
    return folder / "S"


def catches(process, number):
    """Whether a process has a handler of its own for a signal."""
    with open(f"/proc/{process.pid}/status") as file:
        mask = next(line for line in file if line.startswith("SigCgt"))
    return bool(int(mask.split()[1], 16) >> (number - 1) & 1)


# ------------------------------------------------------------------------------------------- real processes


@BOTH
def test_during_start_up_there_is_one_line_and_no_traceback(start, store, number, code):
    process = start("status", store)
    wait_until(lambda: catches(process, signal.SIGTERM), process)  # everlearn has begun to be imported
    process.send_signal(number)
    out, error = process.communicate(timeout=LOCK_TIMEOUT)
    assert (process.returncode, out) == (code, "")
    assert error == {130: "Interrupted.\n", 143: "Terminated.\n"}[code]


def test_sigterm_stops_a_run_after_the_batch(start, tmp_path):
    stream, broken = write_csv(tmp_path / "s.csv", payments(1500)), tmp_path / "s.everlearn"
    process = start("run", stream, "--store", broken, "--batch-size", "20", "--infer-rows", "100", *RUN)
    wait_until(lambda: stored_rows(broken) > 0, process)
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=LOCK_TIMEOUT)
    assert process.returncode == 143, error
    assert "Stopping after this batch" in error
    assert "run the same command again" in error
    assert "Traceback" not in error
    rows = status_of(broken)["rows"]
    assert 0 < rows < 1500
    assert rows % 20 == 0  # the batch was finished
    assert (
        not os.path.exists(f"{broken}-wal") or os.path.getsize(f"{broken}-wal") == 0
    )  # the store was closed


def test_sigterm_at_a_question(start, store):
    process = start("ask", store)
    shown = ""
    while "quit > " not in shown:
        shown += process.stdout.read(1)
    time.sleep(0.1)  # until it waits
    process.send_signal(signal.SIGTERM)
    out, error = process.communicate(timeout=LOCK_TIMEOUT)
    assert process.returncode == 143
    assert "0 answered, " in out
    assert error == "Terminated.\n"
    NeverEndingLearner.open(store).close()  # nobody holds it


# ------------------------------------------------------------------------------------------- in this process


@BOTH
def test_once_is_noted_and_twice_is_raised(number, code):
    said, before = [], signal.getsignal(number)
    with Interrupt(lambda: said.append(1)) as interrupt:
        os.kill(os.getpid(), number)
        assert interrupt.asked
        assert said == [1]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert isinstance(interrupt.error, Terminated) == (code == 143)
    assert signal.getsignal(number) is before


@BOTH
def test_raised_at_once_while_nothing_is_under_way(number, code):
    with Interrupt() as interrupt:
        with pytest.raises(KeyboardInterrupt) as raised, interrupt.at_once():
            os.kill(os.getpid(), number)
        assert isinstance(raised.value, Terminated) == (code == 143)


def test_one_that_was_noted_is_raised_as_soon_as_nothing_is_under_way():
    with Interrupt() as interrupt:
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Terminated), interrupt.at_once():
            raise AssertionError("there is nothing to wait for")


@BOTH
def test_an_answer_that_is_being_learned_is_finished(store, number, code, monkeypatch):
    label, labels = NeverEndingLearner.label, status_of(store)["labels"]

    def interrupted(self, *args, **options):
        os.kill(os.getpid(), number)
        return label(self, *args, **options)

    monkeypatch.setattr(NeverEndingLearner, "label", interrupted)
    shown = everlearn("ask", store, "-n", 3, input="1\n1\n1\n", code=code).stdout
    assert "1 answered, " in shown
    assert status_of(store)["labels"] == labels + 1


@BOTH
def test_while_a_store_is_opened(store, number, code, monkeypatch):
    def slow(*_, **__):
        os.kill(os.getpid(), number)
        time.sleep(LOCK_TIMEOUT)

    monkeypatch.setattr(NeverEndingLearner, "open", slow)
    for command in (("status", store), ("ask", store), ("run", "x.csv", "--store", store)):
        result = everlearn(*command, code=code)
        assert result.output == {130: "Interrupted.\n", 143: "Terminated.\n"}[code]


def test_handlers_are_put_back(store):
    before = [signal.getsignal(number) for number in _startup.WORDS]
    everlearn("status", store)
    with raising(), contextlib.suppress(Terminated):
        os.kill(os.getpid(), signal.SIGTERM)
    assert [signal.getsignal(number) for number in _startup.WORDS] == before


@pytest.mark.parametrize(
    ("argv", "original", "expected"),
    [
        (["/usr/bin/everlearn", "run"], ["python", "/usr/bin/everlearn", "run"], True),
        (["-m", "run"], ["python", "-X", "dev", "-m", "everlearn.cli", "run"], True),
        (["-m"], ["python", "-m", "pytest"], False),
        (["-m"], ["python", "-m"], False),
        (["train.py"], ["python", "train.py", "-m", "everlearn.cli"], False),
        ([""], ["python"], False),
        ([], [], False),
    ],
)
def test_only_the_command_line_handles_signals_on_import(argv, original, expected):
    assert _startup.is_command_line(argv, original) is expected


def test_an_interrupt_that_is_lost_in_a_callback_comes_again():
    with raising(), pytest.raises(Terminated):  # noqa: PT012 - it may come in either of the two
        deliver_again(SimpleNamespace(exc_type=Terminated))
        time.sleep(LOCK_TIMEOUT)
