"""What a part of the stream benchmark leaves on disk."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _report import Record, _plain, say


class StreamsRecord(Record):
    """`streams-<part>-<time>.json`, and the Markdown beside it."""

    def __init__(self, folder: Path, part: str, about: dict[str, Any], settings: dict[str, Any]) -> None:
        super().__init__(folder, part, about, settings)
        self.stem = self.stem.with_name(self.stem.name.replace("lasvm", "streams", 1))


class Kept:
    """Results by name in `streams-<part>.json`: each is written at once, and a later run goes on from there.

    Several processes may write to it.
    """

    def __init__(self, folder: Path, part: str, about: dict[str, Any], settings: dict[str, Any]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"streams-{part}{'-quick' if settings['quick'] else ''}"
        self.path, self.report = folder / f"{name}.json", folder / f"{name}.md"
        self.about, self.settings = about, settings

    def read(self) -> dict[str, Any]:
        """Everything so far."""
        if not self.path.exists():
            return {"machine": self.about, "settings": self.settings, "results": {}}
        found: dict[str, Any] = json.loads(self.path.read_text())
        return found

    def change(self, what: Callable[[dict[str, Any]], None]) -> None:
        """Read, change the results and write, while nobody else does."""
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            data = self.read()
            what(data["results"])
            data["machine"] = self.about | {"load_before": data["machine"]["load_before"]}
            part = self.path.with_suffix(".json.part")
            part.write_text(json.dumps(data, indent=0, default=_plain) + "\n")
            part.replace(self.path)

    def add(self, key: str, result: dict[str, Any]) -> None:
        self.change(lambda results: results.update({key: result}))

    def drop(self, wanted: Callable[[str], bool]) -> None:
        """Forget results, so that they are measured anew."""

        def dropping(results: dict[str, Any]) -> None:
            for key in [key for key in results if wanted(key)]:
                del results[key]

        self.change(dropping)

    def finish(self, text: str) -> None:
        self.path.with_suffix(".lock").unlink(missing_ok=True)
        self.report.write_text(text)
        print(text)
        say(f"kept in {self.path} and {self.report.name}")
