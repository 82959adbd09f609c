"""`everlearn report`: an HTML report."""

import webbrowser
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from ..report import write_report
from ..stream import NeverEndingLearner, ShardedLearner
from ..stream.sharded import is_sharded
from . import _options as option
from ._app import command
from ._console import console
from ._outputs import check_outputs
from ._run_record import RunRecord
from ._source_spec import schema_or_none


@command("everlearn report fraud.everlearn --out report.html --open")
def report(
    store: option.StoreOrShards,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The HTML file to write.")] = Path(
        "report.html"
    ),
    title: Annotated[
        str | None,
        typer.Option("--title", help="Title of the report. (default: name of the store)", show_default=False),
    ] = None,
    open: Annotated[bool, typer.Option("--open", help="Open it in the browser.", show_default=False)] = False,
    traceback: option.Traceback = False,
) -> None:
    """Write an HTML report: how good the learner is, what asking gained, what drives its predictions.

    If FILE is an earlier report of the store, the new one says what has changed since.
    """
    check_outputs({"--out": out}, store=None if is_sharded(store) else store)
    data = _of_shards(store, title) if is_sharded(store) else _of_store(store, title)
    write_report(cast(Any, data), out)
    console().print(f"Wrote {out}")
    if open:
        webbrowser.open(out.resolve().as_uri())


def _of_shards(folder: str, title: str | None) -> dict[str, Any]:
    with ShardedLearner.open(folder, read_only=True) as shards:
        records = [RunRecord.from_notes(learner.notes) for learner in shards.learners.values()]
        names = dict.fromkeys(source["name"] for record in records for source in record.sources)
        schema = schema_or_none(shards.status()["schema"])
        return shards.report_data(
            title=title or Path(folder).resolve().name,
            source=", ".join(names),
            features=None if schema is None else str(schema),
        )


def _of_store(store: str, title: str | None) -> dict[str, Any]:
    with NeverEndingLearner.open(store, read_only=True) as learner:
        status, record = learner.status(), RunRecord.from_notes(learner.notes)
        schema = schema_or_none(status["schema"])
        return learner.report_data(
            title=title or Path(status["store"]).stem,
            source=", ".join(source["name"] for source in record.sources),
            features=None if schema is None else str(schema),
            influence=learner.influence(),
        )
