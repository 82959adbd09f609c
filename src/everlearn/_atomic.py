"""One file instead of another, in one step."""

import contextlib
import errno
import glob
import os
import secrets
import stat
import sys
from collections.abc import Callable
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl


def replace(path: str, write: Callable[[BinaryIO], None]) -> None:
    """Write a file beside ``path``, make it durable, and only then give it that name."""
    target = os.path.realpath(path)
    directory = os.path.dirname(target)
    temporary = None
    try:
        mode = file_mode(target)
        _sweep(directory)
        fd, temporary = _create(directory, 0o666 if mode is None else mode & 0o777)
        with contextlib.ExitStack() as lock:
            with os.fdopen(fd, "w+b") as file:
                if os.name == "posix":
                    lock.callback(os.close, os.dup(fd))  # held until the file has its name
                if mode is not None:
                    os.chmod(temporary, mode)
                write(file)
                file.flush()
                os.fsync(fd)
            os.replace(temporary, target)
    except BaseException as exc:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        if isinstance(exc, OSError):
            exc.filename, exc.filename2 = path, None  # what the caller named, not the temporary file
        raise
    if os.name == "posix":
        with contextlib.suppress(OSError):  # not every file system can; the file itself is complete by now
            fd = os.open(directory, os.O_RDONLY)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)


def file_mode(target: str) -> int | None:
    """The permission bits of an existing file; an error for what must not be replaced by a file."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "Not a regular file", target)
    return stat.S_IMODE(mode)


def _create(directory: str, mode: int) -> tuple[int, str]:
    """A new temporary file, locked for as long as its maker lives."""
    while True:
        temporary = os.path.join(directory, f".everlearn-{secrets.token_hex(8)}.tmp")
        fd = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        if sys.platform != "win32":
            with contextlib.suppress(OSError):  # without locks nothing is swept away either
                fcntl.flock(fd, fcntl.LOCK_EX)
        if os.path.exists(temporary):
            return fd, temporary
        os.close(fd)  # swept away by another saver before it was locked


def _sweep(directory: str) -> None:
    """Remove what dead savers left behind: the temporary files that nobody holds locked."""
    if sys.platform != "win32":
        for temporary in glob.glob(os.path.join(glob.escape(directory), f".everlearn-{'[0-9a-f]' * 16}.tmp")):
            with contextlib.suppress(OSError), open(temporary, "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(temporary)
