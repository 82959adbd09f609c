"""Bad rows with some ids, removed from a quarantine file."""

import csv
import json
import os
import re
from collections.abc import Sequence
from typing import Any, BinaryIO

from .. import _atomic

_TOKEN = re.compile(r"[^\s,;|\t\"'{}\[\]():=]+")


def check_records(path: str | os.PathLike[str]) -> None:
    """Raise an OSError if a quarantine file cannot be read, or not be replaced."""
    with open(path, "rb+"):
        pass


def erase_records(path: str | os.PathLike[str], ids: Sequence[Any]) -> int:
    """Rewrite a quarantine file without the records that mention one of these ids; how many there were.

    A bad row could not be parsed, so that its id may stand anywhere in it: a record goes if one of its cells
    or words is an id. An id with separators in it is looked for anywhere in the text, because the delimiter
    of the source is not known. A record too many is no loss, one too few would be.
    """
    name = os.fspath(path)
    wanted = {str(given) for given in ids}
    kept: list[bytes] = []
    gone = 0
    with open(name, "rb") as file:
        for line in file:
            if _mentions(line, wanted):
                gone += 1
            else:
                kept.append(line)
    if gone:

        def put(file: BinaryIO) -> None:
            file.writelines(kept)

        _atomic.replace(name, put)
    return gone


def _mentions(line: bytes, wanted: set[str]) -> bool:
    text = line.decode("utf-8", "replace")
    try:
        record = json.loads(text)
        raw = str(record["raw"])
    except (ValueError, KeyError, TypeError):
        raw = text  # torn by a crash
    words = set(_TOKEN.findall(raw))
    for cells in csv.reader(raw.splitlines()[:1000]):
        words.update(cell.strip() for cell in cells)
    words.update(_values(raw))
    return not words.isdisjoint(wanted) or any(form in raw for given in wanted for form in _forms(given))


def _forms(given: str) -> set[str]:
    """How an id that is not a single word stands in the text of a row: plain, or quoted in CSV or JSON."""
    if _TOKEN.fullmatch(given) and given.isascii() and "\\" not in given:
        return set()
    found = {
        given,
        given.replace('"', '""'),
        json.dumps(given)[1:-1],
        json.dumps(given, ensure_ascii=False)[1:-1],
    }
    return found - {""}


def _values(raw: str) -> set[str]:
    """What stands in a row of JSON, nested values included."""
    try:
        waiting = [json.loads(raw)]
    except (ValueError, RecursionError):
        return set()
    found = set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        else:
            found.add(str(value))
    return found
