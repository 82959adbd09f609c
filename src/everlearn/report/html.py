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
from .story import Story, check

NOTES = 50


def write_report(story: Story, path: str | os.PathLike[str]) -> None:
    """Write the report of a story to a file, in one step: a report that was there is replaced or left whole.

    Parameters
    ----------
    story : Story
        What to tell; a mapping with at least a title.
    path : str or path-like
        Where to write the page, for example "report.html". The store of the story, its side files and other
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
    page, name, store = render(story).encode("utf-8"), os.fspath(path), story.get("store")
    for other, role in _atomic.files_of_store(store if isinstance(store, str) else None):
        if _atomic.same_file(name, other):
            raise ValueError(f"path={name!r} is {role} of this story: choose another file.")

    def put(file: BinaryIO) -> None:
        file.write(page)

    _atomic.write(name, put)


def render(story: Story) -> str:
    """The report of a story as the text of an HTML page; the same story gives the same page.

    Parameters
    ----------
    story : Story
        What to tell; a mapping with at least a title.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> from everlearn.report import render
    >>> steps = {"rows": [100, 200, 300], "accuracy": [0.71, None, 0.93]}
    >>> page = render({"title": "Three batches", "steps": steps})
    >>> "accuracy 0.93" in page
    True
    """
    check(story)
    time, marks = whole_time(story), drift_marks(story)
    questions = list(_text.items(story.get("questions")))
    asked = cards(label_chart(story, time, marks), *question_cards(questions, time))
    sections = [
        ("scores", "How well it predicts", score_section(story, time, marks)),
        ("questions", "What it asked", asked),
        ("confusion", "Who was taken for whom", confusion_section(story)),
        ("resources", "What it costs", resource_section(story, time, marks)),
        ("drift", "Drift alarms", drift_section(story)),
        ("features", "Features", feature_section(story)),
    ]
    present = [part for part in sections if part[2]]
    body = "".join(section(*part) for part in present)
    title = _text.escaped(story["title"])
    policy = f"default-src 'none'; style-src '{_hash(STYLE)}'; script-src '{_hash(SCRIPT)}'; base-uri 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{title}</title>\n'
        f"<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<header>\n<h1>{title}</h1>\n{_summary(story)}{_about(story)}{_notes(story)}{_tiles(story)}"
        f"{_contents(present)}</header>\n<main>\n{body}</main>\n"
        "<footer>Made by everlearn. The page holds everything it shows and loads nothing.</footer>\n"
        f"<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def summary(story: Mapping[str, Any]) -> str:
    """The story in a sentence, computed from its numbers; empty if there is none.

    "512 labels asked of 100,000 rows; g-means 0.91 over the last 1,000 labelled rows; majority 0.00; 2 drift
    alarms."
    """
    totals, steps = story.get("totals") or {}, story.get("steps") or {}

    def total(key: str) -> float | None:
        told = _text.real(totals.get(key))
        return told if told is not None else last_known(steps.get(key))

    parts = []
    rows, asked, labels = total("rows"), total("asked"), total("labels")
    of_rows = f" of {_text.plural(rows, 'row')}" if rows is not None else ""
    if asked is not None:
        parts.append(f"{_text.plural(asked, 'label')} asked{of_rows}")
    elif labels is not None:
        parts.append(f"{_text.plural(labels, 'label')} known{of_rows}")
    elif rows is not None:
        parts.append(_text.plural(rows, "row"))
    if lead := headline(story):
        measure, value = lead
        window = _text.real(story.get("window"))
        over = f" over the last {_text.count(window)} labelled rows" if window else ""
        name = NAMES[measure] if measure == "mcc" else NAMES[measure].lower().replace("roc", "ROC")
        parts.append(f"{name} {_text.share(value, 2)}{over}")
        if (baseline := last_known(steps.get(f"majority_{measure}"))) is not None:
            parts.append(f"majority {_text.share(baseline, 2)}")
    alarms = _text.real(totals.get("drift_alarms"))
    if alarms is None and story.get("drift") is not None:
        alarms = float(len(story["drift"]))
    if alarms is not None:
        parts.append(_text.plural(alarms, "drift alarm") if alarms else "no drift alarm")
    return "; ".join(parts) + "." if parts else ""


def _summary(story: Story) -> str:
    text = summary(story)
    return f'<p class="summary">{_text.escaped(text)}</p>\n' if text else ""


def _about(story: Story) -> str:
    """Who learnt from what, and where it is kept."""
    rows = []
    for key, name in (
        ("learner", "Learner"),
        ("source", "Source"),
        ("store", "Store"),
        ("created", "Created"),
    ):
        if _text.known(story.get(key)) and str(story.get(key)):
            text = _text.escaped(_text.clipped(story.get(key), 600))
            rows.append((name, f"<code>{text}</code>" if key == "learner" else text))
    classes = list(_text.items(story.get("classes")))
    if classes:
        shown = ", ".join(_text.clipped(name, 30) for name in classes[:20])
        more = f" and {len(classes) - 20:,} more" if len(classes) > 20 else ""
        rows.insert(
            -1 if rows and rows[-1][0] == "Created" else len(rows), ("Classes", _text.escaped(shown + more))
        )
    if not rows:
        return ""
    return f'<dl class="about">{"".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows)}</dl>\n'


def _notes(story: Story) -> str:
    notes = [str(note) for note in _text.items(story.get("notes"))]
    if not notes:
        return ""
    shown = "".join(f"<li>{_text.escaped(_text.clipped(note, 400))}</li>" for note in notes[:NOTES])
    more = f"<li>and {len(notes) - NOTES:,} more</li>" if len(notes) > NOTES else ""
    title = "<strong>Cautions</strong>"
    return f'<aside class="notes" aria-label="Cautions">{title}<ul>{shown}{more}</ul></aside>\n'


def _tiles(story: Story) -> str:
    """The totals, a tile each; a share or a limit in small print below."""
    totals: Mapping[str, Any] = story.get("totals") or {}
    numbers = {key: _text.real(value) for key, value in totals.items()}
    tiles = []
    if lead := headline(story):
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
        ("drift_alarms", "Drift alarms", _text.count),
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
