"""The page: one HTML file that holds its style, its charts and its numbers, and asks nothing of a network.

All text from data is escaped. As a second lock, the page forbids itself everything but its own style sheet
and its own script, both named by their hashes, so that nothing that came in with the data could run or load.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping
from typing import Any, BinaryIO

from .. import _atomic
from . import _text
from ._matrices import confusion_section
from ._parts import cards, section
from ._questions import question_cards
from ._sections import (
    NAMES,
    drift_marks,
    drift_section,
    feature_section,
    headline,
    label_chart,
    last_known,
    resource_section,
    score_section,
    whole_time,
)
from ._style import SCRIPT, STYLE
from .data import ReportData, check

NOTES = 50


def write_report(data: ReportData, path: str | os.PathLike[str]) -> None:
    """Write the report of a data to a file, in one step: a report that was there is replaced or left whole.

    Parameters
    ----------
    data : ReportData
        What to tell; a mapping with at least a title.
    path : str or path-like
        Where to write the page, for example "report.html". The store of the data, its side files and other
        SQLite databases are never overwritten.

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
    page, name, store = render(data).encode("utf-8"), os.fspath(path), data.get("store")
    for other, role in _atomic.files_of_store(store if isinstance(store, str) else None):
        if _atomic.same_file(name, other):
            raise ValueError(f"path={name!r} is {role} of this data: choose another file.")

    def put(file: BinaryIO) -> None:
        file.write(page)

    _atomic.write(name, put)


def render(data: ReportData) -> str:
    """The report of a data as the text of an HTML page; the same data gives the same page.

    Parameters
    ----------
    data : ReportData
        What to tell; a mapping with at least a title.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> from everlearn.report import render
    >>> curves = {"rows": [100, 200, 300], "accuracy": [0.71, None, 0.93]}
    >>> page = render({"title": "Three batches", "curves": curves})
    >>> "accuracy 0.93" in page
    True
    """
    check(data)
    time, marks = whole_time(data), drift_marks(data)
    questions = list(_text.items(data.get("questions")))
    asked = cards(label_chart(data, time, marks), *question_cards(questions, time))
    sections = [
        ("scores", "How well it predicts", score_section(data, time, marks)),
        ("questions", "What it asked", asked),
        ("confusion", "Who was taken for whom", confusion_section(data)),
        ("resources", "What it costs", resource_section(data, time, marks)),
        ("drift", "DriftAlarm alarms", drift_section(data)),
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
        f'<meta name="color-scheme" content="light dark">\n<title>{title}</title>\n'
        f"<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<header>\n<h1>{title}</h1>\n{_summary(data)}{_about(data)}{_notes(data)}{_tiles(data)}"
        f"{_contents(present)}</header>\n<main>\n{body}</main>\n"
        "<footer>Made by everlearn. The page holds everything it shows and loads nothing.</footer>\n"
        f"<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def summary(data: Mapping[str, Any]) -> str:
    """The data in a sentence, computed from its numbers; empty if there is none.

    "512 labels asked of 100,000 rows; g-means 0.91 over the last 1,000 labeled rows; majority 0.00; 2 drift
    alarms."
    """
    totals, curves = data.get("totals") or {}, data.get("curves") or {}

    def total(key: str) -> float | None:
        told = _text.real(totals.get(key))
        return told if told is not None else last_known(curves.get(key))

    parts = []
    rows, asked, labels = total("rows"), total("asked"), total("labels")
    of_rows = f" of {_text.plural(rows, 'row')}" if rows is not None else ""
    if asked is not None:
        parts.append(f"{_text.plural(asked, 'label')} asked{of_rows}")
    elif labels is not None:
        parts.append(f"{_text.plural(labels, 'label')} known{of_rows}")
    elif rows is not None:
        parts.append(_text.plural(rows, "row"))
    if lead := headline(data):
        measure, value = lead
        window = _text.real(data.get("window"))
        over = f" over the last {_text.count(window)} labeled rows" if window else ""
        name = NAMES[measure] if measure == "mcc" else NAMES[measure].lower().replace("roc", "ROC")
        parts.append(f"{name} {_text.share(value, 2)}{over}")
        if (baseline := last_known(curves.get(f"majority_{measure}"))) is not None:
            parts.append(f"majority {_text.share(baseline, 2)}")
    alarms = _text.real(totals.get("drift_alarms"))
    if alarms is None and data.get("drift") is not None:
        alarms = float(len(data["drift"]))
    if alarms is not None:
        parts.append(_text.plural(alarms, "drift alarm") if alarms else "no drift alarm")
    return "; ".join(parts) + "." if parts else ""


def _summary(data: ReportData) -> str:
    text = summary(data)
    return f'<p class="summary">{_text.escaped(text)}</p>\n' if text else ""


def _about(data: ReportData) -> str:
    """Who learned from what, and where it is kept."""
    rows = []
    for key, name in (
        ("learner", "Learner"),
        ("source", "Source"),
        ("store", "Store"),
        ("created", "Created"),
    ):
        if _text.known(data.get(key)) and str(data.get(key)):
            text = _text.escaped(_text.clipped(data.get(key), 600))
            rows.append((name, f"<code>{text}</code>" if key == "learner" else text))
    classes = list(_text.items(data.get("classes")))
    if classes:
        shown = ", ".join(_text.clipped(name, 30) for name in classes[:20])
        more = f" and {len(classes) - 20:,} more" if len(classes) > 20 else ""
        rows.insert(
            -1 if rows and rows[-1][0] == "Created" else len(rows), ("Classes", _text.escaped(shown + more))
        )
    if not rows:
        return ""
    return f'<dl class="about">{"".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows)}</dl>\n'


def _notes(data: ReportData) -> str:
    notes = [str(note) for note in _text.items(data.get("notes"))]
    if not notes:
        return ""
    shown = "".join(f"<li>{_text.escaped(_text.clipped(note, 400))}</li>" for note in notes[:NOTES])
    more = f"<li>and {len(notes) - NOTES:,} more</li>" if len(notes) > NOTES else ""
    title = "<strong>Cautions</strong>"
    return f'<aside class="notes" aria-label="Cautions">{title}<ul>{shown}{more}</ul></aside>\n'


def _tiles(data: ReportData) -> str:
    """The totals, a tile each; a share or a limit in small print below."""
    totals: Mapping[str, Any] = data.get("totals") or {}
    numbers = {key: _text.real(value) for key, value in totals.items()}
    tiles = []
    if lead := headline(data):
        tiles.append((NAMES[lead[0]], _text.share(lead[1]), "last value"))
    rows = numbers.get("rows")
    details = {
        "labels": f"{_text.percent(numbers.get('labels') or 0, rows)} of the rows" if rows else "",
        "asked": f"of {_text.count(totals['budget'])} allowed" if numbers.get("budget") is not None else "",
        "support_vectors": f"{_text.percent(numbers.get('support_vectors') or 0, rows)} of the rows"
        if rows
        else "",
    }
    for key, name, shown in (
        ("rows", "Rows", _text.count),
        ("labels", "Labels", _text.count),
        ("asked", "Questions asked", _text.count),
        ("open_questions", "Still open", _text.count),
        ("support_vectors", "Support vectors", _text.count),
        ("memory_mb", "Memory", _text.memory),
        ("seconds", "Time", _text.duration),
        ("rows_per_second", "Rows per second", _text.count),
        ("drift_alarms", "DriftAlarm alarms", _text.count),
        ("quarantined", "In quarantine", _text.count),
    ):
        if numbers.get(key) is not None:
            tiles.append((name, shown(totals[key]), details.get(key, "")))
    if not tiles:
        return ""
    inside = "".join(
        f'<div class="tile"><dt>{name}</dt><dd>{value}</dd>'
        + (f'<dd class="detail">{_text.escaped(detail)}</dd>' if detail else "")
        + "</div>"
        for name, value, detail in tiles
    )
    return f'<dl class="tiles">{inside}</dl>\n'


def _contents(sections: list[tuple[str, str, str]]) -> str:
    """Links to the sections, if there is more than one."""
    links = "".join(f'<li><a href="#{name}">{heading}</a></li>' for name, heading, _ in sections)
    return f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n' if len(sections) > 1 else ""
