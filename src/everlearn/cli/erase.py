"""`everlearn erase`: erase rows for good."""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from .._visible import visible
from ..store import Certificate
from ..stream import NeverEndingLearner
from . import _options as option
from ._app import command
from ._arguments import read_ids
from ._console import console, error_console
from ._format import plural
from ._outputs import check_outputs
from ._run_record import RunRecord


@command(
    "everlearn erase fraud.everlearn customer-4711 --by officer --certificate erased.json",
    "everlearn erase fraud.everlearn --ids-file requests.txt --yes",
)
def erase(
    store: option.Store,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="The ids of the rows.")] = None,
    ids_file: Annotated[
        Path | None, typer.Option("--ids-file", metavar="FILE", help="A file with one id per line.")
    ] = None,
    by: Annotated[
        str, typer.Option("--by", metavar="NAME", help="Who erases the rows.", show_default=False)
    ] = "",
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate", metavar="FILE", help="Write a record of the erasure, as JSON without ids."
        ),
    ] = None,
    quarantine: Annotated[
        list[Path] | None,
        typer.Option(
            "--quarantine",
            metavar="FILE",
            help="A quarantine file that was not written by `everlearn run`. Can be repeated.",
        ),
    ] = None,
    method: Annotated[
        Literal["auto", "replay", "forget"],
        typer.Option("--method", help="How the model unlearns: by replaying the log or by forgetting rows."),
    ] = "auto",
    ignore_missing: Annotated[
        bool,
        typer.Option(
            "--ignore-missing",
            help="Ignore ids without a row in the store; they may be in a quarantine file.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    traceback: option.Traceback = False,
) -> None:
    """Erase rows for good: from the log, from the model and from the bytes of all files of the store.

    The model becomes the one that never saw the rows. Bad rows with these ids are erased from the quarantine
    files of earlier runs, too. Source files, backups, reports and exported models are not changed.
    """
    given = list(quarantine or ())
    check_outputs({"--certificate": certificate}, store=store, sources=[ids_file, *given])
    if certificate is not None:
        _check_writable(certificate)
    names = [*(ids or ()), *read_ids(ids_file)]
    if not names:
        raise ValueError("No ids: pass the ids of the rows, or a file of ids with --ids-file.")
    with NeverEndingLearner.open(store, create=False) as learner:
        found = learner.find_ids(names)
        if not yes:
            _confirm(len(found), store)
        known = [path for path in RunRecord.from_notes(learner.notes).quarantines if Path(path).is_file()]
        done = learner.erase(
            found,
            by=by,
            method=method,
            quarantine=list(dict.fromkeys([*map(str, given), *known])),
            missing="ignore" if ignore_missing else "error",
        )
    if certificate is not None:
        done.write(certificate)
    _print_result(done, certificate)


def _check_writable(path: Path) -> None:
    """An erasure cannot be repeated: a certificate that cannot be written must be an error beforehand."""
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ValueError(
            f"--certificate {str(path)!r} cannot be written: choose a file in a writable folder."
        )


def _confirm(count: int, store: str) -> None:
    if not sys.stdin.isatty():
        raise ValueError("Erasing cannot be undone. Without a terminal to confirm it, pass --yes.")
    typer.confirm(f"Erase {plural(count, 'row')} from {visible(store)} for good?", abort=True)


def _print_result(done: Certificate, file: Path | None) -> None:
    console().print(
        f"Erased {plural(done.rows, 'row')}, {plural(done.labels, 'label')}, "
        f"{plural(done.questions, 'question')}, {plural(done.categories, 'category name')}, "
        f"{plural(done.quarantined, 'quarantined row')}."
    )
    difference = done.model_difference
    if not done.rows:
        console().print("None of these ids has a row in the store.")
    elif difference.get("bit_equal"):
        console().print("The model is bit for bit the one that never saw these rows.")
    elif difference.get("max_difference") is not None:
        most = f"{difference['max_difference']:.2g}"
        console().print(f"Decision values differ by at most {most} from a model that never saw these rows.")
    else:
        console().print(
            "The difference from a model without these rows was not measured: the log has dropped rows."
        )
    if file is not None:
        console().print(f"Wrote {file}")
    if not done.scrubbed:
        error_console().print(
            "Another process is reading the store: its write-ahead log will be overwritten when the store is "
            "opened next."
        )
