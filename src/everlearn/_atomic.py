"""Output files: replaced in one step, and never where an input is.

`replace` writes a regular file through a temporary one. `write` does the same and also takes what cannot be
replaced: pipes, devices, open descriptors. `same_file` checks whether an output is an input.
"""

import contextlib
import errno
import glob
import os
import re
import secrets
import stat
import sys
import unicodedata
from collections.abc import Callable
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl


# The first bytes of a SQLite database, its write-ahead log (two byte orders), shared memory and journal.
_DATABASE = (
    b"SQLite format 3\0",
    b"\x37\x7f\x06\x82",
    b"\x37\x7f\x06\x83",
    b"\x18\xe2\x2d\x00",
    b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7",
)
_SIDE_FILES = ("-wal", "-shm", "-journal", "-lock")  # what SQLite and the lock keep beside a store
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)", re.ASCII)
_STANDARD = {"/dev/stdout": 1, "/dev/stderr": 2}


def write(path: str, put: Callable[[BinaryIO], None]) -> None:
    """Replace a regular file as `replace` does; write straight to a pipe, a device or a descriptor.

    Parameters
    ----------
    path : str
        The output. "/dev/stdout" and "/dev/fd/N" are the open descriptors themselves, not the files behind
        them: what is redirected to a file is appended where the shell left off.
    put : callable
        ``put(file)`` writes the content, in order and without seeking.
    """
    descriptor = _descriptor(path)
    if descriptor is not None:
        sys.stdout.flush()
        with os.fdopen(os.dup(descriptor), "wb") as file:
            put(file)
    elif _is_stream(path):
        with open(path, "wb") as file:
            put(file)
    else:
        replace(path, put)


def replace(path: str, write: Callable[[BinaryIO], None]) -> None:
    """Write a file beside ``path``, make it durable, and only then give it that name."""
    target = os.path.realpath(path)
    directory = os.path.dirname(target)
    temporary = None
    try:
        mode = file_mode(target)
        refuse_database(target)
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


# --------------------------------------------------------------------------- outputs that would hit inputs


def same_file(first: str | int, second: str | int) -> bool:
    """Whether two names, or open descriptors, lead to the same file, or would if it were made.

    Existing files are compared by device and inode, so symbolic links, hard links, relative names and file
    systems without case are all seen through. Of two files that are not there yet, the resolved names are
    compared without regard to case: one file system cannot be asked what another one would do.
    """
    exists = [os.path.exists(name) for name in (first, second)]
    if all(exists):
        return os.path.samefile(first, second)
    return not any(exists) and _resolved(first) == _resolved(second)


def refuse_database(path: str) -> None:
    """Refuse to write over a store, any other SQLite database, or a file that SQLite keeps beside one."""
    try:
        if not os.path.isfile(path):
            return
        with open(path, "rb") as file:
            beginning = file.read(max(map(len, _DATABASE)))
    except OSError:
        return  # not readable: writing it fails or is allowed for other reasons
    if beginning.startswith(_DATABASE):
        raise ValueError(
            f"{path} is a store, or another SQLite database or part of one: choose another file, or delete "
            "it first."
        )


def files_of_store(store: str | os.PathLike[str] | None) -> list[tuple[str, str]]:
    """The files of a store, each with what it is; none for a database URL and for memory.

    Side files count whether they are there or not. They are beside the file that a link points to.
    """
    name = "" if store is None else os.fspath(store)
    if not name or name == ":memory:" or "://" in name:
        return []
    beside = [base + end for base in dict.fromkeys((name, os.path.realpath(name))) for end in _SIDE_FILES]
    return [(name, "the store"), *((side, "a side file of the store") for side in beside)]


def _resolved(name: str | int) -> str:
    return unicodedata.normalize("NFC", os.path.realpath(str(name))).casefold()


def _descriptor(path: str) -> int | None:
    """The number of the open descriptor that a path stands for; None for all other paths."""
    if os.name != "posix":
        return None
    match = _DESCRIPTOR.fullmatch(path)
    return _STANDARD.get(path) if match is None else int(match[1])


def _is_stream(path: str) -> bool:
    """Whether a path is a pipe or a character device, which are written to and not replaced."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


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
    """Remove temporary files that killed processes left behind: those that no process has locked."""
    if sys.platform != "win32":
        for temporary in glob.glob(os.path.join(glob.escape(directory), f".everlearn-{'[0-9a-f]' * 16}.tmp")):
            with contextlib.suppress(OSError), open(temporary, "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(temporary)
