"""Kills during `everlearn ask`: a person answers at a terminal, and the process dies at a write."""

import os
import pty
import random
import select
import signal
import sys
import time

from .checks import check_store, copy_store, demand, remove_store
from .script import Call, calm_run, note, open_store, perform, stored_events
from .shim import ANYTHING, KILL, KILL_TORN
from .workers import Acknowledged

PROMPT, NAME, NEW_CLASS = "> ", "(Enter to go back, q quits) > ", "[y/N] "
ANSWERS = ("yes", "no", "u", "yes", "maybe")  # u withdraws the last answer, maybe is a new class
KEYS = {"no": b"1", "yes": b"2", "u": b"u"}  # what is typed; + for a new class
QUESTIONS = 3  # with one answer undone
WHO = "tester"
_CLOCK = 1.5e9
_NEVER = 10**9


def killed_while_asking(kind, options, folder, shim, say):
    """Answers that were followed by another prompt survive a kill; the log is that of a calm session."""
    chance = random.Random(f"ask {options.seed} {kind}")
    truth = calm_run(kind, folder / "calm", options.length, shim, options.seed)
    base, place = folder / "base", folder / "store"
    learner = open_store(folder / "calm", kind)
    while learner.status()["open_questions"] < QUESTIONS:
        learner = _add(learner, truth, Call("ask", clock=_CLOCK), folder / "calm", shim)
    learner.close()
    acknowledged = len(truth.calls)
    copy_store(folder / "calm", base)
    _session(open_store(base, kind), truth, base, shim)
    copy_store(folder / "calm", place)
    operations = Acknowledged()
    shown = _at_the_terminal(place, shim, KILL, _NEVER, operations)
    demand(shown == len(ANSWERS), f"{shown} of {len(ANSWERS)} answers were taken")
    demand(
        stored_events(place) == truth.logs[truth.last],
        "a calm session at the terminal writes other events",
    )
    total, kills = operations.count, 0
    demand(total > 10 * len(ANSWERS), f"the shim saw {total} operations in a session")
    points = range(1 + chance.randrange(options.stride), total + 1, options.stride)
    for at in points:
        remove_store(place)
        copy_store(folder / "calm", place)
        shown = _at_the_terminal(place, shim, chance.choice([KILL, KILL_TORN]), at)
        check_store(truth, place, acknowledged + shown, shim)
        kills += 1
        say(f"{kills} of {len(points)} kills")
    return kills, f"{total} operations in a session of {len(ANSWERS)} answers"


def _session(learner, truth, base, shim):
    """The same answers through the API: what the terminal is compared with."""
    asked = [question.id for question in learner.ask(QUESTIONS)]
    rows, place = [int(row[4:]) for row in asked], 0
    for answer in ANSWERS:
        if answer == "u":
            place -= 1
            call = Call("withdraw", rows=[rows[place]], clock=_CLOCK, by=WHO)
        else:
            call = Call("late", rows=[rows[place]], labels=[answer], clock=_CLOCK, by=WHO)
            place += 1
        learner = _add(learner, truth, call, base, shim)
    learner.close()


def _add(learner, truth, call, place, shim):
    """Make a call that is not in the script, and add it to the truth."""
    shim.set_clock(call.clock)
    learner = perform(learner, call, place, truth.kind)
    shim.real_clock()
    truth.calls.append(call)
    note(truth, learner, place)
    return learner


def _at_the_terminal(place, shim, mode, at, operations=None):
    """Answer at a terminal; how many answers were taken before it ended."""
    pid, terminal = pty.fork()
    if pid == 0:
        _command(place, shim, mode, at, operations)
    heard, typed, taken = "", 0, 0
    lines = list(ANSWERS)
    limit = time.monotonic() + 120
    while True:
        demand(time.monotonic() < limit, f"the terminal hangs after {heard[-200:]!r}")
        if not select.select([terminal], [], [], 1.0)[0]:
            continue
        try:
            part = os.read(terminal, 65536).decode(errors="replace")
        except OSError:  # the other side is gone
            break
        if not part:
            break
        heard += part
        if heard.endswith(NEW_CLASS):
            os.write(terminal, b"y\n")
        elif heard.endswith(NAME):
            os.write(terminal, lines[typed - 1].encode() + b"\n")
        elif heard.endswith(PROMPT):  # what was typed before is acknowledged
            taken = typed
            os.write(terminal, KEYS.get(lines[typed], b"+") if typed < len(lines) else b"q")
            typed = min(typed + 1, len(lines))
    os.close(terminal)
    status = os.waitpid(pid, 0)[1]
    was_killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    demand(
        was_killed or (os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0), f"ended with {status}: {heard}"
    )
    return taken


def _command(place, shim, mode, at, operations):
    """`everlearn ask`, in a process of its own."""
    code = 1
    try:
        from everlearn.cli import main

        os.environ |= {"USER": WHO, "TERM": "dumb"}
        sys.argv = ["everlearn", "ask", str(place), "-n", str(QUESTIONS)]
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(fd, "w" if fd else "r") for fd in range(3))
        shim.set_clock(_CLOCK)
        shim.arm(place, mode, at, ANYTHING)
        try:
            main()
            code = 0
        except SystemExit as error:
            code = int(error.code or 0)
        if operations is not None:
            operations.set(shim.count)
    finally:
        os._exit(code)
