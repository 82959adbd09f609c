"""What a part of the active-learning benchmark leaves on disk."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from _report import WIDTH, Record


class AskingRecord(Record):
    """`al-<part>-<time>.json`, and the Markdown beside it."""

    def __init__(self, folder: Path, part: str, about: dict[str, Any], settings: dict[str, Any]) -> None:
        super().__init__(folder, part, about, settings)
        self.stem = self.stem.with_name(self.stem.name.replace("lasvm", "al", 1))


def fill(text: str) -> str:
    """A paragraph of the report."""
    return textwrap.fill(" ".join(text.split()), WIDTH, break_on_hyphens=False) + "\n"
