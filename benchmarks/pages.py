"""Tables on README and pages that are written from recorded results: `python -m benchmarks.pages`.

A page marks where such a table stands:

    <!-- table: lasvm -->
    ...
    <!-- end -->

The command writes what lies between again, from `benchmarks/results/`; `--check` only says what is out of
date, which is what the tests do. To publish a new run, copy its JSON file and its report there, and run it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, median
from typing import Any

from .harness.report import NONE, middle, ratio
from .harness.run import Data

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", flags=re.DOTALL)
STREAMS_RATE = 0.01


def recorded(name: str) -> Data:
    """A recorded run by the name of its file."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def table(header: list[str], numbers: int, rows: list[list[str]]) -> str:
    """A Markdown table whose last columns are numbers."""
    rule = ["---"] * (len(header) - numbers) + ["--:"] * numbers
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, rule, *rows])


def times(value: float | None) -> str:
    """A ratio, as short as it can be said."""
    return NONE if value is None else f"{value:.0f}" if value >= 99.5 else f"{value:.1f}"


def bold(text: str, value: float | None) -> str:
    """In bold where we are ahead."""
    return f"**{text}**" if value is not None and value >= 1.05 else text


def seconds(value: float | None) -> str:
    """Seconds with two digits that count."""
    return NONE if value is None else f"{value:.0f}" if value >= 99.5 else f"{float(f'{value:.2g}'):g}"


def error(result: dict[str, Any], peer: str) -> str:
    """The test error of a peer in percent."""
    value = result["peers"].get(peer, {}).get("error")
    return NONE if value is None else f"{100 * value:.2f}"


def lasvm() -> str:
    """Exact fits beside SVC and intelex, in CPU seconds."""
    rows = []
    for result in recorded("lasvm-table")["results"]:
        svc, intelex = (ratio(result, peer, "ours", unit="cpu") for peer in ("svc", "intelex"))
        single = ratio(result, "ours", "single", unit="cpu")
        rows.append(
            [
                f"{result['title']} ({result['C']:,g}, {result['gamma']:g})",
                f"{result['rows']:,} x {result['features']:,}",
                seconds(middle(result["peers"]["ours"], unit="cpu")),
                bold(times(svc), svc),
                bold(times(intelex), intelex),
                times(single),
                error(result, "ours"),
                error(result, "svc"),
            ]
        )
    header = ["data set (C, gamma)", "rows", "ours, s", "SVC / ours", "intelex / ours"]
    return table([*header, "ours / single pass", "error %", "SVC's"], 6, rows)


def span(values: list[float | None]) -> str:
    """The median of some ratios, and the range."""
    known = sorted(value for value in values if value is not None)
    low, middle_one, high = (
        f"{v:.0f}" if v >= 9.95 else f"{v:.1f}" for v in (known[0], median(known), known[-1])
    )
    return f"**{middle_one}** ({low} to {high})"


def stream_scores() -> dict[str, float]:
    """Mean Matthews correlation over the streams, times 100, with 1 % of the labels."""
    scores: dict[str, dict[str, list[float]]] = {}
    for entry in recorded("streams-scores")["results"].values():
        if entry["rate"] == STREAMS_RATE:
            scores.setdefault(entry["reader"], {}).setdefault(entry["stream"], []).append(entry["mcc"])
    return {
        reader: 100 * fmean(fmean(seeds) for seeds in streams.values()) for reader, streams in scores.items()
    }


def headline() -> str:
    """Three figures beside their peers."""
    fits = recorded("lasvm-table")["results"]
    svc, intelex = ([ratio(r, peer, "ours", unit="cpu") for r in fits] for peer in ("svc", "intelex"))
    forget = [r for r in recorded("incremental")["results"] if r["part"] == "forget"]
    retrain = [r["svc"]["median_ms"] / r["random"]["idsvm"]["mean_ms"] for r in forget]
    sizes = [r["rows"] for r in fits]
    scores = stream_scores()
    ours = scores["everlearn, as it comes"]
    river = max(score for reader, score in scores.items() if reader.startswith("River"))
    forest = max(
        score for reader, score in scores.items() if "forest" in reader and "everlearn" not in reader
    )
    streams = {e["stream"] for e in recorded("streams-scores")["results"].values()}
    rows = [
        [
            "train the exact SVM: `LASVM().fit`",
            f"{len(fits)} data sets of {min(sizes):,} to {max(sizes):,} rows",
            f"{span(svc)} times as fast as `SVC`, {span(intelex)} as scikit-learn-intelex",
        ],
        [
            "unlearn a row: `IDSVM.forget`",
            f"{len(forget)} data sets of 5,000 rows",
            f"{span(retrain)} times as fast as retraining `SVC`",
        ],
        [
            "learn a stream from 1 % of its labels: `NeverEndingLearner`",
            f"{len(streams)} streams; Matthews correlation x 100",
            f"**{ours:.1f}**; best of River {river:.1f}, retrained random forest {forest:.1f}",
        ],
    ]
    return table(["task", "measured on", "result: median (range)"], 0, rows)


TABLES: dict[str, Callable[[], str]] = {"lasvm": lasvm, "headline": headline}


def with_tables(text: str) -> str:
    """A page with its marked tables as they are now."""

    def replace(match: re.Match[str]) -> str:
        if match[2] not in TABLES:
            raise SystemExit(f"unknown table {match[2]!r}; there are {', '.join(TABLES)}")
        return f"{match[1]}{TABLES[match[2]]()}\n{match[3]}"

    return MARKED.sub(replace, text)


def pages() -> list[Path]:
    """README and the pages of the site."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def main(argv: list[str] | None = None) -> int:
    """Write the tables again, or say which are out of date."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a table is out of date")
    check = parser.parse_args(argv).check
    stale = 0
    for page in pages():
        text = page.read_text(encoding="utf-8")
        new = with_tables(text)
        if new != text:
            stale += 1
            print(f"{page.relative_to(ROOT)}: {'out of date' if check else 'written'}")
            if not check:
                page.write_text(new, encoding="utf-8")
    return int(check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
