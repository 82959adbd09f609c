"""The command line: parse, call, print."""

import sys
import webbrowser
from pathlib import Path
from typing import Any, cast

import typer

from . import _options as option
from ._app import app, command
from ._choices import make_drift, make_learner, pairs
from ._console import console
from ._errors import show_exception
from ._interrupt import deliver_again
from ._outputs import check_outputs


@command(
    "everlearn run payments.csv --store fraud.everlearn --label is_fraud --id number",
    "everlearn run rows.jsonl --store rows.everlearn --oracle label --drift adwin:restart",
    "tail -n +1 -f log.jsonl | everlearn run - --store log.everlearn --batch-size 100",
)
def run(
    source: option.Source,
    store: option.NewStore,
    format: option.Format = None,
    schema: option.SchemaFile = None,
    header: option.Header = True,
    label: option.Label = None,
    id: option.Id = None,
    time: option.Time = None,
    kind: option.Kinds = None,
    label_type: option.LabelType = None,
    n_features: option.Features = None,
    unknown_fields: option.UnknownFields = "error",
    quarantine: option.Quarantine = None,
    batch_size: option.BatchSize = 1000,
    max_row_bytes: option.MaxRowBytes = 64 * 2**20,
    infer_rows: option.InferRows = 1000,
    limit: option.Limit = None,
    skip_rows: option.SkipRows = None,
    duplicate_ids: option.DuplicateIds = "error",
    learner: option.Learner = None,
    param: option.Params = None,
    drift: option.Drift = None,
    memory_rows: option.MemoryRows = None,
    max_age: option.MaxAge = None,
    random_state: option.RandomState = None,
    query_strategy: option.QueryStrategy = None,
    label_rate: option.LabelRate = None,
    cold_start_labels: option.ColdStartLabels = None,
    label_budget: option.LabelBudget = None,
    oracle: option.OracleField = None,
    label_delay: option.LabelDelay = 0,
    quiet: option.Quiet = False,
    traceback: option.Traceback = False,
) -> None:
    """Learn from a source into a store, and choose what to ask about.

    Labels in the source come with the rows, or, with --oracle, when they are asked for. Ctrl-C or SIGTERM
    stops after the batch; the same command again goes on where it stopped, and with what a file has grown by.
    """
    from ._learning import learn
    from ._run import Plan
    from ._sources import Reading

    if oracle is not None and label not in (None, oracle):
        raise typer.BadParameter(f"the label is {label!r}: name the same field.", param_hint="--oracle")
    if oracle is not None and duplicate_ids == "skip":
        raise typer.BadParameter("an --oracle must know every row of its file.", param_hint="--duplicate-ids")
    said = {
        "query_strategy": query_strategy,
        "label_rate": label_rate,
        "cold_start_labels": cold_start_labels,
        "label_budget": label_budget,
        "drift": drift,
        "memory_rows": memory_rows,
        "max_age": max_age,
        "random_state": random_state,
    }
    check_outputs({"--store": store}, sources=[source, schema])
    check_outputs({"--quarantine": quarantine}, store=store, sources=[source, schema])
    # "label" is found without being named; and LIBSVM, where that is its name, must not be told.
    reading = Reading(
        source,
        format=format,
        schema=schema,
        header=header,
        label=label or (oracle if oracle != "label" else None),
        id=id,
        time=time,
        kinds=pairs(kind or (), "--kind", "zip=categorical"),
        label_type=label_type,
        n_features=n_features,
        batch_size=batch_size,
        infer_rows=infer_rows,
        unknown_fields=unknown_fields,
        quarantine=quarantine,
        max_row_bytes=max_row_bytes,
    )
    plan = Plan(
        store,
        reading,
        learner=make_learner(learner, param or ()),
        drift=make_drift(drift),
        settings={key: value for key, value in said.items() if value is not None},
        oracle=oracle,
        delay=label_delay,
        skip_rows=skip_rows,
        limit=limit,
        skip_known=duplicate_ids == "skip",
    )
    learn(plan, quiet)


@command("everlearn ask fraud.everlearn -n 20", "everlearn ask spam.everlearn --source messages.jsonl")
def ask(
    store: option.Store,
    n: option.Count = 10,
    source: option.RawRows = None,
    traceback: option.Traceback = False,
) -> None:
    """Answer questions at the terminal.

    A class by its name or its number; ? skips the row, u withdraws the last answer, q quits.
    """
    from ._asking import ask_at_terminal

    ask_at_terminal(store, n, source)


@command(
    "everlearn predict fraud.everlearn new.csv --out predictions.csv",
    "everlearn predict fraud.everlearn new.csv | head",
)
def predict(
    store: option.Store,
    source: option.Source,
    out: option.Predictions = "-",
    format: option.Format = None,
    unknown_fields: option.UnknownFields = "error",
    quarantine: option.Quarantine = None,
    batch_size: option.BatchSize = 1000,
    max_row_bytes: option.MaxRowBytes = 64 * 2**20,
    raw: option.Raw = False,
    quiet: option.Quiet = False,
    traceback: option.Traceback = False,
) -> None:
    """Predict rows by the learner as it is now; the store stays as it is.

    CSV with the id of a row (its number where the store knows no ids), the label and the decision values: one
    for two classes, which is above 0 for the second, else one for each class.

    An id or a label that a spreadsheet would take for a formula (it begins with =, +, -, @, a tab or a line
    break and is no number) gets an apostrophe in front. To read such a file back, remove the first
    apostrophe of cells that begin with apostrophes followed by one of these; or write it with --raw.
    """
    from ._predictions import predict_source
    from ._sources import Reading

    check_outputs({"--out": out, "--quarantine": quarantine}, store=store, sources=[source])
    reading = Reading(
        source,
        format=format,
        batch_size=batch_size,
        unknown_fields=unknown_fields,
        quarantine=quarantine,
        max_row_bytes=max_row_bytes,
    )
    predict_source(store, reading, out, raw=raw, quiet=quiet)


@command("everlearn status fraud.everlearn", "everlearn status fraud.everlearn --json")
def status(
    store: option.Store,
    json: option.AsJSON = False,
    traceback: option.Traceback = False,
) -> None:
    """Show where a store stands, also while another process is writing to it."""
    from ..stream import NeverEndingLearner
    from ._tables import as_json, status_table

    with NeverEndingLearner.open(store, read_only=True) as learner:
        found = learner.status()
    if json:
        print(as_json(found))
    else:
        status_table(found, console())


@command("everlearn report fraud.everlearn --out report.html --open")
def report(
    store: option.Store,
    out: option.Page = Path("report.html"),
    title: option.Title = None,
    open: option.Open = False,
    traceback: option.Traceback = False,
) -> None:
    """Write the story of a store as a page: curves, questions, alarms."""
    from ..report import write_report
    from ..stream import NeverEndingLearner

    check_outputs({"--out": out}, store=store)
    with NeverEndingLearner.open(store, read_only=True) as learner:
        place = learner.status()["store"]
        write_report(cast(Any, learner.report_data(title=title or Path(place).stem)), out)
    console().print(f"Written: {out}")
    if open:
        webbrowser.open(out.resolve().as_uri())


@command("everlearn export fraud.everlearn fraud.onnx")
def export(
    store: option.Store,
    model: option.Model,
    traceback: option.Traceback = False,
) -> None:
    """Write the learner as it is now as an ONNX file, its scaling included.

    The input is the encoded row, with the columns that the file names in its metadata.
    """
    from ..export import export_onnx
    from ..stream import NeverEndingLearner
    from ._predictions import fitted, written
    from ._sources import schema_or_none

    check_outputs({"MODEL.onnx": model}, store=store)
    with NeverEndingLearner.open(store, read_only=True) as learner:
        schema = schema_or_none(learner.status()["schema"])
        names = None if schema is None else schema.feature_names
        found = export_onnx(
            fitted(learner), model, mean=learner.mean_, scale=learner.scale_, feature_names=names
        )
    console().print(written(model, found))


@command("everlearn schema payments.csv --label is_fraud --out payments.json")
def schema(
    source: option.Source,
    out: option.SchemaOut = None,
    format: option.Format = None,
    header: option.Header = True,
    label: option.Label = None,
    id: option.Id = None,
    time: option.Time = None,
    kind: option.Kinds = None,
    label_type: option.LabelType = None,
    n_features: option.Features = None,
    infer_rows: option.InferRows = 1000,
    max_row_bytes: option.MaxRowBytes = 64 * 2**20,
    traceback: option.Traceback = False,
) -> None:
    """Show what the fields of a source are taken for."""
    from ._sources import Reading
    from ._tables import schema_table

    check_outputs({"--out": out}, sources=[source])
    kinds = pairs(kind or (), "--kind", "zip=categorical")
    reading = Reading(
        source,
        format=format,
        header=header,
        label=label,
        id=id,
        time=time,
        kinds=kinds,
        label_type=label_type,
        n_features=n_features,
        infer_rows=infer_rows,
        max_row_bytes=max_row_bytes,
    )
    with reading.open(None) as rows:
        if rows.schema is None:
            raise ValueError(rows.message)
        schema_table(rows.schema, console())
        if out is not None:
            rows.schema.write(out)
            console().print(f"Written: {out}")


@command("everlearn backup fraud.everlearn backups/monday.everlearn")
def backup(
    store: option.Store,
    to: option.Copy,
    overwrite: option.Overwrite = False,
    traceback: option.Traceback = False,
) -> None:
    """Copy a store, also while it is in use; the copy is verified before it gets its name."""
    from ._stores import back_up

    back_up(store, to, overwrite)


@command(
    "everlearn erase fraud.everlearn customer-4711 --by officer --certificate erased.json",
    "everlearn erase fraud.everlearn --ids-file requests.txt --yes",
)
def erase(
    store: option.Store,
    ids: option.Ids = None,
    ids_file: option.IdsFile = None,
    by: option.By = "",
    certificate: option.CertificateFile = None,
    quarantine: option.Quarantines = None,
    method: option.Method = "auto",
    ignore_missing: option.IgnoreMissing = False,
    yes: option.Yes = False,
    traceback: option.Traceback = False,
) -> None:
    """Erase rows for good: from the log, the model and the bytes of every file of the store.

    The model becomes the one that never saw them. Bad rows with these ids leave the quarantine files of
    earlier runs, too. Source files, backups, reports and exported models are not touched.
    """
    from ._stores import erase_rows

    names, files = list(ids or ()), list(quarantine or ())
    erase_rows(store, names, ids_file, by, certificate, files, method, ignore_missing, yes)


@command("everlearn expire fraud.everlearn")
def expire(store: option.Store, traceback: option.Traceback = False) -> None:
    """Drop the rows that are older than --max-age by now, of a store to which no rows come any more."""
    from ._stores import expire_rows

    expire_rows(store)


@command("everlearn bench", "everlearn bench lasvm -- --quick", context_settings={"allow_extra_args": True})
def bench(
    context: typer.Context,
    name: option.Benchmark = None,
    seconds: option.Seconds = 10.0,
    traceback: option.Traceback = False,
) -> None:
    """Time learners on generated data for some seconds, or run a benchmark of the source checkout."""
    from . import _bench
    from ._tables import timing_table

    if name is None:
        timing_table(seconds, console())
        return
    known = _bench.benchmarks()
    if name not in known:
        where = (
            f"There are {', '.join(known)}." if known else "They are in benchmarks/ of the source checkout."
        )
        raise ValueError(f"There is no benchmark {name!r} here. {where}")
    raise typer.Exit(_bench.run_benchmark(known[name], context.args))


def main() -> None:
    """Run the command line."""
    sys.excepthook, sys.unraisablehook = show_exception, deliver_again
    app(prog_name="everlearn")


if __name__ == "__main__":
    main()
