"""Arguments and options that several commands share, and the many options of `everlearn run`."""

import getpass
import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ..stream.sharded import is_sharded
from ._arguments import learners
from ._config import load_config

_SOURCE, _LEARNER, _QUERIES, _OUTPUT = "Source", "Learner", "Questions", "Output"
_BROKERS = "Kafka, Redis and growing folders"


def _option(panel: str, *names: str, help: str, metavar: str | None = None, min: int | None = None) -> Any:
    return typer.Option(
        *names, help=help, rich_help_panel=panel, metavar=metavar, min=min, show_default=False
    )


Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="CSV, JSON lines or LIBSVM, also compressed; Parquet, Arrow, .npy or .npz; a folder of such "
        'files or of Hugging Face datasets; an http(s) address; with --sql, a database; "-" for standard '
        "input; kafka://host:port/topic or redis://host:port/stream.",
    ),
]


def _one_store(store: str) -> str:
    """A callback: this command is for one store, not for a folder of shards."""
    if is_sharded(store):
        raise typer.BadParameter(
            f"{store} is a folder of shards; this command is for one store, such as "
            f"{os.path.join(store, 'shard-0.everlearn')}."
        )
    return store


Store = Annotated[
    str,
    typer.Argument(
        metavar="STORE",
        help="The store: a file, or the URL of a PostgreSQL database.",
        callback=_one_store,
    ),
]
StoreOrShards = Annotated[
    str,
    typer.Argument(
        metavar="STORE", help="The store: a file, the URL of a PostgreSQL database, or a folder of shards."
    ),
]
NewStore = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="STORE",
        help="The store: a file, or the URL of a PostgreSQL database. Created if it does not exist.",
    ),
]
Traceback = Annotated[
    bool, typer.Option("--traceback", help="Print the Python traceback of an error.", show_default=False)
]
RowsFrom = Annotated[
    str | None,
    typer.Option(
        "--source",
        metavar="FILE",
        show_default=False,
        help="Show rows as they are in this file. (default: the sources that the store remembers)",
    ),
]
By = Annotated[
    str,
    typer.Option("--by", metavar="NAME", help="Who answers. (default: the user name)", show_default=False),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        is_eager=True,
        callback=load_config,
        show_default=False,
        help="A TOML file with any of these options: label_rate = 0.02, for example. Options given here win.",
    ),
]
Quiet = Annotated[bool, _option(_OUTPUT, "--quiet", "-q", help="Print errors only.")]


def name_of(by: str) -> str:
    """The name given with --by; without one, that of the user."""
    return by or os.environ.get("USER") or getpass.getuser()


# ------------------------------------------------------------------------------------------------ the source

Format = Annotated[
    Literal["csv", "jsonl", "libsvm", "parquet", "arrow", "npy", "npz"] | None,
    _option(_SOURCE, "--format", help="The format. (default: by the file name or the first line)"),
]
SchemaFile = Annotated[
    Path | None,
    _option(_SOURCE, "--schema", help="A schema file from `everlearn schema`.", metavar="FILE"),
]
Header = Annotated[
    bool, _option(_SOURCE, "--header/--no-header", help="Whether CSV starts with a header. (default: yes)")
]
Label = Annotated[str | None, _option(_SOURCE, "--label", help="The field with the label.", metavar="FIELD")]
Id = Annotated[str | None, _option(_SOURCE, "--id", help="The field with the row id.", metavar="FIELD")]
Time = Annotated[str | None, _option(_SOURCE, "--time", help="The field with the time.", metavar="FIELD")]
Kinds = Annotated[
    list[str] | None,
    _option(
        _SOURCE,
        "--kind",
        metavar="FIELD=KIND",
        help="The kind of a field: numeric, boolean, categorical, text, embed (text by wordllama), vector or "
        "ignore. Can be repeated.",
    ),
]
Encoding = Annotated[
    str | None,
    _option(
        _SOURCE,
        "--encoding",
        metavar="NAME",
        help="The encoding of a text file, such as cp1252 or utf-16. (default: detected)",
    ),
]
Decimal = Annotated[
    Literal[".", ","] | None,
    _option(_SOURCE, "--decimal", help="The decimal separator of numbers. (default: detected)"),
]
TimeFormat = Annotated[
    str | None,
    _option(
        _SOURCE,
        "--time-format",
        metavar="FORMAT",
        help="How times are written, such as '%d.%m.%Y %H:%M'; or ms, us, ns since 1970. (default: detected)",
    ),
]
Sql = Annotated[
    str | None,
    _option(
        _SOURCE,
        "--sql",
        metavar="QUERY",
        help="Read the rows of a query; SOURCE is then a database address or an SQLite file.",
    ),
]
MaxBadFraction = Annotated[
    float,
    _option(
        _SOURCE,
        "--max-bad-fraction",
        metavar="FRACTION",
        help="Stop with an error if more of the rows than this are bad; 1 never stops. (default: 0.2)",
    ),
]
LabelType = Annotated[
    Literal["int", "string"] | None,
    _option(_SOURCE, "--label-type", help="The type of labels. (default: by the first rows)"),
]
Features = Annotated[
    int | None,
    _option(
        _SOURCE,
        "--n-features",
        help="LIBSVM: the number of features. (default: by the first rows)",
        metavar="N",
    ),
]
UnknownFields = Annotated[
    Literal["error", "ignore"],
    _option(
        _SOURCE,
        "--unknown-fields",
        help="What to do with fields that are not in the schema. (default: error)",
    ),
]
Quarantine = Annotated[
    Path | None,
    _option(_SOURCE, "--quarantine", help="Append bad rows to this file, as JSON lines.", metavar="FILE"),
]
BatchSize = Annotated[
    int, _option(_SOURCE, "--batch-size", min=1, help="Rows in a batch. (default: 1000)", metavar="N")
]
MaxRowBytes = Annotated[
    int,
    _option(
        _SOURCE,
        "--max-row-bytes",
        min=1,
        help="Longer rows are bad; only their first bytes are kept. (default: 64 MiB)",
        metavar="N",
    ),
]
InferRows = Annotated[
    int,
    _option(
        _SOURCE,
        "--infer-rows",
        min=1,
        help="Rows from which the schema is inferred. (default: 1000)",
        metavar="N",
    ),
]
Limit = Annotated[
    int | None,
    _option(
        _SOURCE,
        "--limit",
        min=0,
        help="Stop after this many rows of the source, including those of earlier runs.",
        metavar="N",
    ),
]
SkipRows = Annotated[
    int | None,
    _option(
        _SOURCE,
        "--skip-rows",
        min=0,
        metavar="N",
        help="Good rows to skip. (default: those of this file that are already in the store)",
    ),
]
DuplicateIds = Annotated[
    Literal["error", "skip"],
    _option(
        _SOURCE,
        "--duplicate-ids",
        help="What to do with rows whose id is already in the store, or repeated. (default: error)",
    ),
]

# ------------------------------------------------------------------------------- topics, streams and folders

Idle = Annotated[
    float | None,
    typer.Option(
        "--idle",
        metavar="SECONDS",
        min=0.0,
        rich_help_panel=_BROKERS,
        show_default=False,
        help="Stop when nothing has arrived for so long. (default: until Ctrl-C)",
    ),
]
Follow = Annotated[
    bool,
    _option(
        _BROKERS,
        "--follow",
        help="Keep reading files that are added to the folder, until Ctrl-C or --idle. A file is read "
        "once it has not changed for a second.",
    ),
]
OffsetReset = Annotated[
    Literal["earliest", "latest"] | None,
    _option(
        _BROKERS,
        "--offset-reset",
        help="If messages that should come next were removed, go on with the oldest one that is left, "
        "or with the next one that arrives. A new store starts there, too. (default: it is an error; a new "
        "store starts with the oldest)",
    ),
]
Shards = Annotated[
    int | None,
    _option(
        _BROKERS,
        "--shards",
        metavar="N",
        min=1,
        help="Split the rows by a key into N stores in the folder --store, learned at the same time.",
    ),
]
ShardBy = Annotated[
    str | None,
    _option(
        _BROKERS,
        "--shard-by",
        metavar="FIELD",
        help="The field that is the key, such as a customer. (default: the key of the Kafka message)",
    ),
]
Shard = Annotated[
    int | None,
    _option(
        _BROKERS,
        "--shard",
        metavar="K",
        min=0,
        help="Feed only shard K, from 0: others are fed by other processes. (default: all)",
    ),
]
QuestionsTo = Annotated[
    str | None,
    _option(
        _BROKERS,
        "--questions-to",
        metavar="URL",
        help="Publish questions to this Kafka topic or Redis stream.",
    ),
]
AnswersFrom = Annotated[
    str | None,
    _option(
        _BROKERS, "--answers-from", metavar="URL", help="Learn answers from this Kafka topic or Redis stream."
    ),
]

# ----------------------------------------------------------------------------------------------- the learner

Learner = Annotated[
    str | None,
    _option(
        _LEARNER,
        "--learner",
        metavar="NAME",
        help=f"{', '.join(learners())}; case-insensitive. (default: AdaptiveSVM)",
    ),
]
Params = Annotated[
    list[str] | None,
    _option(_LEARNER, "--param", help="A parameter of the learner. Can be repeated.", metavar="NAME=VALUE"),
]
Drift = Annotated[
    str | None,
    _option(
        _LEARNER,
        "--drift",
        metavar="NAME[:POLICY]",
        help="Detect concept drift with adwin, ddm, eddm, hddm_a, hddm_w, page-hinkley or kswin. Policies: "
        "restart (retrain on the last labels; the default), forget (also drop older rows), alarm (only "
        "report).",
    ),
]
MemoryRows = Annotated[
    int | None,
    _option(
        _LEARNER,
        "--memory-rows",
        metavar="N",
        help="Unlabeled rows kept for questions, and labeled rows kept for retraining. (default: 5000)",
    ),
]
MaxAge = Annotated[
    str | None,
    _option(
        _LEARNER,
        "--max-age",
        help="Erase rows that are older than this, for example 30d or 12h. (default: keep all)",
        metavar="AGE",
    ),
]
Window = Annotated[
    int | None,
    _option(
        _LEARNER, "--window", help="Last labels over which scores are computed. (default: 1000)", metavar="N"
    ),
]
Coverage = Annotated[
    float | None,
    _option(
        _LEARNER,
        "--coverage",
        help="Fraction of rows whose prediction set must contain the true class. (default: no sets)",
        metavar="FRACTION",
    ),
]
Retention = Annotated[
    Literal["all", "needed"] | None,
    _option(
        _LEARNER,
        "--retention",
        help="Rows that stay in the log: all, or only those that may be needed again. (default: all)",
    ),
]
SnapshotEvery = Annotated[
    int | None,
    _option(
        _LEARNER, "--snapshot-every", min=1, help="Rows between snapshots. (default: 50000)", metavar="N"
    ),
]
SnapshotEvents = Annotated[
    int | None,
    _option(
        _LEARNER,
        "--snapshot-events",
        min=1,
        help="Batches and answers between snapshots. (default: 1000)",
        metavar="N",
    ),
]
Scaling = Annotated[
    Literal["standard", "none"] | None,
    _option(_LEARNER, "--scaling", help="Whether numbers are standardized. (default: standard)"),
]
Classes = Annotated[
    list[str] | None,
    _option(
        _LEARNER,
        "--class",
        help="A possible label. Repeat it for all; others are errors. (default: all that appear)",
        metavar="NAME",
    ),
]
SemiSupervised = Annotated[
    bool | None,
    _option(
        _LEARNER,
        "--semi-supervised",
        help="Predict each batch with the help of its unlabeled rows (StreamS3VM).",
    ),
]
Exemplars = Annotated[
    bool | None,
    _option(_LEARNER, "--exemplars", help="Keep representative unlabeled rows. (default: a random sample)"),
]
RandomState = Annotated[int | None, _option(_LEARNER, "--random-state", help="The random seed.", metavar="N")]

# --------------------------------------------------------------------------------------------- the questions

QueryStrategy = Annotated[
    Literal["auto", "margin", "random", "none"] | None,
    _option(_QUERIES, "--query-strategy", help="Selects the rows to ask about. (default: auto)"),
]
LabelRate = Annotated[
    float | None,
    _option(_QUERIES, "--label-rate", help="Questions per row. (default: 0.01)", metavar="FRACTION"),
]
ColdStartLabels = Annotated[
    int | None,
    _option(
        _QUERIES,
        "--cold-start-labels",
        help="Labels before the query strategy takes over. (default: 10)",
        metavar="N",
    ),
]
LabelBudget = Annotated[
    int | None,
    _option(_QUERIES, "--label-budget", help="Maximum number of questions. (default: no limit)", metavar="N"),
]
Audit = Annotated[
    float | None,
    _option(
        _QUERIES,
        "--audit",
        help="Fraction of questions about random rows, to estimate the accuracy. (default: 0.1)",
        metavar="FRACTION",
    ),
]
OracleField = Annotated[
    str | None,
    _option(
        _QUERIES,
        "--oracle",
        metavar="FIELD",
        help="Simulate an annotator: labels in this field are hidden, and used only to answer questions.",
    ),
]
LabelDelay = Annotated[
    int,
    _option(
        _QUERIES,
        "--label-delay",
        min=0,
        metavar="N",
        help="Batches until the simulated annotator answers. (default: 0)",
    ),
]
