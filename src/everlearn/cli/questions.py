"""`everlearn questions`: the open questions as a CSV file, to be answered without a terminal."""

import csv
from typing import Annotated, Any, TextIO

import typer

from ..stream import NeverEndingLearner
from ..stream.row_fields import MISSING, row_fields
from . import _options as option
from ._app import command
from ._console import error_console
from ._csv_output import Cell, write_csv
from ._format import plural
from ._outputs import check_outputs
from ._question_session import prediction
from ._source_rows import SourceRows
from ._source_spec import schema_or_none

OUR_COLUMNS = ("id", "answer", "prediction", "why", "unusual")


@command(
    "everlearn questions fraud.everlearn --out questions.csv",
    "everlearn label fraud.everlearn questions.csv --by Ada",
)
def questions(
    store: option.Store,
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="FILE", help='The CSV file to write; "-" is standard output.'),
    ] = "-",
    n: Annotated[
        int | None,
        typer.Option(
            "-n",
            min=1,
            metavar="N",
            show_default=False,
            help="Number of questions; more rows are asked about if fewer are open. (default: all open)",
        ),
    ] = None,
    source: option.RowsFrom = None,
    blind: Annotated[
        bool,
        typer.Option(
            "--blind", help="Leave out the prediction: it can influence people.", show_default=False
        ),
    ] = False,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            show_default=False,
            help="Write text unchanged, without protection from spreadsheet formulas.",
        ),
    ] = False,
    quiet: option.Quiet = False,
    traceback: option.Traceback = False,
) -> None:
    """Write the open questions to a CSV file, to be answered in a spreadsheet or by a program.

    Each row has its id, an empty column "answer" to fill in, the prediction, the reason, what is unusual, and
    all fields as they are in the source. Pass the file to `everlearn label` when it is filled in.
    """
    check_outputs({"--out": out}, store=store, sources=[source])
    with NeverEndingLearner.open(store, create=False) as learner:
        asked = learner.ask(learner.status()["open_questions"] if n is None else n)
        rows = SourceRows(source, learner)
        rows.find(asked)
        lines = [_line(learner, question, rows, blind) for question in asked]
    write_csv(out, raw, lambda file, cell: _write(file, cell, lines, blind))
    if quiet:
        return
    for problem in rows.problems:
        error_console().print(problem)
    if not asked:
        error_console().print("No open questions. Use -n 20, for example, to ask about more rows.")
    elif out != "-":
        error_console().print(
            f"Wrote {plural(len(asked), 'question')} to {out}. Fill in the column answer, then: "
            f"everlearn label {store} {out}"
        )


def _line(learner: NeverEndingLearner, question: Any, rows: SourceRows, blind: bool) -> dict[str, str]:
    schema = schema_or_none(learner.status()["schema"])
    row = learner.rows([question.id])
    fields = row_fields(learner, row, schema, *rows.fields_of(question.number))
    line = {
        "id": str(question.id),
        "answer": "",
        "prediction": "" if blind else prediction(learner, row),
        "why": question.reason,
        "unusual": "; ".join(f"{field.name}: {field.remark}" for field in fields if field.remark),
    }
    for field in fields:
        name = f"{field.name} (field)" if field.name in OUR_COLUMNS else field.name
        line[name] = "" if field.value == MISSING else field.value
    return line


def _write(file: TextIO, cell: Cell, lines: list[dict[str, str]], blind: bool) -> int:
    ours = [name for name in OUR_COLUMNS if not (blind and name == "prediction")]
    names = list(dict.fromkeys([*ours, *(name for line in lines for name in line)]))
    names = [name for name in names if not (blind and name == "prediction")]
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(cell, names))
    writer.writerows([cell(line.get(name, "")) for name in names] for line in lines)
    file.flush()
    return len(lines)
