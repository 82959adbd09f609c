"""Python's side of `shim.c`: compile it, start a process under it, control it from inside."""

import ctypes
import errno
import os
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CREATE, WRITE, TRUNCATE, SYNC, UNLINK, MARK = range(1, 7)
MAIN, WAL, JOURNAL, FOLDER = range(1, 5)
PASS, KILL, KILL_TORN, FAIL_ONCE, FAIL_ON, FAIL_PARTLY, SHORT = range(7)
ENDINGS = {MAIN: "", WAL: "-wal", JOURNAL: "-journal"}
ANYTHING = sum(1 << op for op in (CREATE, WRITE, TRUNCATE, SYNC, UNLINK))
TAKES_ROOM = sum(1 << op for op in (CREATE, WRITE, TRUNCATE))  # what fails on a full disk
TOUCHES_DISK = TAKES_ROOM | 1 << SYNC  # what fails on a broken one
NO_SPACE, BROKEN = errno.ENOSPC, errno.EIO

_HEAD = struct.Struct("IIQQ")
_LIBRARY = "TORTURE_LIBRARY"


def build(folder: Path) -> Path:
    """Compile the shim with the system's C compiler."""
    library = folder / "libtorture.so"
    source = Path(__file__).with_name("shim.c")
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        folder.mkdir(parents=True, exist_ok=True)
        fresh = folder / f"libtorture-{os.getpid()}.so"
        command = [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-o", fresh, source, "-lpthread"]
        subprocess.run(command, check=True)
        fresh.replace(library)
    return library


def environment(library: Path) -> dict[str, str]:
    """The environment of a process that is to run under the shim, with one thread for linear algebra."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return os.environ | threads | {"LD_PRELOAD": str(library), _LIBRARY: str(library)}


class Shim:
    """The shim of this process, which must have been started under it."""

    def __init__(self):
        assert os.environ.get(_LIBRARY), (
            "This process was not started under the shim: use shim.environment()."
        )
        self._lib = ctypes.CDLL(os.environ[_LIBRARY])
        self._lib.torture_arm.argtypes = [
            ctypes.c_char_p,
            ctypes.c_int,
            ctypes.c_long,
            ctypes.c_int,
            ctypes.c_int,
        ]
        self._lib.torture_clock.argtypes = [ctypes.c_double]
        self._lib.torture_mark.argtypes = [ctypes.c_uint64]
        self._lib.torture_count.restype = self._lib.torture_hits.restype = ctypes.c_long

    def arm(self, store, mode, n=0, mask=ANYTHING, error=NO_SPACE):
        """Watch a store; do something at its n-th operation of a kind in the mask."""
        self._lib.torture_arm(os.fsencode(Path(store).resolve()), mode, n, mask, error)

    def release(self):
        """Let operations succeed again."""
        self._lib.torture_pass()

    @property
    def count(self):
        """Operations since `arm`."""
        return self._lib.torture_count()

    @property
    def hits(self):
        """Operations since `arm` that were made to fail."""
        return self._lib.torture_hits()

    def trace(self, path):
        """Record all operations on the store from now on."""
        assert self._lib.torture_trace(os.fsencode(path)), f"cannot write {path}"

    def mark(self, number):
        """Note in the trace that a call has returned."""
        self._lib.torture_mark(number)

    def set_clock(self, seconds):
        """Stop the clock at a time."""
        self._lib.torture_clock(seconds)

    def real_clock(self):
        """Let the clock run."""
        self._lib.torture_real_clock()


@dataclass(frozen=True)
class Record:
    """An operation: of a kind, on a file, with an offset (the length for TRUNCATE, the number for MARK)."""

    op: int
    file: int
    offset: int
    content: bytes


def read_trace(path):
    """All operations in the order in which they happened."""
    found, content, place = [], Path(path).read_bytes(), 0
    while place < len(content):
        op, file, offset, length = _HEAD.unpack_from(content, place)
        place += _HEAD.size
        found.append(Record(op, file, offset, content[place : place + length] if op == WRITE else b""))
        place += length if op == WRITE else 0
    return found


def under_the_shim(library: Path, arguments: list[str], **options):
    """Start this Python again under the shim."""
    return subprocess.run([sys.executable, *arguments], env=environment(library), **options)
