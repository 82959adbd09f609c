"""Screens in the documentation: what a page shows, what the commands print, and whether both agree.

A screen is a code block whose first line is "$ everlearn ...". A line "..." stands for any lines. In screens
of `everlearn ask`, what follows the prompt is typed, at a terminal.
"""

import contextlib
import fcntl
import os
import pty
import re
import select
import shlex
import struct
import subprocess
import sys
import termios
import textwrap
from dataclasses import dataclass

from cli.cli_helpers import everlearn

WIDTH = 120
BLOCK = re.compile(r"^```\n\$ everlearn (.+)\n((?:(?!```).*\n)*)```$", re.MULTILINE)
PROMPT = r"(?:q quit|last answer) > "
PROGRESS = re.compile(r"[\d,]+ rows \(\d+%\), .*\n")  # printed now and then
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
# Different on every machine, or random.
VOLATILE = re.compile(r"( rows/s| MiB| bytes|\)'|, scaling)")


@dataclass
class Screen:
    """A command with the text that the page shows for it, and the heading above it."""

    command: str
    text: str
    heading: str

    @property
    def arguments(self):
        return shlex.split(self.command)


def screens_of(page):
    text = page.read_text("utf-8")
    return [
        Screen(found[1], found[2], re.findall(r"^#+ (.*)$", text[: found.start()], re.MULTILINE)[-1])
        for found in BLOCK.finditer(text)
    ]


def printed(screen):
    """What the command prints, in lines of at most WIDTH."""
    if screen.arguments[0] == "ask":
        output = at_terminal(screen.arguments, re.findall(rf"{PROMPT}(.)$", screen.text, re.MULTILINE))
    else:
        output = everlearn(*screen.arguments, code=1 if "\nError: " in f"\n{screen.text}" else 0).output
    output = PROGRESS.sub("", output)
    lines = [line.rstrip() for line in output.strip("\n").splitlines()]
    parts = [textwrap.wrap(line, WIDTH) if len(line) > WIDTH else [line] for line in lines]
    return "".join(f"{part}\n" for wrapped in parts for part in wrapped)


def at_terminal(arguments, keys):
    """Run a command at a terminal, press a key at each prompt, and return the screen as plain text."""
    terminal, theirs = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 60, WIDTH, 0, 0))
    command = [sys.executable, "-m", "everlearn.cli", *arguments]
    wide = {**os.environ, "COLUMNS": str(WIDTH), "TERM": "xterm"}
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, env=wide
    )
    os.close(theirs)
    screen, keys = "", list(keys)
    with contextlib.suppress(OSError):  # the terminal is gone with the process
        while select.select([terminal], [], [], 120)[0]:
            screen += os.read(terminal, 65536).decode()
            if keys and re.search(f"{PROMPT}$", screen):
                os.write(terminal, keys.pop(0).encode())
    os.close(terminal)
    assert process.wait(timeout=60) == 0, screen
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\]8;[^\x1b]*\x1b\\", "", screen).replace("\r", "")


def differences(shown, found, exact=True):
    """Why a page that shows one text does not show the other; "" if it does.

    If not `exact`, numbers may differ a little, as they do between processors, and columns with them.
    """
    lines = [r"(?:.*\n)*?" if line == "..." else _pattern(line, exact) + r"\n" for line in shown.splitlines()]
    match = re.fullmatch("".join(lines), found)
    if match is None:
        return f"The page should have:\n{found}"
    if exact:
        return ""
    numbers = [n for line in shown.splitlines() for n in _numbers(line)]
    far = [
        (a, b)
        for a, b in zip(numbers, match.groups(), strict=True)
        if abs(_value(a) - _value(b)) > max(3, 0.15 * abs(_value(a)))
    ]
    return f"Numbers {far} differ. The page should have:\n{found}" if far else ""


def _pattern(line, exact):
    if exact:
        return re.escape(line)
    parts, end = [], 0
    for number in NUMBER.finditer(line):
        parts.append(_words(line[end : number.start()]))
        volatile = VOLATILE.match(line, number.end())
        parts.append(NUMBER.pattern if volatile else f"({NUMBER.pattern})")
        end = number.end()
    return "".join(parts) + _words(line[end:])


def _words(text):
    return re.sub(r"(\\ )+", r"\\s+", re.escape(text))


def _numbers(line):
    return [n.group() for n in NUMBER.finditer(line) if not VOLATILE.match(line, n.end())]


def _value(number):
    return float(number.replace(",", ""))


def rewrite(page, screen, text):
    """Put what a command prints into the page."""
    old = f"$ everlearn {screen.command}\n{screen.text}"
    page.write_text(page.read_text("utf-8").replace(old, f"$ everlearn {screen.command}\n{text}", 1), "utf-8")
