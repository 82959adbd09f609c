"""What a part of the semi-supervised benchmark leaves on disk, and the wrapping of its words."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from _report import WIDTH, Record

FEWEST = 6  # pairs: the signed-rank test cannot reject at 0.05 with fewer


class SemiRecord(Record):
    """`semi-<part>-<time>.json`, and the Markdown beside it."""

    def __init__(self, folder: Path, part: str, about: dict[str, Any], settings: dict[str, Any]) -> None:
        super().__init__(folder, part, about, settings)
        self.stem = self.stem.with_name(self.stem.name.replace("lasvm", "semi", 1))


def fill(text: str) -> str:
    """A paragraph of the report."""
    return textwrap.fill(" ".join(text.split()), WIDTH, break_on_hyphens=False) + "\n"


def signed_rank(gains: np.ndarray) -> float | None:
    """Wilcoxon's two-sided p-value, if there are enough pairs that differ."""
    moved = np.round(gains, 9)
    moved = moved[moved != 0]
    return float(wilcoxon(moved).pvalue) if len(moved) >= FEWEST else None


def head(title: str, about: dict[str, Any], settings: dict[str, Any], machine: str) -> list[str]:
    """Title, machine, load, and whether this is a trial."""
    parts = [f"# {title}\n", machine]
    if about["load_before"]:
        parts.append(f"Load when it began: {about['load_before'][0]:.1f} on {about['cores']} cores.\n")
    if settings["quick"]:
        parts.append("**A trial on few rows: no figure here means anything.**\n")
    return parts
