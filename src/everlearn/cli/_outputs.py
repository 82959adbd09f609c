"""Outputs must not be inputs: checked before a command opens anything for writing."""

import contextlib
import os
import stat
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from .. import _atomic

_Path = str | os.PathLike[str]


def check_outputs(
    outputs: Mapping[str, _Path | None],
    *,
    store: _Path | None = None,
    sources: Iterable[_Path | None] = (),
) -> None:
    """Raise an error if an output is the store, one of its side files, a source or another output.

    Files are compared, not names: links, relative paths and case-insensitive file systems are handled, see
    `everlearn._atomic.same_file`. Pipes and devices are always allowed.

    Parameters
    ----------
    outputs : mapping of str to str, path-like or None
        The files to write, by option or argument; "-" is standard output, None is no output.
    store : str or path-like, default=None
        The store of the command; a database URL and ":memory:" have no file.
    sources : iterable of str, path-like or None, default=()
        All other files that the command reads; "-" is standard input.
    """
    taken: list[tuple[str | int, str]] = list(_atomic.files_of_store(store))
    taken += [(name, "a file that this command reads") for name in _names(sources, sys.stdin)]
    for option, path in outputs.items():
        for name in _names([path], sys.stdout):
            if os.path.exists(name) and not stat.S_ISREG(os.stat(name).st_mode):
                continue
            for other, role in taken:
                if _atomic.same_file(name, other):
                    shown = "standard output" if isinstance(name, int) else repr(name)
                    raise ValueError(f"{option} {shown} is {role}: choose another file.")
            taken.append((name, f"also the file of {option}"))


def _names(paths: Iterable[_Path | None], standard: Any) -> Iterable[str | int]:
    """File names; for "-" the descriptor of the standard stream, if it has one."""
    for path in paths:
        if path is not None and os.fspath(path) != "-":
            yield os.fspath(path)
        elif path is not None:
            with contextlib.suppress(AttributeError, OSError, ValueError):  # a replacement that is not a file
                yield int(standard.fileno())
