"""The tables of `size`."""

from __future__ import annotations

from typing import Any

from ..harness.report import NONE, fill, head, markdown, number
from ..harness.run import Data

READING = """A `NeverEndingLearner` whose store is a file, {rows:,} rows of 50 features in batches of 1,000, a
process for each learner. A batch is durable before `step` returns; answers come right after it. *ms*: of
`step` and `label` for a batch of 1,000, over a tenth of the run. CPU says what the work is, the wall clock
what the disk and the other processes of this machine add. *accuracy*: of predictions before any label, over
that tenth; two of the features decide by their product and 47 are noise, which no kernel of all features
finds with few labels: these rows are to measure time and memory by."""
RATES = """Rows a second of CPU. Ours predicts, writes the log, keeps a pool and chooses questions; River's
predicts, and its sampler says whether it wants the label, from dicts that are there already; 20,000 rows
after so many labels, with which its trees have two leaves and six."""
FLAT = 1.1  # the last tenth over an earlier one: more than this is not flat


def _tenths(result: dict[str, Any]) -> str:
    lines = [
        [
            f"{t['rows']:,}",
            f"{t['resident_mb']:.0f}",
            f"{t['cpu_ms']['median']:.1f}",
            f"{t['cpu_ms']['p95']:.1f}",
            f"{t['wall_ms']['median']:.1f}",
            f"{t['wall_ms']['p95']:.1f}",
            f"{t['labels']:,}",
            f"{t['support_vectors']:,}",
            f"{t['kept_rows']:,}",
            NONE if t["accuracy"] is None else f"{100 * t['accuracy']:.1f}",
            f"{t['store_mb']:.0f}",
        ]
        for t in result["tenths"]
    ]
    header = ["rows", "resident MB", "CPU ms", "95 %", "wall ms", "95 %", "labels", "support vectors"]
    return markdown([*header, "kept rows", "accuracy %", "store MB"], lines)


def _flat(result: dict[str, Any]) -> str:
    """How time and memory grow from the first tenth on, and once the rows kept have stopped growing."""
    tenths = result["tenths"]
    if len(tenths) < 2:
        return ""
    last = tenths[-1]
    full = next(t for t in tenths[1:] if t["kept_rows"] >= 0.99 * last["kept_rows"])
    held = result.get("trimmed_mb")
    trimmed = "" if held is None else f", {held:.0f} MB at the end once the allocator has let go of the rest"
    since = f"From the tenth that ends with {full['rows']:,} rows, when it keeps as many rows as at the end,"
    return (
        f"From the first tenth to the last, {_growth(tenths[0], last)}. {since} {_growth(full, last)}. "
        f"Peak {result['peak_mb']:.0f} MB{trimmed}. "
        f"Store {result['store_mb']:.0f} MB for rows of {result['rows_mb']:.0f} MB.\n"
    )


def _growth(before: dict[str, Any], after: dict[str, Any]) -> str:
    memory = after["resident_mb"] / before["resident_mb"]
    time = after["cpu_ms"]["median"] / before["cpu_ms"]["median"]
    return f"memory x {memory:.2f} ({_word(memory)}), CPU time of a batch x {time:.2f} ({_word(time)})"


def _word(times: float) -> str:
    return "flat" if times <= FLAT else "not flat"


def _rates(results: list[dict[str, Any]], peers: list[dict[str, Any]]) -> str:
    tree = peers[2]["rows_a_second"]  # the one that also asks
    lines = []
    for r in results:
        predicting = 1e6 / r["tenths"][-1]["step_cpu_ms"]["median"]
        total = r["rows"] / r["cpu"]
        lines.append(
            [
                r["learner"],
                f"{predicting:,.0f}",
                f"{total:,.0f}",
                f"{r['rows'] / r['wall']:,.0f}",
                number(predicting / tree),
            ]
        )
    for p in peers:
        rate = p["rows_a_second"]
        lines.append([p["peer"], f"{rate:,.0f}", NONE, NONE, number(rate / tree)])
    header = ["", "predict and ask", "whole run", "whole run, wall", "over River's sampler"]
    return markdown(header, lines)


def report(data: Data) -> str:
    """Tenths of each run, and rows a second."""
    results, peers = data["results"], data["peers"]
    rows = results[0]["rows"] if results else 0
    parts = head(f"{rows:,} rows in one run", data)
    parts.append(fill(READING.format(rows=rows)))
    for r in results:
        parts += [f"## {r['learner']}\n", _tenths(r), fill(_flat(r))]
    return "\n".join([*parts, "## Rows a second\n", fill(RATES), _rates(results, peers)])
