"""What a part of the stream benchmark leaves on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from _report import Record


class StreamsRecord(Record):
    """`streams-<part>-<time>.json`, and the Markdown beside it."""

    def __init__(self, folder: Path, part: str, about: dict[str, Any], settings: dict[str, Any]) -> None:
        super().__init__(folder, part, about, settings)
        self.stem = self.stem.with_name(self.stem.name.replace("lasvm", "streams", 1))
