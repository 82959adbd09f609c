"""Tables: the schema, the status of a store, timings."""

import json
import math
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from .._visible import json_visible
from ..read import Schema, Source
from ..stream import Answer
from ..stream.answers import majority
from ._console import show, styled
from ._format import count, plural, rate, score, some
from ._run_record import RunRecord
from ._self_test import self_test

_MAX_FIELDS = 40
_MAX_DISAGREEMENTS = 10
_MEASURES = {"accuracy": "accuracy", "g_means": "g-means", "mcc": "mcc", "auc": "auc"}


def print_schema(schema: Schema, console: Console, source: Source) -> None:
    """Print the fields of a schema, with an example of each from the source; inferred kinds are marked."""
    rows = _schema_lines(schema)
    inferred = {field.name for field in schema.fields if field.inferred}
    table = _table("field", "kind", ">columns", "example", "note")
    for name, kind, columns, note in rows[:_MAX_FIELDS]:
        kinds = styled(kind)
        if name in inferred:
            kinds.append(" ?", style="bold yellow")
        example = styled(source.examples.get(name, ""))
        table.add_row(styled(name, style="bold"), kinds, columns, example, styled(note, style="dim"))
    show(table, console)
    more = len(rows) - _MAX_FIELDS
    foot = f"{source.format}, {source.layout}; " if source.layout else f"{source.format}; "
    foot += f"{plural(schema.n_features, 'column')}, {'sparse' if schema.is_sparse else 'dense'}"
    foot += f", {plural(more, 'field')} not shown" if more > 0 else ""
    foot += "; ? is inferred: change it with --label, --id, --time or --kind" if inferred else ""
    console.print(styled(f" {foot}.", style="dim"))


def _schema_lines(schema: Schema) -> list[tuple[str, str, str, str]]:
    found: list[tuple[str, str, str, str]] = []
    for field in schema.fields:
        columns = count(field.n_columns) if field.n_columns else "-"
        found.append((field.name, field.kind, columns, schema.note_on(field)))
    if schema.n_sparse is not None:
        found.append(("index:value", "numeric", count(schema.n_sparse), "LIBSVM"))
    return found


def print_status(status: Mapping[str, Any], record: RunRecord, console: Console) -> None:
    """Print the state of a store."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    budget = "" if status["budget"] is None else f" of {count(status['budget'])}"
    labels = f"{count(status['labels'])}, {count(status['withdrawn'])} withdrawn"
    erased = f", {count(status['erased'])} erased" if status["erased"] else ""
    known = f" ({some(status['classes'])})" if status["classes"] else ""
    alarms = status["drift_alarms"]
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
            + (f", last at row {count(alarms[-1]['row'])} ({_day(alarms[-1]['time'])})" if alarms else ""),
        ),
        *(
            ("source", f"{source['name']}, from row {count(source['first_row'])}")
            for source in record.sources
        ),
    ]
    for name, value in lines:
        grid.add_row(name, styled(value))
    show(grid, console)
    scores = status["scores"]
    if scores["total"]["n"]:
        console.print()
        show(_score_table(scores, status["audit"]), console)


def print_shards(status: Mapping[str, Any], console: Console) -> None:
    """Print the state of the shards of a folder, a line for each and one for all."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    known = f" ({some(status['classes'])})" if status["classes"] else ""
    rest = status["shards"] - len(status["open_shards"])
    more = f", {rest} of them not open here" if rest else ""
    for name, value in (
        ("folder", f"{status['store']}, {plural(status['shards'], 'shard')}{more}"),
        ("learner", status["learner"]),
        ("classes", f"{len(status['classes'])}{known}"),
    ):
        grid.add_row(name, styled(value))
    show(grid, console)
    console.print()
    table = _table("shard", ">rows", ">labels", ">open questions", ">support vectors", ">alarms", ">accuracy")
    for name, found in [*((store["shard"], store) for store in status["stores"]), ("all", status)]:
        cells = [count(found[part] or 0) for part in ("rows", "labels", "open_questions", "support_vectors")]
        accuracy = score(found["scores"]["window"].get("accuracy"))
        table.add_row(str(name), *cells, count(len(found["drift_alarms"])), accuracy)
    show(table, console)


def print_disagreements(answers: Mapping[Any, list[Answer]], console: Console) -> None:
    """Print the rows whose annotators disagree: the answers, and the one that is learned."""
    if not answers:
        return
    console.print()
    table = _table("disagreements", "answers", "learned")
    for row, given in list(answers.items())[:_MAX_DISAGREEMENTS]:
        shown = [
            f"{answer.by or '(no name)'}: {answer.label}"
            + (f" (weight {answer.weight:g})" if answer.weight != 1 else "")
            for answer in given
        ]
        table.add_row(styled(row, style="bold"), styled(", ".join(shown)), styled(majority(given)))
    show(table, console)
    more = len(answers) - _MAX_DISAGREEMENTS
    if more > 0:
        console.print(styled(f"and {plural(more, 'more row')}; --json has them all", style="dim"))


def _score_table(scores: Mapping[str, Any], audit: Mapping[str, Any]) -> Table:
    table = _table("", ">labels", *(f">{name}" for name in _MEASURES.values()))
    lines = [
        ("last labels", scores["window"]),
        ("all labels", scores["total"]),
        ("audit (random rows)", audit),
        ("majority baseline, last", scores["baselines"]["majority"]["window"]),
        ("no-change baseline, last", scores["baselines"]["no_change"]["window"]),
    ]
    for name, found in lines:
        if found.get("n"):
            values = [score(found.get(measure)) for measure in _MEASURES]
            table.add_row(name, count(int(found["n"])), *values)
    return table


def print_timings(seconds: float, console: Console) -> None:
    """Run the speed test and print a line for each learner."""
    table = _table("learner", ">rows/s", ">rows", ">accuracy", ">support vectors")

    for timing in self_test(seconds):
        vectors = "-" if timing.support_vectors is None else count(timing.support_vectors)
        speed = rate(timing.rows / timing.seconds)
        table.add_row(timing.name, speed, count(timing.rows), score(timing.accuracy), vectors)

    show(table, console)
    console.print(
        styled(
            "Banana data, all rows labeled, in batches of 200 that are predicted before they are learned. "
            "Kernel machines slow down as they grow: compare speeds at the same number of rows only.",
            style="dim",
        )
    )


def as_json(value: Any) -> str:
    """A status as JSON, which has no NaN, no arrays and only string keys."""
    return json_visible(json.dumps(_json_value(value), indent=2, ensure_ascii=False, allow_nan=False))


def _json_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _json_value(value.tolist())
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for name in columns:
        right = name.startswith(">")
        table.add_column(name.removeprefix(">"), justify="right" if right else "left", overflow="fold")
    return table


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(sep=" ", timespec="seconds")
