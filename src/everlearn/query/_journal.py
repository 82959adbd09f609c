"""Labels on disk as they are given: one line each, so that a process that is killed loses none.

The first line says what pool the labels belong to; each other line is a row and its label, null if the oracle
did not know it::

    {"everlearn": "labels", "rows": 1500, "features": 2}
    {"row": 17, "label": "spam"}
"""

import json
import os
from typing import Any

from ..errors import FileFormatError


class Journal:
    """A file of labels that only grows.

    Invariant: when `write` returns, the label is on disk; when it raises, the file is as it was before. A
    last line without an end, which a crash may leave, never counted and is cut off.
    """

    def __init__(self, path: "str | os.PathLike[str]", rows: int, features: int) -> None:
        self.path = os.fspath(path)
        self.answers: list[tuple[int, Any]] = []
        header = {"everlearn": "labels", "rows": rows, "features": features}
        if not os.path.exists(self.path) or os.path.getsize(self.path) == 0:
            self._append(json.dumps(header))
            return
        lines = self._whole_lines()
        if not lines:
            self._append(json.dumps(header))
            return
        found = self._parsed(lines[0], 1)
        if found.get("everlearn") != "labels":
            raise FileFormatError(f"{self.path} is no journal of labels; choose another file.")
        if found != header:
            raise ValueError(
                f"{self.path} holds labels of a pool of {found.get('rows')} rows with "
                f"{found.get('features')} features, and X has {rows} with {features}: choose another file."
            )
        for number, line in enumerate(lines[1:], start=2):
            entry = self._parsed(line, number)
            row = entry.get("row")
            if set(entry) != {"row", "label"} or type(row) is not int or not 0 <= row < rows:
                raise FileFormatError(f"Line {number} of {self.path} is no row of the pool and its label.")
            self.answers.append((row, entry["label"]))

    def write(self, row: int, label: Any) -> None:
        """Add a label; it is on disk when this returns."""
        try:
            line = json.dumps({"row": int(row), "label": label})
        except TypeError as error:
            raise TypeError(
                f"A journal holds labels that are strings, numbers or booleans, got {label!r}."
            ) from error
        self._append(line)
        self.answers.append((int(row), label))

    def _append(self, line: str) -> None:
        with open(self.path, "ab") as file:
            size = file.seek(0, os.SEEK_END)
            try:
                file.write(line.encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                file.truncate(size)
                raise

    def _whole_lines(self) -> list[bytes]:
        with open(self.path, "rb+") as file:
            content = file.read()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                file.truncate(whole)
        return content[:whole].splitlines()

    def _parsed(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            entry = json.loads(line)
        except ValueError as error:
            raise FileFormatError(f"Line {number} of {self.path} is damaged: {error}.") from error
        if not isinstance(entry, dict):
            raise FileFormatError(f"Line {number} of {self.path} is damaged: it is no JSON object.")
        return entry
