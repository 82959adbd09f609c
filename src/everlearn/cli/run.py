"""`everlearn run`: learn from a source into a store."""

import contextlib
from dataclasses import replace

import typer

from ..broker import is_broker
from ..store.discard import remove_files
from ..stream import NeverEndingLearner
from ..stream.exchange import Exchange
from ..stream.sharded import is_sharded
from . import _options as option
from ._app import command
from ._arguments import make_drift, make_learner, parse_pairs
from ._console import console, error_console, show
from ._errors import interrupted
from ._interrupt import Interrupt
from ._live import Follow, check_live, exchange_message, exchange_of, one_consumer
from ._outputs import check_outputs
from ._progress import Progress, Silent, facts
from ._run_record import RunRecord, SourceIdentity
from ._runner import Plan, Runner, TooManyBadRows, begin, how_to_resume, open_store
from ._sharded_run import Sharding, learn_shards
from ._source_spec import SourceSpec, bad_rows_message, duplicates_message
from ._tables import print_schema


@command(
    "everlearn run payments.csv --store fraud.everlearn --label is_fraud --id number",
    "everlearn run rows.jsonl --store rows.everlearn --oracle label --drift adwin:restart",
    "everlearn run umsatz.csv --store umsatz.everlearn --decimal , --time-format '%d.%m.%Y'",
    "everlearn run shop.sqlite --sql 'SELECT * FROM orders ORDER BY id' --store orders.everlearn",
    "tail -n +1 -f log.jsonl | everlearn run - --store log.everlearn --batch-size 100",
    "everlearn run kafka://localhost:9092/payments --store fraud.everlearn --label is_fraud",
    "everlearn run kafka://localhost/payments --store shards --shards 4 --shard-by customer",
    "everlearn run redis://localhost:6379/rows --store rows.everlearn --questions-to redis://localhost/asked",
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
    encoding: option.Encoding = None,
    decimal: option.Decimal = None,
    time_format: option.TimeFormat = None,
    sql: option.Sql = None,
    unknown_fields: option.UnknownFields = "error",
    quarantine: option.Quarantine = None,
    max_bad_fraction: option.MaxBadFraction = 0.2,
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
    scaling: option.Scaling = None,
    classes: option.Classes = None,
    semi_supervised: option.SemiSupervised = None,
    exemplars: option.Exemplars = None,
    window: option.Window = None,
    coverage: option.Coverage = None,
    retention: option.Retention = None,
    snapshot_every: option.SnapshotEvery = None,
    snapshot_events: option.SnapshotEvents = None,
    random_state: option.RandomState = None,
    query_strategy: option.QueryStrategy = None,
    label_rate: option.LabelRate = None,
    cold_start_labels: option.ColdStartLabels = None,
    label_budget: option.LabelBudget = None,
    audit: option.Audit = None,
    oracle: option.OracleField = None,
    label_delay: option.LabelDelay = 0,
    idle: option.Idle = None,
    follow: option.Follow = False,
    offset_reset: option.OffsetReset = None,
    shards: option.Shards = None,
    shard_by: option.ShardBy = None,
    shard: option.Shard = None,
    questions_to: option.QuestionsTo = None,
    answers_from: option.AnswersFrom = None,
    config: option.Config = None,
    quiet: option.Quiet = False,
    traceback: option.Traceback = False,
) -> None:
    """Learn from a source into a store, and select rows to ask about.

    Labels in the source are learned with their rows. With --oracle, they are revealed only for rows that are
    asked about. Ctrl-C or SIGTERM stops after the current batch. Run the same command again to resume, or to
    read what has been appended to the file. Settings of the learner and of the questions are fixed when a
    store is created. All files of a folder are read in the order of their names; run
    the same command again to read new ones, or use --follow.

    A Kafka topic or a Redis stream is read until Ctrl-C or --idle. The place behind the last message is
    stored with the rows, in one transaction: after a crash, no row is missing or doubled.
    """
    if not 0.0 <= max_bad_fraction <= 1.0:
        raise typer.BadParameter(
            f"{max_bad_fraction} is not between 0 and 1.", param_hint="--max-bad-fraction"
        )
    if oracle is not None and label not in (None, oracle):
        raise typer.BadParameter(f"must be the label field, which is {label!r}.", param_hint="--oracle")
    if oracle is not None and duplicate_ids == "skip":
        raise typer.BadParameter("'skip' cannot be used with --oracle.", param_hint="--duplicate-ids")
    check_live(
        source,
        follow,
        idle,
        {
            "--offset-reset": offset_reset,
            "--oracle": oracle,
            "--sql": sql,
            "--skip-rows": skip_rows,
            "--format": format,
        },
    )
    check_outputs({"--store": store}, sources=[source, schema, config])
    check_outputs({"--quarantine": quarantine}, store=store, sources=[source, schema])
    given = {
        "query_strategy": query_strategy,
        "label_rate": label_rate,
        "cold_start_labels": cold_start_labels,
        "label_budget": label_budget,
        "drift": drift,
        "memory_rows": memory_rows,
        "max_age": max_age,
        "audit": audit,
        "scaling": scaling,
        "classes": classes or None,
        "semi_supervised": semi_supervised,
        "exemplars": exemplars,
        "window": window,
        "coverage": coverage,
        "retention": retention,
        "random_state": random_state,
    }
    spec = SourceSpec(
        source,
        format=format,
        schema=schema,
        header=header,
        # A field named "label" is found anyway; it must not be given for LIBSVM, which has no named fields.
        label=label or (oracle if oracle != "label" else None),
        id=id,
        time=time,
        kinds=parse_pairs(kind or (), "--kind", "zip=categorical"),
        label_type=label_type,
        n_features=n_features,
        batch_size=batch_size,
        infer_rows=infer_rows,
        unknown_fields=unknown_fields,
        quarantine=quarantine,
        max_row_bytes=max_row_bytes,
        encoding=encoding,
        decimal=decimal,
        time_format=time_format,
        sql=sql,
        offset_reset=offset_reset,
        idle=idle if is_broker(source) else None,
        repeated_ids="bad" if duplicate_ids == "error" else "skip",
    )
    plan = Plan(
        store,
        spec,
        learner=make_learner(learner, param or ()),
        drift=make_drift(drift),
        settings={key: value for key, value in given.items() if value is not None},
        oracle=oracle,
        label_delay=label_delay,
        skip_rows=skip_rows,
        limit=limit,
        skip_duplicates=duplicate_ids == "skip",
        max_bad_fraction=max_bad_fraction,
        snapshot_every=snapshot_every,
        snapshot_events=snapshot_events,
        questions_to=questions_to,
        answers_from=answers_from,
    )
    if shards is not None or is_sharded(store):
        return learn_shards(plan, Sharding(shards, shard_by, shard), quiet)
    if shard_by is not None or shard is not None:
        raise ValueError("--shard-by and --shard need --shards N, or a folder of shards as --store.")
    _learn(plan, quiet, Follow(idle) if follow else None)


def _learn(plan: Plan, quiet: bool, follow: Follow | None) -> None:
    """Run the plan until the source ends or the user stops it, and print the progress and the result."""
    progress = Silent() if quiet else Progress(error_console())
    stopping = "Stopping after this batch. Press Ctrl-C again to stop immediately."
    folder = plan.source.is_folder
    if folder and (plan.limit is not None or plan.skip_rows is not None):
        raise ValueError("--limit and --skip-rows are for a single file, not for a folder.")
    with Interrupt(lambda: progress.print(stopping)) as interrupt, contextlib.ExitStack() as opened:
        with interrupt.at_once(), one_consumer(plan.source):  # nothing has been learned yet
            learner = open_store(plan)
        created, shows_schema = learner is None, not quiet
        if learner is not None:
            opened.enter_context(learner)
        runner: Runner | None = None
        exchange: Exchange | None = None
        specs = plan.source.files() if follow is None else follow.files(plan.source, interrupt)
        for spec in specs:
            if learner is not None and folder and _was_read(learner, spec):
                continue
            with interrupt.at_once(created and runner is None):
                runner = begin(replace(plan, source=spec), learner)
            if learner is None:
                learner = opened.enter_context(runner.learner)
            exchange = runner.exchange = exchange or exchange_of(plan, learner, opened)
            if follow is not None:
                follow.note()
            identity = spec.identity(runner.source)
            with runner.source:
                if shows_schema:
                    print_schema(runner.schema, error_console(), runner.source)
                shows_schema = False
                progress.print(runner.note)
                try:
                    with progress:
                        runner.run(interrupt, progress)
                except TooManyBadRows as error:
                    raise ValueError(f"{error} {_keep_or_remove(plan.store, runner, created)}") from None
                if not interrupt.asked and plan.limit is None:
                    runner.finish(identity)
                _print_bad(runner, plan, progress)
            if interrupt.asked:
                break
        if learner is None:
            raise ValueError(f"The folder {plan.source.path} has no file of a known format: give --format.")
        status = learner.status()
        if runner is None:
            progress.print(f"{plan.source.path} has no new file.")
        elif not quiet:
            show(facts(status, runner.source, progress.speed), console())
    if interrupt.error is not None and runner is not None:
        error_console().print(how_to_resume(runner.source))
        raise interrupted(interrupt.error)
    if status["open_questions"] and plan.oracle is None:
        progress.print(f"{status['open_questions']:,} open questions. To answer: everlearn ask {plan.store}")
    elif status["labels"] and not status["asked"] and not status["scores"]["total"]["n"]:
        progress.print(
            "No accuracy yet: a row is scored if it was predicted before its label was learned, and all "
            "labels came in the first batch. To measure it on this file, start a new store with smaller "
            "batches (--batch-size 50)."
        )


def _was_read(learner: NeverEndingLearner, spec: SourceSpec) -> bool:
    """Whether a file of a folder was read to its end by an earlier run."""
    return RunRecord.from_notes(learner.notes).is_done(SourceIdentity.of_path(spec.path))


def _print_bad(runner: Runner, plan: Plan, progress: Progress | Silent) -> None:
    progress.print(runner.source.message)
    progress.print(bad_rows_message(runner.source, plan.source.quarantine))
    progress.print(duplicates_message(runner.n_duplicates, runner.source))
    if runner.exchange is not None:
        progress.print(exchange_message(runner.exchange))


def _keep_or_remove(store: str, runner: Runner, created: bool) -> str:
    """Remove a store that this run has created, if its rows can be read again; return what was done."""
    n_rows = runner.learner.status()["rows"]
    if created and runner.source.bytes_total is not None:
        runner.learner.close()
        if remove_files(store):
            return "No store was created."
    return f"The {n_rows:,} good rows so far are in the store."
