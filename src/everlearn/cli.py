"""The command line: parse, call, print."""

import getpass
import os
import webbrowser
from pathlib import Path
from typing import Any, cast

try:
    import typer

    from ._cli import _options as option
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"The command line needs {error.name}: pip install typer rich", name=error.name
    ) from error

from ._cli._app import app, command
from ._cli._choices import make_drift, make_learner, pairs
from ._cli._console import console, error_console, show
from ._cli._errors import interrupted


@command(
    "everlearn run payments.csv --store fraud.everlearn --label is_fraud --id number",
    "everlearn run rows.jsonl --store rows.everlearn --oracle label --drift adwin:window",
    "tail -n +1 -f log.jsonl | everlearn run - --store log.everlearn --block-rows 100",
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
    unknown_fields: option.UnknownFields = "refuse",
    quarantine: option.Quarantine = None,
    block_rows: option.BlockRows = 1000,
    warm_up: option.WarmUp = 1000,
    limit: option.Limit = None,
    skip_rows: option.SkipRows = None,
    known_ids: option.KnownIds = "refuse",
    learner: option.Learner = None,
    param: option.Params = None,
    drift: option.Drift = None,
    memory_rows: option.MemoryRows = None,
    random_state: option.RandomState = None,
    query: option.Query = None,
    label_rate: option.LabelRate = None,
    start: option.Start = None,
    budget: option.Budget = None,
    oracle: option.OracleField = None,
    label_delay: option.LabelDelay = 0,
    quiet: option.Quiet = False,
    traceback: option.Traceback = False,
) -> None:
    """Learn from a source into a store, and choose what to ask about.

    Labels in the source come with the rows, or, with --oracle, when they are asked for. Ctrl-C stops after
    the batch; the same command again goes on where it stopped, and with what a file has grown by.
    """
    from ._cli._interrupt import Interrupt
    from ._cli._predictions import bad_rows
    from ._cli._progress import Progress, Silent, facts
    from ._cli._run import Plan, begin, how_to_go_on
    from ._cli._sources import Reading
    from ._cli._tables import schema_table

    if oracle is not None and label not in (None, oracle):
        raise typer.BadParameter(f"the label is {label!r}: name the same field.", param_hint="--oracle")
    if oracle is not None and known_ids == "skip":
        raise typer.BadParameter("an --oracle must know every row of its file.", param_hint="--known-ids")
    said = {
        "query": query,
        "label_rate": label_rate,
        "start": start,
        "label_budget": budget,
        "drift": drift,
        "memory_rows": memory_rows,
        "random_state": random_state,
    }
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
        block_rows=block_rows,
        warm_up=warm_up,
        unknown_fields=unknown_fields,
        quarantine=quarantine,
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
        skip_known=known_ids == "skip",
    )
    shown = Silent() if quiet else Progress(error_console())
    with Interrupt(lambda: shown.say("Stopping after this batch; Ctrl-C again stops at once.")) as interrupt:
        with interrupt.at_once():  # nothing can be lost yet
            going = begin(plan)
        with going:
            if not quiet:
                schema_table(going.schema, error_console())
                shown.say(going.note)
            with shown:
                going.go(interrupt, shown)
            found = going.learner.status()
            if not quiet:
                show(facts(found, going.source, shown.speed), console())
                shown.say(going.source.message)
                shown.say(bad_rows(going.source, quarantine))
                shown.say(f"{going.n_known:,} rows were known by their ids." if going.n_known else "")
    if interrupt.asked:
        error_console().print(how_to_go_on(going.source))
        raise interrupted()
    if found["open_questions"] and not oracle:
        shown.say(f"{found['open_questions']:,} open questions: everlearn ask {store}")


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
    from ._cli._answers import Session
    from ._cli._raw import RawRows
    from ._cli._sources import schema_or_none
    from .stream import NeverEndingLearner

    _must_exist(store)
    with NeverEndingLearner.open(store) as learner:
        schema = schema_or_none(learner.status()["schema"])
        who = os.environ.get("USER") or getpass.getuser()
        raw = RawRows(source, learner.status())
        session = Session(learner, schema, who, console(), input, raw.find)
        try:
            session.go(n)
        finally:
            still = learner.status()["open_questions"]
            console().print(f"{len(session.answered)} answered, {still} open.")


@command(
    "everlearn predict fraud.everlearn new.csv --out predictions.csv",
    "everlearn predict fraud.everlearn new.csv | head",
)
def predict(
    store: option.Store,
    source: option.Source,
    out: option.Predictions = "-",
    format: option.Format = None,
    unknown_fields: option.UnknownFields = "refuse",
    quarantine: option.Quarantine = None,
    block_rows: option.BlockRows = 1000,
    quiet: option.Quiet = False,
    traceback: option.Traceback = False,
) -> None:
    """Predict rows by the learner as it is now; the store stays as it is.

    CSV with the id of a row (its number where the store knows no ids), the label and the decision values: one
    for two classes, which is above 0 for the second, else one for each class.
    """
    from ._cli._predictions import bad_rows, fitted, write_predictions
    from ._cli._sources import Reading, stored_schema
    from .stream import NeverEndingLearner

    with NeverEndingLearner.open(store, read_only=True) as learner:
        fitted(learner)
        schema = stored_schema(learner.status()["schema"])
        if schema is None:
            raise ValueError(
                f"{store} does not say what its columns are: it was not made by `everlearn run`."
            )
        reading = Reading(
            source, format=format, block_rows=block_rows, unknown_fields=unknown_fields, quarantine=quarantine
        )
        with reading.open(schema) as rows:
            n_rows = write_predictions(learner, rows, out)
            notes = [rows.message, bad_rows(rows, quarantine)]
    if not quiet:
        notes.append(f"{n_rows:,} rows predicted: {out}" if out != "-" else "")
        for note in filter(None, notes):
            error_console().print(note, markup=False)


@command("everlearn status fraud.everlearn", "everlearn status fraud.everlearn --json")
def status(
    store: option.Store,
    json: option.AsJSON = False,
    traceback: option.Traceback = False,
) -> None:
    """Show where a store stands, also while another process is writing to it."""
    from ._cli._tables import as_json, status_table
    from .stream import NeverEndingLearner

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
    from .report import write_report
    from .stream import NeverEndingLearner

    with NeverEndingLearner.open(store, read_only=True) as learner:
        place = learner.status()["place"]
        write_report(cast(Any, learner.story(title=title or Path(place).stem)), out)
    console().print(f"Written: {out}", markup=False)
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
    from ._cli._predictions import fitted, written
    from ._cli._sources import schema_or_none
    from .export import export_onnx
    from .stream import NeverEndingLearner

    with NeverEndingLearner.open(store, read_only=True) as learner:
        mean, spread = learner.scale_
        schema = schema_or_none(learner.status()["schema"])
        names = None if schema is None else schema.feature_names
        found = export_onnx(fitted(learner), model, mean=mean, spread=spread, feature_names=names)
    console().print(written(model, found), markup=False)


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
    warm_up: option.WarmUp = 1000,
    traceback: option.Traceback = False,
) -> None:
    """Show what the fields of a source are taken for."""
    from ._cli._sources import Reading
    from ._cli._tables import schema_table

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
        warm_up=warm_up,
    )
    with reading.open(None) as rows:
        if rows.schema is None:
            raise ValueError(rows.message)
        schema_table(rows.schema, console())
        if out is not None:
            rows.schema.write(out)
            console().print(f"Written: {out}", markup=False)


@command("everlearn bench", "everlearn bench lasvm -- --quick", context_settings={"allow_extra_args": True})
def bench(
    context: typer.Context,
    name: option.Benchmark = None,
    seconds: option.Seconds = 10.0,
    traceback: option.Traceback = False,
) -> None:
    """Time learners on generated data for some seconds, or run a benchmark of the source checkout."""
    from ._cli import _bench
    from ._cli._tables import timing_table

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


def _must_exist(store: str) -> None:
    """Only `run` makes a store."""
    from .stream import NeverEndingLearner

    NeverEndingLearner.open(store, read_only=True).close()


def main() -> None:
    """Run the command line."""
    app(prog_name="everlearn")


if __name__ == "__main__":
    main()
