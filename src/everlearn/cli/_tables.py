"""What is printed: the schema, the status of a store."""

import json
import math
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from .._visible import json_visible
from ..read import Schema
from ._bench import Timing, self_test
from ._console import show, styled
from ._sources import stored_run
from ._words import count, plural, rate, share, some

_MOST_FIELDS = 40
_MEASURES = {"accuracy": "accuracy", "g_means": "g-means", "mcc": "mcc", "auc": "auc"}


def schema_table(schema: Schema, console: Console) -> None:
    """The fields of a schema; what was guessed is marked."""
    rows = _schema_lines(schema)
    guessed = {field.name for field in schema.fields if field.inferred}
    table = _table("field", "kind", ">columns", "note")
    for name, kind, columns, note in rows[:_MOST_FIELDS]:
        kinds = styled(kind)
        if name in guessed:
            kinds.append(" ?", style="bold yellow")
        table.add_row(styled(name, style="bold"), kinds, columns, styled(note, style="dim"))
    show(table, console)
    more = len(rows) - _MOST_FIELDS
    foot = f"{plural(schema.n_features, 'column')}, {'sparse' if schema.is_sparse else 'dense'}"
    foot += f", {plural(more, 'field')} not shown" if more > 0 else ""
    foot += "; ? is guessed: --label, --id, --time and --kind decide" if guessed else ""
    console.print(styled(f" {foot}.", style="dim"))


def _schema_lines(schema: Schema) -> list[tuple[str, str, str, str]]:
    found: list[tuple[str, str, str, str]] = []
    for field in schema.fields:
        n_columns = Schema([field]).n_features
        found.append((field.name, field.kind, count(n_columns) if n_columns else "-", schema.note_on(field)))
    if schema.n_sparse is not None:
        found.append(("index:value", "numeric", count(schema.n_sparse), "as LIBSVM has them"))
    return found


def status_table(status: Mapping[str, Any], console: Console) -> None:
    """Where a store stands."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    budget = "" if status["budget"] is None else f" of {count(status['budget'])}"
    labels = f"{count(status['labels'])}, {count(status['withdrawn'])} withdrawn"
    erased = f", {count(status['erased'])} erased" if status["erased"] else ""
    known = f" ({some(status['classes'])})" if status["classes"] else ""
    alarms = status["drift_alarms"]
    run = stored_run(status["schema"])
    lines = [
        ("store", f"{status['store']}, {plural(status['events'], 'event')}"),
        ("learner", status["learner"]),
        ("rows", f"{count(status['rows'])}, {count(status['kept_rows'])} kept in memory{erased}"),
        ("labels", labels),
        ("classes", f"{len(status['classes'])}{known}"),
        ("questions", f"{count(status['asked'])}{budget} asked, {count(status['open_questions'])} open"),
        ("support vectors", count(status["support_vectors"] or 0)),
        (
            "drift alarms",
            f"{len(alarms)}"
            + (
                f", the last at row {count(alarms[-1]['row'])} ({_day(alarms[-1]['time'])})" if alarms else ""
            ),
        ),
        *(
            ("source", f"{entry['name']}, from row {count(entry['first_row'])} on")
            for entry in run["sources"]
        ),
    ]
    for name, value in lines:
        grid.add_row(name, styled(value))
    show(grid, console)
    scores = status["scores"]
    if scores["total"]["n"] or scores["total"]["abstained"]:
        console.print()
        show(_score_table(scores, status["audit"]), console)


def _score_table(scores: Mapping[str, Any], audit: Mapping[str, Any]) -> Table:
    table = _table("", ">labels", *(f">{name}" for name in _MEASURES.values()))
    lines = [
        ("of the last labels", scores["window"]),
        ("of all labels", scores["total"]),
        ("of rows drawn at random", audit),
        ("majority, of the last", scores["baselines"]["majority"]["window"]),
        ("no change, of the last", scores["baselines"]["no_change"]["window"]),
    ]
    for name, found in lines:
        if found.get("n"):
            values = [share(found.get(measure)) for measure in _MEASURES]
            table.add_row(name, count(int(found["n"])), *values)
    return table


def timing_table(seconds: float, console: Console) -> None:
    """The self-test: a line for each learner."""
    table = _table("learner", ">rows a second", ">rows", ">accuracy", ">support vectors")

    def add(timing: Timing) -> None:
        vectors = "-" if timing.support_vectors is None else count(timing.support_vectors)
        speed = rate(timing.rows / timing.seconds)
        table.add_row(timing.name, speed, count(timing.rows), share(timing.accuracy), vectors)

    self_test(seconds, add)
    show(table, console)
    console.print(
        styled(
            "Two bananas, every row with a label, blocks of 200, predicted before they are learned. A kernel "
            "machine slows down as it grows: compare speeds at the same number of rows only.",
            style="dim",
        )
    )


def as_json(value: Any) -> str:
    """Any status as JSON, which knows neither NaN nor arrays nor keys that are no strings."""
    return json_visible(json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for name in columns:
        right = name.startswith(">")
        table.add_column(name.removeprefix(">"), justify="right" if right else "left", overflow="fold")
    return table


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(sep=" ", timespec="seconds")
