"""The arguments and options of the commands, each described once."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from ._choices import learner_names

_SOURCE, _LEARNER, _ASKING, _OUTPUT = "What is read", "What learns", "What is asked", "What is shown"


def _option(*names: str, panel: str, help: str, metavar: str | None = None) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        *names, help=help, rich_help_panel=panel, metavar=metavar, show_default=False
    )
    return option


Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help='A file: CSV, JSON lines, LIBSVM or Parquet, text also gzipped; "-" is standard input.',
    ),
]
Store = Annotated[
    str, typer.Argument(metavar="STORE", help="The store: a file, or the URL of a PostgreSQL database.")
]
NewStore = Annotated[
    str,
    typer.Option(
        "--store", metavar="STORE", help="The store, a file or a PostgreSQL URL; made if it is not there."
    ),
]
Traceback = Annotated[
    bool,
    typer.Option("--traceback", help="Show where in the program an error came from.", show_default=False),
]

# ------------------------------------------------------------------------------------------ what is read

Format = Annotated[
    Literal["csv", "jsonl", "libsvm", "parquet"] | None,
    _option("--format", panel=_SOURCE, help="What the source is; else found by its name or its first line."),
]
SchemaFile = Annotated[
    Path | None,
    _option(
        "--schema", panel=_SOURCE, help="What the fields are: a file of `everlearn schema`.", metavar="FILE"
    ),
]
Header = Annotated[
    bool,
    _option("--header/--no-header", panel=_SOURCE, help="Whether CSV begins with the names of its fields."),
]
Label = Annotated[
    str | None, _option("--label", panel=_SOURCE, help="The field that is the label.", metavar="FIELD")
]
Id = Annotated[
    str | None, _option("--id", panel=_SOURCE, help="The field that names a row.", metavar="FIELD")
]
Time = Annotated[
    str | None, _option("--time", panel=_SOURCE, help="The field that says when.", metavar="FIELD")
]
Kinds = Annotated[
    list[str] | None,
    _option(
        "--kind",
        panel=_SOURCE,
        metavar="FIELD=KIND",
        help="The kind of a field: numeric, categorical, text or ignore. May be repeated.",
    ),
]
LabelType = Annotated[
    Literal["int", "string"] | None,
    _option("--label-type", panel=_SOURCE, help="What labels are; else by those of the warm-up."),
]
Features = Annotated[
    int | None,
    _option("--n-features", panel=_SOURCE, help="Columns of LIBSVM; else by the warm-up.", metavar="N"),
]
UnknownFields = Annotated[
    Literal["error", "ignore"],
    _option("--unknown-fields", panel=_SOURCE, help="What to do about new fields. (default: error)"),
]
Quarantine = Annotated[
    Path | None,
    _option("--quarantine", panel=_SOURCE, help="Where bad rows are kept, as JSON lines.", metavar="FILE"),
]
BatchSize = Annotated[
    int,
    typer.Option(
        "--batch-size",
        min=1,
        help="Rows taken in at a time. (default: 1000)",
        show_default=False,
        rich_help_panel=_SOURCE,
        metavar="N",
    ),
]
MaxRowBytes = Annotated[
    int,
    typer.Option(
        "--max-row-bytes",
        min=1,
        help="Longer rows are set aside as bad, and only their beginning is kept. (default: 64 MiB)",
        show_default=False,
        rich_help_panel=_SOURCE,
        metavar="N",
    ),
]
InferRows = Annotated[
    int,
    typer.Option(
        "--infer-rows",
        min=1,
        help="Rows from which fields are guessed. (default: 1000)",
        show_default=False,
        rich_help_panel=_SOURCE,
        metavar="N",
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        min=0,
        help="Stop after so many rows of the source, earlier runs included.",
        rich_help_panel=_SOURCE,
        metavar="N",
    ),
]
SkipRows = Annotated[
    int | None,
    typer.Option(
        "--skip-rows",
        min=0,
        rich_help_panel=_SOURCE,
        metavar="N",
        help="Good rows to pass over; else those of the same file that the store has already.",
    ),
]

DuplicateIds = Annotated[
    Literal["error", "skip"],
    _option(
        "--duplicate-ids",
        panel=_SOURCE,
        help="What to do about rows whose id the store has already, where files overlap. (default: error)",
    ),
]

# ------------------------------------------------------------------------------------------- what learns

Learner = Annotated[
    str | None,
    _option(
        "--learner",
        panel=_LEARNER,
        metavar="NAME",
        help=f"{', '.join(learner_names())}; in any case. (default: AdaptiveSVM)",
    ),
]
Params = Annotated[
    list[str] | None,
    _option(
        "--param", panel=_LEARNER, help="A parameter of the learner. May be repeated.", metavar="NAME=VALUE"
    ),
]
Drift = Annotated[
    str | None,
    _option(
        "--drift",
        panel=_LEARNER,
        metavar="NAME[:POLICY]",
        help="Detect concept drift: adwin, ddm, eddm, hddm_a, hddm_w, page-hinkley or kswin; then restart "
        "(on the last labels, the default), forget (and drop older rows) or alarm (only report).",
    ),
]
MemoryRows = Annotated[
    int | None,
    _option(
        "--memory-rows",
        panel=_LEARNER,
        metavar="N",
        help="Rows kept to ask about, and labeled ones to begin anew with. (default: 5000)",
    ),
]
RandomState = Annotated[
    int | None, _option("--random-state", panel=_LEARNER, help="Decides all that is drawn.", metavar="N")
]

# -------------------------------------------------------------------------------------------- what is asked

QueryStrategy = Annotated[
    Literal["auto", "margin", "random", "none"] | None,
    _option(
        "--query-strategy", panel=_ASKING, help="Query strategy: which rows to ask about. (default: auto)"
    ),
]
LabelRate = Annotated[
    float | None,
    _option("--label-rate", panel=_ASKING, help="Questions for each row. (default: 0.01)", metavar="SHARE"),
]
ColdStartLabels = Annotated[
    int | None,
    _option(
        "--cold-start-labels",
        panel=_ASKING,
        help="Labels before the query strategy chooses. (default: 10)",
        metavar="N",
    ),
]
LabelBudget = Annotated[
    int | None, _option("--label-budget", panel=_ASKING, help="Questions in all.", metavar="N")
]
OracleField = Annotated[
    str | None,
    _option(
        "--oracle",
        panel=_ASKING,
        metavar="FIELD",
        help="A simulated person: labels in this field are not given with the rows, but answered when asked.",
    ),
]
LabelDelay = Annotated[
    int,
    typer.Option(
        "--label-delay",
        min=0,
        metavar="N",
        rich_help_panel=_ASKING,
        show_default=False,
        help="Blocks after which the simulated person answers. (default: 0)",
    ),
]

Quiet = Annotated[bool, _option("--quiet", "-q", panel=_OUTPUT, help="Say nothing but errors.")]

# -------------------------------------------------------------------------------------- the other commands

Count = Annotated[int, typer.Option("-n", min=1, metavar="N", help="How many questions, at most.")]
RawRows = Annotated[
    str | None,
    typer.Option(
        "--source",
        metavar="FILE",
        show_default=False,
        help="Show rows as they stand in this file, from which they were learned: for text, which a store "
        "has as hashes only.",
    ),
]
Predictions = Annotated[
    str, typer.Option("--out", "-o", metavar="FILE", help='Where to; "-" is standard output.')
]
Raw = Annotated[
    bool,
    typer.Option(
        "--raw",
        show_default=False,
        help="Write ids and labels unchanged, without the apostrophe that keeps spreadsheets from computing "
        "them.",
    ),
]
AsJSON = Annotated[bool, typer.Option("--json", help="As JSON, with all that is known.", show_default=False)]
Page = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write.")]
Title = Annotated[
    str | None, typer.Option("--title", help="Its title; else the name of the store.", show_default=False)
]
Open = Annotated[bool, typer.Option("--open", help="Show it in the browser.", show_default=False)]
Model = Annotated[Path, typer.Argument(help="The file to write.", metavar="MODEL.onnx")]
SchemaOut = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        show_default=False,
        help="Write it, as JSON to edit and to give to `everlearn run --schema`.",
    ),
]
Benchmark = Annotated[
    str | None,
    typer.Argument(metavar="NAME", help="A benchmark of the source checkout; without it, a self-test."),
]
Seconds = Annotated[float, typer.Option("--seconds", min=0.1, help="How long the self-test takes.")]
MaxAge = Annotated[
    str | None,
    _option(
        "--max-age",
        panel=_LEARNER,
        help="The age that rows may reach, such as 30d or 12h; older ones are erased.",
        metavar="AGE",
    ),
]
Copy = Annotated[
    str, typer.Argument(metavar="DEST", help="The copy: a file, or the URL of a database without a store.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a file that exists.")]
Ids = Annotated[list[str] | None, typer.Argument(metavar="ID", help="The ids of the rows.")]
IdsFile = Annotated[
    Path | None, typer.Option("--ids-file", metavar="FILE", help="A file with an id on each line.")
]
By = Annotated[str, typer.Option("--by", metavar="NAME", help="Who erases them.", show_default=False)]
CertificateFile = Annotated[
    Path | None,
    typer.Option("--certificate", metavar="FILE", help="Write what was erased, as JSON that names no row."),
]
Quarantines = Annotated[
    list[Path] | None,
    typer.Option("--quarantine", metavar="FILE", help="A further quarantine file; those of runs are known."),
]
Method = Annotated[
    Literal["auto", "replay", "forget"],
    typer.Option("--method", help="How the model unlearns: by learning the log again, or by forgetting."),
]
IgnoreMissing = Annotated[
    bool,
    typer.Option(
        "--ignore-missing", help="Pass over ids that have no row in the store; they may be in a quarantine."
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
