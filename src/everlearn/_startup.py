"""Ctrl-C and SIGTERM while the command line is being imported: one line and an exit status, no traceback.

Imported before everything else. In any other program that imports everlearn it does nothing at all.
"""

import os
import signal
import sys
import threading
from typing import Any

WORDS = {signal.SIGINT: "Interrupted.", signal.SIGTERM: "Terminated."}
_UNTOUCHED = (signal.SIG_DFL, signal.default_int_handler)


def end_at_once(number: int, _: Any = None) -> None:
    """End this process with a line and the exit status 128 + number, as shells have it."""
    os.write(2, f"{WORDS[signal.Signals(number)]}\n".encode())
    os._exit(128 + number)


def is_command_line(argv: list[str], original: list[str]) -> bool:
    """Whether this process is `everlearn` or `python -m everlearn.cli`."""
    program = os.path.basename(argv[0]) if argv else ""
    if program == "-m" and "-m" in original[:-1]:
        return original[original.index("-m") + 1] == "everlearn.cli"
    return program in ("everlearn", "everlearn.exe", "everlearn-script.py")


def guard() -> None:
    """Handle both signals until a command runs, unless they are already handled or ignored."""
    for number in WORDS:
        if signal.getsignal(number) in _UNTOUCHED:
            signal.signal(number, end_at_once)


if is_command_line(sys.argv, sys.orig_argv) and threading.current_thread() is threading.main_thread():
    guard()
