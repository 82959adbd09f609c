"""The tables of `questions`."""

from __future__ import annotations

import numpy as np

from ..harness.report import NONE, fill, head, markdown, number
from ..harness.run import Data, Result
from ..harness.statistics import signed_rank

WORDS = {
    "random": "`Random`",
    "submodular": "`Submodular`",
    "by labels": "`Submodular`, labeled",
    "smallest margin": "`Margin`",
}
READING = """Per cent right, mean over the draws of a stream. *others*: rows of a batch that were not asked
about, over all batches but the first; what is left after the hard rows are asked about is easier, so this
flatters every rule but `Random`. *held out*: rows in no batch, by the rule for new rows at the end.
`Submodular` takes the margins of `StreamS3VM`; *labeled* is the thesis' form, which takes the disagreement
of the labels so far; `Margin` is the search of the whole batch for the smallest margins, without regard to
how alike they are. All have a linear kernel and know the share of positives in the stream, so after each
answer that among the rows not asked about. *p*: Wilcoxon's signed-rank test against `Random` over the draws
of all streams at once, two-sided, without correction; draws of one stream share their rows, so it says little
about other streams."""


def _line(r: Result, share: float, key: str) -> list[str]:
    found = {line["rule"]: line[key] for line in r["lines"] if line["share"] == share}
    base = np.array(found["random"])
    cells = []
    for who in WORDS:
        gain = "" if who == "random" else f" ({100 * (np.array(found[who]) - base).mean():+.1f})"
        cells.append(f"{100 * np.mean(found[who]):.1f}{gain}")
    return cells


def _table(results: list[Result], share: float) -> str:
    lines = []
    for r in results:
        asked = max(1, round(share * r["rows"]))
        for key, words in (("rest", "others"), ("held_out", "held out")):
            lines.append([r["stream"], f"{asked} of {r['rows']}", words, *_line(r, share, key)])
    for key, words in (("rest", "others"), ("held_out", "held out")):
        cells = []
        for who in WORDS:
            gains = np.concatenate([_gains(r, share, who, key) for r in results])
            p = signed_rank(gains)
            cells.append(NONE if who == "random" or p is None else f"p {number(p, 2)}")
        lines.append(["all", "", words, *cells])
    return markdown(["stream", "asked", "", *WORDS.values()], lines)


def _gains(r: Result, share: float, who: str, key: str) -> np.ndarray:
    found = {line["rule"]: np.array(line[key]) for line in r["lines"] if line["share"] == share}
    return np.asarray(found[who] - found["random"])


def report(data: Data) -> str:
    """A table per share of queried rows."""
    results = data["results"]
    parts = [
        *head("Which rows of a batch to query", data),
        fill(READING),
    ]
    streams = "; ".join(f"{r['stream']}: {r['batches']} batches, {r['seeds']} draws" for r in results)
    parts.append(fill(f"Streams: {streams}."))
    for share in sorted({line["share"] for r in results for line in r["lines"]}, reverse=True):
        parts += [f"## {100 * share:.0f} % of a batch\n", _table(results, share)]
    return "\n".join(parts)
