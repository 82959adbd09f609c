"""The report of KOIL's table: beside the paper, beside a plain implementation, and who wins against whom."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ..harness.report import NONE, markdown
from .data import RAW, base
from .paper import PAPER, PAPER_COUNTS, PLAIN

KOILS = ("RS++", "FIFO++")
LEVEL = 0.05


def paper_column(learner: str) -> str:
    """The learner of the paper that one of ours is compared with."""
    return learner.partition(",")[0]


def mean_and_sd(found: dict[str, Any]) -> tuple[float, float]:
    return 1000 * float(np.mean(found["auc"])), 1000 * float(np.std(found["auc"], ddof=1))


def difference(result: dict[str, Any], learner: str) -> int | None:
    """Ours less the paper's, in thousandths and as printed; None where the paper's figure is lost."""
    paper = PAPER[base(result["set"])][paper_column(learner)]
    return None if paper is None else round(mean_and_sd(result["learners"][learner])[0]) - paper[0]


def within(result: dict[str, Any], learner: str) -> bool | None:
    """Whether the difference is at most the paper's standard deviation."""
    paper, apart = PAPER[base(result["set"])][paper_column(learner)], difference(result, learner)
    return None if paper is None or apart is None else abs(apart) <= paper[1]


def verdict(ours: list[float], theirs: list[float]) -> int:
    """1 where ours is significantly better, -1 where worse, 0 otherwise: paired t-test over the runs."""
    from scipy.stats import ttest_rel

    apart = np.subtract(ours, theirs)
    if np.ptp(apart) == 0:
        return int(np.sign(apart[0]))
    return int(np.sign(apart.mean())) if ttest_rel(ours, theirs).pvalue < LEVEL else 0


def verdicts(result: dict[str, Any], koil: str) -> dict[str, int]:
    learners = result["learners"]
    return {
        name: verdict(learners[koil]["auc"], found["auc"])
        for name, found in learners.items()
        if name not in KOILS
    }


def _figures(results: list[dict[str, Any]], learner: str, plain: bool) -> list[str]:
    cells = []
    for result in results:
        mean, sd = mean_and_sd(result["learners"][learner])
        paper = PAPER[base(result["set"])][paper_column(learner)]
        cell = f"{mean:.0f}/{sd:.0f} [{'?' if paper is None else f'{paper[0]}/{paper[1]}'}]"
        if plain:
            other = PLAIN[base(result["set"])][paper_column(learner)]
            cell += "" if other is None else f" ({other[0]}/{other[1]})"
        cells.append(cell)
    return cells


def _koil_table(results: list[dict[str, Any]]) -> str:
    columns = [_figures(results, koil, plain=True) for koil in KOILS]
    rows = []
    for i, result in enumerate(results):
        row = [result["set"]]
        for koil, cells in zip(KOILS, columns, strict=True):
            apart, near = difference(result, koil), within(result, koil)
            row += [
                cells[i],
                NONE if apart is None else f"{apart:+d}",
                {True: "yes", False: "no"}.get(near, NONE),
            ]
        rows.append(row)
    header = ["set"] + [text for koil in KOILS for text in (koil, "difference", "within 1 SD")]
    return markdown(header, rows)


def counted(results: list[dict[str, Any]], poker: str) -> list[dict[str, Any]]:
    """The sets of the paper, each once, with one of the two lines of poker."""
    other = {"poker", RAW} - {poker}
    return [result for result in results if result["set"] not in other]


def _near(results: list[dict[str, Any]]) -> str:
    rows = []
    for poker in ("poker", RAW):
        chosen = counted(results, poker)
        if poker not in [result["set"] for result in chosen]:
            continue
        row = [f"with `{poker}`"]
        for koil in KOILS:
            known = [result for result in chosen if difference(result, koil) is not None]
            near = [result for result in known if within(result, koil)]
            above = [result for result in known if (difference(result, koil) or 0) > 0]
            row += [f"{len(near)} of {len(known)}"]
            row += [f"{len({result['set'] for result in near + above})} of {len(known)}"]
        rows.append(row)
    header = ["sets with a figure of the paper"]
    header += [f"{koil} {text}" for koil in KOILS for text in ("within 1 SD", "within or above")]
    return markdown(header, rows) if rows else ""


def _same(results: list[dict[str, Any]]) -> str:
    """Where mean and standard deviation are the paper's to the last digit printed."""
    lines = []
    for result in results:
        names = []
        for name, found in result["learners"].items():
            paper = PAPER[base(result["set"])][paper_column(name)]
            if paper is not None and tuple(map(round, mean_and_sd(found))) == paper[:2]:
                names.append(name)
        lines.append(f"- {result['set']}: {'; '.join(names) or 'none'}")
    return "\n".join(lines) + "\n"


def _count(values: list[int]) -> str:
    return "/".join(str(sum(value == kind for value in values)) for kind in (1, 0, -1))


def _counts(results: list[dict[str, Any]], poker: str) -> str:
    chosen = counted(results, poker)
    names = [name for name in chosen[0]["learners"] if name not in KOILS]
    found = {koil: [verdicts(result, koil) for result in chosen] for koil in KOILS}
    rows = [[koil, *[_count([line[name] for line in found[koil]]) for name in names]] for koil in KOILS]
    pairs = list(zip(*found.values(), strict=True))
    either = [_count([max(a[name], b[name]) or min(a[name], b[name]) for a, b in pairs]) for name in names]
    rows.append(["one of both", *either])
    rows.append(["paper", *["/".join(map(str, PAPER_COUNTS[paper_column(name)])) for name in names]])
    return markdown(["won/tied/lost", *names], rows)


def _marks(results: list[dict[str, Any]]) -> str:
    names = [name for name in results[0]["learners"] if name not in KOILS]
    words = {1: "+", 0: "=", -1: "-"}
    rows = []
    for result in results:
        found = [verdicts(result, koil) for koil in KOILS]
        rows.append([result["set"], *["".join(words[line[name]] for line in found) for name in names]])
    return markdown(["set", *names], rows)


def _power(value: float) -> str:
    fraction = Fraction(value)
    return str(fraction) if max(fraction.numerator, fraction.denominator) <= 64 else f"{value:g}"


def _parameters(results: list[dict[str, Any]]) -> str:
    names = [name for name, found in results[0]["learners"].items() if found["parameters"]]
    rows = []
    for result in results:
        row = [result["set"]]
        for name in names:
            found = result["learners"][name]
            ends = found["at_the_end_of_the_grid"]
            row.append(", ".join(_power(v) + "!" * (k in ends) for k, v in found["parameters"].items()))
        rows.append(row)
    words = [f"{n} ({', '.join(results[0]['learners'][n]['parameters'])})" for n in names]
    return markdown(["set", *words], rows)


def tables(results: list[dict[str, Any]]) -> str:
    """All tables but the description of the machine."""
    baselines = [name for name in results[0]["learners"] if name not in KOILS]
    columns = [_figures(results, name, plain=False) for name in baselines]
    plain = [[result["set"] for result in results], *[_plain(results, name) for name in baselines]]
    parts = [
        "## KOIL\n",
        "AUC times 1000, mean/SD over the runs [the paper's] (a plain implementation's, coarser grids).\n",
        _koil_table(results),
        _near(results),
        "## The others\n",
        "AUC times 1000, mean/SD over the runs [the paper's].\n",
        markdown(
            ["set", *baselines],
            [
                [result["set"], *cells]
                for result, cells in zip(results, zip(*columns, strict=True), strict=True)
            ],
        ),
        "Mean and SD are the paper's to the digit, which tells that rows, folds and order are its own:\n",
        _same(results),
        "The plain implementation's, where there are any:\n",
        markdown(["set", *baselines], list(zip(*plain, strict=True))),
        "## Won, tied, lost\n",
        f"Paired t-test at {100 * LEVEL:.0f} % over the runs. They share rows and are not independent: true\n"
        "significance is less. `one of both`: won where RS++ or FIFO++ is better, which is how the paper's\n"
        "counts add up.\n",
    ]
    lines = [poker for poker in ("poker", RAW) if poker in [result["set"] for result in results]]
    for poker in lines or ["poker"]:
        parts += [f"With the line `{poker}`:\n" * bool(lines), _counts(results, poker)]
    parts += [
        "Set by set, RS++ and then FIFO++: `+` better, `=` no difference, `-` worse.\n",
        _marks(results),
        "## Parameters chosen\n",
        "`!`: at an end of the grid.\n",
        _parameters(results),
        "## Sets\n",
        _sets(results),
    ]
    return "\n".join(part for part in parts if part)


def _plain(results: list[dict[str, Any]], learner: str) -> list[str]:
    found = [PLAIN[base(result["set"])][paper_column(learner)] for result in results]
    return [NONE if figure is None else f"{figure[0]}/{figure[1]}" for figure in found]


def _sets(results: list[dict[str, Any]]) -> str:
    rows = []
    for result in results:
        seconds = sum(sum(found["cpu_seconds"].values()) for found in result["learners"].values())
        shape = [str(result[key]) for key in ("rows", "features", "positives", "tuning_rows")]
        rows.append([result["set"], *shape, str(result["runs"]), f"{seconds:.0f}", result["folds"]])
    header = ["set", "rows", "features", "positives", "tuned on", "runs", "CPU s", "folds"]
    return markdown(header, rows)
