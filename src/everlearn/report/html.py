"""The page: one HTML file that contains its style sheet, charts and numbers, and loads nothing.

All text from data is escaped. As a second line of defense, the content security policy of the page allows
only its own style sheet and script, by their hashes: nothing in the data can run or load anything.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import html
import json
import os
import re
from collections.abc import Mapping
from typing import Any, BinaryIO

from .. import _atomic
from . import _text
from ._influence import influence_section
from ._lead import changes, key_figures, summary, tiles
from ._matrices import confusion_section
from ._parts import cards, fold_out, section
from ._questions import question_cards
from ._sections import (
    drift_marks,
    drift_section,
    feature_section,
    label_chart,
    resource_section,
    row_range,
    score_section,
)
from ._style import SCRIPT, STYLE
from .data import ReportData, check

NOTES = 50

_FIGURES = "everlearn-figures"  # name of the element that holds the key figures for the next report
_HEAD_BYTES = 1 << 16  # of a page, in which it is found


def write_report(data: ReportData, path: str | os.PathLike[str]) -> None:
    """Write a report to an HTML file, atomically: an existing report is replaced only if all goes well.

    If the file is an earlier report of the same store, the new one says what has changed since.

    Parameters
    ----------
    data : ReportData
        The content; a mapping with at least a title.
    path : str or path-like
        The file, for example "report.html". The store of the data, its side files and other SQLite databases
        are never overwritten.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from everlearn.report import write_report
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = pathlib.Path(folder, "report.html")
    ...     write_report({"title": "Fraud", "totals": {"rows": 1000, "labels": 12}}, page)
    ...     page.read_text(encoding="utf-8").startswith("<!doctype html>")
    True
    """
    check(data)
    name, store = os.fspath(path), data.get("store")
    if data.get("previous") is None:
        data = {**data, "previous": _previous(name, store)}
    page = render(data).encode("utf-8")
    for other, role in _atomic.files_of_store(store if isinstance(store, str) else None):
        if _atomic.same_file(name, other):
            raise ValueError(f"path={name!r} is {role} of this report: choose another file.")

    def put(file: BinaryIO) -> None:
        file.write(page)

    _atomic.write(name, put)


def _previous(path: str, store: Any) -> dict[str, Any] | None:
    """The key figures of the report in a file; None if it is not a report of this store."""
    with contextlib.suppress(OSError, ValueError):
        with open(path, "rb") as file:
            head = file.read(_HEAD_BYTES).decode("utf-8", "replace")
        found = re.search(f'<meta name="{_FIGURES}" content="([^"]*)">', head)
        figures = json.loads(html.unescape(found[1])) if found else None
        if isinstance(figures, dict) and figures.get("store") == store:
            return figures
    return None


def render(data: ReportData) -> str:
    """Render a report as HTML; the same data always give the same page.

    Parameters
    ----------
    data : ReportData
        The content; a mapping with at least a title.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> from everlearn.report import render
    >>> curves = {"rows": [100, 200, 300], "accuracy": [0.71, None, 0.93]}
    >>> page = render({"title": "Three batches", "curves": curves})
    >>> "Accuracy 0.93" in page
    True
    """
    check(data)
    time, marks = row_range(data), drift_marks(data)
    questions = list(_text.items(data.get("questions")))
    asked = cards(label_chart(data, time, marks), *question_cards(questions, time))
    sections = [
        ("confusion", "Classes", confusion_section(data)),
        ("scores", "Scores over time", score_section(data, time, marks)),
        ("influence", "What drives the predictions", influence_section(data)),
        ("questions", "Questions", asked),
        ("drift", "Concept drift", drift_section(data)),
        ("resources", "Resources", resource_section(data, time, marks)),
        ("features", "Features", feature_section(data)),
    ]
    present = [part for part in sections if part[2]]
    body = "".join(section(*part) for part in present)
    title = _text.escaped(data["title"])
    policy = f"default-src 'none'; style-src '{_hash(STYLE)}'; script-src '{_hash(SCRIPT)}'; base-uri 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n{_figures(data)}<title>{title}</title>\n'
        f"<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<header>\n<h1>{title}</h1>\n{_summary(data)}{tiles(data)}{_notes(data)}{_about(data)}"
        f"{_contents(present)}</header>\n<main>\n{body}</main>\n"
        "<footer>Generated by everlearn. This page is self-contained.</footer>\n"
        f"<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _figures(data: ReportData) -> str:
    """The key figures for the next report, if the store is known."""
    if not isinstance(data.get("store"), str):
        return ""
    text = json.dumps(key_figures(data), ensure_ascii=True, default=str)
    return f'<meta name="{_FIGURES}" content="{_text.escaped(text)}">\n'


def _summary(data: ReportData) -> str:
    parts = [("summary", summary(data)), ("changes", changes(data))]
    return "".join(f'<p class="{kind}">{_text.escaped(text)}</p>\n' for kind, text in parts if text)


def _about(data: ReportData) -> str:
    """A fold-out with all totals, the learner, source, store, classes and date."""
    totals: Mapping[str, Any] = data.get("totals") or {}
    rows = [
        (name, shown(totals[key])) for key, name, shown in _TOTALS if _text.real(totals.get(key)) is not None
    ]
    classes = list(_text.items(data.get("classes")))
    if classes:
        shown = ", ".join(_text.clipped(name, 30) for name in classes[:20])
        rows.append(("Classes", shown + (f" and {len(classes) - 20:,} more" if len(classes) > 20 else "")))
    rows += [
        (key.capitalize(), _text.clipped(data.get(key), 600))
        for key in ("learner", "source", "store", "created")
        if _text.is_known(data.get(key)) and str(data.get(key))
    ]
    inside = "".join(f"<dt>{name}</dt><dd>{_text.escaped(text)}</dd>" for name, text in rows)
    return fold_out("All numbers and settings", f'<dl class="about">{inside}</dl>') if rows else ""


_TOTALS = (
    ("rows", "Rows", _text.count),
    ("labels", "Labels", _text.count),
    ("asked", "Questions", _text.count),
    ("open_questions", "Open questions", _text.count),
    ("budget", "Budget", _text.count),
    ("support_vectors", "Support vectors", _text.count),
    ("drift_alarms", "Drift alarms", _text.count),
    ("quarantined", "Bad rows", _text.count),
    ("seconds", "Time", _text.duration),
    ("rows_per_second", "Rows per second", _text.count),
    ("memory_mb", "Memory", _text.memory),
)


def _notes(data: ReportData) -> str:
    notes = [str(note) for note in _text.items(data.get("notes"))]
    if not notes:
        return ""
    shown = "".join(f"<li>{_text.escaped(_text.clipped(note, 400))}</li>" for note in notes[:NOTES])
    more = f"<li>and {len(notes) - NOTES:,} more</li>" if len(notes) > NOTES else ""
    title = "<strong>Notes</strong>"
    return f'<aside class="notes" aria-label="Notes">{title}<ul>{shown}{more}</ul></aside>\n'


def _contents(sections: list[tuple[str, str, str]]) -> str:
    """Links to the sections, if there are several."""
    links = "".join(f'<li><a href="#{name}">{heading}</a></li>' for name, heading, _ in sections)
    return f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n' if len(sections) > 1 else ""
