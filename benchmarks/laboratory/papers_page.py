"""The page `docs/papers.md`, and one for each document in `docs/papers/`: claims, verdicts, evidence."""

from __future__ import annotations

import re
import shlex

from ..harness.report import fill, fill_item, markdown
from .catalogue import Document, documents
from .results import Results
from .verdict import Finding, Verdict, judge

MARKS = {
    Verdict.REPRODUCED: "**reproduced**",
    Verdict.IN_PART: "**in part**",
    Verdict.REFUTED: "**refuted**",
    Verdict.UNMEASURABLE: "**not measurable here**",
    Verdict.OPEN: "**not measured yet**",
}
NOTE = "<!-- Made by `everlearn reproduce report` from the results in benchmarks/. Do not edit. -->"
INTRODUCTION = """
everlearn is built on five documents. These pages go through them, chapter by chapter: what each table and
each figure with a result claims, and what came out when we measured it. The last one does the same with
what we claim ourselves.
"""
HOW = """
A claim is divided into checks, each a condition on recorded results: ✓ holds, ✗ does not. All hold:
reproduced. Some hold, or something could not be measured: in part. None holds: refuted. The conditions,
with their thresholds, are code in `benchmarks/laboratory/checks/`; they are ours, and another reader could
draw a line elsewhere. Most runs have fewer rows than the document, as the protocols say. Times are CPU
seconds with one thread on a machine that was not idle.
"""
PICTURE = "![Claims of each document by verdict](images/verdicts.png)\n"
OWN = "everlearn"
ORDER = ("ertekin", "wang", "emara", "mitra", "hu", OWN)
FOLDER = "papers"
COMMANDS = """
```
everlearn reproduce list                # claims and verdicts
everlearn reproduce list wang-table-1   # one of them, in full
everlearn reproduce run wang-table-1    # measure; --quick: a trial
everlearn reproduce report              # write these pages
```

The commands need a [checkout](../benchmarks/README.md) and, for most claims, a folder with the data sets,
`EVERLEARN_DATA`.
"""


def _counts(findings: dict[str, list[Finding]]) -> str:
    shown = [v for v in Verdict if any(f.verdict is v for found in findings.values() for f in found)]
    rows = []
    books = documents()
    for key, found in findings.items():
        counts = [sum(f.verdict is v for f in found) for v in shown]
        rows.append([f"[{books[key].short}]({FOLDER}/{key}.md)", *map(str, [len(found), *counts])])
    papers = [f for key, found in findings.items() if key != OWN for f in found]
    counts = [sum(f.verdict is v for f in papers) for v in shown]
    rows.insert(len(rows) - 1, ["*the five documents*", *map(str, [len(papers), *counts])])
    return markdown(("", "claims", *(v.value for v in shown)), rows)


def _in_short(findings: dict[str, list[Finding]]) -> str:
    """The claims that did not hold at all, each with a check."""
    lines = [
        fill_item(
            f"- [{documents()[key].short}]({FOLDER}/{key}.md#{slug(_place(finding))}), {_place(finding)}: "
            f"{finding.claim.claim} ✗ {finding.checks[0].text}"
        )
        for key, found in findings.items()
        for finding in found
        if finding.verdict is Verdict.REFUTED
    ]
    return "\n".join(["## What did not hold\n", *lines, ""])


def _finding(finding: Finding) -> str:
    claim = finding.claim
    lines = [f"### {_place(finding)}\n", fill(f"{MARKS[finding.verdict]} · `{claim.id}`. {claim.claim}")]
    if claim.unmeasurable:
        lines.append(fill(claim.unmeasurable + (" Measured in its place:" if finding.checks else "")))
    lines += [fill_item(f"- {'✓' if check.holds else '✗'} {check.text}") for check in finding.checks]
    if finding.checks:
        lines.append("")
    if notes := _notes(finding):
        lines.append(fill(" ".join(notes)))
    return "\n".join(lines)


def _notes(finding: Finding) -> list[str]:
    """How it was measured, what was not, and by which command."""
    claim = finding.claim
    notes = []
    if claim.document == OWN:
        notes.append(f"Claimed in: {', '.join(claim.places)}.")
    if claim.protocol:
        notes.append(f"Protocol: {claim.protocol}")
    if claim.partial:
        notes.append(f"Not measured: {claim.partial}")
    if claim.missing:
        notes.append("Missing data: " + " ".join(f"{text.rstrip('.')}." for text in claim.missing))
    commands = dict.fromkeys(
        f"`python -m benchmarks.{shlex.join([table, *arguments])}`" for table, arguments in claim.commands()
    )
    if commands:
        notes.append(f"{', '.join(commands)}, {claim.cost}.")
    return notes


def slug(heading: str) -> str:
    """The anchor that a heading gets."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def _place(finding: Finding) -> str:
    """Where a document claims it; of our own claims, which appear in several places, the claim itself."""
    if finding.claim.document == OWN:
        return finding.claim.id.removeprefix(f"{OWN}-").replace("-", " ").capitalize()
    return ", ".join(finding.claim.places)


def _chapter(finding: Finding) -> str:
    """The chapter of a thesis, from the number of the figure; none in a paper, or of ours."""
    found = re.search(r"-(\d+|[IVX]+)\.", finding.claim.id)
    return f"Chapter {found[1]}" if found else "Results"


def _overview(found: list[Finding]) -> str:
    """All places with links and verdicts."""
    rows = [
        [f"[{_place(finding)}](#{slug(_place(finding))})", MARKS[finding.verdict].strip("*")]
        for finding in found
    ]
    return markdown(("", "verdict"), rows)


def findings(results: Results) -> dict[str, list[Finding]]:
    """All findings by document, our own claims last."""
    books = documents()
    return {key: [judge(claim, results) for claim in books[key].claims] for key in ORDER}


def _front(found: dict[str, list[Finding]]) -> str:
    """The page of all documents."""
    parts = ["# The papers, and what came out\n", NOTE + "\n", fill(INTRODUCTION), PICTURE, _counts(found)]
    parts += [fill(HOW), COMMANDS.lstrip("\n"), _in_short(found)]
    pages = "\n".join(f"{FOLDER}/{key}" for key in found)
    return "\n".join([*parts, f"```{{toctree}}\n:hidden:\n\n{pages}\n```\n"])


def _page(document: Document, found: list[Finding]) -> str:
    """The page of one document."""
    title = document.title + "." if document.key == OWN else f"{document.authors}: *{document.title}*."
    counts = {v.value: sum(f.verdict is v for f in found) for v in Verdict}
    shown = ", ".join(f"{n} {name}" for name, n in counts.items() if n)
    text = f"{len(found)} claims: {shown}. How a verdict comes about: [the papers](../papers.md)."
    parts = [f"# {document.short}\n", NOTE + "\n", fill(title), fill(text), _overview(found)]
    chapter = ""
    for finding in found:
        if (here := _chapter(finding)) != chapter:
            parts.append(f"## {here}\n")
            chapter = here
        parts.append(_finding(finding))
    if document.without_result:
        by_reason: dict[str, list[str]] = {}
        for place, reason in document.without_result.items():
            by_reason.setdefault(reason, []).append(place)
        texts = [f"{', '.join(places)} ({reason})" for reason, places in by_reason.items()]
        parts += ["## Without a result of their own\n", fill("; ".join(texts) + ".")]
    return "\n".join(parts)


def papers_pages(results: Results) -> dict[str, str]:
    """All pages by their paths in `docs/`."""
    found = findings(results)
    pages = {f"{FOLDER}/{key}.md": _page(documents()[key], each) for key, each in found.items()}
    return {f"{FOLDER}.md": _front(found), **pages}
