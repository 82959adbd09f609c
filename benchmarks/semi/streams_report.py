"""The tables of `streams`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..harness.report import NONE, fill, head, markdown, number
from ..harness.run import Data, Result
from ..harness.statistics import signed_rank

SETTLED = 3  # batches before there is a summary of two

READING = """`StreamS3VM` with a linear kernel, told the share of positives in the whole stream, as all others
here are. Accuracy on the rows of a batch that came without a label, mean over all batches but the first.
*labels alone*: `SVC(kernel="linear", C=1)` on all labels so far, the batch cut at the same share. *all rows
kept*: `SubmodS3VM` on everything so far. *strict* allows a summary no other label in the batch
(`max_disagreement=0`), *tolerant* is the default (`max_disagreement=0.05`). *online* does not see the labels
of a batch before it has labeled it, and is counted on the same rows. *M*: rows without a label in the
summary; *other labels %*: of the batch, by the summary. *late / early*: the last third of the batches over
the first third, from the third batch on, in CPU seconds, in rows held and in bytes of the pickled learner;
labeled rows are all kept, so that storage grows by the labels unless `max_labeled_per_class` limits it."""
MOONS = """Two moons, a narrow RBF kernel (gamma = {gamma:g}), two labels in the first batch and none later.
Per cent labeled correctly, mean over the batches after the first and over {seeds} draws, in brackets the
standard deviation over the draws. M rows without a label are kept of what is held, chosen by `Exemplars`, by
the same without diversity (lam1 near 0), or at random; *p* is Wilcoxon's signed-rank test of exemplars
against random ones over the draws, two-sided, without correction."""


def _late(values: list[float]) -> float | None:
    values = values[SETTLED - 1 :]
    third = len(values) // 3
    return float(np.mean(values[-third:]) / np.mean(values[:third])) if third else None


def _line(who: str, found: dict[str, Any]) -> list[str]:
    history = found.get("history") or {}
    return [
        who,
        f"{100 * np.mean(found['accuracy'][1:]):.1f}",
        f"{100 * np.mean(found['accuracy'][len(found['accuracy']) // 2 :]):.1f}",
        NONE if not history else f"{np.mean(history['exemplars']):.0f}",
        NONE if not history else f"{np.mean(history['trials']):.1f}",
        NONE if not history else f"{100 * np.mean(history['cost']):.1f}",
        number(float(np.mean(found["cpu"][SETTLED - 1 :])) * 1000),
        number(_late(found["cpu"]), 2),
        f"{found['rows'][-1]:.0f}",
        number(_late(found["rows"]), 2),
        f"{found['bytes'][-1] / 2**10:.0f}",
        number(_late(found["bytes"]), 2),
    ]


def _stream(r: Result) -> str:
    about = (
        f"{r['batches']} batches of {r['rows']} rows, {r['labels']} of them labeled; "
        f"{r['features']:,} features, {100 * r['share']:.0f} % positive. "
        f"All rows labeled at once, at the end: {100 * r['at_once']:.1f} %."
    )
    header = ["", "accuracy %", "second half", "M", "trials", "other labels %", "ms a batch", "late / early"]
    header += ["rows held", "late / early", "KiB", "late / early"]
    return f"## {r['stream']}\n\n{fill(about)}\n" + markdown(
        header, [_line(who, found) for who, found in r["learners"].items()]
    )


def _moons(found: dict[str, Any]) -> str:
    tables = []
    settings = list(dict.fromkeys((x["rows"], x["batches"], x["last_batch"]) for x in found["lines"]))
    for rows, batches, last in settings:
        here = [
            x for x in found["lines"] if (x["rows"], x["batches"], x["last_batch"]) == (rows, batches, last)
        ]
        levels = {x["kind"]: x["accuracy"] for x in here if not x["M"]}
        by = {(x["kind"], x["M"]): np.array(x["accuracy"]) for x in here if x["M"]}
        lines = []
        for M in sorted({M for _, M in by}):
            p = signed_rank(by["exemplars", M] - by["random", M])
            cells = [_spread(by[kind, M]) for kind in ("exemplars", "random", "diversity off")]
            lines.append([f"{M}", *cells, NONE if p is None else number(p, 2)])
        held = "the summary and the last batch" if last else "the summary alone"
        words = ", ".join(f"{kind} {_spread(np.array(v))}" for kind, v in levels.items())
        tables.append(fill(f"{batches} batches of {rows} rows, held are {held}; {words}."))
        tables.append(markdown(["M", "exemplars", "random", "diversity off", "p"], lines))
    return "\n".join(tables)


def _spread(values: np.ndarray) -> str:
    return f"{100 * values.mean():.1f} ({100 * values.std():.1f})"


def report(data: Data) -> str:
    """A table per stream, and exemplars against random rows."""
    results = data["results"]
    parts = [*head("Few labels in a stream", data), fill(READING)]
    parts += [_stream(r) for r in results if "learners" in r]
    for r in results:
        if "moons" in r:
            moons = r["moons"]
            parts += ["## Exemplars or random rows\n", fill(MOONS.format(**moons)), _moons(moons)]
    return "\n".join(parts)
