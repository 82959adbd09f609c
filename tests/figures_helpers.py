"""Numbers on a page, and whether a recorded result has them.

A table or paragraph is marked by a comment before it: ``<!-- figures: noise-table; others: 10 100 -->``.
Its numbers must then be in the report (or, if there is none, in the JSON file) of that name in
benchmarks/results; those after "others" are no results, or differences of two. A mark ``<!-- figures: not
recorded; COMMAND -->``, on one line, is for figures that are in no recorded file.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
MARK = re.compile(r"<!-- figures: (?P<names>[^;>]+?)(?:; (?P<rest>[^>]+?))? -->\n")
GENERATED = re.compile(r"<!-- table: [\w-]+ -->\n.*?<!-- end -->", flags=re.DOTALL)
MADE = "<!-- Made by `everlearn reproduce report`"  # a page that is made of results as a whole
FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2$", flags=re.DOTALL | re.MULTILINE)
NUMBER = re.compile(
    r"(?<![\w.,-])[+\-\N{MINUS SIGN}]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d*\.?\d+)(?:e[+-]?\d+)?(?![\w]|-\w)"
)


@dataclass(frozen=True)
class Figure:
    """A number as it is written, and by how much rounding may have changed it."""

    text: str
    value: float
    tolerance: float


def figure(text):
    """A number of a page: its value, and half a unit of its last digit."""
    plain = text.replace(",", "").replace("\N{MINUS SIGN}", "-")
    mantissa, _, exponent = plain.partition("e")
    decimals = len(mantissa.partition(".")[2])
    unit = 10.0 ** (int(exponent or 0) - decimals)
    if not decimals and not exponent and abs(int(mantissa)) >= 1000:  # 510,000 has two digits that count
        unit = 10.0 ** (len(mantissa) - len(mantissa.rstrip("0")))
    return Figure(text, float(plain), 0.5001 * unit)


def figures_in(text):
    """The numbers of a text; not those in code, in links, in the header and first column of a table."""
    text = re.sub(r"`[^`]*`|\]\([^)]*\)|<!--.*?-->", " ", text)
    if text.lstrip().startswith("|"):
        rows = text.strip().splitlines()[2:]
        text = "\n".join(" | ".join(row.strip().strip("|").split("|")[1:]) for row in rows)
    return [figure(match[0]) for match in NUMBER.finditer(text)]


def numbers_of_results(name):
    """All numbers that a recorded run has: those of its report, or of its JSON file if it has no report."""
    report = RESULTS / f"{name}.md"
    if report.exists():
        found = NUMBER.findall(report.read_text(encoding="utf-8"))
        return [float(number.replace(",", "").replace("\N{MINUS SIGN}", "-")) for number in found]
    return list(_leaves(json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))))


def _leaves(value):
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def marked_blocks(text):
    """Each mark of a page: the names of results, what follows the semicolon, and the table or paragraph."""
    for match in MARK.finditer(text):
        yield match["names"].split(", "), match["rest"] or "", text[match.end() :].split("\n\n")[0]


def unknown_figures(text):
    """Numbers of marked blocks that no named result has, with the name."""
    faults = []
    for names, rest, block in marked_blocks(text):
        if names == ["not recorded"]:
            faults += [] if rest else ["figures are not recorded, and nothing says how they were measured"]
            continue
        known = [number for name in names for number in numbers_of_results(name)]
        others = set(rest.removeprefix("others:").split())
        for one in figures_in(block):
            near = any(abs(abs(value) - abs(one.value)) <= one.tolerance for value in known)
            if not near and one.text not in others:
                faults.append(f"{one.text} is not in {', '.join(names)}")
    return faults


def is_result_table(table):
    """Whether a third of the cells of a Markdown table, without header and first column, are numbers."""
    rows = [row.strip().strip("|").split("|")[1:] for row in table.strip().splitlines()[2:]]
    cells = [re.sub(r"\(.*?\)|[*%<>~ ]", "", cell) for row in rows for cell in row]
    full = [cell for cell in cells if cell]
    return len(full) >= 4 and sum(bool(NUMBER.fullmatch(cell)) for cell in full) * 3 >= len(full)


def unmarked_tables(text):
    """The first lines of tables of results that have no mark."""
    if MADE in text:
        return []
    text = FENCE.sub("", GENERATED.sub("", text))
    tables = re.finditer(r"(?:^\|.*\n?)+", text, flags=re.MULTILINE)
    bare = [match for match in tables if is_result_table(match[0])]
    return [
        match[0].splitlines()[0]
        for match in bare
        if not re.search(MARK.pattern + r"\Z", text[: match.start()])
    ]
