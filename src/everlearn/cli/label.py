"""`everlearn label`: learn answers from a file."""

from typing import Annotated, Any

import typer

from ..read import Schema
from ..read.records import Record, read_records
from ..stream import NeverEndingLearner
from . import _options as option
from ._app import command
from ._console import console
from ._csv_output import from_spreadsheet
from ._format import plural, some
from ._question_session import parse_label
from ._source_spec import schema_or_none

_MAX_SHOWN = 5  # errors


@command(
    "everlearn label fraud.everlearn answers.csv --by Ada",
    "everlearn label fraud.everlearn answers.csv --id number --answer is_fraud --dry-run",
)
def label(
    store: option.Store,
    answers: Annotated[
        str,
        typer.Argument(
            metavar="ANSWERS",
            help="CSV, JSON lines, Parquet or Arrow, with an id and an answer in each row; for example a "
            "file from `everlearn questions`.",
        ),
    ],
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="NAME",
            show_default=False,
            help='Who answered. (default: the column "by", otherwise the user name)',
        ),
    ] = "",
    id: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="COLUMN", show_default=False, help="The column with the ids. (default: id)"
        ),
    ] = None,
    answer: Annotated[
        str | None,
        typer.Option(
            "--answer",
            metavar="COLUMN",
            show_default=False,
            help="The column with the answers. (default: answer)",
        ),
    ] = None,
    new_classes: Annotated[
        bool,
        typer.Option("--new-classes", help="Allow answers that are no known class yet.", show_default=False),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the file; learn nothing.", show_default=False)
    ] = False,
    encoding: option.Encoding = None,
    traceback: option.Traceback = False,
) -> None:
    """Learn answers from a file: all of them, or none if one is wrong.

    Rows without an answer are skipped. The answers of several people for a row are all kept, and the majority
    is learned: repeat the id, with the column "by". A column "weight" gives answers more or less weight; the
    default is 1. `everlearn status` shows where people disagree.
    """
    records = read_records(answers, encoding=encoding)
    with NeverEndingLearner.open(store, read_only=dry_run, create=False) as learner:
        found = _Answers(learner, records, by, id, answer, new_classes, answers)
        found.check()
        if not dry_run and found.ids:
            learner.label(found.ids, found.labels, by=found.by, weight=found.weights)
        n_open = learner.status()["open_questions"]
    names = some(sorted(set(found.by)))
    skipped = f"; {plural(found.n_empty, 'row')} without an answer" if found.n_empty else ""
    what = "checked, nothing was learned (--dry-run)" if dry_run else "learned"
    console().print(
        f"{plural(len(found.ids), 'answer')} by {names or 'nobody'} {what}{skipped}. {n_open:,} open."
    )


class _Answers:
    """The answers in a file, and what is wrong with them."""

    def __init__(
        self,
        learner: NeverEndingLearner,
        records: list[Record],
        by: str,
        id: str | None,
        answer: str | None,
        new_classes: bool,
        name: str,
    ) -> None:
        self.name, self.errors = name, list[str]()
        self.ids: list[Any] = []
        self.labels: list[Any] = []
        self.by: list[str] = []
        self.weights: list[float] = []
        self.n_empty = 0
        status = learner.status()
        self._schema: Schema | None = schema_or_none(status["schema"])
        self._classes, self._new = list(status["classes"]), new_classes
        columns = list(dict.fromkeys(column for record in records for column in record.cells))
        if not columns:
            raise ValueError(f"{name} has no rows.")
        id_field, label_field = (self._schema and self._schema.name_of(kind) for kind in ("id", "label"))
        ids = self._column(columns, "--id", id, ["id", id_field or "id"])
        labels = self._column(columns, "--answer", answer, ["answer", "label", label_field or "label"])
        given = [(record, from_spreadsheet(record.cells.get(labels, ""))) for record in records]
        self.n_empty = sum(not text for _, text in given)
        given = [(record, text) for record, text in given if text]
        names = [from_spreadsheet(record.cells.get(ids, "")) for record, _ in given]
        stored: dict[str, Any] = dict(zip(dict.fromkeys(names), learner.find_ids(names), strict=True))
        known = set(learner.with_rows(list(stored.values())))
        seen: dict[tuple[Any, str], int] = {}
        default = option.name_of(by)
        for (record, text), row in zip(given, names, strict=True):
            who = by or record.cells.get("by", "") or default
            if not row:
                self._wrong(record, "no id")
            elif stored[row] not in known:
                self._wrong(record, f"no row with the id {row!r} in the store")
            elif (row, who) in seen:
                self._wrong(record, f"{who} has answered for {row!r} in line {seen[row, who]} already")
            else:
                seen[row, who] = record.line
                self._add(record, stored[row], text, who)

    def check(self) -> None:
        """Raise an error that names the first wrong rows."""
        if self.errors:
            more = len(self.errors) - _MAX_SHOWN
            rest = [f"and {more:,} more"] if more > 0 else []
            raise ValueError(
                f"{plural(len(self.errors), 'wrong row')} in {self.name}; nothing was learned.\n"
                + "\n".join([*self.errors[:_MAX_SHOWN], *rest])
            )

    def _add(self, record: Record, row: Any, text: str, who: str) -> None:
        try:
            label, is_known = parse_label(
                _whole(text, self._classes), self._classes, self._schema, by_number=False
            )
            weight = float(record.cells.get("weight", "") or 1)
        except ValueError as error:
            return self._wrong(record, str(error).rstrip("."))
        if not is_known and not self._new and self._classes:
            known = some(self._classes)
            return self._wrong(
                record, f"{text!r} is no known class ({known}): correct it, or use --new-classes"
            )
        if not 0 < weight < float("inf"):
            return self._wrong(record, f"weight {weight:g} is not positive")
        self.ids.append(row)
        self.labels.append(label)
        self.by.append(who)
        self.weights.append(weight)

    def _wrong(self, record: Record, reason: str) -> None:
        self.errors.append(f"line {record.line}: {reason}")

    def _column(self, columns: list[str], option_: str, given: str | None, usual: list[str]) -> str:
        lower = {column.lower(): column for column in reversed(columns)}
        wanted = list(dict.fromkeys(usual)) if given is None else [given]
        for name in wanted:
            if name.lower() in lower:
                return lower[name.lower()]
        raise ValueError(
            f"{self.name} has no column {' or '.join(map(repr, wanted))}; it has {some(columns)}. "
            f"Name it with {option_}."
        )


def _whole(text: str, classes: list[Any]) -> str:
    """A whole number without ".0", which spreadsheets and pandas add to columns with gaps."""
    if classes and isinstance(classes[0], int) and text.endswith(".0"):
        return text[:-2]
    return text
