"""The tables of --scores and of --develop."""

from __future__ import annotations

from typing import Any

import numpy as np

from _report import NONE, machine_lines, markdown, number
from _semi_record import fill, head
from _streams_learners import DEFAULT, RECOMMENDED, RIVER
from _streams_players import BATCH
from _streams_sets import REPORTED

Result = dict[str, Any]
MEASURES = {"mcc": "MCC", "accuracy": "accuracy", "g_means": "g-means", "auc": "AUC"}
SHOWN = 4  # digits of a score that make a difference: 0.01 of a hundred

READING = """Rows in the order in which they came, at most 30,000 of a stream, in batches of {batch}. A batch
is predicted first; then the labels that its reader asked for, or was given, come for the whole batch at
once, for River as for us. Scores are over all rows, against labels that are mostly never given, times 100.
With 1 % of the labels they are means over two seeds, which decide the labels that are drawn; the AUC is one
over the whole stream. *asks*: `margin` and `entropy` choose the rows, `random` draws them, `margin, random`
draws every other one. Ours are `NeverEndingLearner`s, which call `rescale()` at 500, 1,000, 2,000, 4,000,
... rows, but for the line "scale fixed", which leaves it to `open`: that takes the scale of all rows
whenever they have doubled, up to 10,000, and then fixes it.
River's linear models have a StandardScaler that sees every row; its EntropySampler has a discount that is
moved after each batch so that it keeps to the share, and gets labels at random until it has seen two
classes, since it would never ask for one. No setting was chosen on these streams: see `--develop`."""
WINS = """On how many streams ours are ahead of River's. *best*: the best of ours against the best of River's,
both picked afterwards. *{name}*: this one of ours, fixed before, against the best of River's, which is picked
afterwards for each stream and measure; and one by one, against each of River's on each stream. *The default
of `open`*: `NeverEndingLearner.open(place)` with nothing else said, against the best of River's."""


def _percent(rate: float) -> str:
    return f"{100 * rate:g} %"


def _readers(results: list[Result]) -> list[str]:
    return list(dict.fromkeys(name for r in results for name in r["readers"]))


def _named(name: str, results: list[Result]) -> str:
    family = next(r["readers"][name]["family"] for r in results if name in r["readers"])
    return f"River {name}" if family == RIVER else name


def _scores(results: list[Result], measure: str) -> str:
    """Readers by streams, for one share of labels; the best of a stream in bold."""
    best = {
        r["stream"]: max(round(found[measure], SHOWN - 1) for found in r["readers"].values()) for r in results
    }
    lines = []
    for name in _readers(results):
        cells = []
        for r in results:
            value = r["readers"][name][measure]
            text = f"{100 * value:.1f}"
            cells.append(f"**{text}**" if round(value, SHOWN - 1) >= best[r["stream"]] else text)
        here = [r["readers"][name] for r in results]
        mean = f"{100 * np.mean([found[measure] for found in here]):.1f}"
        cpu = number(float(sum(found["cpu"] for found in here)))
        lines.append([_named(name, results), here[0]["asks"], *cells, mean, cpu])
    header = [MEASURES[measure], "asks", *[r["stream"] for r in results], "mean", "CPU s"]
    return markdown(header, lines)


def _best(result: Result, measure: str, river: bool) -> float:
    return max(found[measure] for found in result["readers"].values() if (found["family"] == RIVER) == river)


def _wins(results: list[Result], rate: float | None) -> list[list[str]]:
    here = [r for r in results if rate is None or r["rate"] == rate]
    lines = []
    rivers = [name for name in _readers(here) if _is_river(here[0], name)]
    for measure, title in MEASURES.items():
        both = sum(_best(r, measure, False) > _best(r, measure, True) for r in here)
        cells = [f"{both} of {len(here)}"]
        cells.append(_ahead(here, RECOMMENDED, measure))
        pairs = [
            (r["readers"][RECOMMENDED][measure], r["readers"][n][measure])
            for r in here
            for n in rivers
            if n in r["readers"] and RECOMMENDED in r["readers"]
        ]
        cells += [f"{sum(a > b for a, b in pairs)} of {len(pairs)}", _ahead(here, DEFAULT, measure)]
        lines.append([title, *cells])
    return lines


def _ahead(results: list[Result], name: str, measure: str) -> str:
    """How often one of ours is ahead of whatever of River's is best."""
    mine = [(r, r["readers"][name][measure]) for r in results if name in r["readers"]]
    return f"{sum(value > _best(r, measure, True) for r, value in mine)} of {len(mine)}" if mine else NONE


def _is_river(result: Result, name: str) -> bool:
    return bool(result["readers"][name]["family"] == RIVER)


def _behind(results: list[Result]) -> str:
    """Where the recommended one is not the first, by MCC."""
    lines = []
    for r in results:
        mine = r["readers"].get(RECOMMENDED)
        if mine is None:
            continue
        name, found = max(
            ((n, f) for n, f in r["readers"].items() if f["family"] == RIVER), key=lambda pair: pair[1]["mcc"]
        )
        gap = 100 * (mine["mcc"] - found["mcc"])
        if gap <= 0:
            spread = 100 * max(mine["mcc_spread"], found["mcc_spread"])
            over = f", seeds differ by {spread:.1f}" if r["seeds"] > 1 else ""
            lines.append(
                f"- {r['stream']} at {_percent(r['rate'])}: {gap:+.1f} MCC against River {name}{over}."
            )
    return "\n".join(lines or ["- nowhere"]) + "\n"


def _streams(results: list[Result]) -> str:
    seen = {r["stream"]: r for r in results}
    return markdown(
        ["stream", "what", "rows", "features", "positive %"],
        [
            [
                name,
                REPORTED[name][0],
                f"{r['rows']:,}",
                str(r["features"]),
                f"{100 * r['positives']:.0f}",
            ]
            for name, r in seen.items()
        ],
    )


def report(about: dict[str, Any], settings: dict[str, Any], results: list[Result]) -> str:
    parts = head("Streams with few labels, beside River", about, settings, machine_lines(about))
    parts += [_streams(results), fill(READING.format(batch=BATCH))]
    rates = list(dict.fromkeys(r["rate"] for r in results))
    header = ["", "best", RECOMMENDED, "its wins one by one", "the default of `open`"]
    parts += ["## Who is ahead\n", fill(WINS.format(name=RECOMMENDED))]
    for rate in rates:
        parts += [f"{_percent(rate)} of the labels:\n", markdown(header, _wins(results, rate))]
    parts += [f"`{RECOMMENDED}` is behind the best of River's:\n", _behind(results)]
    for rate in rates:
        here = [r for r in results if r["rate"] == rate]
        parts.append(f"## {_percent(rate)} of the labels\n")
        parts += [_scores(here, measure) for measure in MEASURES]
        asked = {
            name: max(abs(r["readers"][name]["labels"] / r["rows"] - rate) for r in here)
            for name in _readers(here)
        }
        worst = max(asked, key=lambda name: asked[name])
        parts.append(
            fill(
                f"Everyone got {_percent(rate)} of the labels, within {100 * asked[worst]:.2f} points of it."
            )
        )
    return "\n".join(parts)


def development_report(about: dict[str, Any], settings: dict[str, Any], results: list[Result]) -> str:
    """Every candidate on the streams that settings are chosen on."""
    parts = head("Streams to choose settings on", about, settings, machine_lines(about))
    for rate in dict.fromkeys(r["rate"] for r in results):
        here = [r for r in results if r["rate"] == rate]
        parts += [f"## {_percent(rate)} of the labels\n", _scores(here, "mcc"), _scores(here, "accuracy")]
    return "\n".join(parts)
