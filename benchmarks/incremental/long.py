"""Ten thousand additions: does the solution stay exact, what does a row cost?"""

from __future__ import annotations

import gc
from time import process_time
from typing import Any

from tqdm import tqdm

from everlearn import IDSVM

from ..harness.machine import memory, say
from ..harness.process import in_own_process
from ..harness.report import fill, markdown
from ..harness.run import Data, Result, Run
from .data import draw
from .exact import residual
from .report import named, opening, tiny

NAMES = ("banana", "ijcnn1", "a9a")

MARKS = 10


def run_part(run: Run) -> None:
    """Each set with all rows and with a window, each pass in a process of its own, for its memory."""
    size = run.settings["added"]
    for name in run.chosen(NAMES, ("banana",)):
        for window in (None, run.settings["window"]):
            if run.find(set=name, window=window):
                continue
            found = in_own_process(_long_pass, name, size, window)
            times = ", ".join(f"{point['ms_a_row']:.2f}" for point in found["points"])
            say(f"{name}, window {window}: {times} ms a row")
            run.add(found)


def _long_pass(name: str, size: int, window: int | None) -> dict[str, Any]:
    rows = draw(name, size, 0)
    machine = IDSVM(**rows.parameters, window=window)
    gc.collect()
    before, points, step = memory()["now"], [], size // MARKS
    for mark in tqdm(range(MARKS), desc=f"adding, {name}", leave=False):
        here = range(mark * step, (mark + 1) * step)
        start = process_time()
        for i in here:
            machine.partial_fit(rows.X[i : i + 1], rows.y[i : i + 1], classes=(-1, 1))
        seconds = process_time() - start
        points.append(
            residual(machine, rows, machine.ids_)
            | {
                "rows": (mark + 1) * step,
                "ms_a_row": 1e3 * seconds / step,
                "n_kept": int(machine.n_kept_),
                "n_support": len(machine.support_),
                "n_margin": int(machine.n_margin_[0]),
                "memory_mb": memory()["now"] - before,
                "n_refreshes": machine.n_refreshes_,
                "n_fallbacks": machine.n_fallbacks_,
            }
        )
    return rows.describe() | {"window": window, "points": points}


def report(data: Data) -> str:
    """Cost and exactness by tenths, with all rows and with a window."""
    found, settings = data["results"], data["settings"]
    parts = opening(f"{settings['added']:,} rows added one by one", data)
    header = ["rows", "ms a row", "SVs", "at margin", "residual", "sum y a", "MB"]
    windowed = [f"window {settings['window']:,}: ms", "SVs", "at margin", "residual", "sum y a", "MB"]
    for everything in (r for r in found if r["window"] is None):
        last = next(r for r in found if r["window"] is not None and r["set"] == everything["set"])
        lines = [
            [f"{p['rows']:,}", *_point(p), *_point(w)]
            for p, w in zip(everything["points"], last["points"], strict=True)
        ]
        ends = [r["points"][-1] for r in (everything, last)]
        parts += [
            f"## {named(everything)}\n",
            markdown([*header, *windowed], lines),
            f"Refreshed {ends[0]['n_refreshes']} and {ends[1]['n_refreshes']} times, "
            f"learned all again {ends[0]['n_fallbacks']} and {ends[1]['n_fallbacks']} times.\n",
        ]
    parts.append(
        fill("""
        One `partial_fit` a row; times are means over the rows since the line above, and include the checks of
        each call. "MB": resident memory beyond that before the first row, with the default `cache_size` of
        200, each pass in a process of its own. It is what the process has from the system; where it is above
        `cache_size`, a part of it is free but in pieces.
        """)
    )
    return "\n".join(parts)


def _point(p: Result) -> list[str]:
    return [
        f"{p['ms_a_row']:.2f}",
        str(p["n_support"]),
        str(p["n_margin"]),
        tiny(p["residual"]),
        tiny(p["sum"]),
        f"{p['memory_mb']:.0f}",
    ]
