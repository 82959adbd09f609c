"""What operators do with stores: copies, and rows that must go."""

import os
import sys
from pathlib import Path
from typing import Any

import typer

from .._visible import visible
from ..store import Certificate
from ..store import backup as backup_store
from ..stream import NeverEndingLearner
from ._console import console, error_console
from ._outputs import check_outputs
from ._sources import stored_run
from ._words import plural


def back_up(store: str, to: str, overwrite: bool) -> None:
    """Copy a store, and say what is in the copy."""
    check_outputs({"DEST": to if "://" not in to else None}, store=store)
    found = backup_store(store, to, overwrite=overwrite)
    console().print(
        f"Written and verified: {to} ({plural(found['events'], 'event')}, {plural(found['rows'], 'row')}, "
        f"{plural(found['labels'], 'label')}, {plural(found['snapshots'], 'snapshot')})"
    )


def erase_rows(
    store: str,
    ids: list[str],
    ids_file: Path | None,
    by: str,
    certificate: Path | None,
    quarantine: list[Path],
    method: str,
    ignore_missing: bool,
    yes: bool,
) -> None:
    """Erase rows after asking whether to, and say what became of them."""
    check_outputs({"--certificate": certificate}, store=store, sources=[ids_file, *quarantine])
    if certificate is not None:
        _check_writable(certificate)
    names = [*ids, *_listed(ids_file)]
    if not names:
        raise ValueError("Name a row by its id, or give a file of ids with --ids-file.")
    NeverEndingLearner.open(store, read_only=True).close()  # only `run` makes a store
    with NeverEndingLearner.open(store) as learner:
        found = learner.find_ids(names)
        if not yes:
            _confirm(len(found), store)
        files = dict.fromkeys([*map(str, quarantine), *_quarantines(learner.status())])
        missing = "ignore" if ignore_missing else "error"
        done = learner.erase(found, by=by, method=method, quarantine=list(files), missing=missing)
    if certificate is not None:
        done.write(certificate)
    _tell(done, certificate)


def expire_rows(store: str) -> None:
    """Drop the rows of a store that are too old by now."""
    NeverEndingLearner.open(store, read_only=True).close()
    with NeverEndingLearner.open(store) as learner:
        console().print(f"Expired: {plural(learner.expire(), 'row')}.")


def _listed(path: Path | None) -> list[str]:
    if path is None:
        return []
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\r\n") for line in file if line.strip()]


def _quarantines(status: dict[str, Any]) -> list[str]:
    """The quarantine files of the runs that made a store, those that are still there."""
    return [path for path in stored_run(status["schema"])["quarantines"] if Path(path).is_file()]


def _check_writable(path: Path) -> None:
    """An erasure cannot be done twice: a certificate that cannot be written must fail before it."""
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ValueError(f"--certificate {str(path)!r} cannot be written: name a file in a folder that can.")


def _confirm(count: int, store: str) -> None:
    if not sys.stdin.isatty():
        raise ValueError("Erasing cannot be undone. Nobody is at the terminal to be asked: give --yes.")
    typer.confirm(f"Erase {plural(count, 'row')} from {visible(store)} for good?", abort=True)


def _tell(done: Certificate, file: Path | None) -> None:
    lines = [
        f"Erased: {plural(done.rows, 'row')}, {plural(done.labels, 'label')}, "
        f"{plural(done.questions, 'question')}, {plural(done.categories, 'category name')}, "
        f"{plural(done.quarantined, 'quarantined row')}."
    ]
    model = done.model_difference
    if not done.rows:
        lines.append("None of these ids has a row in the store.")
    elif model.get("bit_equal"):
        lines.append("The model is bit for bit the one that never saw them.")
    elif model.get("max_difference") is not None:
        apart = f"{model['max_difference']:.2g}"
        lines.append(f"Decision values are at most {apart} from those of a model that never saw them.")
    else:
        lines.append(
            "The distance to a model that never saw them was not measured: the log has dropped rows."
        )
    if file is not None:
        lines.append(f"Written: {file}")
    for line in lines:
        console().print(line)
    if not done.scrubbed:
        error_console().print(
            "A reader was in the way: the write-ahead log is overwritten when the store is opened next."
        )
