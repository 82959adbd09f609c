"""The top of a report: one sentence, three numbers, and what has changed since the last report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..evaluate.intervals import CONFIDENCE, gain_over_majority, wilson
from . import _text
from ._questions import was_wrong
from ._sections import NAMES, headline, last_known

ReportData = Mapping[str, Any]

_LISTED = 3  # classes named in a tile
_LEVEL = f"{100 * CONFIDENCE:.4g}% interval"
_FEW = 5  # random rows of a class, fewer say little about it
_MOST = 0.9  # fraction of one class from which accuracy says little
_RARE = 3.0  # a class is found by asking if it is this many times as frequent as in random rows


@dataclass(frozen=True)
class Quality:
    """How good the learner is on rows that it did not choose."""

    matrix: NDArray[np.float64]
    names: Sequence[str]
    by_audit: bool

    @property
    def n(self) -> float:
        """The number of rows."""
        return float(self.matrix.sum())

    @property
    def correct(self) -> float:
        """The number of rows that were predicted correctly."""
        return float(np.trace(self.matrix))

    @property
    def share(self) -> str:
        """The accuracy as text."""
        return _text.percent(self.correct, self.n)

    @property
    def interval(self) -> str:
        """The confidence interval of the accuracy, as text."""
        lower, upper = (float(bound) for bound in wilson(self.correct / self.n, self.n))
        return f"{_text.percent(lower, 1)} to {_text.percent(upper, 1)}"

    @property
    def majority(self) -> tuple[str, str]:
        """The most frequent class, and the accuracy of always predicting it."""
        support = self.matrix.sum(axis=1)
        most = int(support.argmax())
        return quoted(self.names[most]), _text.percent(float(support[most]), self.n)

    def recalls(self) -> str:
        """The recall of each class as counts; of many classes, the lowest."""
        support, right = self.matrix.sum(axis=1), np.diagonal(self.matrix)
        order = np.argsort(right / np.maximum(support, 1) + 2.0 * (support == 0), kind="stable")
        parts = [
            f"{quoted(self.names[at])} "
            + (f"{_text.count(right[at])} of {_text.count(support[at])}" if support[at] else "none drawn")
            for at in order[:_LISTED].tolist()
        ]
        return ("Lowest recall: " if len(order) > _LISTED else "Recognized: ") + ", ".join(parts)


def quality(data: ReportData) -> Quality | None:
    """The quality on random rows; None if none was scored."""
    found = data.get("random_rows")
    if not found:
        return None
    matrix = np.array(found["matrix"], dtype=np.float64)
    names = [str(name) for name in _text.items(data.get("classes"))] or list(map(str, range(len(matrix))))
    return Quality(matrix, names, found.get("drawn") == "audit") if matrix.size and matrix.sum() else None


def quoted(name: Any) -> str:
    """A class name in quotation marks."""
    return f"“{_text.clipped(name, 30)}”"


def total(data: ReportData, key: str) -> float | None:
    """A total, or the last value of its curve."""
    given = _text.real((data.get("totals") or {}).get(key))
    return given if given is not None else last_known((data.get("curves") or {}).get(key))


# ----------------------------------------------------------------------------------------------- the sentence


def summary(data: ReportData) -> str:
    """The result in one sentence; "" if there is nothing to say.

    "The learner is right on 91% of random rows (95% interval 84% to 95%), better than always answering “ok”
    (70%)."
    """
    found = quality(data)
    if found is not None:
        what = "random rows" if found.by_audit else f"the last {_text.count(found.n)} labeled rows"
        name, share = found.majority
        lead = f"The learner is right on {found.share} of {what} ({_LEVEL} {found.interval})"
        compared = f"{lead}, {_compared(found)} always answering {name} ({share})."
        return compared + _rare_class(data, found) + _drifted(data)
    if not any(key in data for key in ("totals", "curves")):
        return ""
    return _without_random_rows(data)


def _compared(found: Quality) -> str:
    gain, lower, upper = gain_over_majority(found.matrix)
    if lower <= 0 <= upper:
        return "not clearly better than" if gain > 0 else "not clearly different from"
    return "better than" if lower > 0 else "worse than"


def _rare_class(data: ReportData, found: Quality) -> str:
    """What is known of a class that is too rare among random rows to be judged by them."""
    matrices = [np.array(period["matrix"], dtype=np.float64) for period in _text.items(data.get("confusion"))]
    if not matrices or matrices[0].shape != found.matrix.shape:
        return ""
    everywhere, drawn = np.sum(matrices, axis=0), found.matrix.sum(axis=1)
    support = everywhere.sum(axis=1)
    rare = [at for at in range(len(drawn)) if drawn[at] < _FEW <= support[at]]
    if not rare:
        return ""
    at = min(rare, key=lambda place: float(drawn[place]))
    few = "No random row is" if not drawn[at] else f"Only {_text.count(drawn[at])} random rows are"
    few = few.replace("Only 1 random rows are", "Only 1 random row is")
    return (
        f" {few} {quoted(found.names[at])}; among all scored rows it recognized "
        f"{_text.count(everywhere[at, at])} of {_text.count(support[at])}."
    )


def _drifted(data: ReportData) -> str:
    alarms = len(_text.items(data.get("drift")))
    return f" Concept drift was detected {'once' if alarms == 1 else f'{alarms:,} times'}." if alarms else ""


def _without_random_rows(data: ReportData) -> str:
    rows, labels, asked = (total(data, key) for key in ("rows", "labels", "asked"))
    of_rows = f" of {_text.plural(rows, 'row')}" if rows is not None else ""
    if lead := headline(data):
        measure, value = lead
        name = NAMES[measure] if measure in ("auc", "mcc") else NAMES[measure].lower()
        window = _text.real(data.get("window"))
        over = f" over the last {_text.plural(window, 'scored row')}" if window else ""
        chosen = ", most of them chosen because they are hard: no random row was scored yet" if asked else ""
        counts = f" {_text.plural(labels, 'label')}{of_rows}." if labels is not None else ""
        return f"{name[0].upper()}{name[1:]} {_text.score(value, 2)}{over}{chosen}.{counts}{_drifted(data)}"
    if labels:
        return (
            f"{_text.plural(labels, 'label')}{of_rows} learned, but no prediction is scored yet: a row "
            "counts if it was predicted before its label was known, so the next labels will."
        )
    waiting = _text.real((data.get("totals") or {}).get("open_questions"))
    if waiting:
        opened = f"{_text.plural(waiting, 'question')} {'is' if waiting == 1 else 'are'} open"
        return f"No labels yet: {opened}. Answer them with `everlearn ask`."
    return f"{_text.plural(rows, 'row')}, no labels yet." if rows is not None else ""


# ---------------------------------------------------------------------------------------------- three numbers


def tiles(data: ReportData) -> str:
    """How good on random rows, what asking gained, what is left of the budget."""
    shown = [part for part in (_quality_tile(data), _gain_tile(data), _budget_tile(data)) if part]
    inside = "".join(
        f'<div class="tile"><dt>{_text.escaped(name)}</dt><dd>{_text.escaped(value)}</dd>'
        + "".join(f'<dd class="detail">{_text.escaped(detail)}</dd>' for detail in details if detail)
        + "</div>"
        for name, value, *details in shown
    )
    return f'<dl class="tiles">{inside}</dl>\n' if inside else ""


def _quality_tile(data: ReportData) -> tuple[str, ...] | None:
    found = quality(data)
    if found is not None:
        rows = _text.plural(found.n, "row")
        title = "Right on random rows" if found.by_audit else "Right on labeled rows"
        how = f"{rows} asked at random" if found.by_audit else f"the last {rows}, predicted before learned"
        return title, found.share, f"{_LEVEL} {found.interval}, from {how}", found.recalls()
    if lead := headline(data):
        window = _text.real(data.get("window"))
        over = f"over the last {_text.plural(window, 'scored row')}" if window else "last value"
        chosen = "rows that the learner chose to ask about, which are harder than others"
        return NAMES[lead[0]], _text.score(lead[1]), over, chosen if total(data, "asked") else ""
    return None


def _gain_tile(data: ReportData) -> tuple[str, ...] | None:
    found = quality(data)
    if found is None:
        return None
    gain, lower, upper = gain_over_majority(found.matrix)
    digits = 0 if found.n < 500 else 1
    name, share = found.majority
    title = "What asking gained" if found.by_audit else "What learning gained"
    value = f"{_signed(gain, digits)} points"
    against = f"of accuracy over always answering {name} ({share} of the same rows)"
    span = f"{_LEVEL} {_signed(lower, digits)} to {_signed(upper, digits)}"
    return title, value, against, span, _found_by_asking(data, found)


def _signed(part: float, digits: int) -> str:
    text = f"{100 * part:+.{digits}f}".replace("-", "−")  # noqa: RUF001
    return text[1:] if not float(text[1:]) else text


def _found_by_asking(data: ReportData, found: Quality) -> str:
    """How the rows that were chosen differ from random ones."""
    chosen = [q for q in _text.items(data.get("questions")) if q.get("kind") == "strategy"]
    compared = [wrong for q in chosen if (wrong := was_wrong(q)) is not None]
    if not found.by_audit or not compared:
        return _little_told(found)
    text = _little_told(found) + (
        f"It was wrong on {_text.percent(sum(compared), len(compared))} of the rows it chose to ask about, "
        f"and on {_text.percent(found.n - found.correct, found.n)} of random rows."
    )
    labels = [str(q["label"]) for q in chosen if was_wrong(q) is not None]
    support = found.matrix.sum(axis=1)
    rare = int(support.argmin())
    asked, drawn = labels.count(found.names[rare]) / len(labels), float(support[rare]) / found.n
    if asked > _RARE * drawn:
        text += (
            f" {_text.percent(asked, 1)} of the chosen rows are {quoted(found.names[rare])}, "
            f"{_text.percent(drawn, 1)} of random rows."
        )
    return text


def _little_told(found: Quality) -> str:
    """A remark if nearly all rows are of one class."""
    support = found.matrix.sum(axis=1)
    if float(support.max()) < _MOST * found.n:
        return ""
    return f"Nearly all rows are {found.majority[0]}: look at the recall of the other classes instead. "


def _budget_tile(data: ReportData) -> tuple[str, ...] | None:
    totals = data.get("totals") or {}
    asked, labels = total(data, "asked"), total(data, "labels")
    budget, waiting = (_text.real(totals.get(key)) for key in ("budget", "open_questions"))
    if asked is None and budget is None:
        return None if labels is None else ("Labels", _text.count(labels))
    asked = asked or 0
    opened = f"{_text.count(asked)} asked" + ("" if waiting is None else f", {_text.count(waiting)} open")
    if budget is not None:
        left = max(0.0, budget - asked)
        return "Questions left", _text.count(left), f"of a budget of {_text.count(budget)}; {opened}"
    if not asked:
        return "Labels", _text.count(labels), "came with the rows; no question was asked"
    return "Questions asked", _text.count(asked), f"{_text.count(waiting or 0)} open; no budget was set"


# -------------------------------------------------------------------------------------- since the last report

_COUNTED = (
    ("rows", "row"),
    ("labels", "label"),
    ("asked", "question"),
    ("drift_alarms", "drift alarm"),
)


def key_figures(data: ReportData) -> dict[str, Any]:
    """The numbers of a report by which the next one shows what has changed.

    Parameters
    ----------
    data : ReportData
        The content of the report.

    Returns
    -------
    dict
        Plain values, for the entry "previous" of the data of the next report.
    """
    figures: dict[str, Any] = {key: data.get(key) for key in ("store", "created")}
    figures |= {key: total(data, key) for key, _ in _COUNTED}
    found = quality(data)
    if found is not None:
        figures |= {"correct": found.correct, "scored": found.n, "by_audit": found.by_audit}
    return figures


def changes(data: ReportData) -> str:
    """What has changed since the previous report, as a sentence; "" without a previous one."""
    before = data.get("previous")
    if not isinstance(before, Mapping):
        return ""
    now, parts = key_figures(data), []
    for key, noun in _COUNTED:
        old, new = _text.real(before.get(key)), now[key]
        if old is not None and new is not None and new != old:
            more = "more" if new > old else "fewer"
            counted = _text.count(abs(new - old))
            parts.append(f"{counted} {more} {noun if abs(new - old) == 1 else noun + 's'}")
    old_n, old_right = _text.real(before.get("scored")), _text.real(before.get("correct"))
    if "scored" in now and old_n and old_right is not None and before.get("by_audit") == now["by_audit"]:
        old_share, share = _text.percent(old_right, old_n), _text.percent(now["correct"], now["scored"])
        if (old_right, old_n) != (now["correct"], now["scored"]):
            what = "random rows" if now["by_audit"] else "labeled rows"
            counts = f"{_text.count(old_n)} and {_text.count(now['scored'])} rows"
            stayed = f"still right on {share} of {what}"
            moved = f"right on {share} of {what}, {old_share} before ({counts})"
            parts.append(stayed if old_share == share else moved)
    when = _text.clipped(before.get("created") or "", 40).replace("T", " ").replace("+00:00", " UTC")
    since = f"Since the last report{f' ({when})' if when else ''}: "
    return since + ("; ".join(parts) if parts else "nothing has changed") + "."
