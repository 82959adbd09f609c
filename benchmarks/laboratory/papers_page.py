"""The page `docs/papers.md`: every claim, its verdict and the evidence."""

from __future__ import annotations

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
everlearn is built on five documents. This page goes through them, chapter by chapter: what each table and
each figure with a result claims, and what came out when we measured it. The last section does the same with
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
ORDER = ("ertekin", "wang", "emara", "mitra", "hu", "everlearn")
COMMANDS = """
```
everlearn reproduce list                # claims and verdicts
everlearn reproduce list wang-table-1   # one of them, in full
everlearn reproduce run wang-table-1    # measure; --quick: a trial
everlearn reproduce report              # write this page
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
        rows.append([books[key].short, *map(str, [len(found), *counts])])
    papers = [f for key, found in findings.items() if key != "everlearn" for f in found]
    counts = [sum(f.verdict is v for f in papers) for v in shown]
    rows.insert(len(rows) - 1, ["*the five documents*", *map(str, [len(papers), *counts])])
    return markdown(("", "claims", *(v.value for v in shown)), rows)


def _in_short(findings: dict[str, list[Finding]]) -> str:
    """The claims that did not hold at all, each with a check."""
    lines = [
        fill_item(
            f"- {documents()[key].short}, {', '.join(finding.claim.places)}: {finding.claim.claim} ✗ "
            f"{finding.checks[0].text}"
        )
        for key, found in findings.items()
        for finding in found
        if finding.verdict is Verdict.REFUTED
    ]
    return "\n".join(["## What did not hold\n", *lines, ""])


def _finding(finding: Finding) -> str:
    claim = finding.claim
    places = ", ".join(claim.places)
    lines = [f"### {places}\n", fill(f"{MARKS[finding.verdict]} · `{claim.id}`. {claim.claim}")]
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


def _section(document: Document, found: list[Finding]) -> str:
    title = fill(
        f"{document.authors}: *{document.title}*." if document.key != "everlearn" else document.title + "."
    )
    parts = [f"## {document.short}\n", title]
    parts += [_finding(finding) for finding in found]
    if document.without_result:
        by_reason: dict[str, list[str]] = {}
        for place, reason in document.without_result.items():
            by_reason.setdefault(reason, []).append(place)
        texts = [f"{', '.join(places)} ({reason})" for reason, places in by_reason.items()]
        parts.append(fill("Without a result of their own: " + "; ".join(texts) + "."))
    return "\n".join(parts)


def findings(results: Results) -> dict[str, list[Finding]]:
    """All findings by document, our own claims last."""
    books = documents()
    return {key: [judge(claim, results) for claim in books[key].claims] for key in ORDER}


def papers_page(results: Results) -> str:
    """The whole page."""
    found = findings(results)
    parts = ["# The papers, and what came out\n", NOTE + "\n", fill(INTRODUCTION), PICTURE, _counts(found)]
    parts += [fill(HOW), COMMANDS.lstrip("\n"), _in_short(found)]
    parts += [_section(documents()[key], each) for key, each in found.items()]
    return "\n".join(parts)
