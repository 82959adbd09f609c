"""`everlearn link`: records that are the same person or product, and what `everlearn ask` says about them."""

import contextlib
import csv
import json
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO

import typer

from ..errors import StoreError
from ..read import Schema, open_source
from ..read.schema import Field
from . import _options as option
from ._app import DefaultGroup, app, command
from ._arguments import parse_pairs
from ._console import console, error_console, notice
from ._csv_output import Cell, write_csv
from ._format import plural
from ._linked_store import NO_PAIRS, open_linker, print_linkage
from ._outputs import check_outputs

_KEYS = {
    "exact": "Exact",
    "prefix": "Prefix",
    "phonetic": "Phonetic",
    "value": "Value",
    "tokens": "Tokens",
    "minhash": "MinHash",
    "author": "AuthorName",
    "words": "WordPairs",
}
_OURS = ("cluster", "id")

group = typer.Typer(
    cls=DefaultGroup,
    help="Link records: find those that are the same person, product or paper.",
    epilog="[dim]Example:[/dim]\n  everlearn link people.csv --store people.everlearn\n"
    "  everlearn ask people.everlearn\n  everlearn link export people.everlearn --out clusters.csv",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
app.add_typer(group, name="link")

Out = Annotated[
    str, typer.Option("--out", "-o", metavar="FILE", help='The CSV file to write; "-" is standard output.')
]


@command(
    "everlearn link people.csv --store people.everlearn --schema name=name,born=date,zip=category",
    "everlearn link more.jsonl --store people.everlearn --duplicate-ids skip",
    "everlearn link right.csv --store both.everlearn --table right --rename surname=name",
    to=group,
)
def records(
    source: Annotated[str, typer.Argument(metavar="FILE", help="CSV, JSON lines, Parquet or Arrow.")],
    store: option.NewStore,
    schema: Annotated[
        str | None,
        typer.Option(
            "--schema",
            metavar="FIELD=KIND,...",
            show_default=False,
            help="The fields to compare, and their kinds: name, text, email, url, date, number, category or "
            "address; or a JSON file with them. (default: all fields, kinds by their values)",
        ),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="FIELD",
            show_default=False,
            help='The field with the id; "none" numbers the records. (default: "id")',
        ),
    ] = None,
    block: Annotated[
        list[str] | None,
        typer.Option(
            "--block",
            metavar="KEY:FIELD",
            show_default=False,
            help="Compare records with a common key: exact, prefix, phonetic, value, tokens, minhash, words "
            "or author. Can be repeated. (default: rare words, pairs of words and similar texts)",
        ),
    ] = None,
    max_block: Annotated[
        int | None,
        typer.Option(
            "--max-block",
            metavar="N",
            min=2,
            show_default=False,
            help="With --block: the most records that may share a key. (default: 2000)",
        ),
    ] = None,
    large_blocks: Annotated[
        Literal["refuse", "sample"] | None,
        typer.Option(
            "--large-blocks",
            show_default=False,
            help="With --block: what to do with more. sample compares each record with N/2 of them. "
            "(default: refuse)",
        ),
    ] = None,
    clustering: Annotated[
        Literal["average", "dbscan", "components"],
        typer.Option("--clustering", help="How records are clustered.", show_default=False),
    ] = "average",
    eps: Annotated[
        float, typer.Option("--eps", metavar="D", help="The largest distance within a cluster.", min=0, max=1)
    ] = 0.5,
    table: Annotated[
        Literal["left", "right"] | None,
        typer.Option(
            "--table",
            help="Link two tables: the one that the records belong to. Only records of different tables are "
            "compared. (default: duplicates in one table)",
            show_default=False,
        ),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(
            "--rename",
            metavar="COLUMN=FIELD",
            show_default=False,
            help="A column of the file that has another name than the field in the store. Can be repeated.",
        ),
    ] = None,
    duplicate_ids: option.DuplicateIds = "error",
    batch_size: option.BatchSize = 1000,
    traceback: option.Traceback = False,
) -> None:
    """Add records to a store, and link them with those that are there.

    Only records that share a key are compared. Until there are answers, every record is a cluster of its own:
    answer questions with `everlearn ask`, or with `everlearn serve` on a page.
    """
    from ..linkage import Blocking, NeverEndingLinker

    keys = {text: _key(text) for text in block or ()}
    limits = {"--max-block": max_block, "--large-blocks": large_blocks}
    if not keys and (alone := [name for name, value in limits.items() if value is not None]):
        raise ValueError(f"{' and '.join(alone)} without --block would do nothing: name the keys by --block.")
    blocking = None
    if keys:
        limit, large = max_block or 2000, large_blocks or "refuse"
        blocking = Blocking(*keys.values(), max_block_size=limit, large_blocks=large)
    names = parse_pairs(rename or (), "--rename", "COLUMN=FIELD")
    kinds, ids = _kinds(schema), False if id == "none" else id
    settings: dict[str, Any] = {
        "schema": kinds,
        "blocking": blocking,
        "clustering": clustering,
        "eps": eps,
        "two_tables": table is not None,
    }
    given: dict[str, Any] = {"id": ids, "table": table, "columns": names, "duplicates": duplicate_ids}
    settings["expected_records"] = _surveyed(
        source, store, keys, lambda linker: linker.survey(_rows(source, batch_size), **given), settings
    )
    n_records = n_pairs = n_skipped = 0
    with NeverEndingLinker.open(store, **settings) as linker:
        for rows in _rows(source, batch_size):
            added = linker.add(rows, **given)
            n_records, n_pairs = n_records + len(added.ids), n_pairs + added.pairs
            n_skipped += len(rows) - len(added.ids)
        console().print(
            f"Added {plural(n_records, 'record')} of {source}, compared {plural(n_pairs, 'pair')}."
        )
        if n_skipped:
            console().print(f"Skipped {plural(n_skipped, 'record')} with an id that the store has.")
        found = linker.status()
        fields = (found["schema"] or {}).items()
        console().print("Fields: " + ", ".join(f"{name} ({kind})" for name, kind in fields) + ".")
        print_linkage(linker)
        if not found["rows"]:
            console().print(notice(NO_PAIRS, style="yellow"))
            return
    console().print(f"Next: everlearn ask {store}")


@command(
    "everlearn link export people.everlearn --out clusters.csv",
    "everlearn link export people.everlearn | head",
    to=group,
)
def export(
    store: option.Store,
    out: Out = "-",
    raw: Annotated[
        bool,
        typer.Option(
            "--raw", show_default=False, help="Write text unchanged, without protection from formulas."
        ),
    ] = False,
    traceback: option.Traceback = False,
) -> None:
    """Write all records with their clusters to a CSV file, cluster by cluster."""
    check_outputs({"--out": out}, store=store)
    with contextlib.ExitStack() as opened:
        linker = open_linker(store, opened)
        linker.link()
        found = sorted(linker.records(), key=lambda record: record[2])
        names = list(linker.status()["schema"] or {})

        def put(file: TextIO, cell: Cell) -> int:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(
                map(cell, [*_OURS, *(f"{name} (field)" if name in _OURS else name for name in names)])
            )
            for given, fields, cluster in found:
                writer.writerow(map(cell, [cluster, given, *(fields[name] for name in names)]))
            file.flush()
            return len(found)

        n = write_csv(out, raw, put)
    if out != "-":
        error_console().print(f"Wrote {plural(n, 'record')} to {out}.")


@command("everlearn link journal people.everlearn", to=group)
def journal(
    store: option.Store,
    after: Annotated[int, typer.Option("--after", metavar="N", help="Begin after this change.", min=0)] = 0,
    traceback: option.Traceback = False,
) -> None:
    """Show the merges and splits of clusters, with their reasons."""
    with contextlib.ExitStack() as opened:
        for change in open_linker(store, opened).journal(after):
            when = datetime.fromtimestamp(change.time, timezone.utc).isoformat(" ", "seconds")[:19]
            before, now = (", ".join(map(str, clusters)) for clusters in (change.before, change.after))
            console().print(f"{change.number}  {when}  {change.kind} {before} -> {now}: {change.reason}")


@command(
    "everlearn link answer people.everlearn 17 204 different",
    "everlearn link answer people.everlearn 17 204 withdraw",
    to=group,
)
def answer(
    store: option.Store,
    left: Annotated[str, typer.Argument(metavar="ID", help="A record.")],
    right: Annotated[str, typer.Argument(metavar="ID", help="Another record.")],
    word: Annotated[Literal["same", "different", "withdraw"], typer.Argument(help="What they are.")],
    by: option.By = "",
    traceback: option.Traceback = False,
) -> None:
    """Say of two records that they are the same or not, or withdraw that.

    Records that are not the same are in different clusters from then on, whatever the model says.
    """
    with contextlib.ExitStack() as opened:
        linker = open_linker(store, opened)
        a, b = linker.find_ids([left, right])
        linker.answer(a, b, None if word == "withdraw" else word == "same", by=option.name_of(by))
        print_linkage(linker)


@command("everlearn link forget people.everlearn 17 --yes", to=group)
def forget(
    store: option.Store,
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="The ids of the records.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    traceback: option.Traceback = False,
) -> None:
    """Forget records: remove them, and all answers about them, from the store and from the model."""
    with contextlib.ExitStack() as opened:
        linker = open_linker(store, opened)
        found = linker.find_ids(ids)
        if not yes:
            if not sys.stdin.isatty():
                raise ValueError("Forgetting cannot be undone. Without a terminal to confirm it, pass --yes.")
            typer.confirm(f"Forget {plural(len(found), 'record')} for good?", abort=True)
        linker.forget(found)
        console().print(f"Forgot {plural(len(found), 'record')}.")
        print_linkage(linker)


# ----------------------------------------------------------------------------------------------- arguments


def _rows(path: str, batch_size: int) -> Iterator[list[dict[str, Any]]]:
    """The records of a file as dicts of text, some at a time."""
    if path == "-":
        raise ValueError("`everlearn link` reads files: standard input cannot be read twice.")
    with open_source(path) as first:
        if first.schema is None:
            raise ValueError(first.message)
        if first.schema.n_sparse is not None:
            raise ValueError(f"{path} has numbers without names: records need fields.")
        names, header = [field.name for field in first.schema.fields], first.schema.header
    plain = Schema([Field(name, "ignore") for name in names], header=header)
    with open_source(path, schema=plain, batch_size=batch_size, on_bad="error") as source:
        for batch in source:
            found = [source.fields_of(raw) for raw in batch.raw]
            yield [{name: row.get(name) for name in names} for row in found]


def _surveyed(
    source: str, store: str, keys: dict[str, Any], survey: Callable[[Any], Any], settings: dict[str, Any]
) -> int:
    """The number of records to add; refuses blocks that are too large, before anything is stored."""
    from ..linkage import NeverEndingLinker

    try:
        linker = NeverEndingLinker.open(store, create=False, **settings)
    except StoreError as error:
        if error.code != "no_store":
            raise
        linker = NeverEndingLinker.open(":memory:", **settings)
    with linker:
        found = survey(linker)
    if found.size > found.limit:
        name = next((f"--block {text}" for text, key in keys.items() if key == found.key), repr(found.key))
        raise ValueError(
            f"{name} gives {found.size:,} records of {source} and the store the key {found.text!r}, more "
            f"than --max-block {found.limit:,}: use a finer key, a larger --max-block, or --large-blocks "
            "sample, in a new store."
        )
    return int(found.records)


def _kinds(text: str | None) -> dict[str, str | None] | None:
    """The schema: pairs of a field and a kind, or a JSON file with them."""
    if text is None:
        return None
    if text.endswith(".json"):
        found = json.loads(Path(text).read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError(
                f'--schema {text} must hold an object such as {{"name": "name", "born": "date"}}.'
            )
        return found
    return dict(parse_pairs(text.split(","), "--schema", "name=name,born=date"))


def _key(text: str) -> Any:
    kind, _, field = text.partition(":")
    if kind not in _KEYS or not field:
        raise typer.BadParameter(
            f"{text!r} must have the form KEY:FIELD, where KEY is one of {', '.join(_KEYS)}.",
            param_hint="--block",
        )
    from .. import linkage

    return getattr(linkage, _KEYS[kind])(field)
