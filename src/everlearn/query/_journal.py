"""A journal of labels on disk, one line each, so that a process that is killed loses none.

The first line identifies the pool; each other line is a row and its label, null if it is unknown::

    {"everlearn": "labels", "rows": 1500, "features": 2, "digest": "9f86d081884c7d65"}
    {"row": 17, "label": "spam"}
"""

import json
import os
from typing import Any

from ..errors import FileFormatError


class Journal:
    """An append-only file of labels.

    Invariant: when `write` returns, the label is on disk; when it raises, the file is unchanged. A last line
    without a line end, which a crash may leave, is ignored and removed.
    """

    def __init__(self, path: str, rows: int, features: int, digest: str) -> None:
        self.path = path
        self.answers: list[tuple[int, Any]] = []
        header = {"everlearn": "labels", "rows": rows, "features": features, "digest": digest}
        if not os.path.exists(self.path) or os.path.getsize(self.path) == 0:
            self._append(json.dumps(header))
            return
        lines, torn = self._lines()
        if not lines:
            if not json.dumps(header).encode().startswith(torn):
                raise FileFormatError(f"{self.path} is not a journal of labels: choose another file.")
            os.truncate(self.path, 0)
            self._append(json.dumps(header))
            return
        found = self._parsed(lines[0], 1)
        if found.get("everlearn") != "labels":
            raise FileFormatError(f"{self.path} is not a journal of labels: choose another file.")
        if found != header:
            others = "" if (found.get("rows"), found.get("features")) != (rows, features) else " other"
            raise ValueError(
                f"{self.path} has labels of a pool of {found.get('rows')}{others} rows with "
                f"{found.get('features')} features, and X has {rows} with {features}: choose another file."
            )
        for number, line in enumerate(lines[1:], start=2):
            entry = self._parsed(line, number)
            row = entry.get("row")
            if set(entry) != {"row", "label"} or type(row) is not int or not 0 <= row < rows:
                raise FileFormatError(f"Line {number} of {self.path} is not a row of the pool with a label.")
            self.answers.append((row, entry["label"]))
        if torn:
            os.truncate(self.path, os.path.getsize(self.path) - len(torn))

    def write(self, row: int, label: Any) -> None:
        """Append a label; it is on disk when this returns."""
        try:
            line = json.dumps({"row": int(row), "label": label})
        except TypeError as error:
            raise TypeError(
                f"Labels in a journal must be strings, numbers or booleans, got {label!r}."
            ) from error
        self._append(line)
        self.answers.append((int(row), label))

    def _append(self, line: str) -> None:
        with open(
            self.path, "ab", buffering=0
        ) as file:  # unbuffered: a buffer would be written again on closing
            size, rest = file.seek(0, os.SEEK_END), line.encode() + b"\n"
            try:
                while rest:  # a disk that is nearly full accepts a part
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
            except BaseException:
                os.ftruncate(file.fileno(), size)
                raise

    def _lines(self) -> tuple[list[bytes], bytes]:
        """The complete lines of the file, and what follows them; changes nothing."""
        with open(self.path, "rb") as file:
            *lines, torn = file.read().split(b"\n")
        return lines, torn

    def _parsed(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            entry = json.loads(line)
        except ValueError as error:
            raise FileFormatError(f"Line {number} of {self.path} is damaged: {error}.") from error
        if not isinstance(entry, dict):
            raise FileFormatError(f"Line {number} of {self.path} is damaged: it is not a JSON object.")
        return entry
