"""The tables."""

from __future__ import annotations

from typing import Any

from ..harness.report import NONE, fill, head, markdown, number
from ..harness.run import Data
from .data import RATIO, TITLES
from .learners import ADAPTED, BUDGET, COMPONENTS, OURS, PERCEPTRONS, RIVER
from .prequential import BLOCK, RATES, in_words

PERCEPTRON_GOAL, KOIL_GOAL, RIVER_GOAL = 100_000, 30_000, 10
KOILS = ("KOIL rs++", "KOIL fifo++")
Results = dict[str, dict[str, Any]]


def throughput_report(data: Data) -> str:
    """Rows a second and AUC by stream, the goals, and the parameters."""
    settings = data["settings"]
    streams: dict[str, Results] = {r["stream"]: r["learners"] for r in data["results"] if "learners" in r}
    parts = head("Learning on a budget: rows a second, and what they are worth", data)
    for name, results in streams.items():
        parts += [
            f"## {name}: {TITLES[name]}\n",
            f"{settings['rows']:,} rows, {RATIO} of the frequent class for each of the rare one. Always "
            f"predicting the former is right on {RATIO / (RATIO + 1):.1%}.\n",
            markdown(_HEADER, [_line(*pair, settings["repeats"]) for pair in results.items()]),
        ]
    parts.append(fill(_EXPLAINED))
    if "agree" in streams:
        parts += ["## Goals, on 20 features\n", _goals(streams["agree"])]
    return "\n".join([*parts, "## Parameters\n", _parameters(streams)])


_HEADER = [
    "learner",
    "AUC",
    "accuracy %",
    f"learn, {BLOCK} rows",
    f"score + learn, {BLOCK}",
    "learn, 1 row",
    "score + learn, 1",
    "kept",
]
_EXPLAINED = f"""
Rows a second of CPU time, in blocks of {BLOCK} rows and in calls of one row each; one thread, medians. Rows
are scored before they are learned: where they come in blocks, the whole block is, with River each row. AUC
and accuracy are those of these scores, from row {BLOCK} on, means of the repeats. Budget {BUDGET}, for KOIL
and OAM {BUDGET} of each class; the last two of ours have no budget and grow. River gets its rows as dicts
made beforehand. Each learner chose its parameters on another draw, by AUC. Those marked "once" took over 10 s
for a pass, which was not repeated. OAM, OPAUC and River's first three are linear, and of no use on `agree`.
River's RBFSampler(n) makes n random features of each single feature, and sums of these cannot tell whether
signs agree either; so RBFSampler(5) has {5 * 20} features in all on `agree`, and RBFSampler({COMPONENTS}) has
{20 * COMPONENTS:,}. scikit-learn's makes n of all features together. RiverClassifier is ours, driven by
River.
"""


def _line(name: str, found: dict[str, Any], repeats: int) -> list[str]:
    middle, mean = found["median"], found["mean"]
    who = name if found["family"].startswith(OURS) else f"{found['family']}: {name}"
    if found["family"] == ADAPTED:
        who = name
    return [
        who + (", once" if len(found["runs"]) == 1 < repeats else ""),
        f"{mean['auc']:.3f}",
        f"{100 * mean['accuracy']:.1f}",
        *[NONE if middle[rate] is None else _thousands(middle[rate]) for rate in RATES],
        NONE if middle["kept"] is None else f"{middle['kept']:.0f}",
    ]


def _thousands(value: float) -> str:
    """Three digits are known at most."""
    digits = max(0, len(str(int(value))) - 3)
    return f"{round(value, -digits):,.0f}"


def _goals(results: Results) -> str:
    """Which of the goals are met, by whom not, and how far from River's sampler we are."""

    def rate(name: str, key: str = "block_learn") -> float:
        return float(results[name]["median"][key])

    lines = []
    for title, names, goal in (
        ("perceptron kinds", PERCEPTRONS, PERCEPTRON_GOAL),
        ("KOIL", KOILS, KOIL_GOAL),
    ):
        slowest = min(names, key=rate)
        verdict = _met(rate(slowest) >= goal)
        lines.append(
            [f"{title}, at least {goal:,} rows/s", f"{_thousands(rate(slowest))} ({slowest})", verdict]
        )
    samplers = [n for n, r in results.items() if r["family"] == RIVER and n.startswith("RBFSampler")]
    if samplers:
        hundred = max(
            (n for n in samplers if n.startswith(f"RBFSampler({COMPONENTS})")),
            key=lambda n: rate(n, "single_learn"),
        )
        five = next(n for n in samplers if n.startswith("RBFSampler(5)"))
        for key, words in (("block_learn", f"blocks of {BLOCK}"), ("single_learn", "one row a call")):
            slowest = min((*PERCEPTRONS, "NORMA", *KOILS), key=lambda n: rate(n, key))
            for peer in (hundred, five):
                times = rate(slowest, key) / rate(peer, "single_learn")
                lines.append(
                    [
                        f"{words}, at least {RIVER_GOAL} x River's {peer}",
                        f"{number(times)} x ({slowest})",
                        _met(times >= RIVER_GOAL),
                    ]
                )
    return markdown(["goal", "the slowest of ours", "met"], lines)


def _met(verdict: bool) -> str:
    return "yes" if verdict else "**no**"


def flat_report(data: Data) -> str:
    """Rows a second and memory by tenths."""
    flat = data["results"]
    longest = max((found["points"] for found in flat), key=len)
    names = [found["learner"] for found in flat]
    header = ["rows", *[f"{name}, rows/s" for name in names], *[f"{name}, MB" for name in names]]
    lines = []
    for i, point in enumerate(longest):
        points = [found["points"][i] if i < len(found["points"]) else None for found in flat]
        lines.append(
            [
                f"{point['rows']:,}",
                *[NONE if p is None else _thousands(p["rows_per_s"]) for p in points],
                *[NONE if p is None else f"{p['memory_mb']:.1f}" for p in points],
            ]
        )
    grown = [f"{f['learner']} {f['points'][-1]['kept']:,}" for f in flat if f["points"][-1]["kept"]]
    text = f"""
    partial_fit in blocks of {BLOCK}, over the rows since the line above. Resident memory of the whole
    process, Python and libraries included, each learner in one of its own. KernelPerceptron has no
    budget and was stopped early. Rows kept at the end: {", ".join(grown)}.
    """
    title = f"{longest[-1]['rows']:,} rows of `agree`: does the cost stay the same?"
    return "\n".join([*head(title, data), markdown(header, lines), fill(text)])


def _parameters(streams: dict[str, Results]) -> str:
    names = dict.fromkeys(name for results in streams.values() for name in results)
    lines = []
    for name in names:
        found = {stream: results[name] for stream, results in streams.items() if name in results}
        count = max(entry["candidates"] for entry in found.values())
        cells = [in_words(found[s]["parameters"]) if s in found else NONE for s in streams]
        lines.append([name, str(count) if count else "none: as ours", *cells])
    return markdown(["learner", "candidates", *streams], lines)
