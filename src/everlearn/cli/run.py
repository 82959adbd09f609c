"""`everlearn run`: learn from a source into a store."""

import typer

from . import _options as option
from ._app import command
from ._arguments import make_drift, make_learner, parse_pairs
from ._console import console, error_console, show
from ._errors import interrupted
from ._interrupt import Interrupt
from ._outputs import check_outputs
from ._progress import Progress, Silent, facts
from ._runner import Plan, begin, how_to_resume
from ._source_spec import SourceSpec, bad_rows_message
from ._tables import print_schema


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
    """Learn from a source into a store, and select rows to ask about.

    Labels in the source are learned with their rows. With --oracle, they are revealed only for rows that are
    asked about. Ctrl-C or SIGTERM stops after the current batch. Run the same command again to resume, or to
    read what has been appended to the file.
    """
    if oracle is not None and label not in (None, oracle):
        raise typer.BadParameter(f"must be the label field, which is {label!r}.", param_hint="--oracle")
    if oracle is not None and duplicate_ids == "skip":
        raise typer.BadParameter("'skip' cannot be used with --oracle.", param_hint="--duplicate-ids")
    check_outputs({"--store": store}, sources=[source, schema])
    check_outputs({"--quarantine": quarantine}, store=store, sources=[source, schema])
    given = {
        "query_strategy": query_strategy,
        "label_rate": label_rate,
        "cold_start_labels": cold_start_labels,
        "label_budget": label_budget,
        "drift": drift,
        "memory_rows": memory_rows,
        "max_age": max_age,
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
    )
    _learn(plan, quiet)


def _learn(plan: Plan, quiet: bool) -> None:
    """Run the plan until the source ends or the user stops it, and print the progress and the result."""
    progress = Silent() if quiet else Progress(error_console())
    stopping = "Stopping after this batch. Press Ctrl-C again to stop immediately."
    with Interrupt(lambda: progress.print(stopping)) as interrupt:
        with interrupt.at_once():  # nothing has been learned yet
            runner = begin(plan)
        with runner:
            if not quiet:
                print_schema(runner.schema, error_console())
                progress.print(runner.note)
            with progress:
                runner.run(interrupt, progress)
            status = runner.learner.status()
            if not quiet:
                show(facts(status, runner.source, progress.speed), console())
                progress.print(runner.source.message)
                progress.print(bad_rows_message(runner.source, plan.source.quarantine))
                progress.print(
                    f"{runner.n_duplicates:,} duplicate rows skipped." if runner.n_duplicates else ""
                )
    if interrupt.error is not None:
        error_console().print(how_to_resume(runner.source))
        raise interrupted(interrupt.error)
    if status["open_questions"] and plan.oracle is None:
        progress.print(f"{status['open_questions']:,} open questions. To answer: everlearn ask {plan.store}")
